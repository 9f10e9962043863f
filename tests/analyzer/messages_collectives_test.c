/* Collectives of MPI: what they took once all ranks had begun, and what the profile gives for it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/lab/ranked_lab.h"

enum { RANKS = 3, REQUEST = 0xa };

#define AT UINT64_C(100000)
#define BYTES UINT64_C(60000)

static struct analyzed analyse(struct ranked *ranks, uint32_t count,
                               const struct xfp_profile *profile)
{
    struct analyzed a = analyzed_start(profile);
    ranked_analyse_all(&a, ranks, count, count);
    return a;
}

static const struct xfa_message_row *row_of(const struct analyzed *a, enum xft_message what)
{
    const struct xfa_messages *messages = &a->analysis->messages;
    for (size_t i = 0; i < messages->rows.count; i++)
        if (xfa_message_row(messages, i)->key.what == what)
            return xfa_message_row(messages, i);
    abort();
}

static bool near(double a, double b)
{
    return fabs(a - b) < 1;
}

/* All ranks call at these times behind AT, and end at those; all give and get BYTES. */
static void all_call(struct ranked *ranks, enum xft_message what, uint32_t root,
                     const uint64_t from_ns[RANKS], const uint64_t to_ns[RANKS])
{
    for (uint32_t i = 0; i < RANKS; i++) {
        struct xft_event *event =
            ranked_collective(&ranks[i], what, BYTES, AT + from_ns[i], AT + to_ns[i]);
        event->width = BYTES;
        event->aux = xft_message_peers(root, XFT_RANK_NONE);
    }
}

/* ---- what it took ---------------------------------------------------------------------------- */

/* From when the last rank came until the last one had its part; of each rank's call the same. */
static void test_since_the_last(void **state)
{
    static const uint64_t from[] = {0, 500, 20000}, to[] = {29000, 30000, 28000};
    struct ranked ranks[RANKS];
    (void)state;
    ranked_start_all(ranks, RANKS, NULL);
    all_call(ranks, XFT_MESSAGE_ALLREDUCE, XFT_RANK_NONE, from, to);
    struct analyzed a = analyse(ranks, RANKS, NULL);
    const struct xfa_message_row *row = row_of(&a, XFT_MESSAGE_ALLREDUCE);
    assert_int_equal(row->timed, RANKS);
    assert_int_equal(row->timed_bytes, RANKS * BYTES);
    assert_true(near(row->timed_ns, RANKS * 10000));
    assert_true(near(row->before_ns, 20000 + 19500));
    assert_true(fabs(xfa_message_gbps(row) - 6) < 1e-9);
    assert_int_equal(row->priced, 0);
    analyzed_free(&a);
}

static bool is_timed(enum xft_message what, uint32_t root, const uint64_t from[RANKS],
                     const uint64_t to[RANKS])
{
    struct ranked ranks[RANKS];
    ranked_start_all(ranks, RANKS, NULL);
    all_call(ranks, what, root, from, to);
    struct analyzed a = analyse(ranks, RANKS, NULL);
    uint64_t timed = row_of(&a, what)->timed;
    analyzed_free(&a);
    assert_true(timed == 0 || timed == RANKS);
    return timed > 0;
}

/* What was moved before the last rank came is not known, but where nobody can have begun. */
static void test_roots(void **state)
{
    static const uint64_t last_0[] = {20000, 0, 0}, last_2[] = {0, 0, 20000};
    static const uint64_t close[] = {0, 0, 900}, to[] = {30000, 30000, 30000};
    static const uint64_t soon[] = {10000, 10000, 10000};
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        enum xft_message gives = i ? XFT_MESSAGE_SCATTER : XFT_MESSAGE_BCAST;
        enum xft_message takes = i ? XFT_MESSAGE_GATHER : XFT_MESSAGE_REDUCE;
        assert_true(is_timed(gives, 0, last_0, to));
        assert_false(is_timed(gives, 0, last_2, to));
        assert_true(is_timed(gives, 2, last_2, to));
        assert_true(is_timed(gives, 0, close, soon));
        assert_false(is_timed(takes, 0, last_0, to));
        assert_false(is_timed(takes, 0, last_2, to));
        assert_true(is_timed(takes, 0, close, soon));
    }
    assert_false(is_timed(XFT_MESSAGE_SCAN, XFT_RANK_NONE, last_2, to));
    assert_true(is_timed(XFT_MESSAGE_BARRIER, XFT_RANK_NONE, last_2, to));
}

