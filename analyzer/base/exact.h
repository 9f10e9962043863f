/*
 * Sums of reals that do not depend on the order of their additions: whoever adds up which part, and
 * in whatever order the parts are merged, the sum is the same to the bit. For sums that the members
 * of a team divide (base/team.h); sums of doubles round after each addition, so that they differ.
 *
 * A fixed-point accumulator, as of Kulisch (Computer Arithmetic and Validity, 2nd edition, 2013,
 * chapter 8), of as many bits as times need: an addend is rounded once, to a multiple of 2^-60, and
 * integers are added up, which is associative. Demmel and Nguyen (Parallel Reproducible Summation,
 * IEEE Transactions on Computers 64(7), 2015) have the same for the whole range of doubles.
 *
 * Addends and sums lie between -2^66 and 2^66 (in ns: 2,300 years). A sum with an addend that is
 * not a number, or beyond, is not known.
 */
#ifndef XFA_EXACT_H
#define XFA_EXACT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#define XFA_EXACT_MOST 0x1p66
#define XFA_EXACT_PARTS 0x1p60 /* of 1 */

struct xfa_exact { /* zero to begin with */
    __int128 parts;
    uint64_t unknown;
};

static inline void xfa_exact_merge(struct xfa_exact *into, const struct xfa_exact *from)
{
    const __int128 most = (__int128)XFA_EXACT_MOST * (__int128)XFA_EXACT_PARTS;
    bool over = __builtin_add_overflow(into->parts, from->parts, &into->parts);
    over = over || into->parts > most || into->parts < -most;
    into->unknown = into->unknown || from->unknown || over;
    into->parts = into->unknown ? 0 : into->parts;
}

/* The same as the whole number in value * XFA_EXACT_PARTS, which has no machine's instruction. */
static inline __int128 xfa_exact_parts(double value)
{
    if (!(value > -0x1p62 && value < 0x1p62))
        return (__int128)(value * XFA_EXACT_PARTS);
    int64_t whole = (int64_t)value, rest = (int64_t)((value - (double)whole) * XFA_EXACT_PARTS);
    return (__int128)whole * (__int128)XFA_EXACT_PARTS + rest;
}

/* Any value, whatever has been added before. */
static inline void xfa_exact_add_any(struct xfa_exact *sum, double value)
{
    bool fits = value >= -XFA_EXACT_MOST && value <= XFA_EXACT_MOST;
    const struct xfa_exact one = {.parts = fits ? xfa_exact_parts(value) : 0, .unknown = !fits};
    xfa_exact_merge(sum, &one);
}

/* What is below 2^62 (146 years) cannot overflow the parts of a sum that is known, and takes a sum
 * over the most only where its upper half says so. */
static inline void xfa_exact_add(struct xfa_exact *sum, double value)
{
    if (sum->unknown || !(value > -0x1p62 && value < 0x1p62)) {
        xfa_exact_add_any(sum, value);
        return;
    }
    sum->parts += xfa_exact_parts(value);
    int64_t upper = (int64_t)(sum->parts >> 64);
    if (upper >= INT64_C(1) << 62 || upper < -(INT64_C(1) << 62)) {
        const struct xfa_exact nothing = {0};
        xfa_exact_merge(sum, &nothing);
    }
}

/* The double next to the sum; NAN: it is not known. */
static inline double xfa_exact_value(const struct xfa_exact *sum)
{
    return sum->unknown ? NAN : (double)sum->parts / XFA_EXACT_PARTS;
}

#endif
