/* Memory and everything that is no transfer: allocations, registration, managed memory, peers. */
#include <stddef.h>

#include "preload/timing/event_pairs.h"
#include "preload/timing/timing.h"
#include "preload/content/content.h"
#include "preload/content/verify.h"
#include "preload/intercept/captures.h"
#include "preload/intercept/classify.h"
#include "preload/intercept/describe.h"
#include "preload/intercept/peers.h"
#include "preload/intercept/session.h"

void xfs_async(struct xfs_frame *f, xcu_stream stream)
{
    f->event.flags |= XFT_ASYNC;
    xfs_on_stream(f, stream);
}

void xfs_on_stream(struct xfs_frame *f, xcu_stream stream)
{
    struct xft_event *e = &f->event;
    e->flags |= XFT_STREAM_KNOWN;
    e->stream = XFS_ADDR(stream);
    if (xfs_captures_now() > 0 && e->status == 0 &&
        xfs_stream_captured(stream, (e->flags & XFT_PER_THREAD) != 0))
        e->flags |= XFT_CAPTURED;
}

/* ---- allocation ---------------------------------------------------------------------------- */

static bool is_host(uint8_t memory)
{
    return memory != XFT_MEM_DEVICE && memory != XFT_MEM_MANAGED && memory != XFT_MEM_ARRAY;
}

static void describe(struct xfs_frame *f, enum xft_event_kind kind, uint64_t address,
                     uint64_t bytes, uint8_t memory)
{
    f->event.kind = kind;
    f->event.dst = address;
    f->event.bytes = bytes;
    f->event.dst_mem = memory;
    f->event.dst_place = XFT_PLACE_UNKNOWN;
    f->event.src_place = XFT_PLACE_UNKNOWN;
    if (!xfs_moving_begun() && (kind == XFT_EVENT_ALLOC || kind == XFT_EVENT_FREE))
        xfs_before_moving_memory(kind == XFT_EVENT_FREE);
}

void xfs_alloc(struct xfs_frame *f, uint64_t address, uint64_t bytes, enum xft_memory memory)
{
    if (f->event.status != 0 || address == 0)
        return;
    describe(f, XFT_EVENT_ALLOC, address, bytes, memory);
    f->event.device = xfs_current_device();
    if (memory == XFT_MEM_MANAGED)
        xfs_timing_managed();
    if (memory == XFT_MEM_DEVICE)
        f->event.dst_place = f->event.device;
    struct xfs_range range = {address, address + bytes, f->event.dst_place, memory};
    xfs_ranges_add(&range);
}

void xfs_alloc_3d(struct xfs_frame *f, const struct xrt_pitched_ptr *p, struct xcu_extent extent)
{
    if (f->event.status == 0)
        xfs_alloc(f, XFS_ADDR(p->ptr), p->pitch * extent.height * extent.depth, XFT_MEM_DEVICE);
}

void xfs_alloc_host(struct xfs_frame *f, uint64_t address, uint64_t bytes, unsigned flags)
{
    enum xft_memory memory = XFT_MEM_PINNED;
    if (flags & XCU_HOST_WRITECOMBINED)
        memory = XFT_MEM_WRITE_COMBINED;
    else if (flags & XCU_HOST_DEVICEMAP)
        memory = XFT_MEM_MAPPED;
    xfs_alloc(f, address, bytes, memory);
    f->event.aux = flags;
}

void xfs_alloc_pool(struct xfs_frame *f, uint64_t address, uint64_t bytes)
{
    if (f->event.status != 0 || address == 0)
        return;
    struct xfs_place place = xfs_classify(address);
    if (place.memory == XFT_MEM_PAGEABLE) /* captured: the driver does not know the memory yet */
        place = (struct xfs_place){XFT_MEM_UNKNOWN, XFT_PLACE_UNKNOWN};
    describe(f, XFT_EVENT_ALLOC, address, bytes, place.memory);
    f->event.dst_place = f->event.device = place.place;
    struct xfs_range range = {address, address + bytes, place.place, place.memory};
    if (place.memory == XFT_MEM_DEVICE)
        xfs_ranges_add(&range);
}

void xfs_alloc_array(struct xfs_frame *f, uint64_t handle)
{
    if (f->event.status != 0)
        return;
    describe(f, XFT_EVENT_ALLOC, handle, 0, XFT_MEM_ARRAY);
    f->event.device = f->event.dst_place = xfs_current_device();
}

void xfs_free_array(struct xfs_frame *f, uint64_t handle)
{
    if (f->event.status == 0)
        describe(f, XFT_EVENT_FREE, handle, 0, XFT_MEM_ARRAY);
}

void xfs_free_begin(struct xfs_frame *f, uint64_t address)
{
    f->freed = (struct xfs_range){address, address, XFT_PLACE_UNKNOWN, XFT_MEM_UNKNOWN};
    if (address)
        xfs_ranges_remove(address, &f->freed);
    if (xfs_content_on())
        xfs_content_forget(f->freed.start, f->freed.end);
    if (xfs_access_on() && f->freed.start)
        xfs_access_forget(f->freed.start, f->freed.end);
    if (xfs_verify_on() && f->freed.start)
        xfs_verify_forget(f->freed.start, f->freed.end);
}