/* Those of which the ranks came close together count, whatever they took: all of the same
 * lateness, or none. */
static void test_some_come_together(void **state)
{
    static const uint64_t apart[] = {700, 9000}, took[] = {10000, 30000};
    struct ranked ranks[RANKS];
    (void)state;
    ranked_start_all(ranks, RANKS, NULL);
    for (uint64_t n = 1; n <= 8; n++)
        for (uint32_t i = 0; i < RANKS; i++) {
            uint64_t at = AT * n, came = at + apart[n % 2], to = came + took[n / 2 % 2];
            struct xft_event *event =
                ranked_collective(&ranks[i], XFT_MESSAGE_REDUCE, BYTES, i == 2 ? came : at, to);
            event->width = BYTES;
            event->aux = xft_message_peers(0, XFT_RANK_NONE);
        }
    struct analyzed a = analyse(ranks, RANKS, NULL);
    const struct xfa_message_row *row = row_of(&a, XFT_MESSAGE_REDUCE);
    assert_int_equal(row->timed, 4 * RANKS);
    assert_true(near(row->timed_ns, RANKS * 2 * (10000 + 30000)));
    analyzed_free(&a);
}

/* A rank that went on before the last one came, as a reduce's do, ends no collective. */
static void test_ends_before(void **state)
{
    static const uint64_t from[] = {0, 0, 5000}, to[] = {4000, 4000, 60000};
    (void)state;
    assert_true(is_timed(XFT_MESSAGE_REDUCE, 2, from, to));
}

/* A non-blocking one, whose wait begins at these times: it is timed if half of its time, since all
 * had begun, was waited for by the rank that ended last. */
static void test_not_blocking(void **state)
{
    static const uint64_t waits_from[] = {15000, 21000};
    (void)state;
    for (size_t w = 0; w < 2; w++) {
        struct ranked ranks[RANKS];
        ranked_start_all(ranks, RANKS, NULL);
        for (uint32_t i = 0; i < RANKS; i++) {
            uint64_t from = AT + 1000 * i, wait = AT + waits_from[w], to = AT + 32000 - 100 * i;
            struct xft_event *event =
                ranked_collective(&ranks[i], XFT_MESSAGE_ALLREDUCE, BYTES, from, from + 100);
            event->stream = REQUEST;
            event->flags = XFT_ASYNC;
            ranked_wait(&ranks[i], wait, to);
            ranked_ended(&ranks[i], REQUEST, from, wait, to);
        }
        struct analyzed a = analyse(ranks, RANKS, NULL);
        const struct xfa_message_row *row = row_of(&a, XFT_MESSAGE_ALLREDUCE);
        assert_int_equal(row->matched, RANKS);
        assert_int_equal(row->timed, w == 0 ? RANKS : 0);
        if (w == 0)
            assert_true(near(row->timed_ns, RANKS * 30000));
        analyzed_free(&a);
    }
}

/* Hosts' clocks that are not known to a tenth of it. */
static void test_clocks(void **state)
{
    static const char *const hosts[] = {"node1", "node1", "node2"};
    static const uint64_t from[] = {0, 0, 0}, to[] = {30000, 30000, 30000};
    struct ranked ranks[RANKS];
    (void)state;
    ranked_start_all(ranks, RANKS, hosts);
    all_call(ranks, XFT_MESSAGE_ALLREDUCE, XFT_RANK_NONE, from, to);
    struct analyzed a = analyse(ranks, RANKS, NULL);
    assert_int_equal(row_of(&a, XFT_MESSAGE_ALLREDUCE)->timed, 0);
    analyzed_free(&a);
}

/* ---- what was possible ----------------------------------------------------------------------- */

/* A profile of two ranks, on node1 and on that host. */
static struct xfp_profile *measured(const char *other)
{
    struct xfp_profile *profile = scenario_profile();
    ranked_network(profile, "node1", other, 2000, 10);
    return profile;
}

