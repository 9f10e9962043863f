/*
 * Before CUPTI's records are switched on: do they fit into the budget (XFERSCOPE_BUDGET)? Calls
 * stay slower once records have been on, whatever is switched off again (docs/timing.md), so a
 * program that is too dense is better left alone from its first call on.
 *
 * From the first call that can move data on the hooks count calls, in windows of
 * XFS_TRIAL_WINDOW_MS. A window fits when the records of so many calls would have fitted into its
 * share (allowance.h). Records are switched on, copies first, kernels too if both fit, when
 * XFS_TRIAL_CALLS calls were seen and two windows in a row fitted; or, of programs that make few
 * calls, when the last window before XFERSCOPE_BUDGET_TRIAL ms were over did. What does not fit is
 * looked at again every XFS_TRIAL_AGAIN_MS, since programs begin with calls that they do not
 * repeat; what has not fitted by XFS_TRIAL_LAST_MS stays off.
 *
 * One thread: that which makes the recorder's calls of CUPTI. Parts are sums of
 * 1 << XFS_PART_COPIES and 1 << XFS_PART_KERNELS.
 */
#ifndef XFS_TRIAL_H
#define XFS_TRIAL_H

#include <stdbool.h>

#define XFS_TRIAL_WINDOW_MS 10
#define XFS_TRIAL_CALLS 64
#define XFS_TRIAL_AGAIN_MS 100
#define XFS_TRIAL_LAST_MS 1000

#define XFS_TRIAL_COPIES (1u << XFS_PART_COPIES)
#define XFS_TRIAL_KERNELS (1u << XFS_PART_KERNELS)

/* Begins, with the parts that are wanted. False: there is no bound, or records cost nothing, or
 * recording is limited to periods: switch them on at once. */
bool xfs_trial_start(unsigned wanted);

/* The parts to be switched on now; 0: none. The same again until xfs_trial_switched_on(). */
unsigned xfs_trial_look(void);
void xfs_trial_switched_on(unsigned parts);

/* Some part is neither on nor refused; look again soon. */
bool xfs_trial_goes_on(void);

/* Ends it, if it goes on, without a result. */
void xfs_trial_stop(void);

#endif
