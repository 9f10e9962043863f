/*
 * By how much copies in both directions at once slow each other, by the profile: for changes that
 * let copies meet (struct xfw_op's both_ways). Private to whatif/.
 */
#ifndef XFW_BOTH_WAYS_H
#define XFW_BOTH_WAYS_H

#include "analyzer/whatif/change.h"

#define XFW_BOTH_WAYS_SIZES 32 /* a power of two */

struct xfw_both_ways { /* zeroed at first */
    struct xfw_slower {
        uint64_t bytes;
        int gpu;
        double alone, both;            /* what the profile has, at worst or at best; 0 = nothing */
    } answers[2][XFW_BOTH_WAYS_SIZES]; /* those before, by direction and size */
    struct xfw_directions {
        bool asked;
        int gpu;
        const struct xfp_path *alone, *both; /* NULL: not measured */
    } paths[2];                              /* of the GPU asked for last, by direction */
};

/* Of a copy between host and device. What was slower than alone in the record already is so by
 * less.
 */
double xfw_both_ways(struct xfw_both_ways *ways, const struct xfa_analysis *analysis,
                     enum xfw_certainty certainty, const struct xfw_op *op);

#endif
