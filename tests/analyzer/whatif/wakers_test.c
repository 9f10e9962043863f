/* Threads that let each other go on, and streams that do so by calling a function of the host:
 * found from when things happened, and followed where a change moves what they waited for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/whatif/ops/recorded.h"
#include "tests/analyzer/lab/hand_ops.h"

enum { US = 1000, MOST = 4096, CALL = 5 * US, MAIN = 0, WORKERS = 4 };

static struct xfw_op ops[MOST];
static size_t count;
static struct xfw_recorded *recorded;

static int begin_test(void **state)
{
    (void)state;
    count = 0;
    recorded = xfw_recorded_new();
    return 0;
}

static int end_test(void **state)
{
    (void)state;
    xfw_recorded_free(recorded);
    return 0;
}

/* A call of that thread as it was recorded, and what is found of it. */
static struct xfw_op *resolve(struct xfw_op op, uint32_t thread, double start, double device_ns)
{
    assert_true(count < MOST);
    op.number = count;
    op.thread = thread;
    op.start_ns = start;
    op.end_ns = start + CALL;
    op.device_start_ns = device_ns > 0 ? start + 2 * US : NAN;
    op.device_end_ns = op.device_start_ns + device_ns;
    xfw_recorded_resolve(recorded, &op, false, NULL);
    ops[count] = op;
    return &ops[count++];
}

static struct xfw_op *call(uint32_t thread, double start)
{
    return resolve(hand_op(XFW_CALL, XFT_EVENT_ADVISE, 0), thread, start, 0);
}

static struct xfw_op *kernel(uint32_t thread, uint32_t stream, double start, double ns)
{
    return resolve(hand_work(XFW_KERNEL, stream, 0, 0, 0), thread, start, ns);
}

static struct xfw_op *host_function(uint32_t thread, uint32_t stream, double start)
{
    struct xfw_op op = hand_work(XFW_HOST_FUNCTION, stream, 0, 0, 0);
    op.kind = XFT_EVENT_HOST_FUNCTION;
    op.engine = XFW_NO_ENGINE;
    return resolve(op, thread, start, 0);
}

static double played(void)
{
    struct xfa_process process = {.number = 0};
    struct xfw_player *player = xfw_player_new(&process, NULL, 0, XFW_LIKELY);
    for (size_t i = 0; i < count; i++)
        xfw_player_op(player, &ops[i]);
    double end = xfw_schedule_total(xfw_player_schedule(player), ops[count - 1].end_ns);
    xfw_player_free(player);
    return end;
}

/* Kernels from this op on take less. */
static unsigned shorten(size_t from, double ns)
{
    unsigned shorter = 0;
    for (size_t i = from; i < count; i++) {
        if (ops[i].what != XFW_KERNEL)
            continue;
        ops[i].duration_ns -= ns;
        shorter++;
    }
    return shorter;
}

/* A thread waits until its stream has called a function, and goes on 100 us later: what the kernel
 * before that takes less, the run does. */
static void test_a_function_that_wakes(void **state)
{
    enum { ROUNDS = 8, KERNEL = 2000 * US, WAY = 100 * US };
    (void)state;
    double now = 1000;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct xfw_op *first = kernel(MAIN, 1, now, KERNEL);
        uint64_t woke = i ? first->number : 0; /* the function's number, + 1 */
        assert_int_equal(first->woken_by_stream, i < 3 ? 0 : woke);
        assert_true(!first->woken_by_stream || first->woken_after_ns == WAY);
        assert_true(first->woken_by == XFW_NONE);
        host_function(MAIN, 1, now + CALL);
        now += 2 * US + KERNEL + WAY;
    }
    call(MAIN, now);
    assert_true(played() == now + CALL);
    unsigned shorter = shorten(6, 500 * US); /* of rounds 3 on, as they are followed */
    assert_true(played() == now + CALL - shorter * 500.0 * US);
}

/* Functions are called while the thread is at work on its own: at another time each time. */
static void test_a_function_by_chance(void **state)
{
    static const double behind[] = {0.9, 0.2, 0.7, 0.1, 0.6, 0.3, 0.8, 0.4};
    enum { OWN = 800 * US };
    (void)state;
    double now = 1000;
    for (unsigned i = 0; i < 32; i++) {
        assert_int_equal(kernel(MAIN, 1, now, OWN * behind[i % 8])->woken_by_stream, 0);
        host_function(MAIN, 1, now + CALL);
        now += OWN + 2 * US;
    }
}

