#include "analyzer/analysis/order.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/compare.h"

/* Not by the numbers of sites and functions, which depend on what was met first. */
static int by_key(const struct xfa_row *a, const struct xfa_row *b)
{
    const size_t from = offsetof(struct xfa_row_key, direction);
    int order = memcmp(&a->site->identity, &b->site->identity, sizeof a->site->identity);
    order = order ? order : strcmp(xfa_row_called(a)->name, xfa_row_called(b)->name);
    order = order ? order : a->function->level - b->function->level;
    return order ? order
                 : memcmp((const char *)&a->key + from, (const char *)&b->key + from,
                          sizeof a->key - from);
}

int xfa_by_bytes(const struct xfa_analysis *analysis, uint32_t a, uint32_t b)
{
    const struct xfa_row *x = xfa_analysis_row(analysis, a), *y = xfa_analysis_row(analysis, b);
    int order = xfa_descending((double)analysis->rows[a].bytes, (double)analysis->rows[b].bytes);
    order = order ? order : strcmp(x->site->text, y->site->text);
    order = order ? order : strcmp(x->function->name, y->function->name);
    return order ? order : by_key(x, y);
}

int xfa_by_lost(const struct xfa_analysis *analysis, uint32_t a, uint32_t b)
{
    int order = xfa_descending(xfa_lost_ns(&analysis->rows[a]), xfa_lost_ns(&analysis->rows[b]));
    return order ? order : xfa_by_bytes(analysis, a, b);
}

int xfa_by_count(const struct xfa_analysis *analysis, uint32_t a, uint32_t b)
{
    int order =
        xfa_descending((double)analysis->rows[a].transfers, (double)analysis->rows[b].transfers);
    return order ? order : xfa_by_bytes(analysis, a, b);
}

struct sorting {
    const struct xfa_analysis *analysis;
    xfa_row_order *order;
};

static int compare(const void *a, const void *b, void *context)
{
    const struct sorting *sorting = context;
    return sorting->order(sorting->analysis, *(const uint32_t *)a, *(const uint32_t *)b);
}

uint32_t *xfa_rows_sorted(const struct xfa_analysis *analysis, xfa_row_order *order)
{
    struct sorting sorting = {analysis, order};
    uint32_t *rows = xfa_alloc((analysis->row_count + 1) * sizeof *rows);
    for (uint32_t i = 0; i < analysis->row_count; i++)
        rows[i] = i;
    qsort_r(rows, analysis->row_count, sizeof *rows, compare, &sorting);
    return rows;
}
