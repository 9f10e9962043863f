/* Messages of NCCL: who came last, and what kernels reach once all of them have begun. */
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

enum { RANKS = 3, ROUNDS = 10 };

#define US UINT64_C(1000)
#define BYTES UINT64_C(50000000) /* of an all-reduce, */
#define OWN_NS UINT64_C(1000000) /* which takes so long: 50 GB/s */
#define EVERY_NS (20 * OWN_NS)

/* Of `there` ranks the traces are at hand. */
static struct analyzed analyse_some(struct ranked *ranks, uint32_t count, uint32_t there,
                                    const struct xfp_profile *profile)
{
    struct analyzed a = analyzed_start(profile);
    ranked_analyse_all(&a, ranks, count, there);
    return a;
}

static struct analyzed analyse(struct ranked *ranks, uint32_t count)
{
    return analyse_some(ranks, count, count, NULL);
}

static const struct xfa_message_row *row_of(const struct analyzed *a, enum xft_message what)
{
    const struct xfa_messages *messages = &a->analysis->messages;
    for (size_t i = 0; i < messages->rows.count; i++)
        if (xfa_message_row(messages, i)->key.what == what)
            return xfa_message_row(messages, i);
    abort();
}

static const struct xfa_matched *matched(const struct analyzed *a)
{
    return &a->analysis->matched;
}

static bool near(double a, double b)
{
    return fabs(a - b) < 1;
}

/* ---- calls and kernels ----------------------------------------------------------------------- */

static void nccl_call_of(struct ranked *rank, unsigned what, uint64_t bytes, uint32_t correlation,
                         uint64_t at)
{
    struct xft_event *call = ranked_collective(rank, what, bytes, at, at + 100);
    call->call = CALL_NCCL;
    call->correlation = correlation;
}

static void nccl_call(struct ranked *rank, unsigned what, uint32_t correlation, uint64_t at)
{
    nccl_call_of(rank, what, 50000, correlation, at);
}

static void nccl_kernel(struct ranked *rank, uint32_t correlation, uint64_t begin, uint64_t end)
{
    ranked_event(rank, (struct xft_event){.kind = XFT_EVENT_KERNEL, .correlation = correlation},
                 begin, end);
}

static void nccl_send(struct ranked *rank, uint32_t to, uint32_t correlation, uint64_t at)
{
    struct xft_event *call = ranked_send(rank, to, 0, BYTES, at, at + 100);
    call->call = CALL_NCCL;
    call->flags = XFT_ASYNC;
    call->correlation = correlation;
}

static void nccl_recv(struct ranked *rank, uint32_t from, uint32_t correlation, uint64_t at)
{
    struct xft_event *call = ranked_recv(rank, from, 0, BYTES, at, at + 100);
    call->call = CALL_NCCL;
    call->flags = XFT_ASYNC;
    call->correlation = correlation;
}

/* All-reduces, before each of which the last rank is late by that. */
static void reduce(struct ranked *ranks, uint32_t count, uint64_t late_ns, uint64_t own_ns)
{
    for (uint32_t r = 0; r < count; r++)
        for (uint32_t i = 1; i <= ROUNDS; i++) {
            uint64_t at = EVERY_NS * i, last = at + late_ns + 10 * US;
            nccl_call_of(&ranks[r], XFT_MESSAGE_ALLREDUCE, BYTES, i, at);
            nccl_kernel(&ranks[r], i, r + 1 == count ? last : at + 10 * US, last + own_ns);
        }
}

/* ---- what one call took, and who was late ---------------------------------------------------- */

/* NCCL's call returns at once; what its kernel took is known where the call alone has it. */
static void test_nccl(void **state)
{
    struct ranked ranks[1];
    (void)state;
    ranked_start_all(ranks, 1, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        struct xft_event *call = ranked_collective(&ranks[0], XFT_MESSAGE_ALLREDUCE, 50000,
                                                   10000 * (i + 1), 10000 * (i + 1) + 500);
        call->call = CALL_NCCL;
        call->correlation = 7 + i;
        ranked_event(&ranks[0], (struct xft_event){.kind = XFT_EVENT_KERNEL, .correlation = 7 + i},
                     11000 + 10000 * i, 16000 + 10000 * i);
    }
    struct xft_event *other = ranked_collective(&ranks[0], XFT_MESSAGE_BCAST, 50000, 20100, 20200);
    other->call = CALL_NCCL;
    other->correlation = 8;
    struct analyzed a = analyse(ranks, 1);
    const struct xfa_message_row *row = row_of(&a, XFT_MESSAGE_ALLREDUCE);
    assert_int_equal(row->calls, 2);
    assert_int_equal(row->kernel_bytes, 50000);
    assert_true(near(row->kernel_ns, 5000));
    assert_true(fabs(xfa_message_gbps(row) - 10) < 1e-9);
    assert_int_equal(matched(&a)->alone, 0);
    analyzed_free(&a);
}

