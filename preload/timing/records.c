#include "records.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "../record/record.h"

/* One mapping: this, then at the next page the part that CUPTI sees. */
struct buffer {
    struct buffer *next;
    size_t valid;
};
#define BUFFER_HEADER 4096 /* a page, so that the rest can be given back */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the three below */
static struct buffer *spare;
static struct buffer *queue_first, **queue_end = &queue_first;
static unsigned made;

static atomic_uint outstanding;
static const struct xcp_library *cupti;
static bool convert_clock, has_copy_count;

void (*xfs_records_queued)(void);

void xfs_records_setup(const struct xcp_library *library, bool own_clock)
{
    uint32_t version = 0;
    cupti = library;
    convert_clock = own_clock;
    has_copy_count = library->GetVersion && library->GetVersion(&version) == XCP_SUCCESS &&
                     version >= XCP_VERSION_COPY_COUNT;
}

/* ---- buffers ------------------------------------------------------------------------------- */

static struct buffer *take_spare(bool *may_make)
{
    pthread_mutex_lock(&lock);
    struct buffer *b = spare;
    if (b)
        spare = b->next;
    *may_make = b == NULL && made < XFS_RECORDS_BUFFERS;
    made += *may_make;
    pthread_mutex_unlock(&lock);
    return b;
}

static struct buffer *make_buffer(void)
{
    void *at = mmap(NULL, BUFFER_HEADER + XFS_RECORDS_BUFFER_BYTES, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

/* What was filled is cleared; what lies behind goes back to the kernel, which hands out zeros: a
 * thread that copies now and then does not keep a whole buffer in memory. */
static void clear(struct buffer *b)
{
    uint8_t *memory = (uint8_t *)b + BUFFER_HEADER;
    size_t filled = (b->valid + BUFFER_HEADER - 1) / BUFFER_HEADER * BUFFER_HEADER;
    if (filled < XFS_RECORDS_BUFFER_BYTES &&
        madvise(memory + filled, XFS_RECORDS_BUFFER_BYTES - filled, MADV_DONTNEED) == 0)
        memset(memory, 0, filled);
    else
        memset(memory, 0, XFS_RECORDS_BUFFER_BYTES);
}

static void put_spare(struct buffer *b)
{
    clear(b);
    pthread_mutex_lock(&lock);
    b->next = spare;
    spare = b;
    pthread_mutex_unlock(&lock);
}

void xfs_records_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
    bool may_make;
    struct buffer *b = take_spare(&may_make);
    if (b == NULL && may_make)
        b = make_buffer();
    *buffer = b ? (uint8_t *)b + BUFFER_HEADER : NULL;
    *size = b ? XFS_RECORDS_BUFFER_BYTES : 0;
    *max_records = 0;
    if (b)
        atomic_fetch_add(&outstanding, 1);
}

void xfs_records_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                           size_t valid)
{
    if (buffer == NULL)
        return;
    struct buffer *b = (struct buffer *)(buffer - BUFFER_HEADER);
    b->valid = valid;
    b->next = NULL;
    pthread_mutex_lock(&lock);
    *queue_end = b;
    queue_end = &b->next;
    pthread_mutex_unlock(&lock);
    atomic_fetch_sub(&outstanding, 1);
    if (xfs_records_queued)
        xfs_records_queued();
}

unsigned xfs_records_outstanding(void)
{
    return atomic_load(&outstanding);
}

static struct buffer *dequeue(void)
{
    pthread_mutex_lock(&lock);
    struct buffer *b = queue_first;
    if (b) {
        queue_first = b->next;
        if (queue_first == NULL)
            queue_end = &queue_first;
    }
    pthread_mutex_unlock(&lock);
    return b;
}

/* ---- clocks -------------------------------------------------------------------------------- */

/* The trace's clock minus CUPTI's, from the tightest of a few pairs of readings. */
static int64_t clock_offset(void)
{
    uint64_t best = UINT64_MAX;
    int64_t offset = 0;
    for (int i = 0; i < 5; i++) {
        uint64_t theirs = 0, before = xfs_now_ns();
        if (cupti->GetTimestamp(&theirs) != XCP_SUCCESS)
            continue;
        uint64_t took = xfs_now_ns() - before;
        if (took < best) {
            best = took;
            offset = (int64_t)(before + took / 2 - theirs);
        }
    }
    return offset;
}

/* ---- records to events --------------------------------------------------------------------- */

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

/* The three kinds of record that are enabled begin alike. */
static bool is_ours(int kind)
{
    return kind == XCP_ACTIVITY_MEMCPY || kind == XCP_ACTIVITY_MEMCPY2 ||
           kind == XCP_ACTIVITY_MEMSET;
}
_Static_assert(offsetof(struct xcp_memcpy, bytes) == offsetof(struct xcp_memset, bytes) &&
                   offsetof(struct xcp_memcpy, end) == offsetof(struct xcp_memset, end) &&
                   offsetof(struct xcp_memcpy, end) == offsetof(struct xcp_memcpy_peer, end),
               "bytes, start and end are read through struct xcp_memcpy");

static void record_one(const struct xcp_activity *record, int64_t offset)
{
    const struct xcp_memcpy *common = (const void *)record;
    if (!is_ours(record->kind))
        return;
    if (common->start == 0 || common->end < common->start) {
        xfs_count_device_lost(1); /* CUPTI had no time for it */
        return;
    }
    struct xft_event *e = xfs_event_begin();
    if (e == NULL)
        return;
    e->start_ns = common->start + (uint64_t)offset;
    e->end_ns = common->end + (uint64_t)offset;
    e->bytes = e->width = common->bytes;
    if (record->kind == XCP_ACTIVITY_MEMCPY)
        from_memcpy(e, common);
    else if (record->kind == XCP_ACTIVITY_MEMCPY2)
        from_peer(e, (const void *)record);
    else
        from_memset(e, (const void *)record);
    xfs_event_commit(e);
}

static void record_buffer(struct buffer *b, int64_t offset, const volatile bool *stop)
{
    struct xcp_activity *record = NULL;
    uint8_t *memory = (uint8_t *)b + BUFFER_HEADER;
    while (!*stop && cupti->ActivityGetNextRecord(memory, b->valid, &record) == XCP_SUCCESS)
        record_one(record, offset);
}

void xfs_records_drain(const volatile bool *stop)
{
    struct buffer *b;
    size_t dropped = 0;
    int64_t offset = convert_clock ? clock_offset() : 0;
    while (!*stop && (b = dequeue()) != NULL) {
        record_buffer(b, offset, stop);
        put_spare(b);
    }
    if (cupti->ActivityGetNumDroppedRecords(NULL, 0, &dropped) == XCP_SUCCESS && dropped > 0)
        xfs_count_device_lost(dropped);
}
