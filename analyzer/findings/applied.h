/*
 * What `xferscope apply` does on a program without a plan, as changes of the replayed run: so that
 * the report says beforehand what it would save (docs/apply.md).
 *
 * Copies of pageable memory are staged by threads, large allocations of page-locked memory are made
 * by threads; peer access is enabled. What apply finds out in the run, whether a site gains, the
 * replay finds out by its own times (changes.h: XFW_APPLIED, locked.h).
 */
#ifndef XFA_APPLIED_H
#define XFA_APPLIED_H

#include "analyzer/findings/finding.h"

#define XFA_APPLIED_OWN 2

/* Appends to `changes`, which has room for `most`, and returns how many. Those of findings are the
 * findings' own; `own` gets those that no finding has, or NULL, for free() by xfw_change_free(). */
size_t xfa_findings_applied(const struct xfa_findings *findings,
                            const struct xfa_analysis *analysis, struct xfw_change **changes,
                            size_t most, struct xfw_change *own[XFA_APPLIED_OWN]);

#endif
