#include "preload/record/cost.h"

#include <errno.h>
#include <stdio.h>

#include "preload/base/sandbox.h"
#include "preload/record/clock.h"
#include "preload/record/lanes.h"
#include "preload/record/recorder.h"
#include "xferscope/trace.h"

#define NONSENSE_NS UINT64_C(1000000000) /* the clock was another one meanwhile */

#define ONE_MORE(symbol, word, of, with) +1
_Static_assert(XFS_COST_KINDS == 1 XFT_EVENT_LIST(ONE_MORE, ), "every kind has its figures");

/* ---- figures ------------------------------------------------------------------------------ */

static unsigned class_of(uint64_t ns)
{
    if (ns < XFS_COST_EXACT)
        return (unsigned)ns;
    unsigned octave = 63 - (unsigned)__builtin_clzll(ns); /* 5 and more */
    unsigned in_class = XFS_COST_EXACT + 16 * (octave - 5) + ((unsigned)(ns >> (octave - 4)) & 15);
    return in_class < XFS_COST_CLASSES ? in_class : XFS_COST_CLASSES - 1;
}

static void limits_of(unsigned in_class, uint64_t *least, uint64_t *width)
{
    *least = in_class;
    *width = 1;
    if (in_class < XFS_COST_EXACT)
        return;
    unsigned shift = (in_class - XFS_COST_EXACT) / 16 + 1;
    *least = (uint64_t)(16 + (in_class - XFS_COST_EXACT) % 16) << shift;
    *width = UINT64_C(1) << shift;
}

void xfs_cost_add(struct xfs_costs *costs, uint8_t kind, uint64_t ns)
{
    atomic_fetch_add_explicit(&costs->counts[kind][class_of(ns)], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&costs->n[kind], 1, memory_order_release);
}

/* Within its class a figure is taken to be where its rank is. */
uint64_t xfs_cost_median(struct xfs_costs *costs, uint8_t kind)
{
    uint64_t n = atomic_load_explicit(&costs->n[kind], memory_order_acquire);
    uint64_t rank = n / 2, before = 0, least, width;
    for (unsigned i = 0; n > 0 && i < XFS_COST_CLASSES; i++) {
        uint64_t count = atomic_load_explicit(&costs->counts[kind][i], memory_order_relaxed);
        if (before + count > rank) {
            limits_of(i, &least, &width);
            return least + (2 * (rank - before) + 1) * width / (2 * count);
        }
        before += count;
    }
    return 0;
}

/* ---- calls -------------------------------------------------------------------------------- */

struct xfs_lane *xfs_cost_begins(struct xfs_lane *lane)
{
    lane->until_timed = XFS_COST_TIMED;
    lane->counted = 0;
    lane->unusual = 0;
    lane->timed_from_ns = xfs_now_apart_ns();
    return lane;
}

void xfs_cost_unusual(unsigned why)
{
    struct xfs_lane *lane = xfs_self;
    if (lane == NULL)
        return;
    if (lane->until_timed != XFS_COST_TIMED) {
        lane->counted = lane->until_timed;
        lane->until_timed = XFS_COST_TIMED;
        lane->unusual = 0;
    }
    lane->unusual |= (uint16_t)why;
}

void xfs_cost_attached(struct xfs_lane *lane, uint64_t from_ns, uint64_t worked_ns)
{
    lane->attached_from_ns = from_ns;
    lane->worked_ns = worked_ns;
    lane->attached_until_ns = xfs_now_apart_ns();
}

uint32_t xfs_cost_count(uint32_t before)
{
    return before > 0 && before < XFS_COST_TIMED ? before : XFS_COST_FIRST;
}

uint64_t xfs_cost_calls(uint8_t kind)
{
    struct xfs_recorder *recorder = xfs_recorder_current();
    return recorder && kind < XFS_COST_KINDS
               ? atomic_load_explicit(&recorder->costs.calls[kind], memory_order_relaxed)
               : 0;
}

uint64_t xfs_cost_spent_ns(void)
{
    struct xfs_recorder *recorder = xfs_recorder_current();
    uint64_t ns = 0;
    for (uint8_t kind = 0; recorder && kind < XFS_COST_KINDS; kind++) {
        uint64_t calls = xfs_cost_calls(kind);
        if (calls > 0)
            ns += calls * xfs_cost_median(&recorder->costs, kind);
    }
    return ns;
}

/* ---- META --------------------------------------------------------------------------------- */

void xfs_cost_note(struct xfs_recorder *recorder, bool end)
{
    struct xfs_costs *costs = &recorder->costs;
    for (uint8_t kind = 0; kind < XFS_COST_KINDS; kind++) {
        char pairs[128];
        unsigned n = atomic_load_explicit(&costs->n[kind], memory_order_relaxed);
        if (n == 0 || (!end && n / 2 < costs->noted[kind]))
            continue;
        const char *word = xft_event_word(kind);
        int bytes = snprintf(pairs, sizeof pairs, "cost.%s.ns%c%llu%ccost.%s.n%c%u", word, 0,
                             (unsigned long long)xfs_cost_median(costs, kind), 0, word, 0, n);
        if (xfs_room_add(recorder, XFT_SEG_META, pairs, (size_t)bytes + 1)) /* both or none */
            costs->noted[kind] = n;
    }
}
