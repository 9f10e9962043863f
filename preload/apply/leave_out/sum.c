#include "preload/apply/leave_out/sum.h"

#include <string.h>

#include "preload/apply/memory/memory.h"
#include "preload/apply/state/state.h"
#include "preload/apply/team/team.h"
#include "preload/apply/state/report.h"

#define MOST_CHUNKS 4096 /* at a time: 1 GiB */
#define WORTH_CHUNKS 8   /* fewer are hashed before anybody is awake */

static struct xfs_job job;
static struct xfs_sum sums[MOST_CHUNKS];
static atomic_flag taken = ATOMIC_FLAG_INIT;
static atomic_uint state; /* of the job: whether the team has it */
enum { UNKNOWN, USABLE, UNUSABLE };

/* ---- with others ----------------------------------------------------------------------------- */

static bool is_usable(void)
{
    if (atomic_load(&state) == UNKNOWN)
        atomic_store(&state, xfs_team_add(&job) ? USABLE : UNUSABLE);
    return atomic_load(&state) == USABLE;
}

/* False: they do not take part. Opening the job touches the memory. */
static bool hash_together(const char *memory, size_t bytes, unsigned threads)
{
    if (!is_usable())
        return false;
    job.base = atomic_load(&job.next);
    job.program = (char *)memory;
    job.bytes = job.piece_bytes = bytes;
    job.chunk_bytes = XFS_SUM_CHUNK;
    job.chunks = (uint32_t)((bytes + XFS_SUM_CHUNK - 1) / XFS_SUM_CHUNK);
    job.up = true;
    job.sums = sums;
    atomic_store(&job.bad, false);
    if (!xfs_job_open(&job, 0))
        return false;
    xfs_team_call(&job, threads);
    while (xfs_job_step(&job))
        ;
    xfs_job_close(&job);
    return true;
}

/* ---- alone ----------------------------------------------------------------------------------- */

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

static struct xfs_sum sum_part(const char *memory, size_t bytes, struct xfs_sum sum)
{
    size_t chunks = (bytes + XFS_SUM_CHUNK - 1) / XFS_SUM_CHUNK;
    unsigned threads = chunks >= WORTH_CHUNKS ? xfs_apply_threads() : 0;
    if (threads < 2 || !hash_together(memory, bytes, threads))
        return sum_alone(memory, bytes, sum);
    xfs_report_started(threads, xfs_locked_bytes());
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
