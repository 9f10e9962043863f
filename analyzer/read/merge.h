/*
 * All events of a trace in the order of start_ns, over all lanes; of the same time by lane, then by
 * sequence number.
 *
 * Segments and slabs are opened when their first event is due and forgotten after the last: memory
 * is the index (index.h) and what window.h keeps of those that overlap at one time, one of each of
 * the program's lanes and a few of lanes with the device's records, which come as buffers do.
 * Whatever the file says, it is what XFA_MERGE_ROWS rows take, and 128 rows of each that is open,
 * so that none is read more than some 20 times. At most XFA_MERGE_OPEN are open at a time; of more
 * that overlap, those that have to wait come late, out of order, and count in loss.bad_entries.
 */
#ifndef XFA_MERGE_H
#define XFA_MERGE_H

#include "analyzer/read/index.h"

#define XFA_MERGE_ROWS (1u << 20)
#define XFA_MERGE_OPEN (1u << 13)

struct xfa_merged {
    const struct xft_event *event; /* until the next call */
    uint64_t seq;
    uint32_t lane;
    int32_t tid;
    bool last; /* of its thread: behind it comes no more, or the recorder's own work */
};

/* trace->loss is set as xfa_trace_events() does, complete at the end. One at a time per trace. */
struct xfa_merge *xfa_merge_new(struct xfa_trace *trace);

/* The same with as many rows kept; for tests. */
struct xfa_merge *xfa_merge_within(struct xfa_trace *trace, size_t rows);

/* The next events, of whatever lanes, in order: as many as can be had without reading on. Returns
 * how many there are, 0 at the end. They are valid until the next call. */
size_t xfa_merge_next_batch(struct xfa_merge *merge, const struct xfa_merged **events);

/* How much of the trace has been opened so far, from 0 to 1. */
double xfa_merge_part(const struct xfa_merge *merge);

/* How many have been read, each as often as it was; for tests. */
uint64_t xfa_merge_read(const struct xfa_merge *merge);

/* How many events the trace has, as its segments and slabs say. */
uint64_t xfa_merge_rows(const struct xfa_merge *merge);

void xfa_merge_free(struct xfa_merge *merge);

#endif
