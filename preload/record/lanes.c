#define _GNU_SOURCE
#include "lanes.h"

#include <linux/membarrier.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "own_stack.h"
#include "recorder.h"
#include "segments.h"

#define FIRST_SLABS 4
#define MOST_SLABS_AT_ONCE 128
#define LANES_AT_ONCE 32
#define RETRY_EVERY 1024 /* refused events, when the disk is full */
#define SETTLE_ROUNDS 5000
#define SETTLE_ROUND_NS 100000

static void *map_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void set_state(struct xft_slab *slab, enum xft_slab_state state)
{
    __atomic_store_n(&slab->state, (uint32_t)state, __ATOMIC_RELEASE);
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
        munmap(slabs, count * sizeof *slabs);
        return false;
    }
    madvise(shared, count * XFT_SLAB_BYTES, MADV_DONTFORK);
    for (size_t i = 0; i < count; i++) {
        slabs[i].shared = (struct xft_slab *)(shared + i * XFT_SLAB_BYTES);
        slabs[i].shared->magic = XFT_SLAB_MAGIC;
        slabs[i].next = lanes->free;
        lanes->free = &slabs[i];
    }
    lanes->all[lanes->segments] = slabs;
    lanes->all_count[lanes->segments++] = count;
    lanes->mapped_bytes += count * XFT_SLAB_BYTES;
    return true;
}

/* Lock held. Doubles what there is, within the buffer size; `forced` takes one slab beyond it, for
 * a lane that has none. */
static bool grow_by_policy(struct xfs_recorder *recorder, bool forced)
{
    struct xfs_lanes *lanes = &recorder->lanes;
    uint64_t mapped = lanes->mapped_bytes / XFT_SLAB_BYTES;
    uint64_t most = lanes->most_bytes / XFT_SLAB_BYTES;
    uint64_t count = mapped < FIRST_SLABS ? FIRST_SLABS : mapped;
    if (count > MOST_SLABS_AT_ONCE)
        count = MOST_SLABS_AT_ONCE;
    if (count > (most > mapped ? most - mapped : 0))
        count = most > mapped ? most - mapped : 0;
    if (count == 0 && forced)
        count = mapped / 8 + 1;
    return count > 0 && grow(recorder, count);
}

static struct xfs_slab *pop_free(struct xfs_lanes *lanes)
{
    struct xfs_slab *slab = lanes->free;
    if (slab)
        lanes->free = slab->next;
    return slab;
}

static void push_full(struct xfs_recorder *recorder, struct xfs_slab *slab)
{
    struct xfs_lanes *lanes = &recorder->lanes;
    set_state(slab->shared, XFT_SLAB_FULL);
    slab->next = NULL;
    *lanes->full_end = slab;
    lanes->full_end = &slab->next;
    pthread_cond_signal(&recorder->work);
}

struct xfs_slab *xfs_lanes_pop_full(struct xfs_lanes *lanes)
{
    struct xfs_slab *slab = lanes->full;
    if (slab == NULL)
        return NULL;
    lanes->full = slab->next;
    if (lanes->full == NULL)
        lanes->full_end = &lanes->full;
    return slab;
}

void xfs_lanes_unpop_full(struct xfs_lanes *lanes, struct xfs_slab *slab)
{
    slab->next = lanes->full;
    if (lanes->full == NULL)
        lanes->full_end = &slab->next;
    lanes->full = slab;
}

