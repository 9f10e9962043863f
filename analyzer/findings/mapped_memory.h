/*
 * What mapped-memory knows of kernels that read memory of the host in place.
 */
#ifndef XFA_MAPPED_MEMORY_H
#define XFA_MAPPED_MEMORY_H

#include "analyzer/findings/finding.h"

/* sums: of the kind's observer. The site whose memory kernels read for the longest time, with their
 * number and what they were given; lost_ns is that time. False: there is none. */
bool xfa_mapped_longest(const struct xfa_analysis *analysis, const void *sums,
                        struct xfa_finding_site *site);

#endif