/* Steps of a program that runs on a pool of threads, as JAX does: a worker, another one each time,
 * brings data to memory of its own for `STAGE`, has it copied; the main thread launches a kernel
 * right behind that, and a function behind the kernel; whose call wakes another worker, and so
 * on. The wait for a worker is never the same. */
enum { STEPS = 48, STAGE = 600 * US, KERNEL = 600 * US, STEP_OPS = 5 };

static unsigned worker_of(unsigned turn)
{
    return 1 + (turn * 7 + turn / 3) % WORKERS;
}

static double add_steps(bool functions)
{
    double now = 1000;
    call(MAIN, now);
    for (unsigned i = 0; i < STEPS; i++) {
        uint32_t first = worker_of(2 * i), second = first % WORKERS + 1;
        now += CALL + STAGE + (i % 5) * 20.0 * US;
        resolve(hand_work(XFW_SET, 1, 0, 0, 0), first, now, 1 * US);
        now += CALL + 3 * US;
        kernel(MAIN, 2, now, KERNEL);
        if (functions)
            host_function(MAIN, 2, now + CALL);
        else
            call(MAIN, now + CALL);
        now += 2 * US + KERNEL + 150 * US + (i % 3) * 30 * US;
        resolve(hand_op(XFW_WAIT, XFT_EVENT_WAIT, 0), second, now, 0);
        call(second, now + CALL);
        now += CALL;
    }
    call(MAIN, now + 40 * US);
    return now + 40 * US + CALL;
}

static void test_workers(void **state)
{
    (void)state;
    double end = add_steps(true);
    assert_true(played() == end);
    size_t from = 1 + STEP_OPS * (STEPS / 2); /* by then it is known who they are */
    unsigned followed = 0, woken = 0;
    for (size_t i = from; i < count - 1; i++) {
        followed += ops[i].woken_by != XFW_NONE && ops[i].woken_by != ops[i].thread;
        woken += ops[i].woken_by_stream != 0;
    }
    assert_true(woken >= STEPS / 2 - 1);
    assert_true(followed >= STEPS - 2); /* workers that stage, and the main thread */
    unsigned shorter = shorten(from, 100 * US);
    assert_int_equal(shorter, STEPS / 2);
    assert_true(played() == end - shorter * 100.0 * US);
}

/* Threads that do the same in turns may be of a pool or not: where no function wakes them, what
 * each does between its calls is its own. */
static void test_turns_alone(void **state)
{
    (void)state;
    double end = add_steps(false);
    assert_true(played() == end);
    for (size_t i = 1 + WORKERS * STEP_OPS; i < count - 1; i++)
        assert_true(ops[i].woken_by_stream == 0 &&
                    (ops[i].thread == MAIN || ops[i].woken_by == XFW_NONE));
}

/* A thread works by itself for 800 us at a time, while another one calls again and again: some of
 * its calls end just before this one goes on. */
static void test_beside_each_other(void **state)
{
    enum { STEPS_BESIDE = 40, OWN = 800 * US, OTHER = 37 * US };
    (void)state;
    double other = 2000;
    call(1, 1500);
    for (unsigned i = 0; i < STEPS_BESIDE; i++) {
        double now = (i + 1) * (double)OWN;
        for (; other + CALL < now; other += OTHER)
            call(1, other);
        assert_true(call(MAIN, now)->woken_by == (i ? XFW_NONE : 1)); /* its first one */
    }
}

/* It makes calls, gives its work to another thread, which makes as many, and goes on behind the
 * last of them. */
static void test_work_that_is_given(void **state)
{
    enum { STEPS_GIVEN = 10, CALLS = 30, WAY = 20 * US };
    (void)state;
    double now = 1000;
    unsigned woken = 0;
    for (unsigned i = 0; i < STEPS_GIVEN; i++) {
        for (unsigned k = 0; k < CALLS; k++, now += CALL + 3 * US)
            woken += call(MAIN, now)->woken_by == 1 && i > 0;
        for (unsigned k = 0; k < CALLS; k++)
            call(1, now += CALL + 3 * US);
        now += CALL + WAY;
    }
    assert_in_range(woken, STEPS_GIVEN - 5, STEPS_GIVEN - 1);
}

