/*
 * Stream-ordered allocation, memory pools, and virtual memory management.
 */
#include "tools/simgpu/driver/parts.h"

#include <stdlib.h>
#include <string.h>

#include "tools/simgpu/driver/call.h"
#include "tools/simgpu/gpu/memory.h"
#include "tools/simgpu/gpu/queue.h"
#include "tools/simgpu/gpu/streams.h"

/* ---- pools -------------------------------------------------------------------------------- */

static struct sim_pool *pool_new(int device, const struct xcu_pool_props *props)
{
    struct sim_pool *p = calloc(1, sizeof(*p));

    if (!p || !sim_handle_add(p, SIM_POOL)) {
        free(p);
        return NULL;
    }
    p->device = device;
    if (props)
        p->props = *props;
    return p;
}

struct sim_pool *sim_default_pool(int device)
{
    struct sim_device *d = &sim_devices[device];

    if (!d->default_pool) {
        d->default_pool = pool_new(device, NULL);
        if (d->default_pool)
            d->default_pool->is_default = true;
    }
    return d->default_pool;
}

static xcu_result pool_of_device(xcu_pool *out, xcu_device device, bool only_default)
{
    struct sim_pool *p;

    if (!out)
        return XCU_ERROR_INVALID_VALUE;
    if (device < 0 || device >= sim_device_count)
        return XCU_ERROR_INVALID_DEVICE;
    p = only_default || !sim_devices[device].pool ? sim_default_pool(device)
                                                  : sim_devices[device].pool;
    *out = p;
    return p ? XCU_SUCCESS : XCU_ERROR_OUT_OF_MEMORY;
}

SIM_API(cuDeviceGetDefaultMemPool, SIM_INIT, (xcu_pool * out, xcu_device device), (out, device))
{
    return pool_of_device(out, device, true);
}

SIM_API(cuDeviceGetMemPool, SIM_INIT, (xcu_pool * out, xcu_device device), (out, device))
{
    return pool_of_device(out, device, false);
}

SIM_API(cuDeviceSetMemPool, SIM_INIT, (xcu_device device, xcu_pool pool), (device, pool))
{
    if (device < 0 || device >= sim_device_count)
        return XCU_ERROR_INVALID_DEVICE;
    if (!sim_handle_is(pool, SIM_POOL) || ((struct sim_pool *)pool)->device != device)
        return XCU_ERROR_INVALID_VALUE;
    sim_devices[device].pool = pool;
    return XCU_SUCCESS;
}

SIM_API(cuMemPoolCreate, SIM_INIT, (xcu_pool * out, const struct xcu_pool_props *props),
        (out, props))
{
    struct sim_pool *p;

    if (!out || !props || props->type != 1)
        return XCU_ERROR_INVALID_VALUE;
    if (props->location.type != XCU_LOCATION_DEVICE)
        return XCU_ERROR_NOT_SUPPORTED; /* host pools */
    if (props->location.id < 0 || props->location.id >= sim_device_count)
        return XCU_ERROR_INVALID_DEVICE;
    p = pool_new(props->location.id, props);
    *out = p;
    return p ? XCU_SUCCESS : XCU_ERROR_OUT_OF_MEMORY;
}

SIM_API(cuMemPoolDestroy, SIM_INIT, (xcu_pool pool), (pool))
{
    struct sim_pool *p = pool;

    if (!sim_handle_is(p, SIM_POOL) || p->is_default)
        return XCU_ERROR_INVALID_VALUE;
    if (sim_devices[p->device].pool == p)
        sim_devices[p->device].pool = NULL;
    for (size_t i = 0; i < sim_range_count(); i++)
        if (sim_range_nth(i)->pool == p)
            sim_range_nth(i)->pool = NULL;
    sim_handle_remove(p);
    free(p);
    return XCU_SUCCESS;
}

SIM_API(cuMemPoolTrimTo, SIM_INIT, (xcu_pool pool, size_t keep), (pool, keep))
{
    struct sim_pool *p = pool;

    if (!sim_handle_is(p, SIM_POOL))
        return XCU_ERROR_INVALID_VALUE;
    p->reserved_now = p->used_now > keep ? p->used_now : keep;
    return XCU_SUCCESS;
}

enum {
    REUSE_FIRST = 1,
    REUSE_LAST = 3,
    THRESHOLD = 4,
    RESERVED_NOW = 5,
    RESERVED_HIGH = 6,
    USED_NOW = 7,
    USED_HIGH = 8,
};

SIM_API(cuMemPoolSetAttribute, SIM_INIT, (xcu_pool pool, int attribute, void *value),
        (pool, attribute, value))
{
    struct sim_pool *p = pool;

    if (!sim_handle_is(p, SIM_POOL) || !value || attribute < REUSE_FIRST || attribute > USED_HIGH)
        return XCU_ERROR_INVALID_VALUE;
    if (attribute == THRESHOLD)
        memcpy(&p->threshold, value, sizeof(p->threshold));
    if (attribute == USED_HIGH)
        p->used_high = p->used_now;
    return XCU_SUCCESS;
}

