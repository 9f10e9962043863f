/*
 * One process that an observer is told of event by event, without a walk. Fails by abort() where
 * its trace cannot be opened. Which ranges are open is followed as in a walk.
 */
#ifndef TOLD_H
#define TOLD_H

#include "analyzer/pass/observer.h"
#include "tests/analyzer/build_trace.h"

struct told {
    struct trace_builder b; /* build_start() and names first, then told_open() */
    struct xfa_run *run;
    struct xfa_process *process;
    struct xfa_observer observer;
    struct xfa_ranges *ranges;
    uint64_t last_ns; /* of its last call */
};

void told_open(struct told *told, struct xfa_observer observer);
void tell(struct told *told, const struct xft_event *row, int32_t tid);
/* A transfer of that row that lost 1 ns. */
void tell_transfer(struct told *told, const struct xft_event *call, int32_t tid, uint32_t row,
                   enum xfa_timed timed, double achieved_ns);
void tell_end(struct told *told);
void told_free(struct told *told);

#endif
