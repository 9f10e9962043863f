/*
 * Operations on streams, and graphs of them, as data: what each is to do, and for how long what it
 * points to is kept. A graph comes from stream capture or from the cuGraphAdd functions.
 */
#ifndef SIM_OP_H
#define SIM_OP_H

#include "tools/simgpu/gpu/copy.h"
#include "tools/simgpu/gpu/kernel.h"

/* ---- operations ---------------------------------------------------------------------------- */

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

static inline const struct sim_copy *sim_op_copies(const struct sim_op *op)
{
    return op->u.copy.count > 1 ? op->u.copy.list : &op->u.copy.one;
}

/* What copies from one device to the other, -1: the host; NULL: both are the host. */
struct sim_engine *sim_engine_between(int from, int to);
/* The copy engine that the operation occupies; NULL: none. */
struct sim_engine *sim_op_engine(const struct sim_op *op);

/* Keeps what the operation points to (copies the list of copies, counts a holder of the rest);
 * gives it back. False: out of memory. */
bool sim_op_keep(struct sim_op *op);
void sim_op_drop(struct sim_op *op);

struct sim_mark *sim_mark_new(void);
void sim_mark_drop(struct sim_mark *mark);

/* ---- graphs -------------------------------------------------------------------------------- */

struct sim_node {
    struct sim_graph *graph;
    int type; /* enum xcu_graph_node_type */
    uint64_t id;
    struct sim_op op;
    struct sim_graph *child;
    struct sim_deps deps;
    bool disabled;
    const struct sim_node *original; /* what it was copied from: compared, never followed */
    uint64_t end;                    /* of the last run */
    /* as the program gave them, for the functions that return them */
    struct xcu_memcpy3d copy;
    struct xcu_memset_node memset;
    struct xcu_kernel_node kernel;
    struct xcu_host_node host;
    bool described;
};

struct sim_graph {
    uint32_t id;
    bool capturing, owned; /* owned by a node */
    struct sim_node **nodes;
    size_t count, room;
};

struct sim_graph_exec {
    struct sim_graph *graph; /* its own copy */
    unsigned flags, holders;
};

struct sim_graph *sim_graph_new(void);
void sim_graph_free(struct sim_graph *graph);
struct sim_graph *sim_graph_copy(const struct sim_graph *graph);
struct sim_node *sim_graph_add(struct sim_graph *graph, int type, struct sim_node *const *deps,
                               size_t count);
void sim_node_free(struct sim_node *node);
void sim_exec_drop(struct sim_graph_exec *exec);

bool sim_deps_add(struct sim_deps *deps, struct sim_node *node);
bool sim_deps_merge(struct sim_deps *deps, const struct sim_deps *more);
void sim_deps_clear(struct sim_deps *deps);

#endif