/* Once only: behind the other's last call of all it was woken, behind another call of one that
 * calls all the time it may be chance. */
static void test_once(void **state)
{
    enum { CALLS = 30, WAY = 4 * US };
    (void)state;
    for (int last = 0; last < 2; last++) {
        double now = 1000;
        xfw_recorded_free(recorded);
        recorded = xfw_recorded_new();
        call(MAIN, now);
        for (unsigned k = 0; k < CALLS; k++) {
            struct xfw_op op = hand_op(XFW_CALL, XFT_EVENT_ADVISE, 0);
            op.last = last && k + 1 == CALLS;
            resolve(op, 1, now += CALL + 30 * US, 0);
        }
        struct xfw_op *op = call(MAIN, now + CALL + WAY);
        assert_true(op->woken_by == (last ? 1 : XFW_NONE));
        assert_true(!last || op->woken_after_ns == WAY);
    }
}

/* A thread goes on soon behind the last call of another one, after a short time: only of one that
 * it has made that is believed, and only if that ended. */
static void test_once_after_a_short_time(void **state)
{
    enum { CALLS = 3, WAY = US };
    const struct {
        bool made, last, woken;
    } runs[] = {{true, true, true}, {true, false, false}, {false, true, false}};
    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        double now = 1000;
        xfw_recorded_free(recorded);
        recorded = xfw_recorded_new();
        if (!runs[i].made) /* it comes behind a call of a third thread */
            call(2, now - 1);
        call(MAIN, now);
        if (!runs[i].made)
            call(2, now + CALL + 1);
        for (unsigned k = 0; k < CALLS; k++) {
            struct xfw_op op = hand_op(XFW_CALL, XFT_EVENT_ADVISE, 0);
            op.last = runs[i].last && k + 1 == CALLS;
            resolve(op, 1, now += CALL + 30 * US, 0);
        }
        struct xfw_op *op = call(MAIN, now + CALL + WAY);
        assert_true(op->woken_by == (runs[i].woken ? 1 : XFW_NONE));
        count = 0;
    }
}

/* It works by itself, several times, beside one that calls all the time, and waits for that one's
 * end: of so many times one would hardly be so close by chance. */
static void test_once_of_several(void **state)
{
    enum { TIMES = 9, CALLS = 20, APART = 31 * US, BETWEEN = 14 * US };
    (void)state;
    for (int close = 0; close < 2; close++) {
        double now = 1000, way = close ? US / 5 : US * 3;
        xfw_recorded_free(recorded);
        recorded = xfw_recorded_new();
        call(MAIN, now);
        for (unsigned k = 0; k < TIMES * CALLS; k++) {
            struct xfw_op op = hand_op(XFW_CALL, XFT_EVENT_ADVISE, 0);
            op.last = k + 1 == TIMES * CALLS;
            resolve(op, 1, now += APART, 0);
            if (k % CALLS == CALLS / 2)
                assert_true(call(MAIN, now + CALL + BETWEEN)->woken_by == XFW_NONE);
        }
        assert_true(call(MAIN, now + CALL + way)->woken_by == (close ? 1 : XFW_NONE));
        count = 0;
    }
}

/* A thread that is woken within another's last call goes on before that call ends. */
static void test_within_a_call(void **state)
{
    (void)state;
    struct xfw_schedule *schedule = xfw_schedule_new();
    struct xfw_op first = hand_op(XFW_CALL, XFT_EVENT_ADVISE, 1000), second = first;
    second.thread = 1;
    xfw_schedule_op(schedule, &first);
    second.woken_by = 0;
    second.woken_after_ns = -300;
    xfw_op_alone(&second);
    xfw_schedule_op(schedule, &second);
    assert_true(xfw_schedule_thread_now(schedule, 1) == 1000 - 300 + 1000);
    xfw_schedule_free(schedule);
}

/* Each round a thread makes two others and waits for both: A works for 900 us, B for 800 us between
 * its two calls. `goes_on`: A makes another call while it is waited for. */
enum { ROUNDS = 10, ROUND = 1000 * US, A_WORKS = 900 * US, B_WORKS = 800 * US };

