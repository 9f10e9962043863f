#include "tools/simgpu/driver/parts.h"

#include "tools/simgpu/gpu/capture.h"
#include "tools/simgpu/gpu/queue.h"
#include "tools/simgpu/gpu/streams.h"

static bool touches_pageable(const struct sim_copy *copy)
{
    return copy->src.memory == XFT_MEM_PAGEABLE || copy->dst.memory == XFT_MEM_PAGEABLE;
}

static struct sim_cost total_cost(const struct sim_copy *copies, size_t count)
{
    struct sim_cost all = sim_copy_cost(&copies[0]);

    for (size_t i = 1; i < count; i++) {
        struct sim_cost one = sim_copy_cost(&copies[i]);

        all.device_ns += one.behind_ns;
        all.behind_ns += one.behind_ns;
        all.blocking_ns += one.behind_ns;
    }
    return all;
}

/* The driver copies small pageable data into its own buffers and returns. */
enum { STAGED_AT_ONCE = 65536 };

static xcu_result submit_async(struct sim_op *op, struct sim_stream *stream,
                               const struct sim_copy *copy, bool waits)
{
    uint64_t begun = sim_now(), idle_end, end;
    xcu_result r = sim_submit(stream, op);

    sim_advance(op->cost.host_ns);
    if (r || !waits || stream->capture)
        return r;
    if (sim_copy_direction(copy) == XFT_DIR_H2D) {
        if (sim_copy_bytes(copy) <= STAGED_AT_ONCE)
            return r;
        /* staged chunk by chunk: what keeps the stream busy keeps the host waiting */
        idle_end = begun + op->cost.device_ns;
        end = sim_stream_pending(stream) ? 0 : stream->tail;
        if (end > idle_end)
            sim_wait_until(begun + op->cost.host_ns + (end - idle_end));
        if (end)
            return r;
    }
    sim_wait_stream(stream);
    return r;
}

static xcu_result submit_blocking(struct sim_op *op, struct sim_stream *stream, bool waits)
{
    uint64_t around = op->cost.blocking_ns - op->cost.device_ns;
    xcu_result r = sim_capture_forbids(stream);

    if (r)
        return r;
    if (!waits)
        around = 2 * op->cost.host_ns;
    sim_advance(around / 2);
    r = sim_submit(stream, op);
    if (r)
        return r;
    if (waits)
        sim_wait_stream(stream);
    else
        return XCU_SUCCESS;
    sim_advance(around - around / 2);
    return r;
}

xcu_result sim_copy_submit(struct sim_copy *copies, size_t count, xcu_stream stream, bool blocking)
{
    struct sim_op op = {.kind = SIM_OP_COPY, .asynchronous = !blocking};
    enum xft_direction direction;
    struct sim_stream *s;
    xcu_result r = sim_stream_of(stream, &s);

    if (r)
        return r;
    if (!count || !sim_copy_bytes(&copies[0])) {
        sim_advance(sim_settings.call_ns);
        return XCU_SUCCESS; /* nothing to move is no error */
    }
    op.u.copy.count = count;
    op.u.copy.list = copies;
    op.u.copy.one = copies[0];
    op.cost = total_cost(copies, count);
    direction = sim_copy_direction(&copies[0]);
    if (blocking)
        return submit_blocking(&op, s, direction != XFT_DIR_D2D);
    return submit_async(&op, s, &copies[0],
                        direction == XFT_DIR_H2H || touches_pageable(&copies[0]));
}
