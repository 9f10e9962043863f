/* Phases: which range a transfer belongs to, and what unbalanced or endless ranges do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/sums/phases.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/scenario.h"
#include "tests/analyzer/lab/observed.h"

enum { TRAIN = 1, STEP, LOAD, SOLVER, SOLVE, REQUEST };

struct script { /* a lane being written */
    struct xft_event events[600];
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

static void add_to(struct analyzed *all, struct trace_builder *b)
{
    build_close(b, XFT_STATE_CLOSED, clock_ns + 1000);
    analyzed_add(all, b);
    build_free(b);
}

static struct analyzed analyzed_of(struct trace_builder *b)
{
    struct analyzed all = analyzed_start(NULL);
    add_to(&all, b);
    analyzed_finish(&all);
    return all;
}

/* The figures of a path as printed; NULL = there is none. */
static const struct xfa_phase *phase(const struct analyzed *all, const char *path)
{
    const struct xfa_phases *phases = &all->analysis->phases;
    for (size_t i = 0; i < phases->all.count; i++) {
        char text[XFA_PHASE_TEXT_CHARS];
        const struct xfa_phase *found = xfa_table_at(&phases->all, i);
        xfa_phase_text(phases, found, text);
        if (strcmp(text, path) == 0)
            return found;
    }
    return NULL;
}

static void expect(const struct analyzed *all, const char *path, uint64_t times, uint64_t transfers,
                   uint64_t bytes, double ns)
{
    const struct xfa_phase *found = phase(all, path);
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
    struct analyzed all = analyzed_of(&b);
    expect(&all, "train/step/load", 2, 4, 400, 2 * 4000);
    expect(&all, "train/step", 2, 2, 20, 2 * 7500);
    expect(&all, "train", 1, 0, 0, 2 * 8500 + 1000);
    expect(&all, "(outside of ranges)", 0, 1, 1, 0);
    assert_int_equal(all.analysis->counts.ranges.stray_ends, 0);
    analyzed_free(&all);
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
    struct analyzed all = analyzed_of(&b);
    expect(&all, "step/solver:solve", 1, 2, 3, 5000);
    expect(&all, "step", 1, 0, 0, 3500);
    expect(&all, "(outside of ranges)", 0, 1, 4, 0);
    analyzed_free(&all);
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
    struct analyzed all = analyzed_of(&b);
    expect(&all, "request", 2, 3, 7, 6000 + 7500);
    expect(&all, "step", 1, 1, 2, clock_ns - (TEST_START_NS + 4500));
    expect(&all, "(outside of ranges)", 0, 3, 13, 0);
    assert_true(phase(&all, "request")->process);
    assert_int_equal(all.analysis->counts.ranges.stray_ends, 1);
    analyzed_free(&all);
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
    struct analyzed all = analyzed_of(&b);
    expect(&all, "step", 1, 1, 1, 2500); /* to the last event */
    assert_int_equal(all.analysis->counts.ranges.stray_ends, 2);
    analyzed_free(&all);
}

/* Many of them, over four lanes and in any order, ids used again: each transfer counts to the names
 * that a list of what is open would give. */
