/*
 * Copies that could run beside something else: common to the kinds that are about order.
 */
#ifndef XFA_OVERLAPPABLE_H
#define XFA_OVERLAPPABLE_H

#include "analyzer/findings/finding.h"
#include "analyzer/findings/pageable_uses.h"

/* How long copies between the host and a GPU took, ns: of page-locked memory, and of pageable
 * memory that is used again, so that page-locking it once pays (uses NULL: without these). */
double xfa_overlappable_row_ns(const struct xfa_analysis *analysis,
                               const struct xfa_pageable_uses *uses, size_t row);
double xfa_overlappable_ns(const struct xfa_analysis *analysis,
                           const struct xfa_pageable_uses *uses, enum xft_direction direction);

/* Adds the finding with the rows that take most of that time; lost is not known. */
struct xfa_finding *xfa_overlappable_add(struct xfa_findings *findings,
                                         const struct xfa_analysis *analysis,
                                         const struct xfa_pageable_uses *uses,
                                         enum xfa_finding_id id, enum xfa_remedy_kind remedy,
                                         unsigned streams);

#endif
