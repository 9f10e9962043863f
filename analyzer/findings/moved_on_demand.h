/*
 * What managed-demand-migration and managed-thrashing share: managed memory that moved because it
 * was touched where it was not, by the site that allocated it. Lost: the time in which it moved, or
 * faults of kernels were served, whichever is longer.
 */
#ifndef XFA_MOVED_ON_DEMAND_H
#define XFA_MOVED_ON_DEMAND_H

#include "analyzer/findings/finding.h"

/* Adds a finding in CUDA's words and one in PyTorch's, of sites of which `is` says so (NULL: of
 * all). */
typedef bool xfa_is_moved_fn(const struct xfa_managed_figures *figures);
void xfa_moved_find(const struct xfa_analysis *analysis, struct xfa_findings *findings,
                    const struct xfa_finding *like, xfa_is_moved_fn *is);

#endif