static void test_across_lanes(void **state)
{
    (void)state;
    enum { LANES = 4, NAMES = 5, IDS = 12, STEPS = 2000 };
    struct trace_builder b;
    struct script *lanes = calloc(LANES, sizeof *lanes);
    unsigned open_name[IDS] = {0}, seed = 3; /* 0: that id is not open */
    uint64_t times[NAMES + 1] = {0}, transfers[NAMES + 1] = {0}, bytes[NAMES + 1] = {0};
    uint64_t began[IDS] = {0}, ns[NAMES + 1] = {0}, last_ns = 0;
    assert_non_null(lanes);
    start(&b, 1);
    for (unsigned n = 0; n < STEPS; n++) {
        seed = seed * 1664525u + 1013904223u;
        struct script *lane = &lanes[(seed >> 8) % LANES];
        unsigned id = (seed >> 12) % IDS, name = 1 + (seed >> 20) % NAMES;
        if (lane->count == sizeof lane->events / sizeof *lane->events)
            continue;
        if ((seed >> 28) % 2) {
            copy(lane, n + 1);
            last_ns = clock_ns;
            for (unsigned k = 1; k <= NAMES; k++) {
                bool in = false;
                for (unsigned i = 0; i < IDS; i++)
                    in = in || open_name[i] == k;
                transfers[k] += in;
                bytes[k] += in ? n + 1 : 0;
            }
        } else if (open_name[id]) {
            range(lane, XFT_EVENT_RANGE_END, 0, 0, id + 1);
            last_ns = clock_ns;
            ns[open_name[id]] += clock_ns - began[id];
            open_name[id] = 0;
        } else {
            range(lane, XFT_EVENT_RANGE_BEGIN, 0, name, id + 1);
            last_ns = began[id] = clock_ns;
            open_name[id] = name;
            times[name]++;
        }
    }
    for (unsigned i = 0; i < IDS; i++)
        ns[open_name[i]] += last_ns - began[i];
    for (unsigned i = LANES; i > 0; i--)
        build_events(&b, i, 0, lanes[i - 1].events, lanes[i - 1].count);
    struct analyzed all = analyzed_of(&b);
    static const char *const names[] = {"", "train", "step", "load", "solver", "solve"};
    for (unsigned k = 1; k <= NAMES; k++) {
        assert_true(times[k] > 10 && transfers[k] > 10);
        expect(&all, names[k], times[k], transfers[k], bytes[k], (double)ns[k]);
    }
    assert_int_equal(all.analysis->counts.ranges.stray_ends, 0);
    analyzed_free(&all);
    free(lanes);
}

/* What a process copied before its first range was outside of ranges; a process that never has one
 * is in no phase. */
static void test_before_the_first(void **state)
{
    (void)state;
    struct analyzed all = analyzed_start(NULL);
    for (int pid = 1; pid <= 3; pid++) {
        struct trace_builder b;
        struct script s = {0};
        start(&b, pid);
        copy(&s, 100);
        copy(&s, 100);
        if (pid != 2) {
            push(&s, 0, STEP);
            copy(&s, 1);
            pop(&s, 0);
            copy(&s, 10);
        }
        build_events(&b, 0, 0, s.events, s.count);
        add_to(&all, &b);
    }
    analyzed_finish(&all);
    expect(&all, "(outside of ranges)", 0, 6, 420, 0);
    expect(&all, "step", 2, 2, 2, 2 * 2500);
    assert_int_equal(phase(&all, "(outside of ranges)")->figures.timed, 6);
    assert_true(phase(&all, "(outside of ranges)")->figures.transfer_ns == 6 * 500);
    analyzed_free(&all);
}

/* A range without an end lasts until its own process's last call, whatever that is. */
static void test_unended_in_two_processes(void **state)
{
    (void)state;
    struct analyzed all = analyzed_start(NULL);
    for (int pid = 1; pid <= 2; pid++) {
        struct trace_builder b;
        struct script s = {0};
        start(&b, pid);
        push(&s, 0, pid == 1 ? TRAIN : STEP);
        for (int i = 0; i < (pid == 1 ? 100 : 1); i++)
            copy(&s, 1);
        clock_ns += 700;
        s.events[s.count++] = (struct xft_event){
            .kind = XFT_EVENT_SYNC, .start_ns = clock_ns, .end_ns = clock_ns + 300};
        build_events(&b, 0, 0, s.events, s.count);
        add_to(&all, &b);
    }
    analyzed_finish(&all);
    expect(&all, "train", 1, 100, 100, 100 * 1500 + 1000);
    expect(&all, "step", 1, 1, 1, 1500 + 1000);
    assert_int_equal(all.analysis->counts.ranges.unended, 2);
    analyzed_free(&all);
}

/* ---- past what a trace of a program has ------------------------------------------------------ */

static void observed_start(struct observed *observed, struct xfa_phases *phases, unsigned texts)
{
    char text[32];
    build_start(&observed->b, 1);
    for (unsigned i = 1; i <= texts; i++) {
        snprintf(text, sizeof text, "name %u", i);
        build_text(&observed->b, i, text);
    }
    *phases = (struct xfa_phases){0};
    observed_open(observed, xfa_phases_observer(phases));
}

static void observed_stop(struct observed *observed, struct xfa_phases *phases)
{
    xfa_phases_free(phases);
    observed_free(observed);
}

