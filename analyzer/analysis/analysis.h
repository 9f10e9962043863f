/*
 * The result of an analysis, as data: the run, its GPUs, rows, phases, managed memory, contents,
 * waits, ranks, messages, and what recording cost. It has no text for people, no order of printing
 * and no FILE: analyzer/report/ has them. Advice is made of it in analyzer/findings/.
 *
 * Ownership: the analysis owns the run, its sums and the texts in here; the profile is borrowed.
 */
#ifndef XFA_ANALYSIS_H
#define XFA_ANALYSIS_H

#include "analyzer/pass/pass.h"
#include "analyzer/pass/walked.h"
#include "analyzer/sums/contents.h"
#include "analyzer/sums/managed.h"
#include "analyzer/sums/message_match.h"
#include "analyzer/sums/phases.h"
#include "analyzer/sums/ranks.h"
#include "analyzer/sums/rows.h"
#include "analyzer/sums/waits.h"

/* ---- what recording cost --------------------------------------------------------------------- */

/* What the recorder added to the program's threads, as the traces say (docs/trace-format.md): for
 * each kind of call the median of the timed ones, times the number of calls. CUPTI's own part is
 * not in it. A sum of the processes that have a figure for this kind. */
struct xfa_recording_kind {
    uint64_t samples, calls;
    double ns; /* per call: the mean of the processes' medians, weighted by calls; NAN: no calls */
    double took_ns;
};

struct xfa_recording {
    struct xfa_recording_kind kinds[XFA_EVENT_KINDS]; /* by enum xft_event_kind */
    bool known;                                       /* any process has a figure */
    double took_ns;                                   /* of all kinds, threads added up */
    double once_ns;      /* in addition: work that is not done at every call (OVERHEAD events) */
    double processes_ns; /* of the processes with figures: how long they ran, added up; NAN */
};

/* ---- the analysis ---------------------------------------------------------------------------- */

#define XFA_COPIED_GPUS 64

struct xfa_analysis {
    struct xfa_run *run;
    const struct xfp_profile *profile; /* NULL = none */
    char *profile_path;
    char *profile_problem; /* one line: why the profile could not be read; NULL: it was, or none was
                              named */
    char *profile_unused;  /* one line: why one that was found is not used; NULL: none was */
    const char *profile_by; /* how it was found (machine_profile.h); NULL: not known */
    struct xfa_achievable achievable;
    struct xfa_classes classes;
    struct xfa_counts counts;
    struct xfa_recording recording;
    uint64_t *transfers;      /* calls, by process number */
    struct xfa_figures *rows; /* by row number; classes.rows says what the rows are */
    size_t row_count;
    uint64_t copied_gpus; /* the profile's GPUs that rows name, a bit for each of the first
                             XFA_COPIED_GPUS; 0: none, or no profile */
    struct xfa_sum directions[XFT_DIRECTION_COUNT]; /* over all rows; no times */
    struct xfa_sum runtime, driver;                 /* seen at this level; no times */
    uint64_t without_gpu, without_site; /* transfers that were too many kinds to tell these
                                           (class.h) */
    struct xfa_rows of_classes;
    struct xfa_phases phases;
    struct xfa_managed managed;
    struct xfa_contents contents;
    struct xfa_waits waits;
    struct xfa_ranks ranks;
    struct xfa_messages messages;
    struct xfa_matched matched;
    struct xfa_table files; /* analysis.c: those that were added */
    struct xfa_pass *pass;
    const struct xfa_watch *watch;
    struct xfa_observer *observers;
    size_t observer_count;
    const struct xfa_survey *survey; /* by which it is read, borrowed; NULL: none */
    bool surveys;   /* this is one: xfa_survey_of() is asked instead of finishing it */
    bool undivided; /* a survey: all members have to read all of the run */
    bool simulated; /* the run or the profile */
    bool stopped;   /* xfa_analysis_stop(): not all was read */
    bool lossy;     /* something was lost, or could not be read */
    size_t runs;    /* how many runs the files are of, as far as is known (recordings.h) */
    char *mixed;    /* one line when they are several; NULL: one */
};

struct xfa_request {
    const char *path; /* of the run, as it is to be named */
    const struct xfp_profile *profile;
    const char *profile_path;             /* NULL = none was named */
    const char *profile_problem;          /* why the profile could not be read; NULL = it was */
    const char *profile_unused;           /* why one that was found is not used; NULL = none was */
    const char *profile_by;               /* how it was found, static; NULL = not known */
    const struct xfa_observer *observers; /* in addition to the analysis' own: those of findings */
    size_t observer_count;
    const struct xfa_watch *watch;   /* of progress, borrowed; NULL: none */
    struct xfa_team *team;           /* that analyzes the run together, borrowed; NULL: none */
    bool surveys;                    /* of its own processes alone, for xfa_survey_of() */
    const struct xfa_survey *survey; /* of the same files, borrowed; NULL: none */
};

/* Files are read as they are added; then, once, xfa_analysis_finish(). */
struct xfa_analysis *xfa_analysis_new(const struct xfa_request *request);
void xfa_analysis_finish(struct xfa_analysis *analysis);
void xfa_analysis_free(struct xfa_analysis *analysis);

/* Reads a run's directory, or one trace file. A file that was added before is not read again: that
 * is reported as a line, and is no loss. Lines about what cannot be read go to `complain` at once
 * (NULL: nowhere), and are kept. */
typedef void xfa_complain_fn(const char *line);
void xfa_analysis_add(struct xfa_analysis *analysis, const char *path, xfa_complain_fn *complain);

/* A line for each file of which not all was recorded or could be read. */
void xfa_analysis_tell_losses(const struct xfa_analysis *analysis, xfa_complain_fn *complain);

/* Stops reading: what has not been read is left out. Observers may call it. */
void xfa_analysis_stop(struct xfa_analysis *analysis);

/* A file's bytes; for tests. False with one line in error when they are no trace. */
bool xfa_analysis_add_bytes(struct xfa_analysis *analysis, const void *data, size_t bytes,
                            char *error, size_t error_bytes);

static inline const struct xfa_row *xfa_analysis_row(const struct xfa_analysis *analysis, size_t i)
{
    return xfa_row_at(&analysis->classes, i);
}

/* ---- orders of rows -------------------------------------------------------------------------- */

/* Orders are total but for rows that nothing tells apart, so that a report does not depend on the
 * order in which rows were met. */

/* As for qsort(), of two row numbers. */
typedef int xfa_row_order(const struct xfa_analysis *analysis, uint32_t a, uint32_t b);

/* Most lost first, rows whose loss is not known last; then as by bytes. */
int xfa_by_lost(const struct xfa_analysis *analysis, uint32_t a, uint32_t b);
/* Most bytes first, then by the names of site and function. */
int xfa_by_bytes(const struct xfa_analysis *analysis, uint32_t a, uint32_t b);
/* Most transfers first; then as by bytes. */
int xfa_by_count(const struct xfa_analysis *analysis, uint32_t a, uint32_t b);

/* The numbers of all rows in that order; the caller frees them. */
uint32_t *xfa_rows_sorted(const struct xfa_analysis *analysis, xfa_row_order *order);

#endif
