#include "preload/apply/memory/locking.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

#include "preload/apply/state/classes.h"
#include "preload/apply/state/driver.h"
#include "preload/apply/team/job.h"
#include "preload/apply/memory/locked_pool.h"
#include "preload/apply/memory/memory.h"
#include "preload/apply/memory/near.h"
#include "preload/apply/state/state.h"
#include "preload/apply/site/site.h"
#include "preload/apply/team/team.h"
#include "preload/base/own_stack.h"
#include "preload/base/sandbox.h"
#include "preload/base/settings.h"

#define LOCKED_LEAST ((size_t)32 << 20)
#define MOST_BLOCKS 1024
#define PIECE (8 * XFS_LARGE_PAGE)

/* ---- what there is --------------------------------------------------------------------------- */

#define BEING_WRITTEN ((uintptr_t)1)

struct block {
    _Atomic uintptr_t start; /* 0: free */
    size_t bytes, mapped;
    xcu_context context;
    unsigned forks; /* of this process when it was made: a child that has it, too, may read it */
};
static struct block blocks[MOST_BLOCKS];
static atomic_uint block_count; /* places that were ever used */

static struct block *take_place(void)
{
    for (unsigned i = 0; i < MOST_BLOCKS; i++) {
        uintptr_t none = 0;
        if (!atomic_compare_exchange_strong(&blocks[i].start, &none, BEING_WRITTEN))
            continue;
        unsigned count = atomic_load(&block_count);
        while (count <= i && !atomic_compare_exchange_weak(&block_count, &count, i + 1))
            ;
        return &blocks[i];
    }
    return NULL;
}

static atomic_uint forks;

void xfs_locking_before_fork(void)
{
    atomic_fetch_add(&forks, 1);
}

/* The block that begins there, or that contains it. */
static struct block *find(const void *memory, bool inside)
{
    uintptr_t at = (uintptr_t)memory;
    unsigned count = atomic_load(&block_count);
    for (unsigned i = 0; i < count; i++) {
        uintptr_t start = atomic_load(&blocks[i].start);
        if (start > BEING_WRITTEN &&
            (start == at || (inside && at > start && at - start < blocks[i].bytes)))
            return &blocks[i];
    }
    return NULL;
}

static uint64_t mapped_bytes(void)
{
    uint64_t bytes = 0;
    unsigned count = atomic_load(&block_count);
    for (unsigned i = 0; i < count; i++)
        if (atomic_load(&blocks[i].start) > BEING_WRITTEN)
            bytes += blocks[i].mapped;
    return bytes;
}

void xfs_locking_after_fork(void)
{
    for (unsigned i = 0; i < MOST_BLOCKS; i++)
        atomic_store(&blocks[i].start, 0);
    atomic_store(&block_count, 0);
    xfs_locked_pool_after_fork();
}

/* ---- making ---------------------------------------------------------------------------------- */

struct making {
    const struct xfs_locking *call;
    struct xfs_site *site;
    struct block *block;
    char *memory;
    size_t mapped;
    unsigned threads;
    bool again; /* it was kept, and is to be cleared */
    bool done;
    uint64_t took_ns;
};

static struct xfs_job filling;
static atomic_bool filling_taken, filling_known;

/* False: the kernel cannot, or there is no memory. */
static bool fill(const struct making *making)
{
    struct xfs_job *job = &filling;
    uint64_t opened = 0, filled = 0, count = (making->mapped + PIECE - 1) / PIECE;
    unsigned idle = 0;
    if (!atomic_exchange(&filling_known, true))
        (void)xfs_team_add(job);
    job->base = atomic_load(&job->open);
    job->program = making->memory;
    job->bytes = making->mapped;
    job->slot_bytes = job->piece_bytes = PIECE;
    job->chunk_bytes = XFS_LARGE_PAGE;
    job->chunks = PIECE / XFS_LARGE_PAGE;
    job->fills = true;
    job->clears = making->again;
    atomic_store(&job->bad, false);
    xfs_team_call(job, making->threads);
    while (filled < count && !atomic_load(&job->bad)) {
        while (opened < count && opened < filled + XFS_JOB_SLOTS)
            (void)xfs_job_open(job, opened++);
        if (atomic_load(&job->left[filled % XFS_JOB_SLOTS]) == 0)
            filled++, idle = 0;
        else if (!xfs_job_step(job))
            xfs_job_pause(&idle);
    }
    xfs_job_close(job);
    return !atomic_load(&job->bad);
}

static void place(const struct making *making)
{
    xcu_device device;
    if (making->call->node >= 0)
        xfs_near_place_on(making->memory, making->mapped, making->call->node);
    else if (xfs_apply_driver()->device(&device) == XCU_SUCCESS)
        xfs_near_place(making->memory, making->mapped, device);
}

