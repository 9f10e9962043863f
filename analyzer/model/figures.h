/*
 * What is known about a set of transfers. Sums of times are ns; a time that is not known is not
 * in any sum, and the number of transfers behind each sum stands beside it.
 */
#ifndef XFA_FIGURES_H
#define XFA_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/model/content.h"
#include "xferscope/profile.h"

struct xfa_sum {
    uint64_t transfers;
    uint64_t bytes;
    double ns;
};

/* Transfers whose bytes had moved before. */
struct xfa_same_sum {
    struct xfa_sum sum; /* ns: of those whose time is known */
    uint64_t timed;     /* how many these are */
    uint64_t sampled;   /* known by samples only */
};

#define XFA_SIZE_CLASSES 65 /* 0: nothing; n: sizes of n bits, from 2^(n-1) on */

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

    /* Achievable, by the profile. */
    struct xfa_sum best;
    double best_error_ns;   /* sum of time * relative error */
    uint64_t best_basis[4]; /* transfers by enum xfp_basis */

    /* Lost = max(0, achieved - achievable), where both are known. */
    struct xfa_sum lost;
    double lost_achieved_ns, lost_best_ns; /* the two times of the same transfers */

    /* Host time in calls that block, and what of it exceeds an asynchronous submission. */
    struct xfa_sum blocked, beyond;

    /* Runs of transfers below the half-bandwidth size, one behind the other on one thread. */
    struct xfa_sum small; /* ns: what they took, measured or by the model */
    uint64_t small_runs;
    uint64_t small_modelled; /* of small.transfers: by the model */
    double small_batched_ns; /* one transfer per run instead */
    double small_error;      /* of the model, relative */
    uint64_t small_limit;    /* the half-bandwidth size */

    struct xfa_same_sum same[XFA_SAMES]; /* by enum xfa_same; the first is not used */
};

void xfa_figures_merge(struct xfa_figures *into, const struct xfa_figures *from);

/* NAN = not known. */
double xfa_achieved_gbps(const struct xfa_figures *figures);
double xfa_achievable_gbps(const struct xfa_figures *figures);
double xfa_lost_ns(const struct xfa_figures *figures);
double xfa_best_error(const struct xfa_figures *figures); /* relative */

/* The size class where half of the transfers is reached: its least size in bytes. */
uint64_t xfa_typical_size(const struct xfa_figures *figures);

/* device | host | mixed, NULL = not known. */
const char *xfa_achieved_basis(const struct xfa_figures *figures);
/* measured | interpolated | modelled: the weakest, NULL = not known. */
const char *xfa_achievable_basis(const struct xfa_figures *figures);

#endif
