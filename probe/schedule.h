/*
 * Divides the time of a run. Sweeps of copies share one budget, by number of points; each other
 * benchmark has a budget of its own. measure/budget.h gives the part of one measurement.
 */
#ifndef XFP_SCHEDULE_H
#define XFP_SCHEDULE_H

#include "probe/bench/bench.h"

/* Starts the clock. The limit is for measuring; describing the machine and allocating come on
 * top. */
void xfp_schedule_start(struct xfp_session *s, const struct xfp_bench_list *list);

/* Starts the budget of the benchmark at index `at`. */
void xfp_schedule_begin(struct xfp_session *s, const struct xfp_bench_list *list, size_t at);

/* Ends it, complete or not. */
void xfp_schedule_end(struct xfp_session *s, const struct xfp_bench_list *list, size_t at);

/* True when it is too late to begin this benchmark; never for the first. */
bool xfp_schedule_over(const struct xfp_session *s);

#endif
