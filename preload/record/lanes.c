#include "preload/record/lanes.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/base/apart.h"
#include "preload/base/check.h"
#include "preload/base/own_stack.h"
#include "preload/base/pause.h"
#include "preload/record/recorder.h"
#include "preload/base/sandbox.h"
#include "preload/format/segments.h"

#define FIRST_SLABS 4
#define MOST_SLABS_AT_ONCE 128
#define LANES_AT_ONCE 64
#define STACKS_READY 8
#define SUPPLY 4                  /* kept ready: times what was taken since the last round */
#define RETRY_EVERY 1024          /* refused events, when the disk is full */
#define GROW_AGAIN_NS 1000000000u /* after the file could not grow */
#define CALLS_ROUNDS 1000         /* of xfs_pause(): a thread may never return from its call */
#define WRITERS_ROUNDS 5000
#define WRITERS_ROUND_NS 100000

static void *map_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void set_state(struct xft_slab *slab, enum xft_slab_state state)
{
    __atomic_store_n(&slab->state, (uint32_t)state, __ATOMIC_RELEASE);
}

static bool has_writer(const struct xfs_recorder *recorder)
{
    return atomic_load_explicit(&recorder->writer_runs, memory_order_acquire);
}

/* ---- slabs ------------------------------------------------------------------------------ */

/* Lock held. */
static bool grow(struct xfs_recorder *recorder, size_t count)
{
    struct xfs_lanes *lanes = &recorder->lanes;
    const size_t most = sizeof lanes->all / sizeof *lanes->all;
    struct xfs_slab *slabs = lanes->segments < most ? map_memory(count * sizeof *slabs) : NULL;
    if (slabs == NULL)
        return false;
    unsigned char *shared = (unsigned char *)xfs_file_append_lanes(&recorder->file, count);
    if (shared == NULL) {
        munmap(slabs, count * sizeof *slabs); /* which keeps errno */
        return false;
    }
    madvise(shared, count * XFT_SLAB_BYTES, MADV_DONTFORK);
    for (size_t i = 0; i < count; i++) {
        slabs[i].shared = (struct xft_slab *)(shared + i * XFT_SLAB_BYTES);
        slabs[i].shared->magic = XFT_SLAB_MAGIC;
    }
    lanes->all[lanes->segments] = slabs;
    lanes->all_count[lanes->segments++] = count;
    lanes->mapped_bytes += count * XFT_SLAB_BYTES;
    for (size_t i = 0; i < count; i++)
        xfs_pool_put(&lanes->free, &slabs[i].node);
    return true;
}

/* Lock held. `count` slabs more, and at least as many as there are, within the buffer size;
 * `forced` takes some beyond it, for lanes that have none. */
static bool grow_by_policy(struct xfs_recorder *recorder, uint64_t count, bool forced)
{
    struct xfs_lanes *lanes = &recorder->lanes;
    uint64_t mapped = lanes->mapped_bytes / XFT_SLAB_BYTES;
    uint64_t most = lanes->most_bytes / XFT_SLAB_BYTES;
    if (count < FIRST_SLABS)
        count = FIRST_SLABS;
    if (count < mapped / 2)
        count = mapped / 2;
    if (count > MOST_SLABS_AT_ONCE)
        count = MOST_SLABS_AT_ONCE;
    if (count > (most > mapped ? most - mapped : 0))
        count = most > mapped ? most - mapped : 0;
    if (count == 0 && forced)
        count = mapped / 8 + 1;
    if (count == 0)
        return false;
    if (xfs_monotonic_ns() < lanes->grow_again_ns) {
        errno = lanes->grow_error; /* as it was the last time */
        return false;
    }
    bool grew = grow(recorder, count);
    lanes->grow_error = grew ? 0 : errno;
    lanes->grow_again_ns = grew ? 0 : xfs_monotonic_ns() + GROW_AGAIN_NS;
    return grew;
}

