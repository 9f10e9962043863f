/*
 * One side of a comparison: repetitions of a run, and the rows that they have together. A row that
 * a repetition does not have took no time in it. At most XFA_MAX_CLASSES rows are kept.
 */
#ifndef XFA_SIDE_H
#define XFA_SIDE_H

#include "analyzer/compare/snapshot.h"

struct xfa_side_row {
    const struct xfa_snapshot_row *row;         /* of the first run that has it */
    size_t runs;                                /* how many runs have it */
    struct xfa_sample times[XFA_COMPARED_RUNS]; /* by run */
    double transfers, bytes;                    /* medians of all runs */
    size_t middle; /* its number in the middle run; SIZE_MAX: not there */
};

struct xfa_side {
    struct xfa_snapshot **runs; /* borrowed */
    size_t count;
    size_t middle; /* the run whose span is the median, or next below it: findings and savings are
                      its */
    struct xfa_side_row *rows;
    size_t row_count;
};

/* From one run to XFA_COMPARED_RUNS. */
struct xfa_side xfa_side_of(struct xfa_snapshot **runs, size_t count);
void xfa_side_free(struct xfa_side *side); /* what it owns */

static inline const struct xfa_snapshot *xfa_side_middle(const struct xfa_side *side)
{
    return side->runs[side->middle];
}

#endif
