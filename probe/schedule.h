/*
 * How a run's time is shared out: what the sweeps of copies share is planned by points, the other
 * benchmarks have budgets of their own. measure/budget.h says what of it one measurement may take.
 */
#ifndef XFP_SCHEDULE_H
#define XFP_SCHEDULE_H

#include "probe/bench/bench.h"

/* The clock starts. The limit is for measuring: describing and allocating come on top, and are
 * short. */
void xfp_schedule_start(struct xfp_session *s, const struct xfp_bench_list *list);

/* The item at `at` begins, and with it a budget that it may have of its own. */
void xfp_schedule_begin(struct xfp_session *s, const struct xfp_bench_list *list, size_t at);

/* It has ended, with or without all of its points. */
void xfp_schedule_end(struct xfp_session *s, const struct xfp_bench_list *list, size_t at);

/* Is it too late to begin anything? Never for the first. */
bool xfp_schedule_over(const struct xfp_session *s);

#endif
