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
    bool led; /* the caller prints the rest: say how much was recorded, and nothing else */
};

/* The program has run. *totals: of what was recorded. */
void record_end(struct rundir *dir, const struct run_notes *notes, const struct record_words *words,
                struct rundir_totals *totals);

/* The path as the user would type it. */
const char *record_short_path(const char *path);

/* An argument on standard error, quoted for a shell where it must be. */
void record_say_argument(const char *word);

/* The path of a file, quoted in the same way, which no command takes for an option. */
void record_say_quoted(const char *word);

/* The program has not run: an earlier run gets its name back. */
void record_undo(struct rundir *dir);

#endif
