#include "analyzer/remeasure/cells.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/compare.h"
#include "common/search.h"

_Static_assert(offsetof(struct xfa_cell_key, reserved) + 2 == sizeof(struct xfa_cell_key),
               "no padding");

/* Cells that differ only in size. */
struct kind {
    struct xfa_cell_key key; /* of no bytes */
    uint32_t from, count;    /* part of `order`, once all cells are taken */
    uint32_t late;           /* number + 1 of the cell of a kind met when all were taken; 0: none */
};

void xfa_cells_init(struct xfa_cells *cells)
{
    *cells = (struct xfa_cells){.most = XFA_MOST_CELLS};
    xfa_table_init(&cells->cells, sizeof(struct xfa_cell_key), sizeof(struct xfa_cell));
    xfa_table_init(&cells->kinds, sizeof(struct xfa_cell_key), sizeof(struct kind));
}

void xfa_cells_free(struct xfa_cells *cells)
{
    xfa_table_free(&cells->cells);
    xfa_table_free(&cells->kinds);
    free(cells->order);
}

static struct xfa_cell *cell_at(struct xfa_cells *cells, size_t i)
{
    return xfa_table_at(&cells->cells, i);
}

static struct xfa_cell_key key_of(const struct xfa_event *event)
{
    const struct xfa_transfer *transfer = &event->transfer;
    const struct xfa_class_key *class = &transfer->class->key;
    struct xfa_cell_key key;
    memset(&key, 0, sizeof key);
    key.bytes = event->bytes;
    key.src_gpu = class->row.src_gpu;
    key.dst_gpu = class->row.dst_gpu;
    key.src_node = class->src_node;
    key.dst_node = class->dst_node;
    key.direction = class->row.direction;
    key.src_mem = class->row.src_mem;
    key.dst_mem = class->row.dst_mem;
    key.async = class->row.async;
    key.peer = class->peer;
    if (class->shape == XFA_STRIDED && transfer->width && event->bytes % transfer->width == 0)
        key.row_bytes = transfer->width;
    key.batch = class->shape != XFA_LINEAR && key.row_bytes == 0;
    return key;
}

static struct xfa_cell_key kind_key(const struct xfa_cell_key *key)
{
    struct xfa_cell_key kind = *key;
    kind.bytes = 0;
    return kind;
}

/* ---- when there are too many ----------------------------------------------------------------- */