/* Kernels of NCCL wait for the last of them: two that meet, two calls of a group with one kernel,
 * and a broadcast, in which nobody needs all others. */
static void test_nccl_late(void **state)
{
    struct ranked ranks[RANKS];
    (void)state;
    ranked_start_all(ranks, RANKS, NULL);
    for (uint64_t r = 0; r < RANKS; r++) {
        for (uint32_t i = 1; i <= 2; i++) {
            nccl_call(&ranks[r], XFT_MESSAGE_ALLREDUCE, i, 10000 * i + r);
            nccl_kernel(&ranks[r], i, 10000 * i + 1000 * (r + 1), 10000 * i + 5000);
        }
        nccl_call(&ranks[r], XFT_MESSAGE_ALLREDUCE, 3, 30000);
        nccl_call(&ranks[r], XFT_MESSAGE_ALLREDUCE, 3, 30200);
        nccl_kernel(&ranks[r], 3, r == 0 ? 33000 : 31000, 35000);
        nccl_call(&ranks[r], XFT_MESSAGE_BCAST, 4, 40000);
        nccl_kernel(&ranks[r], 4, r == 1 ? 43000 : 41000, 45000);
    }
    struct analyzed a = analyse(ranks, RANKS);
    const struct xfa_message_process_sum *sums = matched(&a)->processes;
    assert_int_equal(matched(&a)->meetings, 5);
    for (size_t r = 0; r < RANKS; r++)
        assert_int_equal(sums[r].collectives, 3);
    assert_int_equal(sums[0].last, 1);
    assert_true(near(sums[0].others_ns, 4000));
    assert_int_equal(sums[1].last, 0);
    assert_int_equal(sums[2].last, 2);
    assert_true(near(sums[2].others_ns, 6000));
    analyzed_free(&a);
}

/* ---- without the wait ------------------------------------------------------------------------ */

/* The first call of a communicator is in no row's kernels: it begins before the trace has it. */
static void test_without_wait(void **state)
{
    (void)state;
    for (uint64_t late_ns = 0; late_ns <= 4 * OWN_NS; late_ns += 2 * OWN_NS) {
        struct ranked ranks[RANKS];
        ranked_start_all(ranks, RANKS, NULL);
        reduce(ranks, RANKS, late_ns, OWN_NS);
        struct analyzed a = analyse(ranks, RANKS);
        const struct xfa_message_row *row = row_of(&a, XFT_MESSAGE_ALLREDUCE);
        double waited = (double)(RANKS - 1) * ROUNDS * (double)late_ns;
        assert_int_equal(row->divided, RANKS * ROUNDS);
        assert_int_equal(row->timed, RANKS * ROUNDS);
        assert_true(near(row->before_ns, waited));
        assert_true(near(row->since_ns, RANKS * ROUNDS * (double)OWN_NS));
        assert_true(fabs(xfa_message_gbps(row) - 50) < 0.01);
        double whole = RANKS * ROUNDS * (double)OWN_NS + waited;
        assert_true(fabs(xfa_message_kernels_gbps(row) - RANKS * ROUNDS * (double)BYTES / whole) <
                    0.01);
        analyzed_free(&a);
    }
}

/* One rank's trace is missing: as far as is known nobody waited. */
static void test_some_ranks(void **state)
{
    struct ranked ranks[RANKS];
    (void)state;
    ranked_start_all(ranks, RANKS, NULL);
    reduce(ranks, RANKS, 3 * OWN_NS, OWN_NS);
    struct analyzed a = analyse_some(ranks, RANKS, RANKS - 1, NULL);
    const struct xfa_message_row *row = row_of(&a, XFT_MESSAGE_ALLREDUCE);
    assert_int_equal(row->divided + row->timed, 0);
    assert_true(fabs(xfa_message_gbps(row) - 12.5) < 0.01);
    assert_true(xfa_message_kernels_gbps(row) == xfa_message_gbps(row));
    analyzed_free(&a);
}

