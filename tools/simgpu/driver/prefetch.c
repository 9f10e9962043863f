/*
 * Prefetch, advice and the attributes of managed ranges.
 */
#include "tools/simgpu/driver/call.h"
#include "tools/simgpu/gpu/link.h"
#include "tools/simgpu/gpu/machine.h"
#include "tools/simgpu/gpu/managed.h"
#include "tools/simgpu/gpu/queue.h"
#include "tools/simgpu/gpu/streams.h"

static struct sim_range *managed(xcu_deviceptr address, size_t bytes)
{
    struct sim_range *r = sim_range_at((void *)address);

    if (!r || r->memory != XFT_MEM_MANAGED || !bytes ||
        bytes > (size_t)(r->start + r->bytes - (uint8_t *)address))
        return NULL;
    return r;
}

/* CU_DEVICE_CPU is -1 in the older functions. */
static struct xcu_location old_location(xcu_device device)
{
    return (struct xcu_location){device < 0 ? XCU_LOCATION_HOST : XCU_LOCATION_DEVICE, device};
}

static xcu_result check_location(struct xcu_location where)
{
    if (where.type < XCU_LOCATION_DEVICE || where.type > XCU_LOCATION_HOST_NUMA_CURRENT)
        return XCU_ERROR_INVALID_VALUE;
    if (where.type == XCU_LOCATION_DEVICE && (where.id < 0 || where.id >= sim_device_count))
        return XCU_ERROR_INVALID_DEVICE;
    return XCU_SUCCESS;
}

static xcu_result prefetch_to(xcu_deviceptr address, size_t bytes, struct xcu_location where,
                              struct sim_stream *stream)
{
    struct sim_op op = {.kind = SIM_OP_PREFETCH, .asynchronous = true};
    struct sim_range *r = managed(address, bytes);

    if (!r)
        return XCU_ERROR_INVALID_VALUE;
    op.u.prefetch.start = (uint8_t *)address;
    op.u.prefetch.bytes = bytes;
    op.u.prefetch.device = where.type == XCU_LOCATION_DEVICE ? where.id : -1;
    r->prefetched = where;
    return sim_submit(stream, &op);
}

static xcu_result prefetch(xcu_deviceptr address, size_t bytes, struct xcu_location where,
                           xcu_stream stream)
{
    struct sim_stream *s;
    xcu_result r = sim_stream_of(stream, &s);

    sim_advance(sim_settings.submit_ns);
    if (!r)
        r = check_location(where);
    return r ? r : prefetch_to(address, bytes, where, s);
}

SIM_API_PT(cuMemPrefetchAsync, cuMemPrefetchAsync_ptsz, SIM_CTX | SIM_TIMED,
           (xcu_deviceptr address, size_t bytes, xcu_device device, xcu_stream stream),
           (address, bytes, device, stream))
{
    return prefetch(address, bytes, old_location(device), stream);
}

SIM_API_PT(cuMemPrefetchAsync_v2, cuMemPrefetchAsync_v2_ptsz, SIM_CTX | SIM_TIMED,
           (xcu_deviceptr address, size_t bytes, struct xcu_location where, unsigned flags,
            xcu_stream stream),
           (address, bytes, where, flags, stream))
{
    return flags ? XCU_ERROR_INVALID_VALUE : prefetch(address, bytes, where, stream);
}

struct batch {
    xcu_deviceptr *addresses;
    size_t *sizes, count;
    struct xcu_location *where;
    size_t *first, places;
};

static xcu_result prefetch_batch(const struct batch *b, unsigned long long flags, xcu_stream stream)
{
    struct sim_stream *s;
    xcu_result r = sim_stream_of(stream, &s);
    size_t place = 0;

    sim_advance(sim_settings.submit_ns);
    if (!r && (flags || !b->addresses || !b->sizes || !b->count || !b->where || !b->first ||
               !b->places || b->first[0]))
        r = XCU_ERROR_INVALID_VALUE;
    for (size_t i = 0; !r && i < b->count; i++) {
        while (place + 1 < b->places && b->first[place + 1] <= i)
            place++;
        r = check_location(b->where[place]);
        if (!r)
            r = prefetch_to(b->addresses[i], b->sizes[i], b->where[place], s);
    }
    return r;
}

SIM_API_PT(cuMemPrefetchBatchAsync, cuMemPrefetchBatchAsync_ptsz, SIM_CTX | SIM_TIMED,
           (xcu_deviceptr * addresses, size_t *sizes, size_t count, struct xcu_location *where,
            size_t *first, size_t places, unsigned long long flags, xcu_stream stream),
           (addresses, sizes, count, where, first, places, flags, stream))
{
    const struct batch batch = {addresses, sizes, count, where, first, places};
    return prefetch_batch(&batch, flags, stream);
}

/* Discarded data may become anything: here it stays as it is. */
SIM_API_PT(cuMemDiscardAndPrefetchBatchAsync, cuMemDiscardAndPrefetchBatchAsync_ptsz,
           SIM_CTX | SIM_TIMED,
           (xcu_deviceptr * addresses, size_t *sizes, size_t count, struct xcu_location *where,
            size_t *first, size_t places, unsigned long long flags, xcu_stream stream),
           (addresses, sizes, count, where, first, places, flags, stream))
{
    const struct batch batch = {addresses, sizes, count, where, first, places};
    return prefetch_batch(&batch, flags, stream);
}

