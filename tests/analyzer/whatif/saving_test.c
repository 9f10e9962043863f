/* Between which bounds a saving may lie, and how these are said. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/report/savings.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"
#include "tests/analyzer/traces/scenario.h"

#define MS 1e6
#define SAVING(low, likely, high) ((struct xfw_saving){(low)*MS, (likely)*MS, (high)*MS})

static void expect(struct xfw_saving saving, double low, double likely, double high)
{
    assert_true(saving.low == low * MS);
    assert_true(saving.likely == likely * MS);
    assert_true(saving.high == high * MS);
}

static void test_within(void **state)
{
    (void)state;
    expect(xfw_saving_within(SAVING(1, 2, 3), 10 * MS), 1, 2, 3);
    expect(xfw_saving_within(SAVING(-1, 2, 3), 10 * MS), -1, 2, 3);
    expect(xfw_saving_within(SAVING(1, 9, 12), 10 * MS), 1, 9, 10);
    expect(xfw_saving_within(SAVING(11, 12, 13), 10 * MS), 10, 10, 10);
    expect(xfw_saving_within(SAVING(5, 4, 3), 10 * MS), 4, 4, 4);
    struct xfw_saving unknown = xfw_saving_within((struct xfw_saving){NAN, MS, NAN}, 10 * MS);
    assert_true(isnan(unknown.low) && unknown.likely == MS && isnan(unknown.high));
}

/* A saving that breaks the rules is a mistake: it is said, and nothing is shown. */
static void test_checked(void **state)
{
    (void)state;
    char *asked = getenv("XFERSCOPE_CHECKS"), *kept = asked ? strdup(asked) : NULL;
    const struct xfw_saving good = SAVING(-20, 5, 10), whole = SAVING(10, 10, 10);
    const struct xfw_saving unknown = {NAN, NAN, NAN}, unsure = {NAN, 5 * MS, NAN};
    expect(xfw_saving_checked(&good, 10 * MS), -20, 5, 10);
    expect(xfw_saving_checked(&whole, 10 * MS), 10, 10, 10);
    assert_true(isnan(xfw_saving_checked(&unknown, 10 * MS).likely));
    assert_true(xfw_saving_checked(&unsure, 10 * MS).likely == 5 * MS);
    const struct xfw_saving bad[] = {SAVING(1, 5, 11),
                                     SAVING(11, 11, 11),
                                     SAVING(6, 5, 7),
                                     SAVING(1, 5, 4),
                                     {NAN, 11 * MS, NAN}};
    unsetenv("XFERSCOPE_CHECKS");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct xfw_saving shown = xfw_saving_checked(&bad[i], 10 * MS);
        assert_true(isnan(shown.low) && isnan(shown.likely) && isnan(shown.high));
    }
    if (kept)
        setenv("XFERSCOPE_CHECKS", kept, 1);
    free(kept);
}

static void says(char *text, const char *wanted)
{
    assert_string_equal(text, wanted);
    free(text);
}

static void test_words(void **state)
{
    (void)state;
    const struct xfw_saving gain = SAVING(40, 50, 60), either = SAVING(-0.9, 5, 60);
    const struct xfw_saving cost = SAVING(-9, -5, -2), nothing = SAVING(-1e-7, 5, 60);
    says(xfa_bounds_text(&gain), "between 40.0 ms and 60.0 ms");
    says(xfa_bounds_text(&either), "at most 60.0 ms, and may cost up to 900 us");
    says(xfa_bounds_text(&cost), "costs between 2.00 ms and 9.00 ms");
    says(xfa_bounds_text(&nothing), "between 0 ns and 60.0 ms");
    says(xfa_bounds_cell(&gain, "\n"), "40.0-60.0 ms");
    says(xfa_bounds_cell(&either, "\n"), "up to 60.0 ms,\nmay cost 900 us");
    says(xfa_bounds_cell(&cost, " "), "costs up to 9.00 ms");
    says(xfa_after_text(1e8, &gain), "40.0 to 60.0 ms");
    says(xfa_after_text(1e8, &either), "at best 40.0 ms, may cost up to 900 us");
}

/* ---- of a run -------------------------------------------------------------------------------- */

