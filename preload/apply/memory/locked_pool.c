#include "preload/apply/memory/locked_pool.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "preload/apply/state/driver.h"
#include "preload/apply/memory/memory.h"
#include "preload/apply/state/report.h"
#include "preload/apply/state/state.h"
#include "preload/base/brief_lock.h"

#define PLACES 32
#define SIZES 16
#define SPINS 20000
#define OLD 32 /* allocations since it was kept */

struct place {
    struct xfs_locked block; /* memory NULL: free */
    unsigned long long id;   /* of the context */
    uint64_t since;          /* in allocations */
};

static struct place places[PLACES];
static struct {
    size_t bytes;
    unsigned count;
    uint64_t last;
} sizes[SIZES];
static uint64_t allocations, kept_bytes;
static atomic_uint kept_count;
static atomic_flag taken = ATOMIC_FLAG_INIT;

static bool take(void)
{
    return xfs_brief_take(&taken, SPINS);
}

static void give_back(void)
{
    xfs_brief_give_back(&taken);
}

/* ---- with the lock held ---------------------------------------------------------------------- */

static void leave_place(struct place *place, struct place *out)
{
    *out = *place;
    kept_bytes -= place->block.mapped;
    xfs_locked_less(place->block.mapped);
    place->block.memory = NULL;
    atomic_fetch_sub(&kept_count, 1);
}

static struct place *find_free(void)
{
    for (unsigned i = 0; i < PLACES; i++)
        if (places[i].block.memory == NULL)
            return &places[i];
    return NULL;
}

static bool may_keep(size_t mapped)
{
    uint64_t most = xfs_apply_memory();
    return kept_bytes + mapped <= most / 2 && xfs_locked_bytes() + mapped <= most;
}

/* One that is to go: of the context (NULL: any), or that is old. */
static struct place *find_leaving(xcu_context context, bool old)
{
    struct place *first = NULL;
    for (unsigned i = 0; i < PLACES; i++) {
        struct place *place = &places[i];
        if (place->block.memory && (context == NULL || place->block.context == context) &&
            (!old || allocations - place->since > OLD) &&
            (first == NULL || place->since < first->since))
            first = place;
    }
    return first;
}

static bool comes_again(size_t bytes)
{
    bool again = false;
    if (!take())
        return false;
    for (unsigned i = 0; i < SIZES; i++)
        again |= sizes[i].bytes == bytes && sizes[i].count > 1;
    give_back();
    return again;
}

/* ---- the driver ------------------------------------------------------------------------------ */

/* Memory that the driver does not know any more is still ours to unmap. */
static void release(const struct place *place)
{
    xcu_result result = xfs_apply_driver()->unlock_pages(place->block.memory);
    if (result == XCU_SUCCESS || result == XCU_ERROR_HOST_MEMORY_NOT_REGISTERED)
        munmap(place->block.memory, place->block.mapped);
}

static bool drain(xcu_context context, bool old)
{
    struct place left;
    bool any = false;
    while (atomic_load(&kept_count) > 0 && take()) {
        struct place *place = find_leaving(context, old);
        if (place)
            leave_place(place, &left);
        give_back();
        if (place == NULL)
            return any;
        release(&left);
        any = true;
    }
    return any;
}

/* Its context may have ended unseen. */
static bool is_registered(const struct xfs_locked *block)
{
    unsigned type = 0;
    xcu_deviceptr start = 0;
    size_t bytes = 0;
    int which[] = {XCU_PTR_MEMORY_TYPE, XCU_PTR_RANGE_START, XCU_PTR_RANGE_SIZE};
    void *values[] = {&type, &start, &bytes};
    uintptr_t memory = (uintptr_t)block->memory;
    return xfs_apply_driver()->attributes(3, which, values, memory) == XCU_SUCCESS &&
           type == XCU_MEMORY_HOST && start == memory && bytes >= block->bytes;
}

/* ---- the pool -------------------------------------------------------------------------------- */

void xfs_locked_pool_counts(size_t bytes)
{
    unsigned at = 0;
    if (!take())
        return;
    allocations++;
    for (unsigned i = 0; i < SIZES; i++) {
        if (sizes[i].bytes == bytes) {
            at = i;
            break;
        }
        if (sizes[i].last < sizes[at].last)
            at = i;
    }
    sizes[at].count = sizes[at].bytes == bytes ? sizes[at].count + 1 : 1;
    sizes[at].bytes = bytes;
    sizes[at].last = allocations;
    give_back();
    (void)drain(NULL, true);
}

bool xfs_locked_pool_take(xcu_context context, size_t bytes, struct xfs_locked *found)
{
    struct place left = {.block.memory = NULL};
    unsigned long long id;
    if (atomic_load(&kept_count) == 0 || (id = xfs_apply_context_id(context)) == 0 || !take())
        return false;
    for (unsigned i = 0; i < PLACES && left.block.memory == NULL; i++) {
        const struct xfs_locked *block = &places[i].block;
        if (block->memory && block->bytes == bytes && block->context == context &&
            places[i].id == id)
            leave_place(&places[i], &left);
    }
    give_back();
    if (left.block.memory == NULL)
        return false;
    if (!is_registered(&left.block) ||
        madvise(left.block.memory, left.block.mapped, MADV_DOFORK) != 0) {
        release(&left);
        return false;
    }
    *found = left.block;
    return true;
}

bool xfs_locked_pool_keep(const struct xfs_locked *freed)
{
    unsigned long long id = xfs_apply_context_id(freed->context);
    bool kept = false;
    if (id == 0 || !comes_again(freed->bytes) || !is_registered(freed) ||
        madvise(freed->memory, freed->mapped, MADV_DONTFORK) != 0)
        return false;
    if (!take())
        return madvise(freed->memory, freed->mapped, MADV_DOFORK), false;
    struct place *place = find_free();
    if (place && may_keep(freed->mapped)) {
        *place = (struct place){*freed, id, allocations};
        kept_bytes += freed->mapped;
        xfs_locked_more(freed->mapped);
        atomic_fetch_add(&kept_count, 1);
        kept = true;
    }
    give_back();
    if (kept)
        xfs_report_started(0, xfs_locked_bytes());
    else
        madvise(freed->memory, freed->mapped, MADV_DOFORK);
    return kept;
}

bool xfs_locked_pool_has(const void *memory)
{
    bool found = false;
    if (atomic_load(&kept_count) == 0 || !take())
        return false;
    for (unsigned i = 0; i < PLACES && !found; i++)
        found = memory && places[i].block.memory == memory;
    give_back();
    return found;
}

bool xfs_locked_pool_drain(xcu_context context)
{
    return drain(context, false);
}

void xfs_locked_pool_after_fork(void)
{
    memset(places, 0, sizeof places);
    memset(sizes, 0, sizeof sizes);
    allocations = kept_bytes = 0;
    atomic_store(&kept_count, 0);
    atomic_flag_clear(&taken);
}
