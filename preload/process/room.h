/*
 * Memory for a completed environment that is too large for a program's stack.
 *
 * Usable in a signal handler and in the child of a vfork, which runs on its parent's memory: no
 * lock, no allocator, errno kept. Such a child never comes back from an execve that succeeds; what
 * it had is free again nevertheless, since the kernel says so at that moment: a room's claim is a
 * robust futex of the thread that holds it (set_robust_list(2)). Threads and processes that libc
 * made have a list of their own, which is left to them; where these succeed, the memory goes with
 * the old program.
 *
 * Rooms are kept for the next use: there are as many as were in use at once, and no more than 32.
 */
#ifndef XFS_ROOM_H
#define XFS_ROOM_H

#include <stddef.h>

/* NULL when there is none: too many in use, no memory. */
void *xfs_room_take(size_t bytes);
void xfs_room_give(void *memory);

#endif
