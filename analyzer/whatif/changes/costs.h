/*
 * What a changed program would pay, by the machine's profile, at worst, as is likely and at best:
 * with the errors of its figures. Times are ns; GPUs are the run's numbers.
 */
#ifndef XFW_COSTS_H
#define XFW_COSTS_H

#include "analyzer/whatif/change.h"

/* Where a profile has no host times: what such a call usually takes. */
#define XFW_SUBMIT_NS 2000.0

/* A time with such an error: longer at worst, shorter at best. By half at most, since beyond that
 * an error says only that the figure is not known; so it is never 0 or less. */
double xfw_as_sure(double ns, double error, enum xfw_certainty certainty);

/* A copy over a path, alone: on the device, the host's time to submit it and in a call that blocks.
 */
struct xfw_copy_cost {
    bool known; /* false: nothing below is */
    double device_ns, submit_ns, blocking_ns;
};
struct xfw_copy_cost xfw_copy_cost(const struct xfp_path *path, uint64_t bytes,
                                   enum xfw_certainty certainty);

/* Explicit copies between host memory of a kind (on a node, -1 = any) and a GPU; NULL: not
 * measured. */
const struct xfp_path *xfw_host_path(const struct xfa_achievable *achievable,
                                     enum xft_direction direction, enum xft_memory memory, int node,
                                     int gpu);

/* A table of costs of a GPU, as "register/pageable", by bytes; 0 where it was not measured. */
double xfw_table_cost(const struct xfa_achievable *achievable, const char *what, int node, int gpu,
                      uint64_t at, enum xfw_certainty certainty);

/* A scalar, as "event/record"; `otherwise` where it was not measured. */
double xfw_scalar_cost(const struct xfa_achievable *achievable, const char *what, int gpu,
                       double otherwise);

/* To page-lock touched memory and to undo it. False in `known`, where there is one: not measured.
 */
double xfw_registration_cost(const struct xfa_achievable *achievable, int node, int gpu,
                             uint64_t bytes, enum xfw_certainty certainty, bool *known);

/* A page-locked ring that threads of the host fill (or empty) while the GPU copies from (or to) it,
 * piece by piece. It was measured how fast threads copy large blocks: nothing is said of less. */
#define XFW_STAGE_PIECE ((uint64_t)1 << 20)
#define XFW_STAGE_LEAST ((uint64_t)8 << 20)
struct xfw_staging {
    bool known;
    double first_ns;  /* until the device (or the host) has something to copy */
    double during_ns; /* what follows, of which the device is copying */
    double last_ns;   /* behind the last of the device's work */
};
/* To set it up, once, and undo it: its memory and the threads. */
#define XFW_STAGE_PIECES 8
double xfw_staging_setup(const struct xfa_achievable *achievable, int gpu, unsigned threads,
                         enum xfw_certainty certainty);
struct xfw_staging xfw_staging_cost(const struct xfa_achievable *achievable,
                                    const struct xfp_path *path, uint64_t bytes, unsigned threads,
                                    enum xfw_certainty certainty);

/* How many threads pay: the fewest that copy within a tenth of the fastest, on half of the
 * processors at most; 0: not measured. */
unsigned xfw_staging_threads(const struct xfa_achievable *achievable, enum xft_direction direction);

#endif