static int by_kind_and_size(const void *a, const void *b, void *cells)
{
    const struct xfa_cell_key *x = &cell_at(cells, *(const uint32_t *)a)->key;
    const struct xfa_cell_key *y = &cell_at(cells, *(const uint32_t *)b)->key;
    struct xfa_cell_key kind_x = kind_key(x), kind_y = kind_key(y);
    int order = memcmp(&kind_x, &kind_y, sizeof kind_x);
    return order ? order : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static void put_in_order(struct xfa_cells *cells)
{
    size_t count = cells->cells.count;
    cells->order = xfa_alloc((count + 1) * sizeof *cells->order);
    for (uint32_t i = 0; i < count; i++)
        cells->order[i] = i;
    qsort_r(cells->order, count, sizeof *cells->order, by_kind_and_size, cells);
    for (uint32_t i = 0; i < count; i++) {
        struct xfa_cell_key key = kind_key(&cell_at(cells, cells->order[i])->key);
        struct kind *kind = xfa_table_put(&cells->kinds, &key);
        kind->from = kind->count ? kind->from : i;
        kind->count++;
    }
}

struct wanted {
    struct xfa_cells *cells;
    uint64_t bytes;
};

static bool is_smaller(const void *cell, const void *key)
{
    const struct wanted *wanted = key;
    return cell_at(wanted->cells, *(const uint32_t *)cell)->key.bytes < wanted->bytes;
}

/* The cell of the nearest size, by ratio: 2 KiB is as far from 1 KiB as from 4 KiB. */
static struct xfa_cell *nearest(struct xfa_cells *cells, const struct kind *kind, uint64_t bytes)
{
    const struct wanted wanted = {cells, bytes};
    /* the first cell that is not smaller, else the last one */
    uint32_t low = kind->from + (uint32_t)xfc_partition(cells->order + kind->from, kind->count - 1,
                                                        sizeof *cells->order, is_smaller, &wanted);
    struct xfa_cell *above = cell_at(cells, cells->order[low]);
    if (low == kind->from || above->key.bytes < bytes)
        return above;
    struct xfa_cell *below = cell_at(cells, cells->order[low - 1]);
    double size = (double)bytes;
    return size / (double)below->key.bytes <= (double)above->key.bytes / size ? below : above;
}

static struct xfa_cell *late_cell(struct xfa_cells *cells, const struct xfa_cell_key *key)
{
    struct xfa_cell_key of = kind_key(key);
    struct kind *kind = xfa_table_get(&cells->kinds, &of);
    if (kind)
        return kind->late ? cell_at(cells, kind->late - 1) : nearest(cells, kind, key->bytes);
    if (cells->late_kinds >= XFA_MOST_LATE_KINDS)
        return NULL;
    cells->late_kinds++;
    kind = xfa_table_put(&cells->kinds, &of);
    struct xfa_cell *cell = xfa_table_put(&cells->cells, key);
    kind->late = (uint32_t)cells->cells.count;
    return cell;
}

static struct xfa_cell *cell_of(struct xfa_cells *cells, const struct xfa_cell_key *key)
{
    struct xfa_cell *cell = xfa_table_get(&cells->cells, key);
    if (cell)
        return cell;
    if (!cells->order && cells->cells.count < cells->most)
        return xfa_table_put(&cells->cells, key);
    if (!cells->order)
        put_in_order(cells);
    cell = late_cell(cells, key);
    cells->merged += cell && cell->key.bytes != key->bytes;
    cells->beyond += !cell;
    return cell;
}

/* ---- the observer ---------------------------------------------------------------------------- */

static void take(void *self, const struct xfa_event *event)
{
    struct xfa_cells *cells = self;
    const struct xfa_transfer *transfer = &event->transfer;
    struct xfa_cell_key key = key_of(event);
    struct xfa_cell *cell = cell_of(cells, &key);
    bool timed = transfer->timed != XFA_TIMED_NOT;
    cells->transfers++;
    cells->achieved_ns += timed ? transfer->achieved_ns : 0;
    if (!cell)
        return;
    cell->transfers++;
    if (!timed)
        return;
    cell->timed++;
    cell->achieved_ns += transfer->achieved_ns;
    if (isnan(transfer->lost_ns))
        cell->unpriced_ns += transfer->achieved_ns;
    else
        cell->lost_ns += transfer->lost_ns;
}

struct xfa_observer xfa_cells_observer(struct xfa_cells *cells)
{
    return (struct xfa_observer){.name = "cells", .self = cells, .transfer = take};
}

/* ---- their order ----------------------------------------------------------------------------- */

static int by_weight(const void *a, const void *b, void *cells)
{
    const struct xfa_cell *x = cell_at(cells, *(const uint32_t *)a);
    const struct xfa_cell *y = cell_at(cells, *(const uint32_t *)b);
    int order = xfa_descending(xfa_cell_weight(x), xfa_cell_weight(y));
    order = order ? order : xfa_descending(x->achieved_ns, y->achieved_ns);
    order = order ? order
                  : xfa_descending((double)x->key.bytes * (double)x->transfers,
                                   (double)y->key.bytes * (double)y->transfers);
    return order ? order : memcmp(&x->key, &y->key, sizeof x->key);
}

uint32_t *xfa_cells_worst_first(const struct xfa_cells *cells)
{
    uint32_t *order = xfa_alloc((cells->cells.count + 1) * sizeof *order);
    for (uint32_t i = 0; i < cells->cells.count; i++)
        order[i] = i;
    qsort_r(order, cells->cells.count, sizeof *order, by_weight, (void *)(uintptr_t)cells);
    return order;
}
