/* What findings.c, which finds, and weigh.c, which computes what the run would save, share. */
#ifndef XFA_FINDINGS_PRIVATE_H
#define XFA_FINDINGS_PRIVATE_H

#include "analyzer/findings/finding.h"

const struct xfa_finding_kind *xfa_finding_kind_of(enum xfa_finding_id id);

/* Worst first; sites too. */
void xfa_findings_sort(struct xfa_findings *findings);

/* Of sorted ones that are weighed: what leaves transfers out goes before what only makes some of
 * them faster and saves hardly more (XFW_HARDLY_MORE). */
void xfa_findings_left_out_first(struct xfa_findings *findings);

/* Of findings that were added as wholes, from one on: those that the user denies go. */
void xfa_findings_drop_denied(struct xfa_findings *findings, size_t from);

#endif
