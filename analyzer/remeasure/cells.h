/*
 * The distinct transfers of a run: same bytes, rows, kinds and places of memory, direction, GPUs,
 * peer access, form of the call. Call sites and streams do not matter to the machine.
 *
 * At most XFA_MOST_CELLS are told apart. A transfer that comes later counts in the one of its kind
 * whose size is nearest, or, when it is the first of its kind, in a cell of its own, of which there
 * may be XFA_MOST_LATE_KINDS more; what is beyond is counted, and in no cell.
 */
#ifndef XFA_CELLS_H
#define XFA_CELLS_H

#include "analyzer/base/table.h"
#include "analyzer/pass/observer.h"

#define XFA_MOST_CELLS 4096
#define XFA_MOST_LATE_KINDS 512

struct xfa_cell_key {
    uint64_t bytes, row_bytes; /* of rows that are not contiguous; 0 = one piece */
    int16_t src_gpu, dst_gpu, src_node, dst_node;     /* as in a class (class.h) */
    uint8_t direction, src_mem, dst_mem, async, peer; /* likewise */
    uint8_t batch; /* several copies in one call, or rows unequal */
    uint8_t reserved[2];
};

struct xfa_cell {
    struct xfa_cell_key key;
    uint64_t transfers, timed;
    double achieved_ns; /* of those timed */
    double lost_ns;     /* of these, where achievable is known */
    double unpriced_ns; /* achieved, where it is not */
};

struct xfa_cells {
    size_t most;            /* XFA_MOST_CELLS; tests take less */
    struct xfa_table cells; /* struct xfa_cell */
    struct xfa_table kinds; /* cells.c */
    uint32_t *order;        /* cells.c: when it was full, by kind and size */
    size_t late_kinds;
    uint64_t transfers, merged, beyond; /* all; in the cell of another size; in none */
    double achieved_ns;                 /* of all that are timed */
};

void xfa_cells_init(struct xfa_cells *cells);
void xfa_cells_free(struct xfa_cells *cells);

/* The observer's self is `cells`, which outlives it. */
struct xfa_observer xfa_cells_observer(struct xfa_cells *cells);

static inline const struct xfa_cell *xfa_cell_at(const struct xfa_cells *cells, size_t i)
{
    return xfa_table_at(&cells->cells, i);
}

/* What there may be to gain: what was lost, and the time of which that is not known. */
static inline double xfa_cell_weight(const struct xfa_cell *cell)
{
    return cell->lost_ns + cell->unpriced_ns;
}

/* Their numbers, worst first; the caller frees them. */
uint32_t *xfa_cells_worst_first(const struct xfa_cells *cells);

#endif
