/*
 * The index of a trace: where its events lie, and between which times, so that they can be read in
 * the order of their times without keeping them all (merge.h).
 *
 * Times come from the INDEX segments where these have them; EVENTS segments that have none (older
 * traces, damage) and slabs are read once to know them. The heads of the segments say which rows
 * there are: an INDEX can neither hide nor double an event. An entry that does not fit its segment
 * counts in loss.bad_entries; one with wrong times is found when the segment is read, and its
 * events may then come out of order, but none is missing.
 *
 * Memory: some 80 bytes per segment or slab.
 */
#ifndef XFA_INDEX_H
#define XFA_INDEX_H

#include "analyzer/read/read.h"

/* Rows of one EVENTS segment or slab, no event of which is in another chunk. */
struct xfa_chunk {
    uint64_t first_ns, last_ns; /* no row starts before or after */
    uint64_t first_seq;         /* of the first row */
    uint64_t offset;            /* of the segment's header, or of the slab, in the file */
    uint32_t lane;
    int32_t tid;
    uint32_t rows;
    uint32_t skip;    /* rows there before the first */
    uint32_t segment; /* its number in the trace; XFA_NO_SEGMENT: a slab */
    uint32_t rank;    /* among all, by lane and first_seq */
    bool indexed;     /* the times are from the INDEX */
    bool ends;        /* it has the last rows of its thread */
};
#define XFA_NO_SEGMENT UINT32_MAX

struct xfa_index {
    struct xfa_trace *trace;
    struct xfa_chunk *chunks; /* by first_ns, then lane and first_seq */
    size_t count, capacity;
    struct xfa_index_scratch *scratch;
};

/* Sets trace->loss and trace->duplicate_events as xfa_trace_events() does. */
struct xfa_index *xfa_index_new(struct xfa_trace *trace);
void xfa_index_free(struct xfa_index *index);

/* The chunk's events into room for chunk->rows; returns how many could be read, from the first
 * on. What is found to be damaged is counted in trace->loss. */
uint32_t xfa_index_read(struct xfa_index *index, const struct xfa_chunk *chunk,
                        struct xft_event *events);

#endif
