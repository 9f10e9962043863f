/*
 * Calls of the driver that may write device memory in ways that apply does not follow: each is
 * counted as it begins, whatever its parameters are. So a function that nobody thought
 * of is one that may write anything.
 *
 * A counted function is reached through a few instructions (writes_counted.S) that change no
 * register and no word of the stack, and jump to it.
 */
#ifndef XFS_APPLY_WRITES_H
#define XFS_APPLY_WRITES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "preload/lookup/driver.h"

/* Counts writes that nobody can place, launches not included; and launches. */
extern _Atomic uint64_t xfs_writes_unplaced, xfs_writes_launched;

/* What is to be called in place of a driver's function: itself where it writes no device memory.
 * NULL: it would have to be counted, and cannot be. One thread at a time. */
xfs_function xfs_writes_counted(const char *symbol, xfs_function real);

#endif