SIM_API(cuMemPoolGetAttribute, SIM_INIT | SIM_UNSAFE, (xcu_pool pool, int attribute, void *value),
        (pool, attribute, value))
{
    const struct sim_pool *p = pool;
    uint64_t figure;
    int on = 1;

    if (!sim_handle_is(p, SIM_POOL) || !value || attribute < REUSE_FIRST || attribute > USED_HIGH)
        return XCU_ERROR_INVALID_VALUE;
    if (attribute <= REUSE_LAST) {
        memcpy(value, &on, sizeof(on));
        return XCU_SUCCESS;
    }
    figure = attribute == THRESHOLD      ? p->threshold
             : attribute == RESERVED_NOW ? p->reserved_now
             : attribute == USED_NOW     ? p->used_now
                                         : p->used_high;
    memcpy(value, &figure, sizeof(figure));
    return XCU_SUCCESS;
}

SIM_API(cuMemPoolSetAccess, SIM_INIT,
        (xcu_pool pool, const struct xcu_access *access, size_t count), (pool, access, count))
{
    return sim_handle_is(pool, SIM_POOL) && (access || !count) ? XCU_SUCCESS
                                                               : XCU_ERROR_INVALID_VALUE;
}

/* ---- stream-ordered allocation ------------------------------------------------------------ */

/* Takes the memory at once: work before this point of the stream cannot know its address. */
static xcu_result alloc_async(xcu_deviceptr *out, size_t bytes, struct sim_pool *pool,
                              xcu_stream stream)
{
    struct sim_op op = {.kind = SIM_OP_GRAPH_ALLOC};
    struct sim_stream *s;
    xcu_result r = sim_stream_of(stream, &s);

    if (r)
        return r;
    if (!out || !bytes)
        return XCU_ERROR_INVALID_VALUE;
    if (!pool)
        pool = sim_devices[s->context->device].pool;
    if (!pool)
        pool = sim_default_pool(s->context->device);
    if (!sim_handle_is(pool, SIM_POOL))
        return XCU_ERROR_INVALID_VALUE;
    r = sim_device_alloc(pool->device, bytes, SIM_RANGE_ASYNC | (s->capture ? SIM_RANGE_GRAPH : 0),
                         pool, out);
    op.u.address = r ? 0 : *out;
    return r || !s->capture ? r : sim_submit(s, &op);
}

SIM_API_PT(cuMemAllocAsync, cuMemAllocAsync_ptsz, SIM_CTX,
           (xcu_deviceptr * out, size_t bytes, xcu_stream stream), (out, bytes, stream))
{
    return alloc_async(out, bytes, NULL, stream);
}

SIM_API_PT(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync_ptsz, SIM_CTX,
           (xcu_deviceptr * out, size_t bytes, xcu_pool pool, xcu_stream stream),
           (out, bytes, pool, stream))
{
    return pool ? alloc_async(out, bytes, pool, stream) : XCU_ERROR_INVALID_VALUE;
}

SIM_API_PT(cuMemFreeAsync, cuMemFreeAsync_ptsz, SIM_CTX, (xcu_deviceptr address, xcu_stream stream),
           (address, stream))
{
    struct sim_op op = {.kind = SIM_OP_FREE, .u.address = address};
    struct sim_range *range = sim_range_at((void *)address);
    struct sim_stream *s;
    xcu_result r = sim_stream_of(stream, &s);

    if (r || !address)
        return r;
    if (!range || (xcu_deviceptr)range->start != address || range->memory != XFT_MEM_DEVICE)
        return XCU_ERROR_INVALID_VALUE;
    if (s->capture)
        op.kind = SIM_OP_GRAPH_FREE;
    return sim_submit(s, &op);
}

/* ---- virtual memory management ------------------------------------------------------------ */

struct vmm {
    size_t bytes;
    int device;
    unsigned holders; /* the handle and its mappings */
    struct xcu_alloc_prop prop;
};

static struct sim_region *vmm_addresses;
enum { GRANULARITY = 2 << 20 };

static bool granular(size_t bytes)
{
    return bytes && bytes % GRANULARITY == 0;
}

SIM_API(cuMemGetAllocationGranularity, SIM_INIT,
        (size_t * granularity, const struct xcu_alloc_prop *prop, int option),
        (granularity, prop, option))
{
    if (!granularity || !prop)
        return XCU_ERROR_INVALID_VALUE;
    *granularity = GRANULARITY;
    return XCU_SUCCESS;
}

