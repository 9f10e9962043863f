/*
 * Memory for a completed environment that is too large for a program's stack.
 *
 * Usable in a signal handler and in the child of a vfork, which runs on its parent's memory: no
 * lock, no allocator, errno kept. Such a child never returns from an execve that succeeds, but its
 * room becomes free: the claim of a room is a robust futex of the thread that holds it
 * (set_robust_list(2)), which the kernel releases at that moment. Threads that libc made have a
 * robust list of libc's, which is not touched; when their execve succeeds, the memory is gone with
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