struct asked {
    const char *name;  /* of the collective in the profile */
    uint32_t ranks;    /* of it */
    uint64_t smallest; /* bytes; the largest is 20 times that */
    const char *because;
    bool one_size;
};

static void ask(const struct asked *asked, enum xft_message what, uint64_t sent, uint64_t arrives)
{
    static const uint64_t from[] = {0, 0}, to[] = {30000, 30000};
    struct xfp_profile *profile = measured("node1");
    struct ranked ranks[2];
    ranked_start_all(ranks, 2, (const char *const[]){"node1", "node1"});
    for (uint32_t i = 0; i < 2; i++) {
        struct xft_event *event =
            ranked_collective(&ranks[i], what, sent, AT + from[i], AT + to[i]);
        event->width = arrives;
        event->aux =
            xft_message_peers(what == XFT_MESSAGE_BCAST ? 0 : XFT_RANK_NONE, XFT_RANK_NONE);
    }
    ranked_measured(profile, "net/mpi/barrier", 2, 0, 6000);
    ranked_measured(profile, asked->name, asked->ranks, asked->smallest, 4);
    if (asked->one_size)
        xfp_net_of(profile)->collectives[1].point_count = 1;
    struct analyzed a = analyse(ranks, 2, profile);
    const struct xfa_message_row *row = row_of(&a, what);
    const char *because = xfa_unpriced_word(row->unpriced);
    assert_int_equal(row->timed, 2);
    assert_int_equal(row->priced, asked->because ? 0 : 2);
    if (asked->because)
        assert_string_equal(because, asked->because);
    else
        assert_null(because);
    if (!asked->because)
        assert_true(fabs(xfa_message_achievable_gbps(row) - 4) < 1e-9);
    analyzed_free(&a);
    xfp_free(profile);
}

/* By operation, size and ranks; what nobody measured is not known, and why. */
static void test_possible(void **state)
{
    (void)state;
    ask(&(struct asked){"net/mpi/all-reduce", 2, BYTES, NULL, false}, XFT_MESSAGE_ALLREDUCE, BYTES,
        BYTES);
    ask(&(struct asked){"net/mpi/all-reduce", 0, BYTES / 2, NULL, false}, XFT_MESSAGE_ALLREDUCE,
        BYTES, BYTES); /* between two sizes */
    ask(&(struct asked){"net/mpi/all-reduce", 2, BYTES / 40, "other-sizes", true},
        XFT_MESSAGE_ALLREDUCE, BYTES, BYTES);
    ask(&(struct asked){"net/mpi/all-reduce", 2, BYTES / 40, NULL, false}, XFT_MESSAGE_ALLREDUCE,
        BYTES, BYTES); /* beyond them, by the model */
    ask(&(struct asked){"net/mpi/all-reduce", 4, BYTES, "other-ranks", false},
        XFT_MESSAGE_ALLREDUCE, BYTES, BYTES);
    ask(&(struct asked){"net/mpi/all-reduce", 2, BYTES, "not-measured", false},
        XFT_MESSAGE_ALLGATHER, BYTES, 2 * BYTES);
    ask(&(struct asked){"net/nccl/all-reduce", 2, BYTES, "not-measured", false},
        XFT_MESSAGE_ALLREDUCE, BYTES, BYTES);
    ask(&(struct asked){"net/mpi/broadcast", 2, BYTES, NULL, false}, XFT_MESSAGE_BCAST, BYTES, 0);
}

/* Bytes are what a rank gives or gets, the larger of the two; in equal parts. */
static void test_parts(void **state)
{
    const struct asked gather = {"net/mpi/all-gather", 2, 2 * BYTES, NULL, false};
    const struct asked not_equal = {"net/mpi/all-gather", 2, 2 * BYTES, "unequal-parts", false};
    const struct asked scatter = {"net/mpi/reduce-scatter", 2, 2 * BYTES, NULL, false};
    const struct asked uneven = {"net/mpi/reduce-scatter", 2, 2 * BYTES, "unequal-parts", false};
    (void)state;
    ask(&gather, XFT_MESSAGE_ALLGATHER, BYTES, 2 * BYTES);
    ask(&not_equal, XFT_MESSAGE_ALLGATHER, BYTES / 2, 2 * BYTES);
    ask(&scatter, XFT_MESSAGE_REDUCE_SCATTER, 2 * BYTES, BYTES);
    ask(&uneven, XFT_MESSAGE_REDUCE_SCATTER, 2 * BYTES, BYTES / 2);
}

