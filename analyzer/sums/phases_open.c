/* Ranges as they begin and end in the order of time. */
#include "analyzer/sums/phases_private.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

/* Closed ranges of the process that may lie among the open ones before these are gathered anew. */
#define CLOSED_KEPT 64

struct open_range {
    uint32_t phase;
    bool own; /* false: over a limit, in the phase of the one around it */
    uint64_t domain;
    uint64_t start_ns;
};

/* One lane's open ranges. A lane may serve several threads one after the other. */
struct lane {
    uint32_t id; /* key */
    int32_t tid;
    struct open_range *open;
    size_t count, capacity;
    uint64_t beyond; /* open ones over the limit */
    uint64_t last_ns;
};

struct process_range {
    uint64_t id; /* key */
    uint64_t start_ns;
    uint32_t phase; /* 0: over a limit, in none */
    bool open;
};

struct shared {
    uint32_t phase;  /* key */
    uint32_t ranges; /* open ones */
    uint32_t place;  /* in `now`, while there are any */
};

/* Adds the length of a range. A range over a limit has its time in the one around it already. */
static void add_length(struct xfa_phases *phases, uint32_t phase, uint64_t start_ns,
                       uint64_t end_ns)
{
    if (end_ns > start_ns)
        xfa_phase_at(phases, phase)->figures.ns += (double)(end_ns - start_ns);
}

/* ---- ranges of threads ------------------------------------------------------------------ */

static uint32_t innermost(const struct lane *lane)
{
    return lane && lane->count ? lane->open[lane->count - 1].phase : 0;
}

static void close_range(struct xfa_phases *phases, const struct open_range *range, uint64_t end_ns)
{
    if (range->own)
        add_length(phases, range->phase, range->start_ns, end_ns);
}

static void close_all(struct xfa_phases *phases, struct lane *lane, uint64_t end_ns)
{
    for (size_t i = 0; i < lane->count; i++)
        close_range(phases, &lane->open[i], end_ns);
    lane->count = 0;
    lane->beyond = 0;
}

/* NULL: it never had a range. */
static struct lane *lane_at(struct xfa_phases *phases, uint32_t id, int32_t tid)
{
    struct lane *lane = xfa_table_get(&phases->now->open.lanes, &id);
    if (lane && lane->tid != tid) { /* that thread has ended */
        close_all(phases, lane, lane->last_ns);
        lane->tid = tid;
    }
    return lane;
}

static void begin(struct xfa_phases *phases, struct lane *lane, const struct xft_event *event)
{
    if (lane->count == XFA_MAX_NESTING) {
        lane->beyond++;
        phases->beyond++;
        return;
    }
    uint32_t outer = innermost(lane), phase = xfa_phase_of(phases, outer, false, event);
    if (phase != outer)
        xfa_phase_at(phases, phase)->figures.times++;
    lane->open = xfa_room(lane->open, &lane->capacity, lane->count + 1, sizeof *lane->open);
    lane->open[lane->count++] =
        (struct open_range){phase, phase != outer, event->src, event->start_ns};
}

static void end(struct xfa_phases *phases, struct lane *lane, const struct xft_event *event)
{
    if (lane->beyond > 0) {
        lane->beyond--;
        return;
    }
    size_t i = lane->count;
    while (i > 0 && lane->open[i - 1].domain != event->src)
        i--;
    if (i == 0) {
        phases->stray_ends++;
        return;
    }
    i--;
    close_range(phases, &lane->open[i], event->start_ns);
    memmove(lane->open + i, lane->open + i + 1, (lane->count - i - 1) * sizeof *lane->open);
    lane->count--;
}

static void thread_range(struct xfa_phases *phases, const struct xfa_step *step)
{
    struct lane *lane = lane_at(phases, step->lane, step->tid);
    if (!lane) {
        lane = xfa_table_put(&phases->now->open.lanes, &step->lane);
        lane->tid = step->tid;
    }
    lane->last_ns = step->event->start_ns;
    if (step->event->kind == XFT_EVENT_RANGE_BEGIN)
        begin(phases, lane, step->event);
    else
        end(phases, lane, step->event);
}

/* ---- ranges of the process -------------------------------------------------------------- */

/* Two open ranges of one phase are one place for a transfer. */
static void share(struct xfa_phases *phases, uint32_t phase)
{
    struct xfa_open_ranges *open = &phases->now->open;
    struct shared *shared = xfa_table_put(&open->shared, &phase);
    if (shared->ranges++ > 0)
        return;
    phases->beyond += open->now_count >= XFA_MAX_OPEN;
    shared->place = (uint32_t)open->now_count;
    open->now = xfa_room(open->now, &open->now_capacity, open->now_count + 1, sizeof *open->now);
    open->now[open->now_count++] =
        (uint32_t)(shared - (struct shared *)xfa_table_at(&open->shared, 0));
}

static void unshare(struct xfa_open_ranges *open, uint32_t phase)
{
    struct shared *shared = xfa_table_get(&open->shared, &phase);
    if (--shared->ranges > 0)
        return;
    uint32_t last = open->now[--open->now_count];
    open->now[shared->place] = last;
    ((struct shared *)xfa_table_at(&open->shared, last))->place = shared->place;
}

