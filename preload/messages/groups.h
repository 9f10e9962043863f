/*
 * Groups of NCCL's calls: between ncclGroupStart and ncclGroupEnd calls only queue their work, and
 * the last ncclGroupEnd of the thread launches it. Their messages are kept until then, so that they
 * have the number that joins them to their kernels. So many groups are kept at once, and so many
 * messages of each; others are written at once, without the number.
 *
 * What recording them costs counts where a message is kept, and where a group is written, each as a
 * call of a message (record/cost.h).
 */
#ifndef XFS_GROUPS_H
#define XFS_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "xferscope/trace.h"

#define XFS_GROUPS_KEPT 16
#define XFS_GROUP_MESSAGES 256

/* This thread is in one. */
bool xfs_in_group(void);

/* Keeps a message of this thread; false: it is in no group, or there is no room. */
bool xfs_group_add(const struct xft_event *event);

/* After ncclGroupStart; before and after ncclGroupEnd. Keep errno. */
void xfs_nccl_group_starts(int status);
void xfs_nccl_group_closes(void);
void xfs_nccl_group_ends(int status);

/* CUPTI's number of a launch that this thread has recorded since its slab's next event was this:
 * the last on the stream, or else of all; 0: there was none. */
uint32_t xfs_launched_since(uint32_t first_row, uint64_t stream);

void xfs_groups_after_fork(void);

#endif
