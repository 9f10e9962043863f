/*
 * Compares two profiles of a machine: `xferscope probe --compare`.
 */
#ifndef XFP_COMPARE_H
#define XFP_COMPARE_H

#include <stdio.h>

#include "xferscope/profile.h"

struct xfp_comparison {
    size_t compared; /* benchmarks that both have, at one size at least */
    size_t differ;   /* of these: slower or faster beyond noise at one size at least */
    size_t slower, faster;
    size_t only_first, only_second;
};

/*
 * A figure differs beyond noise when the 95 % confidence intervals of its medians, the later one's
 * widened by tolerance (0.05 = 5 %), do not meet: the first is the uncertainty within one run, the
 * second what runs may differ by. Looks at every path, group, cost, way of a staged copy ("NAME
 * 4B") and copy of an overlap ("NAME both") that both have under one name; filter is an extended
 * regular expression on these names, or NULL.
 *
 * Prints a table of what differs and what only one of them has. 0; -1 with one line in error.
 */
int xfp_compare(const struct xfp_profile *first, const struct xfp_profile *second,
                const char *filter, double tolerance, FILE *out, struct xfp_comparison *result,
                char *error, size_t error_bytes);

#endif