static void process_end(struct xfa_phases *phases, struct process_range *range, uint64_t end_ns)
{
    range->open = false;
    phases->now->open.range_count--;
    if (range->phase == 0) /* over a limit */
        return;
    add_length(phases, range->phase, range->start_ns, end_ns);
    unshare(&phases->now->open, range->phase);
}

/* Tables do not forget: those that are open go to another one when most are not. */
static void forget_closed(struct xfa_open_ranges *open)
{
    if (open->ranges.count < 2 * open->range_count + CLOSED_KEPT)
        return;
    struct xfa_table kept;
    xfa_table_init(&kept, open->ranges.key_bytes, open->ranges.item_bytes);
    for (size_t i = 0; i < open->ranges.count; i++) {
        const struct process_range *range = xfa_table_at(&open->ranges, i);
        if (range->open)
            *(struct process_range *)xfa_table_put(&kept, &range->id) = *range;
    }
    xfa_table_free(&open->ranges);
    open->ranges = kept;
}

static void process_begin(struct xfa_phases *phases, const struct xft_event *event)
{
    struct xfa_open_ranges *open = &phases->now->open;
    struct process_range *range = xfa_table_get(&open->ranges, &event->dst);
    if (range && range->open) /* its end was lost */
        process_end(phases, range, event->start_ns);
    if (open->range_count == XFA_MAX_PROCESS_RANGES) {
        open->dropped++;
        phases->beyond++;
        return;
    }
    uint32_t phase = xfa_phase_of(phases, 0, true, event);
    forget_closed(open);
    range = xfa_table_put(&open->ranges, &event->dst);
    range->phase = phase;
    range->start_ns = event->start_ns;
    range->open = true;
    open->range_count++;
    if (phase == 0)
        return;
    xfa_phase_at(phases, phase)->figures.times++;
    share(phases, phase);
}

static void process_range(struct xfa_phases *phases, const struct xft_event *event)
{
    struct xfa_open_ranges *open = &phases->now->open;
    if (event->kind == XFT_EVENT_RANGE_BEGIN) {
        process_begin(phases, event);
        return;
    }
    struct process_range *range = xfa_table_get(&open->ranges, &event->dst);
    if (range && range->open)
        process_end(phases, range, event->start_ns);
    else if (open->dropped > 0)
        open->dropped--;
    else
        phases->stray_ends++;
}

/* ---- all of them ------------------------------------------------------------------------ */

void xfa_open_init(struct xfa_open_ranges *open)
{
    xfa_table_init(&open->lanes, sizeof(uint32_t), sizeof(struct lane));
    xfa_table_init(&open->ranges, sizeof(uint64_t), sizeof(struct process_range));
    xfa_table_init(&open->shared, sizeof(uint32_t), sizeof(struct shared));
}

void xfa_open_free(struct xfa_open_ranges *open)
{
    for (size_t i = 0; i < open->lanes.count; i++)
        free(((struct lane *)xfa_table_at(&open->lanes, i))->open);
    xfa_table_free(&open->lanes);
    xfa_table_free(&open->ranges);
    xfa_table_free(&open->shared);
    free(open->now);
}

void xfa_open_range(struct xfa_phases *phases, const struct xfa_step *step)
{
    if (step->event->dst == 0)
        thread_range(phases, step);
    else
        process_range(phases, step->event);
}

/* Behind `count` numbers those of the process's ranges that are open. */
static size_t add_shared(const struct xfa_open_ranges *open, uint32_t *numbers, size_t count)
{
    for (size_t i = 0; i < open->now_count && i < XFA_MAX_OPEN; i++) {
        const struct shared *shared = xfa_table_at(&open->shared, open->now[i]);
        numbers[count++] = shared->phase;
    }
    return count;
}

size_t xfa_open_phases(struct xfa_phases *phases, const struct xfa_transfer *transfer,
                       uint32_t numbers[XFA_PHASES_OF_ONE])
{
    const struct xfa_open_ranges *open = &phases->now->open;
    struct lane *lane = lane_at(phases, transfer->lane, transfer->tid);
    if (lane)
        lane->last_ns = transfer->event->end_ns;
    numbers[0] = innermost(lane);
    return add_shared(open, numbers, 1);
}

size_t xfa_phases_of(const struct xfa_phases *phases, const struct xfa_transfer *transfer,
                     uint32_t numbers[XFA_PHASES_OF_ONE])
{
    const struct xfa_phases_process *now = phases->now;
    if (!now || !now->any)
        return 0;
    const struct lane *lane = xfa_table_get(&now->open.lanes, &transfer->lane);
    size_t count = 0;
    numbers[count++] = lane && lane->tid == transfer->tid ? innermost(lane) : 0;
    return add_shared(&now->open, numbers, count);
}

void xfa_open_end(struct xfa_phases *phases, uint64_t end_ns)
{
    struct xfa_open_ranges *open = &phases->now->open;
    for (size_t i = 0; i < open->lanes.count; i++)
        close_all(phases, xfa_table_at(&open->lanes, i), end_ns);
    for (size_t i = 0; i < open->ranges.count; i++) {
        struct process_range *range = xfa_table_at(&open->ranges, i);
        if (range->open)
            process_end(phases, range, end_ns);
    }
}
