/* What recording costs: which calls are timed, what of them counts, and the figures of it. The
 * clock is the test's, so that all of it is exact. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "preload/base/sandbox.h"
#include "preload/record/cost.h"
#include "preload/record/hot.h"
#include "preload/record/recorder.h"
#include "xferscope/trace.h"

enum { BEFORE_NS = 10, CALL_NS = 1000, AFTER_NS = 15, ADDED_NS = BEFORE_NS + AFTER_NS };

static struct xfs_recorder recorder;
static struct xfs_life life;
static struct xfs_lane lane;
static uint64_t clock_ns;

static uint64_t read_clock(void)
{
    return clock_ns;
}

static int set_up(void **state)
{
    (void)state;
    memset(&recorder, 0, sizeof recorder);
    memset(&lane, 0, sizeof lane);
    lane.recorder = &recorder;
    atomic_store(&life.begins, &recorder);
    atomic_store(&xfs_life, &life);
    lane.until_timed = xfs_cost_count(0);
    clock_ns = 5000000;
    xfs_clock_use(read_clock);
    return 0;
}

static unsigned n_of(uint8_t kind)
{
    return atomic_load(&recorder.costs.n[kind]);
}

static unsigned n_of_all(void)
{
    unsigned n = 0;
    for (uint8_t kind = 0; kind < XFS_COST_KINDS; kind++)
        n += n_of(kind);
    return n;
}

/* ---- calls, as hooks make them ------------------------------------------------------------ */

struct call {
    uint64_t start_ns, end_ns;
};

static void begin(struct call *call)
{
    assert_ptr_equal(xfs_count_call(&lane), &lane);
    clock_ns += BEFORE_NS;
    call->start_ns = clock_ns;
    clock_ns += CALL_NS;
}

static void end(struct call *call, uint8_t kind)
{
    call->end_ns = clock_ns;
    clock_ns += AFTER_NS;
    if (xfs_call_is_timed(&lane))
        xfs_cost_ends(&lane, kind, call->start_ns, call->end_ns);
}

static void make_call(uint8_t kind)
{
    struct call call;
    begin(&call);
    end(&call, kind);
}

static void make_failing_call(void)
{
    struct call call;
    begin(&call);
}

static void make_calls(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        make_call(XFT_EVENT_LAUNCH);
}

static void test_what_is_timed(void **state)
{
    static const unsigned timed_at[] = {13, 30, 61, 122, 249, 500, 751, 1002, 1253};
    unsigned made = 0;
    (void)state;
    for (unsigned i = 0; i < sizeof timed_at / sizeof *timed_at; i++) {
        make_calls(timed_at[i] - made - 1);
        assert_int_equal(n_of(XFT_EVENT_LAUNCH), i);
        make_calls(1);
        assert_int_equal(n_of(XFT_EVENT_LAUNCH), i + 1);
        made = timed_at[i];
    }
}

static void test_the_programs_call_does_not_count(void **state)
{
    (void)state;
    make_calls(10000);
    assert_int_equal(xfs_cost_median(&recorder.costs, XFT_EVENT_LAUNCH), ADDED_NS);
}

/* A step of a few calls is not always timed at the same of them. */
static void test_steps_of_any_length(void **state)
{
    (void)state;
    for (unsigned length = 2; length <= 16; length++) {
        set_up(NULL);
        for (unsigned i = 0; i < 16 * 251 * length; i++)
            make_call((uint8_t)(1 + i % length));
        for (uint8_t kind = 1; kind <= length; kind++)
            assert_in_range(n_of(kind), 15, 21);
    }
}

static void test_a_call_without_an_event(void **state)
{
    (void)state;
    make_calls(12);
    make_failing_call(); /* the one that is timed */
    clock_ns += 1000000;
    make_calls(255);
    assert_int_equal(n_of_all(), 0);
    make_calls(1);
    assert_int_equal(n_of_all(), 1);
    assert_int_equal(xfs_cost_median(&recorder.costs, XFT_EVENT_LAUNCH), ADDED_NS);
}

/* Its time is in the call's, which then tells nothing; nor is the handler's call taken for it. */
static void test_a_signal_handler_makes_calls(void **state)
{
    struct call call;
    (void)state;
    make_calls(12);
    begin(&call);
    make_call(XFT_EVENT_TRANSFER);
    end(&call, XFT_EVENT_LAUNCH);
    assert_int_equal(n_of_all(), 0);
    make_calls(1000);
    assert_true(n_of(XFT_EVENT_LAUNCH) > 0);
    assert_int_equal(xfs_cost_median(&recorder.costs, XFT_EVENT_LAUNCH), ADDED_NS);
}

