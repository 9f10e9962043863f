#include "preload/apply/gpus/peer_access.h"

#include <string.h>
#include <sys/mman.h>

#include "preload/apply/gpus/crossings.h"
#include "preload/apply/state/driver.h"

#define TRIED ((size_t)1 << 20) /* bytes of our own, each way */

/* ---- a trial with memory of our own ---------------------------------------------------------- */

struct trial {
    const struct xfs_apply_driver *driver;
    xcu_deviceptr memory[2];
    char *host; /* what is sent, and what arrives */
};

/* Different for every word, both ways and each time. */
static void make_pattern(char *bytes)
{
    uint64_t value = xfs_apply_now_ns() | 1;
    for (size_t at = 0; at < TRIED; at += sizeof value) {
        value = value * 6364136223846793005u + 1442695040888963407u;
        memcpy(bytes + at, &value, sizeof value);
    }
}

/* Copies of pageable memory to the host have their data when they return. In the context of the
 * sending side. */
static bool arrives(struct trial *trial, unsigned from)
{
    const struct xfs_apply_driver *driver = trial->driver;
    xcu_stream stream = XCU_STREAM_LEGACY;
    make_pattern(trial->host);
    memset(trial->host + TRIED, 0, TRIED);
    return driver->to_device(trial->memory[from], trial->host, TRIED, stream) == XCU_SUCCESS &&
           driver->between(trial->memory[!from], trial->memory[from], TRIED, stream) ==
               XCU_SUCCESS &&
           driver->to_host(trial->host + TRIED, trial->memory[!from], TRIED, stream) ==
               XCU_SUCCESS &&
           memcmp(trial->host, trial->host + TRIED, TRIED) == 0;
}

static bool in_context(struct trial *trial, const struct xfs_pair *pair, unsigned side,
                       bool (*work)(struct trial *trial, unsigned side))
{
    xcu_context popped;
    if (trial->driver->push(pair->of.context[side]) != XCU_SUCCESS)
        return false;
    bool done = work(trial, side);
    trial->driver->pop(&popped);
    return done;
}

static bool allocate(struct trial *trial, unsigned side)
{
    return trial->driver->alloc(&trial->memory[side], TRIED) == XCU_SUCCESS;
}

static bool release(struct trial *trial, unsigned side)
{
    return trial->memory[side] == 0 || trial->driver->free(trial->memory[side]) == XCU_SUCCESS;
}

static bool is_right(const struct xfs_pair *pair)
{
    struct trial trial = {.driver = xfs_apply_driver()};
    trial.host = mmap(NULL, 2 * TRIED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (trial.host == MAP_FAILED)
        return false;
    bool right = in_context(&trial, pair, 0, allocate) && in_context(&trial, pair, 1, allocate) &&
                 in_context(&trial, pair, 0, arrives) && in_context(&trial, pair, 1, arrives);
    for (unsigned side = 0; side < 2; side++)
        (void)in_context(&trial, pair, side, release);
    munmap(trial.host, 2 * TRIED);
    return right;
}

/* ---- enabling -------------------------------------------------------------------------------- */

/* Said before it is done: the program's own call may come between. */
static bool enable_from(struct xfs_pair *pair, unsigned side)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    xcu_context popped;
    if (driver->push(pair->of.context[side]) != XCU_SUCCESS)
        return false;
    xfs_pair_is_to_be_ours(pair, side);
    bool enabled = driver->enable_peer(pair->of.context[!side], 0) == XCU_SUCCESS;
    if (!enabled)
        atomic_store(&pair->ours[side], false);
    driver->pop(&popped);
    return enabled;
}

static void disable_from(struct xfs_pair *pair, unsigned side)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    xcu_context popped;
    if (!atomic_load(&pair->ours[side]) || atomic_load(&pair->programs[side]))
        return;
    for (unsigned i = 0; i < 2; i++) /* copies by it, and from or to it, are over */
        xfs_crossings_wait(pair->of.context[i]);
    if (driver->push(pair->of.context[side]) != XCU_SUCCESS)
        return;
    if (driver->disable_peer(pair->of.context[!side]) == XCU_SUCCESS)
        atomic_store(&pair->ours[side], false);
    driver->pop(&popped);
}

