/*
 * The gate: a moment in which no recorded call of the process is under way.
 *
 * Every call stores in its thread's lane that it is under way, and then looks whether calls may
 * begin (hot.h). The gate uses these two: it lets no call begin, waits until those under way have
 * returned, does its work, and opens again. Calls cost nothing more than without it; one that meets
 * the closed gate waits, awake at first.
 *
 * Not held back are calls that are not recorded: functions without a row, rows that only watch, and
 * calls outside the periods to which recording is limited.
 */
#ifndef XFS_GATE_H
#define XFS_GATE_H

#include <stdbool.h>
#include <stdint.h>

#define XFS_GATE_WAIT_NS 500000 /* for calls under way; then the gate opens again */

/* In a thread of the recorder's own that makes no recorded call. Runs `work` while no recorded call
 * is under way, and returns true; false: a call stayed in the driver, or recording has ended, and
 * `work` did not run. */
bool xfs_gate_pass(void (*work)(void *), void *argument);

#endif
