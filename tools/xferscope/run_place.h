/*
 * The place where a run directory is to be made: no other run uses it at this moment, and it can
 * hold a trace.
 */
#ifndef XFERSCOPE_RUN_PLACE_H
#define XFERSCOPE_RUN_PLACE_H

#include <stdbool.h>
#include <stddef.h>

enum run_lock { RUN_LOCKED, RUN_LOCKED_BY_OTHER, RUN_CANNOT_LOCK };

/*
 * Locks `name` in the directory that `folder` has open for reading, against others of this machine
 * who do the same. It is a lock on one byte of the directory, whose number comes from the name: it
 * makes no file, and goes with the last descriptor of this opening, however its process ends.
 * Processes that inherit the descriptor until they run another program hold it that long.
 */
enum run_lock run_place_lock(int folder, const char *name);

/*
 * Makes a directory `name` in `folder` with a file of the size that a process's trace begins with,
 * and removes both. Returns 0, or -1 with errno.
 */
int run_place_try(int folder, const char *name);

#endif