static void observe_range(struct observed *observed, unsigned kind, uint64_t name, uint64_t id,
                          uint64_t at)
{
    struct xft_event event = {.kind = (uint8_t)kind, .start_ns = at, .aux = name, .dst = id};
    observe(observed, &event, 10);
}

static void observe_copy(struct observed *observed, int32_t tid, uint64_t at)
{
    struct xft_event call = {.start_ns = at, .end_ns = at + 10, .bytes = 8};
    call.direction = XFT_DIR_H2D;
    observe_transfer(observed, &call, tid, 0, XFA_TIMED_HOST, 10);
}

static const struct xfa_phase_figures *figures_at(const struct xfa_phases *phases, size_t i)
{
    return &((const struct xfa_phase *)xfa_table_at(&phases->all, i))->figures;
}

/* A lane is used again: what its first thread left open is not the second one's. */
static void test_threads_of_a_lane(void **state)
{
    (void)state;
    struct observed observed;
    struct xfa_phases phases;
    observed_start(&observed, &phases, 1);
    observe_range(&observed, XFT_EVENT_RANGE_BEGIN, 1, 0, 1000);
    observe_copy(&observed, 10, 1500);
    observe_copy(&observed, 11, 9000);
    observe_end(&observed);
    assert_int_equal(phases.all.count, 2);
    assert_int_equal(figures_at(&phases, 0)->transfers, 1);
    assert_int_equal(figures_at(&phases, 1)->transfers, 1);
    assert_true(figures_at(&phases, 1)->ns == 510); /* to the first one's last event */
    observed_stop(&observed, &phases);
}

/* More ranges of the process open than a transfer is counted to; some end, others move up. */
static void test_many_open(void **state)
{
    (void)state;
    struct observed observed;
    struct xfa_phases phases;
    uint64_t counted = 0;
    observed_start(&observed, &phases, XFA_MAX_OPEN + 6);
    for (uint64_t i = 1; i <= XFA_MAX_OPEN + 6; i++)
        observe_range(&observed, XFT_EVENT_RANGE_BEGIN, i, i, i);
    observe_range(&observed, XFT_EVENT_RANGE_BEGIN, 1, 1000,
                  100); /* of a name that is open: no place more */
    assert_int_equal(phases.beyond, 6);
    observe_copy(&observed, 10, 200);
    for (size_t i = 1; i < phases.all.count; i++)
        counted += figures_at(&phases, i)->transfers;
    assert_int_equal(counted, XFA_MAX_OPEN);
    for (uint64_t i = 1; i <= 10; i++)
        observe_range(&observed, XFT_EVENT_RANGE_END, 0, i, 300);
    observe_copy(&observed, 10, 400);
    counted = 0;
    for (size_t i = 1; i < phases.all.count; i++) {
        bool ended = i > 1 && i <= 10; /* the first name has one left */
        assert_true(figures_at(&phases, i)->transfers <= 2);
        counted += figures_at(&phases, i)->transfers;
        assert_true(!ended || figures_at(&phases, i)->transfers == 1);
    }
    assert_int_equal(counted, XFA_MAX_OPEN + (XFA_MAX_OPEN + 6 - 9));
    observe_end(&observed);
    assert_int_equal(figures_at(&phases, 1)->times, 2);
    assert_true(figures_at(&phases, 1)->ns == 299 + 310);
    assert_int_equal(xfa_ranges_counts(observed.ranges).stray_ends, 0);
    observed_stop(&observed, &phases);
}

