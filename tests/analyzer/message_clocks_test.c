/* Clocks of hosts, set to each other by messages: what was set is found within the error that is
 * said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/ranked.h"

#define MESSAGES 200
#define EVERY_NS 50000000 /* in all 10 s */

static const char *const hosts[] = {"node1", "node2", "node3"};

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* A message that takes 3 us and, but for a few, up to 200 us more. */
static void exchange(struct ranked *from, struct ranked *to, uint64_t at, uint32_t *seed)
{
    uint64_t ns = 3000 + (next_random(seed) % 10 ? next_random(seed) % 200000 : 0);
    ranked_send(from, to->rank, 5, 100, at, at + 1000);
    ranked_recv(to, from->rank, 5, 100, at - 100000 * (next_random(seed) % 2), at + ns);
}

enum way { FORTH = 1, BACK = 2 };

static void exchange_all(struct ranked *a, struct ranked *b, unsigned ways, uint64_t from)
{
    uint32_t seed = 17;
    for (uint64_t i = 1; i <= MESSAGES; i++) {
        if (ways & FORTH)
            exchange(a, b, from + i * EVERY_NS, &seed);
        if (ways & BACK)
            exchange(b, a, from + i * EVERY_NS + EVERY_NS / 2, &seed);
    }
}

static struct analyzed analyse(struct ranked *ranks, uint32_t count)
{
    struct analyzed a = analyzed_start(NULL);
    for (uint32_t i = 0; i < count; i++) {
        ranked_end(&ranks[i]);
        analyzed_add(&a, &ranks[i].b);
    }
    analyzed_finish(&a);
    for (uint32_t i = 0; i < count; i++)
        build_free(&ranks[i].b);
    return a;
}

static const struct xfa_host_clock *clock_of(const struct analyzed *a, size_t host)
{
    return &a->analysis->matched.clocks.all[host];
}

/* What a host's clock said at a true time, put on that of the first: how far it is off. */
static double off_by(const struct analyzed *a, const struct ranked *host, uint32_t number,
                     double at_ns)
{
    uint64_t mono = TEST_START_NS + 1000 + (uint64_t)(at_ns * (1 + host->drift));
    const struct xfa_process *process = a->analysis->run->processes[number];
    double common = xfa_host_clocks_ns(&a->analysis->matched.clocks, process->host,
                                       xfa_process_wall_ns(process, mono));
    const struct xfa_process *first = a->analysis->run->processes[0];
    double truth =
        xfa_host_clocks_ns(&a->analysis->matched.clocks, first->host,
                           xfa_process_wall_ns(first, TEST_START_NS + 1000 + (uint64_t)at_ns));
    return fabs(common - truth);
}

static void test_recovered(void **state)
{
    static const struct {
        double offset_ns, drift;
    } set[] = {{0, 0}, {3e6, 0}, {-2.5e9, 0}, {40000, 20e-6}, {-1e6, -100e-6}, {5e9, 400e-6}};
    (void)state;
    for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
        struct ranked ranks[2];
        for (uint32_t r = 0; r < 2; r++)
            ranked_start(&ranks[r], r, 2, hosts[r]);
        ranks[1].offset_ns = set[i].offset_ns;
        ranks[1].drift = set[i].drift;
        exchange_all(&ranks[0], &ranks[1], FORTH | BACK, 0);
        struct analyzed a = analyse(ranks, 2);
        const struct xfa_host_clock *clock = clock_of(&a, 1);
        double middle = EVERY_NS * (MESSAGES + 1.5) / 2;
        assert_int_equal(a.analysis->matched.messages, 2 * MESSAGES);
        assert_int_equal(clock_of(&a, 0)->basis, XFA_CLOCK_FIRST);
        assert_int_equal(clock->basis, XFA_CLOCK_MESSAGES);
        assert_int_equal(clock->messages, 2 * MESSAGES);
        assert_true(clock->error_ns > 0 && clock->error_ns < 20000);
        assert_true(fabs(clock->drift - set[i].drift) < 4e-9);
        assert_true(fabs(clock->offset_ns - set[i].offset_ns - set[i].drift * middle) <=
                    clock->error_ns);
        for (uint64_t at = 1; at <= MESSAGES; at += 10)
            assert_true(off_by(&a, &ranks[1], 1, (double)(at * EVERY_NS)) <= clock->error_ns);
        analyzed_free(&a);
    }
}