enum { CALLS = 9, PERIOD_NS = 10000, CALL_NS = 1000, OUTSIDE_NS = 30000 };

/* The thread's time before each call but the first goes, all but `left`. */
struct shorter {
    struct xfw_change change;
    double left_ns;
};

static void take(const struct xfw_change *change, void *state, struct xfw_player *player,
                 struct xfw_op *op)
{
    const struct shorter *shorter = (const struct shorter *)change;
    (void)state;
    (void)player;
    if (op->kind == XFT_EVENT_LAUNCH && op->gap_ns < OUTSIDE_NS && op->gap_ns > shorter->left_ns)
        op->gap_ns = shorter->left_ns;
}

static const struct xfw_change_type type = {.name = "shorter", .op = take};

/* Launches, in the middle of a run of which 30 us before and 30 us behind them are the program's
 * own. */
static struct xfw_saving saved(double left_ns, double *run_ns)
{
    struct trace_builder b;
    struct xft_event calls[CALLS];
    build_start(&b, 1);
    scenario_names(&b);
    for (uint64_t i = 0; i < CALLS; i++) {
        uint64_t start = TEST_START_NS + OUTSIDE_NS + i * PERIOD_NS;
        calls[i] = (struct xft_event){
            .kind = XFT_EVENT_LAUNCH, .start_ns = start, .end_ns = start + CALL_NS};
    }
    build_events(&b, 0, 0, calls, CALLS);
    build_close(&b, XFT_STATE_CLOSED, calls[CALLS - 1].end_ns + OUTSIDE_NS);
    struct analyzed a = analyzed_trace(&b, NULL);
    struct shorter shorter = {.change = {.type = &type, .analysis = a.analysis},
                              .left_ns = left_ns};
    struct xfw_change *changes[] = {&shorter.change};
    struct xfw_whatif *whatif = xfw_whatif_of(a.analysis, changes, 1, NULL, NULL, NULL);
    assert_true(whatif->known);
    *run_ns = whatif->alone_ns;
    assert_true(whatif->span.alone_ns == (CALLS - 1) * PERIOD_NS + CALL_NS);
    struct xfw_saving saving = whatif->alone[0], set = whatif->set;
    assert_true(set.likely == saving.likely && set.high == saving.high && set.low == saving.low);
    xfw_whatif_free(whatif);
    analyzed_free(&a);
    build_free(&b);
    return saving;
}

/* Widened as others, but by nothing of what lies outside of the work. */
static void test_of_a_run(void **state)
{
    (void)state;
    const double gaps = (CALLS - 1) * (PERIOD_NS - CALL_NS),
                 span = (CALLS - 1) * PERIOD_NS + CALL_NS;
    double run;
    struct xfw_saving some = saved(6000, &run);
    assert_true(run == span + 2 * OUTSIDE_NS);
    assert_true(some.likely == gaps - (CALLS - 1) * 6000);
    assert_true(some.high > 1.2 * some.likely && some.high < span);
    struct xfw_saving most = saved(10, &run);
    assert_true(most.likely == gaps - (CALLS - 1) * 10);
    assert_true(1.2 * most.likely > span); /* so wide it would be */
    assert_true(most.high == span);
    assert_true(most.low < 0.8 * most.likely);
}

/* ---- the span -------------------------------------------------------------------------------- */

enum { KERNELS = 3, KERNEL_NS = 50000, WAKE_NS = 1000 };

static void drop_waits(const struct xfw_change *change, void *state, struct xfw_player *player,
                       struct xfw_op *op)
{
    (void)change;
    (void)state;
    (void)player;
    if (op->kind == XFT_EVENT_SYNC)
        xfw_op_drop(op);
}

static const struct xfw_change_type no_waits = {.name = "no waits", .op = drop_waits};

static void kernel(struct play *play, unsigned number, bool waited)
{
    const struct xft_event launch = {.kind = XFT_EVENT_LAUNCH, .correlation = number};
    const struct xft_event ran = {.kind = XFT_EVENT_KERNEL, .correlation = number};
    const struct xft_event wait = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT};
    uint64_t from = play_event(play, launch, CALL_NS)->end_ns, later = play->now;
    play->now = from;
    play->lane = LANE_DEVICE;
    uint64_t end = play_event(play, ran, KERNEL_NS)->end_ns;
    play->lane = LANE_MAIN;
    play->now = later;
    if (waited)
        play_event(play, wait, end + WAKE_NS - later);
}

