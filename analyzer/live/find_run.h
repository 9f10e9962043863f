/*
 * The run that a process records into.
 */
#ifndef XFA_FIND_RUN_H
#define XFA_FIND_RUN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * The run directory of a process of this host, by the trace that it has mapped; of `xferscope
 * record` and of launchers by those of the processes that they started. False with one line in
 * error: there is no such process, or it records nothing yet.
 */
bool xfa_run_of_process(long pid, char run[PATH_MAX], char *error, size_t error_bytes);

#endif
