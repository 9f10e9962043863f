/*
 * Managed memory is where it is needed before it is touched: what moved on a kernel's demand is
 * prefetched before it, in its stream, and what moved when the host touched it is prefetched back
 * and waited for, before the thread goes on.
 *
 * A kernel loses the time in which it was waiting for pages (op.h), the thread what its faults
 * take by the profile (demand/...: that is not recorded), or at worst the time in which pages were
 * under way alone. The prefetch's call takes, of the prefetch's time, half; at worst all of it, at
 * best nothing. Where prefetching would take longer than the faults all stays as it is. At worst
 * nothing is saved where the profile does not say what recording moves costs: it may be that alone.
 */
#ifndef XFW_CHANGE_PREFETCH_H
#define XFW_CHANGE_PREFETCH_H

#include "analyzer/whatif/change.h"

struct xfw_change *xfw_change_prefetch(const struct xfa_analysis *analysis);

/* What the faults of the thread took before a call, of what moved then. */
double xfw_fetched_ns(const struct xfa_achievable *achievable, const struct xfw_op *op,
                      enum xfw_certainty certainty);

/* Then all stays as it is. */
bool xfw_moves_unsure(const struct xfw_change *change, const struct xfw_player *player);

#endif