bool xfs_pair_enable(struct xfs_pair *pair)
{
    int mode = XCU_CAPTURE_MODE_RELAXED;
    if (!xfs_contexts_alive(&pair->of))
        return false;
    xfs_apply_driver()->exchange(&mode);
    bool enabled = enable_from(pair, 0) && enable_from(pair, 1) && is_right(pair);
    for (unsigned side = 0; side < 2 && !enabled; side++)
        disable_from(pair, side);
    xfs_apply_driver()->exchange(&mode);
    return enabled;
}

void xfs_pair_disable(struct xfs_pair *pair)
{
    int mode = XCU_CAPTURE_MODE_RELAXED;
    if (!xfs_contexts_alive(&pair->of))
        return;
    xfs_apply_driver()->exchange(&mode);
    for (unsigned side = 0; side < 2; side++)
        disable_from(pair, side);
    xfs_apply_driver()->exchange(&mode);
}

/* ---- the program's own calls ----------------------------------------------------------------- */

static struct xfs_pair *pair_with(xcu_context peer, unsigned *side)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    xcu_context current = NULL;
    if (driver == NULL || !xfs_pairs_any() || peer == NULL ||
        driver->current(&current) != XCU_SUCCESS || current == NULL || current == peer)
        return NULL;
    struct xfs_pair *pair = xfs_pair_find(current, peer);
    if (pair == NULL || !xfs_contexts_alive(&pair->of))
        return NULL;
    *side = pair->of.context[1] == current;
    return pair;
}

/* A context may reach so many peers and no more: those are the program's. */
static bool make_place(xcu_context from)
{
    struct xfs_pair *pair;
    bool any = false;
    for (unsigned i = 0; (pair = xfs_pair_at(i)) != NULL; i++)
        for (unsigned side = 0; side < 2; side++) {
            if (pair->of.context[side] != from || !atomic_load(&pair->ours[side]))
                continue;
            atomic_store(&pair->phase, XFS_PAIR_OFF);
            disable_from(pair, side);
            any |= !atomic_load(&pair->ours[side]);
        }
    return any;
}

int xfs_access_enable(xcu_result (*real)(xcu_context, unsigned), xcu_context peer, unsigned flags)
{
    unsigned side;
    int status = real(peer, flags);
    struct xfs_pair *pair = pair_with(peer, &side);
    xcu_context current = NULL;
    if (status == XCU_ERROR_TOO_MANY_PEERS && xfs_pairs_any() &&
        xfs_apply_driver()->current(&current) == XCU_SUCCESS && current && make_place(current))
        status = real(peer, flags);
    if (pair == NULL)
        return status;
    if (status == XCU_ERROR_PEER_ACCESS_ALREADY_ENABLED && flags == 0 &&
        atomic_load(&pair->ours[side]) && !atomic_exchange(&pair->programs[side], true))
        return XCU_SUCCESS;
    if (status == XCU_SUCCESS) {
        int phase = XFS_PAIR_ASKED, due = XFS_PAIR_DUE;
        atomic_store(&pair->programs[side], true);
        if (!atomic_compare_exchange_strong(&pair->phase, &phase, XFS_PAIR_OFF))
            atomic_compare_exchange_strong(&pair->phase, &due, XFS_PAIR_OFF);
    }
    return status;
}

int xfs_access_disable(xcu_result (*real)(xcu_context), xcu_context peer)
{
    unsigned side;
    struct xfs_pair *pair = pair_with(peer, &side);
    if (pair == NULL)
        return real(peer);
    if (atomic_load(&pair->ours[side]) && !atomic_load(&pair->programs[side]))
        return XCU_ERROR_PEER_ACCESS_NOT_ENABLED;
    int status = real(peer);
    if (status == XCU_SUCCESS) {
        atomic_store(&pair->programs[side], false);
        atomic_store(&pair->ours[side], false);
        atomic_store(&pair->phase, XFS_PAIR_OFF); /* the program does not want it */
    }
    return status;
}

/* ---- the ends -------------------------------------------------------------------------------- */

static void end(struct xfs_pair *pair, unsigned side)
{
    (void)side;
    xfs_pair_disable(pair); /* whatever becomes of it, it is not what the program finds later */
    xfs_timed_drop(&pair->timed);
    xfs_pair_end(pair);
}

void xfs_peer_access_leave(xcu_context context)
{
    if (context && xfs_apply_driver() && xfs_pairs_any())
        xfs_pairs_of(context, end);
}
