/* Operations on streams: in which order they run, and how the host waits for them. */
#ifndef SIM_QUEUE_H
#define SIM_QUEUE_H

#include "tools/simgpu/gpu/lazy.h"

/* Submits work to a stream: runs it, queues it or captures it. The op is copied as needed. */
xcu_result sim_submit(struct sim_stream *stream, struct sim_op *op);

/* Lets operations run whose gates have opened. */
void sim_pump(void);

/* True while work that a stream's synchronisation waits for is still queued. */
bool sim_stream_pending(const struct sim_stream *stream);

/* The host waits: for a stream, for a context, for a mark. */
void sim_wait_stream(struct sim_stream *stream);
void sim_wait_context(struct sim_context *context);
void sim_wait_mark(struct sim_mark *mark);

/* The host asks: the queue goes on as far as the clock is. */
void sim_ask(struct sim_awaited what);

#endif
