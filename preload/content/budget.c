#include "preload/content/parts.h"

#include <stdio.h>

#include "preload/base/sandbox.h"
#include "preload/content/share.h"
#include "preload/record/clock.h"
#include "preload/record/record.h"

atomic_int xfs_content_mode;

static atomic_ullong spent_whole_ns, spent_sampled_ns;
static atomic_uint skipped[XFS_SKIP_COUNT];
static uint64_t started_ns;
static unsigned share_percent;

void xfs_content_skip(enum xfs_skip why, unsigned n)
{
    atomic_fetch_add_explicit(&skipped[why], n, memory_order_relaxed);
}

/* ---- cost ---------------------------------------------------------------------------------- */

/* Slow machines read and hash 2 bytes per ns, and take 50 ns for each piece. */
static uint64_t expected_ns(const struct xfs_rows *rows)
{
    return xfs_rows_bytes(rows) / 2 + rows->height * rows->depth * 50;
}

#define SAMPLES_NS 12000 /* measured: docs/settings.md */

static atomic_ullong *purse(enum xfs_content_mode mode)
{
    return mode == XFS_CONTENT_WHOLE ? &spent_whole_ns : &spent_sampled_ns;
}

/* Reserves the expected cost of the hash before it is made, since other threads hash at the same
 * time. */
static enum xfs_content_mode reserve(const struct xfs_rows *rows, bool slow_memory,
                                     uint64_t elapsed, uint64_t *reserved)
{
    int setting = atomic_load_explicit(&xfs_content_mode, memory_order_relaxed);
    uint64_t whole = expected_ns(rows);
    const struct xfs_hash_ns cost = {whole, whole < SAMPLES_NS ? whole : SAMPLES_NS};
    for (;;) {
        struct xfs_hash_ns spent = {atomic_load(&spent_whole_ns), atomic_load(&spent_sampled_ns)};
        enum xfs_content_mode mode = xfs_content_afford((enum xfs_content_mode)setting, slow_memory,
                                                        &spent, &cost, elapsed, share_percent);
        bool is_whole = mode == XFS_CONTENT_WHOLE;
        unsigned long long had = is_whole ? spent.whole : spent.sampled;
        *reserved = is_whole ? cost.whole : cost.sampled;
        if (mode == XFS_CONTENT_OFF ||
            atomic_compare_exchange_strong(purse(mode), &had, had + *reserved))
            return mode;
    }
}

static bool setting_is_auto(void)
{
    return atomic_load_explicit(&xfs_content_mode, memory_order_relaxed) == XFS_CONTENT_AUTO;
}

/* ---- hashing ------------------------------------------------------------------------------- */

static void write_event(const struct xft_event *event, uint64_t hash, uint64_t hashed, uint64_t ns)
{
    struct xft_event content = {
        .start_ns = event->start_ns,
        .end_ns = event->start_ns,
        .bytes = event->bytes,
        .dst = event->dst,
        .src = event->src,
        .width = hashed,
        .aux = hash,
        .count = (uint32_t)(ns < UINT32_MAX ? ns : UINT32_MAX),
        .src_place = XFT_PLACE_UNKNOWN,
        .dst_place = XFT_PLACE_UNKNOWN,
        .device = XFT_PLACE_UNKNOWN,
        .kind = XFT_EVENT_CONTENT,
    };
    xfs_event_write(&content);
}

void xfs_content_hash(const struct xft_event *event, const struct xfs_rows *rows, bool slow_memory)
{
    if (!xfs_may_call_kernel()) {
        xfs_content_skip(XFS_SKIP_UNREADABLE, 1);
        return;
    }
    uint64_t begun = xfs_now_ns(), before = xfs_machine_ns(), reserved, hash, hashed;
    enum xfs_content_mode mode = reserve(rows, slow_memory, before - started_ns, &reserved);
    if (mode == XFS_CONTENT_OFF) {
        xfs_content_skip(XFS_SKIP_BUDGET, 1);
        return;
    }
    bool good = mode == XFS_CONTENT_WHOLE ? xfs_hash_whole(rows, &hash, &hashed)
                                          : xfs_hash_sampled(rows, &hash, &hashed);
    uint64_t took = xfs_machine_ns() - before, passed = xfs_now_ns() - begun;
    atomic_fetch_add_explicit(purse(mode), took - reserved, memory_order_relaxed);
    if (good && setting_is_auto())
        xfs_places_hashed(event->dst, event->bytes, hash);
    if (good) /* in the run's time: a simulated one may stand still meanwhile */
        write_event(event, hash, hashed, passed < took ? passed : took);
    else
        xfs_content_skip(XFS_SKIP_UNREADABLE, 1);
}

/* ---- life ---------------------------------------------------------------------------------- */

void xfs_budget_start(unsigned percent)
{
    started_ns = xfs_machine_ns();
    share_percent = percent;
}

void xfs_budget_note(void)
{
    static const char *const words[] = {
#define X(symbol, word) word,
        XFS_SKIPS(X)
#undef X
    };
    xfs_note_number("content.ns", atomic_load(&spent_whole_ns) + atomic_load(&spent_sampled_ns));
    for (size_t i = 0; i < XFS_SKIP_COUNT; i++) {
        char key[48];
        snprintf(key, sizeof key, "content.skipped.%s", words[i]);
        if (atomic_load(&skipped[i]))
            xfs_note_number(key, atomic_load(&skipped[i]));
    }
}

void xfs_budget_after_fork(void)
{
    atomic_store(&spent_whole_ns, 0);
    atomic_store(&spent_sampled_ns, 0);
    for (size_t i = 0; i < XFS_SKIP_COUNT; i++)
        atomic_store(&skipped[i], 0);
}
