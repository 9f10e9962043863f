/*
 * Allocation, registration, pointer attributes, managed memory, pools.
 */
#include <string.h>

#include "tools/simgpu/runtime/rt.h"

RT_API(cudaMalloc, RT_CONTEXT, (void **out, size_t bytes), (out, bytes))
{
    if (!out)
        return XCU_ERROR_INVALID_VALUE;
    *out = NULL;
    return bytes ? rt_driver()->cuMemAlloc((xcu_deviceptr *)out, bytes) : XCU_SUCCESS;
}

RT_API(cudaMallocPitch, RT_CONTEXT, (void **out, size_t *pitch, size_t width, size_t height),
       (out, pitch, width, height))
{
    if (!out || !pitch)
        return XCU_ERROR_INVALID_VALUE;
    return rt_driver()->cuMemAllocPitch((xcu_deviceptr *)out, pitch, width, height, 4);
}

RT_API(cudaMalloc3D, RT_CONTEXT, (struct xrt_pitched_ptr * out, struct xcu_extent extent),
       (out, extent))
{
    xcu_deviceptr address = 0;
    size_t pitch = 0;
    xrt_error error;

    if (!out)
        return XCU_ERROR_INVALID_VALUE;
    error = rt_driver()->cuMemAllocPitch(&address, &pitch, extent.width,
                                         extent.height * extent.depth, 4);
    if (!error)
        *out = (struct xrt_pitched_ptr){(void *)address, pitch, extent.width, extent.height};
    return error;
}

RT_API(cudaFree, RT_CONTEXT, (void *address), (address))
{
    return address ? rt_driver()->cuMemFree((xcu_deviceptr)address) : XCU_SUCCESS;
}

RT_API(cudaMallocHost, RT_CONTEXT, (void **out, size_t bytes), (out, bytes))
{
    return out ? rt_driver()->cuMemAllocHost(out, bytes) : XCU_ERROR_INVALID_VALUE;
}

RT_API(cudaHostAlloc, RT_CONTEXT, (void **out, size_t bytes, unsigned flags), (out, bytes, flags))
{
    return out ? rt_driver()->cuMemHostAlloc(out, bytes, flags) : XCU_ERROR_INVALID_VALUE;
}

RT_API(cudaFreeHost, RT_CONTEXT, (void *address), (address))
{
    return address ? rt_driver()->cuMemFreeHost(address) : XCU_SUCCESS;
}

RT_API(cudaPointerGetAttributes, RT_CONTEXT,
       (struct xrt_pointer_attributes * out, const void *address), (out, address))
{
    int which[] = {XCU_PTR_MEMORY_TYPE, XCU_PTR_IS_MANAGED, XCU_PTR_DEVICE_ORDINAL,
                   XCU_PTR_DEVICE_POINTER, XCU_PTR_HOST_POINTER};
    int type = 0, device = -2;
    bool managed = false;
    void *values[5];
    xrt_error error;

    if (!out)
        return XCU_ERROR_INVALID_VALUE;
    memset(out, 0, sizeof(*out));
    values[0] = &type;
    values[1] = &managed;
    values[2] = &device;
    values[3] = &out->device_pointer;
    values[4] = &out->host_pointer;
    error = rt_driver()->cuPointerGetAttributes(5, which, values, (xcu_deviceptr)address);
    if (error)
        return error;
    out->type = managed                     ? XRT_MEMORY_MANAGED
                : type == XCU_MEMORY_DEVICE ? XRT_MEMORY_DEVICE
                : type == XCU_MEMORY_HOST   ? XRT_MEMORY_HOST
                                            : XRT_MEMORY_UNREGISTERED;
    out->device = device;
    if (!type)
        out->host_pointer = (void *)address;
    return XCU_SUCCESS;
}

/* ---- arrays ------------------------------------------------------------------------------- */

