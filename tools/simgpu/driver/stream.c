/*
 * Streams and events.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/simgpu/driver/call.h"
#include "tools/simgpu/gpu/capture.h"
#include "tools/simgpu/gpu/queue.h"
#include "tools/simgpu/gpu/streams.h"

static xcu_result create(xcu_stream *out, unsigned flags, int priority)
{
    struct sim_stream *s;
    xcu_result r;

    if (!out || (flags & ~(unsigned)SIM_STREAM_NON_BLOCKING))
        return XCU_ERROR_INVALID_VALUE;
    r = sim_stream_new(sim_current(), flags, priority, &s);
    if (!r)
        *out = s;
    return r;
}

SIM_API(cuStreamCreate, SIM_CTX, (xcu_stream * out, unsigned flags), (out, flags))
{
    return create(out, flags, 0);
}

SIM_API(cuStreamCreateWithPriority, SIM_CTX, (xcu_stream * out, unsigned flags, int priority),
        (out, flags, priority))
{
    return create(out, flags, priority);
}

static xcu_result destroy(xcu_stream handle)
{
    struct sim_stream *s;
    xcu_result r;

    if (handle == NULL || handle == XCU_STREAM_LEGACY || handle == XCU_STREAM_PER_THREAD)
        return XCU_ERROR_INVALID_VALUE;
    r = sim_stream_of(handle, &s);
    if (r)
        return r;
    if (s->pending || s->owed)
        s->doomed = true; /* what it was given is still done */
    else
        sim_stream_free(s);
    return XCU_SUCCESS;
}

SIM_API(cuStreamDestroy, SIM_CTX, (xcu_stream stream), (stream))
{
    return destroy(stream);
}

SIM_API(cuStreamDestroy_v2, SIM_CTX, (xcu_stream stream), (stream))
{
    return destroy(stream);
}

SIM_API_PT(cuStreamSynchronize, cuStreamSynchronize_ptsz, SIM_CTX, (xcu_stream stream), (stream))
{
    struct sim_stream *s;
    xcu_result r = sim_stream_of(stream, &s);

    if (!r)
        r = sim_capture_forbids(s);
    if (!r)
        sim_wait_stream(s);
    return r;
}

SIM_API_PT(cuStreamQuery, cuStreamQuery_ptsz, SIM_CTX, (xcu_stream stream), (stream))
{
    struct sim_stream *s;
    xcu_result r = sim_stream_of(stream, &s);

    if (!r)
        r = sim_capture_forbids(s);
    if (r)
        return r;
    sim_ask((struct sim_awaited){.stream = s});
    if (sim_stream_pending(s) || sim_stream_end(s) > sim_now())
        return XCU_ERROR_NOT_READY;
    sim_do_owed((struct sim_awaited){.stream = s});
    return XCU_SUCCESS;
}

SIM_API_PT(cuStreamGetPriority, cuStreamGetPriority_ptsz, SIM_CTX,
           (xcu_stream stream, int *priority), (stream, priority))
{
    struct sim_stream *s;
    xcu_result r = sim_stream_of(stream, &s);

    if (!r && !priority)
        r = XCU_ERROR_INVALID_VALUE;
    if (!r)
        *priority = s->priority;
    return r;
}

SIM_API_PT(cuStreamGetFlags, cuStreamGetFlags_ptsz, SIM_CTX, (xcu_stream stream, unsigned *flags),
           (stream, flags))
{
    struct sim_stream *s;
    xcu_result r = sim_stream_of(stream, &s);

    if (!r && !flags)
        r = XCU_ERROR_INVALID_VALUE;
    if (!r)
        *flags = s->flags;
    return r;
}

SIM_API_PT(cuStreamGetId, cuStreamGetId_ptsz, SIM_CTX, (xcu_stream stream, unsigned long long *id),
           (stream, id))
{
    struct sim_stream *s;
    xcu_result r = sim_stream_of(stream, &s);

    if (!r && !id)
        r = XCU_ERROR_INVALID_VALUE;
    if (!r)
        *id = s->id;
    return r;
}

SIM_API_PT(cuStreamGetCtx, cuStreamGetCtx_ptsz, SIM_CTX, (xcu_stream stream, xcu_context *out),
           (stream, out))
{
    struct sim_stream *s;
    xcu_result r = sim_stream_of(stream, &s);

    if (!r && !out)
        r = XCU_ERROR_INVALID_VALUE;
    if (!r)
        *out = s->context;
    return r;
}

