/*
 * Ops that wait for the device's records, in the order of their calls, and those behind them. A
 * record finds its op by its correlation id. When no more records of an op can come, its times are
 * found (recorded.h) and it goes on to the sink. Private to ops*.c.
 *
 * Numbers of ops are the process's, from 0. A pending op is valid until the next one is pushed or
 * ops are released.
 */
#ifndef XFW_OPS_QUEUE_H
#define XFW_OPS_QUEUE_H

#include "analyzer/whatif/ops/ops.h"
#include "analyzer/whatif/op/recording_cost.h"
#include "analyzer/whatif/ops/moves_seen.h"

#define XFW_WINDOW (1u << 16) /* ops that wait, at most */

struct xfw_pending {
    struct xfw_op op;
    bool blocks;                  /* a copy's call that waits */
    bool wants;                   /* no record of it has come */
    bool open;                    /* more may come */
    uint32_t correlation;         /* 0: none */
    struct xfw_graph_parts parts; /* of a graph: records that came */
    double ran_in_call_ns;        /* of a graph: its parts, added up, until its call had returned */
    uint64_t place_next;     /* the op before it in the same place of the hash table; number + 1 */
    uint64_t first, bytes;   /* of a prefetch: the memory */
    uint64_t moved;          /* of it, so far */
    double stalled_until_ns; /* of what was demanded so far */
    struct xfw_moves_seen came; /* of managed memory that moved to it */
};

struct xfw_ops_queue;
struct xfw_ops_queue *xfw_ops_queue_new(const struct xfw_sink *sink,
                                        struct xfw_records_costs *costs);
void xfw_ops_queue_free(struct xfw_ops_queue *queue);

/* A process begins, at begin_ns; the one before is forgotten. */
void xfw_ops_queue_begin(struct xfw_ops_queue *queue, uint64_t begin_ns);

/* The pass is at now_ns. xfw_ops_queue_release() gives the sink what waits for nothing; `last`:
 * all. */
void xfw_ops_queue_at(struct xfw_ops_queue *queue, uint64_t now_ns);
void xfw_ops_queue_release(struct xfw_ops_queue *queue, bool last);

/* A time of the trace as ops have it; where the pass is. */
double xfw_ops_queue_time(const struct xfw_ops_queue *queue, uint64_t ns);
double xfw_ops_queue_now(const struct xfw_ops_queue *queue);

struct xfw_pending *xfw_ops_queue_push(struct xfw_ops_queue *queue, const struct xfw_op *op);

/* From now on records with this correlation id are its own: one or, `open`, any number. Or records
 * of memory that it prefetches. */
void xfw_ops_queue_expect(struct xfw_ops_queue *queue, struct xfw_pending *pending,
                          uint32_t correlation, bool open);
void xfw_ops_queue_expect_moves(struct xfw_ops_queue *queue, struct xfw_pending *pending,
                                uint64_t first, uint64_t bytes);

/* A record of the device. It is kept for a while when its call has not come yet. */
void xfw_ops_queue_record(struct xfw_ops_queue *queue, const struct xfa_event *record);
/* Of a copy in a launched graph: its times, by which engine; for op.h, 0 if not known. */
struct xfw_graph_copy {
    struct xfa_event record;
    enum xfw_engine engine;
    double lead_ns, paced_ns;
    uint64_t locked, host; /* bytes of page-locked memory of the host, and where that is */
};
void xfw_ops_queue_record_part(struct xfw_ops_queue *queue, uint32_t correlation,
                               const struct xfw_graph_copy *copy);
/* Of memory, for the oldest prefetch of it. */
void xfw_ops_queue_record_move(struct xfw_ops_queue *queue, const struct xfa_event *record);

/* The host waits with this op, which is not pushed yet, until end_ns: what was submitted before and
 * is waited for is done then. */
void xfw_ops_queue_wait(struct xfw_ops_queue *queue, const struct xfw_op *op, uint64_t end_ns);

/* There is memory that moves on demand: kernels stay in the queue while they run. */
void xfw_ops_queue_keep_running(struct xfw_ops_queue *queue);
/* The kernel that runs on this GPU at that time and of which is() says so; where it says so of
 * none, the one that began last. NULL: the sink has it. */
typedef bool xfw_is_op_fn(const void *self, const struct xfw_op *op);
struct xfw_pending *xfw_ops_queue_running(struct xfw_ops_queue *queue, int gpu, double ns,
                                          xfw_is_op_fn *is, const void *self);

#endif
