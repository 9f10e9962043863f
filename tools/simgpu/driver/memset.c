/*
 * Memsets. Like the real ones they return when they are submitted, unless the memory is the
 * host's.
 */
#include <string.h>

#include "tools/simgpu/driver/call.h"
#include "tools/simgpu/gpu/capture.h"
#include "tools/simgpu/gpu/queue.h"
#include "tools/simgpu/gpu/streams.h"

enum { SYNC = SIM_CTX | SIM_TIMED | SIM_UNSAFE, ASYNC = SIM_CTX | SIM_TIMED };

static xcu_result fill(xcu_deviceptr dst, size_t pitch, unsigned value, size_t element,
                       size_t width, size_t height, xcu_stream stream, bool blocking)
{
    struct sim_op op = {.kind = SIM_OP_MEMSET, .asynchronous = !blocking};
    struct sim_copy shape = {.width = width * element, .height = height, .depth = 1};
    struct xcu_offset origin = {0, 0, 0};
    struct sim_side side;
    struct sim_stream *s;
    xcu_result r = sim_stream_of(stream, &s);

    if (!r && blocking)
        r = sim_capture_forbids(s);
    if (r)
        return r;
    if (width > SIZE_MAX / 4 || dst % element || (height > 1 && pitch % element))
        return XCU_ERROR_INVALID_VALUE;
    if (!width || !height)
        return XCU_SUCCESS;
    r = sim_side_pitched(&side, (const void *)dst, pitch, 0, &origin, &shape, SIM_DEVICE_SIDE);
    if (!r && side.device >= 0 && side.device != s->context->device &&
        !sim_peer_enabled(s->context->device, side.device))
        r = XCU_ERROR_INVALID_VALUE; /* as an H200's driver says */
    if (r)
        return r;
    op.u.fill = (struct sim_fill){side.start,
                                  side.pitch,
                                  width,
                                  height,
                                  value,
                                  (unsigned)element,
                                  side.device >= 0 ? side.device : s->context->device};
    op.cost = sim_fill_cost(width * element * height, side.device);
    sim_advance(op.cost.host_ns);
    r = sim_submit(s, &op);
    if (!r && blocking && side.device < 0)
        sim_wait_stream(s);
    return r;
}

SIM_API_PT(cuMemsetD8_v2, cuMemsetD8_v2_ptds, SYNC,
           (xcu_deviceptr dst, unsigned char value, size_t count), (dst, value, count))
{
    return fill(dst, 0, value, 1, count, 1, NULL, true);
}

SIM_API_PT(cuMemsetD16_v2, cuMemsetD16_v2_ptds, SYNC,
           (xcu_deviceptr dst, unsigned short value, size_t count), (dst, value, count))
{
    return fill(dst, 0, value, 2, count, 1, NULL, true);
}

SIM_API_PT(cuMemsetD32_v2, cuMemsetD32_v2_ptds, SYNC,
           (xcu_deviceptr dst, unsigned value, size_t count), (dst, value, count))
{
    return fill(dst, 0, value, 4, count, 1, NULL, true);
}

SIM_API_PT(cuMemsetD2D8_v2, cuMemsetD2D8_v2_ptds, SYNC,
           (xcu_deviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height),
           (dst, pitch, value, width, height))
{
    return fill(dst, pitch, value, 1, width, height, NULL, true);
}

SIM_API_PT(cuMemsetD2D16_v2, cuMemsetD2D16_v2_ptds, SYNC,
           (xcu_deviceptr dst, size_t pitch, unsigned short value, size_t width, size_t height),
           (dst, pitch, value, width, height))
{
    return fill(dst, pitch, value, 2, width, height, NULL, true);
}

SIM_API_PT(cuMemsetD2D32_v2, cuMemsetD2D32_v2_ptds, SYNC,
           (xcu_deviceptr dst, size_t pitch, unsigned value, size_t width, size_t height),
           (dst, pitch, value, width, height))
{
    return fill(dst, pitch, value, 4, width, height, NULL, true);
}

SIM_API_PT(cuMemsetD8Async, cuMemsetD8Async_ptsz, ASYNC,
           (xcu_deviceptr dst, unsigned char value, size_t count, xcu_stream stream),
           (dst, value, count, stream))
{
    return fill(dst, 0, value, 1, count, 1, stream, false);
}

SIM_API_PT(cuMemsetD16Async, cuMemsetD16Async_ptsz, ASYNC,
           (xcu_deviceptr dst, unsigned short value, size_t count, xcu_stream stream),
           (dst, value, count, stream))
{
    return fill(dst, 0, value, 2, count, 1, stream, false);
}

SIM_API_PT(cuMemsetD32Async, cuMemsetD32Async_ptsz, ASYNC,
           (xcu_deviceptr dst, unsigned value, size_t count, xcu_stream stream),
           (dst, value, count, stream))
{
    return fill(dst, 0, value, 4, count, 1, stream, false);
}

SIM_API_PT(cuMemsetD2D8Async, cuMemsetD2D8Async_ptsz, ASYNC,
           (xcu_deviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height,
            xcu_stream stream),
           (dst, pitch, value, width, height, stream))
{
    return fill(dst, pitch, value, 1, width, height, stream, false);
}

SIM_API_PT(cuMemsetD2D16Async, cuMemsetD2D16Async_ptsz, ASYNC,
           (xcu_deviceptr dst, size_t pitch, unsigned short value, size_t width, size_t height,
            xcu_stream stream),
           (dst, pitch, value, width, height, stream))
{
    return fill(dst, pitch, value, 2, width, height, stream, false);
}

SIM_API_PT(cuMemsetD2D32Async, cuMemsetD2D32Async_ptsz, ASYNC,
           (xcu_deviceptr dst, size_t pitch, unsigned value, size_t width, size_t height,
            xcu_stream stream),
           (dst, pitch, value, width, height, stream))
{
    return fill(dst, pitch, value, 4, width, height, stream, false);
}
