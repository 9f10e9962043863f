#include "preload/apply/staging/ring.h"

#include <pthread.h>
#include <sys/mman.h>

#include "preload/apply/state/driver.h"
#include "preload/apply/memory/memory.h"
#include "preload/apply/memory/near.h"
#include "preload/apply/state/state.h"
#include "preload/apply/team/team.h"

#define MOST_RINGS 16
#define MOST_SLOT ((size_t)4 << 20)
#define LEAST_SLOT ((size_t)1 << 20)
#define REGISTER_PORTABLE 1
#define GONE ((xcu_context)-1) /* in place of a context that ended unseen */
#define EVENT_WITHOUT_TIME 2

static struct xfs_ring rings[MOST_RINGS];
static atomic_uint ring_count; /* those of contexts that are gone stay */
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

static bool take(struct xfs_ring *ring)
{
    bool taken = false;
    return atomic_compare_exchange_strong(&ring->taken, &taken, true);
}

/* ---- making ---------------------------------------------------------------------------------- */

static size_t slot_bytes_now(void)
{
    uint64_t most = xfs_apply_memory(), used = xfs_locked_bytes();
    uint64_t left = most > used ? most - used : 0;
    uint64_t slot = left / XFS_JOB_SLOTS & ~((uint64_t)LEAST_SLOT - 1);
    return slot < MOST_SLOT ? (size_t)slot : MOST_SLOT;
}

static bool make_events(const struct xfs_apply_driver *driver, struct xfs_ring *ring)
{
    if (driver->event_create(&ring->before, EVENT_WITHOUT_TIME) != XCU_SUCCESS)
        return false;
    for (int i = 0; i < XFS_JOB_SLOTS; i++)
        if (driver->event_create(&ring->events[i], EVENT_WITHOUT_TIME) != XCU_SUCCESS)
            return false;
    return true;
}

static void destroy(const struct xfs_apply_driver *driver, struct xfs_ring *ring)
{
    size_t bytes = ring->slot_bytes * XFS_JOB_SLOTS;
    for (int i = 0; i < XFS_JOB_SLOTS; i++) {
        if (ring->events[i] && ring->pending[i])
            driver->event_wait(ring->events[i]);
        if (ring->events[i])
            driver->event_destroy(ring->events[i]);
        ring->events[i] = NULL;
        ring->pending[i] = false;
    }
    if (ring->before)
        driver->event_destroy(ring->before);
    ring->before = NULL;
    if (ring->memory && driver->unlock_pages(ring->memory) == XCU_SUCCESS)
        munmap(ring->memory, bytes); /* else the driver may still use it */
    if (ring->memory)
        xfs_locked_less(bytes);
    ring->memory = NULL;
}

/* In large pages where the kernel has some: making the pages is most of what a ring takes. A child
 * of a fork gets no copy of it. */
static char *map_slots(size_t bytes)
{
    char *map = xfs_map_aligned(bytes, MAP_PRIVATE);
    if (map == NULL)
        return NULL;
    madvise(map, bytes, MADV_HUGEPAGE);
    madvise(map, bytes, MADV_DONTFORK);
    return map;
}

static bool make_memory(const struct xfs_apply_driver *driver, struct xfs_ring *ring)
{
    size_t bytes = ring->slot_bytes * XFS_JOB_SLOTS;
    char *memory = bytes ? map_slots(bytes) : NULL;
    if (memory == NULL)
        return false;
    xfs_near_place(memory, bytes, ring->device);
    ring->asks = xfs_job_can_ask(memory);
    if (driver->lock_pages(memory, bytes, REGISTER_PORTABLE) != XCU_SUCCESS) {
        munmap(memory, bytes);
        return false;
    }
    ring->memory = memory;
    xfs_locked_more(bytes);
    return true;
}

static bool fill(const struct xfs_apply_driver *driver, struct xfs_ring *ring, xcu_context context)
{
    int mode = XCU_CAPTURE_MODE_RELAXED;
    ring->slot_bytes = slot_bytes_now();
    if (driver->device(&ring->device) != XCU_SUCCESS)
        return false;
    driver->exchange(&mode); /* another thread's capture is not disturbed */
    bool made = make_memory(driver, ring) && make_events(driver, ring);
    if (!made)
        destroy(driver, ring);
    driver->exchange(&mode);
    ring->context = context;
    ring->id = xfs_apply_context_id(context);
    return made;
}

