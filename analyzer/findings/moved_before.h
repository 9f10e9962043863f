/*
 * What repeated-transfer, round-trip, duplicate-transfer and constant-content share: bytes that had
 * moved before, or are all alike, by the hashes of what was moved (sums/contents.h). Lost: the time
 * these transfers took, where it is known. How sure it is that they can be left out depends on what
 * kernels were given meanwhile.
 */
#ifndef XFA_MOVED_BEFORE_H
#define XFA_MOVED_BEFORE_H

#include "analyzer/findings/finding.h"

/* What the row would gain by leaving out those of its transfers; false when it has none. The
 * caller adds the remedy and the reckoning: `kept`, or `unseen` where kernels may have changed the
 * memory. */
bool xfa_moved_before(const struct xfa_analysis *analysis, size_t row, enum xfa_same same,
                      struct xfa_gain *gain);
enum xfa_reckoning xfa_moved_reckoning(const struct xfa_analysis *analysis, size_t row,
                                       enum xfa_same same, enum xfa_reckoning kept,
                                       enum xfa_reckoning unseen);

/* They go. NULL: what would come in their stead was not measured. */
struct xfw_change *xfa_moved_change(const struct xfa_analysis *analysis,
                                    const struct xfa_finding *finding, enum xfa_same same);

#endif
