/* The budget, played through made-up runs: what is spent stays below what may be, and what is seen
 * is enough. No clock: a run is a loop that adds up its own time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "preload/timing/budget.h"

#define LOOK_NS 5000000u /* between two decisions */
#define SECOND 1000000000ull

/* A program that makes calls of one length, one after the other. */
struct run {
    struct xfs_budget budget;
    uint64_t now, started;
    unsigned on;          /* enum xft_records */
    uint64_t launch_ns;   /* without a record; 0: makes none */
    uint64_t copy_ns;     /* likewise */
    uint64_t copies_each; /* one copy after so many launches */
    uint64_t idle_ns;     /* of its own, after each call */
    uint64_t record_ns;   /* what a record really costs */
    uint64_t launches, copies, launches_seen, copies_seen, windows;
    uint64_t record_time;
};

static void call(struct run *r, unsigned kind, uint64_t takes, bool with)
{
    struct xft_event e = {.kind = (uint8_t)kind,
                          .flags = kind == XFT_EVENT_TRANSFER ? XFT_ASYNC : 0,
                          .bytes = kind == XFT_EVENT_TRANSFER ? 64 : 0,
                          .correlation = with,
                          .start_ns = r->now};
    r->now += takes + (with ? r->record_ns : 0);
    r->record_time += with ? r->record_ns : 0;
    e.end_ns = r->now;
    xfs_budget_see(&r->budget, &e, 1);
    r->now += XFS_BUDGET_HOOK_NS + r->idle_ns;
}

static void play(struct run *r, uint64_t ns)
{
    uint64_t end = r->now + ns, look = r->now;
    for (uint64_t i = 0; r->now < end; i++) {
        if (r->now >= look) {
            unsigned before = r->on;
            r->on = xfs_budget_decide(&r->budget, r->now);
            r->windows += (r->on & ~before) != 0;
            look = r->now + LOOK_NS;
        }
        if (r->launch_ns) {
            bool with = (r->on & XFT_RECORDS_KERNELS) != 0;
            call(r, XFT_EVENT_LAUNCH, r->launch_ns, with);
            r->launches++;
            r->launches_seen += with;
        }
        if (r->copy_ns && (r->copies_each == 0 || i % r->copies_each == 0)) {
            bool with = (r->on & XFT_RECORDS_COPIES) != 0;
            call(r, XFT_EVENT_TRANSFER, r->copy_ns, with);
            r->copies++;
            r->copies_seen += with;
        }
    }
}

static void begin(struct run *r, double percent)
{
    r->now = r->started = 50 * SECOND;
    r->on = XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS;
    xfs_budget_start(&r->budget, percent, r->now, 0);
}

/* Of the run's time, what the records took; the hooks come on top where they alone take more. */
static double share(const struct run *r)
{
    return (double)r->record_time / (double)(r->now - r->started);
}

/* A decision comes LOOK_NS late, for which time it may go on to spend. */
static void assert_bounded(const struct run *r, double most)
{
    double late = 2.0 * LOOK_NS / (double)(r->now - r->started);
    assert_true(share(r) <= most + late);
}

static void test_sparse_is_always_seen(void **unused)
{
    struct run r = {.launch_ns = 5000, .idle_ns = 200000, .record_ns = 500, .copy_ns = 5000};
    begin(&r, 2);
    play(&r, 10 * SECOND);
    assert_true(r.launches > 10000);
    /* all but what came before there was any money */
    assert_true(r.launches_seen + 200 > r.launches);
    assert_true(r.copies_seen + 200 > r.copies);
}

