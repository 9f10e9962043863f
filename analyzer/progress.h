/*
 * Progress of `analyze`: one line on stderr, if that is a terminal, after the first second. It is
 * overwritten, and erased at the end.
 */
#ifndef XFA_PROGRESS_H
#define XFA_PROGRESS_H

#include <stdio.h>

#include "analyzer/pass/pass.h"

#define XFA_PROGRESS_AFTER_NS 1000000000u /* no line before */
#define XFA_PROGRESS_EVERY_NS 200000000u

struct xfa_progress {
    FILE *out;
    uint64_t begun_ns, said_ns; /* said_ns: when the line was last written; 0 = no line */
    size_t files, begun;        /* files: of the run; begun: opened so far */
    uint64_t bytes, done;       /* bytes: of all files; done: of the files before this one */
    uint64_t file_bytes;        /* of this one */
    struct xfa_watch watch;     /* for the analysis */
};

/* paths: runs' directories, trace files. */
void xfa_progress_begin(struct xfa_progress *progress, FILE *out, const char *const *paths,
                        size_t count);

/* While copies are measured: `done` of `count`, after so many seconds of the limit. */
void xfa_progress_replay(struct xfa_progress *progress, size_t done, size_t count, double seconds,
                         double limit_s);

/* Erases the line. To be called before anything else is written, and at the end. */
void xfa_progress_clear(struct xfa_progress *progress);

/* ---- the parts, for tests -------------------------------------------------------------------- */

bool xfa_progress_due(const struct xfa_progress *progress, uint64_t now_ns);

/* A file of this size is opened. */
void xfa_progress_file(struct xfa_progress *progress, uint64_t bytes);

/* part of the file, from 0 to 1, is read: writes the line when it is due. */
void xfa_progress_say(struct xfa_progress *progress, double part, uint64_t now_ns);

/* xfa_progress_replay() at a given time. */
void xfa_progress_say_replay(struct xfa_progress *progress, size_t done, size_t count,
                             double seconds, double limit_s, uint64_t now_ns);

#endif