static void released(struct xfs_frame *f, int status, enum xft_event_kind kind)
{
    if (status != 0)
        xfs_ranges_add(&f->freed); /* empty when there was none */
    else if (f->freed.start != 0) {
        describe(f, kind, f->freed.start, f->freed.end - f->freed.start, f->freed.memory);
        f->event.dst_place = f->freed.place;
        if (!is_host(f->freed.memory))
            f->event.device = f->freed.place;
    }
}

void xfs_free_end(struct xfs_frame *f, int status)
{
    released(f, status, XFT_EVENT_FREE);
}

void xfs_unregister_end(struct xfs_frame *f, int status)
{
    released(f, status, XFT_EVENT_UNREGISTER);
}

void xfs_register(struct xfs_frame *f, uint64_t address, uint64_t bytes)
{
    if (f->event.status != 0)
        return;
    describe(f, XFT_EVENT_REGISTER, address, bytes, XFT_MEM_REGISTERED);
    struct xfs_range range = {address, address + bytes, XFT_PLACE_UNKNOWN, XFT_MEM_REGISTERED};
    xfs_ranges_add(&range);
}

void xfs_all_freed(struct xfs_frame *f)
{
    xfs_captures_context_ended(f->event.status);
    if (f->event.status == 0) {
        xfs_ranges_clear();
        xfs_peers_clear();
        xfs_pairs_forget();
    }
}

/* ---- managed memory -------------------------------------------------------------------------- */

int xfs_location_place(struct xcu_location where)
{
    return where.type == XCU_LOCATION_DEVICE ? where.id : XFT_PLACE_HOST;
}

static void managed(struct xfs_frame *f, enum xft_event_kind kind, uint64_t address, uint64_t bytes,
                    int place)
{
    xfs_timing_managed(); /* variables declared managed have no allocation that could be seen */
    f->event.kind = kind;
    f->event.src = address;
    f->event.bytes = bytes;
    f->event.src_mem = xfs_classify(address).memory;
    f->event.src_place = XFT_PLACE_UNKNOWN;
    /* The older calls name the host by CU_DEVICE_CPU, -1. */
    f->event.dst_place = (int16_t)(place < 0 ? XFT_PLACE_HOST : place);
}

void xfs_prefetch(struct xfs_frame *f, uint64_t address, uint64_t bytes, int place)
{
    if (f->event.status != 0)
        return;
    managed(f, XFT_EVENT_PREFETCH, address, bytes, place);
    f->event.direction = place < 0 ? XFT_DIR_D2H : XFT_DIR_H2D;
    f->event.count = 1;
}

/* The target of range i; `at`: the entry of the range before. */
static int place_in_batch(const struct xfs_prefetches *batch, size_t i, size_t *at)
{
    while (*at + 1 < batch->num_where && batch->where_idxs[*at + 1] <= i)
        ++*at;
    return xfs_location_place(batch->where[*at]);
}

void xfs_prefetch_batch(struct xfs_frame *f, const struct xfs_prefetches *batch)
{
    size_t at = 0;
    if (f->event.status != 0 || batch->count == 0)
        return;
    xfs_prefetch(f, batch->addresses[0], batch->sizes[0], place_in_batch(batch, 0, &at));
    f->event.count = batch->count < UINT32_MAX ? (uint32_t)batch->count : UINT32_MAX;
    f->prefetches = *batch;
}

void xfs_prefetch_ranges(const struct xfs_frame *f, void (*publish)(const struct xft_event *))
{
    const struct xfs_prefetches *batch = &f->prefetches;
    struct xfs_frame range = {.event = f->event};
    size_t at = 0;
    range.event.start_ns = f->event.end_ns;
    for (size_t i = 1; i < batch->count; i++) {
        int place = place_in_batch(batch, i, &at);
        xfs_prefetch(&range, batch->addresses[i], batch->sizes[i], place);
        range.event.count = 0;
        publish(&range.event);
    }
}

void xfs_advise(struct xfs_frame *f, uint64_t address, uint64_t bytes, int advice, int place)
{
    if (f->event.status != 0)
        return;
    managed(f, XFT_EVENT_ADVISE, address, bytes, place);
    f->event.aux = (uint64_t)advice;
}

/* ---- peers ----------------------------------------------------------------------------------- */

/* Peer access has the wanted state, also when it had it before. */
static bool is_so_now(int status, int enabled)
{
    return status == XCU_SUCCESS || status == (enabled ? XCU_ERROR_PEER_ACCESS_ALREADY_ENABLED
                                                       : XCU_ERROR_PEER_ACCESS_NOT_ENABLED);
}

void xfs_peer_device(struct xfs_frame *f, int peer, int enabled)
{
    if (is_so_now(f->event.status, enabled))
        xfs_peers_set(xfs_current_device(), peer, enabled);
    if (f->event.status != 0)
        return;
    f->event.kind = XFT_EVENT_PEER;
    f->event.src_place = f->event.device = xfs_current_device();
    f->event.dst_place = (int16_t)peer;
    f->event.aux = (uint64_t)enabled;
}

void xfs_peer_context(struct xfs_frame *f, xcu_context peer, int enabled)
{
    if (is_so_now(f->event.status, enabled))
        xfs_peer_device(f, xfs_context_device(peer), enabled);
}
