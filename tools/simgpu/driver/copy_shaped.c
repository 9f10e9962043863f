/*
 * Copies of rows, layers and lists: 2D, 3D, 3D between devices, batches.
 */
#include "tools/simgpu/driver/parts.h"

#include <stdlib.h>
#include <string.h>

#include "tools/simgpu/driver/call.h"

enum { SYNC = SIM_CTX | SIM_TIMED | SIM_UNSAFE, ASYNC = SIM_CTX | SIM_TIMED };

static xcu_result side(struct sim_side *s, int type, const void *host, xcu_deviceptr device,
                       xcu_array array, size_t pitch, size_t layer, const struct xcu_offset *at,
                       const struct sim_copy *shape)
{
    switch (type) {
    case XCU_MEMORY_HOST:
        return sim_side_pitched(s, host, pitch, layer, at, shape, SIM_HOST_SIDE);
    case XCU_MEMORY_DEVICE:
        return sim_side_pitched(s, (const void *)device, pitch, layer, at, shape, SIM_DEVICE_SIDE);
    case XCU_MEMORY_UNIFIED:
        return sim_side_pitched(s, (const void *)device, pitch, layer, at, shape, SIM_ANY);
    case XCU_MEMORY_ARRAY:
        return sim_side_array(s, array, at->x, at->y, at->z, shape);
    }
    return XCU_ERROR_INVALID_VALUE;
}

xcu_result sim_copy_of(const struct xcu_memcpy3d *w, struct sim_copy *copy)
{
    struct xcu_offset from = {w->src_x, w->src_y, w->src_z}, to = {w->dst_x, w->dst_y, w->dst_z};
    xcu_result r;

    memset(copy, 0, sizeof(*copy));
    copy->width = w->width;
    copy->height = w->height;
    copy->depth = w->depth;
    if (!sim_copy_bytes(copy))
        return XCU_SUCCESS;
    r = side(&copy->src, w->src_type, w->src_host, w->src_device, w->src_array, w->src_pitch,
             w->src_height, &from, copy);
    if (!r)
        r = side(&copy->dst, w->dst_type, w->dst_host, w->dst_device, w->dst_array, w->dst_pitch,
                 w->dst_height, &to, copy);
    return r;
}

static xcu_result shaped(const struct xcu_memcpy3d *what, xcu_stream stream, bool blocking)
{
    struct sim_copy copy;
    xcu_result r = what ? sim_copy_of(what, &copy) : XCU_ERROR_INVALID_VALUE;

    return r ? r : sim_copy_submit(&copy, 1, stream, blocking);
}

static xcu_result flat(const struct xcu_memcpy2d *w, xcu_stream stream, bool blocking)
{
    struct xcu_memcpy3d what;

    if (!w)
        return XCU_ERROR_INVALID_VALUE;
    what = (struct xcu_memcpy3d){.src_x = w->src_x,
                                 .src_y = w->src_y,
                                 .src_type = w->src_type,
                                 .src_host = w->src_host,
                                 .src_device = w->src_device,
                                 .src_array = w->src_array,
                                 .src_pitch = w->src_pitch,
                                 .dst_x = w->dst_x,
                                 .dst_y = w->dst_y,
                                 .dst_type = w->dst_type,
                                 .dst_host = w->dst_host,
                                 .dst_device = w->dst_device,
                                 .dst_array = w->dst_array,
                                 .dst_pitch = w->dst_pitch,
                                 .width = w->width,
                                 .height = w->height,
                                 .depth = 1};
    return shaped(&what, stream, blocking);
}

SIM_API_PT(cuMemcpy2D_v2, cuMemcpy2D_v2_ptds, SYNC, (const struct xcu_memcpy2d *copy), (copy))
{
    return flat(copy, NULL, true);
}

SIM_API_PT(cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned_v2_ptds, SYNC,
           (const struct xcu_memcpy2d *copy), (copy))
{
    return flat(copy, NULL, true);
}

