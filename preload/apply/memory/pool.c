#include "preload/apply/memory/pool.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "preload/apply/state/driver.h"
#include "preload/apply/site/plan.h"
#include "preload/apply/state/state.h"
#include "preload/apply/site/site.h"
#include "preload/base/brief_lock.h"
#include "preload/base/own_stack.h"
#include "preload/base/sandbox.h"

#define BLOCKS 1024 /* that planned sites have or that are kept; others are not followed */
#define SPINS 20000
#define PART_KEPT 16 /* of the device's memory at most one part in so many */

enum state { FREE, LIVE, KEPT };

struct block {
    xcu_deviceptr address;
    size_t bytes;
    xcu_context context;
    uint64_t buffer; /* number of the allocation, which no other has */
    struct xfs_site *site;
    enum state state;
    uint64_t since; /* in this state, in changes of any block */
};

static struct block blocks[BLOCKS];
static uint64_t live_bytes, kept_bytes, most_bytes; /* of all contexts; most: live at one time */
static uint64_t changes;
static _Atomic uint64_t may_keep;
static atomic_flag taken = ATOMIC_FLAG_INIT;

static bool take(void)
{
    return xfs_brief_take(&taken, SPINS);
}

static void give_back(void)
{
    xfs_brief_give_back(&taken);
}

bool xfs_pool_on(void)
{
    return xfs_class_on(XFS_CLASS_POOL) && xfs_plan_has(XFT_PLAN_POOL);
}

/* ---- the blocks: with the lock held ---------------------------------------------------------- */

static struct block *find_live(xcu_deviceptr address)
{
    for (unsigned i = 0; i < BLOCKS; i++)
        if (blocks[i].state == LIVE && blocks[i].address == address)
            return &blocks[i];
    return NULL;
}

static struct block *find_kept(size_t bytes, xcu_context context)
{
    for (unsigned i = 0; i < BLOCKS; i++)
        if (blocks[i].state == KEPT && blocks[i].bytes == bytes && blocks[i].context == context)
            return &blocks[i];
    return NULL;
}

static struct block *find_free(void)
{
    for (unsigned i = 0; i < BLOCKS; i++)
        if (blocks[i].state == FREE)
            return &blocks[i];
    return NULL;
}

static void becomes(struct block *block, enum state state)
{
    live_bytes -= block->state == LIVE ? block->bytes : 0;
    kept_bytes -= block->state == KEPT ? block->bytes : 0;
    block->state = state;
    block->since = ++changes;
    live_bytes += state == LIVE ? block->bytes : 0;
    kept_bytes += state == KEPT ? block->bytes : 0;
    most_bytes = live_bytes > most_bytes ? live_bytes : most_bytes;
}

/* Takes one kept block out; false: there is none, or (with `beyond`) no need. */
static bool take_out(struct block *out, bool beyond)
{
    struct block *oldest = NULL;
    if (beyond && kept_bytes <= most_bytes && kept_bytes <= may_keep)
        return false;
    for (unsigned i = 0; i < BLOCKS; i++)
        if (blocks[i].state == KEPT && (oldest == NULL || blocks[i].since < oldest->since))
            oldest = &blocks[i];
    if (oldest == NULL)
        return false;
    *out = *oldest;
    becomes(oldest, FREE);
    return true;
}

static void forget(xcu_deviceptr p)
{
    if (!take())
        return;
    struct block *block = find_live(p);
    if (block)
        becomes(block, FREE);
    give_back();
}

/* ---- the driver ------------------------------------------------------------------------------ */

static bool free_block(const struct block *block)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    xcu_context context;
    if (driver->push(block->context) != XCU_SUCCESS)
        return false;
    bool freed = driver->free(block->address) == XCU_SUCCESS;
    driver->pop(&context);
    return freed;
}

/* Frees kept blocks: those beyond what may be kept, or all. */
static bool give_to_driver(bool beyond)
{
    struct block block;
    bool any = false, more = true;
    while (more && take()) {
        more = take_out(&block, beyond);
        give_back();
        any |= more && free_block(&block);
    }
    return any;
}

static void find_most(xcu_device device)
{
    size_t total = 0;
    if (xfs_apply_driver()->total(&total, device) == XCU_SUCCESS)
        may_keep = total / PART_KEPT;
}

static xcu_context current(void)
{
    xcu_context context = NULL;
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    bool whole = driver && driver->context_wait && driver->total;
    return whole && driver->current(&context) == XCU_SUCCESS ? context : NULL;
}

bool xfs_pool_drain(void)
{
    return xfs_pool_on() && current() && give_to_driver(false);
}

static void tell(struct xfs_site *site, size_t bytes, uint64_t asked_ns, uint64_t done_ns)
{
    struct xfs_report_site *line = site->report;
    struct xfs_proof *proof = &site->proofs[0];
    bool held = xfs_site_hold(site);
    if (held && asked_ns)
        xfs_proof_took(proof, XFS_WAY_AS_ASKED, 1 << 20, asked_ns);
    uint64_t instead = held ? xfs_proof_expects(proof, XFS_WAY_AS_ASKED, 1 << 20) : 0;
    if (held)
        xfs_site_release(site);
    if (line == NULL)
        return;
    __atomic_fetch_add(&line->asked, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&line->asked_bytes, bytes, __ATOMIC_RELAXED);
    if (asked_ns)
        return;
    __atomic_fetch_add(&line->done, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&line->done_bytes, bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&line->compared_bytes, bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&line->done_ns, done_ns, __ATOMIC_RELAXED);
    __atomic_fetch_add(&line->instead_ns, instead, __ATOMIC_RELAXED);
    __atomic_store_n(&line->verdict, XFS_GAINS, __ATOMIC_RELAXED);
}

