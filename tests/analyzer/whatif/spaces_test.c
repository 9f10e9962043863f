/* What work waited for on the device, by when it ran: how closely it follows that of another engine
 * where an engine's own work never queued, and what it overtook. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/whatif/ops/recorded.h"
#include "tests/analyzer/lab/hand_ops.h"

enum { US = 1000, STEP = 100 * US, TAKES = 10 * US, WAY = 4 * US, FIRST_SPACE = 1000, NONE = 0 };

static struct xfw_op ran(struct xfw_recorded *recorded, enum xfw_what what, enum xfw_engine engine,
                         double start, double device_start)
{
    struct xfw_op op = hand_work(what, 0, 0, 0, 0);
    op.engine = (uint8_t)engine;
    op.start_ns = start;
    op.end_ns = start + 2 * US;
    op.device_start_ns = device_start;
    op.device_end_ns = device_start + TAKES;
    xfw_recorded_resolve(recorded, &op, false, NULL);
    return op;
}

/* The space of the last of a few kernels that never queue, each with a copy behind it that does;
 * with `same` that one comes behind a copy of its own engine. */
static double space_of_kernels(double copy_follows_after, bool same)
{
    struct xfw_recorded *recorded = xfw_recorded_new();
    struct xfw_op op = hand_work(XFW_KERNEL, 0, 0, 0, 0);
    for (unsigned i = 1; i <= 4; i++) {
        double start = i * STEP, behind = start + WAY + TAKES + copy_follows_after;
        if (same)
            ran(recorded, XFW_COPY, XFW_TO_HOST, start, start + WAY);
        else
            op = ran(recorded, XFW_KERNEL, XFW_COMPUTE, start, start + WAY);
        ran(recorded, XFW_COPY, XFW_TO_HOST, start + 2 * US, behind);
        if (same)
            op = ran(recorded, XFW_KERNEL, XFW_COMPUTE, start + STEP / 2, start + STEP / 2 + WAY);
    }
    xfw_recorded_free(recorded);
    return op.space_ns;
}

static void test_kernels_that_never_queued(void **state)
{
    assert_true(space_of_kernels(NONE, false) == NONE);
    assert_true(space_of_kernels(400, false) == 400);
    assert_true(space_of_kernels(2 * US, false) == FIRST_SPACE); /* as where nothing is known */
}

/* Copies of one engine have their own pace, which says nothing of other work. */
static void test_copies_of_one_engine(void **state)
{
    assert_true(space_of_kernels(NONE, true) == FIRST_SPACE);
}

/* One that arrived when the work before was done did not follow it. */
static void test_a_copy_that_came_later(void **state)
{
    struct xfw_recorded *recorded = xfw_recorded_new();
    struct xfw_op kernel = hand_work(XFW_KERNEL, 0, 0, 0, 0);
    for (unsigned i = 1; i <= 4; i++) {
        double start = i * STEP, done = start + WAY + TAKES;
        kernel = ran(recorded, XFW_KERNEL, XFW_COMPUTE, start, start + WAY);
        ran(recorded, XFW_COPY, XFW_TO_HOST, done - 2 * US, done + 400);
        ran(recorded, XFW_COPY, XFW_TO_HOST, start + STEP / 2, start + STEP / 2 + WAY);
    }
    assert_true(kernel.space_ns == FIRST_SPACE);
    xfw_recorded_free(recorded);
}

/* Of two threads in one stream: what was overtaken may be as short as times round; what only ends a
 * little early was in order. */
static void test_overtaking_something_short(void **state)
{
    static const struct {
        double start, end; /* of the copy, on the device */
        bool overtook;
    } cases[] = {{10 * US, 20 * US, true}, {20 * US, 20.9 * US, false}, {19 * US, 23 * US, false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct xfw_recorded *recorded = xfw_recorded_new();
        struct xfw_op kernel = hand_work(XFW_KERNEL, 0, 0, 0, 0);
        struct xfw_op copy = hand_work(XFW_COPY, 0, 0, 0, 0);
        kernel.start_ns = US;
        kernel.end_ns = 2 * US;
        kernel.device_start_ns = 20 * US;
        kernel.device_end_ns = 21 * US;
        xfw_recorded_resolve(recorded, &kernel, false, NULL);
        copy.thread = 1;
        copy.start_ns = 3 * US;
        copy.end_ns = 25 * US;
        copy.device_start_ns = cases[i].start;
        copy.device_end_ns = cases[i].end;
        xfw_recorded_resolve(recorded, &copy, true, NULL);
        assert_true(copy.overtook == cases[i].overtook);
        xfw_recorded_free(recorded);
    }
}

static struct xfw_op of_thread(unsigned thread, enum xfw_what what, double start, double end,
                               double device_start, double device_end)
{
    struct xfw_op op = hand_work(what, 0, 0, 0, 0);
    op.thread = thread;
    op.stream_kind = XFW_LEGACY;
    op.engine = what == XFW_COPY ? XFW_TO_HOST : XFW_COMPUTE;
    op.start_ns = start;
    op.end_ns = end;
    op.device_start_ns = device_start;
    op.device_end_ns = device_end;
    return op;
}

/* Three threads in the legacy stream. One's launch waits in the driver, whose work two others
 * overtake; a copy of theirs waits for the kernel that ran before it, and for what that takes. */
static void test_behind_what_overtook_too(void **state)
{
    enum { SHORTER = 100 * US, END = 345 * US };
    struct xfw_recorded *recorded = xfw_recorded_new();
    struct xfw_op ops[] = {
        of_thread(2, XFW_KERNEL, 0, 2 * US, 3 * US, 4 * US),
        of_thread(1, XFW_KERNEL, US, 1000 * US, 999 * US, 1099 * US),
        of_thread(2, XFW_KERNEL, 10 * US, 12 * US, 20 * US, 320 * US),
        of_thread(0, XFW_COPY, 30 * US, END, 325 * US, 335 * US),
    };
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        ops[i].number = i;
        xfw_recorded_resolve(recorded, &ops[i], i == 3, NULL);
    }
    assert_true(ops[1].latency_ns == 998 * US && ops[1].space_ns < 2 * US);
    assert_true(ops[2].overtook && ops[3].overtook && ops[3].latency_ns == 5 * US);
    assert_true(hand_play(ops, 4, NULL, XFW_LIKELY) == END);
    ops[2].duration_ns -= SHORTER;
    assert_true(hand_play(ops, 4, NULL, XFW_LIKELY) == END - SHORTER);
    xfw_recorded_free(recorded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels_that_never_queued),
        cmocka_unit_test(test_copies_of_one_engine),
        cmocka_unit_test(test_a_copy_that_came_later),
        cmocka_unit_test(test_overtaking_something_short),
        cmocka_unit_test(test_behind_what_overtook_too),
    };
    return cmocka_run_group_tests_name("spaces between engines", tests, NULL, NULL);
}
