#include "tests/analyzer/lab/observed.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/analyzer/lab/resolved.h"

#define LANE 5

static void give_unended(void *self, const struct xfa_range *range, enum xfa_unended why,
                         uint64_t end_ns)
{
    const struct observed *observed = self;
    if (observed->observer.unended)
        observed->observer.unended(observed->observer.self, range, why, end_ns);
}

void observed_open(struct observed *observed, struct xfa_observer observer)
{
    char error[512] = "";
    build_close(&observed->b, XFT_STATE_CLOSED, TEST_START_NS);
    observed->run = xfa_run_new("test");
    observed->process =
        xfa_run_open_bytes(observed->run, observed->b.bytes, observed->b.size, error, sizeof error);
    if (!observed->process) {
        fprintf(stderr, "observed: %s\n", error);
        abort();
    }
    observed->observer = observer;
    observed->ranges = xfa_ranges_new(give_unended, observed);
    observed->last_ns = 0;
    observer.process(observer.self, observed->process);
}

static void called(struct observed *observed, const struct xfa_event *event)
{
    uint64_t end_ns = event->end_ns > event->start_ns ? event->end_ns : event->start_ns;
    observed->last_ns = end_ns > observed->last_ns ? end_ns : observed->last_ns;
}

void observe(struct observed *observed, const struct xft_event *row, int32_t tid)
{
    struct xfa_event event = resolved(observed->process, row, LANE, tid);
    if (event.kind == XFT_EVENT_RANGE_BEGIN || event.kind == XFT_EVENT_RANGE_END)
        event.range = xfa_ranges_take(observed->ranges, &event);
    called(observed, &event);
    observed->observer.event(observed->observer.self, &event);
}

void observe_transfer(struct observed *observed, const struct xft_event *call, int32_t tid,
                      uint32_t row, enum xfa_timed timed, double achieved_ns)
{
    struct xfa_class class = {.row = row, .key.row.direction = call->direction};
    struct xfa_event event = resolved(observed->process, call, LANE, tid);
    event.range = xfa_ranges_around(observed->ranges, &event);
    event.transfer.class = &class;
    event.transfer.timed = timed;
    event.transfer.achieved_ns = achieved_ns;
    event.transfer.lost_ns = 1;
    called(observed, &event);
    observed->observer.transfer(observed->observer.self, &event);
}

void observe_end(struct observed *observed)
{
    xfa_ranges_end(observed->ranges, observed->last_ns);
    observed->observer.end(observed->observer.self, observed->process);
}

void observed_free(struct observed *observed)
{
    xfa_ranges_free(observed->ranges);
    xfa_process_close(observed->process, 0, 0);
    xfa_run_free(observed->run);
    build_free(&observed->b);
}