SIM_API_PT(cuMemcpy2DAsync_v2, cuMemcpy2DAsync_v2_ptsz, ASYNC,
           (const struct xcu_memcpy2d *copy, xcu_stream stream), (copy, stream))
{
    return flat(copy, stream, false);
}

SIM_API_PT(cuMemcpy3D_v2, cuMemcpy3D_v2_ptds, SYNC, (const struct xcu_memcpy3d *copy), (copy))
{
    return shaped(copy, NULL, true);
}

SIM_API_PT(cuMemcpy3DAsync_v2, cuMemcpy3DAsync_v2_ptsz, ASYNC,
           (const struct xcu_memcpy3d *copy, xcu_stream stream), (copy, stream))
{
    return shaped(copy, stream, false);
}

SIM_API_PT(cuMemcpy3DPeer, cuMemcpy3DPeer_ptds, SYNC, (const struct xcu_memcpy3d *copy), (copy))
{
    return shaped(copy, NULL, true);
}

SIM_API_PT(cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync_ptsz, ASYNC,
           (const struct xcu_memcpy3d *copy, xcu_stream stream), (copy, stream))
{
    return shaped(copy, stream, false);
}

/* ---- batches ------------------------------------------------------------------------------ */

/* The list is split where the direction changes: each part is one run on one engine. */
static xcu_result submit_list(struct sim_copy *list, size_t count, xcu_stream stream)
{
    xcu_result r = XCU_SUCCESS;

    for (size_t at = 0, next; !r && at < count; at = next) {
        for (next = at + 1; next < count; next++)
            if (list[next].src.device != list[at].src.device ||
                list[next].dst.device != list[at].dst.device)
                break;
        r = sim_copy_submit(&list[at], next - at, stream, false);
    }
    return r;
}

static xcu_result batch(xcu_deviceptr *dsts, xcu_deviceptr *srcs, size_t *sizes, size_t count,
                        struct xcu_copy_attributes *attributes, size_t *first, size_t kinds,
                        size_t *failed, xcu_stream stream)
{
    struct sim_copy *list;
    xcu_result r = XCU_SUCCESS;

    if (!dsts || !srcs || !sizes || !count || !attributes || !first || !kinds || kinds > count ||
        first[0] || !stream || stream == XCU_STREAM_LEGACY)
        return XCU_ERROR_INVALID_VALUE;
    list = calloc(count, sizeof(*list));
    if (!list)
        return XCU_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; !r && i < count; i++) {
        list[i].width = sizes[i];
        list[i].height = list[i].depth = 1;
        if (!sizes[i])
            r = XCU_ERROR_INVALID_VALUE;
        if (!r)
            r = sim_side_linear(&list[i].dst, (void *)dsts[i], sizes[i], SIM_ANY);
        if (!r)
            r = sim_side_linear(&list[i].src, (void *)srcs[i], sizes[i], SIM_ANY);
        if (r && failed)
            *failed = i;
    }
    if (!r)
        r = submit_list(list, count, stream);
    free(list);
    return r;
}

SIM_API_PT(cuMemcpyBatchAsync, cuMemcpyBatchAsync_ptsz, ASYNC,
           (xcu_deviceptr * dsts, xcu_deviceptr *srcs, size_t *sizes, size_t count,
            struct xcu_copy_attributes *attributes, size_t *first, size_t kinds, size_t *failed,
            xcu_stream stream),
           (dsts, srcs, sizes, count, attributes, first, kinds, failed, stream))
{
    if (failed)
        *failed = SIZE_MAX;
    return batch(dsts, srcs, sizes, count, attributes, first, kinds, failed, stream);
}

SIM_API_PT(cuMemcpyBatchAsync_v2, cuMemcpyBatchAsync_v2_ptsz, ASYNC,
           (xcu_deviceptr * dsts, xcu_deviceptr *srcs, size_t *sizes, size_t count,
            struct xcu_copy_attributes *attributes, size_t *first, size_t kinds, xcu_stream stream),
           (dsts, srcs, sizes, count, attributes, first, kinds, stream))
{
    return batch(dsts, srcs, sizes, count, attributes, first, kinds, NULL, stream);
}

