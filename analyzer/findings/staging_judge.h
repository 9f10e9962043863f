/*
 * What becomes of bytes that a thread takes from a GPU to another rank, or the other way, whole and
 * through the host (unpipelined_staging.c), by what the profile's network has between the two hosts
 * (`probe --net`) at that size:
 *
 * - in pieces (unpipelined-staging): through rings of pinned buffers on both sides (rCUDA's
 *   versions 3B and 4B, Reano and Silla, section 4), or with all pieces begun at once, it takes
 *   less than whole (2B). Lost: the copies and their waits, as far as the way from GPU to GPU took
 *   longer than it does in pieces, but for what its message took longer than one by itself does:
 *   pieces do not mend that. So much is saved at best: rings gain by MPI's progress while
 *   copies are under way, for which both sides have to call it. As likely the program begins all
 *   pieces at once and waits for them in order (posted_ns), which is worth what was measured of it.
 *   Of a process's threads that wait in MPI at the same time one may do the work of all, while the
 *   others sleep (Open MPI 4.1); threads that turn over what is under way call MPI_Test() instead,
 *   in which each does its own. So what messages took longer among threads that waited goes at
 *   best, too; by pieces that are begun at once it stays.
 * - by device buffers (host-staged-mpi): MPI takes them there, which is faster still. Lost: copies
 *   and message, as far as they took longer than such a message. As likely MPI's first messages of
 *   device memory between the two ranks take what the profile has for these.
 *
 * The way from GPU to GPU is the copy of one rank, the message since both ranks had begun it, and
 * the other rank's copy. Of a message that only one side stages its own copy counts alone. Sizes
 * that were not measured take the bandwidth of the largest one that is not above. Without these
 * figures the first kind is named, and its loss is not known.
 */
#ifndef XFA_STAGING_JUDGE_H
#define XFA_STAGING_JUDGE_H

#include "analyzer/findings/message_items.h"

enum xfa_staged { /* an item's judged */
                  XFA_STAGED_NOT_JUDGED,
                  XFA_STAGED_IN_PIECES,
                  XFA_STAGED_BY_DEVICE,
                  XFA_STAGED_NOT_KNOWN
};

/* Sets what items save. */
void xfa_judge_staging(const struct xfa_analysis *analysis, const struct xfa_message_items *items);

/* What pieces of the finding's sites have to be at best, in words; NULL: as they are as likely. */
const char *xfa_staging_at_best(const struct xfa_message_items *items,
                                const struct xfa_finding *finding);

#endif