/* The third host has messages with the second alone: errors add up. */
static void test_three_hosts(void **state)
{
    struct ranked ranks[3];
    (void)state;
    for (uint32_t r = 0; r < 3; r++)
        ranked_start(&ranks[r], r, 3, hosts[r]);
    ranks[1].offset_ns = -7e6;
    ranks[1].drift = 50e-6;
    ranks[2].offset_ns = 90e6;
    ranks[2].drift = -80e-6;
    exchange_all(&ranks[0], &ranks[1], FORTH | BACK, 0);
    exchange_all(&ranks[2], &ranks[1], FORTH | BACK, 1000000);
    struct analyzed a = analyse(ranks, 3);
    assert_int_equal(clock_of(&a, 2)->basis, XFA_CLOCK_MESSAGES);
    assert_true(clock_of(&a, 2)->error_ns > clock_of(&a, 1)->error_ns);
    for (uint64_t at = 1; at <= MESSAGES; at += 10)
        assert_true(off_by(&a, &ranks[2], 2, (double)(at * EVERY_NS)) <= clock_of(&a, 2)->error_ns);
    analyzed_free(&a);
}

/* One direction says only what is not possible: the error is not known. */
static void test_one_direction(void **state)
{
    static const double set[] = {-5e6, 5e6};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct ranked ranks[2];
        for (uint32_t r = 0; r < 2; r++)
            ranked_start(&ranks[r], r, 2, hosts[r]);
        ranks[1].offset_ns = set[i];
        exchange_all(&ranks[0], &ranks[1], FORTH, 0);
        struct analyzed a = analyse(ranks, 2);
        assert_int_equal(clock_of(&a, 1)->basis, XFA_CLOCK_BOUND);
        assert_true(isnan(clock_of(&a, 1)->error_ns));
        assert_true(i == 0 ? fabs(clock_of(&a, 1)->offset_ns - set[i]) <= 3001
                           : clock_of(&a, 1)->offset_ns == 0);
        for (size_t k = 0; k < a.analysis->messages.rows.count; k++)
            assert_int_equal(xfa_message_row(&a.analysis->messages, k)->divided, 0);
        analyzed_free(&a);
    }
}

/* A clock that was set meanwhile is not one line. */
static void test_contradiction(void **state)
{
    struct ranked ranks[2];
    uint32_t seed = 3;
    (void)state;
    for (uint32_t r = 0; r < 2; r++)
        ranked_start(&ranks[r], r, 2, hosts[r]);
    for (uint64_t i = 1; i <= 40; i++) {
        uint64_t set = i % 10 < 5 ? 0 : 800000000;
        uint64_t at = 2000000000 + i * EVERY_NS;
        ranked_send(&ranks[0], 1, 5, 100, at, at + 1000);
        ranked_recv(&ranks[1], 0, 5, 100, at - set, at - set + 5000 + next_random(&seed) % 100);
        ranked_send(&ranks[1], 0, 6, 100, at - set + 20000, at - set + 21000);
        ranked_recv(&ranks[0], 1, 6, 100, at, at + 30000);
    }
    struct analyzed a = analyse(ranks, 2);
    assert_int_equal(clock_of(&a, 1)->basis, XFA_CLOCK_CONTRADICTED);
    assert_true(isnan(clock_of(&a, 1)->error_ns));
    analyzed_free(&a);
}

/* Barriers say as much as messages in both directions; hosts without messages have their own. */
static void test_barriers(void **state)
{
    struct ranked ranks[3];
    (void)state;
    for (uint32_t r = 0; r < 3; r++)
        ranked_start(&ranks[r], r, r < 2 ? 2 : 1, hosts[r]);
    ranks[1].offset_ns = 12e6;
    for (uint64_t i = 1; i <= 20; i++)
        for (uint32_t r = 0; r < 2; r++)
            ranked_collective(&ranks[r], XFT_MESSAGE_BARRIER, 0, i * EVERY_NS + 4000 * r,
                              i * EVERY_NS + 9000);
    struct analyzed a = analyse(ranks, 3);
    assert_int_equal(clock_of(&a, 1)->basis, XFA_CLOCK_MESSAGES);
    assert_true(fabs(clock_of(&a, 1)->offset_ns - 12e6) <= clock_of(&a, 1)->error_ns);
    assert_true(clock_of(&a, 1)->error_ns < 8000);
    assert_int_equal(clock_of(&a, 2)->basis, XFA_CLOCK_OWN);
    assert_true(isnan(clock_of(&a, 2)->error_ns));
    analyzed_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recovered),     cmocka_unit_test(test_three_hosts),
        cmocka_unit_test(test_one_direction), cmocka_unit_test(test_contradiction),
        cmocka_unit_test(test_barriers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