SIM_API_PT(cuStreamGetCtx_v2, cuStreamGetCtx_v2_ptsz, SIM_CTX,
           (xcu_stream stream, xcu_context *out, void **green), (stream, out, green))
{
    struct sim_stream *s;
    xcu_result r = sim_stream_of(stream, &s);

    if (!r && !out)
        r = XCU_ERROR_INVALID_VALUE;
    if (!r)
        *out = s->context;
    if (!r && green)
        *green = NULL;
    return r;
}

SIM_API_PT(cuStreamGetDevice, cuStreamGetDevice_ptsz, SIM_CTX,
           (xcu_stream stream, xcu_device *device), (stream, device))
{
    struct sim_stream *s;
    xcu_result r = sim_stream_of(stream, &s);

    if (!r && !device)
        r = XCU_ERROR_INVALID_VALUE;
    if (!r)
        *device = s->context->device;
    return r;
}

SIM_API_PT(cuStreamAttachMemAsync, cuStreamAttachMemAsync_ptsz, SIM_CTX,
           (xcu_stream stream, xcu_deviceptr address, size_t bytes, unsigned flags),
           (stream, address, bytes, flags))
{
    struct sim_stream *s;

    if (flags != 1 && flags != 2 && flags != 4)
        return XCU_ERROR_INVALID_VALUE;
    return sim_stream_of(stream, &s);
}

/* ---- host functions, memory operations ---------------------------------------------------- */

SIM_API_PT(cuLaunchHostFunc, cuLaunchHostFunc_ptsz, SIM_CTX,
           (xcu_stream stream, void (*function)(void *), void *user), (stream, function, user))
{
    struct sim_op op = {.kind = SIM_OP_HOST, .u.host = {function, NULL, user}};
    struct sim_stream *s;
    xcu_result r = sim_stream_of(stream, &s);

    if (!r && !function)
        r = XCU_ERROR_INVALID_VALUE;
    return r ? r : sim_submit(s, &op);
}

SIM_API_PT(cuStreamAddCallback, cuStreamAddCallback_ptsz, SIM_CTX,
           (xcu_stream stream, void (*callback)(xcu_stream, xcu_result, void *), void *user,
            unsigned flags),
           (stream, callback, user, flags))
{
    struct sim_op op = {.kind = SIM_OP_HOST, .u.host = {NULL, callback, user}};
    struct sim_stream *s;
    xcu_result r = sim_stream_of(stream, &s);

    if (!r && (!callback || flags))
        r = XCU_ERROR_INVALID_VALUE;
    if (!r && s->capture)
        r = XCU_ERROR_CAPTURE_UNSUPPORTED;
    return r ? r : sim_submit(s, &op);
}

static xcu_result write_value(xcu_stream stream, xcu_deviceptr address, uint64_t value,
                              size_t bytes)
{
    struct sim_op op = {.kind = SIM_OP_WRITE, .u.write = {(uint8_t *)address, value, bytes}};
    struct sim_side side;
    struct sim_stream *s;
    xcu_result r = sim_stream_of(stream, &s);

    if (!r)
        r = sim_side_linear(&side, (void *)address, bytes, SIM_DEVICE_SIDE);
    return r ? r : sim_submit(s, &op);
}

SIM_API_PT(cuStreamWriteValue32_v2, cuStreamWriteValue32_v2_ptsz, SIM_CTX,
           (xcu_stream stream, xcu_deviceptr address, uint32_t value, unsigned flags),
           (stream, address, value, flags))
{
    return write_value(stream, address, value, 4);
}

SIM_API_PT(cuStreamWriteValue64_v2, cuStreamWriteValue64_v2_ptsz, SIM_CTX,
           (xcu_stream stream, xcu_deviceptr address, uint64_t value, unsigned flags),
           (stream, address, value, flags))
{
    return write_value(stream, address, value, 8);
}

/* ---- events ------------------------------------------------------------------------------ */

SIM_API(cuEventCreate, SIM_CTX, (xcu_event * out, unsigned flags), (out, flags))
{
    struct sim_event *e;

    if (!out || (flags & ~7u) || ((flags & 4) && !(flags & SIM_EVENT_NO_TIMING)))
        return XCU_ERROR_INVALID_VALUE;
    e = calloc(1, sizeof(*e));
    if (!e || !sim_handle_add(e, SIM_EVENT)) {
        free(e);
        return XCU_ERROR_OUT_OF_MEMORY;
    }
    e->context = sim_current();
    e->flags = flags;
    *out = e;
    return XCU_SUCCESS;
}

static xcu_result event_destroy(struct sim_event *event)
{
    if (!sim_handle_is(event, SIM_EVENT))
        return XCU_ERROR_INVALID_HANDLE;
    sim_mark_drop(event->mark);
    sim_deps_clear(&event->deps);
    sim_handle_remove(event);
    free(event);
    return XCU_SUCCESS;
}

