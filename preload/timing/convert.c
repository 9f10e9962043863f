#include "preload/timing/convert.h"

#include <stdbool.h>
#include <string.h>

#include "preload/record/record.h"

static bool has_copy_count;

void xfs_convert_version(uint32_t version)
{
    has_copy_count = version >= XCP_VERSION_COPY_COUNT;
}

/* ---- copies and memsets -------------------------------------------------------------------- */

static enum xft_memory memory_of(unsigned kind)
{
    static const uint8_t memory[] = {
        [XCP_MEMORY_PAGEABLE] = XFT_MEM_PAGEABLE,      [XCP_MEMORY_PINNED] = XFT_MEM_PINNED,
        [XCP_MEMORY_DEVICE] = XFT_MEM_DEVICE,          [XCP_MEMORY_ARRAY] = XFT_MEM_ARRAY,
        [XCP_MEMORY_MANAGED] = XFT_MEM_MANAGED,        [XCP_MEMORY_DEVICE_STATIC] = XFT_MEM_DEVICE,
        [XCP_MEMORY_MANAGED_STATIC] = XFT_MEM_MANAGED,
    };
    return kind < sizeof memory ? memory[kind] : XFT_MEM_UNKNOWN;
}

static enum xft_direction direction_of(unsigned kind)
{
    static const uint8_t direction[] = {
        [XCP_COPY_HTOD] = XFT_DIR_H2D, [XCP_COPY_DTOH] = XFT_DIR_D2H, [XCP_COPY_HTOA] = XFT_DIR_H2D,
        [XCP_COPY_ATOH] = XFT_DIR_D2H, [XCP_COPY_ATOA] = XFT_DIR_D2D, [XCP_COPY_ATOD] = XFT_DIR_D2D,
        [XCP_COPY_DTOA] = XFT_DIR_D2D, [XCP_COPY_DTOD] = XFT_DIR_D2D, [XCP_COPY_HTOH] = XFT_DIR_H2H,
        [XCP_COPY_PTOP] = XFT_DIR_P2P,
    };
    return kind < sizeof direction ? direction[kind] : XFT_DIR_UNKNOWN;
}

/* Both ends of a copy that one device ran. */
static void set_places(struct xft_event *e, int device)
{
    bool known = e->direction != XFT_DIR_UNKNOWN;
    bool from_host = e->direction == XFT_DIR_H2D || e->direction == XFT_DIR_H2H;
    bool to_host = e->direction == XFT_DIR_D2H || e->direction == XFT_DIR_H2H;
    e->src_place = (int16_t)(!known ? XFT_PLACE_UNKNOWN : from_host ? XFT_PLACE_HOST : device);
    e->dst_place = (int16_t)(!known ? XFT_PLACE_UNKNOWN : to_host ? XFT_PLACE_HOST : device);
}

static void from_memcpy(struct xft_event *e, const struct xcp_memcpy *r)
{
    e->kind = XFT_EVENT_DEVICE_COPY;
    e->direction = direction_of(r->copy_kind);
    e->src_mem = memory_of(r->src_kind);
    e->dst_mem = memory_of(r->dst_kind);
    e->flags = r->flags & XCP_MEMCPY_ASYNC ? XFT_ASYNC : 0;
    e->count = has_copy_count && r->copy_count > 1 ? (uint32_t)r->copy_count : 1;
    e->correlation = r->correlation;
    e->device = (int16_t)r->device;
    e->aux = r->stream;
    set_places(e, (int)r->device);
}

static void from_peer(struct xft_event *e, const struct xcp_memcpy_peer *r)
{
    e->kind = XFT_EVENT_DEVICE_COPY;
    e->direction = direction_of(r->copy_kind);
    e->src_mem = memory_of(r->src_kind);
    e->dst_mem = memory_of(r->dst_kind);
    e->flags = r->flags & XCP_MEMCPY_ASYNC ? XFT_ASYNC : 0;
    e->count = 1;
    e->correlation = r->correlation;
    e->device = (int16_t)r->device;
    e->aux = r->stream;
    e->src_place = (int16_t)r->src_device;
    e->dst_place = (int16_t)r->dst_device;
}

static void from_memset(struct xft_event *e, const struct xcp_memset *r)
{
    e->kind = XFT_EVENT_MEMSET;
    e->dst_mem = memory_of(r->memory_kind);
    e->flags = r->flags & XCP_MEMSET_ASYNC ? XFT_ASYNC : 0;
    e->count = 1;
    e->correlation = r->correlation;
    e->device = (int16_t)r->device;
    e->aux = r->stream;
    e->src_place = XFT_PLACE_UNKNOWN;
    e->dst_place = (int16_t)r->device;
}

/* ---- kernels ------------------------------------------------------------------------------- */

static void from_kernel(struct xft_event *e, const struct xcp_kernel *r)
{
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++)
        threads *= (uint64_t)r->grid[i] * (uint64_t)r->block[i];
    e->kind = XFT_EVENT_KERNEL;
    e->bytes = e->width = 0;
    e->src = r->name ? xfs_name(r->name, strnlen(r->name, XFT_NAME_MOST + 1)) : 0;
    e->dst = threads;
    e->count = 1;
    e->correlation = r->correlation;
    e->device = (int16_t)r->device;
    e->aux = r->stream;
}

