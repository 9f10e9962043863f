/*
 * One process whose events a test passes to an observer, one by one, without a walk. Fails by
 * abort() where its trace cannot be opened. Which ranges are open is followed as in a walk.
 */
#ifndef OBSERVED_H
#define OBSERVED_H

#include "analyzer/pass/observer.h"
#include "tests/analyzer/traces/build_trace.h"

struct observed {
    struct trace_builder b; /* build_start() and names first, then observed_open() */
    struct xfa_run *run;
    struct xfa_process *process;
    struct xfa_observer observer;
    struct xfa_ranges *ranges;
    uint64_t last_ns; /* of its last call */
};

void observed_open(struct observed *observed, struct xfa_observer observer);
void observe(struct observed *observed, const struct xft_event *row, int32_t tid);
/* A transfer of that row that lost 1 ns. */
void observe_transfer(struct observed *observed, const struct xft_event *call, int32_t tid,
                      uint32_t row, enum xfa_timed timed, double achieved_ns);
void observe_end(struct observed *observed);
void observed_free(struct observed *observed);

#endif
