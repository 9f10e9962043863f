/*
 * A run in the form of another tool, for `xferscope export` (docs/export.md): a format is a struct
 * of functions, one file each, that are called while the run is read. What it keeps is bounded by
 * sites, classes and what one process has going on at a time, never by the number of events; a
 * format without lines of its own per event (speedscope, folded, openmetrics) adds up.
 *
 * The run is read as analyze reads it (analysis.h), so that counts, bytes and times are those of
 * the report: transfer() gets the transfers of its rows, joined, and nothing else is one.
 *
 * Order: begin(); per process process(), what it did in the order of time (copies apart, as
 * observer.h says), end(); finish(), when the analysis is complete; free(). Functions that a format
 * does not need are NULL. None is called after fail().
 */
#ifndef XFA_EXPORT_H
#define XFA_EXPORT_H

#include <stdio.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/export/words.h"
#include "analyzer/findings/finding.h"

/* What a call stack is weighed by. */
enum xfa_weight {
    XFA_WEIGHT_BYTES,
    XFA_WEIGHT_TIME,
    XFA_WEIGHT_SAVING,
    XFA_WEIGHT_MESSAGES, /* time in calls of MPI and NCCL; these have no other weight */
    XFA_WEIGHTS
};

struct xfa_export {
    const struct xfa_export_format *format;
    struct xfa_analysis *analysis; /* borrowed; complete in finish() */
    const struct xfa_findings
        *findings;          /* borrowed; weighed, in finish(), when the format weighs */
    FILE *out;              /* borrowed */
    enum xfa_weight weight; /* of those that have one */
    struct xfa_words words; /* texts as the format wants them */
    void *self;             /* the format's own, zeroed at first */
    int failed;             /* errno, once something could not be written; 0 */
};

struct xfa_export_format {
    const char *name;
    const char *what; /* in a few words, for --help */
    bool text;        /* fit to be printed; else it goes to a file or a pipe */
    bool regular;     /* is not written from begin to end: needs a regular file */
    bool weighed;     /* knows --weight */
    bool saves;       /* needs findings, weighed: with bytes and time alone a format that is weighed
                         does not */
    enum xfa_words_form words;
    uint64_t kinds; /* XFA_KIND()s of the events it wants: as in observer.h */
    size_t self_bytes;
    void (*begin)(struct xfa_export *export);
    void (*process)(struct xfa_export *export, struct xfa_process *process);
    void (*event)(struct xfa_export *export, const struct xfa_event *event);
    void (*transfer)(struct xfa_export *export, const struct xfa_event *event);
    void (*copy)(struct xfa_export *export, const struct xfa_event *event);
    /* A range without an end of its own; end_ns: on the process's clock. */
    void (*unended)(struct xfa_export *export, const struct xfa_range *range, uint64_t end_ns);
    void (*end)(struct xfa_export *export, struct xfa_process *process);
    void (*finish)(struct xfa_export *export);
    void (*close)(struct xfa_export *export); /* before the file takes its place, or is given up */
    void (*free)(struct xfa_export *export);
};

/* One by one, as --help lists them; NULL at the end. */
extern const struct xfa_export_format *const xfa_export_formats[];
const struct xfa_export_format *xfa_export_find(const char *name); /* NULL: there is none */

/* What is to be written, and where to. */
struct xfa_export_request {
    const struct xfa_export_format *format;
    const char *const *traces;
    size_t trace_count;
    const char *profile; /* NULL: to be looked up */
    bool no_profile;
    const char *output; /* NULL, "-": standard output */
    enum xfa_weight weight;
};

/* Returns the exit status (analyzer.h), after any messages on stderr. */
int xfa_export_run(const struct xfa_export_request *request);

/* OpenMetrics of a finished analysis, without findings: for a run that still goes on. */
void xfa_export_metrics(struct xfa_analysis *analysis, FILE *out);

/* ---- for the formats ------------------------------------------------------------------------- */

/* What has a function, and is shown as a call. */
#define XFA_EXPORTED_CALLS XFT_KINDS_OF(XFT_OF_CALL | XFT_OF_WITHIN)

/* Gives up: nothing more is read, and the file stays as it was. */
void xfa_export_fail(struct xfa_export *export, int error);

/* The process's GPUs are simulated, or the profile's. */
bool xfa_export_simulated(const struct xfa_export *export, const struct xfa_process *process);

#endif
