/*
 * Copies that could run beside something else: common to the kinds that are about order.
 */
#ifndef XFA_OVERLAPPABLE_H
#define XFA_OVERLAPPABLE_H

#include "analyzer/findings/finding.h"

/* Device time, ns, of copies of page-locked memory in a direction; their share of a row. */
double xfa_overlappable_ns(const struct xfa_analysis *analysis, enum xft_direction direction);
double xfa_overlappable_row_ns(const struct xfa_analysis *analysis, size_t row);

/* Adds the finding with the rows that take most of that time; lost is not known. */
struct xfa_finding *xfa_overlappable_add(struct xfa_findings *findings,
                                         const struct xfa_analysis *analysis,
                                         enum xfa_finding_id id, enum xfa_remedy_kind remedy,
                                         unsigned streams);

#endif