/* In a place that was never used, or that a context has left. */
static struct xfs_ring *place_for(void)
{
    unsigned count = atomic_load(&ring_count);
    for (unsigned i = 0; i < count; i++)
        if (rings[i].context == NULL && take(&rings[i]))
            return &rings[i];
    if (count == MOST_RINGS || !xfs_team_add(&rings[count].job))
        return NULL;
    atomic_store(&rings[count].taken, true);
    atomic_store(&ring_count, count + 1);
    return &rings[count];
}

/* What was refused is asked for again after ever more copies. */
static unsigned refused, until_next;

/* Lock held. */
static struct xfs_ring *make(const struct xfs_apply_driver *driver, xcu_context context)
{
    struct xfs_ring *ring = until_next > 0 ? NULL : place_for();
    if (until_next > 0)
        until_next--;
    if (ring && !fill(driver, ring, context)) {
        ring->context = NULL;
        xfs_ring_give_back(ring);
        ring = NULL;
        until_next = 16u << (refused < 16 ? refused++ : refused);
    }
    return ring;
}

/* Another context by that handle: the one before ended unseen, with the ring's events and what it
 * knew of the memory. */
static bool revive(const struct xfs_apply_driver *driver, struct xfs_ring *ring)
{
    int mode = XCU_CAPTURE_MODE_RELAXED;
    for (int i = 0; i < XFS_JOB_SLOTS; i++)
        ring->pending[i] = false;
    driver->exchange(&mode);
    xcu_result r =
        driver->lock_pages(ring->memory, ring->slot_bytes * XFS_JOB_SLOTS, REGISTER_PORTABLE);
    bool locked = r == XCU_SUCCESS || r == XCU_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    bool revived = locked && make_events(driver, ring);
    driver->exchange(&mode);
    if (revived)
        ring->id = xfs_apply_context_id(ring->context);
    else
        ring->context = GONE;
    return revived;
}

/* ---- one operation --------------------------------------------------------------------------- */

struct xfs_ring *xfs_ring_take(xcu_context context, bool may_make, bool *missing)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    unsigned count = atomic_load(&ring_count);
    *missing = false;
    for (unsigned i = 0; i < count; i++) {
        struct xfs_ring *ring = &rings[i];
        if (ring->context != context)
            continue;
        if (!take(ring))
            return NULL;
        if (ring->context == context && ring->id == xfs_apply_context_id(context))
            return ring;
        if (ring->context == context && revive(driver, ring))
            return ring;
        xfs_ring_give_back(ring);
    }
    *missing = true;
    if (!may_make)
        return NULL;
    if (pthread_mutex_trylock(&making) != 0) {
        *missing = false; /* another thread makes one */
        return NULL;
    }
    struct xfs_ring *ring = make(driver, context);
    pthread_mutex_unlock(&making);
    return ring;
}

void xfs_ring_give_back(struct xfs_ring *ring)
{
    atomic_store(&ring->taken, false);
}

/* ---- the end of contexts --------------------------------------------------------------------- */

static void leave(const struct xfs_apply_driver *driver, struct xfs_ring *ring)
{
    xcu_context popped;
    if (!take(ring)) /* a copy that is under way while its context ends */
        return;
    if (ring->id == xfs_apply_context_id(ring->context) &&
        driver->push(ring->context) == XCU_SUCCESS) {
        destroy(driver, ring);
        driver->pop(&popped);
        ring->context = NULL;
    }
    xfs_ring_give_back(ring);
}

void xfs_rings_leave(xcu_context context)
{
    unsigned count = atomic_load(&ring_count);
    for (unsigned i = 0; context && i < count; i++)
        if (rings[i].context == context)
            leave(xfs_apply_driver(), &rings[i]);
}

void xfs_rings_after_fork(void)
{
    for (unsigned i = 0; i < MOST_RINGS; i++)
        rings[i] = (struct xfs_ring){.context = NULL};
    atomic_store(&ring_count, 0);
    refused = until_next = 0;
    pthread_mutex_init(&making, NULL);
}
