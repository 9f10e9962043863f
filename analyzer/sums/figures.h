/*
 * What is known about a set of transfers. Sums of times are ns; a time that is not known is not
 * in any sum, and the number of transfers behind each sum stands beside it.
 */
#ifndef XFA_FIGURES_H
#define XFA_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "xferscope/profile.h"

struct xfa_sum {
    uint64_t transfers;
    uint64_t bytes;
    double ns;
};

/* Achieved times of transfers that are picked one by one; zeroed at first. */
struct xfa_timed_sum {
    struct xfa_sum sum; /* ns: of those whose time is known */
    uint64_t timed;     /* how many these are */
    uint64_t by_device; /* of these: by device timestamps */
};
/* achieved_ns: NAN = not known. */
void xfa_timed_add(struct xfa_timed_sum *sum, uint64_t bytes, double achieved_ns, bool by_device);

/* Where a figure comes from. Achieved: device timestamps, the host's time in blocking calls, device
 * timestamps of others (of a single transfer only), some of either, or the model; achievable:
 * measured, interpolated or modelled. */
enum xfa_basis {
    XFA_BASIS_UNKNOWN,
    XFA_BASIS_DEVICE,
    XFA_BASIS_HOST,
    XFA_BASIS_SAMPLED,
    XFA_BASIS_MIXED,
    XFA_BASIS_MODELLED,
    XFA_BASIS_INTERPOLATED,
    XFA_BASIS_MEASURED,
};

#define XFA_SIZE_CLASSES 65 /* 0: nothing; n: sizes of n bits, from 2^(n-1) on */
static inline unsigned xfa_size_class(uint64_t bytes)
{
    return bytes ? 64 - (unsigned)__builtin_clzll(bytes) : 0;
}

struct xfa_figures {
    uint64_t transfers;
    uint64_t copies; /* more than transfers where one call is a batch */
    uint64_t bytes;
    uint64_t smallest, largest;
    uint64_t sizes[XFA_SIZE_CLASSES]; /* transfers by size */
    uint64_t strided;                 /* transfers whose rows are not contiguous (2D, 3D) */

    /* Achieved: from device timestamps; else the host's time in a call that blocks, which
     * includes waiting for earlier work, so that it is an upper bound; else not known. */
    struct xfa_sum device, host;

    /* Of the rest: by device timestamps of others of the class. Bandwidths are without these. */
    struct xfa_sum sampled;
    double sampled_error_ns; /* sum of time * relative error of the mean */

    /* Achievable, by the profile. */
    struct xfa_sum achievable;
    double achievable_error_ns;   /* sum of time * relative error */
    uint64_t achievable_basis[4]; /* transfers by enum xfp_basis */

    /* Lost = max(0, achieved - achievable), where both are known. */
    struct xfa_sum lost;
    double lost_achieved_ns, lost_achievable_ns; /* the two times of the same transfers */

    /* Host time in calls that block, and what of it exceeds an asynchronous submission. */
    struct xfa_sum blocked, beyond;
};

void xfa_figures_merge(struct xfa_figures *into, const struct xfa_figures *from);

/* NAN = not known. */
double xfa_achieved_gbps(const struct xfa_figures *figures);
double xfa_achievable_gbps(const struct xfa_figures *figures);
double xfa_lost_ns(const struct xfa_figures *figures);
double xfa_achievable_error(const struct xfa_figures *figures); /* relative */

/* The size class where half of the transfers is reached: its least size in bytes. */
uint64_t xfa_typical_size(const struct xfa_figures *figures);

enum xfa_basis xfa_timed_basis(const struct xfa_timed_sum *sum);
enum xfa_basis xfa_achieved_basis(const struct xfa_figures *figures);
enum xfa_basis xfa_achievable_basis(const struct xfa_figures *figures); /* the weakest */
enum xfa_basis xfa_basis_of_both(enum xfa_basis a,
                                 enum xfa_basis b); /* achieved: mixed if not one */
enum xfa_basis xfa_basis_weaker(enum xfa_basis a, enum xfa_basis b); /* achievable */
const char *xfa_basis_word(enum xfa_basis basis);                    /* NULL = not known */

#endif