static struct xfs_slab *pop_free(struct xfs_lanes *lanes)
{
    struct xfs_slab *slab = (struct xfs_slab *)xfs_pool_take(&lanes->free);
    if (slab)
        atomic_fetch_add_explicit(&lanes->taken, 1, memory_order_relaxed);
    return slab;
}

static void push_full(struct xfs_lanes *lanes, struct xfs_slab *slab)
{
    set_state(slab->shared, XFT_SLAB_FULL);
    xfs_pool_put(&lanes->full, &slab->node);
}

static bool is_left(const struct xfs_slab *slab)
{
    return __atomic_load_n(&slab->left, __ATOMIC_RELAXED);
}

/* Under the lock the events move from the slab to EVENTS at one moment for the thread that
 * completes the file. */
static bool write_out(struct xfs_recorder *recorder, struct xft_slab *slab)
{
    pthread_mutex_lock(&recorder->pack_lock);
    bool good = xfs_write_slab(recorder, slab);
    if (good)
        set_state(slab, XFT_SLAB_FREE);
    pthread_mutex_unlock(&recorder->pack_lock);
    return good;
}

static void release(struct xfs_lanes *lanes, struct xfs_slab *slab)
{
    set_state(slab->shared, XFT_SLAB_FREE);
    if (!is_left(slab))
        xfs_pool_put(&lanes->free, &slab->node);
}

bool xfs_lanes_write_full(struct xfs_recorder *recorder, bool *wrote)
{
    struct xfs_lanes *lanes = &recorder->lanes;
    struct xfs_pool_node *node, *oldest = NULL;
    bool good = true;
    while ((node = xfs_pool_take(&lanes->full)) != NULL) { /* the latest comes first */
        atomic_store_explicit(&node->next, oldest, memory_order_relaxed);
        oldest = node;
    }
    *wrote = oldest != NULL;
    while ((node = oldest) != NULL) {
        oldest = atomic_load_explicit(&node->next, memory_order_relaxed);
        struct xfs_slab *slab = (struct xfs_slab *)node;
        good = good && write_out(recorder, slab->shared);
        if (good)
            release(lanes, slab);
        else /* its events stay readable where they are */
            xfs_pool_put(&lanes->full, node);
    }
    return good;
}

uint64_t xfs_lanes_count(struct xfs_lanes *lanes)
{
    uint64_t events = 0;
    pthread_mutex_lock(&lanes->lock);
    for (size_t i = 0; i < lanes->segments; i++) {
        for (size_t j = 0; j < lanes->all_count[i]; j++) {
            const struct xft_slab *slab = lanes->all[i][j].shared;
            if (__atomic_load_n(&slab->state, __ATOMIC_ACQUIRE) != XFT_SLAB_FREE)
                events += __atomic_load_n(&slab->committed, __ATOMIC_ACQUIRE);
        }
    }
    pthread_mutex_unlock(&lanes->lock);
    return events;
}

bool xfs_lanes_are_torn(struct xfs_lanes *lanes)
{
    bool torn = false;
    pthread_mutex_lock(&lanes->lock);
    for (size_t i = 0; i < lanes->segments; i++) {
        const struct xfs_slab *last = &lanes->all[i][lanes->all_count[i] - 1];
        torn |= !is_left(last) &&
                __atomic_load_n(&last->shared->magic, __ATOMIC_RELAXED) != XFT_SLAB_MAGIC;
    }
    pthread_mutex_unlock(&lanes->lock);
    return torn;
}

/* A thread that has taken another slab meanwhile only exchanges that one early. */
void xfs_lanes_leave(struct xfs_lanes *lanes)
{
    pthread_mutex_lock(&lanes->lock);
    while (xfs_pool_take(&lanes->free))
        ;
    for (size_t i = 0; i < lanes->segments; i++) {
        for (size_t j = 0; j < lanes->all_count[i]; j++) {
            struct xfs_slab *slab = &lanes->all[i][j];
            struct xfs_lane *lane = __atomic_load_n(&slab->lane, __ATOMIC_ACQUIRE);
            __atomic_store_n(&slab->left, true, __ATOMIC_RELAXED);
            if (lane && __atomic_load_n(&lane->slab, __ATOMIC_RELAXED) == slab)
                __atomic_store_n(&lane->room, 0, __ATOMIC_RELAXED);
        }
    }
    lanes->mapped_bytes = 0;
    pthread_mutex_unlock(&lanes->lock);
}

