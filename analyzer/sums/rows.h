/*
 * What is known of each class, and of each row: figures.h, over the transfers that belong to it.
 */
#ifndef XFA_ROWS_H
#define XFA_ROWS_H

#include "analyzer/base/exact.h"
#include "analyzer/base/team.h"
#include "analyzer/pass/observer.h"
#include "analyzer/sums/figures.h"

/* The times of a class while they are added up, exactly: members of a team divide them. */
struct xfa_row_times {
    struct xfa_exact device, host, sampled, sampled_error;
    struct xfa_exact achievable, achievable_error;
    struct xfa_exact lost, lost_achieved, lost_achievable;
    struct xfa_exact blocked, beyond;
};

struct xfa_rows {
    struct xfa_figures *classes; /* by class number; without times until xfa_rows_finish() */
    struct xfa_row_times *times; /* the same */
    size_t count, capacity, time_count, time_capacity;
};

/* The observer's self is `rows`, which starts zeroed and outlives it. */
struct xfa_observer xfa_rows_observer(struct xfa_rows *rows);

/* To other members of a team, and from one, added; of classes with numbers below the limit. */
void xfa_rows_give(const struct xfa_rows *rows, struct xfa_parcel *parcel);
void xfa_rows_take(struct xfa_rows *rows, struct xfa_unpacking *from, size_t classes);

/* All has been added, and nothing more is: the times of the classes become known. */
void xfa_rows_finish(struct xfa_rows *rows);

/* Figures of a class; of none when it had no transfer. */
const struct xfa_figures *xfa_rows_class(const struct xfa_rows *rows, uint32_t number);

/* Figures of every row, added up over its classes: row_count of them, the caller frees them. */
struct xfa_figures *xfa_rows_figures(const struct xfa_rows *rows,
                                     const struct xfa_classes *classes);

void xfa_rows_free(struct xfa_rows *rows);

#endif
