#include "preload/messages/requests.h"

#include <stdatomic.h>
#include <string.h>

#include "preload/record/hot.h"
#include "preload/record/recorder.h"

/* ---- under way --------------------------------------------------------------------------------
 */

/* Buckets of a cache line. `reach`: how many buckets further on, at most, a request lies whose
 * place this is; a search need not go beyond. */
#define BUCKETS 1024
#define PER_BUCKET 4
#define REACH_MOST 255
#define BEING_WRITTEN 1
#define RECEIVES (UINT64_C(1) << 63) /* in `what`, beside start_ns */

struct slot {
    _Atomic xfs_word request; /* 0: free */
    _Atomic uint64_t what;
};
static struct slot slots[BUCKETS][PER_BUCKET] __attribute__((aligned(64)));
static atomic_uchar reach[BUCKETS];

static unsigned bucket_of(xfs_word request)
{
    return (unsigned)((uint64_t)request * UINT64_C(0x9e3779b97f4a7c15) >> 54);
}
_Static_assert(BUCKETS == 1 << 10, "ten bits are taken");

/* The one with this handle that began first, of those in the bucket that has any. */
static struct slot *find_slot(xfs_word request)
{
    unsigned home = bucket_of(request);
    unsigned most = atomic_load_explicit(&reach[home], memory_order_acquire);
    struct slot *first = NULL;
    for (unsigned i = 0; i <= most && first == NULL; i++) {
        struct slot *bucket = slots[(home + i) % BUCKETS];
        for (unsigned j = 0; j < PER_BUCKET; j++)
            if (atomic_load_explicit(&bucket[j].request, memory_order_acquire) == request &&
                (first == NULL || (atomic_load(&bucket[j].what) & ~RECEIVES) <
                                      (atomic_load(&first->what) & ~RECEIVES)))
                first = &bucket[j];
    }
    return first;
}

static bool put_in(struct slot *slot, xfs_word request, uint64_t what)
{
    xfs_word free = 0;
    if (atomic_load_explicit(&slot->request, memory_order_relaxed) != 0 ||
        !atomic_compare_exchange_strong(&slot->request, &free, BEING_WRITTEN))
        return false;
    atomic_store_explicit(&slot->what, what, memory_order_relaxed);
    atomic_store_explicit(&slot->request, request, memory_order_release);
    return true;
}

static void reaches(unsigned home, unsigned distance)
{
    unsigned char known = atomic_load(&reach[home]);
    while (known < distance &&
           !atomic_compare_exchange_weak(&reach[home], &known, (unsigned char)distance))
        continue;
}

void xfs_request_begun(xfs_word request, struct xfs_request what, bool shared)
{
    uint64_t stored = what.start_ns | (what.receives ? RECEIVES : 0);
    struct slot *stale = shared ? NULL : find_slot(request);
    unsigned home = bucket_of(request);
    if (stale) { /* how it ended was not seen */
        atomic_store(&stale->what, stored);
        return;
    }
    for (unsigned i = 0; i <= REACH_MOST; i++)
        for (unsigned j = 0; j < PER_BUCKET; j++)
            if (put_in(&slots[(home + i) % BUCKETS][j], request, stored)) {
                reaches(home, i);
                return;
            }
    xfs_lose(XFT_LOSS_EVENTS, 1);
}

bool xfs_request_ends(xfs_word request, struct xfs_request *what)
{
    struct slot *slot = request > BEING_WRITTEN ? find_slot(request) : NULL;
    xfs_word expected = request;
    if (slot == NULL || !atomic_compare_exchange_strong(&slot->request, &expected, BEING_WRITTEN))
        return false;
    uint64_t stored = atomic_load(&slot->what);
    atomic_store_explicit(&slot->request, 0, memory_order_release);
    *what = (struct xfs_request){stored & ~RECEIVES, (stored & RECEIVES) != 0};
    return true;
}

/* ---- persistent ones --------------------------------------------------------------------------
 */

#define KEPT_PROBED 32
static struct kept {
    _Atomic xfs_word request;
    struct xft_event event;
} kept[XFS_REQUESTS_KEPT];

static struct kept *find_kept(xfs_word request, xfs_word there)
{
    unsigned home = bucket_of(request) % XFS_REQUESTS_KEPT;
    for (unsigned i = 0; i < KEPT_PROBED; i++) {
        struct kept *at = &kept[(home + i) % XFS_REQUESTS_KEPT];
        if (atomic_load_explicit(&at->request, memory_order_acquire) == there)
            return at;
    }
    return NULL;
}

