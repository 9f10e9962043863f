/* Messages of a run: what they took, what they waited for, whom for, and what was achievable. */
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

#define MIB (UINT64_C(1) << 20)

/* most: rows of either kind that are kept; 0: the usual. */
static struct analyzed analyse_within(struct ranked *ranks, uint32_t count,
                                      const struct xfp_profile *profile, size_t most)
{
    struct analyzed a = analyzed_start(profile);
    a.analysis->messages.most = a.analysis->messages.most_folded = most;
    ranked_analyse_all(&a, ranks, count, count);
    return a;
}

static struct analyzed analyse(struct ranked *ranks, uint32_t count,
                               const struct xfp_profile *profile)
{
    return analyse_within(ranks, count, profile, 0);
}

/* NULL: there is none. */
static const struct xfa_message_row *row_of(const struct analyzed *a, enum xft_message what,
                                            uint32_t from, uint32_t to)
{
    const struct xfa_messages *messages = &a->analysis->messages;
    for (size_t i = 0; i < messages->rows.count; i++) {
        const struct xfa_message_row *row = xfa_message_row(messages, i);
        if (row->key.what == what && row->key.from == from && row->key.to == to)
            return row;
    }
    return NULL;
}

static const struct xfa_matched *matched(const struct analyzed *a)
{
    return &a->analysis->matched;
}

static bool near(double a, double b)
{
    return fabs(a - b) < 0.5;
}

/* Calls, bytes, time; a wait for two requests is shared by them. */
static void test_rows(void **state)
{
    struct ranked ranks[2];
    (void)state;
    ranked_start_all(ranks, 2, NULL);
    ranked_send(&ranks[0], 1, 5, 1000, 10000, 12000);
    ranked_send(&ranks[0], 1, 5, 3000, 20000, 21000)->status = 7;
    ranked_isend(&ranks[0], 1, 6, 500, 30000, 0xa);
    ranked_irecv(&ranks[0], 1, 6, 4000, 31000, 0xb);
    ranked_wait(&ranks[0], 40000, 46000);
    ranked_ended(&ranks[0], 0xa, 30000, 40000, 46000);
    ranked_ended(&ranks[0], 0xb, 31000, 40000, 46000)->width = 2500;
    ranked_ended(&ranks[0], 0xb, 31000, 50000, 56000)->width = 2500; /* it has ended before */
    struct analyzed a = analyse(ranks, 2, NULL);
    const struct xfa_message_row *row = row_of(&a, XFT_MESSAGE_SEND, 0, 1);
    assert_int_equal(a.analysis->messages.rows.count, 4);
    assert_int_equal(row->calls, 2);
    assert_int_equal(row->failed, 1);
    assert_int_equal(row->sent, 1000);
    assert_true(near(row->ns, 3000));
    assert_true(row->wait_ns == 0);
    assert_int_equal(row->key.communicator, RANKED_COMMUNICATOR);
    row = row_of(&a, XFT_MESSAGE_RECV, 1, 0);
    assert_int_equal(row->arrived, 2500);
    assert_true(near(row->wait_ns, 3000));
    row = row_of(&a, XFT_MESSAGE_WAIT, XFT_RANK_NONE, XFT_RANK_NONE);
    assert_true(near(row->ns, 6000));
    assert_true(near(a.analysis->messages.ns, 3000 + 200 + 6000));
    assert_int_equal(a.analysis->messages.all_sent, 1500);
    assert_int_equal(matched(&a)->messages, 0);
    analyzed_free(&a);
}

