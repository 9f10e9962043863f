/*
 * What is to be measured for a run's distinct transfers (cells.h), worst first:
 * - each transfer as it was, with cold and with warm caches;
 * - what it is compared with: copies of every kind of page-locked memory on the best NUMA node with
 *   cold caches, of pinned memory with warm caches too; between GPUs a copy with peer access.
 *
 * A measurement that several cells want is made once; one that the profile has is not made.
 */
#ifndef XFA_PLAN_H
#define XFA_PLAN_H

#include "analyzer/remeasure/cells.h"
#include "analyzer/remeasure/places.h"
#include "probe/measure_transfers.h"

enum xfa_wanted_state {
    XFA_WANTED_OPEN,
    XFA_WANTED_KNOWN,    /* the profile has a point of this size */
    XFA_WANTED_MEASURED, /* now */
    XFA_WANTED_FAILED,
    XFA_WANTED_NO_TIME,
};

struct xfa_wanted_key { /* GPUs as the profile counts them */
    uint64_t bytes, row_bytes;
    int16_t src_gpu, dst_gpu, node;         /* node: of the host's memory */
    uint8_t direction, memory, peer, cache; /* memory: the host's; peer: enabled */
    uint8_t reserved[6];
};

struct xfa_wanted {
    struct xfa_wanted_key key;
    struct xfp_path like;          /* the profile's path, which may be new; owns its name */
    struct xfp_transfer_spec spec; /* GPUs as the driver counts here */
    double copy_ns;                /* how long a copy may take, as far as is known */
    enum xfa_wanted_state state;
    struct xfp_transfer_point measured;
};

/* A cell and its part of `wants`. */
struct xfa_planned {
    const struct xfa_cell *cell;
    size_t from, count; /* none: it cannot be replayed */
    bool as_it_was;     /* the first of them is the transfer itself */
};

struct xfa_plan {
    struct xfa_table wanted; /* struct xfa_wanted, worst first */
    struct xfa_planned *cells;
    size_t cell_count;
    uint32_t *wants; /* numbers of `wanted` */
    size_t want_count, want_capacity;
};

/* All arguments are borrowed until the plan is freed; profile NULL: there is none. */
void xfa_plan_make(struct xfa_plan *plan, const struct xfa_cells *cells,
                   const struct xfa_places *places, const struct xfp_profile *profile);
void xfa_plan_free(struct xfa_plan *plan);

static inline struct xfa_wanted *xfa_wanted_at(const struct xfa_plan *plan, size_t i)
{
    return xfa_table_at(&plan->wanted, i);
}

#endif
