/*
 * The run directory NAME.xft/ as record sees it: prepared before the program starts, completed
 * after it has ended. The recorder creates it, at the first CUDA call.
 */
#ifndef XFERSCOPE_RUNDIR_H
#define XFERSCOPE_RUNDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rundir_totals {
    size_t processes; /* trace files */
    uint64_t events;
    uint64_t lost;  /* events the recorder could not store */
    size_t running; /* of them, those whose process goes on */
    size_t failed;  /* trace files that could not be completed; `error` tells of the first */
    char error[512];
};

/*
 * Makes sure that a new run can be written to path: that nothing is there, or with `replace` that
 * what is there is a run, which is then removed. Returns 0, or -1 with one line in error.
 */
int rundir_prepare(const char *path, bool replace, char *error, size_t error_bytes);

/* Completes the traces that ended processes left: what lies in lanes is compressed, call sites
 * get their names. Traces of processes that still run stay as they are. */
void rundir_complete(const char *path, struct rundir_totals *totals);

#endif
