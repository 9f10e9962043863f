/*
 * Arrays and mipmapped arrays: laid out row by row, whatever a real device does.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/simgpu/driver/call.h"
#include "tools/simgpu/gpu/lazy.h"

enum { LAYERED = 1, CUBEMAP = 4 };

static xcu_result array_new(const struct xcu_array_descriptor *desc, struct sim_array **out)
{
    size_t element = (size_t)xcu_format_bytes(desc->format) * desc->channels, row;
    struct sim_array *a;

    if (!element || !desc->width ||
        (desc->channels != 1 && desc->channels != 2 && desc->channels != 4))
        return XCU_ERROR_INVALID_VALUE;
    if ((desc->width | desc->height | desc->depth) >> 32)
        return XCU_ERROR_INVALID_VALUE;
    a = calloc(1, sizeof(*a));
    if (!a)
        return XCU_ERROR_OUT_OF_MEMORY;
    row = desc->width * element;
    *a = (struct sim_array){.desc = *desc,
                            .device = sim_current()->device,
                            .element = element,
                            .pitch = row,
                            .rows = desc->height ? desc->height : 1,
                            .layers = desc->depth ? desc->depth : 1};
    if (__builtin_mul_overflow(row, a->rows, &a->slice) ||
        __builtin_mul_overflow(a->slice, a->layers, &a->bytes) ||
        a->bytes > sim_devices[a->device].gpu->memory_bytes - sim_devices[a->device].used ||
        !(a->data = calloc(1, a->bytes)) || !sim_handle_add(a, SIM_ARRAY)) {
        free(a->data);
        free(a);
        return XCU_ERROR_OUT_OF_MEMORY;
    }
    sim_devices[a->device].used += a->bytes;
    *out = a;
    return XCU_SUCCESS;
}

static void array_free(struct sim_array *a)
{
    sim_devices[a->device].used -= a->bytes;
    sim_handle_remove(a);
    free(a->data);
    free(a);
}

SIM_API(cuArray3DCreate_v2, SIM_CTX | SIM_UNSAFE,
        (xcu_array * out, const struct xcu_array_descriptor *desc), (out, desc))
{
    struct sim_array *a;
    xcu_result r = out && desc ? array_new(desc, &a) : XCU_ERROR_INVALID_VALUE;

    if (!r)
        *out = a;
    return r;
}

SIM_API(cuArrayCreate_v2, SIM_CTX | SIM_UNSAFE,
        (xcu_array * out, const struct xcu_array2d_descriptor *desc), (out, desc))
{
    struct xcu_array_descriptor full;
    struct sim_array *a;
    xcu_result r;

    if (!out || !desc)
        return XCU_ERROR_INVALID_VALUE;
    full = (struct xcu_array_descriptor){desc->width,  desc->height,   0,
                                         desc->format, desc->channels, 0};
    r = array_new(&full, &a);
    if (!r)
        *out = a;
    return r;
}

SIM_API(cuArray3DGetDescriptor_v2, SIM_CTX, (struct xcu_array_descriptor * desc, xcu_array array),
        (desc, array))
{
    if (!sim_handle_is(array, SIM_ARRAY))
        return XCU_ERROR_INVALID_HANDLE;
    if (!desc)
        return XCU_ERROR_INVALID_VALUE;
    *desc = ((struct sim_array *)array)->desc;
    return XCU_SUCCESS;
}

SIM_API(cuArrayGetDescriptor_v2, SIM_CTX, (struct xcu_array2d_descriptor * desc, xcu_array array),
        (desc, array))
{
    const struct sim_array *a = array;

    if (!sim_handle_is(a, SIM_ARRAY))
        return XCU_ERROR_INVALID_HANDLE;
    if (!desc)
        return XCU_ERROR_INVALID_VALUE;
    *desc = (struct xcu_array2d_descriptor){a->desc.width, a->desc.height, a->desc.format,
                                            a->desc.channels};
    return XCU_SUCCESS;
}

SIM_API(cuArrayDestroy, SIM_CTX | SIM_UNSAFE, (xcu_array array), (array))
{
    struct sim_array *a = array;

    if (!sim_handle_is(a, SIM_ARRAY) || a->mipmap)
        return XCU_ERROR_INVALID_HANDLE;
    sim_do_all_owed();
    array_free(a);
    return XCU_SUCCESS;
}

static void mipmap_free(struct sim_mipmap *m)
{
    for (unsigned i = 0; i < m->levels; i++)
        array_free(m->level[i]);
    sim_handle_remove(m);
    free(m->level);
    free(m);
}

static size_t halved(size_t n, unsigned times)
{
    return n ? (n >> times ? n >> times : 1) : 0;
}

static xcu_result mipmap_new(const struct xcu_array_descriptor *desc, unsigned levels,
                             struct sim_mipmap **out)
{
    struct sim_mipmap *m = calloc(1, sizeof(*m));
    xcu_result r = XCU_SUCCESS;

    if (m)
        m->level = calloc(levels, sizeof(struct sim_array *));
    if (!m || !m->level || !sim_handle_add(m, SIM_MIPMAP)) {
        if (m)
            free(m->level);
        free(m);
        return XCU_ERROR_OUT_OF_MEMORY;
    }
    m->desc = *desc;
    for (unsigned i = 0; !r && i < levels; i++) {
        struct xcu_array_descriptor d = *desc;

        d.width = halved(desc->width, i);
        d.height = halved(desc->height, i);
        d.depth = desc->flags & (LAYERED | CUBEMAP) ? desc->depth : halved(desc->depth, i);
        r = array_new(&d, &m->level[i]);
        if (!r) {
            m->level[i]->mipmap = m;
            m->levels++;
        }
    }
    if (r)
        mipmap_free(m);
    else
        *out = m;
    return r;
}

SIM_API(cuMipmappedArrayCreate, SIM_CTX | SIM_UNSAFE,
        (xcu_mipmap * out, const struct xcu_array_descriptor *desc, unsigned levels),
        (out, desc, levels))
{
    struct sim_mipmap *m;
    xcu_result r;

    if (!out || !desc || !levels || levels > 32)
        return XCU_ERROR_INVALID_VALUE;
    r = mipmap_new(desc, levels, &m);
    if (!r)
        *out = m;
    return r;
}

SIM_API(cuMipmappedArrayGetLevel, SIM_CTX, (xcu_array * out, xcu_mipmap mipmap, unsigned level),
        (out, mipmap, level))
{
    struct sim_mipmap *m = mipmap;

    if (!sim_handle_is(m, SIM_MIPMAP))
        return XCU_ERROR_INVALID_HANDLE;
    if (!out || level >= m->levels)
        return XCU_ERROR_INVALID_VALUE;
    *out = m->level[level];
    return XCU_SUCCESS;
}

SIM_API(cuMipmappedArrayDestroy, SIM_CTX | SIM_UNSAFE, (xcu_mipmap mipmap), (mipmap))
{
    if (!sim_handle_is(mipmap, SIM_MIPMAP))
        return XCU_ERROR_INVALID_HANDLE;
    sim_do_all_owed();
    mipmap_free(mipmap);
    return XCU_SUCCESS;
}
