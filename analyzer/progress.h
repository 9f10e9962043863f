/*
 * How far `analyze` is: on a terminal, once it has taken a second, one line on stderr that is
 * written over and at the end erased. Else nothing.
 */
#ifndef XFA_PROGRESS_H
#define XFA_PROGRESS_H

#include <stdio.h>

#include "analyzer/pass/pass.h"

#define XFA_PROGRESS_AFTER_NS 1000000000u /* nothing is said before */
#define XFA_PROGRESS_EVERY_NS 200000000u

struct xfa_progress {
    FILE *out;
    uint64_t begun_ns, said_ns; /* said_ns: when the line was written last; 0 = it is not there */
    size_t files, begun;        /* of the run; those that were opened */
    uint64_t bytes, done;       /* of all files; of those before this one */
    uint64_t file_bytes;        /* of this one */
    struct xfa_watch watch;     /* to be handed to the analysis */
};

/* Of these paths' files (runs' directories, trace files). */
void xfa_progress_begin(struct xfa_progress *progress, FILE *out, const char *const *paths,
                        size_t count);

/* While copies are measured: so many of `count`, after so many seconds of a limit. */
void xfa_progress_replay(struct xfa_progress *progress, size_t done, size_t count, double seconds,
                         double limit_s);

/* Erases the line, before anything else is written and at the end. */
void xfa_progress_clear(struct xfa_progress *progress);

/* ---- the parts, for tests -------------------------------------------------------------------- */

bool xfa_progress_due(const struct xfa_progress *progress, uint64_t now_ns);

/* A file of so many bytes is opened. */
void xfa_progress_file(struct xfa_progress *progress, uint64_t bytes);

/* `part` of the file is done: writes the line when it is due. */
void xfa_progress_say(struct xfa_progress *progress, double part, uint64_t now_ns);

/* xfa_progress_replay() at that time. */
void xfa_progress_say_replay(struct xfa_progress *progress, size_t done, size_t count,
                             double seconds, double limit_s, uint64_t now_ns);

#endif