void xfs_lanes_release(struct xfs_lanes *lanes, struct xfs_slab *slab)
{
    set_state(slab->shared, XFT_SLAB_FREE);
    slab->next = lanes->free;
    lanes->free = slab;
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

static bool is_any_writing(struct xfs_lanes *lanes, const struct xfs_lane *own)
{
    bool found = false;
    pthread_mutex_lock(&lanes->lock);
    for (size_t i = 0; i < lanes->segments; i++) {
        for (size_t j = 0; j < lanes->all_count[i]; j++) {
            const struct xfs_lane *lane = __atomic_load_n(&lanes->all[i][j].lane, __ATOMIC_ACQUIRE);
            if (lane && lane != own && __atomic_load_n(&lane->writing, __ATOMIC_ACQUIRE))
                found = true;
        }
    }
    pthread_mutex_unlock(&lanes->lock);
    return found;
}

/* The barrier: after it a thread has seen the end, or we see its claim. */
void xfs_lanes_settle(struct xfs_lanes *lanes, const struct xfs_lane *own)
{
    if (lanes->lane_count > 1)
        (void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
    for (int i = 0; i < SETTLE_ROUNDS && is_any_writing(lanes, own); i++)
        nanosleep(&(struct timespec){0, SETTLE_ROUND_NS}, NULL);
}

bool xfs_lanes_init(struct xfs_recorder *recorder)
{
    struct xfs_lanes *lanes = &recorder->lanes;
    pthread_mutex_init(&lanes->lock, NULL);
    lanes->full_end = &lanes->full;
    lanes->most_bytes = recorder->settings->buffer_bytes;
    return grow_by_policy(recorder, true);
}

/* ---- lanes ------------------------------------------------------------------------------ */

/* A slab of no lane becomes the lane's. Its rows count from here on. */
static void activate(struct xfs_lane *lane, struct xfs_slab *slab)
{
    struct xft_slab *shared = slab->shared;
    lane->next_seq += lane->next;
    shared->lane = lane->id;
    shared->tid = lane->tid;
    shared->first_seq = lane->next_seq;
    shared->committed = 0;
    set_state(shared, XFT_SLAB_ACTIVE);
    /* One system call now instead of a page fault every 42 events; older kernels say no. */
    madvise(shared, XFT_SLAB_BYTES, MADV_POPULATE_WRITE);
    __atomic_store_n(&slab->lane, lane, __ATOMIC_RELEASE);
    lane->slab = slab;
    lane->rows = xft_slab_events(shared);
    lane->committed = &shared->committed;
    lane->next = 0;
    lane->room = XFT_SLAB_EVENTS;
    lane->refused = 0;
}

struct xfs_lane *xfs_lane_open(struct xfs_recorder *recorder)
{
    struct xfs_lanes *lanes = &recorder->lanes;
    pthread_mutex_lock(&lanes->lock);
    struct xfs_lane *lane = lanes->idle;
    if (lane) {
        lanes->idle = lane->next_idle;
    } else {
        if (lanes->fresh_count == 0) {
            lanes->fresh = map_memory(LANES_AT_ONCE * sizeof *lane);
            lanes->fresh_count = lanes->fresh ? LANES_AT_ONCE : 0;
        }
        lane = lanes->fresh_count ? lanes->fresh++ : NULL;
        lanes->fresh_count -= lane != NULL;
    }
    uint32_t id = lane ? ++lanes->lane_count : 0;
    pthread_mutex_unlock(&lanes->lock);
    if (lane)
        *lane = (struct xfs_lane){
            .recorder = recorder, .id = id, .tid = gettid(), .stacks = recorder->settings->stacks};
    return lane;
}

void xfs_lane_close(struct xfs_lane *lane)
{
    struct xfs_lanes *lanes = &lane->recorder->lanes;
    pthread_mutex_lock(&lanes->lock);
    if (lane->slab && lane->next > 0)
        push_full(lane->recorder, lane->slab);
    else if (lane->slab)
        xfs_lanes_release(lanes, lane->slab);
    lane->slab = NULL;
    lane->room = 0;
    lane->next_idle = lanes->idle;
    lanes->idle = lane;
    pthread_mutex_unlock(&lanes->lock);
}

/* A free slab for the lane's full one. */
static bool exchange(struct xfs_lane *lane)
{
    struct xfs_recorder *recorder = lane->recorder;
    struct xfs_lanes *lanes = &recorder->lanes;
    struct xfs_slab *old = lane->slab;
    pthread_mutex_lock(&lanes->lock);
    struct xfs_slab *slab = pop_free(lanes);
    if (slab == NULL && grow_by_policy(recorder, old == NULL))
        slab = pop_free(lanes);
    if (slab && old)
        push_full(recorder, old);
    pthread_mutex_unlock(&lanes->lock);
    if (slab)
        activate(lane, slab);
    return slab != NULL;
}

/* No slab is free: this thread does the background thread's work, for its own slab or, when it has
 * none, for one that waits. */
static bool write_and_reuse(struct xfs_lane *lane)
{
    struct xfs_recorder *recorder = lane->recorder;
    struct xfs_lanes *lanes = &recorder->lanes;
    struct xfs_slab *slab = lane->slab;
    if (slab == NULL) {
        pthread_mutex_lock(&lanes->lock);
        slab = xfs_lanes_pop_full(lanes);
        pthread_mutex_unlock(&lanes->lock);
    }
    if (slab == NULL)
        return false;
    if (xfs_write_slab(recorder, slab->shared)) {
        set_state(slab->shared, XFT_SLAB_FREE);
        activate(lane, slab);
        return true;
    }
    if (lane->slab == NULL) {
        pthread_mutex_lock(&lanes->lock);
        xfs_lanes_unpop_full(lanes, slab);
        pthread_mutex_unlock(&lanes->lock);
    }
    return false;
}

struct writing {
    struct xfs_lane *lane;
    bool good;
};

static void write_own(void *arguments)
{
    struct writing *own = arguments;
    own->good = write_and_reuse(own->lane);
}

bool xfs_lane_refill(struct xfs_lane *lane)
{
    if (lane->refused++ % RETRY_EVERY != 0)
        return false;
    struct writing own = {lane, false};
    if (exchange(lane))
        return true;
    xfs_on_own_stack(write_own, &own);
    return own.good;
}
