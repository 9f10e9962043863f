/*
 * The advice carried out on the unmodified program: docs/apply.md says what a user sees.
 *
 * How it stands between the hooks and the driver. A wrapper calls, in place of a driver function of
 * functions.def, a function of this room with the same parameters (xfs_in_place of resolve.h); that
 * carries the call out itself, or calls the driver's. This is so at whatever level the program made
 * its call: a runtime's calls come here once the runtime has checked their arguments, made its
 * context and chosen its stream, and what they return becomes the runtime's result and its last
 * error as always. The calls that the room makes itself go to the driver directly: they are not
 * recorded, and the hooks do not know of them. With recording on, the hook's event has the time
 * that the call took in fact.
 *
 * What is promised. A call that the room carries out does what the driver would have done, in the
 * order of its stream, and returns when the driver's call would have returned at the earliest. What
 * cannot be carried out with certainty is passed on; an attempt that fails is made again as the
 * program asked, and the program gets that result. Faults in the program's memory are its own: the
 * call is made as it asked, in its thread, on its stack.
 *
 * What it takes. Nothing (no thread, no memory, no call of the driver beyond a look at the pointers
 * of large copies) before the first call that can gain. Then at most the memory and the threads of
 * settings.def, and none of them in a forked child.
 *
 * Parts: functions.def (which functions), functions.c (their bodies), classes.def (what the room
 * can do), move.h (a copy as it was asked for), staging.h, ring.h, job.h and team.h (copies of
 * pageable memory), proof.h (whether it gains), site.h and told.h (who asked, and what came of it);
 * of a plan (plan.h): leave_out.h with uploads.h, writes.h and sum.h, and pool.h.
 *
 * All functions keep errno, are thread-safe, and may be called in signal handlers, where calls are
 * passed on.
 */
#ifndef XFS_APPLY_H
#define XFS_APPLY_H

#include <stdbool.h>

/* Classes are on: XFERSCOPE_APPLY, from the environment that the process began with. */
bool xfs_apply_on(void);

/* Tells how many streams are being captured into graphs. While there are any, every call is passed
 * on. NULL: not known, and nothing is carried out. Set once, before the first call. */
extern int (*xfs_apply_capturing)(void);

#endif
