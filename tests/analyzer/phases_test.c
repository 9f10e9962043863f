/* Phases: which range a transfer belongs to, and what unbalanced or endless ranges do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/report/report.h"
#include "tests/analyzer/scenario.h"

enum { TRAIN = 1, STEP, LOAD, SOLVER, SOLVE, REQUEST };

struct script { /* a lane being written */
    struct xft_event events[64];
    size_t count;
};

static uint64_t clock_ns;

static void start(struct trace_builder *b, int pid)
{
    build_start(b, pid);
    scenario_names(b);
    build_text(b, TRAIN, "train");
    build_text(b, STEP, "step");
    build_text(b, LOAD, "load");
    build_text(b, SOLVER, "solver");
    build_text(b, SOLVE, "solve");
    build_text(b, REQUEST, "request");
    clock_ns = TEST_START_NS;
}

static void range(struct script *s, unsigned kind, uint64_t domain, uint64_t name, uint64_t id)
{
    clock_ns += 1000;
    s->events[s->count++] = (struct xft_event){.kind = (uint8_t)kind,
                                               .start_ns = clock_ns,
                                               .end_ns = clock_ns,
                                               .src = domain,
                                               .aux = name,
                                               .dst = id};
}

static void push(struct script *s, uint64_t domain, uint64_t name)
{
    range(s, XFT_EVENT_RANGE_BEGIN, domain, name, 0);
}

static void pop(struct script *s, uint64_t domain)
{
    range(s, XFT_EVENT_RANGE_END, domain, 0, 0);
}

static void copy(struct script *s, uint64_t bytes)
{
    clock_ns += 1000;
    s->events[s->count++] =
        test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PINNED, bytes, clock_ns, 500);
    clock_ns += 500;
}

static struct xfa_report *report_of(struct trace_builder *b, struct xfa_report *report)
{
    char error[256];
    build_close(b, XFT_STATE_CLOSED, clock_ns + 1000);
    struct xfa_trace *trace = xfa_trace_open_bytes(b->bytes, b->size, error, sizeof error);
    assert_non_null(trace);
    report = report ? report : xfa_report_new("test", NULL);
    xfa_report_add(report, trace);
    xfa_trace_close(trace);
    build_free(b);
    return report;
}

/* The figures of a path as printed; NULL = there is none. */
static const struct xfa_phase *phase(const struct xfa_report *report, const char *path)
{
    for (size_t i = 0; i < report->phases.all.count; i++) {
        char text[XFA_PHASE_TEXT_CHARS];
        const struct xfa_phase *found = xfa_table_at(&report->phases.all, i);
        xfa_phase_text(&report->phases, found, text);
        if (strcmp(text, path) == 0)
            return found;
    }
    return NULL;
}

static void expect(const struct xfa_report *report, const char *path, uint64_t times,
                   uint64_t transfers, uint64_t bytes, double ns)
{
    const struct xfa_phase *found = phase(report, path);
    if (!found)
        fail_msg("no phase %s", path);
    const struct xfa_sum *sum = &found->figures.by_direction[XFT_DIR_H2D];
    if (found->figures.times != times || sum->transfers != transfers || sum->bytes != bytes ||
        found->figures.ns != ns)
        fail_msg("%s: %lu times, %lu transfers, %lu bytes, %.0f ns", path,
                 (unsigned long)found->figures.times, (unsigned long)sum->transfers,
                 (unsigned long)sum->bytes, found->figures.ns);
}

/* A copy takes 1500 ns, a push or pop 1000 ns. */
static void test_innermost(void **state)
{
    (void)state;
    struct trace_builder b;
    struct script s = {0};
    start(&b, 1);
    push(&s, 0, TRAIN);
    for (int i = 0; i < 2; i++) {
        push(&s, 0, STEP);
        push(&s, 0, LOAD);
        copy(&s, 100);
        copy(&s, 100);
        pop(&s, 0);
        copy(&s, 10);
        pop(&s, 0);
    }
    pop(&s, 0);
    copy(&s, 1);
    build_events(&b, 0, 0, s.events, s.count);
    struct xfa_report *report = report_of(&b, NULL);
    expect(report, "train/step/load", 2, 4, 400, 2 * 4000);
    expect(report, "train/step", 2, 2, 20, 2 * 7500);
    expect(report, "train", 1, 0, 0, 2 * 8500 + 1000);
    expect(report, "(outside of ranges)", 0, 1, 1, 0);
    assert_int_equal(report->phases.stray_ends, 0);
    xfa_report_free(report);
}

/* Nesting is per domain: an end closes the innermost of its domain, whatever lies inside. */
static void test_domains(void **state)
{
    (void)state;
    struct trace_builder b;
    struct script s = {0};
    start(&b, 1);
    push(&s, 0, STEP);
    push(&s, SOLVER, SOLVE);
    copy(&s, 1);
    pop(&s, 0);
    copy(&s, 2);
    pop(&s, SOLVER);
    copy(&s, 4);
    build_events(&b, 0, 0, s.events, s.count);
    struct xfa_report *report = report_of(&b, NULL);
    expect(report, "step/solver:solve", 1, 2, 3, 5000);
    expect(report, "step", 1, 0, 0, 3500);
    expect(report, "(outside of ranges)", 0, 1, 4, 0);
    xfa_report_free(report);
}

/* Begun in one lane, ended in another that lies before it in the file. Two of a name that are open
 * together are one place for a transfer. */
