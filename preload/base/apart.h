/*
 * Threads of the process, by the system's number, that are none of the program's threads without
 * calls of CUDA: threads that make such calls, and the library's own. From any thread, without a
 * lock.
 */
#ifndef XFS_APART_H
#define XFS_APART_H

#include <stdbool.h>

/* More than are kept: xfs_apart_is_full() from then on. */
void xfs_apart_add(int tid);
void xfs_apart_remove(int tid);
bool xfs_apart_has(int tid);
bool xfs_apart_is_full(void);

/* How often one was added. */
unsigned xfs_apart_added(void);

void xfs_apart_after_fork(void);

#endif