void xfs_request_keep(xfs_word request, const struct xft_event *event)
{
    xfs_word was = request;
    struct kept *place = find_kept(request, request);
    if (place == NULL)
        place = find_kept(request, was = 0);
    if (place == NULL || !atomic_compare_exchange_strong(&place->request, &was, BEING_WRITTEN)) {
        xfs_lose(XFT_LOSS_EVENTS, 1);
        return;
    }
    place->event = *event;
    atomic_store_explicit(&place->request, request, memory_order_release);
}

bool xfs_request_kept(xfs_word request, struct xft_event *event)
{
    const struct kept *place = request > BEING_WRITTEN ? find_kept(request, request) : NULL;
    if (place)
        *event = place->event;
    return place != NULL;
}

void xfs_request_forget(xfs_word request)
{
    struct kept *place = request > BEING_WRITTEN ? find_kept(request, request) : NULL;
    if (place)
        atomic_compare_exchange_strong(&place->request, &request, 0);
}

/* ---- those of a call --------------------------------------------------------------------------
 */

/* Room for calls with many: as many calls at once have it. */
#define ROOMS 8
static xfs_word rooms[ROOMS][XFS_REQUESTS_MOST];
static atomic_bool in_use[ROOMS];

static xfs_word *take_room(void)
{
    for (unsigned i = 0; i < ROOMS; i++)
        if (!atomic_load_explicit(&in_use[i], memory_order_relaxed) &&
            !atomic_exchange(&in_use[i], true))
            return rooms[i];
    return NULL;
}

void xfs_requests_give_back(struct xfs_message *m)
{
    size_t room = (size_t)(m->requests - rooms[0]) / XFS_REQUESTS_MOST;
    atomic_store(&in_use[room], false);
}

void xfs_requests_take(struct xfs_message *m, int count, const void *requests)
{
    int kept_count = count < XFS_REQUESTS_MOST ? count : XFS_REQUESTS_MOST;
    if (count <= 0 || requests == NULL)
        return;
    m->given = requests;
    m->requests = count <= XFS_REQUESTS_FEW ? m->few : take_room();
    if (m->requests == NULL)
        kept_count = 0;
    if (kept_count < count)
        xfs_lose(XFT_LOSS_EVENTS, (uint64_t)(count - kept_count));
    for (int i = 0; i < kept_count; i++)
        m->requests[i] = xfs_mpi_handle_at(m->mpi, requests, i);
    m->taken = kept_count;
}

static void set_status(const struct xfs_mpi *mpi, const char *status, struct xft_event *end)
{
    int64_t bytes;
    int cancelled = 0, source = xfs_mpi_source_of(mpi, status);
    if (mpi->cancelled(status, &cancelled) == 0 && cancelled) {
        end->flags |= XFT_FAILED;
        return;
    }
    if (source >= 0)
        end->src = (uint64_t)source + 1;
    if (mpi->elements(status, mpi->byte, &bytes) == 0 && bytes >= 0)
        end->width = (uint64_t)bytes;
}

void xfs_requests_end(struct xfs_message *m, int i, const char *status, unsigned flags)
{
    struct xfs_request what;
    if (i < 0 || i >= m->taken || !xfs_request_ends(m->requests[i], &what))
        return;
    struct xft_event end = {
        .kind = XFT_EVENT_MESSAGE_END,
        .start_ns = m->event.start_ns,
        .end_ns = m->event.end_ns,
        .stream = m->requests[i],
        .aux = what.start_ns,
        .call = m->event.call,
        .flags = (uint16_t)flags,
        .src_place = XFT_PLACE_UNKNOWN,
        .dst_place = XFT_PLACE_UNKNOWN,
        .device = XFT_PLACE_UNKNOWN,
    };
    if (status && what.receives)
        set_status(m->mpi, status, &end);
    xfs_event_write(&end);
}

/* Those that it has set to MPI_REQUEST_NULL are over; so is a single one. */
void xfs_requests_failed(struct xfs_message *m)
{
    xfs_message_write(m);
    if (xft_message_of(m->event.count) != XFT_MESSAGE_WAIT)
        return;
    for (int i = 0; i < m->taken; i++)
        if (m->taken == 1 || xfs_mpi_handle_at(m->mpi, m->given, i) != m->requests[i])
            xfs_requests_end(m, i, NULL, XFT_FAILED);
}

void xfs_requests_after_fork(void)
{
    memset(slots, 0, sizeof slots);
    memset(reach, 0, sizeof reach);
    for (unsigned i = 0; i < XFS_REQUESTS_KEPT; i++)
        atomic_store(&kept[i].request, 0);
    memset(in_use, 0, sizeof in_use);
}