/* What was kept, or new memory. */
static bool map(struct making *making, xcu_context context)
{
    struct xfs_locked kept;
    size_t bytes = making->call->bytes;
    xfs_locked_pool_counts(bytes);
    making->again = xfs_locked_pool_take(context, bytes, &kept);
    if (making->again) {
        making->memory = kept.memory;
        making->mapped = kept.mapped;
        return true;
    }
    if (!xfs_apply_has_room(bytes, mapped_bytes()))
        return false;
    making->mapped = (bytes + XFS_LARGE_PAGE - 1) & ~(XFS_LARGE_PAGE - 1);
    making->memory = xfs_map_aligned(making->mapped, MAP_SHARED); /* as the driver's is */
    if (making->memory)
        place(making);
    return making->memory != NULL;
}

static bool lock(const struct making *making)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    size_t bytes = making->call->bytes;
    xcu_result result = driver->lock_pages(making->memory, bytes, 0);
    if (result != XCU_SUCCESS && xfs_locked_pool_drain(NULL))
        result = driver->lock_pages(making->memory, bytes, 0);
    return result == XCU_SUCCESS;
}

static void make(void *argument)
{
    struct making *making = argument;
    xcu_context context = NULL;
    if (xfs_apply_driver()->current(&context) != XCU_SUCCESS || context == NULL ||
        !map(making, context))
        return;
    if (fill(making) && (making->block = take_place()) != NULL) {
        struct block *block = making->block;
        block->bytes = making->call->bytes;
        block->mapped = making->mapped;
        block->context = context;
        block->forks = atomic_load(&forks);
        making->done = making->again || lock(making);
        atomic_store(&block->start, making->done ? (uintptr_t)making->memory : 0);
    }
    if (!making->done &&
        (!making->again || xfs_apply_driver()->unlock_pages(making->memory) == XCU_SUCCESS))
        munmap(making->memory, making->mapped);
}

/* ---- whether it may -------------------------------------------------------------------------- */

static bool has_one_device(void)
{
    int count = 0;
    return xfs_apply_driver()->devices(&count) == XCU_SUCCESS && count == 1;
}

static void start(void *argument)
{
    struct making *making = argument;
    making->done = xfs_apply_started() || xfs_apply_start();
}

static void find_site(void *argument)
{
    struct making *making = argument;
    making->site = xfs_site_here(XFS_CLASS_LOCKING, XFT_DIR_UNKNOWN);
    if (making->site)
        making->site->proofs[0].ours_first = true;
}

/* The site's way; its proof is held only while it is asked. */
static enum xfs_way choose(struct making *making)
{
    bool timed;
    enum xfs_way way = XFS_WAY_AS_ASKED;
    if (!xfs_on_own_stack(find_site, making) || making->site == NULL)
        return way;
    if (!making->site->off)
        way = xfs_proof_choose(&making->site->proofs[0], &timed);
    if (!xfs_settings()->apply_trials && !making->site->off)
        way = XFS_WAY_OURS;
    xfs_site_release(making->site);
    return way;
}

static void note(struct making *making, enum xfs_way way, bool failed)
{
    if (making->site == NULL || !xfs_site_hold(making->site))
        return;
    struct xfs_proof *proof = &making->site->proofs[0];
    if (failed)
        xfs_proof_give_up(proof);
    else
        xfs_proof_took(proof, way, making->call->bytes, making->took_ns);
    if (making->site->report)
        __atomic_fetch_add(&making->site->report->asked, 1, __ATOMIC_RELAXED);
    xfs_site_report(making->site, proof, way, making->call->bytes, making->took_ns);
    xfs_site_release(making->site);
}

static int ask(const struct xfs_locking *call)
{
    if (call->has_flags)
        return ((int (*)(void **, size_t, unsigned))call->real)(call->out, call->bytes,
                                                                call->flags);
    return ((int (*)(void **, size_t))call->real)(call->out, call->bytes);
}

int xfs_locking_as_asked(const struct xfs_locking *call)
{
    int status = ask(call);
    if (status == XCU_ERROR_OUT_OF_MEMORY && xfs_locked_pool_drain(NULL))
        status = ask(call);
    return status;
}

static bool may(const struct xfs_locking *call)
{
    return xfs_class_on(XFS_CLASS_LOCKING) && call->bytes >= LOCKED_LEAST && call->flags == 0 &&
           call->out && xfs_may_call_kernel() && !xfs_apply_captures() && xfs_apply_driver() &&
           has_one_device();
}