/* What is left is shorter than ten times what the devices' clocks may be off: the wait is known,
 * and what was reached without it is not. */
static void test_short(void **state)
{
    (void)state;
    for (uint64_t own_ns = 20 * US; own_ns <= 60 * US; own_ns += 40 * US) {
        struct ranked ranks[2];
        ranked_start_all(ranks, 2, NULL);
        reduce(ranks, 2, OWN_NS, own_ns);
        struct analyzed a = analyse(ranks, 2);
        const struct xfa_message_row *row = row_of(&a, XFT_MESSAGE_ALLREDUCE);
        assert_int_equal(row->divided, 2 * ROUNDS);
        assert_true(near(row->before_ns, ROUNDS * (double)OWN_NS));
        assert_int_equal(row->timed, own_ns > 20 * US ? 2 * ROUNDS : 0);
        assert_int_equal(xfa_message_gbps(row) > xfa_message_kernels_gbps(row), own_ns > 20 * US);
        analyzed_free(&a);
    }
}

/* Calls of a group have one kernel, whose time and bytes count once; where they are of different
 * rows it is of none. */
static void test_groups(void **state)
{
    (void)state;
    for (unsigned second = 0; second < 2; second++) {
        struct ranked ranks[2];
        ranked_start_all(ranks, 2, NULL);
        for (uint32_t r = 0; r < 2; r++)
            for (uint32_t i = 1; i <= ROUNDS; i++) {
                uint64_t at = EVERY_NS * i;
                nccl_call_of(&ranks[r], XFT_MESSAGE_ALLREDUCE, BYTES, i, at);
                nccl_call_of(&ranks[r], second ? XFT_MESSAGE_ALLGATHER : XFT_MESSAGE_ALLREDUCE,
                             BYTES, i, at + 200);
                nccl_kernel(&ranks[r], i, at + (r ? 4 : 1) * OWN_NS, at + 6 * OWN_NS);
            }
        struct analyzed a = analyse(ranks, 2);
        const struct xfa_message_row *row = row_of(&a, XFT_MESSAGE_ALLREDUCE);
        assert_int_equal(matched(&a)->meetings, 2 * ROUNDS);
        assert_int_equal(row->divided, second ? 0 : 2 * ROUNDS);
        assert_int_equal(row->timed, second ? 0 : 2 * ROUNDS);
        assert_true(near(row->before_ns, second ? 0 : ROUNDS * 3 * (double)OWN_NS));
        assert_true(second ? isnan(xfa_message_gbps(row))
                           : fabs(xfa_message_gbps(row) - 50) < 0.01);
        analyzed_free(&a);
    }
}

/* ---- messages -------------------------------------------------------------------------------- */

/* A send and its receive, whose kernels begin and end so. */
static struct analyzed exchange(uint64_t send, uint64_t sent, uint64_t recv, uint64_t received)
{
    struct ranked ranks[2];
    ranked_start_all(ranks, 2, NULL);
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        uint64_t at = EVERY_NS * i;
        nccl_send(&ranks[0], 1, i, at);
        nccl_recv(&ranks[1], 0, i, at);
        nccl_kernel(&ranks[0], i, at + send, at + sent);
        nccl_kernel(&ranks[1], i, at + recv, at + received);
    }
    return analyse(ranks, 2);
}

/* took 0: that is not known. */
static void expect(struct analyzed a, double sender_waits, double receiver_waits, double took)
{
    const struct xfa_message_row *send = row_of(&a, XFT_MESSAGE_SEND);
    const struct xfa_message_row *recv = row_of(&a, XFT_MESSAGE_RECV);
    assert_true(near(send->before_ns, ROUNDS * sender_waits));
    assert_true(near(recv->before_ns, ROUNDS * receiver_waits));
    assert_int_equal(send->timed, took > 0 ? ROUNDS : 0);
    assert_int_equal(recv->timed, took > 0 ? ROUNDS : 0);
    if (took > 0) {
        assert_true(fabs(xfa_message_gbps(send) - (double)BYTES / took) < 0.01);
        assert_true(xfa_message_gbps(recv) == xfa_message_gbps(send));
    }
    assert_int_equal(recv->arrived, ROUNDS * BYTES);
    assert_int_equal(matched(&a)->processes[0].collectives, 0);
    analyzed_free(&a);
}

