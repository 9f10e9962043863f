#include "tools/simgpu/gpu/memory.h"

#include "tools/simgpu/gpu/lazy.h"

xcu_result sim_allocate(struct sim_region **region, size_t region_bytes, struct sim_range *range)
{
    if (!*region)
        *region = sim_region_new(region_bytes);
    range->region = *region;
    range->start = sim_region_take(*region, range->bytes);
    if (!range->start)
        return XCU_ERROR_OUT_OF_MEMORY;
    if (!sim_range_add(range)) {
        sim_region_give(*region, range->start, range->bytes);
        return XCU_ERROR_OUT_OF_MEMORY;
    }
    return XCU_SUCCESS;
}

xcu_result sim_device_alloc(int device, size_t bytes, unsigned flags, struct sim_pool *pool,
                            xcu_deviceptr *out)
{
    struct sim_device *d = &sim_devices[device];
    struct sim_range range = {.bytes = bytes,
                              .memory = XFT_MEM_DEVICE,
                              .device = device,
                              .numa = -1,
                              .flags = flags,
                              .pool = pool,
                              .context = sim_current()};
    xcu_result r;

    if (!bytes)
        return XCU_ERROR_INVALID_VALUE;
    if (bytes > d->gpu->memory_bytes - d->used)
        sim_do_all_owed(); /* what was freed in stream order */
    if (bytes > d->gpu->memory_bytes - d->used)
        return XCU_ERROR_OUT_OF_MEMORY;
    r = sim_allocate(&d->region, d->gpu->memory_bytes, &range);
    if (r)
        return r;
    d->used += bytes;
    if (pool) {
        pool->used_now += bytes;
        pool->used_high = pool->used_now > pool->used_high ? pool->used_now : pool->used_high;
        pool->reserved_now = pool->used_high;
    }
    *out = (xcu_deviceptr)range.start;
    return XCU_SUCCESS;
}

void sim_memory_release(struct sim_context *context)
{
    sim_do_all_owed();
    for (size_t i = sim_range_count(); i-- > 0;)
        if (sim_range_nth(i)->context == context)
            sim_range_free(sim_range_nth(i));
}
