#include "tests/analyzer/told.h"

#include <stdio.h>
#include <stdlib.h>

#define LANE 5

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
    observer.process(observer.self, told->process);
}

void tell(const struct told *told, const struct xft_event *event, int32_t tid)
{
    struct xfa_step step = {told->process, event, LANE, tid};
    told->observer.event(told->observer.self, &step);
}

void tell_transfer(const struct told *told, const struct xft_event *call, int32_t tid, uint32_t row,
                   enum xfa_timed timed, double achieved_ns)
{
    struct xfa_class class = {.row = row, .key.row.direction = call->direction};
    struct xfa_transfer transfer = {
        .process = told->process,
        .event = call,
        .lane = LANE,
        .tid = tid,
        .class = &class,
        .timed = timed,
        .achieved_ns = achieved_ns,
        .lost_ns = 1,
    };
    told->observer.transfer(told->observer.self, &transfer);
}

void tell_end(const struct told *told)
{
    told->observer.end(told->observer.self, told->process);
}

void told_free(struct told *told)
{
    xfa_process_close(told->process, 0, 0);
    xfa_run_free(told->run);
    build_free(&told->b);
}