/* The sender is late, and done before the receiver is; it comes a little earlier. The receiver is
 * late: what was sent by then is not known, nor where the send had put all of it into buffers when
 * the receive began, and waited for nothing. */
static void test_messages(void **state)
{
    const double own = (double)OWN_NS;
    (void)state;
    expect(exchange(5 * OWN_NS, 7 * OWN_NS, 2 * OWN_NS, 7 * OWN_NS), 0, 3 * own, 2 * own);
    expect(exchange(5 * OWN_NS, 6 * OWN_NS, 2 * OWN_NS, 7 * OWN_NS), 0, 3 * own, 2 * own);
    expect(exchange(OWN_NS, 3 * OWN_NS, OWN_NS + OWN_NS / 10, 3 * OWN_NS), own / 10, 0, 1.9 * own);
    expect(exchange(OWN_NS, 4 * OWN_NS, 3 * OWN_NS, 4 * OWN_NS), 2 * own, 0, 0);
    expect(exchange(OWN_NS, 2 * OWN_NS, 3 * OWN_NS, 5 * OWN_NS), 0, 0, 0);
}

/* Messages of which the receive begins so long after the send; every other one takes `slow` times
 * as long as the rest, the last few are later by five times what one takes, and all in buffers. */
static struct analyzed receivers_late(uint64_t late_ns, uint64_t slow, uint32_t much_later)
{
    struct ranked ranks[2];
    ranked_start_all(ranks, 2, NULL);
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        bool later = i > ROUNDS - much_later;
        uint64_t at = EVERY_NS * i, recv = at + OWN_NS + (later ? 5 * OWN_NS : late_ns);
        uint64_t took = later ? OWN_NS / 20 : (i % 2 ? 1 : slow) * OWN_NS;
        nccl_send(&ranks[0], 1, i, at);
        nccl_recv(&ranks[1], 0, i, at);
        nccl_kernel(&ranks[0], i, at + OWN_NS, recv + (later ? 0 : took));
        nccl_kernel(&ranks[1], i, recv, recv + took);
    }
    return analyse(ranks, 2);
}

/* Which of them have a rate is not decided by what they take: with the same lateness slow ones
 * count as fast ones do, or none does. Much later ones, of which it is not known what they took,
 * leave the others their rate. */
static void test_not_the_slow_ones(void **state)
{
    const double own = (double)OWN_NS, mixed = (own + 4 * own) / 2;
    static const enum xft_message both[] = {XFT_MESSAGE_SEND, XFT_MESSAGE_RECV};
    (void)state;
    for (uint32_t much_later = 0; much_later <= 4; much_later += 4)
        for (uint64_t part = 3; part <= 5; part += 2) { /* off by 13 %, by 8 % */
            struct analyzed a = receivers_late(OWN_NS / part, 4, much_later);
            for (size_t i = 0; i < 2; i++) {
                const struct xfa_message_row *row = row_of(&a, both[i]);
                assert_int_equal(row->timed, part == 3 ? 0 : ROUNDS - much_later);
                assert_true(near(row->timed_ns, (double)row->timed * mixed));
            }
            analyzed_free(&a);
        }
}

/* ---- groups of sends and receives ------------------------------------------------------------ */

/* Each of the ranks gives BYTES to each other one, and gets as much, in one group, which takes
 * `own_ns` from when the last one's kernel begins; the first rank's begins `early_ns` before. */
static void exchange_all(struct ranked *ranks, uint32_t count, uint64_t early_ns, uint64_t own_ns)
{
    for (uint32_t r = 0; r < count; r++)
        for (uint32_t i = 1; i <= ROUNDS; i++) {
            uint64_t at = EVERY_NS * i, last = at + 5 * OWN_NS;
            for (uint32_t other = 0; other < count; other++) {
                if (other == r)
                    continue;
                nccl_send(&ranks[r], other, i, at);
                nccl_recv(&ranks[r], other, i, at);
            }
            nccl_kernel(&ranks[r], i, r ? last : last - early_ns, last + own_ns);
        }
}

static const struct xfa_message_row *row_between(const struct analyzed *a, enum xft_message what,
                                                 uint32_t from, uint32_t to)
{
    const struct xfa_messages *messages = &a->analysis->messages;
    for (size_t i = 0; i < messages->rows.count; i++) {
        const struct xfa_message_row *row = xfa_message_row(messages, i);
        if (row->key.what == what && row->key.from == from && row->key.to == to)
            return row;
    }
    abort();
}

