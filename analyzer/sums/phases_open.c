/* The phases of the ranges that are open; which ones are open is the walk's business (ranges.h). */
#include "analyzer/sums/phases_private.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"

/* Beside a range, by its slot. */
struct xfa_open_phase {
    uint32_t phase;
    uint32_t nesting; /* phases on its path */
    bool own;         /* false: over a limit, in the phase of the one around it */
};

struct shared {
    uint32_t phase;  /* key */
    uint32_t ranges; /* open ones */
    uint32_t place;  /* in `now`, while there are any */
};

static struct xfa_open_phase *beside(struct xfa_open_phases *open, const struct xfa_range *range)
{
    open->by_slot = xfa_grown(open->by_slot, &open->slot_capacity, &open->slot_count, range->slot,
                              sizeof *open->by_slot);
    return &open->by_slot[range->slot];
}

/* ---- ranges of the process -------------------------------------------------------------- */

/* Two open ranges of one phase are one place for a transfer. */
static void share(struct xfa_phases *phases, uint32_t phase)
{
    struct xfa_open_phases *open = &phases->now->open;
    struct shared *shared = xfa_table_put(&open->shared, &phase);
    if (shared->ranges++ > 0)
        return;
    phases->beyond += open->now_count >= XFA_MAX_OPEN;
    shared->place = (uint32_t)open->now_count;
    open->now = xfa_room(open->now, &open->now_capacity, open->now_count + 1, sizeof *open->now);
    open->now[open->now_count++] =
        (uint32_t)(shared - (struct shared *)xfa_table_at(&open->shared, 0));
}

static void unshare(struct xfa_open_phases *open, uint32_t phase)
{
    struct shared *shared = xfa_table_get(&open->shared, &phase);
    if (--shared->ranges > 0)
        return;
    uint32_t last = open->now[--open->now_count];
    open->now[shared->place] = last;
    ((struct shared *)xfa_table_at(&open->shared, last))->place = shared->place;
}

/* ---- all of them ------------------------------------------------------------------------ */

void xfa_open_init(struct xfa_open_phases *open)
{
    *open = (struct xfa_open_phases){0};
    xfa_table_init(&open->shared, sizeof(uint32_t), sizeof(struct shared));
}

void xfa_open_free(struct xfa_open_phases *open)
{
    xfa_table_free(&open->shared);
    free(open->by_slot);
    free(open->now);
}

void xfa_open_begin(struct xfa_phases *phases, const struct xfa_range *range)
{
    struct xfa_open_phases *open = &phases->now->open;
    struct xfa_open_phase outer = {0};
    if (range->outer)
        outer = open->by_slot[range->outer - 1];
    bool nests = outer.nesting < XFA_MAX_NESTING;
    uint32_t phase = nests ? xfa_phase_of(phases, outer.phase, range) : outer.phase;
    bool own = phase != outer.phase;
    phases->beyond += !nests;
    *beside(open, range) = (struct xfa_open_phase){phase, outer.nesting + own, own};
    if (own)
        xfa_phase_at(phases, phase)->figures.times++;
    if (own && range->id)
        share(phases, phase);
}

/* A range over a limit has its time in the one around it already. */
void xfa_open_end(struct xfa_phases *phases, const struct xfa_range *range, uint64_t end_ns)
{
    struct xfa_open_phases *open = &phases->now->open;
    const struct xfa_open_phase *ended = beside(open, range);
    if (!ended->own)
        return;
    if (end_ns > range->start_ns)
        xfa_phase_at(phases, ended->phase)->figures.ns += (double)(end_ns - range->start_ns);
    if (range->id)
        unshare(open, ended->phase);
}

size_t xfa_open_phases(const struct xfa_phases *phases, const struct xfa_range *innermost,
                       uint32_t numbers[XFA_PHASES_OF_ONE])
{
    const struct xfa_open_phases *open = &phases->now->open;
    size_t count = 0;
    numbers[count++] = innermost ? open->by_slot[innermost->slot].phase : 0;
    for (size_t i = 0; i < open->now_count && i < XFA_MAX_OPEN; i++) {
        const struct shared *shared = xfa_table_at(&open->shared, open->now[i]);
        numbers[count++] = shared->phase;
    }
    return count;
}