static double add_rounds(bool goes_on)
{
    double now = 1000;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t a = 1 + 2 * i, b = a + 1;
        call(MAIN, now);
        call(a, now + 2 * CALL);
        call(b, now + 3 * CALL);
        call(b, now + 4 * CALL + B_WORKS);
        call(a, now + 3 * CALL + A_WORKS);
        if (goes_on) {
            call(MAIN, now + 5 * CALL + A_WORKS);
            call(a, now + 6 * CALL + A_WORKS);
        }
        now += ROUND;
    }
    call(MAIN, now);
    return now + CALL;
}

static double with_less_of_a(double ns)
{
    for (size_t i = 0; i < count; i++)
        if (ops[i].thread % 2 == 1 && ops[i].gap_ns == A_WORKS)
            ops[i].gap_ns -= ns;
    return played();
}

static void test_threads_that_end(void **state)
{
    (void)state;
    double end = add_rounds(false);
    unsigned joins = 0;
    for (size_t i = 0; i < count; i++) {
        joins += ops[i].joins;
        assert_true(!ops[i].joins || ops[i].woken_by == ops[i - 1].thread);
    }
    assert_int_equal(joins, ROUNDS - 3); /* three are seen to be over before it is believed */
    assert_true(played() == end);
    assert_true(with_less_of_a(50 * US) == end - joins * 50.0 * US);
}

/* B is the last then. */
static void test_the_other_ends_last(void **state)
{
    (void)state;
    double end = add_rounds(false), later = A_WORKS - B_WORKS - CALL;
    double took = with_less_of_a(300 * US);
    assert_true(took == end - (ROUNDS - 3) * later);
}

/* Two threads, which began before, wake the main one by turns; then it waits once, for both to end:
 * A ends last. */
static double add_one_end(bool goes_on)
{
    double now = 2 * CALL;
    call(1, 0);
    call(2, CALL);
    call(MAIN, now);
    for (unsigned round = 0; round < ROUNDS; round++) {
        call(1 + round % 2, now);
        call(MAIN, now += 300 * US);
    }
    call(2, now + 500 * US);
    struct xfw_op last = hand_op(XFW_CALL, XFT_EVENT_ADVISE, 0);
    last.last = !goes_on;
    resolve(last, 2, now + 1500 * US, 0);
    resolve(last, 1, now + 2000 * US, 0);
    call(MAIN, now += 2000 * US + CALL + 2 * US);
    if (goes_on)
        call(1, now + 10 * CALL);
    return now;
}

static void test_threads_that_end_once(void **state)
{
    (void)state;
    double at = add_one_end(false);
    const struct xfw_op *waits = &ops[count - 1];
    assert_true(waits->joins && waits->woken_by == 1);
    assert_true(waits->woken_after_ns == 2 * US);
    assert_true(played() == at + CALL);
    ops[count - 2].gap_ns -= 1000 * US; /* then B ends last, which is waited for, too */
    assert_true(played() == at + CALL - 500 * US);
}

static void test_a_thread_that_does_not_end(void **state)
{
    (void)state;
    add_one_end(true);
    assert_false(ops[count - 2].joins);
}

static void test_threads_that_go_on(void **state)
{
    (void)state;
    add_rounds(true);
    for (size_t i = 0; i < count; i++)
        assert_false(ops[i].joins);
}

/* The main thread makes others, each of which makes a call in between, and works for 2 ms behind
 * their ends. */
static const struct xfw_op *made_once(unsigned threads, bool goes_on)
{
    struct xfw_op last = hand_op(XFW_CALL, XFT_EVENT_ADVISE, 0);
    last.last = !goes_on;
    call(MAIN, 1000);
    for (unsigned i = 0; i < threads; i++)
        call(1 + i, 1000 + (2 + i) * CALL);
    for (unsigned i = threads; i-- > 0; last.last = true)
        resolve(last, 1 + i, 9000 * US + (threads - i) * 100 * US, 0);
    call(MAIN, 11000 * US + threads * 100 * US);
    return &ops[count - 1];
}

static void test_outlived(void **state)
{
    (void)state;
    const struct xfw_op *op = made_once(2, false);
    assert_true(op->joins);
    assert_int_equal(op->woken_by, 1);
    assert_true(op->woken_after_ns == 2000 * US - CALL);
}