/* What has ended is forgotten, however many came; an end that was lost ends with the next begin. */
static void test_ended(void **state)
{
    (void)state;
    struct observed observed;
    struct xfa_phases phases;
    observed_start(&observed, &phases, 2);
    observe_range(&observed, XFT_EVENT_RANGE_BEGIN, 2, 5000000, 1);
    for (uint64_t i = 1; i <= 1000000; i++) {
        observe_range(&observed, XFT_EVENT_RANGE_BEGIN, 1, i, 10 * i);
        observe_range(&observed, XFT_EVENT_RANGE_END, 0, i, 10 * i + 3);
        assert_int_equal(xfa_ranges_open(observed.ranges), 1);
    }
    observe_range(&observed, XFT_EVENT_RANGE_BEGIN, 1, 7, 20000000);
    observe_range(&observed, XFT_EVENT_RANGE_BEGIN, 1, 7, 20000005);
    observe_range(&observed, XFT_EVENT_RANGE_END, 0, 7, 20000010);
    observe_range(&observed, XFT_EVENT_RANGE_END, 0, 5000000, 20000011);
    observe_end(&observed);
    assert_int_equal(figures_at(&phases, 1)->times, 1);
    assert_true(figures_at(&phases, 1)->ns == 20000010);
    assert_int_equal(figures_at(&phases, 2)->times, 1000002);
    assert_true(figures_at(&phases, 2)->ns == 3000000 + 10);
    assert_int_equal(xfa_ranges_counts(observed.ranges).stray_ends, 0);
    assert_int_equal(xfa_ranges_counts(observed.ranges).unended, 1);
    assert_int_equal(phases.beyond, 0);
    observed_stop(&observed, &phases);
}

/* A million of each kind of nonsense stays within the limits, and is counted. */
static void test_endless(void **state)
{
    (void)state;
    enum { TEXTS = 20000, ALL = 1000000 };
    struct observed observed;
    struct xfa_phases phases;
    observed_start(&observed, &phases, TEXTS);
    for (uint64_t i = 1; i <= ALL; i++)
        observe_range(&observed, XFT_EVENT_RANGE_BEGIN, i % TEXTS + 1, i, i);
    observe_copy(&observed, 10, 2000000); /* in a million open ranges */
    for (uint64_t i = 1; i <= ALL; i++)
        observe_range(&observed, XFT_EVENT_RANGE_BEGIN, i % TEXTS + 1, 0, 2000000 + i);
    observe_copy(&observed, 10, 3500000);
    for (uint64_t i = 1; i <= ALL + 1; i++)
        observe_range(&observed, XFT_EVENT_RANGE_END, 0, 0, 4000000 + i);
    assert_int_equal(xfa_ranges_counts(observed.ranges).stray_ends, 1);
    assert_int_equal(xfa_ranges_open(observed.ranges), ALL);
    assert_true(xfa_phases_known(&phases) <= XFA_MAX_PHASES);
    for (uint64_t i = ALL + 1; i > 0; i--)
        observe_range(&observed, XFT_EVENT_RANGE_END, 0, i, 6000000 - i);
    assert_int_equal(xfa_ranges_counts(observed.ranges).stray_ends, 2);
    assert_int_equal(xfa_ranges_open(observed.ranges), 0);
    observe_end(&observed);
    assert_int_equal(phases.all.count, XFA_MAX_PHASES);
    assert_int_equal(xfa_ranges_counts(observed.ranges).beyond, 2 * ALL - XFA_OPEN_RANGES);
    assert_true(phases.beyond + xfa_ranges_counts(observed.ranges).beyond > ALL - XFA_MAX_NESTING);
    observed_stop(&observed, &phases);
}

/* The same names in two processes are one phase; ids differ. */
static void test_processes(void **state)
{
    (void)state;
    struct analyzed all = analyzed_start(NULL);
    for (int pid = 1; pid <= 2; pid++) {
        struct trace_builder b;
        struct script s = {0};
        start(&b, pid);
        build_text(&b, 100, "step");
        push(&s, 0, pid == 1 ? STEP : 100);
        copy(&s, 1);
        pop(&s, 0);
        build_events(&b, 0, 0, s.events, s.count);
        add_to(&all, &b);
    }
    analyzed_finish(&all);
    expect(&all, "step", 2, 2, 2, 2 * 2500);
    assert_int_equal(all.analysis->phases.all.count, 2);
    analyzed_free(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_innermost),
        cmocka_unit_test(test_domains),
        cmocka_unit_test(test_process_ranges),
        cmocka_unit_test(test_unbalanced),
        cmocka_unit_test(test_across_lanes),
        cmocka_unit_test(test_before_the_first),
        cmocka_unit_test(test_unended_in_two_processes),
        cmocka_unit_test(test_processes),
        cmocka_unit_test(test_threads_of_a_lane),
        cmocka_unit_test(test_many_open),
        cmocka_unit_test(test_ended),
        cmocka_unit_test(test_endless),
    };
    return cmocka_run_group_tests_name("phases", tests, NULL, NULL);
}
