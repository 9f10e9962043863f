/*
 * Operations on streams: in which order they run, when they start and end.
 *
 * A copy engine takes one copy at a time. By the transfer model of van Werkhoven et al. (section
 * V: n transfers of k bytes in all take Lo + k G + (n - 1) g) a copy that finds its engine still
 * busy hides its latency behind its predecessor: it ends one gap and its own bytes' time after it.
 * One that finds the engine idle takes its full time.
 */
#ifndef SIM_QUEUE_H
#define SIM_QUEUE_H

#include "tools/simgpu/driver/copy.h"
#include "tools/simgpu/driver/sim.h"

enum { SIM_MOST_PARAMS = 32 };

enum sim_op_kind {
    SIM_OP_COPY,
    SIM_OP_MEMSET,
    SIM_OP_KERNEL,
    SIM_OP_HOST,
    SIM_OP_RECORD,
    SIM_OP_WAIT,
    SIM_OP_GRAPH,
    SIM_OP_PREFETCH,
    SIM_OP_FREE,        /* an address, in stream order */
    SIM_OP_WRITE,       /* cuStreamWriteValue */
    SIM_OP_GRAPH_ALLOC, /* an address, which is known from then on */
    SIM_OP_GRAPH_FREE,  /* the memory keeps its address from launch to launch */
    SIM_OP_EMPTY,
};

struct sim_fill {
    uint8_t *dst;
    size_t pitch, width, height; /* width in elements */
    unsigned value, element;
    int device;
};

/* Values of a kernel's parameters, kept for as long as an operation needs them. */
struct sim_params {
    unsigned holders;
    void *values[SIM_MOST_PARAMS];
};

struct sim_kernel {
    struct sim_function *function;
    unsigned grid[3], block[3];
    struct sim_params *params; /* NULL: not known how many there are */
    void **borrowed;           /* the caller's, only during the call */
    bool deferred;             /* runs after the call: borrowed is gone */
    volatile uint32_t *gate;   /* blocks until gate[0] is not 0 */
    uint64_t limit;            /* ns after which a gate gives up */
};

struct sim_op {
    enum sim_op_kind kind;
    struct sim_stream *stream;
    uint64_t submitted;
    uint32_t correlation;
    uint32_t graph; /* id of the graph being run */
    uint64_t graph_node;
    bool asynchronous;
    bool wanted, demanded; /* lazy.c: something looks for it, waits for it */
    struct sim_cost cost;  /* copies, memsets, prefetches */
    void *staged;          /* a copy that was kept: what its pageable sources held by then */
    union {
        struct {
            struct sim_copy *list; /* owned by the op when it is copied (sim_op_keep) */
            size_t count;
            struct sim_copy one;
        } copy;
        struct sim_fill fill;
        struct sim_kernel kernel;
        struct {
            void (*function)(void *);
            void (*callback)(xcu_stream, xcu_result, void *);
            void *user;
        } host;
        struct sim_mark *mark; /* RECORD, WAIT */
        struct sim_graph_exec *exec;
        struct {
            uint8_t *start;
            size_t bytes;
            int device; /* -1 = host */
        } prefetch;
        xcu_deviceptr address;
        struct {
            uint8_t *address;
            uint64_t value;
            size_t bytes;
        } write;
    } u;
    struct sim_op *next, *before; /* in a list of what is left to be done */
};

/* Operations in the order in which they are to be done. */
struct sim_ops {
    struct sim_op *first, *last;
};

/* Submits work to a stream: runs it, queues it or captures it. The op is copied as needed. */
xcu_result sim_submit(struct sim_stream *stream, struct sim_op *op);

/* Runs one operation that may start at `ready`; returns its end. pipelined: ready does not
 * include the copy before it on the same engine. */
uint64_t sim_execute(struct sim_op *op, uint64_t ready);
/* The engine an operation occupies, or NULL. */
struct sim_engine *sim_op_engine(const struct sim_op *op);

/* Duplicates what an op points to, and lets go of it. */
bool sim_op_keep(struct sim_op *op);
void sim_op_drop(struct sim_op *op);

/* A kept copy at the list's end: false when there is no memory for it. What pageable memory an
 * asynchronous call is to upload from has been read then. */
bool sim_ops_add(struct sim_ops *ops, const struct sim_op *op);
/* Out of the list, and away. */
void sim_ops_remove(struct sim_ops *ops, struct sim_op *op);

/* Lets operations run whose gates have opened. */
void sim_pump(void);

/* Does it synchronise with the legacy default stream? Is it that one? */
bool sim_is_blocking(const struct sim_stream *stream);
bool sim_is_legacy(const struct sim_stream *stream);

/* What has to wait for the host or for other streams stands here. */
extern struct sim_ops sim_queue;
/* Of the queue: has it nothing to follow there? `ready`: not before then. */
bool sim_op_is_next(const struct sim_op *op, uint64_t *ready);

/* True while work that a stream's synchronisation waits for is still queued. */
bool sim_stream_pending(const struct sim_stream *stream);

/* The host waits: for a stream, for a context, for a mark. */
void sim_wait_stream(struct sim_stream *stream);
void sim_wait_context(struct sim_context *context);
void sim_wait_mark(struct sim_mark *mark);
/* End of all work that a stream's synchronisation waits for. */
uint64_t sim_stream_end(const struct sim_stream *stream);

#endif
