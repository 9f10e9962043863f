/* Whose turn it is, by hand: ops of several threads in the order of the schedule's time, but for
 * what has to stay in its order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/whatif/turns.h"
#include "tests/analyzer/hand_ops.h"

enum { MOST = XFW_BATCH, SLOW = 100, FAST = 10 };

struct run {
    struct xfa_process process;
    struct xfw_op ops[MOST];
    size_t count;
    char order[MOST + 1]; /* of what was played: a letter for each op */
    size_t played;
    double now; /* of the thread that is ahead */
};

static void note_op(void *self, const struct xfw_op *op, const struct xfw_op *recorded,
                    const struct xfw_schedule *schedule)
{
    struct run *run = self;
    (void)recorded, (void)schedule;
    run->order[run->played++] = (char)('a' + op->number);
}

static struct xfw_op *add(struct run *run, uint32_t thread, double own)
{
    struct xfw_op *op = &run->ops[run->count];
    *op = hand_op(XFW_CALL, XFT_EVENT_NONE, own);
    op->thread = thread;
    op->number = run->count++;
    return op;
}

/* The fast thread and the slow one by turns. */
static void by_turns(struct run *run)
{
    *run = (struct run){.count = 0};
    for (unsigned i = 0; i < 3; i++) {
        add(run, 1, FAST);
        add(run, 0, SLOW);
    }
}

static const char *order_of(struct run *run)
{
    const struct xfw_tap tap = {.self = run, .op = note_op};
    struct xfw_player *player = xfw_player_new(&run->process, NULL, 0, XFW_LIKELY);
    struct xfw_turns turns;
    xfw_player_tap(player, &tap);
    xfw_turns_of(&turns, run->ops, run->count);
    run->played = 0;
    memset(run->order, 0, sizeof run->order);
    xfw_turns_play(&turns, run->ops, player);
    run->now = xfw_schedule_now(xfw_player_schedule(player));
    xfw_player_free(player);
    assert_int_equal(run->played, run->count);
    return run->order;
}

static void test_in_time(void **state)
{
    struct run run;
    (void)state;
    by_turns(&run);
    assert_string_equal(order_of(&run), "abcedf");
    for (size_t i = 0; i < run.count; i++) /* one thread alone */
        run.ops[i].thread = 0;
    assert_string_equal(order_of(&run), "abcdef");
}

static void test_too_many_threads(void **state)
{
    struct run run;
    (void)state;
    by_turns(&run);
    for (uint32_t i = 0; i < XFW_TURN_THREADS - 1; i++)
        add(&run, 2 + i, 0);
    order_of(&run);
    assert_memory_equal(run.order, "abcdef", 6);
}

/* The slow thread's second op (d), and the fast one's third. */
static void test_stays_behind(void **state)
{
    struct run run;
    (void)state;
    by_turns(&run);
    run.ops[3].event = run.ops[4].event = 5;
    assert_string_equal(order_of(&run), "abcdef");
    run.ops[4].event = 6;
    assert_string_equal(order_of(&run), "abcedf");
    run.ops[3].stream = run.ops[4].stream = 7;
    assert_string_equal(order_of(&run), "abcdef");
    run.ops[3].stream_kind = run.ops[4].stream_kind = XFW_LEGACY;
    assert_string_equal(order_of(&run), "abcedf");
    run.ops[3].kind = XFT_EVENT_FREE;
    run.ops[4].kind = XFT_EVENT_ALLOC;
    assert_string_equal(order_of(&run), "abcdef");
}

static void test_behind_all(void **state)
{
    struct run run;
    (void)state;
    by_turns(&run);
    run.ops[4].awaits = XFW_AWAITS_DEVICE;
    assert_string_equal(order_of(&run), "abcdef");
    run.ops[4].awaits = XFW_AWAITS_STREAM;
    assert_string_equal(order_of(&run), "abcedf");
    run.ops[4].what = XFW_RANGE;
    assert_string_equal(order_of(&run), "abcdef");
    run.ops[4].what = XFW_CALL;
    run.ops[4].woken_by_stream = 100;
    assert_string_equal(order_of(&run), "abcdef");
}

/* The fast thread's third op counts from the slow one's second, and not from where that is by
 * then. */
static void test_woken(void **state)
{
    struct run run;
    (void)state;
    by_turns(&run);
    run.ops[4].woken_by = 0;
    run.ops[4].woken_after_ns = 500;
    assert_string_equal(order_of(&run), "abcdfe");
    assert_true(run.now == 2 * SLOW + 500 + FAST);
    run.ops[4].within_call = true; /* from that call's start */
    assert_string_equal(order_of(&run), "abcdfe");
    assert_true(run.now == SLOW + 500 + FAST);
}

/* Woken before the batch: the waker goes on behind it. */
static void test_woken_before(void **state)
{
    struct run run;
    (void)state;
    by_turns(&run);
    run.ops[2].woken_by = 0; /* by the op that is taken out */
    memmove(&run.ops[1], &run.ops[2], --run.count * sizeof *run.ops);
    run.ops[1].woken_after_ns = 5 * SLOW;
    assert_string_equal(order_of(&run), "acdef");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_time),      cmocka_unit_test(test_too_many_threads),
        cmocka_unit_test(test_stays_behind), cmocka_unit_test(test_woken),
        cmocka_unit_test(test_woken_before), cmocka_unit_test(test_behind_all),
    };
    return cmocka_run_group_tests_name("what if: turns of threads", tests, NULL, NULL);
}
