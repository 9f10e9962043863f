/*
 * What the profile has answered: changes ask for the same few sizes at every op, and an answer
 * takes a search through all paths. Private to whatif/.
 */
#ifndef XFW_ASKED_H
#define XFW_ASKED_H

#include "analyzer/whatif/changes/costs.h"

#define XFW_ASKED_COSTS 64 /* a power of two */
#define XFW_ASKED_NEAR 4   /* places that an answer may have */
#define XFW_ASKED_PATHS 8
#define XFW_ASKED_SCALARS 8

/* Zeroed at first. Of one analysis; a new answer takes the place of an older one. */
struct xfw_asked {
    struct xfw_asked_cost {
        const struct xfp_path *path; /* NULL: none yet */
        uint64_t bytes;
        enum xfw_certainty certainty;
        struct xfw_copy_cost cost;
    } costs[XFW_ASKED_COSTS];
    struct xfw_asked_path {
        bool there;
        enum xft_direction direction;
        enum xft_memory memory;
        int node, gpu;
        const struct xfp_path *path;
    } paths[XFW_ASKED_PATHS];
    struct xfw_asked_scalar {
        const char *what; /* NULL: none yet */
        int gpu;
        double ns;
    } scalars[XFW_ASKED_SCALARS];
    unsigned next_path, next_scalar;
};

/* xfw_copy_cost(), xfw_host_path() and xfw_scalar_cost() (costs.h); `what`: static, and always
 * asked for with the same `otherwise`. */
struct xfw_copy_cost xfw_asked_cost(struct xfw_asked *asked, const struct xfp_path *path,
                                    uint64_t bytes, enum xfw_certainty certainty);
const struct xfp_path *xfw_asked_path(struct xfw_asked *asked,
                                      const struct xfa_achievable *achievable,
                                      enum xft_direction direction, enum xft_memory memory,
                                      int node, int gpu);
double xfw_asked_scalar(struct xfw_asked *asked, const struct xfa_achievable *achievable,
                        const char *what, int gpu, double otherwise);

/* xfa_achievable_ask() of classes (pass/achievable.h). Zeroed at first. */
struct xfw_asked_times {
    struct xfw_asked_time {
        uint64_t bytes;
        uint32_t class; /* number + 1; 0 = none yet */
        struct xfa_achieved answer;
    } times[XFW_ASKED_COSTS];
};
const struct xfa_achieved *xfw_asked_time(struct xfw_asked_times *asked,
                                          const struct xfa_class *class, uint64_t bytes);

/* Where an answer for a size is kept, of so many places: a power of two. */
static inline size_t xfw_asked_place(uint64_t bytes, size_t places)
{
    return (size_t)((bytes * 0x9e3779b97f4a7c15u) >> 32) & (places - 1);
}

#endif
