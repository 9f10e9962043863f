/*
 * Pairs of contexts between which the program copies, and whether access between them is ours, the
 * program's, or nobody's. peer_access.h enables it.
 *
 * A context that was made later in the place of another is known by its number. A pair belongs to
 * one thread at a time: xfs_pair_take(). The program's own calls take no lock.
 */
#ifndef XFS_APPLY_PAIRS_H
#define XFS_APPLY_PAIRS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "preload/apply/gpus/between.h"
#include "preload/apply/gpus/contexts.h"
#include "preload/apply/site/proof.h"
#include "xferscope/cuda_abi.h"

enum xfs_pair_phase {
    XFS_PAIR_ASKED,  /* copies are timed as the program asked for them */
    XFS_PAIR_DUE,    /* access is to be enabled */
    XFS_PAIR_OURS,   /* it is enabled, and is tried or has gained */
    XFS_PAIR_UNDONE, /* it does not gain, and is to be disabled */
    XFS_PAIR_OFF     /* the program's business, or not possible: nothing is done any more */
};

struct xfs_pair {
    struct xfs_contexts of;
    atomic_int phase;        /* enum xfs_pair_phase */
    atomic_bool ours[2];     /* from [i] to the other: enabled by us */
    atomic_bool programs[2]; /* by the program */

    /* Of who has taken it. */
    struct xfs_proof proof;
    struct xfs_timed timed;
    uint64_t spent_bytes; /* of copies as asked */
    bool wanted;          /* by a site that is not off */
    /* Of the last copy, and of the last wait of the program for all work of each: xfs_pair_now().
     */
    uint64_t copied, waited[2];
};

/* Numbers that only grow. */
uint64_t xfs_pair_now(void);

/* The pair of two contexts, whoever has it; NULL: there is none. The i-th one, NULL: there are no
 * more. */
struct xfs_pair *xfs_pair_find(xcu_context one, xcu_context other);
struct xfs_pair *xfs_pair_at(unsigned i);

/* The pair of two contexts, taken; NULL: another thread has it, or there are too many. */
struct xfs_pair *xfs_pair_take(xcu_context one, xcu_context other);
void xfs_pair_give_back(struct xfs_pair *pair);

/* Are there pairs? */
bool xfs_pairs_any(void);

/* Was access ever enabled by us; is that of these two ours alone, either way? */
bool xfs_pairs_ours(void);
bool xfs_pair_is_ours(xcu_context one, xcu_context other);

/* Is access between this context and any other one ours alone? */
bool xfs_pairs_have_ours(xcu_context context);

/* From here on no access is enabled, and none that is ours is disabled while its contexts live. */
void xfs_pairs_refuse(void);
bool xfs_pairs_refused(void);

/* Calls `work` with each pair that has this context, taken; those of other threads are left out. */
void xfs_pairs_of(xcu_context context, void (*work)(struct xfs_pair *pair, unsigned side));

/* Said before access from [side] to the other is enabled. */
void xfs_pair_is_to_be_ours(struct xfs_pair *pair, unsigned side);

/* Of a pair that is taken, one of whose contexts ends. */
void xfs_pair_end(struct xfs_pair *pair);

void xfs_pair_after_fork(void);

#endif
