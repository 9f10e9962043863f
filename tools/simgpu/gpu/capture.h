/* Stream capture: operations become nodes of a graph, and are not run. */
#ifndef SIM_CAPTURE_H
#define SIM_CAPTURE_H

#include "tools/simgpu/gpu/op.h"

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

/* A captured operation becomes a node. */
xcu_result sim_capture_append(struct sim_stream *stream, struct sim_op *op);
/* What a call that is not allowed while capturing gets: 0, or the error. */
xcu_result sim_capture_forbids(struct sim_stream *stream);
xcu_result sim_capture_unsafe(void);
xcu_result sim_capture_record(struct sim_stream *stream, struct sim_event *event);
xcu_result sim_capture_wait(struct sim_stream *stream, struct sim_event *event);
/* No stream is captured by it any more. */
void sim_capture_end(struct sim_capture *capture);
/* The stream goes: a capture that began in it ends. */
void sim_capture_forget(struct sim_stream *stream);

#endif