/* More pairs of ranks than rows are kept for: calls lose their ranks, and their site last. */
static void test_folded(void **state)
{
    struct ranked ranks[4];
    (void)state;
    ranked_start_all(ranks, 4, NULL);
    for (unsigned i = 0; i < 3; i++) {
        ranked_send(&ranks[0], 1 + i, 5, 1000, 10000 + 10000 * i, 12000 + 10000 * i);
        ranked_send(&ranks[0], 1 + i, 5, 1000, 50000 + 10000 * i, 52000 + 10000 * i);
    }
    ranked_recv(&ranks[1], 2, 5, 1000, 10000, 12000);
    struct analyzed a = analyse_within(ranks, 4, NULL, 1);
    const struct xfa_messages *messages = &a.analysis->messages;
    assert_int_equal(messages->rows.count, 3);
    assert_int_equal(xfa_message_row(messages, 0)->calls, 2);
    const struct xfa_message_row *folded = xfa_message_row(messages, 1);
    assert_int_equal(folded->key.what, XFT_MESSAGE_SEND);
    assert_int_equal(folded->calls, 4);
    assert_int_equal(folded->sent, 4000);
    assert_int_equal(folded->key.site, xfa_message_row(messages, 0)->key.site);
    assert_int_equal(folded->key.to, XFT_RANK_ANY);
    assert_int_equal(messages->without_ranks, 4);
    assert_int_equal(messages->without_site, 1);
    char *text = analyzed_report(&a, &xfa_format_text);
    assert_non_null(strstr(text, "4 calls are shown without their ranks"));
    assert_non_null(strstr(text, "1 calls are shown without their call site"));
    free(text);
    analyzed_free(&a);
}

/* A late sender, a late receiver, and the link; a second message goes the other way. */
static void test_who_was_late(void **state)
{
    struct ranked ranks[2];
    (void)state;
    ranked_start_all(ranks, 2, NULL);
    ranked_recv(&ranks[1], 0, 5, MIB, 10000, 150000);
    ranked_send(&ranks[0], 1, 5, MIB, 50000, 140000);
    ranked_send(&ranks[1], 0, 5, MIB, 200000, 400000);
    ranked_recv(&ranks[0], 1, 5, MIB, 300000, 400000);
    struct analyzed a = analyse(ranks, 2, NULL);
    const struct xfa_message_row *row = row_of(&a, XFT_MESSAGE_RECV, 0, 1);
    assert_int_equal(matched(&a)->messages, 2);
    assert_int_equal(matched(&a)->alone, 0);
    assert_int_equal(row->divided, 1);
    assert_true(near(row->before_ns, 40000));
    assert_true(near(row->since_ns, 100000));
    assert_int_equal(row->timed_bytes, MIB);
    assert_true(near(row->timed_ns, 100000));
    assert_true(fabs(xfa_message_gbps(row) - (double)MIB / 100000) < 1e-9);
    assert_true(isnan(xfa_message_achievable_gbps(row)));
    row = row_of(&a, XFT_MESSAGE_SEND, 0, 1);
    assert_true(row->before_ns == 0);
    assert_true(near(row->since_ns, 90000));
    row = row_of(&a, XFT_MESSAGE_SEND, 1, 0);
    assert_true(near(row->before_ns, 100000));
    assert_true(near(row->since_ns, 100000));
    analyzed_free(&a);
}

/* A receive that nobody waited for may have ended before: its time is not known. One whose wait is
 * half of it is timed. */
static void test_not_waited_for(void **state)
{
    static const uint64_t waits_from[] = {90000, 60000, 59000};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct ranked ranks[2];
        ranked_start_all(ranks, 2, NULL);
        ranked_send(&ranks[0], 1, 5, MIB, 20000, 30000);
        ranked_irecv(&ranks[1], 0, 5, MIB, 10000, 0xb);
        ranked_wait(&ranks[1], waits_from[i], 100000);
        ranked_ended(&ranks[1], 0xb, 10000, waits_from[i], 100000);
        struct analyzed a = analyse(ranks, 2, NULL);
        const struct xfa_message_row *row = row_of(&a, XFT_MESSAGE_RECV, 0, 1);
        assert_int_equal(row->matched, 1);
        assert_int_equal(row->timed, i > 0);
        assert_true(row->before_ns == 0);
        assert_true(near(row->since_ns, (double)(100000 - waits_from[i])));
        analyzed_free(&a);
    }
}

