/* What readings of a thread that sleeps say: rates of the others by least squares, whether it wakes
 * at times of its own; from when on in a window others are late; and that what others rested and
 * the thread did not use is gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "analyzer/whatif/ops/op_numbers.h"
#include "analyzer/whatif/ops/pace_rates.h"
#include "analyzer/whatif/ops/pace_windows.h"
#include "analyzer/whatif/schedule/kept_pace.h"
#include "xferscope/trace.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

static void test_squares(void **state)
{
    struct xfw_squares sums = {.count = 0};
    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        const double x[] = {10 + i % 3, 5 + i % 7, 0};
        xfw_squares_add(&sums, x, 2 * x[0] - x[1]);
        if (i == 6)
            assert_true(isnan(xfw_squares_solve(&sums).value[0])); /* too few */
    }
    struct xfw_solved solved = xfw_squares_solve(&sums);
    assert_true(fabs(solved.value[0] - 2) < 1e-6 && fabs(solved.value[1] + 1) < 1e-6);
    assert_true(solved.error[0] > 0 && solved.error[0] < 0.1);
    assert_true(isnan(solved.value[2]) && isnan(solved.error[2]));
}

/* Two that are always the same part of each other: the third is known. */
static void test_squares_alike(void **state)
{
    struct xfw_squares sums = {.count = 0};
    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        const double x[] = {i % 5, 50, 100};
        xfw_squares_add(&sums, x, 3 * x[0] + 70);
    }
    struct xfw_solved solved = xfw_squares_solve(&sums);
    assert_true(fabs(solved.value[0] - 3) < 1e-6);
    assert_true(isnan(solved.value[1]) && isnan(solved.value[2]));
}

/* Taken for one, they have what they have together; and two sums are that of all that was seen. */
static void test_squares_together(void **state)
{
    struct xfw_squares sums = {.count = 0}, other = {.count = 0};
    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        const double x[] = {i % 5, 50, 100};
        xfw_squares_add(i % 2 ? &sums : &other, x, 3 * x[0] + 75);
    }
    xfw_squares_merge(&sums, &other);
    struct xfw_solved solved = xfw_squares_solve_with(&sums, 1, 2);
    assert_true(fabs(solved.value[0] - 3) < 1e-6 && fabs(solved.value[1] - 0.5) < 1e-6);
    assert_true(isnan(solved.value[2]));
}

/* A turn: a sleep, own work, which the reading ends behind, and a call with a reading of its own.
 */
struct turn {
    double slept, own, called; /* us */
    double asleep, beside;     /* processors of the others, in sleep and calls; in own work */
};

static uint64_t play(struct xfw_pace_rates *rates, uint64_t now, const struct turn *turn)
{
    uint64_t call = now + (uint64_t)((turn->slept + turn->own) * US);
    uint64_t back = call + (uint64_t)(turn->called * US);
    xfw_pace_rates_reading(rates, now, call, turn->slept * US,
                           (turn->asleep * turn->slept + turn->beside * turn->own) * US);
    xfw_pace_rates_call(rates, call, back); /* it comes before the reading that begins there */
    xfw_pace_rates_reading(rates, call, back, 0, turn->asleep * turn->called * US);
    return back;
}

/* Who has one slot rests while the thread works itself. */
static void test_rates(void **state)
{
    struct xfw_pace_rates rates = {.call_from_ns = 0};
    uint64_t now = MS;
    (void)state;
    for (unsigned i = 0; i < 40; i++)
        now = play(&rates, now, &(struct turn){40 + i % 5 * 10, 200, 60 + i % 3 * 15, 1, 0});
    struct xfw_pace_three three = xfw_pace_rates_of(&rates);
    assert_true(fabs(three.of[XFW_PACE_ASLEEP] - 1) < 0.01);
    assert_true(three.of[XFW_PACE_OWN] < 0.01);
    assert_true(fabs(three.of[XFW_PACE_CALLED] - 1) < 0.01);
    assert_true(xfw_pace_rates_in_turn(&rates));
}

