/*
 * Pageable memory that lies on a NUMA node from which the profile's copies are slower than from
 * another one, and that is copied often: what apply may move to the other node (placement).
 *
 * It is no finding: the driver copies such memory through buffers whose place nobody knows, and the
 * profile was measured by threads that run on the node of their memory. So what moving the memory
 * alone saves is not known before apply tries it; more than the figures say it is not.
 */
#ifndef XFA_PLAN_REMOTE_H
#define XFA_PLAN_REMOTE_H

#include "analyzer/findings/finding.h"

struct xfa_remote_site {
    struct xfa_finding_site site; /* lost_ns: the most that it may save */
    int node;                     /* where the memory should be */
    bool to_host;
};

/* Rows of copies between such memory and a GPU; for free(). Only those of call sites all of whose
 * copies want the same node, by the record, and that lost more, by the profile's figures of both
 * nodes, than moving each of their buffers once would take. */
struct xfa_remote_site *xfa_remote_sites(const struct xfa_analysis *analysis,
                                         const struct xfa_findings *findings, size_t *count);

#endif
