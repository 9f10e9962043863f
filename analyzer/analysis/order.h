/*
 * Orders of an analysis' rows. They are total but for rows that nobody could tell apart, so that a
 * report does not depend on the order in which the rows were met.
 */
#ifndef XFA_ORDER_H
#define XFA_ORDER_H

#include "analyzer/analysis/analysis.h"

/* As for qsort(), of two row numbers. */
typedef int xfa_row_order(const struct xfa_analysis *analysis, uint32_t a, uint32_t b);

/* Most lost first, rows whose loss is not known last. */
int xfa_by_lost(const struct xfa_analysis *analysis, uint32_t a, uint32_t b);
/* Most bytes first, then by what names the rows. It settles the other orders. */
int xfa_by_bytes(const struct xfa_analysis *analysis, uint32_t a, uint32_t b);
/* Most transfers first. */
int xfa_by_count(const struct xfa_analysis *analysis, uint32_t a, uint32_t b);

/* The numbers of all rows in that order; the caller frees them. */
uint32_t *xfa_rows_sorted(const struct xfa_analysis *analysis, xfa_row_order *order);

#endif