static xcu_result advise(xcu_deviceptr address, size_t bytes, int advice, struct xcu_location where)
{
    struct sim_range *r = managed(address, bytes);

    if (!r || advice < 1 || advice > 6)
        return XCU_ERROR_INVALID_VALUE;
    if (advice >= 3 && advice != 4 && check_location(where))
        return check_location(where);
    sim_managed_advise(r, (enum sim_advice)advice, where);
    return XCU_SUCCESS;
}

SIM_API(cuMemAdvise, SIM_CTX, (xcu_deviceptr address, size_t bytes, int advice, xcu_device device),
        (address, bytes, advice, device))
{
    return advise(address, bytes, advice, old_location(device));
}

SIM_API(cuMemAdvise_v2, SIM_CTX,
        (xcu_deviceptr address, size_t bytes, int advice, struct xcu_location where),
        (address, bytes, advice, where))
{
    return advise(address, bytes, advice, where);
}

enum {
    READ_MOSTLY = 1,
    PREFERRED = 2,
    LAST_PREFETCH = 4,
    PREFERRED_TYPE = 5,
    PREFERRED_ID = 6,
    PREFETCH_TYPE = 7,
    PREFETCH_ID = 8,
};

static int old_place(struct xcu_location where)
{
    if (where.type == 0)
        return -2; /* CU_DEVICE_INVALID */
    return where.type == XCU_LOCATION_DEVICE ? where.id : -1;
}

static xcu_result range_attribute(int *value, size_t bytes, int attribute,
                                  const struct sim_range *range)
{
    if (!value || bytes != sizeof(*value) || !range)
        return XCU_ERROR_INVALID_VALUE;
    switch (attribute) {
    case READ_MOSTLY:
        *value = range->read_mostly;
        return XCU_SUCCESS;
    case PREFERRED:
        *value = old_place(range->preferred);
        return XCU_SUCCESS;
    case LAST_PREFETCH:
        *value = old_place(range->prefetched);
        return XCU_SUCCESS;
    case PREFERRED_TYPE:
        *value = range->preferred.type;
        return XCU_SUCCESS;
    case PREFERRED_ID:
        *value = range->preferred.id;
        return XCU_SUCCESS;
    case PREFETCH_TYPE:
        *value = range->prefetched.type;
        return XCU_SUCCESS;
    case PREFETCH_ID:
        *value = range->prefetched.id;
        return XCU_SUCCESS;
    }
    return XCU_ERROR_INVALID_VALUE;
}

SIM_API(cuMemRangeGetAttribute, SIM_CTX,
        (void *data, size_t bytes, int attribute, xcu_deviceptr address, size_t count),
        (data, bytes, attribute, address, count))
{
    return range_attribute(data, bytes, attribute, managed(address, count));
}

SIM_API(cuMemRangeGetAttributes, SIM_CTX,
        (void **data, size_t *bytes, int *attributes, size_t n, xcu_deviceptr address,
         size_t count),
        (data, bytes, attributes, n, address, count))
{
    xcu_result r = data && bytes && attributes && n ? XCU_SUCCESS : XCU_ERROR_INVALID_VALUE;

    for (size_t i = 0; !r && i < n; i++)
        r = range_attribute(data[i], bytes[i], attributes[i], managed(address, count));
    return r;
}

/* Inside a kernel's host twin the lock is already held. */
SIM_EXPORT void xferscope_simgpu_touch(const void *address, size_t bytes, int write)
{
    const uint64_t begun = 1; /* ns: a kernel that faults has begun before */
    bool in_kernel = sim_thread.kernel_ns != NULL;
    int to = in_kernel ? sim_thread.kernel_device : -1;
    struct sim_migration m = {.address = address,
                              .bytes = bytes,
                              .to = to,
                              .write = write != 0,
                              .instruction = __builtin_return_address(0)};
    struct sim_range *r;
    size_t in_place = 0;
    uint64_t ns = 0;

    if (!in_kernel)
        sim_lock();
    r = sim_range_at(address);
    if (r && r->memory == XFT_MEM_MANAGED) {
        in_place = in_kernel ? sim_managed_in_place(r, address, bytes, to) : 0;
        m.ready = in_kernel ? sim_thread.kernel_start + *sim_thread.kernel_ns + begun : sim_now();
        sim_managed_go(r, &m);
        ns = m.end - m.ready;
        if (sim_report_migration(&m))
            ns += in_kernel ? sim_settings.record_device_ns : sim_settings.record_ns;
        if (in_place)
            ns += sim_reach_ns(&(struct sim_reach){
                r, in_place, to, write != 0, sim_thread.kernel_start + *sim_thread.kernel_ns + ns});
    } else if (r && in_kernel && r->memory != XFT_MEM_DEVICE) {
        ns = sim_reach_ns(&(struct sim_reach){r, bytes, to, write != 0,
                                              sim_thread.kernel_start + *sim_thread.kernel_ns});
    }
    if (r && !in_kernel && !write && r->memory == XFT_MEM_WRITE_COMBINED)
        ns = sim_table_ns("host-read/write-combined/host", bytes);
    else if (r && !in_kernel && !write && r->memory == XFT_MEM_PINNED)
        ns = sim_table_ns("host-read/pinned/host", bytes);
    if (in_kernel)
        *sim_thread.kernel_ns += ns;
    else
        sim_advance(ns);
    if (!in_kernel)
        sim_unlock();
}
