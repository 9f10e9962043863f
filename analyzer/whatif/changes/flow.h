/*
 * What the files of the dataflow change share (overlap.c: copies that leave; flow_parts.c: parts of
 * the work; flow_buffers.c: memory for those in flight; flow_waits.c: events and waits). Private to
 * changes/.
 */
#ifndef XFW_FLOW_H
#define XFW_FLOW_H

#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/feedback.h"
#include "analyzer/whatif/changes/parts.h"
#include "analyzer/whatif/changes/put_off.h"
#include "analyzer/whatif/changes/spans.h"

/* One of the process's streams. */
struct xfw_flow_stream {
    struct xfw_parts parts;
    bool moved;          /* copies of it have left, or its kernels read the host's memory */
    uint64_t used;       /* the last part whose data the host had time to use */
    double work_end;     /* of kernels and what else is no copy with the host */
    double recorded_end; /* of all its work, as recorded */
    uint64_t called;     /* the part in which it called a function of the host last, */
    double called_end;   /* and when that was done */
};

/* The op that was played last: its end is known when the next op comes. */
struct xfw_flow_last {
    struct xfw_used used;
    bool there, moved, pends; /* pends: the host does not wait for it any more */
    bool called;              /* it is a function of the host */
    uint32_t stream, played;  /* of the process; where it was played */
    uint32_t thread;
    uint64_t part;
    double duration_ns;
};

#define XFW_FLOW_CALLS 64 /* that are remembered */

struct xfw_flow {
    struct xfw_spans spans;
    struct xfw_flow_stream *streams;
    size_t stream_count, stream_capacity;
    uint32_t *recorded_in; /* by event: in which stream last, + 1; 0: in none */
    size_t event_count, event_capacity;
    struct xfw_threads_put_off threads;
    struct xfw_flow_last last;
    struct xfw_set stacks; /* that have given work */
    struct xfw_feedback feedback;
    double kernel_start;   /* of the kernel that began last */
    struct xfw_flow_call { /* functions of the host, a ring */
        uint64_t number;   /* of the op, + 1 */
        uint64_t part;
        uint32_t stream;
    } calls[XFW_FLOW_CALLS];
    unsigned call_count;
    uint32_t mark; /* an event of its own, if it has one */
    bool has_mark;
    struct xfw_more_buffers more_buffers;
    struct xfw_memories memories; /* of kernels that read over the link */
    bool maps, maps_none;         /* there is memory for that; there never is */
    struct xfw_slowdowns slowdowns;
    struct xfw_asked_times asked;
    struct xfw_asked costs;
    void *of_first; /* the state of the change that is made first */
};

struct xfw_dataflow {
    struct xfw_change change;
    struct xfw_dataflow_terms terms;
    bool implicit_sync, one_engine; /* of any GPU of the profile */
    double event_ns;                /* of the host, to record an event and wait for it */
};

/* ---- flow_parts.c ---------------------------------------------------------------------------- */

struct xfw_flow_stream *xfw_flow_stream(struct xfw_flow *state, uint32_t number);

/* How many the stream's thread has begun. */
uint64_t *xfw_flow_parts(struct xfw_flow *state, const struct xfw_flow_stream *stream);

/* The end of the part that the host waits for behind this one. */
double xfw_flow_end_behind(const struct xfw_dataflow *flow, struct xfw_flow *state,
                           const struct xfw_flow_stream *stream, uint64_t part);

/* The same of that part's copies to the device, where it has some: of these the host fills the
 * memory again. */
double xfw_flow_filled_behind(const struct xfw_dataflow *flow, struct xfw_flow *state,
                              const struct xfw_flow_stream *stream, uint64_t part);

/* A part begins when the one is done that used its buffers before. */
double xfw_flow_may_begin(const struct xfw_dataflow *flow, const struct xfw_flow_stream *stream,
                          uint64_t part);

/* ---- flow_buffers.c -------------------------------------------------------------------------- */

/* Each op: what is allocated and freed. */
void xfw_flow_note_memory(struct xfw_flow *state, const struct xfw_op *op);

/* Page-locked memory that parts in flight use is several buffers: the thread pays for those that it
 * does not have. Of rows the buffer is the allocation that they begin, where that is known. */
void xfw_flow_have_buffers(const struct xfw_dataflow *flow, struct xfw_flow *state,
                           struct xfw_player *player, struct xfw_op *op,
                           const struct xfw_more_use *use);
uint64_t xfw_flow_bytes_of_rows(const struct xfw_spans *spans, const struct xfw_more_use *use);

/* A kernel that reads mapped memory of the host is a part of its own behind a wait of the host,
 * which fills the next buffer meanwhile: where nothing is copied to the device for it. */
bool xfw_flow_reads_host(struct xfw_flow *state, const struct xfw_player *player,
                         const struct xfw_op *op);
void xfw_flow_have_mapped(const struct xfw_dataflow *flow, struct xfw_flow *state,
                          struct xfw_player *player, struct xfw_op *op, uint64_t part);

/* ---- flow_waits.c ---------------------------------------------------------------------------- */

void xfw_flow_note_event(struct xfw_flow *state, const struct xfw_op *op);
void xfw_flow_note_recorded(struct xfw_flow *state, const struct xfw_op *op);

/* Work from a call stack that gave none before begins another stage of the program: the parts in
 * flight are those of one loop, whose last waits are for all of it. */
void xfw_flow_begin_stage(struct xfw_flow *state, struct xfw_player *player,
                          const struct xfw_op *op);

/* A function of the host, which is in that part; what waits for a job that one has gave on: for
 * that of the part that the host waits for now. */
void xfw_flow_note_call(struct xfw_flow *state, const struct xfw_op *op, uint64_t part);
void xfw_flow_wait_of_job(const struct xfw_dataflow *flow, struct xfw_flow *state,
                          struct xfw_player *player, struct xfw_op *op);

/* A wait of the host, which may come later. */
void xfw_flow_wait_of_host(const struct xfw_dataflow *flow, struct xfw_flow *state,
                           struct xfw_player *player, struct xfw_op *op);

#endif
