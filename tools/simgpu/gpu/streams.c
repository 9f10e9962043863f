#include "tools/simgpu/gpu/streams.h"

#include <stdlib.h>

#include "tools/simgpu/gpu/capture.h"

static unsigned stream_ids;

xcu_result sim_stream_new(struct sim_context *context, unsigned flags, int priority,
                          struct sim_stream **out)
{
    struct sim_stream *s = calloc(1, sizeof(*s));

    if (!s || !sim_handle_add(s, SIM_STREAM)) {
        free(s);
        return XCU_ERROR_OUT_OF_MEMORY;
    }
    s->context = context;
    s->flags = flags;
    s->priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
    s->id = ++stream_ids;
    s->next = context->streams;
    context->streams = s;
    *out = s;
    return XCU_SUCCESS;
}

void sim_stream_free(struct sim_stream *stream)
{
    struct sim_stream **at = &stream->context->streams;

    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
    sim_capture_forget(stream);
    sim_deps_clear(&stream->deps);
    sim_handle_remove(stream);
    free(stream);
}

static xcu_result per_thread_stream(struct sim_context *context, struct sim_stream **out)
{
    uint64_t thread = sim_thread_id();
    xcu_result r;

    for (struct sim_stream *s = context->streams; s; s = s->next)
        if (s->owner == thread) {
            *out = s;
            return XCU_SUCCESS;
        }
    r = sim_stream_new(context, 0, 0, out);
    if (!r)
        (*out)->owner = thread;
    return r;
}

xcu_result sim_stream_of(xcu_stream handle, struct sim_stream **out)
{
    struct sim_context *c = sim_current();

    if (!handle)
        handle = sim_thread.call->per_thread ? XCU_STREAM_PER_THREAD : XCU_STREAM_LEGACY;
    if (handle == XCU_STREAM_PER_THREAD)
        return per_thread_stream(c, out);
    if (handle == XCU_STREAM_LEGACY) {
        *out = c->legacy;
        return XCU_SUCCESS;
    }
    if (!sim_handle_is(handle, SIM_STREAM) || ((struct sim_stream *)handle)->doomed)
        return XCU_ERROR_INVALID_HANDLE;
    *out = handle;
    return XCU_SUCCESS;
}

/* ---- which streams wait for each other --------------------------------------------------- */

bool sim_tied(const struct sim_stream *a, const struct sim_stream *b)
{
    return a == b || (a->context == b->context && sim_is_blocking(a) && sim_is_blocking(b) &&
                      (sim_is_legacy(a) || sim_is_legacy(b)));
}

uint64_t sim_tied_end(const struct sim_stream *s)
{
    if (!sim_is_blocking(s))
        return 0;
    return sim_is_legacy(s) ? s->context->blocking_tail : s->context->legacy->tail;
}

uint64_t sim_stream_end(const struct sim_stream *stream)
{
    return sim_is_legacy(stream) ? sim_later(stream->tail, sim_tied_end(stream)) : stream->tail;
}
