#include "preload/apply/streams/beside.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "preload/apply/state/driver.h"
#include "preload/apply/team/job.h"
#include "preload/base/brief_lock.h"
#include "preload/base/own_stack.h"

#define STEP ((size_t)4 << 20)
#define ALLOCATIONS 1024
#define SPINS 20000

static atomic_flag taken = ATOMIC_FLAG_INIT;
static struct xfs_use made[ALLOCATIONS]; /* some of them may be there no more */
static unsigned made_count;
static bool too_many;

static struct {
    struct xfs_use memory[ALLOCATIONS];
    struct xfs_sum sum[ALLOCATIONS];
    int given[ALLOCATIONS]; /* its place among what the kernel may write; -1: it may not */
    unsigned count;
} known;

/* The number of an allocation that was noted; 0: it is there no more. */
static uint64_t number_of(const struct xfs_use *use)
{
    return xfs_apply_buffer_at(use->start, use->bytes, XCU_PTR_LEGACY_IPC);
}

/* With the lock. */
static void sweep(void)
{
    unsigned left = 0;
    for (unsigned i = 0; i < made_count; i++)
        if (number_of(&made[i]) == made[i].buffer)
            made[left++] = made[i];
    made_count = left;
}

static void note(void *argument)
{
    struct xfs_use *use = argument;
    use->buffer = xfs_apply_driver() ? number_of(use) : 0;
    bool got = xfs_brief_take(&taken, SPINS);
    if (got && made_count == ALLOCATIONS)
        sweep();
    too_many |= !got || use->buffer == 0 || made_count == ALLOCATIONS;
    if (!too_many)
        made[made_count++] = *use;
    if (got)
        xfs_brief_give_back(&taken);
}

void xfs_beside_allocated(xcu_deviceptr address, size_t bytes)
{
    struct xfs_use use = {.start = address, .bytes = bytes};
    if (!xfs_on_own_stack(note, &use))
        too_many = true;
}

/* Its place among what is given to be written; -1: it has none. */
static int place_in(const struct xfs_use *given, unsigned count, uint64_t buffer)
{
    for (unsigned i = 0; i < count; i++)
        if (given[i].buffer == buffer && given[i].writes)
            return (int)i;
    return -1;
}

/* Those that are there still. False: too many bytes. */
static bool take_known(const struct xfs_use *given, unsigned count)
{
    uint64_t bytes = 0;
    known.count = 0;
    if (too_many || !xfs_brief_take(&taken, SPINS))
        return false;
    for (unsigned i = 0; i < made_count; i++)
        if (number_of(&made[i]) == made[i].buffer) {
            known.given[known.count] = place_in(given, count, made[i].buffer);
            known.memory[known.count++] = made[i];
            bytes += made[i].bytes;
        }
    xfs_brief_give_back(&taken);
    return bytes <= XFS_BESIDE_MOST;
}

/* Copies to pageable memory have their data when they return. */
static bool hash(const struct xfs_use *use, char *there, struct xfs_sum *sum)
{
    *sum = (struct xfs_sum){use->bytes, 0};
    for (uint64_t at = 0; at < use->bytes; at += STEP) {
        size_t part = use->bytes - at < STEP ? use->bytes - at : STEP;
        if (xfs_apply_driver()->to_host(there, use->start + at, part, XCU_STREAM_LEGACY) !=
            XCU_SUCCESS)
            return false;
        struct xfs_sum both[2] = {*sum, xfs_sum_of(there, part)};
        *sum = xfs_sum_of(both, sizeof both);
    }
    return true;
}

/* False: one could not be hashed. */
static bool hash_all(struct xfs_sum sums[ALLOCATIONS])
{
    bool all = true;
    char *there = mmap(NULL, STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (there == MAP_FAILED)
        return false;
    for (unsigned i = 0; i < known.count && all; i++)
        all = hash(&known.memory[i], there, &sums[i]);
    munmap(there, STEP);
    return all;
}

bool xfs_beside_begin(const struct xfs_use *given, unsigned count)
{
    return xfs_apply_driver()->context_wait && xfs_apply_driver()->context_wait() == XCU_SUCCESS &&
           take_known(given, count) && hash_all(known.sum);
}

bool xfs_beside_is_same(uint32_t *changed)
{
    static struct xfs_sum now[ALLOCATIONS];
    bool same = true;
    *changed = UINT32_MAX;
    if (!hash_all(now))
        return true;
    *changed = 0;
    for (unsigned i = 0; i < known.count; i++) {
        if (memcmp(&now[i], &known.sum[i], sizeof *now) == 0)
            continue;
        same &= known.given[i] >= 0;
        *changed |= known.given[i] >= 0 ? UINT32_C(1) << known.given[i] : 0;
    }
    return same;
}

void xfs_beside_after_fork(void)
{
    made_count = 0;
    too_many = false;
    atomic_flag_clear(&taken);
}