/* Kernels that are waited for one by one, then perhaps one that nobody waits for: what the span
 * loses without the waits. */
static double span_without_waits(bool beyond, double *span_ns)
{
    struct trace_builder b;
    struct play play;
    const struct xft_event records = {.kind = XFT_EVENT_RECORDS, .aux = XFT_RECORDS_KERNELS};
    play_start(&play, &b, 1);
    play_event(&play, records, 0);
    for (unsigned i = 0; i < KERNELS; i++)
        kernel(&play, 100 + i, true);
    if (beyond)
        kernel(&play, 100 + KERNELS, false);
    play.now += 10 * KERNEL_NS; /* the program's own */
    play_end(&play, XFT_STATE_CLOSED);
    struct analyzed a = analyzed_trace(&b, NULL);
    struct xfw_change change = {.type = &no_waits, .analysis = a.analysis};
    struct xfw_change *changes[] = {&change};
    struct xfw_whatif *whatif = xfw_whatif_of(a.analysis, changes, 1, NULL, NULL, NULL);
    assert_true(whatif->known);
    *span_ns = whatif->span.alone_ns;
    double left = whatif->span.set_ns;
    xfw_whatif_free(whatif);
    analyzed_free(&a);
    build_free(&b);
    return left;
}

/* Without a wait behind it the last work still takes its time: as much of it counts as did. */
static void test_ends_with_the_work(void **state)
{
    (void)state;
    double span, work = KERNELS * (double)KERNEL_NS;
    double left = span_without_waits(false, &span);
    assert_true(span > work + KERNELS * (CALL_NS + WAKE_NS) - 1);
    assert_true(left >= work && left < span);
    left = span_without_waits(true, &span);
    assert_true(span < work + (KERNELS + 1) * (CALL_NS + WAKE_NS + 500.0));
    assert_true(left >= work && left < span);
}

#define CONTEXT_NS (100 * (uint64_t)MS)

/* The process's first call makes the context, and copies then; further copies follow. */
static void play_first(struct play *play, unsigned records, bool before)
{
    const struct xft_event known = {.kind = XFT_EVENT_RECORDS, .aux = records};
    struct xft_event *first =
        play_copy(play, STACK_UPLOAD, XFT_DIR_H2D, XFT_MEM_PINNED, 4096, CONTEXT_NS);
    if (before)
        first->start_ns -= CONTEXT_NS / 2;
    first->correlation = ++play->correlation;
    if (records) {
        struct xft_event *copy = play_device_part(play, first, first->bytes, CALL_NS / 2);
        copy->start_ns = first->end_ns - CALL_NS;
        copy->end_ns = first->end_ns - CALL_NS / 2;
    }
    play_event(play, known, 0);
    for (unsigned i = 0; i < KERNELS; i++)
        play_copy(play, STACK_UPLOAD, XFT_DIR_H2D, XFT_MEM_PINNED, 4096, CALL_NS);
}

/* That is no part of its work, by the device's record or the profile; the copy is. A call that
 * began before the recording takes as long as was recorded. */
static void test_context_is_no_work(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct trace_builder b;
        struct play play;
        play_start(&play, &b, 1);
        play_first(&play, i % 2 ? XFT_RECORDS_COPIES : 0, i / 2);
        play_end(&play, XFT_STATE_CLOSED);
        struct analyzed a = analyzed_played(&b, scenario_profile());
        const struct xfw_whatif *whatif = a.findings->whatif;
        assert_true(whatif->known && whatif->error < 0.001);
        assert_true(whatif->span.alone_ns > KERNELS * CALL_NS);
        assert_true(whatif->span.alone_ns < CONTEXT_NS / 10.0);
        analyzed_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_within),
        cmocka_unit_test(test_checked),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_of_a_run),
        cmocka_unit_test(test_ends_with_the_work),
        cmocka_unit_test(test_context_is_no_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