/* The trace tells of a communicator when its first call is over, which counts all the same; one
 * that it never tells of holds up nothing. */
static void test_first_call(void **state)
{
    (void)state;
    for (int variant = 0; variant < 2; variant++) {
        struct ranked ranks[2];
        ranked_start_all(ranks, 2, NULL);
        ranks[1].events[0].start_ns = ranks[1].events[0].end_ns = 15000;
        ranked_send(&ranks[0], 1, 5, 700, 10000, 11000);
        ranked_send(&ranks[0], 1, 5, 1000, 20000, 21000);
        ranked_irecv(&ranks[1], 0, 5, 1000, 10000, 0xb);
        ranked_wait(&ranks[1], 11000, 13000);
        ranked_ended(&ranks[1], 0xb, 10000, 11000, 13000);
        ranked_recv(&ranks[1], 0, 5, 1000, 20000, 22000);
        if (variant == 1)
            ranked_recv(&ranks[1], 0, 9, 1000, 5000, 6000)->count =
                xft_message_count(XFT_MESSAGE_RECV, 99);
        struct analyzed a = analyse(ranks, 2, NULL);
        const struct xfa_message_row *row = row_of(&a, XFT_MESSAGE_RECV, 0, 1);
        assert_int_equal(matched(&a)->messages, 2);
        assert_int_equal(a.analysis->messages.calls, variant == 0 ? 5 : 6);
        assert_true(near(row->wait_ns, 2000));
        assert_int_equal(row->arrived, 700); /* as its sender says */
        analyzed_free(&a);
    }
}

/* Both sides must have recorded equally many; then the n-th belongs to the n-th, by tag. */
static void test_matching(void **state)
{
    struct ranked ranks[2];
    (void)state;
    ranked_start_all(ranks, 2, NULL);
    for (uint64_t i = 0; i < 3; i++)
        ranked_send(&ranks[0], 1, 5, 1000, 10000 + 10000 * i, 11000 + 10000 * i);
    for (uint64_t i = 0; i < 2; i++)
        ranked_recv(&ranks[1], 0, 5, 1000, 10000 + 10000 * i, 12000 + 10000 * i);
    ranked_send(&ranks[0], 1, 6, 1000, 60000, 61000);
    ranked_send(&ranks[0], 1, 7, 1000, 70000, 71000);
    ranked_recv(&ranks[1], 0, 7, 1000, 80000, 81000); /* in another order */
    ranked_recv(&ranks[1], 0, 6, 1000, 90000, 91000);
    struct analyzed a = analyse(ranks, 2, NULL);
    assert_int_equal(matched(&a)->messages, 2);
    assert_int_equal(matched(&a)->alone, 5);
    analyzed_free(&a);
}

/* A receive from any rank belongs to the rank that its end names; one of any tag, and one whose
 * sender nobody knows, leave open which of the others is whose. */
static void test_any(void **state)
{
    (void)state;
    for (int variant = 0; variant < 4; variant++) {
        struct ranked ranks[2];
        ranked_start_all(ranks, 2, NULL);
        ranked_send(&ranks[0], 1, 5, 1000, 10000, 11000);
        ranked_irecv(&ranks[1], XFT_RANK_ANY, variant == 2 ? -1 : 5, 1000, 10000, 0xb);
        if (variant == 3) { /* posted behind it, and known before */
            ranked_send(&ranks[0], 1, 5, 1000, 12000, 13000);
            ranked_recv(&ranks[1], 0, 5, 1000, 12000, 13000);
        }
        ranked_wait(&ranks[1], 20000, 30000);
        struct xft_event *end = ranked_ended(&ranks[1], 0xb, 10000, 20000, 30000);
        end->src = variant == 1 ? 0 : 1;
        struct analyzed a = analyse(ranks, 2, NULL);
        assert_int_equal(matched(&a)->messages, variant == 0);
        assert_int_equal(a.analysis->messages.not_kept, variant == 1 || variant == 2);
        analyzed_free(&a);
    }
}

