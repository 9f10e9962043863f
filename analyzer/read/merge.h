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

#define XFA_MERGE_ROWS (1u << 22)

struct xfa_merged {
    const struct xft_event *event; /* until the next call */
    uint64_t seq;
    uint32_t lane;
    int32_t tid;
    bool from_slab; /* as in struct xfa_batch */
};

/* trace->loss is set as xfa_trace_events() does, complete at the end. One at a time per trace. */
struct xfa_merge *xfa_merge_new(struct xfa_trace *trace);

/* The same with as many rows kept; for tests. */
struct xfa_merge *xfa_merge_within(struct xfa_trace *trace, size_t rows);

/* The next event; false at the end. */
bool xfa_merge_next(struct xfa_merge *merge, struct xfa_merged *merged);

void xfa_merge_free(struct xfa_merge *merge);

#endif