/* ---- allocating ------------------------------------------------------------------------------ */

struct ask {
    xcu_context context;
    struct xfs_site *site; /* NULL: not planned */
};

static void look(void *argument)
{
    struct ask *ask = argument;
    ask->context = current();
    ask->site = ask->context ? xfs_site_here(XFS_CLASS_POOL, XFT_DIR_UNKNOWN) : NULL;
    if (ask->site == NULL)
        return;
    bool planned = ask->site->planned && !ask->site->off;
    xfs_site_release(ask->site);
    ask->site = planned ? ask->site : NULL;
}

static bool reuse(const struct ask *ask, xcu_deviceptr *p, size_t bytes)
{
    struct block found = {0};
    if (!take())
        return false;
    struct block *block = find_kept(bytes, ask->context);
    if (block) {
        block->site = ask->site;
        becomes(block, LIVE);
        found = *block;
    }
    give_back();
    if (found.state != LIVE)
        return false;
    *p = found.address;
    if (xfs_apply_buffer_at(found.address, bytes, XCU_PTR_LEGACY_IPC) == found.buffer)
        return true;
    forget(found.address); /* its end was not seen */
    return false;
}

static void follow(const struct ask *ask, xcu_deviceptr address, size_t bytes)
{
    xcu_device device;
    uint64_t buffer = xfs_apply_buffer_at(address, bytes, XCU_PTR_LEGACY_IPC);
    if (may_keep == 0 && xfs_apply_driver()->device(&device) == XCU_SUCCESS)
        find_most(device);
    if (buffer == 0 || !take())
        return;
    struct block *old = find_live(address), *block = old ? old : find_free();
    if (block) {
        if (old)
            becomes(old, FREE); /* its end was not seen */
        *block = (struct block){address, bytes, ask->context, buffer, ask->site, FREE, 0};
        becomes(block, LIVE);
    }
    give_back();
}

typedef int alloc_function(xcu_deviceptr *, size_t);

bool xfs_pool_alloc(xfs_function real, xcu_deviceptr *p, size_t bytes, int *status)
{
    struct ask ask = {0};
    uint64_t begun = xfs_apply_now_ns();
    if (p == NULL || bytes == 0 || !xfs_may_call_kernel() || xfs_apply_captures() ||
        !xfs_apply_begin() || !xfs_on_own_stack(look, &ask))
        return false;
    *status = XCU_SUCCESS;
    if (ask.site && reuse(&ask, p, bytes)) {
        tell(ask.site, bytes, 0, xfs_apply_now_ns() - begun);
        return true;
    }
    begun = xfs_apply_now_ns();
    *status = ((alloc_function *)real)(p, bytes);
    if (*status == XCU_ERROR_OUT_OF_MEMORY && xfs_pool_drain())
        *status = ((alloc_function *)real)(p, bytes);
    if (ask.site && *status == XCU_SUCCESS) {
        tell(ask.site, bytes, xfs_apply_now_ns() - begun, 0);
        follow(&ask, *p, bytes);
    }
    return true;
}

/* ---- freeing --------------------------------------------------------------------------------- */

/* The program's own block, of the current context, and the same allocation still; it stays live
 * until its work has been waited for. */
static bool is_ours(xcu_deviceptr p, xcu_context context)
{
    struct block found = {0};
    if (!take())
        return false;
    struct block *block = find_live(p);
    if (block)
        found = *block;
    give_back();
    return found.state == LIVE && found.context == context &&
           xfs_apply_buffer_at(p, found.bytes, XCU_PTR_LEGACY_IPC) == found.buffer;
}

/* Freed by the program already. */
static bool is_kept(xcu_deviceptr p)
{
    bool kept = false;
    if (!take())
        return false;
    for (unsigned i = 0; i < BLOCKS && !kept; i++)
        kept = blocks[i].state == KEPT && blocks[i].address == p;
    give_back();
    return kept;
}

static bool keep(xcu_deviceptr p)
{
    if (!take())
        return false;
    struct block *block = find_live(p);
    if (block)
        becomes(block, KEPT);
    give_back();
    return block != NULL;
}

bool xfs_pool_free(xcu_deviceptr p, int *status)
{
    xcu_context context = p ? current() : NULL;
    if (context && is_kept(p)) {
        *status = XCU_ERROR_INVALID_VALUE;
        return true;
    }
    bool kept = context && xfs_may_call_kernel() && !xfs_apply_captures() && is_ours(p, context);
    if (kept) {
        *status = xfs_apply_driver()->context_wait();
        kept = *status == XCU_SUCCESS && keep(p);
    }
    if (kept)
        give_to_driver(true);
    else
        forget(p);
    return kept;
}

/* ---- the ends -------------------------------------------------------------------------------- */

void xfs_pool_leave(xcu_context context)
{
    if (!take())
        return;
    for (unsigned i = 0; i < BLOCKS; i++)
        if (blocks[i].state != FREE && (context == NULL || blocks[i].context == context))
            becomes(&blocks[i], FREE);
    give_back();
}

void xfs_pool_after_fork(void)
{
    memset(blocks, 0, sizeof blocks);
    live_bytes = kept_bytes = most_bytes = 0;
    atomic_flag_clear(&taken);
}
