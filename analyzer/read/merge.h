/*
 * All events of a trace in the order of start_ns, over all lanes; of the same time by lane, then by
 * sequence number.
 *
 * Segments and slabs are opened when their first event is due and forgotten after the last: memory
 * is the index (index.h) and the rows of those that overlap at one time, one of each of the
 * program's lanes and a few of lanes with the device's records, which come as buffers do. Whatever
 * the file says, at most XFA_MERGE_ROWS rows are kept, and 16 of each that is open: of more, parts
 * are kept, and read again for the next part.
 */
#ifndef XFA_MERGE_H
#define XFA_MERGE_H

#include "analyzer/read/index.h"

#define XFA_MERGE_ROWS (1u << 20)

/* Events of one lane that follow each other in the order of time, none of another lane's between
 * them: one or two where threads alternate, up to a whole segment where one works alone. */
struct xfa_merged_run {
    const struct xft_event *events; /* until the next call */
    size_t count;                   /* not 0 */
    uint32_t lane;
    int32_t tid;
    bool from_slab;       /* as in struct xfa_batch */
    uint64_t first_seq;   /* see xfa_merged_seq() */
    const uint32_t *rows; /* NULL: they lie in the file as they come */
};

/* The sequence number of run->events[i]. */
static inline uint64_t xfa_merged_seq(const struct xfa_merged_run *run, size_t i)
{
    return run->first_seq + (run->rows ? run->rows[i] : i);
}

/* trace->loss is set as xfa_trace_events() does, complete at the end. One at a time per trace. */
struct xfa_merge *xfa_merge_new(struct xfa_trace *trace);

/* The same with as many rows kept; for tests. */
struct xfa_merge *xfa_merge_within(struct xfa_trace *trace, size_t rows);

/* The next events; false at the end. */
bool xfa_merge_next_run(struct xfa_merge *merge, struct xfa_merged_run *run);

/* One at a time: dearer. Not on a merge that hands out runs. */
struct xfa_merged {
    const struct xft_event *event; /* until the next call */
    uint64_t seq;
    uint32_t lane;
    int32_t tid;
    bool from_slab;
};
bool xfa_merge_next(struct xfa_merge *merge, struct xfa_merged *merged);

void xfa_merge_free(struct xfa_merge *merge);

#endif