/* Of two functions for the same the faster one says what is possible. */
static void test_two_ways(void **state)
{
    static const double gbps[] = {8, 2};
    (void)state;
    for (size_t w = 0; w < 2; w++) {
        struct xfp_profile *profile = measured("node1");
        struct ranked ranks[2];
        ranked_start_all(ranks, 2, NULL);
        for (uint32_t i = 0; i < 2; i++)
            ranked_collective(&ranks[i], XFT_MESSAGE_REDUCE_SCATTER, BYTES, AT, AT + 30000)->width =
                BYTES / 2;
        ranked_measured(profile, "net/mpi/reduce-scatter", 2, BYTES, 4);
        ranked_measured(profile, "net/mpi/reduce-scatter-block", 2, BYTES, gbps[w]);
        struct analyzed a = analyse(ranks, 2, profile);
        double best = xfa_message_achievable_gbps(row_of(&a, XFT_MESSAGE_REDUCE_SCATTER));
        assert_true(fabs(best - fmax(4, gbps[w])) < 1e-9);
        analyzed_free(&a);
        xfp_free(profile);
    }
}

/* With as many ranks, as many on each of the same hosts. */
static void test_hosts(void **state)
{
    static const char *const others[][2] = {
        {"node1", "node2"}, {"node1", "node1"}, {"node1", "node3"}};
    (void)state;
    for (size_t w = 0; w < 3; w++) {
        struct xfp_profile *profile = measured("node2");
        struct ranked ranks[2];
        ranked_start_all(ranks, 2, others[w]);
        for (uint64_t n = 1; n <= 40; n++)
            for (uint32_t i = 0; i < 2; i++)
                ranked_collective(&ranks[i], XFT_MESSAGE_ALLREDUCE, BYTES, AT * n,
                                  AT * n + (n % 2 ? 1000 : 90000));
        ranked_measured(profile, "net/mpi/all-reduce", 2, BYTES, 4);
        struct analyzed a = analyse(ranks, 2, profile);
        const struct xfa_message_row *row = row_of(&a, XFT_MESSAGE_ALLREDUCE);
        assert_true(row->timed >= 40);
        assert_int_equal(row->priced, w == 0 ? row->timed : 0);
        assert_int_equal(row->unpriced, w == 0 ? XFA_PRICED : XFA_UNPRICED_RANKS);
        char *text = analyzed_report(&a, &xfa_format_text);
        assert_int_equal(strstr(text, "POSSIBLE is not known of 1 row:") != NULL, w > 0);
        free(text);
        analyzed_free(&a);
        xfp_free(profile);
    }
}

/* Two ranks on each of two hosts were measured: all, the two of a host, one of each. */
static struct xfp_profile *measured_in_parts(void)
{
    struct xfp_profile *profile = measured("node2");
    ranked_network(profile, "node1", "node2", 2000, 10);
    ranked_measured(profile, "net/mpi/all-reduce", 4, BYTES, 2);
    ranked_measured(profile, "net/mpi/all-reduce/ranks2-hosts1", 2, BYTES, 4);
    ranked_measured(profile, "net/mpi/all-reduce/ranks2-hosts2", 2, BYTES, 1);
    ranked_measured(profile, "net/mpi/all-reduce/ranks3-hosts1", 3, BYTES, 8);
    return profile;
}