static void test_process_ranges(void **state)
{
    (void)state;
    struct trace_builder b;
    struct script one = {0}, two = {0};
    start(&b, 1);
    range(&one, XFT_EVENT_RANGE_BEGIN, 0, REQUEST, 7);
    range(&one, XFT_EVENT_RANGE_BEGIN, 0, REQUEST, 8);
    copy(&one, 1);
    push(&two, 0, STEP);
    copy(&two, 2);
    range(&two, XFT_EVENT_RANGE_END, 0, 0, 7);
    copy(&one, 4);
    range(&two, XFT_EVENT_RANGE_END, 0, 0, 8);
    copy(&one, 8);
    range(&two, XFT_EVENT_RANGE_END, 0, 0, 99);
    build_events(&b, 2, 0, two.events, two.count);
    build_events(&b, 1, 0, one.events, one.count);
    struct xfa_report *report = report_of(&b, NULL);
    expect(report, "request", 2, 3, 7, 6000 + 7500);
    expect(report, "step", 1, 1, 2, clock_ns - (TEST_START_NS + 4500));
    expect(report, "(outside of ranges)", 0, 3, 13, 0);
    assert_true(phase(report, "request")->process);
    assert_int_equal(report->phases.stray_ends, 1);
    xfa_report_free(report);
}

static void test_unbalanced(void **state)
{
    (void)state;
    struct trace_builder b;
    struct script s = {0};
    start(&b, 1);
    pop(&s, 0);
    push(&s, 0, STEP);
    pop(&s, SOLVER);
    copy(&s, 1);
    build_events(&b, 0, 0, s.events, s.count);
    struct xfa_report *report = report_of(&b, NULL);
    expect(report, "step", 1, 1, 1, 2500); /* to the last event */
    assert_int_equal(report->phases.stray_ends, 2);
    xfa_report_free(report);
}

/* A lane is used again: what its first thread left open is not the second one's. */
static void test_threads_of_a_lane(void **state)
{
    (void)state;
    struct trace_builder b;
    struct script s = {0};
    start(&b, 1);
    push(&s, 0, STEP);
    copy(&s, 1);
    build_events(&b, 0, 0, s.events, s.count);
    struct xfa_phases phases;
    struct xfa_batch first = {.lane = 5, .tid = 10}, second = {.lane = 5, .tid = 11};
    xfa_phases_init(&phases);
    xfa_phases_ready(&phases);
    xfa_phases_lane(&phases, &first);
    xfa_phases_range(&phases, &s.events[0]);
    xfa_phases_lane(&phases, &second);
    struct xfa_transfer done = {&s.events[1], XFT_DIR_H2D, 0, 100.0, 1.0};
    xfa_phases_transfer(&phases, &done);
    xfa_phases_finish(&phases);
    const struct xfa_phase_path *outside = xfa_table_at(&phases.paths, 0);
    assert_int_equal(outside->figures.transfers, 1);
    assert_int_equal(phases.paths.count, 2);
    xfa_phases_free(&phases);
    build_free(&b);
}

/* The same names in two processes are one phase; ids differ. */
static void test_processes(void **state)
{
    (void)state;
    struct trace_builder b;
    struct xfa_report *report = NULL;
    for (int pid = 1; pid <= 2; pid++) {
        struct script s = {0};
        start(&b, pid);
        build_text(&b, 100, "step");
        push(&s, 0, pid == 1 ? STEP : 100);
        copy(&s, 1);
        pop(&s, 0);
        build_events(&b, 0, 0, s.events, s.count);
        report = report_of(&b, report);
    }
    expect(report, "step", 2, 2, 2, 2 * 2500);
    assert_int_equal(report->phases.all.count, 2);
    xfa_report_free(report);
}

static void feed(struct xfa_phases *phases, unsigned kind, uint64_t name, uint64_t id, uint64_t at)
{
    struct xft_event event = {.kind = (uint8_t)kind, .start_ns = at, .aux = name, .dst = id};
    xfa_phases_range(phases, &event);
}

/* A million of each kind of nonsense stays within the limits, and is told. */
static void test_endless(void **state)
{
    (void)state;
    struct xfa_phases phases;
    struct xfa_batch batch = {.lane = 0, .tid = 1};
    xfa_phases_init(&phases);
    for (uint64_t i = 1; i <= 1000000; i++) {
        struct xft_event event = {.kind = XFT_EVENT_RANGE_BEGIN, .start_ns = i, .aux = i, .dst = i};
        xfa_phases_gather(&phases, &event);
    }
    xfa_phases_ready(&phases);
    xfa_phases_lane(&phases, &batch);
    struct xft_event call = {.kind = XFT_EVENT_TRANSFER, .start_ns = 5000000, .bytes = 8};
    struct xfa_transfer done = {&call, XFT_DIR_H2D, 0, 100.0, 1.0};
    xfa_phases_transfer(&phases, &done); /* in a million open ranges */
    for (uint64_t i = 1; i <= 1000000; i++)
        feed(&phases, XFT_EVENT_RANGE_BEGIN, i, 0, 5000000 + i);
    xfa_phases_transfer(&phases, &done);
    for (uint64_t i = 1; i <= 1000001; i++)
        feed(&phases, XFT_EVENT_RANGE_END, 0, 0, 6000000 + i);
    xfa_phases_finish(&phases);
    assert_true(phases.paths.count <= XFA_MAX_PATHS);
    assert_true(phases.of_process.count <= XFA_MAX_PROCESS_RANGES);
    assert_true(phases.beyond >= 2000000 - XFA_MAX_PROCESS_RANGES - XFA_MAX_PATHS);
    assert_int_equal(phases.stray_ends, 1);
    xfa_phases_free(&phases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_innermost),         cmocka_unit_test(test_domains),
        cmocka_unit_test(test_process_ranges),    cmocka_unit_test(test_unbalanced),
        cmocka_unit_test(test_threads_of_a_lane), cmocka_unit_test(test_processes),
        cmocka_unit_test(test_endless),
    };
    return cmocka_run_group_tests_name("phases", tests, NULL, NULL);
}
