/*
 * How much of the remaining time of a run one measurement may take.
 */
#ifndef XFP_BUDGET_H
#define XFP_BUDGET_H

#include "probe/session.h"

/* The wall clock in ns, also where the GPU's clock is virtual. The time limit counts it. */
uint64_t xfp_wall_ns(void);

/* Most wall time one point of a sweep of copies may take: an equal part of what is left. */
uint64_t xfp_slice_ns(const struct xfp_session *s);

/* Wall time for one of the `left` measurements that remain in the current benchmark's own budget.
 */
uint64_t xfp_share_ns(const struct xfp_session *s, size_t left);

/* Whether the fewest samples of so many ns each, and the one that warms up, fit well into what is
 * left of the time, beside the benchmarks still to come. */
bool xfp_has_time_for(const struct xfp_session *s, double each_ns);

#endif