/* Row length and layer height count elements; of a pointer operand an element is a byte. */
static xcu_result operand(struct sim_side *s, const struct xcu_operand *o, struct sim_copy *shape)
{
    static const struct xcu_offset origin;
    const struct sim_array *array = o->op.array.array;

    if (o->type == XCU_OPERAND_POINTER)
        return sim_side_pitched(s, (const void *)o->op.ptr.ptr, o->op.ptr.row_length,
                                o->op.ptr.layer_height, &origin, shape, SIM_ANY);
    if (o->type != XCU_OPERAND_ARRAY || !sim_handle_is(array, SIM_ARRAY))
        return XCU_ERROR_INVALID_VALUE;
    return sim_side_array(s, o->op.array.array, o->op.array.offset.x * array->element,
                          o->op.array.offset.y, o->op.array.offset.z, shape);
}

static size_t operand_element(const struct xcu_operand *o)
{
    const struct sim_array *array = o->op.array.array;

    return o->type == XCU_OPERAND_ARRAY && sim_handle_is(array, SIM_ARRAY) ? array->element : 1;
}

static xcu_result shaped_batch(size_t count, struct xcu_memcpy3d_op *ops, size_t *failed,
                               xcu_stream stream)
{
    struct sim_copy *list;
    xcu_result r = XCU_SUCCESS;

    if (!count || !ops || !stream || stream == XCU_STREAM_LEGACY)
        return XCU_ERROR_INVALID_VALUE;
    list = calloc(count, sizeof(*list));
    if (!list)
        return XCU_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; !r && i < count; i++) {
        size_t a = operand_element(&ops[i].src), b = operand_element(&ops[i].dst);

        list[i].width = ops[i].extent.width * (a > b ? a : b);
        list[i].height = ops[i].extent.height;
        list[i].depth = ops[i].extent.depth;
        r = sim_copy_bytes(&list[i]) ? operand(&list[i].src, &ops[i].src, &list[i])
                                     : XCU_ERROR_INVALID_VALUE;
        if (!r)
            r = operand(&list[i].dst, &ops[i].dst, &list[i]);
        if (r && failed)
            *failed = i;
    }
    if (!r)
        r = submit_list(list, count, stream);
    free(list);
    return r;
}

SIM_API_PT(cuMemcpy3DBatchAsync, cuMemcpy3DBatchAsync_ptsz, ASYNC,
           (size_t count, struct xcu_memcpy3d_op *ops, size_t *failed, unsigned long long flags,
            xcu_stream stream),
           (count, ops, failed, flags, stream))
{
    if (failed)
        *failed = SIZE_MAX;
    return flags ? XCU_ERROR_INVALID_VALUE : shaped_batch(count, ops, failed, stream);
}

SIM_API_PT(cuMemcpy3DBatchAsync_v2, cuMemcpy3DBatchAsync_v2_ptsz, ASYNC,
           (size_t count, struct xcu_memcpy3d_op *ops, unsigned long long flags, xcu_stream stream),
           (count, ops, flags, stream))
{
    return flags ? XCU_ERROR_INVALID_VALUE : shaped_batch(count, ops, NULL, stream);
}

/* ---- one copy with attributes, which change nothing here ------------------------------------- */

SIM_API_PT(cuMemcpyWithAttributesAsync, cuMemcpyWithAttributesAsync_ptsz, ASYNC,
           (xcu_deviceptr dst, xcu_deviceptr src, size_t bytes,
            struct xcu_copy_attributes *attributes, xcu_stream stream),
           (dst, src, bytes, attributes, stream))
{
    return batch(&dst, &src, &bytes, 1, attributes, &(size_t){0}, 1, NULL, stream);
}

SIM_API_PT(cuMemcpy3DWithAttributesAsync, cuMemcpy3DWithAttributesAsync_ptsz, ASYNC,
           (struct xcu_memcpy3d_op * op, unsigned long long flags, xcu_stream stream),
           (op, flags, stream))
{
    return flags ? XCU_ERROR_INVALID_VALUE : shaped_batch(1, op, NULL, stream);
}
