/*
 * What is known of each class, and of each row: figures.h, over the transfers that belong to it.
 */
#ifndef XFA_ROWS_H
#define XFA_ROWS_H

#include "analyzer/pass/observer.h"
#include "analyzer/sums/figures.h"

struct xfa_rows {
    struct xfa_figures *classes; /* by class number */
    size_t count, capacity;
};

/* The observer's self is `rows`, which starts zeroed and outlives it. */
struct xfa_observer xfa_rows_observer(struct xfa_rows *rows);

/* Figures of a class; of none when it had no transfer. */
const struct xfa_figures *xfa_rows_class(const struct xfa_rows *rows, uint32_t number);

/* Figures of every row, added up over its classes: row_count of them, the caller frees them. */
struct xfa_figures *xfa_rows_figures(const struct xfa_rows *rows,
                                     const struct xfa_classes *classes);

void xfa_rows_free(struct xfa_rows *rows);

#endif
