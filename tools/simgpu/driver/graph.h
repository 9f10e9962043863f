/*
 * Graphs: recorded operations with their dependencies, from stream capture or from the cuGraphAdd
 * functions; and their executable copies.
 */
#ifndef SIM_GRAPH_H
#define SIM_GRAPH_H

#include "tools/simgpu/driver/queue.h"
#include "tools/simgpu/driver/sim.h"

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
    /* as given, for those who ask */
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

struct sim_capture {
    struct sim_graph *graph;
    struct sim_stream *origin;
    uint64_t id;
    int mode;                  /* 0 global, 1 thread local, 2 relaxed */
    bool invalid, ended, into; /* into: a graph of the program's */
    uint64_t thread;
    struct sim_capture *next;
};
extern struct sim_capture *sim_captures;

struct sim_graph *sim_graph_new(void);
void sim_graph_free(struct sim_graph *graph);
struct sim_graph *sim_graph_copy(const struct sim_graph *graph);
struct sim_node *sim_graph_add(struct sim_graph *graph, int type, struct sim_node *const *deps,
                               size_t count);
void sim_node_free(struct sim_node *node);
/* What a copy node does; an error when node is NULL or the copy is refused. */
xcu_result sim_node_set_copy(struct sim_node *node, const struct xcu_memcpy3d *what);
/* Runs all nodes, none before `ready`; returns the end of the last. */
uint64_t sim_graph_run(struct sim_graph *graph, const struct sim_op *launch, uint64_t ready);
void sim_exec_drop(struct sim_graph_exec *exec);

bool sim_deps_add(struct sim_deps *deps, struct sim_node *node);
bool sim_deps_merge(struct sim_deps *deps, const struct sim_deps *more);
void sim_deps_clear(struct sim_deps *deps);

/* A captured operation becomes a node. */
xcu_result sim_capture_append(struct sim_stream *stream, struct sim_op *op);
/* What a call that is not allowed while capturing gets: 0, or the error. */
xcu_result sim_capture_forbids(struct sim_stream *stream);
xcu_result sim_capture_unsafe(void);
xcu_result sim_capture_record(struct sim_stream *stream, struct sim_event *event);
xcu_result sim_capture_wait(struct sim_stream *stream, struct sim_event *event);
void sim_capture_forget(struct sim_stream *stream);

#endif