static void test_dense_launches(void **unused)
{
    static const uint64_t costs[] = {150, 450, 900, 2000}; /* unlike the guess */
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        struct run r = {
            .launch_ns = 5000, .record_ns = costs[i], .copy_ns = 8000, .copies_each = 1000};
        begin(&r, 2);
        play(&r, 20 * SECOND);
        assert_bounded(&r, 0.02);
        assert_true(r.launches_seen > 5000);       /* enough of them, */
        assert_true(r.windows > 5);                /* over all of the run, */
        assert_int_equal(r.copies_seen, r.copies); /* and few copies are seen, all of them */
        double ns;
        assert_true(xfs_budget_record_ns(&r.budget, XFS_BUDGET_KERNELS, &ns));
        assert_float_equal(ns, (double)costs[i], 1);
    }
}

static void test_dense_copies(void **unused)
{
    struct run r = {.copy_ns = 2000, .record_ns = 600};
    begin(&r, 2);
    play(&r, 20 * SECOND);
    assert_bounded(&r, 0.02);
    assert_true(r.copies_seen > 5000);
    assert_true(r.windows > 10);
}

/* The hooks alone take 4 % here: a tenth of the budget is left to records. */
static void test_hooks_take_all(void **unused)
{
    struct run r = {.launch_ns = 2000, .record_ns = 450};
    begin(&r, 2);
    play(&r, 20 * SECOND);
    assert_bounded(&r, 0.002);
    assert_true(r.launches_seen > 1000);
}

/* An hour of rest does not pay for everything that follows. */
static void test_carry(void **unused)
{
    struct run r = {.launch_ns = 4000, .record_ns = 450};
    begin(&r, 2);
    r.now += 3600 * SECOND;
    xfs_budget_decide(&r.budget, r.now);
    r.started = r.now;
    play(&r, SECOND);
    double carried = 0.02 * (double)XFS_BUDGET_CARRY_NS;
    assert_true((double)r.record_time <= carried + 0.02 * SECOND + 3.0 * LOOK_NS);
}

static void test_no_bound(void **unused)
{
    struct run r = {.launch_ns = 1000, .record_ns = 900, .copy_ns = 1000};
    begin(&r, 0);
    play(&r, SECOND);
    assert_int_equal(r.launches_seen, r.launches);
    assert_int_equal(r.copies_seen, r.copies);
    assert_false(xfs_budget_is_dense(&r.budget));
}

/* One call, thousands of records: what comes is what counts. */
static void test_graphs(void **unused)
{
    struct run r = {0};
    struct xft_event kernel = {.kind = XFT_EVENT_KERNEL}, launch = {.kind = XFT_EVENT_GRAPH_LAUNCH};
    begin(&r, 2);
    xfs_budget_decide(&r.budget, r.now += SECOND);
    xfs_budget_see(&r.budget, &launch, 1);
    for (int i = 0; i < 1000000; i++)
        xfs_budget_see(&r.budget, &kernel, 1);
    unsigned on = xfs_budget_decide(&r.budget, r.now += LOOK_NS);
    assert_int_equal(on, XFT_RECORDS_COPIES);
    assert_true(xfs_budget_is_dense(&r.budget));
}

/* Captured calls and a graph's own copies cause no records, and take no time of their own. */
static void test_what_does_not_run(void **unused)
{
    struct xfs_budget budget;
    struct xft_event events[] = {
        {.kind = XFT_EVENT_LAUNCH, .flags = XFT_CAPTURED, .correlation = 1},
        {.kind = XFT_EVENT_TRANSFER, .flags = XFT_GRAPH, .correlation = 1},
    };
    xfs_budget_start(&budget, 2, 1, 0);
    xfs_budget_see(&budget, events, 2);
    assert_int_equal(budget.kinds[XFS_BUDGET_KERNELS].calls, 0);
    assert_int_equal(budget.kinds[XFS_BUDGET_COPIES].calls, 0);
    assert_int_equal(budget.events, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sparse_is_always_seen),
        cmocka_unit_test(test_dense_launches),
        cmocka_unit_test(test_dense_copies),
        cmocka_unit_test(test_hooks_take_all),
        cmocka_unit_test(test_carry),
        cmocka_unit_test(test_no_bound),
        cmocka_unit_test(test_graphs),
        cmocka_unit_test(test_what_does_not_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
