/*
 * Whether our way gains at a site: both ways are tried in turn, timed by the same clock, and
 * the medians decide; what is far slower is given up after two. What does not gain is left as the
 * program has it, and looked at again after ever longer whiles; what gains is compared again now
 * and then.
 *
 * Copies may be faster, and the program slower: threads that have just copied have taken what it
 * computed from its processor's caches, or speed from that processor. So the time from one copy's
 * return to the next one's call is compared, too. It varies as the program does: it counts where
 * each after ours was longer than any after the program's way.
 *
 * A large copy is tried in parts. Parts take longer than the whole by the byte: threads wake up,
 * the first piece is on its way while nothing else is. So the first ones of ours that are made
 * whole are timed as well: these do not decide, they say what the others take.
 *
 * Kept by size (powers of two), since what gains for large copies may lose for small ones. One
 * thread at a time (site.h).
 */
#ifndef XFS_APPLY_PROOF_H
#define XFS_APPLY_PROOF_H

#include <stdbool.h>
#include <stdint.h>

enum xfs_way { XFS_WAY_AS_ASKED, XFS_WAY_OURS };
enum xfs_verdict { XFS_TRYING, XFS_GAINS, XFS_LOSES };

#define XFS_TRIALS 5 /* of each way */

struct xfs_proof {
    uint32_t samples[2];
    float per_mib_ns[2][XFS_TRIALS]; /* the latest */
    uint32_t gaps[2];
    float gap_ns[2][XFS_TRIALS]; /* the latest, from a timed copy's return to the next call */
    float mib;                   /* of the last timed copy */
    uint32_t wholes;
    float whole_per_mib_ns[XFS_TRIALS]; /* of ours that were no trials */
    uint32_t since, interval;           /* copies since the last comparison; until the next */
    uint8_t verdict;                    /* enum xfs_verdict */
    bool ours_first;                    /* of the trials: for what is done once or twice in a run */
    uint8_t looking;                    /* copies of a comparison that are still to be made */
};

/* How the next copy is to be made, and whether it is to be timed. */
enum xfs_way xfs_proof_choose(struct xfs_proof *proof, bool *timed);

/* A timed copy took so long. */
void xfs_proof_took(struct xfs_proof *proof, enum xfs_way way, uint64_t bytes, uint64_t ns);

/* A copy of ours that was no trial, and was timed all the same. */
void xfs_proof_whole(struct xfs_proof *proof, uint64_t bytes, uint64_t ns);

/* From the return of a timed copy of this way until its thread's next call at the site. */
void xfs_proof_gap(struct xfs_proof *proof, enum xfs_way way, uint64_t ns);

/* The median time of a way for so many bytes, of ours by the whole ones where there are some; 0:
 * not known. */
uint64_t xfs_proof_expects(const struct xfs_proof *proof, enum xfs_way way, uint64_t bytes);

/* Our way cannot be tried now: not before the next look. */
void xfs_proof_give_up(struct xfs_proof *proof);

#endif
