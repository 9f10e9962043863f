/*
 * The advice carried out on the unmodified program: docs/apply.md says what a user sees.
 *
 * How it stands between the hooks and the driver. A wrapper calls, in place of a driver function of
 * functions.def, a function of this component with the same parameters (xfs_in_place of
 * lookup/driver.h); that carries the call out itself, or calls the driver's. This is so at whatever
 * level the program made its call: a runtime's calls come here once the runtime has checked their
 * arguments, made its context and chosen its stream, and what they return becomes the runtime's
 * result and its last error as always. The calls that apply makes itself go to the driver directly:
 * they are not recorded, and the hooks do not know of them. With recording on, the hook's event has
 * the time that the call took in fact.
 *
 * What is promised. A call that apply carries out does what the driver would have done, in the
 * order of its stream, and returns when the driver's call would have returned at the earliest. What
 * cannot be carried out with certainty is passed on; an attempt that fails is made again as the
 * program asked, and the program gets that result. Faults in the program's memory are its own: the
 * call is made as it asked, in its thread, on its stack.
 *
 * What it takes. Nothing (no thread, no memory, no call of the driver beyond a look at the pointers
 * of large copies) before the first call that can gain. Then at most the memory and the threads of
 * settings.def, and none of them in a forked child.
 *
 * Parts, each knows only those below it (docs/architecture.md has what is in them):
 *   - this folder, the dispatch: functions.def (which functions), functions.c (their bodies),
 * offer.h (which class gets a copy);
 *   - the classes (classes.def), none of which knows another, but for leave_out/, which makes its
 *     copies by staging/, and staging/, gpus/, whose memory is of memory/:
 *       leave_out/   uploads whose bytes the device has;
 *       staging/     copies of pageable memory by threads; managed/ managed memory prefetched;
 *       gpus/        copies between GPUs, and uploads by the links of two (relay.h);
 *       streams/     copies and kernels of threads in streams of our own;
 *       memory/      page-locked memory made, kept (locking.h) and placed (placement.h, placed.h),
 *                    device memory kept (pool.h);
 *   - site/ who asked, what is planned, what gains; calls/ a call as the program made it;
 *   - state/ of the process: what is on, what it may use, what came of it;
 *   - team/ threads that copy.
 * What a part has of its own it gives back in xfs_*_leave(), as a context ends, and forgets in
 * xfs_*_after_fork(), in a forked child: functions.c calls both.
 *
 * All functions keep errno, are thread-safe, and may be called in signal handlers, where calls are
 * passed on.
 */
#ifndef XFS_APPLY_H
#define XFS_APPLY_H

/* `now` tells how many streams are being captured into graphs. While there are any, every call is
 * passed on; before this is called, too. Once, before the first call. */
void xfs_apply_follow_captures(int (*now)(void));

/*
 * For who measures within one process: while `all` is not 0, every call is passed on, as while a
 * stream is being captured. Trials and what they have found stay as they are. Memory that a class
 * gave stays the program's, and is given back by its own calls as always; what it frees meanwhile
 * goes to the driver and is not kept. Calls that have begun end as they began. Two things stay
 * nevertheless: peer access, once enabled; and once a copy was passed on so, a plan's step of
 * streams is over for the process. Exported, so that a library loaded beside this one finds it by
 * its name (tests/gpu/repeated.c); programs do not know of it. Nothing happens where apply is not
 * on. Thread-safe.
 */
__attribute__((visibility("default"))) void xferscope_apply_pass_on(int all);

#endif
