#include "preload/messages/requests.h"

#include <stdatomic.h>
#include <string.h>

#include "preload/messages/statuses.h"
#include "preload/record/hot.h"
#include "preload/record/recorder.h"

/* ---- under way ------------------------------------------------------------------------------- */

/* Buckets of a cache line. `reach`: how many buckets further on, at most, a request lies whose
 * place this is; a search need not go beyond. */
#define BUCKETS 2048
#define PER_BUCKET 2
#define REACH_MOST 255
#define BEING_WRITTEN 1

struct xfs_request_slot {
    _Atomic xfs_word request; /* 0: free */
    _Atomic uint64_t start_ns, end_ns;
    atomic_bool receives;
};
static struct xfs_request_slot slots[BUCKETS][PER_BUCKET] __attribute__((aligned(64)));
static atomic_uchar reach[BUCKETS];

static unsigned bucket_of(xfs_word request)
{
    return (unsigned)((uint64_t)request * UINT64_C(0x9e3779b97f4a7c15) >> 53);
}
_Static_assert(BUCKETS == 1 << 11, "eleven bits are taken");

static inline __attribute__((always_inline)) bool
put_in(struct xfs_request_slot *slot, xfs_word request, const struct xfs_request *what)
{
    xfs_word free = 0;
    if (atomic_load_explicit(&slot->request, memory_order_relaxed) != 0 ||
        !atomic_compare_exchange_strong(&slot->request, &free, BEING_WRITTEN))
        return false;
    atomic_store_explicit(&slot->start_ns, what->start_ns, memory_order_relaxed);
    atomic_store_explicit(&slot->end_ns, what->end_ns, memory_order_relaxed);
    atomic_store_explicit(&slot->receives, what->receives, memory_order_relaxed);
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

static inline void read_slot(struct xfs_request_slot *slot, struct xfs_request *what)
{
    what->start_ns = atomic_load_explicit(&slot->start_ns, memory_order_relaxed);
    what->end_ns = atomic_load_explicit(&slot->end_ns, memory_order_relaxed);
    what->receives = atomic_load_explicit(&slot->receives, memory_order_relaxed);
}

bool xfs_request_take(struct xfs_request_slot *slot, xfs_word request)
{
    return atomic_compare_exchange_strong(&slot->request, &request, 0);
}

static bool take_out(struct xfs_request_slot *slot, xfs_word request, struct xfs_request *what)
{
    read_slot(slot, what);
    return xfs_request_take(slot, request);
}

/* Where nothing of this place ever lay elsewhere, there are two to look at. */
static inline bool is_at_home(unsigned home)
{
    return atomic_load_explicit(&reach[home], memory_order_acquire) == 0;
}

struct xfs_request_slot *xfs_request_alone(xfs_word request, uint64_t before_ns,
                                           struct xfs_request *what)
{
    unsigned home = bucket_of(request);
    struct xfs_request_slot *first = slots[home], *second = first + 1;
    bool is_first = atomic_load_explicit(&first->request, memory_order_acquire) == request;
    bool is_second = atomic_load_explicit(&second->request, memory_order_acquire) == request;
    if (request <= BEING_WRITTEN || !is_at_home(home) || is_first == is_second)
        return NULL;
    struct xfs_request_slot *slot = is_first ? first : second;
    read_slot(slot, what);
    return what->end_ns <= before_ns ? slot : NULL;
}

/* Those with this handle that were begun by then: how many, and which of their calls returned
 * first and last. A call may wait in MPI for longer than another thread's request lasts, so the
 * order of their beginnings is not that in which they had the handle. */
struct same {
    unsigned count;
    struct xfs_request_slot *first, *last;
};

static struct same find_same(xfs_word request, uint64_t before_ns)
{
    unsigned home = bucket_of(request);
    unsigned most = atomic_load_explicit(&reach[home], memory_order_acquire);
    struct same same = {0};
    for (unsigned i = 0; i < (most + 1) * PER_BUCKET; i++) {
        struct xfs_request_slot *slot = &slots[(home + i / PER_BUCKET) % BUCKETS][i % PER_BUCKET];
        if (atomic_load_explicit(&slot->request, memory_order_acquire) != request)
            continue;
        uint64_t end_ns = atomic_load_explicit(&slot->end_ns, memory_order_relaxed);
        if (end_ns > before_ns)
            continue;
        same.count++;
        if (same.first == NULL || end_ns < atomic_load(&same.first->end_ns))
            same.first = slot;
        if (same.last == NULL || end_ns > atomic_load(&same.last->end_ns))
            same.last = slot;
    }
    return same;
}

/* Of a handle that one request has at a time, so many are not under way: how the first ended was
 * not seen, as where recording is limited to periods. */
#define SAME_MOST 4

static void forget_first(xfs_word request)
{
    struct same same = find_same(request, UINT64_MAX);
    struct xfs_request unseen;
    if (same.count >= SAME_MOST)
        take_out(same.first, request, &unseen);
}

bool xfs_request_begun_at_home(xfs_word request, struct xfs_request what)
{
    unsigned home = bucket_of(request);
    return is_at_home(home) && put_in(&slots[home][0], request, &what);
}

void xfs_request_begun(xfs_word request, bool shared, const struct xfs_request *what)
{
    unsigned home = bucket_of(request);
    if (!shared && !is_at_home(home))
        forget_first(request);
    for (unsigned i = 0; i <= REACH_MOST; i++)
        for (unsigned j = 0; j < PER_BUCKET; j++)
            if (put_in(&slots[(home + i) % BUCKETS][j], request, what)) {
                reaches(home, i);
                return;
            }
    xfs_lose(XFT_LOSS_EVENTS, 1);
}

/* The handle of a request that has just ended may be another thread's already: the call that began
 * that one returned after this one began. */
static bool end_own(xfs_word request, uint64_t before_ns, struct xfs_request *what)
{
    struct same same = find_same(request, before_ns);
    return same.last && take_out(same.last, request, what);
}

/* Any of them is right, since all are complete. One that was hidden while another thread removed
 * its own is found in the second round. */
static bool end_shared(xfs_word request, struct xfs_request *what)
{
    enum { ROUNDS = 2 };
    unsigned home = bucket_of(request);
    unsigned most = atomic_load_explicit(&reach[home], memory_order_acquire);
    for (unsigned i = 0; i < ROUNDS * (most + 1) * PER_BUCKET; i++) {
        unsigned at = i / PER_BUCKET % (most + 1);
        struct xfs_request_slot *slot = &slots[(home + at) % BUCKETS][i % PER_BUCKET];
        if (atomic_load_explicit(&slot->request, memory_order_acquire) == request &&
            take_out(slot, request, what))
            return true;
    }
    return false;
}

bool xfs_request_ends(xfs_word request, bool shared, uint64_t before_ns, struct xfs_request *what)
{
    struct xfs_request_slot *alone = shared ? NULL : xfs_request_alone(request, before_ns, what);
    if (alone)
        return xfs_request_take(alone, request);
    if (request <= BEING_WRITTEN)
        return false;
    return shared ? end_shared(request, what) : end_own(request, before_ns, what);
}

/* ---- persistent ones, and what probes found -------------------------------------------------- */

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

/* ---- those of a call ------------------------------------------------------------------------- */

/* Memory for calls with many requests; as many calls as it has rows may use it at once. */
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

bool xfs_requests_take_out(const struct xfs_message *m, int i, struct xfs_request *what)
{
    return xfs_request_ends(m->requests[i], xfs_mpi_is_shared(m->mpi, m->requests[i]),
                            m->event.start_ns, what);
}

static void set_status(const struct xfs_mpi *mpi, const char *status, struct xft_event *end)
{
    int cancelled = 0, source = xfs_mpi_source_of(mpi, status);
    if (mpi->cancelled(status, &cancelled) == 0 && cancelled) {
        end->flags |= XFT_FAILED;
        return;
    }
    int64_t bytes = xfs_mpi_bytes_arrived(mpi, status);
    if (source >= 0)
        end->src = (uint64_t)source + 1;
    if (bytes >= 0)
        end->width = (uint64_t)bytes;
}

void xfs_requests_end(struct xfs_message *m, int i, const char *status, unsigned flags)
{
    struct xfs_request what;
    if (i < 0 || i >= m->taken || !xfs_requests_take_out(m, i, &what))
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
