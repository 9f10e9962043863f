/*
 * Copies of one run of bytes: cuMemcpy, HtoD, DtoH, DtoD, Peer, and to and from arrays.
 */
#include "tools/simgpu/driver/call.h"
#include "tools/simgpu/driver/parts.h"

static xcu_result linear(const void *dst, enum sim_want dst_want, const void *src,
                         enum sim_want src_want, size_t bytes, xcu_stream stream, bool blocking)
{
    struct sim_copy copy = {.width = bytes, .height = 1, .depth = 1};
    xcu_result r = XCU_SUCCESS;

    if (bytes) {
        r = sim_side_linear(&copy.dst, dst, bytes, dst_want);
        if (!r)
            r = sim_side_linear(&copy.src, src, bytes, src_want);
    }
    return r ? r : sim_copy_submit(&copy, 1, stream, blocking);
}

enum { SYNC = SIM_CTX | SIM_TIMED | SIM_UNSAFE, ASYNC = SIM_CTX | SIM_TIMED };
#define AT(address) ((const void *)(address))

SIM_API_PT(cuMemcpy, cuMemcpy_ptds, SYNC, (xcu_deviceptr dst, xcu_deviceptr src, size_t bytes),
           (dst, src, bytes))
{
    return linear(AT(dst), SIM_ANY, AT(src), SIM_ANY, bytes, NULL, true);
}

SIM_API_PT(cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds, SYNC,
           (xcu_deviceptr dst, const void *src, size_t bytes), (dst, src, bytes))
{
    return linear(AT(dst), SIM_DEVICE_SIDE, src, SIM_HOST_SIDE, bytes, NULL, true);
}

SIM_API_PT(cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds, SYNC,
           (void *dst, xcu_deviceptr src, size_t bytes), (dst, src, bytes))
{
    return linear(dst, SIM_HOST_SIDE, AT(src), SIM_DEVICE_SIDE, bytes, NULL, true);
}

SIM_API_PT(cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds, SYNC,
           (xcu_deviceptr dst, xcu_deviceptr src, size_t bytes), (dst, src, bytes))
{
    return linear(AT(dst), SIM_DEVICE_SIDE, AT(src), SIM_DEVICE_SIDE, bytes, NULL, true);
}

SIM_API_PT(cuMemcpyAsync, cuMemcpyAsync_ptsz, ASYNC,
           (xcu_deviceptr dst, xcu_deviceptr src, size_t bytes, xcu_stream stream),
           (dst, src, bytes, stream))
{
    return linear(AT(dst), SIM_ANY, AT(src), SIM_ANY, bytes, stream, false);
}

SIM_API_PT(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz, ASYNC,
           (xcu_deviceptr dst, const void *src, size_t bytes, xcu_stream stream),
           (dst, src, bytes, stream))
{
    return linear(AT(dst), SIM_DEVICE_SIDE, src, SIM_HOST_SIDE, bytes, stream, false);
}

SIM_API_PT(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz, ASYNC,
           (void *dst, xcu_deviceptr src, size_t bytes, xcu_stream stream),
           (dst, src, bytes, stream))
{
    return linear(dst, SIM_HOST_SIDE, AT(src), SIM_DEVICE_SIDE, bytes, stream, false);
}

SIM_API_PT(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz, ASYNC,
           (xcu_deviceptr dst, xcu_deviceptr src, size_t bytes, xcu_stream stream),
           (dst, src, bytes, stream))
{
    return linear(AT(dst), SIM_DEVICE_SIDE, AT(src), SIM_DEVICE_SIDE, bytes, stream, false);
}

static xcu_result peer(xcu_deviceptr dst, xcu_context to, xcu_deviceptr src, xcu_context from,
                       size_t bytes, xcu_stream stream, bool blocking)
{
    if (!sim_context_of(to) || !sim_context_of(from))
        return XCU_ERROR_INVALID_CONTEXT;
    return linear(AT(dst), SIM_DEVICE_SIDE, AT(src), SIM_DEVICE_SIDE, bytes, stream, blocking);
}

SIM_API_PT(cuMemcpyPeer, cuMemcpyPeer_ptds, SYNC,
           (xcu_deviceptr dst, xcu_context to, xcu_deviceptr src, xcu_context from, size_t bytes),
           (dst, to, src, from, bytes))
{
    return peer(dst, to, src, from, bytes, NULL, true);
}

