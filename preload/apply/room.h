/*
 * The start of the room in a process, by the first copy that can gain, and what it may use from
 * then on.
 */
#ifndef XFS_APPLY_ROOM_H
#define XFS_APPLY_ROOM_H

#include <stdbool.h>
#include <stdint.h>

bool xfs_room_started(void);

/* False: another thread is at it, or it cannot be done in this process. Needs a large stack. */
bool xfs_room_start(void);

/* For what is planned: starts the room if need be, and the calling thread's work. False: it cannot
 * be done now. Needs little stack. */
bool xfs_room_begin(void);

/* The calling thread's work for the room begins: from here on it has a stack of its own
 * (own_stack.h), which it gives back when it ends. Once the room has started. */
void xfs_room_enter(void);

/* Threads that may copy now: half of the processors that the process may use, as far as the program
 * leaves them idle; at most XFERSCOPE_APPLY_THREADS. At most ten times a second it reads the CPU
 * time of the process. */
unsigned xfs_room_threads(void);

/* Page-locked memory that the process may have for this, bytes: XFERSCOPE_APPLY_MEMORY, and an
 * eighth of what was free below the process's limits at the start. */
uint64_t xfs_room_memory(void);

#endif
