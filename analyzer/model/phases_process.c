/*
 * Ranges of the process: begun by one thread, ended by any. They are gathered first, then asked for
 * by time. Sorted by start they form a binary tree (the middle of a stretch is the root of it) in
 * which `latest` holds the latest end below each node, so that the open ones at a time are found
 * without looking at the others.
 */
#include "analyzer/model/phases.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"

struct process_range {
    uint64_t id; /* key */
    uint64_t domain, name;
    uint64_t start_ns, end_ns;
    uint32_t path;
    bool ended;
};

static struct process_range *at(const struct xfa_phases *phases, size_t i)
{
    return xfa_table_at(&phases->of_process, i);
}

void xfa_phases_gather(struct xfa_phases *phases, const struct xft_event *event)
{
    struct xfa_table *ranges = &phases->of_process;
    bool begins = event->kind == XFT_EVENT_RANGE_BEGIN;
    if (!begins && event->kind != XFT_EVENT_RANGE_END)
        return;
    phases->any = true;
    if (event->dst == 0)
        return;
    if (ranges->item_bytes == 0)
        xfa_table_init(ranges, sizeof(uint64_t), sizeof(struct process_range));
    struct process_range *range = xfa_table_get(ranges, &event->dst);
    if (!range && ranges->count >= XFA_MAX_PROCESS_RANGES) {
        phases->beyond += begins;
        return;
    }
    range = range ? range : xfa_table_put(ranges, &event->dst);
    if (begins) {
        range->domain = event->src;
        range->name = event->aux;
        range->start_ns = event->start_ns;
    } else { /* lanes come one after the other: the end may be met first */
        range->end_ns = event->start_ns;
        range->ended = true;
    }
    if (event->start_ns > phases->last_ns)
        phases->last_ns = event->start_ns;
}

static int by_start(const void *a, const void *b)
{
    const struct process_range *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static uint64_t build(struct xfa_phases *phases, size_t low, size_t high)
{
    if (low >= high)
        return 0;
    size_t middle = low + (high - low) / 2;
    uint64_t left = build(phases, low, middle), right = build(phases, middle + 1, high);
    uint64_t latest = at(phases, middle)->ended ? at(phases, middle)->end_ns : UINT64_MAX;
    latest = left > latest ? left : latest;
    latest = right > latest ? right : latest;
    return phases->latest[middle] = latest;
}

/* Those that never began (their end is all there is) are left out. */
static size_t drop_strays(struct xfa_phases *phases)
{
    size_t kept = 0;
    for (size_t i = 0; i < phases->of_process.count; i++) {
        if (at(phases, i)->start_ns == 0)
            phases->stray_ends++;
        else
            *at(phases, kept++) = *at(phases, i);
    }
    return kept;
}

/* The table is an array from here on: its index by id is not used any more. */
void xfa_phases_ready(struct xfa_phases *phases)
{
    phases->shared = drop_strays(phases);
    if (phases->shared == 0)
        return;
    qsort(phases->of_process.items, phases->shared, sizeof(struct process_range), by_start);
    phases->latest = xfa_alloc(phases->shared * sizeof *phases->latest);
    build(phases, 0, phases->shared);
    for (size_t i = 0; i < phases->shared; i++) {
        struct process_range *range = at(phases, i);
        struct xfa_phase_key key = {.process = 1, .domain = range->domain, .name = range->name};
        range->path = xfa_phases_path(phases, key);
    }
}

struct question {
    struct xfa_phases *phases;
    const struct xfa_transfer *transfer;
    unsigned found;
    uint32_t paths[XFA_MAX_OPEN]; /* of those found */
};

/* Two open ranges of one path are one place for the transfer. */
static void count_once(struct question *question, uint32_t path)
{
    for (unsigned i = 0; i < question->found; i++)
        if (question->paths[i] == path)
            return;
    if (question->found == XFA_MAX_OPEN) {
        question->phases->beyond++;
        return;
    }
    question->paths[question->found++] = path;
    struct xfa_phase_path *at_path = xfa_table_at(&question->phases->paths, path);
    if (path != 0)
        xfa_phases_count(&at_path->figures, question->transfer);
}

static void ask(struct question *question, size_t low, size_t high)
{
    struct xfa_phases *phases = question->phases;
    uint64_t when = question->transfer->event->start_ns;
    if (low >= high || question->found == XFA_MAX_OPEN)
        return; /* as many as are looked at */
    size_t middle = low + (high - low) / 2;
    if (phases->latest[middle] <= when)
        return;
    ask(question, low, middle);
    const struct process_range *range = at(phases, middle);
    if (range->start_ns > when)
        return;
    if (!range->ended || range->end_ns > when)
        count_once(question, range->path);
    ask(question, middle + 1, high);
}

void xfa_phases_count_process(struct xfa_phases *phases, const struct xfa_transfer *transfer)
{
    struct question question = {phases, transfer, 0, {0}};
    if (phases->shared > 0)
        ask(&question, 0, phases->shared);
}

void xfa_phases_finish_process(struct xfa_phases *phases)
{
    for (size_t i = 0; i < phases->shared; i++) {
        const struct process_range *range = at(phases, i);
        struct xfa_phase_path *path = xfa_table_at(&phases->paths, range->path);
        uint64_t end_ns = range->ended ? range->end_ns : phases->last_ns;
        if (range->path == 0)
            continue;
        path->figures.times++;
        if (end_ns > range->start_ns)
            path->figures.ns += (double)(end_ns - range->start_ns);
    }
}
