/* Streams: making and finding them, and which of them wait for each other. */
#ifndef SIM_STREAMS_H
#define SIM_STREAMS_H

#include "tools/simgpu/gpu/objects.h"

/* Resolves a stream argument, default streams included. 0 or an error. */
xcu_result sim_stream_of(xcu_stream handle, struct sim_stream **out);
xcu_result sim_stream_new(struct sim_context *context, unsigned flags, int priority,
                          struct sim_stream **out);
void sim_stream_free(struct sim_stream *stream);

/* Does it synchronise with the legacy default stream? */
static inline bool sim_is_blocking(const struct sim_stream *stream)
{
    return !(stream->flags & SIM_STREAM_NON_BLOCKING);
}

/* Is it that one? */
static inline bool sim_is_legacy(const struct sim_stream *stream)
{
    return stream == stream->context->legacy;
}

/* Do these streams synchronise with each other? (CUDA's legacy default stream.) */
bool sim_tied(const struct sim_stream *a, const struct sim_stream *b);
/* End of the work of other streams that this one's next operation waits for. */
uint64_t sim_tied_end(const struct sim_stream *stream);
/* End of all work that a stream's synchronisation waits for. */
uint64_t sim_stream_end(const struct sim_stream *stream);

#endif
