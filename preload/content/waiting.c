#include "preload/content/parts.h"
#include "preload/content/access.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "preload/base/check.h"
#include "preload/base/attributes.h"
#include "preload/base/guard.h"
#include "preload/base/own_stack.h"
#include "preload/record/record.h"

/* One copy to the host in flight. */
struct waiting {
    struct xft_event event;
    struct xfs_rows rows;
    uint64_t start, end; /* of the memory it writes */
    const void *thread;  /* that submitted it, for the per-thread default stream */
};

static struct waiting *list; /* in the order of submission */
static atomic_uint count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static XFS_TLS bool holding; /* a signal handler must not wait for its own thread */
static XFS_TLS char this_thread;

static bool enter(void)
{
    if (holding || list == NULL)
        return false;
    holding = true;
    pthread_mutex_lock(&lock);
    return true;
}

static void leave(void)
{
    pthread_mutex_unlock(&lock);
    holding = false;
}

bool xfs_waiting_start(void)
{
    if (list)
        return true;
    void *room = mmap(NULL, XFS_WAITING_MOST * sizeof *list, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    list = room == MAP_FAILED ? NULL : room;
    return list != NULL;
}

static void remove_at(unsigned i)
{
    if (!XFS_EXPECT(i < count, "a transfer is taken off a list that it is not on"))
        return;
    count--;
    memmove(list + i, list + i + 1, (count - i) * sizeof *list);
}

void xfs_waiting_add(const struct xft_event *event, const struct xfs_rows *rows)
{
    if (!enter())
        return;
    if (count < XFS_WAITING_MOST)
        list[count++] =
            (struct waiting){*event, *rows, rows->address, xfs_rows_end(rows), &this_thread};
    else
        xfs_content_skip(XFS_SKIP_FULL, 1);
    leave();
}

/* Gives up the copies for which `is` is true, and counts them. */
typedef bool is_fn(const struct waiting *copy, const uint64_t *what);

static unsigned drop(is_fn *is, const uint64_t *what)
{
    unsigned dropped = 0;
    if (atomic_load_explicit(&count, memory_order_relaxed) == 0 || !enter())
        return 0;
    for (unsigned i = 0; i < count;) {
        if (is(&list[i], what)) {
            remove_at(i);
            dropped++;
        } else {
            i++;
        }
    }
    leave();
    xfs_content_skip(XFS_SKIP_UNSETTLED, dropped);
    return dropped;
}

static bool lies_in(const struct waiting *copy, const uint64_t *range)
{
    return copy->start < range[1] && range[0] < copy->end;
}

bool xfs_waiting_drop(uint64_t start, uint64_t end)
{
    return drop(lies_in, (uint64_t[]){start, end}) > 0;
}

void xfs_waiting_drop_all(void)
{
    xfs_waiting_drop(0, UINT64_MAX);
}

/* ---- waits ----------------------------------------------------------------------------------- */

/* What a wait covers: copies submitted before `since` to a stream or, with `all`, to a device. */
struct wait {
    uint64_t stream;
    bool all;
    bool only_thread; /* those that `thread` has submitted */
    const void *thread;
    int device;
    uint64_t since;
};

/* A stream's handle; of the default stream, CUDA's special one: 1 legacy, 2 per thread. */
static uint64_t name_of(uint64_t stream, bool per_thread)
{
    return stream ? stream : per_thread ? 2 : 1;
}

static bool covers(const struct wait *wait, const struct waiting *copy)
{
    const struct xft_event *event = &copy->event;
    uint64_t stream = name_of(event->flags & XFT_STREAM_KNOWN ? event->stream : 0,
                              (event->flags & XFT_PER_THREAD) != 0);
    if (event->end_ns > wait->since)
        return false;
    bool same_device = event->device >= 0 && event->device == wait->device;
    if (wait->all)
        return same_device;
    if (stream != wait->stream)
        return false;
    if ((stream == 2 || wait->only_thread) && copy->thread != wait->thread)
        return false;
    return stream > 2 || same_device;
}

void xfs_content_arrived(const struct xft_event *event, const struct xfs_rows *dst)
{
    xfs_content_hash(event, dst, event->dst_mem == XFT_MEM_WRITE_COMBINED);
    if (xfs_access_on()) /* the hash has read it, too */
        xfs_access_arrived(event, dst);
}

/* Takes one copy at a time, so that the lock is not held while it is hashed. */
static bool take(const struct wait *wait, struct waiting *taken)
{
    bool found = false;
    if (!enter())
        return false;
    for (unsigned i = 0; i < count && !found; i++) {
        if (!covers(wait, &list[i]))
            continue;
        *taken = list[i];
        remove_at(i);
        found = true;
    }
    leave();
    return found;
}

static void hash_waited_for(void *wait)
{
    struct waiting copy;
    while (take(wait, &copy))
        xfs_content_arrived(&copy.event, &copy.rows);
}

/* Hashes the copies that this wait was for. */
static void hash_after(struct wait *wait)
{
    if (atomic_load_explicit(&count, memory_order_relaxed) == 0)
        return;
    struct xfs_guard guard = xfs_guard_enter();
    xfs_on_own_stack(hash_waited_for, wait); /* on failure they stay; a later wait gives them up */
    xfs_guard_leave(guard);
}

void xfs_content_stream_done(uint64_t stream, bool per_thread, int device, uint64_t since)
{
    hash_after(&(struct wait){.stream = name_of(stream, per_thread),
                              .thread = &this_thread,
                              .device = device,
                              .since = since});
}

void xfs_content_device_done(int device, uint64_t since)
{
    hash_after(&(struct wait){.all = true, .device = device, .since = since});
}

/* ---- events ---------------------------------------------------------------------------------- */

/* What each event covers; events with the same slot replace each other. */
#define EVENTS 256
static struct recorded {
    uint64_t event;
    struct wait wait;
} recorded[EVENTS];

static struct recorded *slot_of(uint64_t event)
{
    return &recorded[event * 0x9e3779b97f4a7c15u >> 56];
}
_Static_assert(EVENTS == 256, "slot_of() takes eight bits");

void xfs_content_event_recorded(uint64_t event, uint64_t stream, bool per_thread, int device)
{
    int saved = errno;
    if (!enter())
        return;
    *slot_of(event) = (struct recorded){event,
                                        {.stream = name_of(stream, per_thread),
                                         .only_thread = true,
                                         .thread = &this_thread,
                                         .device = device,
                                         .since = xfs_now_ns()}};
    leave();
    errno = saved;
}

void xfs_content_event_gone(uint64_t event)
{
    int saved = errno;
    if (!enter())
        return;
    if (slot_of(event)->event == event)
        *slot_of(event) = (struct recorded){0};
    leave();
    errno = saved;
}

static bool is_in_stream(const struct waiting *copy, const uint64_t *stream)
{
    return *stream > 2 && copy->event.stream == *stream;
}

void xfs_content_stream_gone(uint64_t stream)
{
    int saved = errno;
    drop(is_in_stream, &stream);
    errno = saved;
}

static bool ended_before(const struct waiting *copy, const uint64_t *since)
{
    return copy->event.end_ns <= *since;
}

void xfs_content_event_done(uint64_t event, uint64_t since)
{
    struct wait wait;
    if (atomic_load_explicit(&count, memory_order_relaxed) == 0 || !enter())
        return;
    bool known = slot_of(event)->event == event;
    if (known)
        wait = slot_of(event)->wait;
    leave();
    if (known)
        hash_after(&wait);
    else /* any of the copies may have been used, and changed, after it */
        drop(ended_before, &since);
}

void xfs_content_forget(uint64_t start, uint64_t end)
{
    int saved = errno;
    xfs_waiting_drop(start, end > start ? end : start + 1);
    errno = saved;
}

void xfs_waiting_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    holding = false;
    count = 0;
    memset(recorded, 0, sizeof recorded);
}