/* With readings that are all alike only the sum says so. */
static void test_in_turn(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 3; way++) { /* by turns; all of the time; hardly */
        const double others[] = {170, 300, 90};
        struct xfw_pace_rates rates = {.call_from_ns = 0};
        uint64_t now = MS;
        for (unsigned i = 0; i < 40; i++, now += 300 * US) {
            xfw_pace_rates_reading(&rates, now, now + 300 * US, 150 * US, others[way] * US);
            xfw_pace_rates_call(&rates, now + 150 * US, now + 180 * US);
        }
        assert_true(isnan(xfw_pace_rates_of(&rates).of[XFW_PACE_OWN]));
        assert_true(xfw_pace_rates_in_turn(&rates) == (way == 0));
    }
}

/* Own work and calls that are the same part of each other in all readings: what others do beside
 * both together. */
static void test_awake(void **state)
{
    struct xfw_pace_rates rates = {.call_from_ns = 0};
    uint64_t now = MS;
    (void)state;
    for (unsigned i = 0; i < 40; i++) {
        uint64_t slept = 100 + i % 5 * 50, end = now + (slept + 100) * US;
        xfw_pace_rates_reading(&rates, now, end, (double)(slept * US), (double)((slept + 90) * US));
        xfw_pace_rates_call(&rates, now, now + 20 * US);
        now = end;
    }
    for (unsigned i = 0; i < 60; i++, now += MS) { /* another part of the program */
        xfw_pace_rates_reading(&rates, now, now + MS, 0, 0);
        xfw_pace_rates_call(&rates, now, now + MS / 5);
    }
    struct xfw_pace_three three = xfw_pace_rates_of(&rates);
    assert_true(isnan(three.of[XFW_PACE_OWN]) && isnan(three.of[XFW_PACE_CALLED]));
    assert_true(fabs(xfw_pace_rates_awake(&rates) - 0.9) < 0.01);
}

/* Calls that take now less, now longer: it sleeps until a tick, or for a time. */
static void test_even_times(void **state)
{
    (void)state;
    for (unsigned tick = 0; tick < 2; tick++) {
        struct xfw_pace_rates rates = {.call_from_ns = 0};
        uint64_t now = MS;
        for (unsigned i = 0; i < 60; i++) {
            double called = 50 + i * 7 % 5 * 20, before = 50 + (i + 59) % 60 * 7 % 5 * 20;
            double slept = tick ? 500 - 100 - before : 300;
            if (tick && i == 30) /* it was late, and slept no more until the next but one */
                slept += 500;
            now = play(&rates, now, &(struct turn){slept, 100, called, 0, 0});
        }
        assert_true(xfw_pace_wakes_by_clock(&rates) == (tick == 1));
    }
    struct xfw_pace_rates rates = {.call_from_ns = 0};
    uint64_t now = MS;
    for (unsigned i = 0; i < 60; i++) /* who can say */
        now = play(&rates, now, &(struct turn){300, 100, 50, 0, 0});
    assert_false(xfw_pace_wakes_by_clock(&rates));
}

/* Own work behind each sleep, or before it, that takes now less, now longer: it sleeps until
 * something comes, now sooner, now later; or for a time, or for one that is the shorter the longer
 * it was awake, but not by as much. */
static void test_times_of_its_own(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 4; way++) {
        struct xfw_pace_rates rates = {.call_from_ns = 0};
        uint64_t now = MS;
        for (unsigned i = 0; i < 80; i++) {
            double own = 50 + i * 7 % 9 * 10, before = 50 + (i + 79) % 80 * 7 % 9 * 10;
            before = way == 3 ? own : before;
            double slept = way % 3 == 0 ? 500 + i * 5 % 11 * 4 - before
                           : way == 1   ? 300 + i * 5 % 11 * 4
                                        : 900 - 4 * before;
            now = play(&rates, now, &(struct turn){slept, own, 50, 0, 0});
        }
        assert_true(xfw_pace_wakes_by_clock(&rates) == (way % 3 == 0));
    }
}

static struct xfa_event processor(enum xft_processor until, uint64_t from_ns, uint64_t until_ns,
                                  uint64_t own_ns, uint64_t others_ns)
{
    return (struct xfa_event){
        .kind = XFT_EVENT_PROCESSOR,
        .tid = 7,
        .start_ns = from_ns,
        .end_ns = until_ns,
        .processor = {
            .until = until, .own_ns = own_ns, .others_ns = others_ns, .others_known = true}};
}

