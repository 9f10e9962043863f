/* How often a run is played: each way once, and what nobody asks for not at all. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/base/alloc.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/scenario.h"
#include "tests/analyzer/traces/scenario_report.h"

enum { CALLS = 9, GAPS = CALLS - 1, PERIOD_NS = 10000, CALL_NS = 1000, MOST = 4 };
enum { UNCHANGED = 2 }; /* with and without what recording cost */

/* So many ns less, at worst none, at best twice as much, of the thread's time before each call but
 * the first. */
struct shorter {
    struct xfw_change change;
    double ns;
    unsigned plays[XFW_CERTAINTIES];
    unsigned last_read; /* the file is another one behind so many plays as is likely; 0: never */
};

static void begin(const struct xfw_change *change, void *state, struct xfw_player *player)
{
    struct shorter *shorter = (struct shorter *)change;
    enum xfw_certainty certainty = xfw_player_certainty(player);
    shorter->plays[certainty]++;
    if (certainty == XFW_LIKELY && shorter->plays[certainty] == shorter->last_read)
        xfw_player_process(player)->pid++;
}

static void take(const struct xfw_change *change, void *state, struct xfw_player *player,
                 struct xfw_op *op)
{
    const struct shorter *shorter = (const struct shorter *)change;
    if (op->kind == XFT_EVENT_ALLOC && op->gap_ns > shorter->ns)
        op->gap_ns -= shorter->ns * xfw_player_certainty(player);
}

static const struct xfw_change_type type = {.name = "shorter", .begin = begin, .op = take};
static const struct xfw_change_type type_by_ops = {
    .name = "shorter", .by_ops = true, .begin = begin, .op = take};

struct weighed {
    struct shorter shorter[MOST];
    struct xfw_change *changes[MOST];
    struct xfw_whatif *whatif;
};

static void weigh(struct weighed *w, size_t count)
{
    struct trace_builder b;
    struct xft_event calls[CALLS];
    build_start(&b, 1);
    scenario_names(&b);
    for (uint64_t i = 0; i < CALLS; i++) {
        uint64_t start = TEST_START_NS + (i + 1) * PERIOD_NS;
        calls[i] = (struct xft_event){
            .kind = XFT_EVENT_ALLOC, .start_ns = start, .end_ns = start + CALL_NS};
    }
    build_events(&b, 0, 0, calls, CALLS);
    build_close(&b, XFT_STATE_CLOSED, TEST_START_NS + (CALLS + 1) * (uint64_t)PERIOD_NS);
    struct analyzed a = analyzed_trace(&b, NULL);
    for (size_t i = 0; i < count; i++) {
        if (!w->shorter[i].change.type)
            w->shorter[i].change.type = &type;
        w->shorter[i].change.analysis = a.analysis;
        w->changes[i] = &w->shorter[i].change;
    }
    w->whatif = xfw_whatif_of(a.analysis, w->changes, count, NULL, NULL, NULL);
    assert_true(w->whatif->known);
    analyzed_free(&a);
    build_free(&b);
}

static void test_unchanged(void **state)
{
    (void)state;
    struct weighed w = {0};
    weigh(&w, 0);
    assert_int_equal(w.whatif->replays, UNCHANGED);
    xfw_whatif_free(w.whatif);
}

/* A finding that stands in the report says what it would save at worst and at best, little as it
 * is; what was but tried does not. */
static void test_what_was_but_tried(void **state)
{
    (void)state;
    struct weighed w = {.shorter = {{.ns = 0}, {.ns = 0, .change.on_trial = true}}};
    weigh(&w, 2);
    const unsigned together = 1; /* both, in case they only pay so */
    assert_int_equal(w.whatif->replays, UNCHANGED + XFW_CERTAINTIES + 1 + together);
    assert_int_equal(w.shorter[1].plays[XFW_LOW] + w.shorter[1].plays[XFW_HIGH], 0);
    assert_true(w.whatif->alone[0].low < w.whatif->alone[0].high);
    assert_true(isnan(w.whatif->alone[1].low) && isnan(w.whatif->alone[1].high));
    assert_true(w.whatif->alone[1].likely == 0);
    xfw_whatif_free(w.whatif);
}

