/* Operations on streams: in which order they run, and how the host waits for them. */
#ifndef SIM_QUEUE_H
#define SIM_QUEUE_H

#include "tools/simgpu/gpu/lazy.h"

/* Submits an operation to a stream: runs it, queues a copy of it, or captures it. */
xcu_result sim_submit(struct sim_stream *stream, struct sim_op *op);

/* Runs the operations of the queue that nothing holds back any more. */
void sim_pump(void);

/* True while an operation that the stream's synchronisation waits for is in the queue. */
bool sim_stream_pending(const struct sim_stream *stream);

/* The host waits for a stream, a context, a record of an event. */
void sim_wait_stream(struct sim_stream *stream);
void sim_wait_context(struct sim_context *context);
void sim_wait_mark(struct sim_mark *mark);

/* The host asks whether work is done: runs what is due by the clock. */
void sim_ask(struct sim_awaited what);

#endif
