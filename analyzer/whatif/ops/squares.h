/*
 * Least squares with up to three unknowns: y = x[0] a[0] + x[1] a[1] + x[2] a[2], of sums over all
 * that was seen. Private to whatif/.
 */
#ifndef XFW_SQUARES_H
#define XFW_SQUARES_H

#include <stdint.h>

#define XFW_SQUARES 3

struct xfw_squares {                                                       /* zeroed at first */
    double products[XFW_SQUARES][XFW_SQUARES], with[XFW_SQUARES], squares; /* of x; x and y; y */
    uint64_t count;
};

void xfw_squares_add(struct xfw_squares *sums, const double *x, double y);

void xfw_squares_merge(struct xfw_squares *into, const struct xfw_squares *other);

/* NAN: not known, as where an x is none in all, or the same sum of parts of others in all (to one
 * in a thousand). error: the standard error; that of a y is taken to be 1 % at least. */
struct xfw_solved {
    double value[XFW_SQUARES], error[XFW_SQUARES];
};
struct xfw_solved xfw_squares_solve(const struct xfw_squares *sums);

/* The same where two of the x are one, their sum, with one a: `into` has it, `other` none. */
struct xfw_solved xfw_squares_solve_with(const struct xfw_squares *sums, unsigned into,
                                         unsigned other);

#endif
