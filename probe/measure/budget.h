/*
 * Time: how much of what is left of a run one measurement may take.
 */
#ifndef XFP_BUDGET_H
#define XFP_BUDGET_H

#include "probe/session.h"

/* The wall clock, in ns, whatever the GPU's clock is: what the time limit counts. */
uint64_t xfp_wall_ns(void);

/* Most wall time one point of a sweep of copies may take: an equal part of what is left. */
uint64_t xfp_slice_ns(const struct xfp_session *s);

/* Wall time for one of `left` steps of the current benchmark, out of its own budget. */
uint64_t xfp_step_ns(const struct xfp_session *s, size_t left);

#endif
