/* graph-instantiated-again: which instantiations could be updates, and what the run would save. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"

enum { SITE = 10, END, WAIT, STEPS = 40, NODES = 24, FORM = 0x1234 };
#define MADE_NS 60000
#define FIRST_NS 40000 /* the launch behind it */
#define END_NS 5000
#define GAP_NS 3000 /* the thread's own time */
/* Of what the profile has to instantiate and launch: to update and launch, to launch. */
#define PART 0.5
#define AGAIN 0.1

enum how { ALIKE, OTHER_FORMS, ALL_KEPT, UPDATED, UNKNOWN_FORMS, CAPTURED };
#define CAPTURED_NS 4000 /* each of NODES launches, and as much before each */

static void about_graph(struct play *play, enum xft_graph_call what, uint64_t exec, uint64_t form,
                        uint64_t ns)
{
    struct xft_event *event =
        play_event(play, (struct xft_event){.kind = XFT_EVENT_GRAPH_CALL}, ns);
    event->aux = what;
    event->src = exec;
    event->width = what == XFT_GRAPH_DESTROYED ? 0 : form;
    event->count = what == XFT_GRAPH_DESTROYED ? 0 : NODES;
    event->stack = what == XFT_GRAPH_DESTROYED ? END : SITE;
    event->device = XFT_PLACE_UNKNOWN;
}

static void launch(struct play *play, uint64_t exec, uint64_t ns)
{
    struct xft_event *event = play_in_stream(play, XFT_EVENT_GRAPH_LAUNCH, 0, ns);
    event->src = exec;
}

static void capture(struct play *play)
{
    for (unsigned k = 0; k < NODES; k++) {
        play->now += CAPTURED_NS;
        play_in_stream(play, XFT_EVENT_LAUNCH, 0, CAPTURED_NS)->flags |= XFT_CAPTURED;
    }
    play->now += CAPTURED_NS;
}

/* Handles are given again, as the driver does. */
static void step(struct play *play, enum how how, unsigned i)
{
    uint64_t exec = 0x9000 + (how == ALL_KEPT ? 16 * i : 0);
    uint64_t form = how == UNKNOWN_FORMS ? 0 : how == OTHER_FORMS ? FORM + i : FORM;
    if (how == CAPTURED)
        capture(play);
    if (how == UPDATED && i > 0)
        about_graph(play, XFT_GRAPH_UPDATED, exec, form, MADE_NS);
    else
        about_graph(play, XFT_GRAPH_INSTANTIATED, exec, form, MADE_NS);
    launch(play, exec, FIRST_NS);
    if (how != ALL_KEPT && how != UPDATED)
        about_graph(play, XFT_GRAPH_DESTROYED, exec, 0, END_NS);
    play->now += GAP_NS;
}

/* A table by nodes, of the same cost for all. */
static void table(struct xfp_profile *profile, const char *name, double ns)
{
    measured_table(profile, name, 1);
    struct xfp_table *made = &profile->tables[profile->table_count - 1];
    for (size_t i = 0; i < made->row_count; i++) {
        struct xfp_cost *cost = &made->rows[i].cost;
        made->rows[i].at = 1 + 1000 * i;
        cost->median = cost->min = cost->max = cost->ci_low = cost->ci_high = ns;
    }
}

static struct xfp_profile *machine(bool probed)
{
    struct xfp_profile *profile = measured_profile(0);
    if (probed) {
        table(profile, "graph/instantiate/gpu0", 100000);
        table(profile, "graph/update/gpu0", 100000 * PART);
        table(profile, "graph/launch/gpu0", 100000 * AGAIN);
    }
    return profile;
}

static void begin(struct play *play, struct trace_builder *b)
{
    *play = (struct play){0};
    play_start(play, b, 1);
    play_site(play, SITE, "frame", 1);
    play_site(play, END, "frame", 2);
    play_site(play, WAIT, "finish", 3);
}

static void await(struct play *play, uint64_t ns)
{
    struct xft_event *wait = play_in_stream(play, XFT_EVENT_SYNC, 0, ns);
    wait->aux = XFT_SYNC_STREAM;
    wait->stack = WAIT;
}

static struct analyzed played(enum how how, bool probed)
{
    static struct play play;
    struct trace_builder b = {0};
    begin(&play, &b);
    for (unsigned i = 0; i < STEPS; i++)
        step(&play, how, i);
    await(&play, 2000);
    play_end(&play, XFT_STATE_CLOSED);
    return analyzed_played(&b, machine(probed));
}

/* The device runs one part as soon as the call has begun, the other one when it has returned; the
 * result: until when. */