/* CUarray_format of a channel description; -1 when it has none. */
static int format_of(const struct xrt_channel *c)
{
    enum { SIGNED, UNSIGNED, FLOAT };
    static const int formats[3][3] = {{0x08, 0x09, 0x0a}, {0x01, 0x02, 0x03}, {-1, 0x10, 0x20}};
    int width = c->x == 8 ? 0 : c->x == 16 ? 1 : c->x == 32 ? 2 : -1;

    return c->kind < SIGNED || c->kind > FLOAT || width < 0 ? -1 : formats[c->kind][width];
}

static unsigned channels_of(const struct xrt_channel *c)
{
    return 1u + (c->y != 0) + (c->z != 0) + (c->w != 0);
}

static xrt_error array_new(xcu_array *out, const struct xrt_channel *channel,
                           struct xcu_extent extent, unsigned flags)
{
    struct xcu_array_descriptor desc = {extent.width, extent.height, extent.depth, 0, 0, flags};

    if (!out || !channel || format_of(channel) < 0)
        return XCU_ERROR_INVALID_VALUE;
    desc.format = format_of(channel);
    desc.channels = channels_of(channel);
    return rt_driver()->cuArray3DCreate(out, &desc);
}

RT_API(cudaMalloc3DArray, RT_CONTEXT,
       (xcu_array * out, const struct xrt_channel *channel, struct xcu_extent extent,
        unsigned flags),
       (out, channel, extent, flags))
{
    return array_new(out, channel, extent, flags);
}

RT_API(cudaMallocArray, RT_CONTEXT,
       (xcu_array * out, const struct xrt_channel *channel, size_t width, size_t height,
        unsigned flags),
       (out, channel, width, height, flags))
{
    struct xcu_array2d_descriptor desc = {width, height, 0, 0};

    if (!out || !channel || format_of(channel) < 0)
        return XCU_ERROR_INVALID_VALUE;
    if (flags)
        return array_new(out, channel, (struct xcu_extent){width, height, 0}, flags);
    desc.format = format_of(channel);
    desc.channels = channels_of(channel);
    return rt_driver()->cuArrayCreate(out, &desc);
}

RT_API(cudaFreeArray, RT_CONTEXT, (xcu_array array), (array))
{
    return array ? rt_driver()->cuArrayDestroy(array) : XCU_SUCCESS;
}

RT_API(cudaMallocMipmappedArray, RT_CONTEXT,
       (xcu_mipmap * out, const struct xrt_channel *channel, struct xcu_extent extent,
        unsigned levels, unsigned flags),
       (out, channel, extent, levels, flags))
{
    struct xcu_array_descriptor desc = {extent.width, extent.height, extent.depth, 0, 0, flags};

    if (!out || !channel || format_of(channel) < 0)
        return XCU_ERROR_INVALID_VALUE;
    desc.format = format_of(channel);
    desc.channels = channels_of(channel);
    return rt_driver()->cuMipmappedArrayCreate(out, &desc, levels);
}

RT_API(cudaFreeMipmappedArray, RT_CONTEXT, (xcu_mipmap mipmap), (mipmap))
{
    return mipmap ? rt_driver()->cuMipmappedArrayDestroy(mipmap) : XCU_SUCCESS;
}

RT_EXPORT struct xrt_channel cudaCreateChannelDesc(int x, int y, int z, int w, int kind);
struct xrt_channel cudaCreateChannelDesc(int x, int y, int z, int w, int kind)
{
    return (struct xrt_channel){x, y, z, w, kind};
}

RT_API(cudaGetChannelDesc, RT_CONTEXT, (struct xrt_channel * out, xcu_array array), (out, array))
{
    struct xcu_array_descriptor desc;
    xrt_error error = rt_driver()->cuArray3DGetDescriptor(&desc, array);
    int bits;

    if (error || !out)
        return error ? error : XCU_ERROR_INVALID_VALUE;
    bits = (int)xcu_format_bytes(desc.format) * 8;
    *out = (struct xrt_channel){bits, desc.channels > 1 ? bits : 0, desc.channels > 2 ? bits : 0,
                                desc.channels > 3 ? bits : 0,
                                desc.format >= 0x10   ? 2
                                : desc.format >= 0x08 ? 0
                                                      : 1};
    return XCU_SUCCESS;
}