SIM_API(cuMemCreate, SIM_INIT,
        (xcu_vmm_handle * out, size_t bytes, const struct xcu_alloc_prop *prop,
         unsigned long long flags),
        (out, bytes, prop, flags))
{
    struct sim_device *d;
    struct vmm *v;

    if (!out || !prop || flags || !granular(bytes) || prop->type != 1)
        return XCU_ERROR_INVALID_VALUE;
    if (prop->location.type != XCU_LOCATION_DEVICE || prop->location.id < 0 ||
        prop->location.id >= sim_device_count)
        return XCU_ERROR_INVALID_DEVICE;
    d = &sim_devices[prop->location.id];
    if (bytes > d->gpu->memory_bytes - d->used)
        return XCU_ERROR_OUT_OF_MEMORY;
    v = calloc(1, sizeof(*v));
    if (!v || !sim_handle_add(v, SIM_VMM)) {
        free(v);
        return XCU_ERROR_OUT_OF_MEMORY;
    }
    *v = (struct vmm){bytes, prop->location.id, 1, *prop};
    d->used += bytes;
    *out = (xcu_vmm_handle)v;
    return XCU_SUCCESS;
}

static void vmm_drop(struct vmm *v)
{
    if (--v->holders)
        return;
    sim_devices[v->device].used -= v->bytes;
    free(v);
}

SIM_API(cuMemRelease, SIM_INIT, (xcu_vmm_handle handle), (handle))
{
    struct vmm *v = (struct vmm *)handle;

    if (!sim_handle_is(v, SIM_VMM))
        return XCU_ERROR_INVALID_VALUE;
    sim_handle_remove(v);
    vmm_drop(v);
    return XCU_SUCCESS;
}

SIM_API(cuMemGetAllocationPropertiesFromHandle, SIM_INIT,
        (struct xcu_alloc_prop * prop, xcu_vmm_handle handle), (prop, handle))
{
    if (!prop || !sim_handle_is((void *)handle, SIM_VMM))
        return XCU_ERROR_INVALID_VALUE;
    *prop = ((struct vmm *)handle)->prop;
    return XCU_SUCCESS;
}

SIM_API(cuMemAddressReserve, SIM_INIT,
        (xcu_deviceptr * out, size_t bytes, size_t alignment, xcu_deviceptr wish,
         unsigned long long flags),
        (out, bytes, alignment, wish, flags))
{
    void *start;

    if (!out || !granular(bytes) || flags || (alignment & (alignment - 1)))
        return XCU_ERROR_INVALID_VALUE;
    if (!vmm_addresses)
        vmm_addresses = sim_region_new((size_t)1 << 42);
    start = sim_region_take(vmm_addresses, bytes);
    if (!start)
        return XCU_ERROR_OUT_OF_MEMORY;
    *out = (xcu_deviceptr)start;
    return XCU_SUCCESS;
}

SIM_API(cuMemAddressFree, SIM_INIT, (xcu_deviceptr address, size_t bytes), (address, bytes))
{
    if (!address || !granular(bytes) || !sim_region_owns((void *)address) ||
        sim_range_at((void *)address))
        return XCU_ERROR_INVALID_VALUE;
    sim_region_give(vmm_addresses, (void *)address, bytes);
    return XCU_SUCCESS;
}

SIM_API(cuMemMap, SIM_INIT,
        (xcu_deviceptr address, size_t bytes, size_t offset, xcu_vmm_handle handle,
         unsigned long long flags),
        (address, bytes, offset, handle, flags))
{
    struct vmm *v = (struct vmm *)handle;
    struct sim_range range = {.start = (uint8_t *)address,
                              .bytes = bytes,
                              .memory = XFT_MEM_DEVICE,
                              .numa = -1,
                              .flags = SIM_RANGE_VMM};

    if (!sim_handle_is(v, SIM_VMM) || offset || flags || !granular(bytes) || bytes > v->bytes ||
        !sim_region_owns((void *)address))
        return XCU_ERROR_INVALID_VALUE;
    range.device = v->device;
    range.mapped = v;
    if (!sim_range_add(&range))
        return XCU_ERROR_INVALID_VALUE;
    v->holders++;
    return XCU_SUCCESS;
}

SIM_API(cuMemUnmap, SIM_INIT, (xcu_deviceptr address, size_t bytes), (address, bytes))
{
    struct sim_range *range;
    struct vmm *v;

    sim_do_all_owed();
    range = sim_range_at((void *)address);
    if (!range || !(range->flags & SIM_RANGE_VMM) || (xcu_deviceptr)range->start != address ||
        range->bytes != bytes)
        return XCU_ERROR_INVALID_VALUE;
    v = range->mapped;
    sim_range_remove(range);
    vmm_drop(v);
    return XCU_SUCCESS;
}

SIM_API(cuMemSetAccess, SIM_INIT,
        (xcu_deviceptr address, size_t bytes, const struct xcu_access *access, size_t count),
        (address, bytes, access, count))
{
    const struct sim_range *range = sim_range_at((void *)address);

    return range && (range->flags & SIM_RANGE_VMM) && access && count ? XCU_SUCCESS
                                                                      : XCU_ERROR_INVALID_VALUE;
}