static struct xfa_event called(enum xft_event_kind kind, uint64_t from_ns, uint64_t until_ns)
{
    return (struct xfa_event){.kind = kind, .tid = 7, .start_ns = from_ns, .end_ns = until_ns};
}

/* So many steps of 1 ms, half of each between calls; the others work all of the time that it sleeps
 * or is in calls, or none. */
static uint64_t steps(struct xfw_numbers *numbers, uint64_t from, unsigned count, bool sleeps,
                      bool they_work)
{
    for (unsigned i = 0; i < count; i++, from += MS) {
        const uint64_t middle = from + MS / 2, end = from + MS, half = MS / 2;
        const struct xfa_event events[] = {
            processor(XFT_PROCESSOR_UNTIL_CALL, from, middle, sleeps ? 0 : half,
                      they_work ? half : 0),
            processor(XFT_PROCESSOR_UNTIL_RETURN, middle, end, half, they_work ? half : 0),
            called(XFT_EVENT_SYNC, middle, end),
        };
        for (unsigned k = 0; k < sizeof events / sizeof *events; k++)
            xfw_pace_only(numbers, &events[k]);
    }
    return from;
}

static enum xfw_paced decided(struct xfw_numbers *numbers, struct xfa_process *process)
{
    xfw_paces_decide(numbers, process);
    enum xfw_paced paced = process->paced_count ? process->paced[0].paced : XFW_PACED_NOT;
    free(process->made);
    free(process->paced);
    xfw_numbers_free(numbers);
    return paced;
}

/* The others are idle in parts of the program in which it does not wait for them: before its first
 * sleep, and behind its last one. */
static void test_other_parts(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 3; way++) { /* before; behind; between, where they rest */
        struct xfa_process process = {.start_mono_ns = 0};
        struct xfw_numbers numbers = {.process = NULL};
        uint64_t now = MS;
        xfw_numbers_begin(&numbers, &process);
        now = steps(&numbers, now, way == 0 ? 200 : 0, false, false);
        now = steps(&numbers, now, 20, true, true);
        now = steps(&numbers, now, way > 0 ? 200 : 0, false, false);
        steps(&numbers, now, way == 2 ? 20 : 0, true, true);
        enum xfw_paced paced = decided(&numbers, &process);
        assert_int_equal(paced, way == 2 ? XFW_PACED_NOT : XFW_PACED_AT_BEST);
    }
}

/* It wakes every 2 ms, however long it works before: by a clock, or as another thread that calls
 * gives up a lock. */
static void test_turns_of_a_lock(void **state)
{
    (void)state;
    for (unsigned lock = 0; lock < 2; lock++) {
        struct xfa_process process = {.start_mono_ns = 0};
        struct xfw_numbers numbers = {.process = NULL};
        xfw_numbers_begin(&numbers, &process);
        for (uint64_t i = 0, now = MS; i < 100; i++, now += 2 * MS) {
            const uint64_t own = MS / 2 + i * 7 % 9 * MS / 20, slept = 3 * MS / 2 - own;
            const uint64_t call = now + own + slept, others = lock ? slept : 0;
            struct xfa_event events[] = {
                called(XFT_EVENT_SYNC, now, call),
                processor(XFT_PROCESSOR_UNTIL_CALL, now, call, own, others),
                called(XFT_EVENT_SYNC, call, now + 2 * MS),
                processor(XFT_PROCESSOR_UNTIL_RETURN, call, now + 2 * MS, MS / 2, 0),
            };
            events[0].tid = lock ? 8 : 7;
            for (unsigned k = lock ? 0 : 1; k < sizeof events / sizeof *events; k++)
                xfw_pace_only(&numbers, &events[k]);
        }
        enum xfw_paced paced = decided(&numbers, &process);
        assert_int_equal(paced, lock ? XFW_PACED_NOT : XFW_PACED_LIKELY);
    }
}

