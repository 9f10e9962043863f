/* Whose turn it is, by hand: a thread that a change has made faster calls earlier than others, but
 * for what has to stay in its order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/whatif/turns.h"
#include "tests/analyzer/lab/hand_ops.h"

enum { MOST = XFW_BATCH, SLOW = 100, FAST = 10 };

struct run {
    struct xfa_process process;
    struct xfw_op ops[MOST];
    size_t count;
    char order[MOST + 1]; /* of what was played: a letter for each op */
    size_t played;
    double last_call; /* of op e */
    bool plain;
};

static void note_op(void *self, const struct xfw_op *op, const struct xfw_op *recorded,
                    const struct xfw_schedule *schedule)
{
    struct run *run = self;
    (void)recorded;
    run->order[run->played++] = (char)('a' + op->number);
    if (op->number == 4)
        run->last_call = xfw_schedule_last(schedule)->call;
}

/* The change: one thread is faster, and does nothing of its own. */
struct quicken {
    struct xfw_change change;
    uint32_t thread;
};

static void quicken(const struct xfw_change *change, void *state, struct xfw_player *player,
                    struct xfw_op *op)
{
    (void)state, (void)player;
    if (op->thread != ((const struct quicken *)change)->thread)
        return;
    op->own_ns = FAST;
    op->gap_ns = 0;
}

static struct xfw_op *add(struct run *run, uint32_t thread, double start)
{
    struct xfw_op *op = &run->ops[run->count];
    *op = hand_op(XFW_CALL, XFT_EVENT_NONE, SLOW);
    op->thread = thread;
    op->start_ns = start;
    op->number = run->count++;
    return op;
}

/* Two threads by turns, as fast as each other. */
static void by_turns(struct run *run)
{
    *run = (struct run){.count = 0};
    for (unsigned i = 0; i < 3; i++) {
        add(run, 1, i * SLOW);
        add(run, 0, i * SLOW);
    }
}

static const char *order_with(struct run *run, uint32_t fast)
{
    static const struct xfw_change_type type = {.name = "quicken", .op = quicken};
    struct quicken change = {.change = {.type = &type}, .thread = fast};
    struct xfw_change *changes[] = {&change.change};
    const struct xfw_tap tap = {.self = run, .op = note_op};
    struct xfw_player *alone = xfw_player_new(&run->process, NULL, 0, XFW_LIKELY);
    struct xfw_player *player = xfw_player_new(&run->process, changes, 1, XFW_LIKELY);
    struct xfw_turns turns;
    xfw_player_tap(player, &tap);
    xfw_turns_of(&turns, run->ops, run->count, false);
    xfw_turns_alone(&turns, run->ops, alone);
    run->plain = turns.plain;
    run->played = 0;
    memset(run->order, 0, sizeof run->order);
    xfw_turns_play(&turns, run->ops, player, false);
    xfw_player_free(player);
    xfw_player_free(alone);
    assert_int_equal(run->played, run->count);
    return run->order;
}

static const char *order_of(struct run *run)
{
    return order_with(run, 1);
}

static void test_in_time(void **state)
{
    struct run run;
    (void)state;
    by_turns(&run);
    assert_string_equal(order_of(&run), "abcedf");
    assert_string_equal(order_with(&run, 2), "abcdef"); /* none is faster */
    for (size_t i = 0; i < run.count; i++)
        run.ops[i].thread = 1; /* one alone */
    assert_string_equal(order_of(&run), "abcdef");
    assert_true(run.plain);
}

/* Where the run unchanged is not replayed in its order, nobody knows who would be first. */
static void test_not_in_order(void **state)
{
    struct run run;
    (void)state;
    by_turns(&run);
    run.ops[1].own_ns = 10 * SLOW;
    assert_string_equal(order_of(&run), "abcdef");
    assert_true(run.plain);
}

/* Work that the driver let in behind another thread's calls is in its place there, though its own
 * call began before these. */
static void test_late_in(void **state)
{
    enum { LONG = 100000 };
    struct run run = {.count = 0};
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        add(&run, 1, i * LONG)->own_ns = LONG;
    struct xfw_op *late = add(&run, 0, 0);
    late->own_ns = late->end_ns = 3 * LONG;
    late->device_start_ns = 2.5 * LONG;
    late->late_in = true;
    assert_string_equal(order_of(&run), "abcd");
    assert_false(run.plain);
    late->late_in = false;
    order_of(&run);
    assert_true(run.plain);
}

static void test_too_many_threads(void **state)
{
    struct run run;
    (void)state;
    by_turns(&run);
    for (uint32_t i = 0; i < XFW_TURN_THREADS - 1; i++)
        add(&run, 2 + i, 3 * SLOW);
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
    run.ops[4].kind = XFT_EVENT_FREE; /* it waits without meaning to */
    assert_string_equal(order_of(&run), "abcedf");
    run.ops[4].kind = XFT_EVENT_NONE;
    run.ops[4].awaits = XFW_AWAITS_STREAM;
    assert_string_equal(order_of(&run), "abcedf");
    run.ops[3].awaits = XFW_AWAITS_DEVICE; /* and nothing before it that was behind it */
    assert_string_equal(order_of(&run), "abcdef");
    run.ops[3].awaits = XFW_AWAITS_NOTHING;
    run.ops[4].what = XFW_RANGE;
    assert_string_equal(order_of(&run), "abcdef");
    run.ops[4].what = XFW_CALL;
    run.ops[4].woken_by_stream = 100;
    assert_string_equal(order_of(&run), "abcdef");
}

/* Thread 1's third op counts from the other one's second, and not from where that is by then. */
static void test_woken(void **state)
{
    const double after = 50;
    (void)state;
    for (int within = 0; within < 2; within++) {
        struct run run;
        by_turns(&run);
        run.ops[4].woken_by = 0;
        run.ops[4].within_call = within;
        run.ops[4].woken_after_ns = after + (within ? SLOW : 0);
        run.ops[4].start_ns = 2 * SLOW + after;
        run.ops[0].own_ns = run.ops[2].own_ns = FAST;
        run.ops[5].gap_ns = SLOW;
        run.ops[5].start_ns = SLOW; /* the waker goes on at once */
        assert_string_equal(order_with(&run, 0), "abdfce");
        assert_true(run.last_call == (within ? FAST + SLOW : 2 * FAST) + after);
        assert_false(run.plain);
    }
}

/* Woken before the batch: the waker goes on behind it. */
static void test_woken_before(void **state)
{
    struct run run;
    (void)state;
    by_turns(&run);
    run.ops[2].woken_by = 0; /* by the op that is taken out */
    memmove(&run.ops[1], &run.ops[2], --run.count * sizeof *run.ops);
    assert_string_equal(order_with(&run, 0), "acdfe");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_time),      cmocka_unit_test(test_not_in_order),
        cmocka_unit_test(test_late_in),      cmocka_unit_test(test_too_many_threads),
        cmocka_unit_test(test_stays_behind), cmocka_unit_test(test_behind_all),
        cmocka_unit_test(test_woken),        cmocka_unit_test(test_woken_before),
    };
    return cmocka_run_group_tests_name("what if: turns of threads", tests, NULL, NULL);
}
