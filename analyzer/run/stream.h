/*
 * The events of one or several open processes in the order of their times: over all lanes of a
 * process, and over processes by the run's clock (run.h).
 *
 * Memory is that of read/merge.h per process. Across processes order is as good as the clocks are:
 * exact on one host, the wall clock's between hosts.
 */
#ifndef XFA_STREAM_H
#define XFA_STREAM_H

#include "analyzer/read/merge.h"
#include "analyzer/run/run.h"

/* Events of one process that come next, of whatever lanes. */
struct xfa_events {
    struct xfa_process *process;
    const struct xfa_merged *events; /* until the next call */
    size_t count;                    /* at least 1 */
};

struct xfa_stream *xfa_stream_new(struct xfa_process *const *processes, size_t count);
bool xfa_stream_next(struct xfa_stream *stream, struct xfa_events *events); /* false: the end */
/* How much of them has been read, from 0 to 1: of several, each counts alike. */
double xfa_stream_part(const struct xfa_stream *stream);
void xfa_stream_free(struct xfa_stream *stream);

#endif
