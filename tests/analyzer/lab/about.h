/* A figure that was calculated in another order: the same but for rounding. */
#ifndef ABOUT_H
#define ABOUT_H

#include <math.h>

static inline void about(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.17g, expected %.17g", value, expected);
}

#endif
