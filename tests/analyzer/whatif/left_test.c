/* The work that a way leaves to each resource: no schedule is shorter. Ops made by hand, to the
 * nanosecond. */
#include "analyzer/whatif/schedule/left.h"
#include <string.h>

#include "tests/analyzer/lab/hand_run.h"

/* What is left of the ops, which are forgotten: of such as are recorded, what they were (NULL: all
 * as they are). */
static double left_of_changed(const struct xfw_op *recorded, double as_recorded, double changed)
{
    struct xfw_schedule *schedule = xfw_schedule_new();
    struct xfw_left *left = xfw_left_new();
    double first, last;
    for (size_t i = 0; i < count; i++) {
        xfw_schedule_op(schedule, &ops[i]);
        xfw_left_op(left, &ops[i], recorded ? &recorded[i] : &ops[i], schedule);
    }
    double most = xfw_left_most(left, as_recorded, changed);
    if (xfw_schedule_worked(schedule, &first, &last))
        assert_true(xfw_left_most(left, 1, 1) <= last - first);
    count = 0;
    xfw_left_free(left);
    xfw_schedule_free(schedule);
    return most;
}

static double left(void)
{
    return left_of_changed(NULL, 1, 1);
}

/* The busiest one counts, with all that it does: streams run beside each other. */
static void test_streams(void **state)
{
    (void)state;
    kernel(0, 1000);
    kernel(1, 700);
    copy(1, XFW_TO_DEVICE, 500);
    kernel(XFW_FIRST_SIDE_STREAM, 300);
    add(hand_wait(WAKE));
    assert_true(left() == 1200);
    kernel(0, 1000);
    kernel(XFW_FIRST_SIDE_STREAM, 700);
    kernel(XFW_FIRST_SIDE_STREAM, 400);
    add(hand_wait(WAKE));
    assert_true(left() == 1100);
}

/* Copies in one direction share an engine, whatever stream they are in; those that queue lead. */
static void test_engines(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        copy(i, i % 2 ? XFW_TO_HOST : XFW_TO_DEVICE, 500 + 100 * i);
    add(hand_wait(WAKE));
    assert_true(left() == 600 + 800);
    for (uint32_t i = 0; i < 4; i++) {
        copy(i, XFW_TO_DEVICE, 500)->lead_ns = i ? 20 : 0;
        ops[count - 1].one_engine = true;
    }
    add(hand_wait(WAKE));
    assert_true(left() == 4 * 500 - 3 * 20);
    for (uint32_t i = 0; i < 2; i++) {
        struct xfw_op *graph = add(hand_work(XFW_GRAPH, i, CALL, LATENCY, 1000));
        graph->up_ns = 600;
        graph->down_ns = 100;
    }
    add(hand_wait(WAKE));
    assert_true(left() == 2 * 600);
}

/* Two GPUs do as much at the same time. */
static void test_gpus(void **state)
{
    (void)state;
    copy(0, XFW_TO_DEVICE, 500);
    copy(1, XFW_TO_DEVICE, 600)->gpu = 1;
    add(hand_wait(WAKE))->gpu = 1;
    assert_true(left() == 600);
}

/* Time in which faults were served, kernels that wait for other ranks and functions of the host
 * need not be. */
static void test_not_sure(void **state)
{
    (void)state;
    kernel(0, 1000)->demanded.stalled_ns = 400;
    kernel(1, 5000)->meets = true;
    add(hand_work(XFW_HOST_FUNCTION, 2, CALL, LATENCY, 5000));
    add(hand_wait(WAKE));
    assert_true(left() == 600);
}

/* A thread's own time from the first work to the last wait, with its calls, without its waits. */
static struct xfw_op *host(double before, double between)
{
    add(hand_op(XFW_CALL, XFT_EVENT_ALLOC, 0))->gap_ns = before;
    kernel(0, 100)->gap_ns = before;
    struct xfw_op *wait = add(hand_wait(WAKE));
    wait->gap_ns = between;
    add(hand_op(XFW_CALL, XFT_EVENT_FREE, 0))->gap_ns = before;
    return wait;
}

static void test_host(void **state)
{
    (void)state;
    host(5000, 700);
    assert_true(left() == CALL + 700);
    host(5000, 700)->thread = 1; /* it may wait for the other one */
    assert_true(left() == 100);
    host(5000, 700)->what = XFW_QUERY; /* it polls */
    assert_true(left() == 100);
    host(5000, 700)->woken_by_call = 2;
    assert_true(left() == 100);
}

/* Of the span are no contexts that are made within, of the thread's own time or of a call. */
static void test_contexts(void **state)
{
    (void)state;
    for (int in_call = 0; in_call < 2; in_call++) {
        kernel(0, 100);
        if (in_call)
            add(hand_op(XFW_CALL, XFT_EVENT_ALLOC, 6000));
        add(hand_op(XFW_CALL, XFT_EVENT_CONTEXT, in_call ? 0 : 5000))->end_ns = 5000;
        add(hand_wait(WAKE))->gap_ns = 700;
        assert_true(left() == CALL + 700 + (in_call ? 1000 : 0));
    }
}

/* Where a change has made any of the host's time shorter, none of it is sure. */
static void test_host_goes(void **state)
{
    struct xfw_op recorded[MOST];
    (void)state;
    for (int shorter = 0; shorter < 2; shorter++) {
        host(0, 700);
        memcpy(recorded, ops, count * sizeof *ops);
        ops[0].gap_ns = 0;
        recorded[0].gap_ns = shorter;
        assert_true(left_of_changed(recorded, 1, 1) == (shorter ? 100 : CALL + 700));
    }
}

/* What was recorded is known better than what a change has made of it. */
static void test_changed(void **state)
{
    struct xfw_op recorded[MOST];
    (void)state;
    kernel(0, 1000);
    copy(1, XFW_TO_DEVICE, 600);
    copy(1, XFW_TO_DEVICE, 600);
    add(hand_wait(WAKE));
    memcpy(recorded, ops, count * sizeof *ops);
    recorded[2].duration_ns = 800;
    assert_true(left_of_changed(recorded, 1, 0.5) == 1000);
    kernel(0, 1000);
    copy(1, XFW_TO_DEVICE, 600);
    copy(1, XFW_TO_DEVICE, 600);
    add(hand_wait(WAKE));
    assert_true(left_of_changed(recorded, 0.5, 1) == 300 + 600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streams), cmocka_unit_test(test_engines),
        cmocka_unit_test(test_gpus),    cmocka_unit_test(test_not_sure),
        cmocka_unit_test(test_host),    cmocka_unit_test(test_host_goes),
        cmocka_unit_test(test_changed), cmocka_unit_test(test_contexts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
