/*
 * Holding calls back: a moment in which no recorded call of the process is under way.
 *
 * Every call stores in its thread's lane that it is under way, and then looks whether calls may
 * begin (hot.h). That is used here: no call may begin, those under way are waited for, the work is
 * done, and calls begin again. Calls cost nothing more for it; one that is held back waits, awake
 * at first.
 *
 * A call that the work itself makes (CUPTI may) is passed on and not recorded.
 *
 * Not held back are calls that are not recorded: functions without a row, rows that only watch, and
 * calls outside the periods to which recording is limited.
 */
#ifndef XFS_HOLD_H
#define XFS_HOLD_H

#include <stdbool.h>
#include <stdint.h>

#define XFS_HOLD_WAIT_NS 500000 /* for calls under way; then calls begin again */

/* In a thread of the recorder's own that makes no recorded call. Runs `work` while no recorded call
 * is under way, and returns true; false: a call stayed in the driver, or recording has ended, and
 * `work` did not run. */
bool xfs_with_calls_held(void (*work)(void *), void *argument);

#endif
