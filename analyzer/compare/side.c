#include "analyzer/compare/side.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/compare/match.h"

/* The run in the middle by span, else by wall time, else the first. */
static size_t middle_run(struct xfa_snapshot *const *runs, size_t count)
{
    size_t best = 0;
    for (size_t i = 0; i < count; i++) {
        double own = runs[i]->measures[XFA_MEASURE_SPAN].value;
        size_t below = 0;
        for (size_t k = 0; k < count; k++) {
            double other = runs[k]->measures[XFA_MEASURE_SPAN].value;
            below += other < own || (other == own && k < i);
        }
        if (!isnan(own) && below == (count - 1) / 2)
            best = i;
    }
    return best;
}

/* Transfers and bytes of each repetition, while rows are gathered. */
struct counts {
    double transfers[XFA_COMPARED_RUNS], bytes[XFA_COMPARED_RUNS];
};

struct gathered {
    struct xfa_side *side;
    struct counts *counts;
    const struct xfa_snapshot_row **known; /* of side's rows */
    size_t capacity, counts_capacity, known_capacity;
};

static size_t new_row(struct gathered *g, const struct xfa_snapshot_row *row)
{
    size_t number = g->side->row_count++;
    g->side->rows = xfa_room(g->side->rows, &g->capacity, number + 1, sizeof *g->side->rows);
    g->counts = xfa_room(g->counts, &g->counts_capacity, number + 1, sizeof *g->counts);
    g->known = xfa_room(g->known, &g->known_capacity, number + 1, sizeof *g->known);
    g->side->rows[number] = (struct xfa_side_row){.row = row, .middle = XFA_UNMATCHED};
    g->counts[number] = (struct counts){{0}, {0}};
    g->known[number] = row;
    return number;
}

static void add_run(struct gathered *g, size_t run)
{
    const struct xfa_snapshot *taken = g->side->runs[run];
    const struct xfa_snapshot_row **rows = xfa_alloc((taken->row_count + 1) * sizeof *rows);
    for (size_t i = 0; i < taken->row_count; i++)
        rows[i] = &taken->rows[i];
    size_t *to = xfa_match_rows(rows, taken->row_count, g->known, g->side->row_count);
    for (size_t i = 0; i < taken->row_count; i++) {
        const struct xfa_snapshot_row *row = rows[i];
        bool same = g->known && to[i] != XFA_UNMATCHED &&
                    !(xfa_moved_of(g->known[to[i]], row) & (XFA_MOVED_CALL | XFA_MOVED_KIND));
        if (!same && g->side->row_count >= XFA_MAX_CLASSES)
            continue;
        size_t number = same ? to[i] : new_row(g, row);
        struct xfa_side_row *found = &g->side->rows[number];
        found->runs++;
        found->times[run] = row->time;
        found->middle = run == g->side->middle ? i : found->middle;
        g->counts[number].transfers[run] = (double)row->transfers;
        g->counts[number].bytes[run] = (double)row->bytes;
    }
    free(to);
    free(rows);
}

struct xfa_side xfa_side_of(struct xfa_snapshot **runs, size_t count)
{
    struct xfa_side side = {.runs = runs, .count = count, .middle = middle_run(runs, count)};
    struct gathered g = {.side = &side};
    for (size_t run = 0; run < count; run++)
        add_run(&g, run);
    for (size_t i = 0; i < side.row_count; i++) {
        side.rows[i].transfers = xfa_median(g.counts[i].transfers, count);
        side.rows[i].bytes = xfa_median(g.counts[i].bytes, count);
    }
    free(g.counts);
    free(g.known);
    return side;
}

void xfa_side_free(struct xfa_side *side)
{
    free(side->rows);
    side->rows = NULL;
}