void xfs_lanes_write_all(struct xfs_recorder *recorder)
{
    struct xfs_lanes *lanes = &recorder->lanes;
    for (size_t i = 0; i < lanes->segments; i++) {
        for (size_t j = 0; j < lanes->all_count[i]; j++) {
            const struct xft_slab *slab = lanes->all[i][j].shared;
            pthread_mutex_lock(&recorder->pack_lock);
            if (xft_slab_worth(slab) == XFT_SLAB_SOUND)
                xfs_write_slab(recorder, slab);
            pthread_mutex_unlock(&recorder->pack_lock);
        }
    }
}

static bool is_calling(const struct xfs_lane *lane)
{
    return __atomic_load_n(&lane->calling, __ATOMIC_ACQUIRE);
}

static bool is_writing(const struct xfs_lane *lane)
{
    return __atomic_load_n(&lane->writing, __ATOMIC_ACQUIRE);
}

static bool is_any(struct xfs_lanes *lanes, const struct xfs_lane *own,
                   bool (*is)(const struct xfs_lane *))
{
    bool found = false;
    pthread_mutex_lock(&lanes->lock);
    for (size_t i = 0; i < lanes->segments; i++) {
        for (size_t j = 0; j < lanes->all_count[i]; j++) {
            const struct xfs_lane *lane = __atomic_load_n(&lanes->all[i][j].lane, __ATOMIC_ACQUIRE);
            found |= lane && lane != own && is(lane);
        }
    }
    pthread_mutex_unlock(&lanes->lock);
    return found;
}

bool xfs_lanes_are_calling(struct xfs_lanes *lanes)
{
    return is_any(lanes, NULL, is_calling);
}

/* Pauses first, so that what threads have stored is visible. */
bool xfs_lanes_await_calls(struct xfs_recorder *recorder, int *rounds)
{
    xfs_pause();
    return ++*rounds < CALLS_ROUNDS && is_any(&recorder->lanes, recorder->last_lane, is_calling);
}