SIM_API_PT(cuMemcpyPeerAsync, cuMemcpyPeerAsync_ptsz, ASYNC,
           (xcu_deviceptr dst, xcu_context to, xcu_deviceptr src, xcu_context from, size_t bytes,
            xcu_stream stream),
           (dst, to, src, from, bytes, stream))
{
    return peer(dst, to, src, from, bytes, stream, false);
}

/* ---- arrays: a byte offset into the first row --------------------------------------------- */

static xcu_result array_side(struct sim_side *side, xcu_array array, size_t offset,
                             const struct sim_copy *shape)
{
    return sim_side_array(side, array, offset, 0, 0, shape);
}

static xcu_result to_array(xcu_array dst, size_t offset, const void *src, enum sim_want want,
                           size_t bytes, xcu_stream stream, bool blocking)
{
    struct sim_copy copy = {.width = bytes, .height = 1, .depth = 1};
    xcu_result r = array_side(&copy.dst, dst, offset, &copy);

    if (!r && bytes)
        r = sim_side_linear(&copy.src, src, bytes, want);
    return r ? r : sim_copy_submit(&copy, 1, stream, blocking);
}

static xcu_result from_array(const void *dst, enum sim_want want, xcu_array src, size_t offset,
                             size_t bytes, xcu_stream stream, bool blocking)
{
    struct sim_copy copy = {.width = bytes, .height = 1, .depth = 1};
    xcu_result r = array_side(&copy.src, src, offset, &copy);

    if (!r && bytes)
        r = sim_side_linear(&copy.dst, dst, bytes, want);
    return r ? r : sim_copy_submit(&copy, 1, stream, blocking);
}

SIM_API_PT(cuMemcpyDtoA_v2, cuMemcpyDtoA_v2_ptds, SYNC,
           (xcu_array dst, size_t offset, xcu_deviceptr src, size_t bytes),
           (dst, offset, src, bytes))
{
    return to_array(dst, offset, AT(src), SIM_DEVICE_SIDE, bytes, NULL, true);
}

SIM_API_PT(cuMemcpyAtoD_v2, cuMemcpyAtoD_v2_ptds, SYNC,
           (xcu_deviceptr dst, xcu_array src, size_t offset, size_t bytes),
           (dst, src, offset, bytes))
{
    return from_array(AT(dst), SIM_DEVICE_SIDE, src, offset, bytes, NULL, true);
}

SIM_API_PT(cuMemcpyHtoA_v2, cuMemcpyHtoA_v2_ptds, SYNC,
           (xcu_array dst, size_t offset, const void *src, size_t bytes), (dst, offset, src, bytes))
{
    return to_array(dst, offset, src, SIM_HOST_SIDE, bytes, NULL, true);
}

SIM_API_PT(cuMemcpyAtoH_v2, cuMemcpyAtoH_v2_ptds, SYNC,
           (void *dst, xcu_array src, size_t offset, size_t bytes), (dst, src, offset, bytes))
{
    return from_array(dst, SIM_HOST_SIDE, src, offset, bytes, NULL, true);
}

SIM_API_PT(cuMemcpyHtoAAsync_v2, cuMemcpyHtoAAsync_v2_ptsz, ASYNC,
           (xcu_array dst, size_t offset, const void *src, size_t bytes, xcu_stream stream),
           (dst, offset, src, bytes, stream))
{
    return to_array(dst, offset, src, SIM_HOST_SIDE, bytes, stream, false);
}

SIM_API_PT(cuMemcpyAtoHAsync_v2, cuMemcpyAtoHAsync_v2_ptsz, ASYNC,
           (void *dst, xcu_array src, size_t offset, size_t bytes, xcu_stream stream),
           (dst, src, offset, bytes, stream))
{
    return from_array(dst, SIM_HOST_SIDE, src, offset, bytes, stream, false);
}

SIM_API_PT(cuMemcpyAtoA_v2, cuMemcpyAtoA_v2_ptds, SYNC,
           (xcu_array dst, size_t dst_offset, xcu_array src, size_t src_offset, size_t bytes),
           (dst, dst_offset, src, src_offset, bytes))
{
    struct sim_copy copy = {.width = bytes, .height = 1, .depth = 1};
    xcu_result r = array_side(&copy.dst, dst, dst_offset, &copy);

    if (!r)
        r = array_side(&copy.src, src, src_offset, &copy);
    return r ? r : sim_copy_submit(&copy, 1, NULL, true);
}
