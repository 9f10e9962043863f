#include "preload/timing/records.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "preload/base/check.h"
#include "preload/record/periods.h"
#include "preload/record/record.h"
#include "preload/timing/convert.h"
#include "preload/timing/give_way.h"
#include "preload/timing/timing.h"

/* One mapping: this, then at the next page the part that CUPTI sees. */
struct buffer {
    struct buffer *next;
    size_t valid;
};
#define SPARES_AT_FIRST 64 /* not touched until they are filled */
#define SPARES 32
#define BUFFER_HEADER 4096 /* a page, so that the rest can be given back */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below but the last */
static struct buffer *spare;
static unsigned spares;
static struct buffer *queue_first, **queue_end = &queue_first;
static unsigned made;

static atomic_uint outstanding;
static const struct xcp_library *cupti;
static bool convert_clock;

XFS_TLS uint32_t xfs_timing_seen;
void (*xfs_records_queued)(void);

/* ---- buffers ------------------------------------------------------------------------------- */

static struct buffer *take_spare(bool *may_make)
{
    pthread_mutex_lock(&lock);
    struct buffer *b = spare;
    if (b) {
        spare = b->next;
        spares--;
    }
    *may_make = b == NULL && made < XFS_RECORDS_BUFFERS;
    made += *may_make;
    pthread_mutex_unlock(&lock);
    return b;
}

/* The buffer is already counted in `made`; after a failure a later attempt may succeed. */
static struct buffer *make_buffer(void)
{
    void *at = mmap(NULL, BUFFER_HEADER + XFS_RECORDS_BUFFER_BYTES, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at != MAP_FAILED)
        return at;
    pthread_mutex_lock(&lock);
    made--;
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* Clears the part that was filled and returns the rest to the kernel, which supplies zeroed pages:
 * a thread that copies rarely does not keep a whole buffer in memory. */
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

static void keep(struct buffer *b)
{
    pthread_mutex_lock(&lock);
    b->next = spare;
    spare = b;
    spares++;
    bool known = spares <= made;
    pthread_mutex_unlock(&lock);
    XFS_EXPECT(known, "more buffers for records are spare than there are");
}

static void put_spare(struct buffer *b)
{
    clear(b);
    keep(b);
}

/* CUPTI requests buffers in threads of the program, in which the recorder makes no system call. */
static void make_ahead(unsigned wanted)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        bool enough = spares >= wanted || made >= XFS_RECORDS_BUFFERS;
        made += !enough;
        pthread_mutex_unlock(&lock);
        struct buffer *b = enough ? NULL : make_buffer();
        if (b == NULL)
            return;
        keep(b);
    }
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
    unsigned out = atomic_fetch_sub(&outstanding, 1);
    if (!XFS_EXPECT(out > 0, "a buffer of records came back that was not out"))
        atomic_fetch_add(&outstanding, 1);
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

/* ---- setup --------------------------------------------------------------------------------- */

void xfs_records_setup(const struct xcp_library *library, bool own_clock)
{
    uint32_t version = 0;
    cupti = library;
    convert_clock = own_clock;
    if (library->GetVersion && library->GetVersion(&version) == XCP_SUCCESS)
        xfs_convert_version(version);
    make_ahead(SPARES_AT_FIRST);
}

/* ---- clocks -------------------------------------------------------------------------------- */

/* The trace's clock minus CUPTI's, ns, from the narrowest of a few pairs of readings. */
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

static void record_one(const struct xcp_activity *record, int64_t offset)
{
    enum xfs_conversion kind = xfs_convert_kind(record);
    if (kind == XFS_CONVERT_NONE)
        return;
    if (kind == XFS_CONVERT_NO_TIME) {
        xfs_count_device_lost(1);
        return;
    }
    struct xft_event event = {0};
    xfs_convert(&event, record, offset);
    xfs_give_way_record(&event);
    if (xfs_periods_keep_record(&event))
        xfs_event_write(&event);
}

static void record_buffer(struct buffer *b, int64_t offset, const atomic_bool *stop)
{
    struct xcp_activity *record = NULL;
    uint8_t *memory = (uint8_t *)b + BUFFER_HEADER;
    while (!atomic_load(stop) &&
           cupti->ActivityGetNextRecord(memory, b->valid, &record) == XCP_SUCCESS)
        record_one(record, offset);
}

void xfs_records_drain(const atomic_bool *stop)
{
    struct buffer *b;
    size_t dropped = 0;
    int64_t offset = convert_clock ? clock_offset() : 0;
    while (!atomic_load(stop) && (b = dequeue()) != NULL) {
        record_buffer(b, offset, stop);
        put_spare(b);
    }
    make_ahead(SPARES);
    if (cupti->ActivityGetNumDroppedRecords(NULL, 0, &dropped) == XCP_SUCCESS && dropped > 0)
        xfs_count_device_lost(dropped);
}