/* After the barrier each thread has either seen the end, or its claim is visible here. */
void xfs_lanes_await_writers(struct xfs_lanes *lanes, const struct xfs_lane *own)
{
    if (lanes->lane_count > 1)
        (void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
    for (int i = 0; i < WRITERS_ROUNDS && is_any(lanes, own, is_writing); i++)
        nanosleep(&(struct timespec){0, WRITERS_ROUND_NS}, NULL);
}

bool xfs_lanes_init(struct xfs_recorder *recorder)
{
    struct xfs_lanes *lanes = &recorder->lanes;
    pthread_mutex_init(&lanes->lock, NULL);
    uint64_t size = recorder->settings->most_bytes; /* slabs are a part of it */
    lanes->most_bytes = recorder->settings->buffer_bytes;
    if (size > 0 && lanes->most_bytes > size / 4)
        lanes->most_bytes = size / 4;
    return grow_by_policy(recorder, FIRST_SLABS, true);
}

/* ---- lanes ------------------------------------------------------------------------------ */

/* Gives a free slab to the lane. Its rows count from here on. */
static void activate(struct xfs_lane *lane, struct xfs_slab *slab)
{
    struct xft_slab *shared = slab->shared;
    __atomic_store_n(&shared->magic, XFT_SLAB_MAGIC, __ATOMIC_RELAXED); /* a cut takes it */
    shared->lane = lane->id;
    shared->tid = lane->tid;
    shared->first_seq = lane->next_seq;
    shared->committed = 0;
    set_state(shared, XFT_SLAB_ACTIVE);
    __atomic_store_n(&slab->lane, lane, __ATOMIC_RELEASE);
    lane->slab = slab;
    lane->rows = xft_slab_events(shared);
    lane->committed = &shared->committed;
    lane->next = 0;
    lane->room = XFT_SLAB_EVENTS;
    lane->refused = 0;
}

static void give_up_slab(struct xfs_lane *lane)
{
    XFS_EXPECT(lane->next <= XFT_SLAB_EVENTS, "a thread wrote more events than its slab holds");
    lane->next_seq += lane->next;
    lane->slab = NULL;
    lane->next = lane->room = 0;
}

static bool make_lanes(struct xfs_lanes *lanes)
{
    struct xfs_lane *fresh = map_memory(LANES_AT_ONCE * sizeof *fresh);
    for (size_t i = 0; fresh && i < LANES_AT_ONCE; i++)
        xfs_pool_put(&lanes->idle, &fresh[i].node);
    return fresh != NULL;
}

/* libc's copy of it, without a system call: an error-checking mutex stores its owner. */
static pid_t own_tid(void)
{
    pthread_mutex_t lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    pthread_mutex_lock(&lock);
    pid_t tid = __atomic_load_n(&lock.__data.__owner, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
    return tid;
}

static struct xfs_lane *take_lane(struct xfs_recorder *recorder)
{
    struct xfs_lanes *lanes = &recorder->lanes;
    struct xfs_pool_node *node = xfs_pool_take(&lanes->idle);
    uint64_t since = 0;
    if (node == NULL && (xfs_may_call_kernel() || !has_writer(recorder)) && make_lanes(lanes))
        node = xfs_pool_take(&lanes->idle);
    while (node == NULL && has_writer(recorder) && xfs_writer_wait(recorder, &since))
        node = xfs_pool_take(&lanes->idle);
    return node ? (struct xfs_lane *)((char *)node - offsetof(struct xfs_lane, node)) : NULL;
}

struct xfs_lane *xfs_lane_open(struct xfs_recorder *recorder)
{
    struct xfs_lane *lane = take_lane(recorder);
    if (lane == NULL)
        return NULL;
    uint32_t until_timed = lane->until_timed;
    memset(lane, 0, offsetof(struct xfs_lane, node)); /* other threads may be reading the node */
    lane->until_timed = xfs_cost_count(until_timed);
    xfs_remembered_forget(&lane->remembered);
    lane->recorder = recorder;
    lane->id = 1 + atomic_fetch_add_explicit(&recorder->lanes.lane_count, 1, memory_order_relaxed);
    lane->tid = has_writer(recorder) ? own_tid() : gettid();
    lane->stacks = recorder->settings->stacks;
    xfs_apart_add(lane->tid);
    return lane;
}

void xfs_lane_close(struct xfs_lane *lane)
{
    struct xfs_lanes *lanes = &lane->recorder->lanes;
    xfs_apart_remove(lane->tid);
    if (lane->slab && lane->next > 0)
        push_full(lanes, lane->slab);
    else if (lane->slab)
        release(lanes, lane->slab);
    lane->slab = NULL;
    lane->room = 0;
    __atomic_store_n(&lane->calling, false, __ATOMIC_RELEASE); /* cancelled in one */
    xfs_pool_put(&lanes->idle, &lane->node);
}

/* The background thread frees slabs; the lane's own full one is already among those. */
static struct xfs_slab *wait_for_slab(struct xfs_recorder *recorder)
{
    struct xfs_lanes *lanes = &recorder->lanes;
    struct xfs_slab *slab = NULL;
    uint64_t since = 0;
    atomic_fetch_add(&lanes->waiting, 1);
    xfs_writer_wake(recorder);
    while (slab == NULL && xfs_writer_wait(recorder, &since))
        slab = pop_free(lanes);
    atomic_fetch_sub(&lanes->waiting, 1);
    return slab;
}

static bool exchange(struct xfs_lane *lane)
{
    struct xfs_recorder *recorder = lane->recorder;
    struct xfs_lanes *lanes = &recorder->lanes;
    struct xfs_slab *slab = pop_free(lanes);
    if (lane->slab && (slab || !atomic_load(&lanes->stuck))) {
        struct xfs_slab *full = lane->slab;
        give_up_slab(lane);
        push_full(lanes, full);
    }
    if (slab == NULL)
        slab = wait_for_slab(recorder);
    if (slab)
        activate(lane, slab);
    return slab != NULL;
}

/* ---- where there is no background thread ------------------------------------------------ */

struct writing {
    struct xfs_lane *lane;
    bool good;
};

static void refill_alone(void *arguments)
{
    struct writing *own = arguments;
    struct xfs_lane *lane = own->lane;
    struct xfs_recorder *recorder = lane->recorder;
    struct xfs_lanes *lanes = &recorder->lanes;
    struct xfs_slab *slab = pop_free(lanes);
    bool wrote;
    pthread_mutex_lock(&lanes->lock);
    if (slab ==
        NULL) /* another thread may have grown the pool while this one waited for the lock */
        slab = pop_free(lanes);
    if (slab == NULL && grow_by_policy(recorder, FIRST_SLABS, lane->slab == NULL))
        slab = pop_free(lanes);
    pthread_mutex_unlock(&lanes->lock);
    if (lane->slab) {
        struct xfs_slab *full = lane->slab;
        give_up_slab(lane);
        push_full(lanes, full);
    }
    if (slab == NULL && xfs_lanes_write_full(recorder, &wrote))
        slab = pop_free(lanes);
    if (slab)
        activate(lane, slab);
    own->good = slab != NULL;
}

bool xfs_lane_refill(struct xfs_lane *lane)
{
    struct writing own = {lane, false};
    if (lane->refused++ % RETRY_EVERY != 0)
        return false;
    if (has_writer(lane->recorder))
        return exchange(lane);
    xfs_on_own_stack(refill_alone, &own);
    return own.good;
}

/* ---- supply ----------------------------------------------------------------------------- */

/* Page faults at the first write would take the program's time. The lock is not held meanwhile:
 * threads that find no slab would wait for all these pages. */
static void touch(const struct xfs_lanes *lanes, size_t segment)
{
    for (size_t i = 0; i < lanes->all_count[segment]; i++) /* fails on older kernels */
        madvise(lanes->all[segment][i].shared, XFT_SLAB_BYTES, MADV_POPULATE_WRITE);
}

bool xfs_lanes_supply(struct xfs_recorder *recorder)
{
    struct xfs_lanes *lanes = &recorder->lanes;
    unsigned taken = atomic_load(&lanes->taken), lately = taken - lanes->taken_before;
    unsigned waiting = atomic_load(&lanes->waiting);
    int ready = atomic_load(&lanes->free.count);
    uint64_t wanted = (uint64_t)lately * SUPPLY + waiting;
    bool good = true;
    int error = 0;
    lanes->taken_before = taken;
    if (wanted < FIRST_SLABS)
        wanted = FIRST_SLABS;
    if (ready < 0 || (uint64_t)ready < wanted) {
        pthread_mutex_lock(&lanes->lock);
        bool forced = waiting > 0 && ready <= 0 && atomic_load(&lanes->full.count) <= 0;
        bool grew = grow_by_policy(recorder, wanted, forced);
        good = grew || !forced;
        error = errno;
        size_t fresh = lanes->segments - 1;
        pthread_mutex_unlock(&lanes->lock);
        if (grew)
            touch(lanes, fresh);
    }
    if (atomic_load(&lanes->idle.count) < LANES_AT_ONCE / 2)
        make_lanes(lanes);
    xfs_own_stacks_prepare(STACKS_READY);
    if (!good)
        errno = error;
    return good;
}