/* ---- managed memory ------------------------------------------------------------------------ */

static void from_migration(struct xft_event *e, const struct xcp_counter_record *r)
{
    static const uint8_t direction[] = {
        [XCP_COUNTER_HTOD] = XFT_DIR_H2D,
        [XCP_COUNTER_DTOH] = XFT_DIR_D2H,
        [XCP_COUNTER_DTOD] = XFT_DIR_P2P,
    };
    e->kind = XFT_EVENT_MIGRATION;
    e->direction = direction[r->counter];
    e->src = r->address;
    e->src_mem = e->dst_mem = XFT_MEM_MANAGED;
    e->src_place = (int16_t)(e->direction == XFT_DIR_H2D ? XFT_PLACE_HOST : (int)r->src);
    e->dst_place = (int16_t)(e->direction == XFT_DIR_D2H ? XFT_PLACE_HOST : (int)r->dst);
    e->device = (int16_t)(e->direction == XFT_DIR_D2H ? e->src_place : e->dst_place);
    e->count = 1;
    e->aux = r->flags;
}

/* A page fault of the CPU has one time, and the instruction's address as its value: stored as a
 * stack of one frame, which gets its name like others. */
static void from_fault(struct xft_event *e, const struct xcp_counter_record *r)
{
    bool host = r->counter == XCP_COUNTER_CPU_FAULT;
    e->kind = XFT_EVENT_FAULT;
    e->bytes = e->width = 0;
    e->src = r->address;
    e->src_mem = XFT_MEM_MANAGED;
    e->aux = r->flags;
    e->device = (int16_t)(host ? XFT_PLACE_HOST : (int)r->src);
    e->count = host ? 1 : (uint32_t)r->value;
    if (host) {
        e->end_ns = 0;
        e->stack = xfs_stack_of(r->value);
    }
}

static bool is_fault(const struct xcp_counter_record *r)
{
    return r->counter == XCP_COUNTER_CPU_FAULT || r->counter == XCP_COUNTER_GPU_FAULT;
}

static bool is_migration(const struct xcp_counter_record *r)
{
    return r->counter == XCP_COUNTER_HTOD || r->counter == XCP_COUNTER_DTOH ||
           r->counter == XCP_COUNTER_DTOD;
}

/* ---- all of them --------------------------------------------------------------------------- */

#define SAME_PLACE(field, other)                                                                   \
    (offsetof(struct xcp_memcpy, field) == offsetof(struct other, field))
_Static_assert(SAME_PLACE(start, xcp_memset) && SAME_PLACE(end, xcp_memset) &&
                   SAME_PLACE(start, xcp_memcpy_peer) && SAME_PLACE(end, xcp_memcpy_peer) &&
                   SAME_PLACE(start, xcp_kernel) && SAME_PLACE(end, xcp_kernel) &&
                   SAME_PLACE(start, xcp_counter_record) && SAME_PLACE(end, xcp_counter_record) &&
                   SAME_PLACE(bytes, xcp_memset) && SAME_PLACE(bytes, xcp_memcpy_peer) &&
                   offsetof(struct xcp_memcpy, bytes) == offsetof(struct xcp_counter_record, value),
               "bytes, start and end are read through struct xcp_memcpy");

static bool is_ours(const struct xcp_activity *record)
{
    const struct xcp_counter_record *counter = (const void *)record;
    switch (record->kind) {
    case XCP_ACTIVITY_MEMCPY:
    case XCP_ACTIVITY_MEMCPY2:
    case XCP_ACTIVITY_MEMSET:
    case XCP_ACTIVITY_KERNEL:
        return true;
    case XCP_ACTIVITY_COUNTER:
        return is_fault(counter) || is_migration(counter);
    default:
        return false;
    }
}

enum xfs_conversion xfs_convert_kind(const struct xcp_activity *record)
{
    const struct xcp_memcpy *common = (const void *)record;
    const struct xcp_counter_record *counter = (const void *)record;
    if (!is_ours(record))
        return XFS_CONVERT_NONE;
    bool moment = record->kind == XCP_ACTIVITY_COUNTER && counter->counter == XCP_COUNTER_CPU_FAULT;
    if (common->start == 0 || (!moment && common->end < common->start))
        return XFS_CONVERT_NO_TIME;
    return XFS_CONVERT_EVENT;
}

void xfs_convert(struct xft_event *e, const struct xcp_activity *record, int64_t clock)
{
    const struct xcp_memcpy *common = (const void *)record;
    const struct xcp_counter_record *counter = (const void *)record;
    e->start_ns = common->start + (uint64_t)clock;
    e->end_ns = common->end + (uint64_t)clock;
    e->bytes = e->width = common->bytes;
    if (record->kind == XCP_ACTIVITY_MEMCPY)
        from_memcpy(e, common);
    else if (record->kind == XCP_ACTIVITY_MEMCPY2)
        from_peer(e, (const void *)record);
    else if (record->kind == XCP_ACTIVITY_MEMSET)
        from_memset(e, (const void *)record);
    else if (record->kind == XCP_ACTIVITY_KERNEL)
        from_kernel(e, (const void *)record);
    else if (is_fault(counter))
        from_fault(e, counter);
    else
        from_migration(e, counter);
}
