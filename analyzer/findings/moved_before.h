/*
 * What repeated-transfer, round-trip and duplicate-transfer share: bytes that had moved before, by
 * the hashes of what was moved (sums/contents.h). Lost: the time these transfers took, where it is
 * known. That they can be left out is likely, not certain: what kernels did to the device's memory
 * meanwhile is not seen.
 */
#ifndef XFA_MOVED_BEFORE_H
#define XFA_MOVED_BEFORE_H

#include "analyzer/findings/finding.h"

/* What the row would gain by leaving out those of its transfers; false when it has none. The
 * caller adds the remedy and the reckoning. */
bool xfa_moved_before(const struct xfa_analysis *analysis, size_t row, enum xfa_same same,
                      struct xfa_gain *gain);

#endif
