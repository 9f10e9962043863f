#include "preload/apply/beside.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "preload/apply/driver.h"
#include "preload/apply/job.h"

#define STEP ((size_t)4 << 20)
#define MOST_BYTES (UINT64_C(1) << 30) /* more would take seconds for each kernel */

static struct {
    struct xfs_use memory[XFS_USES_KNOWN];
    struct xfs_sum sum[XFS_USES_KNOWN];
    unsigned count;
} others;

static bool is_given(const struct xfs_use *given, unsigned count, uint64_t buffer)
{
    for (unsigned i = 0; i < count; i++)
        if (given[i].buffer == buffer)
            return true;
    return false;
}

/* Those that are there still. False: too many bytes. */
static bool take_others(const struct xfs_use *given, unsigned count)
{
    uint64_t bytes = 0;
    unsigned known = xfs_uses_known(others.memory);
    others.count = 0;
    for (unsigned i = 0; i < known; i++) {
        struct xfs_use use = others.memory[i];
        if (is_given(given, count, use.buffer) ||
            xfs_apply_buffer_at(use.start, use.bytes, XCU_PTR_LEGACY_IPC) != use.buffer)
            continue;
        others.memory[others.count++] = use;
        bytes += use.bytes;
    }
    return bytes <= MOST_BYTES;
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
static bool hash_all(struct xfs_sum sums[XFS_USES_KNOWN])
{
    bool all = true;
    char *there = mmap(NULL, STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (there == MAP_FAILED)
        return false;
    for (unsigned i = 0; i < others.count && all; i++)
        all = hash(&others.memory[i], there, &sums[i]);
    munmap(there, STEP);
    return all;
}

bool xfs_beside_begin(const struct xfs_use *given, unsigned count)
{
    return xfs_apply_driver()->context_wait && xfs_apply_driver()->context_wait() == XCU_SUCCESS &&
           take_others(given, count) && hash_all(others.sum);
}

bool xfs_beside_is_same(void)
{
    static struct xfs_sum now[XFS_USES_KNOWN];
    return !hash_all(now) || memcmp(now, others.sum, others.count * sizeof *now) == 0;
}
