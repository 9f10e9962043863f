#include "preload/apply/sum.h"

#include <string.h>

#include "preload/apply/ring.h"
#include "preload/apply/room.h"
#include "preload/apply/team.h"
#include "preload/apply/told.h"
#include "preload/base/own_stack.h"

#define MOST_CHUNKS 4096 /* at a time: 1 GiB */
#define WORTH_CHUNKS 8   /* fewer are hashed before anybody is awake */

static struct xfs_job job;
static struct xfs_sum sums[MOST_CHUNKS];
static atomic_flag taken = ATOMIC_FLAG_INIT;
static atomic_uint state; /* of the job: whether the team has it */
enum { UNKNOWN, USABLE, UNUSABLE };

struct work {
    const char *memory;
    size_t bytes;
    unsigned threads;
    bool done;
};

/* ---- with others ------------------------------------------------------------------------------
 */

static bool is_usable(void)
{
    if (atomic_load(&state) == UNKNOWN)
        atomic_store(&state, xfs_team_add(&job) ? USABLE : UNUSABLE);
    return atomic_load(&state) == USABLE;
}

static void hash_together(void *argument)
{
    struct work *work = argument;
    if (!is_usable())
        return;
    job.base = atomic_load(&job.next);
    job.program = (char *)work->memory;
    job.bytes = job.piece_bytes = work->bytes;
    job.chunk_bytes = XFS_SUM_CHUNK;
    job.chunks = (uint32_t)((work->bytes + XFS_SUM_CHUNK - 1) / XFS_SUM_CHUNK);
    job.up = true;
    job.sums = sums;
    atomic_store(&job.bad, false);
    xfs_job_open(&job, 0);
    xfs_team_call(work->threads);
    while (xfs_job_step(&job))
        ;
    xfs_job_close(&job);
    work->done = true;
}

/* ---- alone ------------------------------------------------------------------------------------
 */

static struct xfs_sum mix(struct xfs_sum sum, const struct xfs_sum *chunk)
{
    struct xfs_sum both[2] = {sum, *chunk};
    return xfs_sum_of(both, sizeof both);
}

static struct xfs_sum sum_alone(const char *memory, size_t bytes, struct xfs_sum sum)
{
    for (size_t at = 0; at < bytes; at += XFS_SUM_CHUNK) {
        size_t left = bytes - at;
        struct xfs_sum chunk = xfs_sum_of(memory + at, left < XFS_SUM_CHUNK ? left : XFS_SUM_CHUNK);
        sum = mix(sum, &chunk);
    }
    return sum;
}

static void touch(const char *memory, size_t bytes)
{
    const uintptr_t page = 4096, end = (uintptr_t)memory + bytes;
    for (uintptr_t at = (uintptr_t)memory; at < end; at = (at & ~(page - 1)) + page)
        (void)*(const volatile char *)at;
}

static struct xfs_sum sum_part(const char *memory, size_t bytes, struct xfs_sum sum)
{
    struct work work = {memory, bytes, 0, false};
    size_t chunks = (bytes + XFS_SUM_CHUNK - 1) / XFS_SUM_CHUNK;
    work.threads = chunks >= WORTH_CHUNKS ? xfs_room_threads() : 0;
    if (work.threads < 2)
        return sum_alone(memory, bytes, sum);
    touch(memory, bytes);
    if (!xfs_on_own_stack(hash_together, &work) || !work.done)
        return sum_alone(memory, bytes, sum);
    xfs_told_started(work.threads, xfs_rings_bytes());
    for (size_t i = 0; i < chunks; i++)
        sum = mix(sum, &sums[i]);
    return sum;
}

struct xfs_sum xfs_sum_of_program(const void *memory, size_t bytes)
{
    struct xfs_sum sum = {bytes, 0};
    const size_t most = MOST_CHUNKS * XFS_SUM_CHUNK;
    bool shared = !atomic_flag_test_and_set(&taken);
    for (size_t at = 0; at < bytes; at += most) {
        size_t part = bytes - at < most ? bytes - at : most;
        const char *from = (const char *)memory + at;
        sum = shared ? sum_part(from, part, sum) : sum_alone(from, part, sum);
    }
    if (shared)
        atomic_flag_clear(&taken);
    return sum;
}

/* The team is gone, and with it what it had of the job. */
void xfs_sums_after_fork(void)
{
    atomic_store(&state, UNKNOWN);
    atomic_flag_clear(&taken);
    memset(&job, 0, sizeof job);
}