/* Who came last, and what the others waited for it. */
static void test_collectives(void **state)
{
    struct ranked ranks[3];
    (void)state;
    ranked_start_all(ranks, 3, NULL);
    for (uint32_t i = 0; i < 3; i++) {
        ranked_collective(&ranks[i], XFT_MESSAGE_BARRIER, 0, 10000 + 10000 * i, 40000);
        ranked_collective(&ranks[i], XFT_MESSAGE_BARRIER, 0, i == 0 ? 90000 : 50000, 95000);
    }
    struct analyzed a = analyse(ranks, 3, NULL);
    const struct xfa_message_row *row =
        row_of(&a, XFT_MESSAGE_BARRIER, XFT_RANK_NONE, XFT_RANK_NONE);
    assert_int_equal(matched(&a)->messages, 2);
    assert_int_equal(row->matched, 6);
    assert_true(near(row->before_ns, 20000 + 10000 + 2 * 40000));
    assert_true(near(row->since_ns, 3 * 10000 + 3 * 5000));
    assert_int_equal(matched(&a)->processes[2].last, 1);
    assert_true(near(matched(&a)->processes[2].others_ns, 30000));
    assert_true(near(matched(&a)->processes[0].others_ns, 80000));
    assert_int_equal(matched(&a)->processes[1].last, 0);
    assert_int_equal(matched(&a)->processes[1].collectives, 2);
    analyzed_free(&a);
}

/* One rank of a communicator is missing: nothing is matched. */
static void test_incomplete_collective(void **state)
{
    struct ranked ranks[3];
    (void)state;
    ranked_start_all(ranks, 3, NULL);
    for (uint32_t i = 0; i < 2; i++)
        ranked_collective(&ranks[i], XFT_MESSAGE_ALLREDUCE, 800, 10000 + 10000 * i, 40000);
    struct analyzed a = analyse(ranks, 3, NULL);
    assert_int_equal(matched(&a)->messages, 0);
    assert_int_equal(matched(&a)->alone, 2);
    analyzed_free(&a);
}

/* Five ranks in a ring; what rank 3 sends and receives takes twice as long, or a little longer. */
static void test_slow_rank(void **state)
{
    (void)state;
    for (uint64_t more = 0; more <= 1000; more += 1000) {
        struct ranked ranks[5];
        ranked_start_all(ranks, 5, NULL);
        for (uint32_t i = 0; i < 5; i++) {
            uint32_t next = (i + 1) % 5;
            uint64_t ns = 10000 + 10 * i + (i == 3 || next == 3 ? 100 + 10 * more : 0);
            for (uint64_t k = 0; k < 3; k++) {
                ranked_send(&ranks[i], next, (int)i, 5000, 50000 * (k + 1), 50000 * (k + 1) + ns);
                ranked_recv(&ranks[next], i, (int)i, 5000, 50000 * (k + 1), 50000 * (k + 1) + ns);
            }
        }
        struct analyzed a = analyse(ranks, 5, NULL);
        for (uint32_t i = 0; i < 5; i++)
            assert_int_equal(matched(&a)->processes[i].stands_out, more && i == 3);
        analyzed_free(&a);
    }
}