/* One that pays is as well known as the others. */
static void test_tried_and_pays(void **state)
{
    (void)state;
    struct weighed w = {.shorter = {{.ns = 1000, .change.on_trial = true}}};
    weigh(&w, 1);
    assert_true(w.whatif->alone[0].likely == 1000 * GAPS);
    assert_true(w.whatif->alone[0].low < 0 && w.whatif->alone[0].high > 2000 * GAPS);
    assert_int_equal(w.whatif->order[0], 1);
    xfw_whatif_free(w.whatif);
}

/* Of a set of one all is known from playing it alone. */
static void test_set_of_one(void **state)
{
    (void)state;
    struct weighed w = {.shorter = {{.ns = 1000}}};
    weigh(&w, 1);
    assert_int_equal(w.whatif->order[0], 1);
    assert_true(w.whatif->set.low == w.whatif->alone[0].low);
    assert_true(w.whatif->set.high == w.whatif->alone[0].high);
    assert_true(w.whatif->last[0].likely == w.whatif->alone[0].likely);
    assert_int_equal(w.whatif->replays, UNCHANGED + XFW_CERTAINTIES);
    xfw_whatif_free(w.whatif);
}

/* Of two: both together as is likely, when the second is chosen; at worst and at best. Without one
 * of them it is the other alone. */
static void test_set_of_two(void **state)
{
    (void)state;
    struct weighed w = {.shorter = {{.ns = 1000}, {.ns = 500}}};
    weigh(&w, 2);
    assert_int_equal(w.whatif->order[0], 1);
    assert_int_equal(w.whatif->order[1], 2);
    assert_true(w.whatif->set.likely == 1500 * GAPS);
    assert_true(w.whatif->last[0].likely == 1000 * GAPS);
    assert_true(w.whatif->last[1].likely == 500 * GAPS);
    assert_int_equal(w.whatif->replays, UNCHANGED + 3 * XFW_CERTAINTIES);
    for (int c = 0; c < XFW_CERTAINTIES; c++)
        assert_int_equal(w.shorter[0].plays[c], 2);
    xfw_whatif_free(w.whatif);
}

/* The third is asked for in vain, and so is the set of the first two: what they save alone is
 * known, and why there is no more is said once. */
static void test_read_no_more(void **state)
{
    (void)state;
    struct weighed w = {.shorter = {{.ns = 1000, .last_read = 3}, {.ns = 500}, {.ns = 250}}};
    weigh(&w, 3);
    assert_true(w.whatif->known);
    assert_int_equal(w.whatif->order[1], 2);
    assert_int_equal(w.whatif->order[2], 0);
    assert_non_null(w.whatif->why);
    assert_true(isnan(w.whatif->set.likely));
    assert_false(isnan(w.whatif->alone[2].low));
    xfw_whatif_free(w.whatif);
}

/* One for which the run has no op saves nothing, and is not played, alone or with others. */
static void test_idle(void **state)
{
    (void)state;
    struct weighed one = {.shorter = {{.ns = 1000}}};
    weigh(&one, 1);
    struct weighed w = {.shorter = {{.ns = 1000}, {.ns = 500, .change.idle = true}}};
    weigh(&w, 2);
    assert_int_equal(w.whatif->replays, one.whatif->replays);
    xfw_whatif_free(one.whatif);
    assert_true(w.whatif->alone[1].likely == 0);
    assert_int_equal(w.shorter[1].plays[XFW_LIKELY], 0);
    assert_int_equal(w.whatif->order[1], 0);
    xfw_whatif_free(w.whatif);
}

/* One that changes nothing but at best is played there alone: with others, as is likely, the run is
 * the one without it. */
static void test_changes_nothing(void **state)
{
    (void)state;
    struct weighed one = {.shorter = {{.ns = 1000}}};
    weigh(&one, 1);
    struct weighed w = {.shorter = {{.ns = 1000}, {.ns = 500, .change.from = XFW_HIGH}}};
    weigh(&w, 2);
    assert_int_equal(w.whatif->replays, one.whatif->replays + 1);
    xfw_whatif_free(one.whatif);
    assert_int_equal(w.shorter[1].plays[XFW_LIKELY], 0);
    assert_int_equal(w.shorter[1].plays[XFW_HIGH], 1);
    assert_true(w.whatif->alone[1].likely == 0 && w.whatif->alone[1].high > 1000 * GAPS);
    xfw_whatif_free(w.whatif);
}