/* What both give goes at the same time: each has the whole time of the kernel. */
static void test_exchange(void **state)
{
    static const uint64_t early[] = {0, OWN_NS / 20, 2 * OWN_NS};
    const double own = (double)OWN_NS;
    (void)state;
    for (size_t e = 0; e < 3; e++) {
        struct ranked ranks[2];
        ranked_start_all(ranks, 2, NULL);
        exchange_all(ranks, 2, early[e], OWN_NS);
        struct analyzed a = analyse(ranks, 2);
        const struct xfa_message_row *gives = row_between(&a, XFT_MESSAGE_SEND, 0, 1);
        const struct xfa_message_row *gets = row_between(&a, XFT_MESSAGE_RECV, 1, 0);
        const struct xfa_message_row *rows[] = {gives, gets};
        double before = (double)early[e];
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(rows[i]->divided, ROUNDS);
            assert_true(near(rows[i]->before_ns, ROUNDS * before));
            assert_true(near(rows[i]->since_ns, ROUNDS * own));
            assert_int_equal(rows[i]->kernel_bytes, ROUNDS * BYTES);
            assert_true(near(rows[i]->kernel_ns, ROUNDS * (own + before)));
            assert_int_equal(rows[i]->timed, e < 2 ? ROUNDS : 0); /* some may have been there */
            assert_true(e == 2 || near(rows[i]->timed_ns, ROUNDS * own));
        }
        assert_true(fabs(xfa_message_gbps(gives) - (e < 2 ? 50 : 50.0 / 3)) < 1e-6);
        assert_true(row_between(&a, XFT_MESSAGE_SEND, 1, 0)->before_ns == 0);
        analyzed_free(&a);
    }
}

/* Of several peers each row has the rate at which its rank gives, or gets, in all. */
static void test_all_to_all(void **state)
{
    struct ranked ranks[RANKS];
    (void)state;
    ranked_start_all(ranks, RANKS, NULL);
    exchange_all(ranks, RANKS, 0, OWN_NS);
    struct analyzed a = analyse(ranks, RANKS);
    for (uint32_t from = 0; from < RANKS; from++)
        for (uint32_t to = 0; to < RANKS; to++) {
            if (from == to)
                continue;
            const struct xfa_message_row *row = row_between(&a, XFT_MESSAGE_RECV, from, to);
            assert_int_equal(row->timed, ROUNDS);
            assert_int_equal(row->timed_bytes, ROUNDS * BYTES);
            assert_true(fabs(xfa_message_gbps(row) - 100) < 1e-6);
            assert_int_equal(row->unpriced, XFA_UNPRICED_GROUP);
        }
    analyzed_free(&a);
}

/* Where not all ranks' traces are there, by the kernel's whole time; of a group with something else
 * in it nothing is known. */
static void test_part_of_groups(void **state)
{
    (void)state;
    for (int mixed = 0; mixed < 2; mixed++) {
        struct ranked ranks[2];
        ranked_start_all(ranks, 2, NULL);
        exchange_all(ranks, 2, OWN_NS, OWN_NS);
        for (uint32_t i = 1; i <= ROUNDS && mixed; i++)
            nccl_call(&ranks[0], XFT_MESSAGE_ALLREDUCE, i, EVERY_NS * i);
        struct analyzed a = analyse_some(ranks, 2, 1, NULL);
        const struct xfa_message_row *row = row_between(&a, XFT_MESSAGE_SEND, 0, 1);
        assert_int_equal(row->timed, 0);
        assert_int_equal(row->divided, 0);
        assert_true(mixed ? isnan(xfa_message_gbps(row)) : fabs(xfa_message_gbps(row) - 25) < 1e-6);
        analyzed_free(&a);
    }
}

/* ---- achievable ------------------------------------------------------------------------------ */

/* Short messages of MPI both ways, which set the clocks of the first two ranks to each other. */
static void set_clocks(struct ranked *ranks)
{
    for (uint64_t i = 1; i <= ROUNDS; i++)
        for (uint32_t way = 0; way < 2; way++) {
            uint64_t at = EVERY_NS * i + (10 + way) * OWN_NS;
            ranked_send(&ranks[way], 1 - way, 5, 8, at, at + US);
            ranked_recv(&ranks[1 - way], way, 5, 8, at, at + US);
        }
}

/* What the profile's NCCL took with as many ranks on the same hosts; not with both on one, with one
 * more, or where others were measured with them. */