static uint64_t parts_of_graph(struct play *play, uint64_t begun)
{
    static uint32_t correlation = 5000;
    struct play_lane *lane = &play->lanes[play->lane];
    lane->events[lane->count - 1].correlation = ++correlation;
    const uint64_t starts[] = {begun + 2000, begun + FIRST_NS}, runs[] = {1000, 50000};
    uint64_t now = play->now;
    unsigned was = play->lane;
    play->lane = LANE_DEVICE;
    for (unsigned i = 0; i < 2; i++) {
        struct xft_event part = {.kind = XFT_EVENT_KERNEL, .correlation = correlation};
        play->now = starts[i];
        play_event(play, part, runs[i]);
    }
    play->lane = was;
    play->now = now;
    return starts[1] + runs[1];
}

/* Of all steps but the first; the last destruction stays. */
static double saved_ns(double left)
{
    return (STEPS - 1) * ((1 - left) * (MADE_NS + FIRST_NS) + END_NS);
}

/* Low and high are these, and up to a seventh beyond: what runs differ by. */
static void between(const struct xfa_finding *f, double low, double high)
{
    double most = 0.15 * (STEPS - 1) * (MADE_NS + FIRST_NS + END_NS);
    assert_true(f->saving.low <= low + 1000 && f->saving.low >= low - most);
    assert_true(f->saving.high >= high - 1000 && f->saving.high <= high + most);
}

static void test_updates(void **state)
{
    struct analyzed a = played(ALIKE, true);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_GRAPH_AGAIN, "frame");
    (void)state;
    assert_non_null(f);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_UPDATE_GRAPH);
    assert_int_equal(f->transfers, STEPS);
    assert_int_equal(f->bytes, 0);
    assert_float_equal(f->saving.likely, saved_ns(PART), 1000);
    between(f, saved_ns(1 - (1 - PART) * 0.75), saved_ns(AGAIN));
    assert_true(f->order > 0); /* in the best set */
    assert_non_null(f->at_best);
    analyzed_free(&a);
}

/* At best nothing changes, and nothing needs to be captured once a graph is there: all but the
 * thread's own time before the capture goes. */
static void test_captured(void **state)
{
    struct analyzed a = played(CAPTURED, true);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_GRAPH_AGAIN, "frame");
    const double captures = (STEPS - 1.0) * 2 * NODES * CAPTURED_NS;
    (void)state;
    assert_non_null(f);
    assert_float_equal(f->saving.likely, saved_ns(PART), 1000);
    assert_true(f->saving.high > saved_ns(AGAIN) + captures - 1000);
    analyzed_free(&a);
}

/* Nothing is promised at worst but the destructions, which an update does without. */
static void test_without_figures(void **state)
{
    struct analyzed a = played(ALIKE, false);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_GRAPH_AGAIN, "frame");
    (void)state;
    assert_non_null(f);
    assert_float_equal(f->saving.likely, saved_ns(0.5), 1000);
    between(f, saved_ns(1), saved_ns(0));
    assert_non_null(strstr(f->assumed, "not measured"));
    analyzed_free(&a);
}

/* Its first part runs while the call submits the others, which then come sooner, too. */
static void test_submitted_meanwhile(void **state)
{
    static struct play play;
    struct trace_builder b = {0};
    (void)state;
    begin(&play, &b);
    for (unsigned i = 0; i < STEPS; i++) {
        about_graph(&play, XFT_GRAPH_INSTANTIATED, 0x9000, FORM, MADE_NS);
        uint64_t begun = play.now;
        launch(&play, 0x9000, FIRST_NS);
        uint64_t ends = parts_of_graph(&play, begun);
        await(&play, play_wait_ns(&play, ends, 2000));
        about_graph(&play, XFT_GRAPH_DESTROYED, 0x9000, 0, END_NS);
    }
    play_end(&play, XFT_STATE_CLOSED);
    struct analyzed a = analyzed_played(&b, machine(true));
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_GRAPH_AGAIN, "frame");
    assert_non_null(f);
    assert_float_equal(f->saving.likely, saved_ns(PART), 3000 * STEPS / 10);
    analyzed_free(&a);
}

static void test_left(void **state)
{
    static const enum how hows[] = {OTHER_FORMS, ALL_KEPT, UPDATED, UNKNOWN_FORMS};
    (void)state;
    for (size_t i = 0; i < sizeof hows / sizeof *hows; i++) {
        struct analyzed a = played(hows[i], true);
        assert_null(analyzed_finding(&a, XFA_FINDING_GRAPH_AGAIN, NULL));
        analyzed_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_updates),
        cmocka_unit_test(test_captured),
        cmocka_unit_test(test_without_figures),
        cmocka_unit_test(test_submitted_meanwhile),
        cmocka_unit_test(test_left),
    };
    return cmocka_run_group_tests_name("findings: graphs instantiated again", tests, NULL, NULL);
}
