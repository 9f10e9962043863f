/*
 * The run directory NAME.xft/ as record sees it: claimed before the program starts, completed after
 * it has ended. The recorder creates it, at the first CUDA call.
 *
 * An earlier run of that name is replaced by renaming. It waits as NAME.xft.replaced while the
 * program runs, and goes when the new run is there; when nothing was recorded it gets its name
 * back. If record is killed meanwhile, the next one with this name does either. At each moment one
 * of the two names has all of it.
 */
#ifndef XFERSCOPE_RUNDIR_H
#define XFERSCOPE_RUNDIR_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xferscope/terms.h"

struct rundir {
    char path[PATH_MAX];           /* absolute */
    char path_aside[PATH_MAX + 9]; /* NAME.xft.replaced */
    const char *name, *aside;      /* their last components */
    int folder;                    /* the directory above; while it is open, the name is locked */
    bool earlier_waits;            /* an earlier run is at path_aside */
};

struct rundir_totals {
    size_t processes; /* trace files of this run */
    size_t strangers; /* trace files of other runs, counted nowhere else */
    uint64_t events;
    uint64_t transfers, bytes;                  /* that moved */
    uint64_t by_direction[XFT_DIRECTION_COUNT]; /* bytes */
    bool simulated;                             /* the GPUs of one of them */
    uint64_t lost;                              /* events the recorder could not store */
    size_t running;                             /* processes that go on */
    size_t failed; /* trace files that could not be completed; `error` is about the first */
    char error[2 * PATH_MAX];
};

/*
 * Makes sure that a new run can be written to path and that no other record does: nothing is there,
 * or with `replace` a run that nobody records any more, which is set aside. Returns 0, or -1 with
 * one line in error; everything is then as it was.
 */
int rundir_claim(struct rundir *dir, const char *path, bool replace, char *error,
                 size_t error_bytes);

/*
 * Completes the traces of `run` (its XFERSCOPE_RUN) that ended processes left: what lies in lanes
 * is compressed, call sites get their names. Traces of processes that still run stay as they are.
 * `begun`: a process has recorded there, or may have; else another user's directory is left as it
 * is.
 */
void rundir_complete(const struct rundir *dir, const char *run, bool begun,
                     struct rundir_totals *totals);

/*
 * Ends the claim. An earlier run that waits is removed when a new one was recorded, and gets its
 * name back when none was. Returns 0, or -1 with one line in error, which says where the earlier
 * run is then.
 */
int rundir_release(struct rundir *dir, bool recorded, char *error, size_t error_bytes);

#endif