static void test_achievable(void **state)
{
    static const char *const same[] = {"node1", "node2"}, *const one[] = {"node1", "node1"};
    (void)state;
    for (uint32_t way = 0; way < 4; way++) {
        struct xfp_profile *profile = scenario_profile();
        struct ranked ranks[RANKS];
        uint32_t count = way == 2 ? 3 : 2;
        ranked_network(profile, "node1", "node2", 2000, 10);
        if (way == 3)
            ranked_network(profile, "node3", "node4", 2000, 10);
        ranked_measured(profile, "net/nccl/all-gather", 0, BYTES / 10, 400);
        ranked_measured(profile, "net/nccl/all-reduce", 0, BYTES / 10, 80);
        ranked_start_all(ranks, count, way % 3 == 0 ? same : way == 1 ? one : NULL);
        reduce(ranks, count, 2 * OWN_NS, OWN_NS);
        set_clocks(ranks);
        struct analyzed a = analyse_some(ranks, count, count, profile);
        const struct xfa_message_row *row = row_of(&a, XFT_MESSAGE_ALLREDUCE);
        assert_int_equal(row->timed, count * ROUNDS);
        assert_int_equal(row->priced, way == 0 ? row->timed : 0);
        if (way == 0)
            assert_true(fabs(xfa_message_achievable_gbps(row) - 80) < 1);
        analyzed_free(&a);
        xfp_free(profile);
    }
}

/* An exchange of two is what the profile has of sends and receives. */
static void test_achievable_exchange(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    struct ranked ranks[2];
    (void)state;
    ranked_network(profile, "node1", "node1", 2000, 10);
    ranked_measured(profile, "net/nccl/send-recv", 2, BYTES / 10, 80);
    ranked_start_all(ranks, 2, NULL);
    exchange_all(ranks, 2, 0, OWN_NS);
    struct analyzed a = analyse_some(ranks, 2, 2, profile);
    const struct xfa_message_row *row = row_between(&a, XFT_MESSAGE_SEND, 0, 1);
    assert_int_equal(row->priced, ROUNDS);
    assert_true(fabs(xfa_message_achievable_gbps(row) - 80) < 1e-6);
    analyzed_free(&a);
    xfp_free(profile);
}

/* Two of four ranks that were measured, of which the profile has such pairs. */
static void test_achievable_of_some(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    struct ranked ranks[2];
    (void)state;
    ranked_network(profile, "node1", "node1", 2000, 10);
    ranked_network(profile, "node1", "node1", 2000, 10);
    ranked_measured(profile, "net/nccl/all-reduce", 4, BYTES / 10, 20);
    ranked_measured(profile, "net/nccl/all-reduce/ranks2-hosts1", 2, BYTES / 10, 60);
    ranked_measured(profile, "net/nccl/send-recv/ranks2-hosts1", 2, BYTES / 10, 80);
    ranked_start_all(ranks, 2, NULL);
    exchange_all(ranks, 2, 0, OWN_NS);
    for (uint32_t r = 0; r < 2; r++)
        for (uint32_t i = 1; i <= ROUNDS; i++) {
            uint64_t at = EVERY_NS * i + 10 * OWN_NS;
            nccl_call_of(&ranks[r], XFT_MESSAGE_ALLREDUCE, BYTES, ROUNDS + i, at);
            nccl_kernel(&ranks[r], ROUNDS + i, at + 10 * US, at + 10 * US + OWN_NS);
        }
    struct analyzed a = analyse_some(ranks, 2, 2, profile);
    const struct xfa_message_row *sent = row_between(&a, XFT_MESSAGE_SEND, 0, 1);
    assert_true(fabs(xfa_message_achievable_gbps(sent) - 80) < 1e-6);
    assert_true(fabs(xfa_message_achievable_gbps(row_of(&a, XFT_MESSAGE_ALLREDUCE)) - 60) < 1e-6);
    analyzed_free(&a);
    xfp_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nccl),
        cmocka_unit_test(test_nccl_late),
        cmocka_unit_test(test_without_wait),
        cmocka_unit_test(test_some_ranks),
        cmocka_unit_test(test_short),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_achievable_of_some),
        cmocka_unit_test(test_not_the_slow_ones),
        cmocka_unit_test(test_achievable),
        cmocka_unit_test(test_exchange),
        cmocka_unit_test(test_all_to_all),
        cmocka_unit_test(test_part_of_groups),
        cmocka_unit_test(test_achievable_exchange),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
