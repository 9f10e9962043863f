/*
 * Cells: the distinct transfers of a run, by bytes, rows, kinds and places of memory, direction,
 * GPUs, peer access and form of the call. Their time does not depend on call site and stream.
 *
 * There are at most XFA_MOST_CELLS cells. When all are taken, a transfer that fits none counts in
 * the cell of its kind (all but the bytes) with the nearest size. The first one of a new kind gets
 * a cell of its own, at most XFA_MOST_LATE_KINDS times. Further transfers are in no cell, and are
 * counted.
 */
#ifndef XFA_CELLS_H
#define XFA_CELLS_H

#include "analyzer/base/table.h"
#include "analyzer/pass/observer.h"

#define XFA_MOST_CELLS 4096
#define XFA_MOST_LATE_KINDS 512

struct xfa_cell_key {
    uint64_t bytes, row_bytes; /* row_bytes: of rows that are not contiguous; 0 = one piece */
    int16_t src_gpu, dst_gpu, src_node, dst_node;     /* as in a class (class.h) */
    uint8_t direction, src_mem, dst_mem, async, peer; /* as in a class (class.h) */
    uint8_t batch; /* several copies in one call, or unequal rows */
    uint8_t reserved[2];
};

struct xfa_cell {
    struct xfa_cell_key key;
    uint64_t transfers, timed;
    double achieved_ns; /* achieved, of the timed ones */
    double lost_ns;     /* lost, of the timed ones whose achievable time is known */
    double unpriced_ns; /* achieved, of the timed ones whose achievable time is not known */
};

struct xfa_cells {
    size_t most;            /* XFA_MOST_CELLS; tests take less */
    struct xfa_table cells; /* struct xfa_cell */
    struct xfa_table kinds; /* cells.c */
    uint32_t *order;        /* cells.c: by kind and size, once all cells are taken */
    size_t late_kinds;
    uint64_t transfers, merged, beyond; /* all; in a cell of another size; in no cell */
    double achieved_ns;                 /* achieved, of all timed transfers */
};

void xfa_cells_init(struct xfa_cells *cells);
void xfa_cells_free(struct xfa_cells *cells);

/* The observer's self is `cells`, which outlives it. */
struct xfa_observer xfa_cells_observer(struct xfa_cells *cells);

static inline const struct xfa_cell *xfa_cell_at(const struct xfa_cells *cells, size_t i)
{
    return xfa_table_at(&cells->cells, i);
}

/* How much there may be to gain, ns: the loss, and the time whose loss is not known. */
static inline double xfa_cell_weight(const struct xfa_cell *cell)
{
    return cell->lost_ns + cell->unpriced_ns;
}

/* Their numbers, worst first; the caller frees them. */
uint32_t *xfa_cells_worst_first(const struct xfa_cells *cells);

#endif
