/*
 * A hash of memory of the program, in chunks of XFS_SUM_CHUNK bytes, by the calling thread and
 * those of the team: two memories with the same hash have the same bytes, but for a chance of 1 in
 * 2^128.
 *
 * The calling thread touches the memory first, on the program's stack: a fault is the program's
 * own. (To ask the kernel whether it is there takes as long as hashing it.) Where another thread
 * hashes at the moment, or no processor is idle, the calling thread hashes alone.
 */
#ifndef XFS_APPLY_SUM_H
#define XFS_APPLY_SUM_H

#include "preload/apply/team/job.h"

#define XFS_SUM_CHUNK ((size_t)256 << 10)

/* The same for the same bytes, whoever hashes them. Once apply has started (state.h). */
struct xfs_sum xfs_sum_of_program(const void *memory, size_t bytes);

void xfs_sums_after_fork(void);

#endif
