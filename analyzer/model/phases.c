/* Ranges nested in threads. */
#include "analyzer/model/phases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

struct open_range {
    uint32_t path;
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

void xfa_phases_init(struct xfa_phases *phases)
{
    *phases = (struct xfa_phases){0};
    xfa_table_init(&phases->paths, sizeof(struct xfa_phase_key), sizeof(struct xfa_phase_path));
    xfa_table_init(&phases->lanes, sizeof(uint32_t), sizeof(struct lane));
    struct xfa_phase_key outside = {0};
    xfa_table_put(&phases->paths, &outside);
}

void xfa_phases_free(struct xfa_phases *phases)
{
    for (size_t i = 0; i < phases->lanes.count; i++)
        free(((struct lane *)xfa_table_at(&phases->lanes, i))->open);
    xfa_table_free(&phases->paths);
    xfa_table_free(&phases->lanes);
    xfa_table_free(&phases->of_process);
    free(phases->latest);
    phases->latest = NULL;
}

/* ---- paths ------------------------------------------------------------------------------ */

uint32_t xfa_phases_path(struct xfa_phases *phases, struct xfa_phase_key key)
{
    struct xfa_table *paths = &phases->paths;
    struct xfa_phase_path *path = xfa_table_get(paths, &key);
    if (!path && paths->count >= XFA_MAX_PATHS) {
        phases->beyond++;
        return key.parent;
    }
    path = path ? path : xfa_table_put(paths, &key);
    return (uint32_t)(((unsigned char *)path - paths->items) / sizeof *path);
}

static struct xfa_phase_figures *figures_of(struct xfa_phases *phases, uint32_t path)
{
    return &((struct xfa_phase_path *)xfa_table_at(&phases->paths, path))->figures;
}

void xfa_phases_count(struct xfa_phase_figures *figures, const struct xfa_transfer *transfer)
{
    struct xfa_sum *sum = &figures->by_direction[transfer->direction];
    figures->transfers++;
    sum->transfers++;
    sum->bytes = xfa_add(sum->bytes, transfer->event->bytes);
    if (!isnan(transfer->achieved_ns)) {
        sum->ns += transfer->achieved_ns;
        figures->timed++;
        figures->transfer_ns += transfer->achieved_ns;
    }
    if (!isnan(transfer->lost_ns)) {
        figures->priced++;
        figures->lost_ns += transfer->lost_ns;
    }
}

void xfa_phase_figures_merge(struct xfa_phase_figures *into, const struct xfa_phase_figures *from)
{
    for (size_t d = 0; d < XFT_DIRECTION_COUNT; d++) {
        into->by_direction[d].transfers += from->by_direction[d].transfers;
        into->by_direction[d].bytes =
            xfa_add(into->by_direction[d].bytes, from->by_direction[d].bytes);
        into->by_direction[d].ns += from->by_direction[d].ns;
    }
    into->times += from->times;
    into->ns += from->ns;
    into->transfers += from->transfers;
    into->timed += from->timed;
    into->transfer_ns += from->transfer_ns;
    into->priced += from->priced;
    into->lost_ns += from->lost_ns;
}

/* ---- threads ---------------------------------------------------------------------------- */

/* Adds the length of a range to its figures. A range over a limit has its parent's path: its time
 * is in there already. */
static void close_range(struct xfa_phases *phases, const struct open_range *range, bool own,
                        uint64_t end_ns)
{
    if (own && end_ns > range->start_ns)
        figures_of(phases, range->path)->ns += (double)(end_ns - range->start_ns);
}

static uint32_t path_around(const struct lane *lane, size_t i)
{
    return i > 0 ? lane->open[i - 1].path : 0;
}

static void close_all(struct xfa_phases *phases, struct lane *lane, uint64_t end_ns)
{
    for (size_t i = 0; i < lane->count; i++)
        close_range(phases, &lane->open[i], lane->open[i].path != path_around(lane, i), end_ns);
    lane->count = 0;
    lane->beyond = 0;
}

void xfa_phases_lane(struct xfa_phases *phases, const struct xfa_batch *batch)
{
    struct lane *lane = xfa_table_get(&phases->lanes, &batch->lane);
    if (!lane)
        lane = xfa_table_put(&phases->lanes, &batch->lane);
    else if (lane->tid != batch->tid)
        close_all(phases, lane, lane->last_ns); /* that thread has ended */
    lane->tid = batch->tid;
    phases->lane = (uint32_t)(((unsigned char *)lane - phases->lanes.items) / sizeof *lane);
}

static void begin(struct xfa_phases *phases, struct lane *lane, const struct xft_event *event)
{
    if (lane->count == XFA_MAX_NESTING) {
        lane->beyond++;
        phases->beyond++;
        return;
    }
    uint32_t outer = path_around(lane, lane->count);
    struct xfa_phase_key key = {.parent = outer, .domain = event->src, .name = event->aux};
    uint32_t path = xfa_phases_path(phases, key);
    if (path != outer)
        figures_of(phases, path)->times++;
    lane->open = xfa_room(lane->open, &lane->capacity, lane->count + 1, sizeof *lane->open);
    lane->open[lane->count++] = (struct open_range){path, event->src, event->start_ns};
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
    close_range(phases, &lane->open[i], lane->open[i].path != path_around(lane, i),
                event->start_ns);
    memmove(lane->open + i, lane->open + i + 1, (lane->count - i - 1) * sizeof *lane->open);
    lane->count--;
}

static struct lane *current_lane(struct xfa_phases *phases)
{
    return xfa_table_at(&phases->lanes, phases->lane);
}

void xfa_phases_range(struct xfa_phases *phases, const struct xft_event *event)
{
    struct lane *lane = current_lane(phases);
    lane->last_ns = event->start_ns;
    if (event->start_ns > phases->last_ns)
        phases->last_ns = event->start_ns;
    if (event->dst != 0)
        return; /* the process's: gathered before */
    if (event->kind == XFT_EVENT_RANGE_BEGIN)
        begin(phases, lane, event);
    else
        end(phases, lane, event);
}

void xfa_phases_transfer(struct xfa_phases *phases, const struct xfa_transfer *transfer)
{
    struct lane *lane = current_lane(phases);
    lane->last_ns = transfer->event->end_ns;
    if (lane->last_ns > phases->last_ns)
        phases->last_ns = lane->last_ns;
    xfa_phases_count(figures_of(phases, path_around(lane, lane->count)), transfer);
    xfa_phases_count_process(phases, transfer);
}

void xfa_phases_finish(struct xfa_phases *phases)
{
    for (size_t i = 0; i < phases->lanes.count; i++)
        close_all(phases, xfa_table_at(&phases->lanes, i), phases->last_ns);
    xfa_phases_finish_process(phases);
}
