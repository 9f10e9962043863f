#include "tests/analyzer/told.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/analyzer/resolved.h"

#define LANE 5

static void give_unended(void *self, const struct xfa_range *range, enum xfa_unended why,
                         uint64_t end_ns)
{
    const struct told *told = self;
    if (told->observer.unended)
        told->observer.unended(told->observer.self, range, why, end_ns);
}

void told_open(struct told *told, struct xfa_observer observer)
{
    char error[512] = "";
    build_close(&told->b, XFT_STATE_CLOSED, TEST_START_NS);
    told->run = xfa_run_new("test");
    told->process = xfa_run_open_bytes(told->run, told->b.bytes, told->b.size, error, sizeof error);
    if (!told->process) {
        fprintf(stderr, "told: %s\n", error);
        abort();
    }
    told->observer = observer;
    told->ranges = xfa_ranges_new(give_unended, told);
    told->last_ns = 0;
    observer.process(observer.self, told->process);
}

static void called(struct told *told, const struct xfa_event *event)
{
    uint64_t end_ns = event->end_ns > event->start_ns ? event->end_ns : event->start_ns;
    told->last_ns = end_ns > told->last_ns ? end_ns : told->last_ns;
}

void tell(struct told *told, const struct xft_event *row, int32_t tid)
{
    struct xfa_event event = resolved(told->process, row, LANE, tid);
    if (event.kind == XFT_EVENT_RANGE_BEGIN || event.kind == XFT_EVENT_RANGE_END)
        event.range = xfa_ranges_take(told->ranges, &event);
    called(told, &event);
    told->observer.event(told->observer.self, &event);
}

void tell_transfer(struct told *told, const struct xft_event *call, int32_t tid, uint32_t row,
                   enum xfa_timed timed, double achieved_ns)
{
    struct xfa_class class = {.row = row, .key.row.direction = call->direction};
    struct xfa_event event = resolved(told->process, call, LANE, tid);
    event.range = xfa_ranges_around(told->ranges, &event);
    event.transfer.class = &class;
    event.transfer.timed = timed;
    event.transfer.achieved_ns = achieved_ns;
    event.transfer.lost_ns = 1;
    called(told, &event);
    told->observer.transfer(told->observer.self, &event);
}

void tell_end(struct told *told)
{
    xfa_ranges_end(told->ranges, told->last_ns);
    told->observer.end(told->observer.self, told->process);
}

void told_free(struct told *told)
{
    xfa_ranges_free(told->ranges);
    xfa_process_close(told->process, 0, 0);
    xfa_run_free(told->run);
    build_free(&told->b);
}