/* What the profile gives between these hosts at this size; unknown between others. */
static void test_achievable(void **state)
{
    static const char *const hosts[] = {"node1", "node2", "node3"};
    struct xfp_profile *profile = scenario_profile();
    struct ranked ranks[3];
    (void)state;
    ranked_network(profile, "node1", "node2", 20000, 1);
    ranked_network(profile, "node1", "node2", 2000, 10);
    ranked_start_all(ranks, 3, hosts);
    for (uint32_t to = 1; to < 3; to++)
        for (uint64_t i = 0; i < 20; i++) { /* which sets the clocks to each other */
            uint64_t at = (2 * i + to) * 400000;
            ranked_send(&ranks[0], to, 5, MIB, at, at + 200000);
            ranked_recv(&ranks[to], 0, 5, MIB, at, at + 200000);
            ranked_send(&ranks[0], to, 7, 8, at + 230000, at + 231000);
            ranked_recv(&ranks[to], 0, 7, 8, at + 230000, at + 231000);
            ranked_send(&ranks[to], 0, 6, 8, at + 250000, at + 251000);
            ranked_recv(&ranks[0], to, 6, 8, at + 250000, at + 251000);
        }
    struct analyzed a = analyse(ranks, 3, profile);
    const struct xfa_message_row *row = row_of(&a, XFT_MESSAGE_SEND, 0, 1);
    assert_int_equal(row->timed, 20); /* without those of 8 bytes: the clocks are not so exact */
    assert_int_equal(row->priced, 20);
    assert_true(fabs(row->achievable_ns - 20 * (2000 + (double)MIB / 10)) < 1);
    row = row_of(&a, XFT_MESSAGE_RECV, 0, 2);
    assert_int_equal(row->timed, 20);
    assert_int_equal(row->priced, 0);
    assert_true(isnan(xfa_message_achievable_gbps(row)));
    analyzed_free(&a);
    xfp_free(profile);
}

/* More than are kept: of both sides the same ones. */
static void test_more_than_kept(void **state)
{
    struct ranked ranks[2];
    uint64_t count = XFA_MAX_MESSAGES / 2 + 5000;
    (void)state;
    ranked_start_all(ranks, 2, NULL);
    for (uint64_t i = 0; i < count; i++) {
        ranked_send(&ranks[0], 1, 5, 100, 1000 * (i + 1), 1000 * (i + 1) + 500);
        ranked_recv(&ranks[1], 0, 5, 100, 1000 * (i + 1), 1000 * (i + 1) + 600);
    }
    struct analyzed a = analyse(ranks, 2, NULL);
    assert_true(a.analysis->messages.kept.count < count * 11 / 10);
    assert_int_equal(matched(&a)->alone, 0);
    assert_true(matched(&a)->messages > count * 4 / 10 && matched(&a)->messages < count * 6 / 10);
    assert_int_equal(row_of(&a, XFT_MESSAGE_SEND, 0, 1)->calls, count);
    analyzed_free(&a);
}

static void test_lists(void **state)
{
    static const struct {
        const char *text;
        size_t count;
        uint32_t first, last;
    } lists[] = {
        {"0-3,7,5", 6, 0, 5}, {"12", 1, 12, 12}, {"0-3,", 4, 0, 3}, {"0-9999999", 100, 0, 99}};
    static const char *const wrong[] = {"", "x", "3-1", "1,,2", "4294967295", "1-", "1;2"};
    size_t count;
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        uint32_t *ranks = xfa_ranks_of_text(lists[i].text, strlen(lists[i].text), 100, &count);
        assert_int_equal(count, lists[i].count);
        assert_int_equal(ranks[0], lists[i].first);
        assert_int_equal(ranks[count - 1], lists[i].last);
        free(ranks);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_null(xfa_ranks_of_text(wrong[i], strlen(wrong[i]), 100, &count));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_folded),
        cmocka_unit_test(test_who_was_late),
        cmocka_unit_test(test_not_waited_for),
        cmocka_unit_test(test_first_call),
        cmocka_unit_test(test_matching),
        cmocka_unit_test(test_any),
        cmocka_unit_test(test_collectives),
        cmocka_unit_test(test_incomplete_collective),
        cmocka_unit_test(test_slow_rank),
        cmocka_unit_test(test_achievable),
        cmocka_unit_test(test_more_than_kept),
        cmocka_unit_test(test_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
