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
/* The error of a call on the stream that capture forbids, or 0. It ends the capture as invalid. */
xcu_result sim_capture_forbids(struct sim_stream *stream);
/* The same for a call that could act on captured streams behind their back (SIM_UNSAFE). */
xcu_result sim_capture_unsafe(void);
/* The same for a call that waits for all streams of a context, captured ones among them: in every
 * mode, from every thread. */
xcu_result sim_capture_forbids_wait(const struct sim_context *context);
/* The stream records an event; it waits for one. */
xcu_result sim_capture_record(struct sim_stream *stream, struct sim_event *event);
xcu_result sim_capture_wait(struct sim_stream *stream, struct sim_event *event);
/* Takes all streams out of the capture. */
void sim_capture_end(struct sim_capture *capture);
/* The stream is destroyed; a capture that began in it ends. */
void sim_capture_forget(struct sim_stream *stream);

#endif
