/*
 * The end of record: traces are completed, the earlier run goes or comes back, and standard error
 * gets a few lines that say what was recorded, or why nothing was.
 */
#ifndef XFERSCOPE_RECORD_END_H
#define XFERSCOPE_RECORD_END_H

#include <stdbool.h>

#include "tools/xferscope/run_notes.h"
#include "tools/xferscope/rundir.h"

/* `program` has run; `quiet`: say nothing when all went well. */
void record_end(struct rundir *dir, const struct run_notes *notes, const char *program, bool quiet);

/* The program has not run: an earlier run gets its name back. */
void record_undo(struct rundir *dir);

#endif
