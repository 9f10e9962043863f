/* A row of a trace as the walk hands it over (analyzer/pass/event.h), for tests that tell observers
 * and their like of single events. */
#ifndef RESOLVED_H
#define RESOLVED_H

#include "analyzer/pass/event.h"

static inline struct xfa_event resolved(struct xfa_process *process, const struct xft_event *row,
                                        uint32_t lane, int32_t tid)
{
    const struct xfa_merged merged = {.event = row, .lane = lane, .tid = tid};
    struct xfa_event event = {.process = process};
    xfa_event_read(&event, process, &merged);
    return event;
}

#endif