/* It works for three times as long as the others did: what they take less, it begins sooner, as it
 * slept for all of that; else it may have worked beside them. */
static void test_slept_until(void **state)
{
    (void)state;
    for (unsigned slept = 0; slept < 2; slept++) {
        struct xfw_op last = hand_op(XFW_CALL, XFT_EVENT_ADVISE, 0);
        const double ended = 9000 * US, idle = 4 * ended;
        xfw_recorded_free(recorded);
        begin_test(state);
        call(MAIN, 1000);
        for (unsigned i = 1; i <= 2; i++)
            call(i, 1000 + (1 + i) * CALL);
        last.last = true;
        for (unsigned i = 1; i <= 2; i++)
            resolve(last, i, ended - i * 100 * US, 0);
        struct xfw_op next = hand_op(XFW_CALL, XFT_EVENT_ADVISE, 0);
        next.slept_parts = (uint16_t)(XFW_OF_ALL * (slept ? 0.25 : 0.2));
        assert_true(resolve(next, MAIN, 1000 + CALL + idle, 0)->joins == slept);
        assert_true(ops[count - 1].woken_by == (slept ? 1 : XFW_NONE));
    }
}

static void test_beside_one(void **state)
{
    (void)state;
    assert_false(made_once(1, false)->joins);
}

static void test_one_goes_on(void **state)
{
    (void)state;
    assert_false(made_once(3, true)->joins);
}

/* The function was not given to the stream at all, or so long ago that it is not remembered: the
 * thread's own time counts. */
static void test_a_function_that_is_gone(void **state)
{
    (void)state;
    struct xfw_schedule *schedule = xfw_schedule_new();
    struct xfw_op op = hand_op(XFW_CALL, XFT_EVENT_ADVISE, 10);
    op.woken_by_stream = 7;
    op.woken_after_ns = 1000;
    op.gap_ns = 50;
    xfw_schedule_op(schedule, &op);
    assert_true(xfw_schedule_thread_now(schedule, 0) == 50 + 10);
    xfw_schedule_free(schedule);
}

/* What a change has a new thread do first begins when the thread does, and the thread's own first
 * call right behind it: it does not count from its maker's call once more. */
static void test_before_a_first_call(void **state)
{
    (void)state;
    struct xfw_schedule *schedule = xfw_schedule_new();
    struct xfw_op makers = hand_op(XFW_CALL, XFT_EVENT_ADVISE, 100 * US);
    struct xfw_op op = hand_op(XFW_CALL, XFT_EVENT_ADVISE, 2 * US);
    op.number = 1;
    op.thread = 1;
    op.woken_by = MAIN;
    op.woken_by_call = makers.number + 1;
    op.within_call = true; /* else 10 us behind the call's end */
    op.woken_after_ns = 10 * US;
    struct xfw_op before = xfw_op_like(&op);
    before.own_ns = 30 * US;
    xfw_op_take_gap(&before, &op);
    xfw_schedule_op(schedule, &makers);
    xfw_schedule_op(schedule, &before);
    assert_true(xfw_schedule_thread_now(schedule, 1) == (10 + 30) * US);
    xfw_schedule_op(schedule, &op);
    assert_true(xfw_schedule_thread_now(schedule, 1) == (10 + 30 + 2) * US);
    xfw_schedule_free(schedule);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_test, end_test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_function_that_wakes),
        TEST(test_a_function_by_chance),
        TEST(test_workers),
        TEST(test_turns_alone),
        TEST(test_beside_each_other),
        TEST(test_work_that_is_given),
        TEST(test_once),
        TEST(test_once_after_a_short_time),
        TEST(test_once_of_several),
        TEST(test_within_a_call),
        TEST(test_a_function_that_is_gone),
        TEST(test_before_a_first_call),
        TEST(test_threads_that_end),
        TEST(test_the_other_ends_last),
        TEST(test_threads_that_end_once),
        TEST(test_a_thread_that_does_not_end),
        TEST(test_threads_that_go_on),
        TEST(test_outlived),
        TEST(test_slept_until),
        TEST(test_beside_one),
        TEST(test_one_goes_on),
    };
    return cmocka_run_group_tests_name("threads that wait for each other", tests, NULL, NULL);
}