/* Sleep between queries is a part of the wait that they end, and says nothing of others. */
static void test_polled(void **state)
{
    (void)state;
    for (unsigned queries = 0; queries < 2; queries++) {
        struct xfa_process process = {.start_mono_ns = 0};
        struct xfw_numbers numbers = {.process = NULL};
        uint64_t now = steps(&numbers, MS, 0, false, false);
        xfw_numbers_begin(&numbers, &process);
        now = steps(&numbers, now, 20, true, true);
        for (unsigned i = 0; i < 400; i++) {
            const uint64_t own = MS / 4 + i % 5 * MS / 10; /* at no even times */
            const uint64_t end = now + 3 * MS / 4 + own;
            struct xfa_event events[] = {
                processor(XFT_PROCESSOR_UNTIL_CALL, now, end, own, 0),
                called(XFT_EVENT_RECORD, now, now + US),
                called(XFT_EVENT_QUERY, now + 3 * MS / 4 + US, now + 3 * MS / 4 + 2 * US),
            };
            events[2].wait.queries = queries;
            for (unsigned k = 0; k < sizeof events / sizeof *events; k++)
                xfw_pace_only(&numbers, &events[k]);
            now = end;
        }
        enum xfw_paced paced = decided(&numbers, &process);
        assert_int_equal(paced, queries ? XFW_PACED_AT_BEST : XFW_PACED_NOT);
    }
}

/* Readings that are all alike, without one of calls, and samples: the busiest works less than the
 * thread sleeps. Where it is the only one the others rest in the calls; where there are others,
 * nobody knows. */
static void test_one_of_several(void **state)
{
    (void)state;
    for (unsigned several = 0; several < 2; several++) {
        struct xfa_process process = {.start_mono_ns = 0};
        struct xfw_numbers numbers = {.process = NULL};
        const uint64_t whole = several ? MS : MS / 2;
        xfw_numbers_begin(&numbers, &process);
        for (uint64_t i = 0, now = MS; i < 60; i++, now += MS) {
            const struct xfa_event events[] = {
                processor(XFT_PROCESSOR_OF_OTHERS, now, now + 5 * MS, 5 * MS / 2, 5 * whole),
                processor(XFT_PROCESSOR_UNTIL_CALL, now, now + MS, MS / 2, whole),
                called(XFT_EVENT_SYNC, now, now + MS / 8),
            };
            for (unsigned k = i % 5 ? 1 : 0; k < sizeof events / sizeof *events; k++)
                xfw_pace_only(&numbers, &events[k]);
        }
        enum xfw_paced paced = decided(&numbers, &process);
        assert_int_equal(paced, several ? XFW_PACED_AT_WORST : XFW_PACED_NOT);
    }
}

/* What the busiest has worked by then, of what is likely. */
static double made_at(const struct xfa_process *process, double ns)
{
    for (size_t i = 1; i < process->made_count; i++) {
        const struct xfa_made *to = &process->made[i], *from = to - 1;
        if (to->ns >= ns && to->ns > from->ns)
            return from->certain_ns +
                   (ns - from->ns) / (to->ns - from->ns) * (to->certain_ns - from->certain_ns);
    }
    return NAN;
}

/* Of six windows of 5 ms the thread sleeps in the third to fifth: in each step of 1 ms 0.5 ms, the
 * first time in the middle of the third, the last time in that of the fifth. Others work all of
 * that time, and half of the rest. */
