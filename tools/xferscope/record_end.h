/*
 * The end of record: completes traces, removes or restores the earlier run, and prints a few lines
 * on standard error on what was recorded, or why nothing was.
 */
#ifndef XFERSCOPE_RECORD_END_H
#define XFERSCOPE_RECORD_END_H

#include <stdbool.h>

#include "tools/xferscope/run_notes.h"
#include "tools/xferscope/rundir.h"

struct record_words {
    const char *program;
    const char *profile; /* the profile the user named; NULL: the summary looks for one */
    bool part;           /* only a part of the run was to be recorded */
    bool ranked;         /* one of several ranks, each with a record of its own */
    bool quiet;          /* print nothing on success */
    bool brief;          /* no summary: one line */
};

/* The program has run. */
void record_end(struct rundir *dir, const struct run_notes *notes,
                const struct record_words *words);

/* The program has not run: an earlier run gets its name back. */
void record_undo(struct rundir *dir);

#endif