/* Some ranks stand for as many on as many hosts, as many on each; of hosts that were measured. */
static void test_some_of_the_ranks(void **state)
{
    static const struct {
        uint32_t count;
        const char *hosts[4];
        double gbps; /* 0: not known */
    } runs[] = {{2, {"node1", "node1"}, 4},
                {2, {"node2", "node2"}, 4},
                {2, {"node2", "node1"}, 1},
                {4, {"node1", "node1", "node2", "node2"}, 2},
                {4, {"node1", "node1", "node1", "node2"}, 0},
                {3, {"node1", "node1", "node1"}, 8},
                {3, {"node1", "node1", "node2"}, 0},
                {2, {"node3", "node3"}, 0},
                {2, {"node1", "node3"}, 0}};
    (void)state;
    for (size_t w = 0; w < sizeof runs / sizeof *runs; w++) {
        struct xfp_profile *profile = measured_in_parts();
        struct ranked ranks[4];
        ranked_start_all(ranks, runs[w].count, runs[w].hosts);
        for (uint64_t n = 1; n <= 40; n++)
            for (uint32_t i = 0; i < runs[w].count; i++)
                ranked_collective(&ranks[i], XFT_MESSAGE_ALLREDUCE, BYTES, AT * n,
                                  AT * n + (n % 2 ? 1000 : 90000));
        struct analyzed a = analyse(ranks, runs[w].count, profile);
        const struct xfa_message_row *row = row_of(&a, XFT_MESSAGE_ALLREDUCE);
        assert_true(row->timed >= 40);
        assert_int_equal(row->priced, runs[w].gbps > 0 ? row->timed : 0);
        assert_int_equal(row->unpriced, runs[w].gbps > 0 ? XFA_PRICED : XFA_UNPRICED_RANKS);
        if (runs[w].gbps > 0)
            assert_true(fabs(xfa_message_achievable_gbps(row) - runs[w].gbps) < 1e-9);
        analyzed_free(&a);
        xfp_free(profile);
    }
}

/* Device memory given to MPI, by one of the ranks. */
static void test_device_memory(void **state)
{
    static const uint64_t from[] = {0, 0, 0}, to[] = {30000, 30000, 30000};
    struct ranked ranks[RANKS];
    (void)state;
    ranked_start_all(ranks, RANKS, NULL);
    all_call(ranks, XFT_MESSAGE_ALLREDUCE, XFT_RANK_NONE, from, to);
    ranks[1].events[ranks[1].count - 1].src_mem = XFT_MEM_DEVICE;
    struct xfp_profile *profile = measured("node2");
    struct analyzed a = analyse(ranks, RANKS, profile);
    const struct xfa_messages *messages = &a.analysis->messages;
    assert_int_equal(messages->rows.count, 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(xfa_message_row(messages, i)->unpriced, XFA_UNPRICED_MEMORY);
    analyzed_free(&a);
    xfp_free(profile);
}

/* A barrier has no rate: the time of one stands in its place. */
static void test_barrier(void **state)
{
    struct xfp_profile *profile = measured("node1");
    struct ranked ranks[2];
    (void)state;
    ranked_measured(profile, "net/mpi/barrier", 2, 0, 6000);
    ranked_start_all(ranks, 2, NULL);
    for (uint32_t i = 0; i < 2; i++)
        ranked_collective(&ranks[i], XFT_MESSAGE_BARRIER, 0, AT + 4000 * i, AT + 29000);
    struct analyzed a = analyse(ranks, 2, profile);
    const struct xfa_message_row *row = row_of(&a, XFT_MESSAGE_BARRIER);
    assert_true(isnan(xfa_message_gbps(row)));
    assert_true(near(xfa_message_call_ns(row), 25000));
    assert_true(near(xfa_message_achievable_call_ns(row), 6000));
    char *text = analyzed_report(&a, &xfa_format_text);
    assert_non_null(strstr(text, "25.0 us"));
    assert_non_null(strstr(text, "6.00 us"));
    assert_non_null(strstr(text, "a time instead of GB/s: what one call that moves nothing took"));
    free(text);
    analyzed_free(&a);
    xfp_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_since_the_last),
        cmocka_unit_test(test_roots),
        cmocka_unit_test(test_ends_before),
        cmocka_unit_test(test_not_blocking),
        cmocka_unit_test(test_clocks),
        cmocka_unit_test(test_possible),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_device_memory),
        cmocka_unit_test(test_barrier),
        cmocka_unit_test(test_two_ways),
        cmocka_unit_test(test_some_of_the_ranks),
        cmocka_unit_test(test_some_come_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