static bool make_ours(struct making *making)
{
    bool taken = false;
    making->done = false;
    making->threads = xfs_apply_threads();
    if (making->threads == 0 || !atomic_compare_exchange_strong(&filling_taken, &taken, true))
        return false;
    xfs_on_own_stack(make, making);
    atomic_store(&filling_taken, false);
    return making->done;
}

static void alloc(struct making *making, int *status)
{
    xfs_apply_enter();
    enum xfs_way way = choose(making);
    uint64_t begun = xfs_apply_now_ns();
    bool ours = way == XFS_WAY_OURS && make_ours(making);
    if (ours) {
        *making->call->out = making->memory;
        xfs_report_started(making->threads, xfs_locked_bytes());
    } else {
        *status = xfs_locking_as_asked(making->call);
    }
    making->took_ns = xfs_apply_now_ns() - begun;
    if (*status == XCU_SUCCESS)
        note(making, ours ? XFS_WAY_OURS : XFS_WAY_AS_ASKED, way == XFS_WAY_OURS && !ours);
}

bool xfs_locking_alloc(const struct xfs_locking *call, int *status)
{
    struct making making = {.call = call};
    int saved = errno;
    *status = XCU_SUCCESS;
    if (!may(call) || !xfs_on_large_stack(start, &making) || !making.done)
        return errno = saved, false;
    alloc(&making, status);
    errno = saved;
    return true;
}

/* ---- the end --------------------------------------------------------------------------------- */

struct keeping {
    struct block *block;
    char *memory;
    bool kept;
};

/* The free waits for the device's work, as the driver's does; memory that a child of a fork has,
 * too, is not used again: it would see what is written there. */
static void keep(void *argument)
{
    struct keeping *keeping = argument;
    const struct block *block = keeping->block;
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    struct xfs_locked freed = {keeping->memory, block->bytes, block->mapped, block->context};
    xcu_context current = NULL;
    keeping->kept = driver->context_wait && driver->current(&current) == XCU_SUCCESS &&
                    current == block->context && driver->context_wait() == XCU_SUCCESS &&
                    block->forks == atomic_load(&forks) && xfs_locked_pool_keep(&freed);
}

static bool is_kept(struct block *block, void *memory)
{
    struct keeping keeping = {block, memory, false};
    return xfs_apply_started() && xfs_may_call_kernel() && !xfs_apply_captures() &&
           xfs_on_own_stack(keep, &keeping) && keeping.kept;
}

static bool free_block(void *memory, int *status, bool may_keep)
{
    struct block *block = find(memory, false);
    uintptr_t start = (uintptr_t)memory;
    if (block == NULL || !atomic_compare_exchange_strong(&block->start, &start, BEING_WRITTEN))
        return false;
    *status = XCU_SUCCESS;
    bool gone = false, kept = may_keep && is_kept(block, memory);
    if (!kept) {
        *status = xfs_apply_driver()->unlock_pages(memory);
        gone = *status == XCU_ERROR_HOST_MEMORY_NOT_REGISTERED;
    }
    if (!kept && (gone || *status == XCU_SUCCESS))
        munmap(memory, block->mapped);
    atomic_store(&block->start, gone || *status == XCU_SUCCESS ? 0 : (uintptr_t)memory);
    return !gone;
}

/* Who takes it out of the table gives it back: it is done once. Memory whose context has ended
 * unseen (a runtime resets a device by ways of its own) is not the driver's any more: a program
 * that frees it then gets the driver's answer. */
bool xfs_locking_free(void *memory, int *status)
{
    int saved = errno;
    bool done = free_block(memory, status, true);
    if (!done && xfs_locked_pool_has(memory)) {
        *status = XCU_ERROR_INVALID_VALUE; /* the program has freed it before */
        done = true;
    }
    errno = saved;
    return done;
}

bool xfs_locking_unregister(void *memory, int *status)
{
    *status = XCU_ERROR_INVALID_VALUE;
    if (find(memory, false))
        return true;
    *status = XCU_ERROR_HOST_MEMORY_NOT_REGISTERED;
    return xfs_locked_pool_has(memory);
}

bool xfs_locking_register(void *memory, int *status)
{
    *status = XCU_ERROR_INVALID_VALUE;
    return find(memory, true) != NULL;
}

bool xfs_locking_drain(void)
{
    return xfs_apply_driver() && xfs_locked_pool_drain(NULL);
}

void xfs_locking_leave(xcu_context context)
{
    unsigned count = atomic_load(&block_count);
    int status;
    for (unsigned i = 0; context && i < count; i++) {
        uintptr_t start = atomic_load(&blocks[i].start);
        if (start > BEING_WRITTEN && blocks[i].context == context)
            (void)free_block((void *)start, &status, false);
    }
    if (context)
        (void)xfs_locked_pool_drain(context);
}
