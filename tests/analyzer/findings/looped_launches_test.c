/* looped-launches: which launches in a row one launch might do for, and what that saves if it is
 * so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/loops.h"
#include "analyzer/whatif/whatif.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"

enum { WAIT = 10, STEPS = 40, ROW = 24, THREADS = 256, SWEEP = 100, UPDATE };
#define LAUNCH_NS 4000
#define LATENCY_NS 2000
#define KERNEL_NS 3000
#define WAKE_NS 2000

struct how {
    unsigned row; /* launches */
    bool waits;   /* behind each row, in place of another kernel's row */
    bool moves;   /* each launch is given other memory */
};

struct run {
    struct trace_builder b;
    struct play play;
    uint64_t busy;
    uint32_t launches;
};

static struct run run;

static void launch(unsigned name, unsigned arguments)
{
    struct play *play = &run.play;
    uint64_t start = play->now + LATENCY_NS;
    struct xft_event *event = play_in_stream(play, XFT_EVENT_LAUNCH, 0, LAUNCH_NS);
    event->src = name;
    event->dst = THREADS;
    event->aux = arguments;
    event->correlation = 7000 + ++run.launches;
    uint64_t now = play->now;
    unsigned was = play->lane;
    play->lane = LANE_DEVICE;
    play->now = start > run.busy ? start : run.busy;
    const struct xft_event kernel = {
        .kind = XFT_EVENT_KERNEL, .src = name, .dst = THREADS, .correlation = 7000 + run.launches};
    play_event(play, kernel, KERNEL_NS);
    run.busy = play->now;
    play->lane = was;
    play->now = now;
}

static void wait_for_all(void)
{
    struct xft_event *wait =
        play_in_stream(&run.play, XFT_EVENT_SYNC, 0, play_wait_ns(&run.play, run.busy, WAKE_NS));
    wait->aux = XFT_SYNC_CONTEXT;
    wait->stack = WAIT;
}

static void row(const struct how *how, unsigned name, unsigned arguments)
{
    for (unsigned i = 0; i < how->row; i++)
        launch(name, arguments + (how->moves ? i % 2 : 0));
    if (how->waits)
        wait_for_all();
}

static void play_rows(const struct how *how)
{
    run = (struct run){0};
    play_start(&run.play, &run.b, 1);
    play_site(&run.play, WAIT, "finish", 1);
    build_text(&run.b, SWEEP, "_Z5sweepPfi");
    build_text(&run.b, UPDATE, "_Z6updatePfi");
    for (unsigned i = 1; i <= 4; i++) {
        uint64_t memory = 0x7f1000000000ull + i * 4096;
        build_arguments(&run.b, i, &memory, 1);
    }
    const struct xft_event records = {.kind = XFT_EVENT_RECORDS, .aux = XFT_RECORDS_KERNELS};
    play_event(&run.play, records, 0);
    for (unsigned i = 0; i < STEPS; i++) {
        row(how, SWEEP, 1);
        row(how, UPDATE, 3);
    }
    wait_for_all();
    play_end(&run.play, XFT_STATE_CLOSED);
}

static struct analyzed played(const struct how *how)
{
    play_rows(how);
    return analyzed_played(&run.b, measured_profile(0));
}

static const struct xfa_finding *looped(const struct analyzed *a)
{
    for (size_t i = 0; i < a->findings->count; i++)
        if (a->findings->items[i].id == XFA_FINDING_LOOPED)
            return &a->findings->items[i];
    return NULL;
}

/* Of each row the first launch stays; the first row of each kernel is let pass. */
static void test_asked(void **state)
{
    (void)state;
    struct analyzed a = played(&(struct how){.row = ROW});
    const struct xfa_finding *f = looped(&a);
    const double go = (2.0 * STEPS - 2) * (ROW - 1), saved = go * LAUNCH_NS;
    assert_non_null(f);
    assert_true(f->asked && f->idle);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_LAUNCH_OVER_ALL);
    assert_int_equal(f->transfers, go);
    assert_true(f->saving.likely < 0.01 * saved && f->saving.low <= 0);
    assert_true(f->saving.high > 0.9 * saved && f->saving.high < 1.3 * saved);
    analyzed_free(&a);
}

/* Once it is answered. */
static void test_answered(void **state)
{
    (void)state;
    const double saved = (2.0 * STEPS - 2) * (ROW - 1) * LAUNCH_NS;
    for (int yes = 0; yes < 2; yes++) {
        play_rows(&(struct how){.row = ROW});
        struct analyzed a = analyzed_trace(&run.b, NULL);
        struct xfw_change *change = xfw_change_looped_launches(a.analysis);
        change->assured = yes;
        change->from = XFW_LIKELY;
        struct xfw_whatif *whatif = xfw_whatif_of(a.analysis, &change, 1, NULL, NULL, NULL);
        double likely = whatif->alone[0].likely;
        assert_int_equal(likely > 0.9 * saved, yes); /* else it is not known */
        xfw_whatif_free(whatif);
        xfw_change_free(change);
        analyzed_free(&a);
        build_free(&run.b); /* it was read from there until now */
    }
}

static void test_silent(void **state)
{
    const struct how all[] = {
        {.row = ROW, .waits = true}, /* steps of time, looked at */
        {.row = ROW, .moves = true}, /* two buffers by turns */
        {.row = XFW_LOOP_LEAST - 1}, /* too few to be worth it */
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct analyzed a = played(&all[i]);
        assert_null(looped(&a));
        analyzed_free(&a);
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

static unsigned count(struct xfw_loops *loops, unsigned launches, uint64_t name, uint64_t stream)
{
    unsigned merged = 0;
    for (unsigned i = 0; i < launches; i++) {
        const struct xfw_piece_launch launch = {.name = name, .arguments = 1, .stream = stream};
        bool goes_on = xfw_loops_goes_on(loops, 0, &launch);
        assert_int_equal(goes_on, xfw_loops_next(loops, 0, &launch));
        merged += goes_on;
    }
    return merged;
}

static void test_rows(void **state)
{
    static struct xfw_loops loops;
    (void)state;
    assert_int_equal(count(&loops, ROW, SWEEP, 0), 0); /* what ends it is not known yet */
    assert_int_equal(count(&loops, 1, UPDATE, 0), 0);
    assert_int_equal(count(&loops, ROW, SWEEP, 0), ROW - 1);
    xfw_loops_break(&loops, 0);
    assert_int_equal(count(&loops, ROW, SWEEP, 0), 0); /* as often by neither */
    assert_int_equal(count(&loops, 1, UPDATE, 0), 0);
    assert_int_equal(count(&loops, ROW, SWEEP, 0), ROW - 1);
    assert_int_equal(count(&loops, 1, UPDATE, 0), 0);
    assert_int_equal(count(&loops, 3, SWEEP, 0), 2);
    assert_int_equal(count(&loops, 1, UPDATE, 0), 0);
    assert_int_equal(count(&loops, ROW, SWEEP, 0), ROW - XFW_LOOP_LEAST); /* the last was short */
    assert_int_equal(count(&loops, 1, SWEEP, 1), 0); /* another stream: another row */
    const struct xfw_piece_launch unknown = {.name = SWEEP};
    assert_false(xfw_loops_next(&loops, 0, &unknown));
    assert_false(xfw_loops_next(&loops, 0, &unknown));
    assert_false(xfw_loops_next(&loops, XFW_PIECE_THREADS, &unknown));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_asked),
        cmocka_unit_test(test_answered),
        cmocka_unit_test(test_silent),
        cmocka_unit_test(test_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