/* Members that do something are known to be missed, each by itself. */
static void test_set_of_three(void **state)
{
    (void)state;
    struct weighed w = {.shorter = {{.ns = 1000}, {.ns = 500}, {.ns = 250}}};
    weigh(&w, 3);
    assert_true(w.whatif->set.likely == 1750 * GAPS);
    assert_true(w.whatif->last[0].likely == 1000 * GAPS);
    assert_true(w.whatif->last[1].likely == 500 * GAPS);
    assert_true(w.whatif->last[2].likely == 250 * GAPS);
    xfw_whatif_free(w.whatif);
}

/* Two that do nothing, since no thread has so much time: each alone, and all together. Without one
 * of them it is the same, which is not played. */
static void test_did_nothing_together(void **state)
{
    (void)state;
    const double more = 2 * PERIOD_NS;
    struct weighed w = {.shorter = {{.ns = 1000}, {.ns = 500}, {.ns = more}, {.ns = more}}};
    weigh(&w, 4);
    assert_true(w.whatif->set.likely == 1500 * GAPS);
    assert_int_equal(w.whatif->order[2] + w.whatif->order[3], 0);
    assert_int_equal(w.shorter[2].plays[XFW_LIKELY], 2);
    assert_int_equal(w.shorter[3].plays[XFW_LIKELY], 2);
    xfw_whatif_free(w.whatif);
}

/* Two that are tried with the first walk, and do nothing: at best one of them is played for both. A
 * third one, which does something, is played for itself. */
static void test_tried_in_vain(void **state)
{
    (void)state;
    const struct xfw_change change = {.type = &type_by_ops, .from = XFW_HIGH};
    const double more = 2 * PERIOD_NS;
    const unsigned tried = 1;
    struct weighed w = {.shorter = {{.change = change, .ns = more},
                                    {.change = change, .ns = 500},
                                    {.change = change, .ns = more}}};
    weigh(&w, 3);
    assert_int_equal(w.shorter[0].plays[XFW_HIGH], tried + 1);
    assert_int_equal(w.shorter[1].plays[XFW_HIGH], tried + 1);
    assert_int_equal(w.shorter[2].plays[XFW_HIGH], tried);
    assert_true(w.whatif->alone[0].high == w.whatif->alone[2].high);
    assert_true(w.whatif->alone[1].high > w.whatif->alone[0].high + 900 * GAPS);
    xfw_whatif_free(w.whatif);
}

/* Where another one makes copies larger, it may have some to work on. */
static void test_idle_no_more(void **state)
{
    (void)state;
    struct weighed w = {.shorter = {{.ns = 1000, .change.resizes = true},
                                    {.ns = 500, .change = {.idle = true, .on_trial = true}}}};
    weigh(&w, 2);
    assert_int_equal(w.shorter[1].plays[XFW_LIKELY] > 0, 1);
    assert_true(w.whatif->alone[1].likely == 0);
    assert_int_equal(w.whatif->order[1], 2);
    assert_true(w.whatif->set.likely == 1500 * GAPS);
    xfw_whatif_free(w.whatif);
}

/* Numbers of streams and the like are on trial: those that do not pay show nowhere, and were not
 * played at worst and at best. */
static void test_trials_of_findings(void **state)
{
    (void)state;
    struct trace_builder b;
    struct xfp_profile *profile = scenario_profile();
    scenario_findings(&b, "");
    struct analyzed a = analyzed_weighed(&b, profile);
    const struct xfw_whatif *whatif = a.findings->whatif;
    unsigned in_full = 0;
    for (size_t i = 0; i < whatif->count; i++)
        in_full += !isnan(whatif->alone[i].low);
    assert_true(whatif->known);
    assert_true(in_full < whatif->count);
    analyzed_free(&a);
    build_free(&b);
    xfp_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unchanged),
        cmocka_unit_test(test_what_was_but_tried),
        cmocka_unit_test(test_tried_and_pays),
        cmocka_unit_test(test_set_of_one),
        cmocka_unit_test(test_set_of_two),
        cmocka_unit_test(test_read_no_more),
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_set_of_three),
        cmocka_unit_test(test_did_nothing_together),
        cmocka_unit_test(test_tried_in_vain),
        cmocka_unit_test(test_idle_no_more),
        cmocka_unit_test(test_changes_nothing),
        cmocka_unit_test(test_trials_of_findings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