static void test_the_clock_goes_backwards(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        make_call(XFT_EVENT_LAUNCH);
        clock_ns -= 900;
    }
    unsigned before = n_of_all();
    assert_true(before > 0); /* between calls it may */
    for (unsigned i = 0; i < 1000; i++) {
        struct call call;
        begin(&call);
        clock_ns -= BEFORE_NS + CALL_NS + 1;
        call.start_ns = clock_ns;
        end(&call, XFT_EVENT_LAUNCH);
    }
    for (unsigned i = 0; i < 1000; i++) {
        struct call call;
        begin(&call);
        call.end_ns = clock_ns;
        clock_ns -= 1;
        if (xfs_call_is_timed(&lane))
            xfs_cost_ends(&lane, XFT_EVENT_LAUNCH, call.start_ns, call.end_ns);
    }
    assert_int_equal(n_of_all(), before);
    make_calls(251);
    assert_int_equal(n_of_all(), before + 1);
    assert_int_equal(xfs_cost_median(&recorder.costs, XFT_EVENT_LAUNCH), ADDED_NS);
}

static void test_without_a_counter(void **state)
{
    (void)state;
    xfs_no_counter = true;
    make_calls(1000);
    xfs_no_counter = false;
    assert_int_equal(n_of_all(), 0);
}

static void test_lanes_go_on(void **state)
{
    (void)state;
    assert_int_equal(xfs_cost_count(0), XFS_COST_FIRST);
    assert_int_equal(xfs_cost_count(1), 1);
    assert_int_equal(xfs_cost_count(XFS_COST_EVERY), XFS_COST_EVERY);
    assert_int_equal(xfs_cost_count(XFS_COST_TIMED), XFS_COST_FIRST);
    assert_int_equal(xfs_cost_count(UINT32_MAX), XFS_COST_FIRST);
}

/* ---- figures ------------------------------------------------------------------------------ */

static void test_one_figure(void **state)
{
    (void)state;
    assert_int_equal(xfs_cost_median(&recorder.costs, 1), 0);
    for (uint64_t ns = 0; ns < UINT64_C(1) << 23; ns += 1 + ns / 50) {
        set_up(NULL);
        xfs_cost_add(&recorder.costs, 1, ns);
        uint64_t median = xfs_cost_median(&recorder.costs, 1);
        assert_in_range(median, ns - ns / 32, ns + ns / 32);
        assert_int_equal(n_of_all(), 1);
    }
}

