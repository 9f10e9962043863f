/*
 * Orders for qsort().
 */
#ifndef XFA_COMPARE_H
#define XFA_COMPARE_H

#include <math.h>

/* As for qsort(): the larger one first, what is unknown (NAN) last. */
static inline int xfa_descending(double a, double b)
{
    if (isnan(a) || isnan(b))
        return (isnan(a) != 0) - (isnan(b) != 0);
    return (a < b) - (a > b);
}

#endif
