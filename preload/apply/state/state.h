/*
 * What apply is in this process: not started, until the first copy that can gain; and what it may
 * use from then on.
 */
#ifndef XFS_APPLY_STATE_H
#define XFS_APPLY_STATE_H

#include <stdbool.h>
#include <stdint.h>

bool xfs_apply_started(void);

/* False: another thread is at it, or it cannot be done in this process. Needs a large stack. */
bool xfs_apply_start(void);

/* For what is planned: starts if need be, and begins the calling thread's work. False: it cannot
 * be done now. Needs little stack. */
bool xfs_apply_begin(void);

/* The calling thread's work for apply begins: from here on it has a stack of its own
 * (own_stack.h), which it gives back when it ends. Once it has started. */
void xfs_apply_enter(void);

/* Threads that may copy now: half of the processors that the process may use, as far as the program
 * leaves them idle; at most XFERSCOPE_APPLY_THREADS. At most ten times a second it reads the CPU
 * time of the process. */
unsigned xfs_apply_threads(void);

/* Page-locked memory that the process may have for this, bytes: XFERSCOPE_APPLY_MEMORY, and an
 * eighth of what was free below the process's limits at the start. */
uint64_t xfs_apply_memory(void);

/* Whether so many bytes more than what it has (`had`) can be made to be there: half of what is free
 * now, and in all an eighth of what was free below the process's limits at the start. Beyond that
 * the kernel would end processes, where the driver returns an error. */
bool xfs_apply_has_room(uint64_t bytes, uint64_t had);

/* `now` tells how many streams are being captured into graphs. Set once, before the first call. */
void xfs_apply_watch_captures(int (*now)(void));

/* While `all`, every call is passed on, as beside a capture (apply.h). Thread-safe. */
void xfs_apply_pass_on(bool all);

/* Whether that began later than at `ns` (driver.h's clock): calls may have gone by unseen. */
bool xfs_apply_passed_since(uint64_t ns);

/* Whether any stream is being captured, or that is not known, or all is passed on: then every call
 * is passed on. */
bool xfs_apply_captures(void);

/* In a forked child: nothing has started here. False: it had not in the parent either, which has
 * none of its threads and memory. */
bool xfs_apply_after_fork(void);

#endif
