#define XXH_INLINE_ALL
#include "preload/apply/team/job.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <xxhash.h>

#ifndef MADV_POPULATE_READ /* Linux 5.14 */
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif
#define PAGE ((uintptr_t)4096)

bool xfs_job_can_ask(void *own_page)
{
    return madvise(own_page, PAGE, MADV_POPULATE_WRITE) == 0;
}

/* Whether the program's memory can be touched without a fault. */
static bool is_there(const char *from, size_t bytes, bool written)
{
    uintptr_t low = (uintptr_t)from & ~(PAGE - 1);
    uintptr_t high = ((uintptr_t)from + bytes + PAGE - 1) & ~(PAGE - 1);
    return madvise((void *)low, high - low, written ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) ==
           0;
}

struct xfs_sum xfs_sum_of(const void *bytes, size_t count)
{
    XXH128_hash_t sum = XXH3_128bits(bytes, count);
    return (struct xfs_sum){sum.low64, sum.high64};
}

static void copy(struct xfs_job *job, uint64_t chunk)
{
    size_t piece = (chunk - job->base) / job->chunks;
    size_t within = (chunk - job->base) % job->chunks * job->chunk_bytes;
    size_t start = piece * job->piece_bytes + within, bytes = job->chunk_bytes;
    if (within >= job->piece_bytes || start >= job->bytes)
        return;
    if (bytes > job->piece_bytes - within)
        bytes = job->piece_bytes - within;
    if (bytes > job->bytes - start)
        bytes = job->bytes - start;
    uint32_t at = (uint32_t)(piece % XFS_JOB_SLOTS);
    char *slot = job->slots + piece % XFS_JOB_SLOTS * job->slot_bytes + within;
    char *program = job->program + start;
    if ((job->fills || !job->sure[at]) && !is_there(program, bytes, !job->up))
        atomic_store(&job->bad, true);
    else if (job->sums)
        job->sums[chunk - job->base] = xfs_sum_of(program, bytes);
    else if (job->fills && job->clears)
        memset(program, 0, bytes);
    else if (job->fills)
        ;
    else if (job->up)
        memcpy(slot, program, bytes);
    else
        memcpy(program, slot, bytes);
}

/* ---- before a piece is copied ---------------------------------------------------------------- */

#define MOST_PAGES 1024 /* asked about at once */

/* Each page, as the copy will: a fault is raised in the program's thread. What is written is what
 * is there: the copy overwrites it anyway. */
static void touch(volatile char *from, size_t bytes, bool written)
{
    volatile char *end = from + bytes;
    while (from < end) {
        char value = *from;
        if (written)
            *from = value;
        from = (volatile char *)(((uintptr_t)from & ~(PAGE - 1)) + PAGE);
    }
}

/* A handler of the program's may leave by siglongjmp. A thread that is cancelled at any place stays
 * here until the operation is over. */
static void touch_as_the_program(const struct xfs_job *job, char *from, size_t bytes)
{
    int type, ours;
    if (job->guard == NULL) {
        touch(from, bytes, !job->up);
        return;
    }
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    pthread_setcancelstate(job->guard->cancel_state, &ours);
    errno = job->guard->saved_errno;
    touch(from, bytes, !job->up);
    pthread_setcancelstate(ours, NULL);
    pthread_setcanceltype(type, NULL);
}

enum found { NOT_MAPPED, PARTLY_THERE, THERE };

static enum found look(char *from, size_t bytes)
{
    unsigned char pages[MOST_PAGES];
    uintptr_t at = (uintptr_t)from & ~(PAGE - 1), end = (uintptr_t)from + bytes;
    for (; at < end; at += MOST_PAGES * PAGE) {
        size_t left = end - at, count = (left + PAGE - 1) / PAGE;
        if (count > MOST_PAGES)
            count = MOST_PAGES;
        if (mincore((void *)at, count * PAGE, pages) != 0)
            return errno == ENOMEM ? NOT_MAPPED : PARTLY_THERE;
        for (size_t i = 0; i < count; i++)
            if (!(pages[i] & 1))
                return PARTLY_THERE;
    }
    return THERE;
}

bool xfs_job_open(struct xfs_job *job, uint64_t piece)
{
    uint32_t slot = (uint32_t)(piece % XFS_JOB_SLOTS);
    char *program = job->program + piece * job->piece_bytes;
    size_t left = job->bytes - piece * job->piece_bytes;
    size_t bytes = left < job->piece_bytes ? left : job->piece_bytes;
    enum found found = job->fills ? PARTLY_THERE : job->asks ? look(program, bytes) : THERE;
    if (found == NOT_MAPPED)
        return false;
    job->sure[slot] = found == THERE;
    if (found == THERE)
        touch_as_the_program(job, program, bytes);
    atomic_store_explicit(&job->left[slot], job->chunks, memory_order_relaxed);
    atomic_fetch_add_explicit(&job->open, job->chunks, memory_order_release);
    return true;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

#define AWAKE_ROUNDS 10000 /* several times as long as a chunk takes */
#define NAP_NS 50000

void xfs_job_pause(unsigned *rounds)
{
    if (++*rounds < AWAKE_ROUNDS)
        __builtin_ia32_pause();
    else
        nanosleep(&(struct timespec){0, NAP_NS}, NULL);
}

bool xfs_job_step(struct xfs_job *job)
{
    uint64_t taken = atomic_load_explicit(&job->next, memory_order_relaxed);
    do {
        if (taken >= atomic_load_explicit(&job->open, memory_order_acquire))
            return false;
    } while (!atomic_compare_exchange_weak(&job->next, &taken, taken + 1));
    if (!atomic_load_explicit(&job->bad, memory_order_relaxed))
        copy(job, taken);
    uint32_t slot = (uint32_t)((taken - job->base) / job->chunks % XFS_JOB_SLOTS);
    atomic_fetch_sub_explicit(&job->left[slot], 1, memory_order_release);
    atomic_fetch_add_explicit(&job->done, 1, memory_order_release);
    return true;
}

void xfs_job_close(struct xfs_job *job)
{
    uint64_t open = atomic_load(&job->open), taken = atomic_load(&job->next);
    unsigned rounds = 0;
    while (taken < open && !atomic_compare_exchange_weak(&job->next, &taken, open))
        ;
    if (taken < open)
        atomic_fetch_add(&job->done, open - taken);
    while (atomic_load_explicit(&job->done, memory_order_acquire) < open)
        xfs_job_pause(&rounds);
    atomic_store_explicit(&job->going, false, memory_order_relaxed);
}