SIM_API(cuEventDestroy, SIM_INIT, (xcu_event event), (event))
{
    return event_destroy(event);
}

SIM_API(cuEventDestroy_v2, SIM_INIT, (xcu_event event), (event))
{
    return event_destroy(event);
}

static xcu_result record(struct sim_event *event, xcu_stream stream)
{
    struct sim_op op = {.kind = SIM_OP_RECORD};
    struct sim_stream *s;
    xcu_result r = sim_stream_of(stream, &s);

    if (r)
        return r;
    if (!sim_handle_is(event, SIM_EVENT) || !sim_handle_is(event->context, SIM_CONTEXT) ||
        event->context->device != s->context->device)
        return XCU_ERROR_INVALID_HANDLE;
    if (s->capture)
        return sim_capture_record(s, event);
    op.u.mark = sim_mark_new();
    if (!op.u.mark)
        return XCU_ERROR_OUT_OF_MEMORY;
    r = sim_submit(s, &op);
    event->capture = NULL;
    sim_deps_clear(&event->deps);
    sim_mark_drop(event->mark);
    event->mark = op.u.mark;
    return r;
}

SIM_API_PT(cuEventRecord, cuEventRecord_ptsz, SIM_CTX, (xcu_event event, xcu_stream stream),
           (event, stream))
{
    return record(event, stream);
}

SIM_API_PT(cuEventRecordWithFlags, cuEventRecordWithFlags_ptsz, SIM_CTX,
           (xcu_event event, xcu_stream stream, unsigned flags), (event, stream, flags))
{
    return flags > 1 ? XCU_ERROR_INVALID_VALUE : record(event, stream);
}

SIM_API_PT(cuStreamWaitEvent, cuStreamWaitEvent_ptsz, SIM_CTX,
           (xcu_stream stream, xcu_event handle, unsigned flags), (stream, handle, flags))
{
    struct sim_op op = {.kind = SIM_OP_WAIT};
    struct sim_event *event = handle;
    struct sim_stream *s;
    xcu_result r = sim_stream_of(stream, &s);

    if (r)
        return r;
    if (flags > 1)
        return XCU_ERROR_INVALID_VALUE;
    if (!sim_handle_is(event, SIM_EVENT))
        return XCU_ERROR_INVALID_HANDLE;
    if (s->capture || event->capture)
        return sim_capture_wait(s, event);
    op.u.mark = event->mark;
    return event->mark ? sim_submit(s, &op) : XCU_SUCCESS;
}

/* Has the event's last record happened, as the host sees it now? */
static xcu_result event_state(const struct sim_event *event)
{
    if (!sim_handle_is(event, SIM_EVENT))
        return XCU_ERROR_INVALID_HANDLE;
    if (event->capture)
        return XCU_ERROR_CAPTURED_EVENT;
    if (!event->mark)
        return XCU_SUCCESS;
    sim_ask((struct sim_awaited){.mark = event->mark});
    if (!event->mark->done || event->mark->time > sim_now())
        return XCU_ERROR_NOT_READY;
    sim_do_owed((struct sim_awaited){.mark = event->mark});
    return XCU_SUCCESS;
}

SIM_API(cuEventQuery, SIM_INIT, (xcu_event event), (event))
{
    return event_state(event);
}

SIM_API(cuEventSynchronize, SIM_INIT, (xcu_event handle), (handle))
{
    struct sim_event *event = handle;
    xcu_result r = event_state(event);

    if (r == XCU_ERROR_NOT_READY) {
        sim_wait_mark(event->mark);
        r = XCU_SUCCESS;
    }
    return r;
}

static xcu_result elapsed(float *ms, const struct sim_event *start, const struct sim_event *end)
{
    if (!ms)
        return XCU_ERROR_INVALID_VALUE;
    if (!sim_handle_is(start, SIM_EVENT) || !sim_handle_is(end, SIM_EVENT))
        return XCU_ERROR_INVALID_HANDLE;
    if (!start->mark || !end->mark || ((start->flags | end->flags) & SIM_EVENT_NO_TIMING))
        return XCU_ERROR_INVALID_HANDLE;
    if (event_state(start) || event_state(end))
        return event_state(start) ? event_state(start) : event_state(end);
    *ms = (float)(((double)end->mark->time - (double)start->mark->time) / 1e6);
    return XCU_SUCCESS;
}

SIM_API(cuEventElapsedTime, SIM_INIT, (float *ms, xcu_event start, xcu_event end), (ms, start, end))
{
    return elapsed(ms, start, end);
}

SIM_API(cuEventElapsedTime_v2, SIM_INIT, (float *ms, xcu_event start, xcu_event end),
        (ms, start, end))
{
    return elapsed(ms, start, end);
}