static void test_late_from_first_sleep(void **state)
{
    struct xfa_process process = {.start_mono_ns = 0};
    struct xfw_numbers numbers = {.process = NULL};
    (void)state;
    xfw_numbers_begin(&numbers, &process);
    for (uint64_t i = 0; i < 6; i++) {
        uint64_t start = i * 5 * MS, end = start + 5 * MS;
        uint64_t busy = i == 3 ? 4900 * US : i == 2 || i == 4 ? 3750 * US : 2500 * US;
        struct xfa_event event = processor(XFT_PROCESSOR_OF_OTHERS, start, end, busy, busy);
        xfw_pace_only(&numbers, &event);
        for (uint64_t ns = start; ns < end; ns += MS) {
            bool sleeps = ns >= 12500 * US - MS / 2 && ns < 22500 * US - MS / 2;
            event = processor(XFT_PROCESSOR_UNTIL_CALL, ns, ns + MS / 2, sleeps ? 0 : MS / 2,
                              sleeps ? MS / 2 : MS / 4);
            xfw_pace_only(&numbers, &event);
            struct xfa_event call = {
                .kind = XFT_EVENT_SYNC, .tid = 7, .start_ns = ns + MS / 2, .end_ns = ns + MS};
            event = processor(XFT_PROCESSOR_UNTIL_RETURN, ns + MS / 2, ns + MS, MS / 2,
                              sleeps ? MS / 2 : MS / 4);
            xfw_pace_only(&numbers, &event);
            xfw_pace_only(&numbers, &call);
        }
    }
    xfw_paces_decide(&numbers, &process);
    assert_int_equal(process.paced_count, 1);
    double rests = made_at(&process, 12 * MS) - made_at(&process, 10 * MS);
    double late = made_at(&process, 21 * MS) - made_at(&process, 14 * MS);
    assert_true(rests < 1.3 * MS && fabs(late - 7 * MS) < 0.01 * MS);
    rests = made_at(&process, 24.9 * MS) - made_at(&process, 23 * MS);
    assert_true(rests < 1.3 * MS);
    free(process.made);
    free(process.paced);
    xfw_numbers_free(&numbers);
}

/* The same where the record has no sample behind the one with the last sleep. */
static void test_late_until_last_sleep(void **state)
{
    struct xfa_process process = {.start_mono_ns = 0};
    struct xfw_numbers numbers = {.process = NULL};
    uint64_t now = 5 * MS;
    (void)state;
    xfw_numbers_begin(&numbers, &process);
    for (unsigned i = 0; i < 2; i++) {
        uint64_t busy = i ? 2 * MS : 5 * MS;
        struct xfa_event event = processor(XFT_PROCESSOR_OF_OTHERS, now, now + 5 * MS, busy, busy);
        xfw_pace_only(&numbers, &event);
        now = steps(&numbers, now, i ? 2 : 5, true, true);
    }
    steps(&numbers, now, 3, false, false);
    xfw_paces_decide(&numbers, &process);
    assert_int_equal(process.paced_count, 1);
    double late = made_at(&process, 11 * MS) - made_at(&process, 9 * MS);
    double rests = made_at(&process, 14.9 * MS) - made_at(&process, 12 * MS);
    assert_true(fabs(late - 2 * MS) < 0.01 * MS && rests < 1.5 * MS);
    free(process.made);
    free(process.paced);
    xfw_numbers_free(&numbers);
}

/* Others rest for 50 ms, in which the thread becomes 2 ms faster, and are at work from then on: it
 * stays that much ahead, and calls of no time win nothing more. */
static void test_unused_rest(void **state)
{
    struct xfw_kept_pace pace = {.held = false};
    struct xfw_op op = xfw_op_none();
    const unsigned likely = 1;
    (void)state;
    op.what = XFW_CALL;
    op.gap_ns = 1;
    op.held = 7;
    op.certain_parts = XFW_OF_ALL;
    for (unsigned i = 0; i <= 100; i++) {
        op.start_ns = i * 1e6;
        op.made_ns = i > 50 ? (i - 50) * 1e6 : 0;
        double wanted = op.start_ns - (i < 2 ? i : 2) * 1e6;
        double call = xfw_begins_held(&pace, &op, likely, wanted - (i > 50 ? 20e6 : 0));
        if (i <= 50)
            assert_true(call <= wanted);
        else if (i > 60)
            assert_true(call >= op.start_ns - 12.1 * MS);
        xfw_note_held(&pace, &op, likely, call);
    }
    assert_true(pace.ahead_ns >= 2 * MS && pace.ahead_ns < 13 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_squares),
        cmocka_unit_test(test_squares_alike),
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_in_turn),
        cmocka_unit_test(test_even_times),
        cmocka_unit_test(test_times_of_its_own),
        cmocka_unit_test(test_late_from_first_sleep),
        cmocka_unit_test(test_unused_rest),
        cmocka_unit_test(test_squares_together),
        cmocka_unit_test(test_awake),
        cmocka_unit_test(test_other_parts),
        cmocka_unit_test(test_turns_of_a_lock),
        cmocka_unit_test(test_polled),
        cmocka_unit_test(test_one_of_several),
        cmocka_unit_test(test_late_until_last_sleep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
