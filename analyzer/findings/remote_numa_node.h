/*
 * remote-numa-node: the call sites that took the memory of its copies, which is where memory can
 * be placed (analyzer/plan/).
 */
#ifndef XFA_REMOTE_NUMA_NODE_H
#define XFA_REMOTE_NUMA_NODE_H

#include "analyzer/findings/finding.h"

/* What moving memory to another node takes: a page of 4 KiB in 4 us, which is slow. */
#define XFA_MOVING_NS_PER_BYTE 1.0

/* Call sites that allocated or page-locked memory of a finding's copies, with the copies that want
 * its node; for free(). Only those of whose memory all copies want that node, in the record, and,
 * where the program's own memory is page-locked, lost more than moving it would take. None, where
 * the record does not show where all page-locked memory was taken. sums: the kind's. */
struct xfa_finding_site *xfa_remote_node_memory(const struct xfa_analysis *analysis,
                                                const void *sums, const struct xfa_finding *finding,
                                                size_t *count);

#endif