static void test_beyond_all_classes(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        xfs_cost_add(&recorder.costs, XFS_COST_KINDS - 1, UINT64_MAX - i);
    assert_int_equal(n_of(XFS_COST_KINDS - 1), 3);
    assert_in_range(xfs_cost_median(&recorder.costs, XFS_COST_KINDS - 1), 1 << 23, 1 << 24);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void test_medians(void **state)
{
    static uint64_t all[5001];
    uint64_t random = 1;
    (void)state;
    for (size_t n = 11; n <= sizeof all / sizeof *all; n += 500) {
        set_up(NULL);
        for (size_t i = 0; i < n; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            all[i] = 40 + (random >> 33) % 80 + (i % 10 == 0 ? 100000 : 0);
            xfs_cost_add(&recorder.costs, 3, all[i]);
        }
        qsort(all, n, sizeof *all, compare);
        assert_in_range(xfs_cost_median(&recorder.costs, 3), all[n / 2] - 4, all[n / 2] + 4);
    }
}

/* ---- what is not done at every call ------------------------------------------------------- */

#define ROWS 16

static struct xft_event rows[ROWS];
static uint32_t committed;
static struct xfs_life life;

/* The lane is this thread's, and has room. */
static int set_up_thread(void **state)
{
    set_up(state);
    memset(rows, 0, sizeof rows);
    committed = 0;
    lane.rows = rows;
    lane.committed = &committed;
    lane.room = ROWS;
    atomic_store(&life.current, &recorder);
    atomic_store(&xfs_life, &life);
    xfs_self = &lane;
    return 0;
}

static int tear_down_thread(void **state)
{
    (void)state;
    xfs_self = NULL;
    atomic_store(&life.current, NULL);
    return 0;
}

static void assert_overhead(unsigned row, unsigned why, unsigned behind, uint64_t from_ns,
                            uint64_t ns)
{
    const struct xft_event *event = &rows[row];
    assert_in_range(row, 0, committed - 1);
    assert_int_equal(event->kind, XFT_EVENT_OVERHEAD);
    assert_int_equal(event->aux, why);
    assert_int_equal(event->count, behind);
    assert_int_equal(event->start_ns, from_ns);
    assert_int_equal(event->end_ns, from_ns + ns);
}

/* A call behind which something takes so long. */
static uint64_t make_unusual_call(unsigned why, uint64_t ns)
{
    struct call call;
    begin(&call);
    uint64_t returned_ns = clock_ns;
    call.end_ns = clock_ns;
    xfs_cost_unusual(why);
    clock_ns += ns;
    if (xfs_call_is_timed(&lane))
        xfs_cost_ends(&lane, XFT_EVENT_LAUNCH, call.start_ns, call.end_ns);
    return returned_ns;
}

/* The calls that are timed stay the same, and so do their figures. */
static void test_unusual(void **state)
{
    (void)state;
    make_calls(5);
    uint64_t from_ns = make_unusual_call(XFT_OVERHEAD_STACK, 30000);
    assert_int_equal(committed, 1);
    assert_overhead(0, XFT_OVERHEAD_STACK, XFT_EVENT_LAUNCH, from_ns, 30000);
    assert_int_equal(n_of_all(), 0);
    make_calls(6);
    assert_int_equal(n_of_all(), 0);
    make_calls(1);
    assert_int_equal(n_of(XFT_EVENT_LAUNCH), 1); /* the 13th */
    assert_int_equal(xfs_cost_median(&recorder.costs, XFT_EVENT_LAUNCH), ADDED_NS);
    assert_int_equal(committed, 1);
}

static void test_unusual_for_each_reason(void **state)
{
    (void)state;
    for (unsigned why = XFT_OVERHEAD_RECORDING, i = 0; why <= XFT_OVERHEAD_VERIFY; why *= 2, i++) {
        uint64_t from_ns = make_unusual_call(why, 30000);
        assert_overhead(i, why, XFT_EVENT_LAUNCH, from_ns, 30000);
    }
}

static void test_unusual_twice_in_a_call(void **state)
{
    struct call call;
    (void)state;
    begin(&call);
    xfs_cost_unusual(XFT_OVERHEAD_FUNCTION);
    clock_ns += 3000;
    xfs_cost_unusual(XFT_OVERHEAD_ARGUMENTS);
    end(&call, XFT_EVENT_LAUNCH);
    assert_int_equal(committed, 0); /* that was before it returned */
    begin(&call);
    xfs_cost_unusual(XFT_OVERHEAD_FUNCTION);
    xfs_cost_unusual(XFT_OVERHEAD_ARGUMENTS);
    call.end_ns = clock_ns;
    clock_ns += 2000;
    xfs_cost_ends(&lane, XFT_EVENT_LAUNCH, call.start_ns, call.end_ns);
    assert_overhead(0, XFT_OVERHEAD_FUNCTION | XFT_OVERHEAD_ARGUMENTS, XFT_EVENT_LAUNCH,
                    call.end_ns, 2000);
}

static void test_unusual_and_timed(void **state)
{
    (void)state;
    make_calls(12);
    uint64_t from_ns = make_unusual_call(XFT_OVERHEAD_SLAB, 5000);
    assert_overhead(0, XFT_OVERHEAD_SLAB, XFT_EVENT_LAUNCH, from_ns, 5000);
    assert_int_equal(n_of_all(), 0); /* of one or two such calls the median would be theirs */
    make_calls(1);
    assert_int_equal(n_of_all(), 1); /* the 14th in its place */
    assert_int_equal(xfs_cost_median(&recorder.costs, XFT_EVENT_LAUNCH), ADDED_NS);
    make_calls(16);
    assert_int_equal(n_of_all(), 1);
    make_calls(1);
    assert_int_equal(n_of_all(), 2); /* the 31st */
    assert_int_equal(committed, 1);
}

/* Something unusual of which nothing came does not stick to a later call. */
static void test_unusual_without_an_event(void **state)
{
    struct call call;
    (void)state;
    begin(&call);
    xfs_cost_unusual(XFT_OVERHEAD_STACK);
    clock_ns += 50000;
    make_calls(600);
    assert_int_equal(committed, 0);
    assert_in_range(n_of_all(), 1, 5);
    assert_int_equal(xfs_cost_median(&recorder.costs, XFT_EVENT_LAUNCH), ADDED_NS);
}

static void test_hardly_anything(void **state)
{
    (void)state;
    make_unusual_call(XFT_OVERHEAD_STACK, XFS_OVERHEAD_LEAST_NS - 1);
    assert_int_equal(committed, 0);
    make_unusual_call(XFT_OVERHEAD_STACK, XFS_OVERHEAD_LEAST_NS);
    assert_int_equal(committed, 1);
}

static void test_the_clock_was_another_one(void **state)
{
    (void)state;
    xfs_cost_took(XFT_OVERHEAD_RECORDING, clock_ns + 5000);
    xfs_cost_took(XFT_OVERHEAD_RECORDING, clock_ns - UINT64_C(4000000));
    assert_int_equal(committed, 1);
    clock_ns += UINT64_C(100000000000);
    xfs_cost_took(XFT_OVERHEAD_RECORDING, 5000000);
    assert_int_equal(committed, 1);
}

static void test_a_thread_begins(void **state)
{
    (void)state;
    uint64_t attached_ns = clock_ns;
    clock_ns += 7000;
    xfs_cost_attached(&lane, attached_ns, 0);
    clock_ns += 100;
    uint64_t from_ns = make_unusual_call(XFT_OVERHEAD_THREAD, 20000);
    assert_overhead(0, XFT_OVERHEAD_THREAD, 0, attached_ns, 7000);
    assert_overhead(1, XFT_OVERHEAD_THREAD, XFT_EVENT_LAUNCH, from_ns, 20000);
    make_unusual_call(XFT_OVERHEAD_STACK, 20000);
    assert_int_equal(committed, 3); /* it began once */
    assert_int_equal(rows[0].dst, 0);
}

/* How long a thread had been at work is written where that took no time to find out, too: before
 * its first call. */
static void test_a_thread_had_been_at_work(void **state)
{
    (void)state;
    uint64_t attached_ns = clock_ns;
    xfs_cost_attached(&lane, attached_ns, 5555);
    make_unusual_call(XFT_OVERHEAD_THREAD, 0);
    assert_overhead(0, XFT_OVERHEAD_THREAD, 0, attached_ns - 1, 1);
    assert_int_equal(rows[0].dst, 5555);
    assert_int_equal(committed, 1);
    xfs_cost_attached(&lane, clock_ns + UINT64_C(3600000000000), 5555); /* of another clock */
    make_unusual_call(XFT_OVERHEAD_THREAD, 0);
    assert_int_equal(committed, 1);
}

static void test_written_at_once(void **state)
{
    (void)state;
    make_calls(5);
    uint64_t from_ns = clock_ns;
    clock_ns += 10000000;
    errno = 77;
    xfs_cost_took(XFT_OVERHEAD_DEVICE, from_ns);
    assert_int_equal(errno, 77);
    assert_overhead(0, XFT_OVERHEAD_DEVICE, 0, from_ns, 10000000);
    make_calls(7);
    assert_int_equal(n_of_all(), 0);
    make_calls(1);
    assert_int_equal(n_of_all(), 1);
}

/* In a thread without a lane. */
static void test_nobody_records(void **state)
{
    (void)state;
    xfs_self = NULL;
    xfs_cost_unusual(XFT_OVERHEAD_STACK);
    xfs_self = &lane;
    make_calls(13);
    assert_int_equal(n_of_all(), 1);
}

#define WITH_A_THREAD(test) cmocka_unit_test_setup_teardown(test, set_up_thread, tear_down_thread)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_what_is_timed, set_up),
        cmocka_unit_test_setup(test_the_programs_call_does_not_count, set_up),
        cmocka_unit_test_setup(test_steps_of_any_length, set_up),
        cmocka_unit_test_setup(test_a_call_without_an_event, set_up),
        cmocka_unit_test_setup(test_a_signal_handler_makes_calls, set_up),
        cmocka_unit_test_setup(test_the_clock_goes_backwards, set_up),
        cmocka_unit_test_setup(test_without_a_counter, set_up),
        cmocka_unit_test_setup(test_lanes_go_on, set_up),
        cmocka_unit_test_setup(test_one_figure, set_up),
        cmocka_unit_test_setup(test_beyond_all_classes, set_up),
        cmocka_unit_test_setup(test_medians, set_up),
        WITH_A_THREAD(test_unusual),
        WITH_A_THREAD(test_unusual_for_each_reason),
        WITH_A_THREAD(test_unusual_twice_in_a_call),
        WITH_A_THREAD(test_unusual_and_timed),
        WITH_A_THREAD(test_unusual_without_an_event),
        WITH_A_THREAD(test_hardly_anything),
        WITH_A_THREAD(test_the_clock_was_another_one),
        WITH_A_THREAD(test_a_thread_begins),
        WITH_A_THREAD(test_a_thread_had_been_at_work),
        WITH_A_THREAD(test_written_at_once),
        WITH_A_THREAD(test_nobody_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
