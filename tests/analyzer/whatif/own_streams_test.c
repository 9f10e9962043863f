/* Work of the default stream that gets streams of its own, played by hand: what it waits for then,
 * and what apply makes of blocking copies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/whatif/changes/changes.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/lab/hand_ops.h"
#include "tests/analyzer/traces/play.h"

enum { SITE = 10, LATENCY = 5, TAKES = 600, PAIRS = 1000 };
#define BYTES ((uint64_t)1 << 20)

/* Of a trace with a class of blocking uploads of page-locked memory. */
static struct analyzed made(unsigned memory)
{
    struct trace_builder b;
    struct play play;
    play_start(&play, &b, 1);
    play_site(&play, SITE, "up", 1);
    play_copy(&play, SITE, XFT_DIR_H2D, memory, BYTES, 100000);
    play_end(&play, XFT_STATE_CLOSED);
    struct analyzed a = analyzed_trace(&b, NULL);
    build_free(&b);
    return a;
}

/* A thread's blocking copy in the default stream, of memory of its own. */
static struct xfw_op copy(uint32_t thread, bool up)
{
    struct xfw_op op = hand_work(XFW_COPY, 0, 0, LATENCY, TAKES);
    op.thread = thread;
    op.tid = 1 + (int32_t)thread;
    op.stream_kind = XFW_LEGACY;
    op.engine = up ? XFW_TO_DEVICE : XFW_TO_HOST;
    op.awaits = XFW_AWAITS_ITSELF;
    op.class = 0;
    op.bytes = BYTES;
    op.src = (2 * thread + 1) * BYTES;
    op.dst = (2 * thread + 2) * BYTES;
    return op;
}

/* When thread 0 has done them all. */
static double ended(struct xfw_op *ops, size_t count, struct xfw_change *change,
                    enum xfw_certainty certainty)
{
    double end = hand_play(ops, count, change, certainty);
    xfw_change_free(change);
    return end;
}

/* What overtook other work stays behind its own thread's: here a kernel of 300. */
static void test_overtook(void **state)
{
    (void)state;
    struct analyzed a = made(XFT_MEM_PINNED);
    struct xfw_op ops[] = {copy(1, true), hand_work(XFW_KERNEL, 0, 10, 5, 300), copy(0, false)};
    ops[1].stream_kind = XFW_LEGACY;
    ops[2].overtook = true;
    ops[2].latency_ns = 5;
    assert_true(ended(ops, 3, xfw_change_own_streams(a.analysis, true), XFW_LIKELY) >
                10 + 300 + TAKES);
    analyzed_free(&a);
}

/* Thread 1 has done 100 copies when thread 0 begins, which has none of its memory. Each fills or
 * sends another place of the host. */
static double behind_many(const struct analyzed *a, bool up, uint64_t src, double after_ns)
{
    static struct xfw_op ops[101];
    for (uint32_t i = 0; i <= 100; i++) {
        ops[i] = copy(i < 100, up);
        ops[i].exclusive = false;
        if (i < 100)
            *(up ? &ops[i].src : &ops[i].dst) += (1 + i) * 8 * BYTES;
        ops[i].latency_ns = 0;
        ops[i].space_ns = 0;
    }
    ops[100].src = src ? src : ops[100].src;
    ops[100].gap_ns = after_ns;
    return ended(ops, 101, xfw_change_own_streams(a->analysis, true), XFW_LIKELY);
}

/* Many places of the host are no order, nor is what both only read. */
static void test_memory(void **state)
{
    (void)state;
    struct analyzed a = made(XFT_MEM_PINNED);
    const uint64_t sent = copy(1, true).src + 100 * 8 * BYTES;
    for (int up = 0; up < 2; up++) {
        double alone = behind_many(&a, up, 0, 0);
        assert_true(alone >= TAKES && alone < 2 * TAKES);
    }
    /* Called while the last one sends the same, or fetches it. */
    const double last = 99.5 * TAKES;
    assert_true(behind_many(&a, true, sent, last) < last + 1.25 * TAKES);
    assert_true(behind_many(&a, false, copy(1, false).src, last) < last + 1.25 * TAKES);
    analyzed_free(&a);
}

/* What another thread filled before, or fills now, is. */
static void test_order(void **state)
{
    (void)state;
    struct analyzed a = made(XFT_MEM_PINNED);
    struct xfw_op ops[2];
    for (int fills = 0; fills < 2; fills++) {
        ops[0] = copy(1, true);
        ops[1] = copy(0, fills);
        *(fills ? &ops[1].dst : &ops[1].src) = ops[0].dst;
        ops[1].gap_ns = 1;
        ops[0].exclusive = ops[1].exclusive = false;
        assert_true(ended(ops, 2, xfw_change_own_streams(a.analysis, true), XFW_LIKELY) >=
                    2 * TAKES);
    }
    analyzed_free(&a);
}

static double by_apply(const struct analyzed *a, struct xfw_op *ops, enum xfw_certainty certainty)
{
    return ended(ops, (size_t)2 * PAIRS, xfw_change_streams_by_apply(a->analysis, false),
                 certainty);
}

/* Each thread copies, and waits for the device: once each has a stream, it waits for that; not
 * where it uses other streams as well. */
static void test_device_wait(void **state)
{
    (void)state;
    struct analyzed a = made(XFT_MEM_PINNED);
    struct xfw_op other = copy(0, true), wait = hand_wait(0);
    other.stream = 1;
    other.stream_kind = XFW_NONBLOCKING;
    other.bytes = other.duration_ns = 1;
    struct xfw_op ops[] = {copy(0, true), copy(1, false), wait, other};
    ops[0].awaits = ops[1].awaits = XFW_AWAITS_NOTHING;
    ops[1].duration_ns = 3 * TAKES;
    double alone = ended(ops, 3, xfw_change_own_streams(a.analysis, true), XFW_LIKELY);
    assert_true(alone < 1.5 * TAKES);
    assert_true(ended(ops, 3, xfw_change_own_streams(a.analysis, true), XFW_LOW) > 3 * TAKES);
    struct xfw_op mixed[] = {ops[3], ops[0], ops[1], wait};
    assert_true(ended(mixed, 4, xfw_change_own_streams(a.analysis, true), XFW_LIKELY) > 3 * TAKES);
    analyzed_free(&a);
}

/* Up and down by turns: at the same time, but for the trials (16 copies a period, five as asked).
 */
static void test_by_apply(void **state)
{
    (void)state;
    struct analyzed a = made(XFT_MEM_PINNED), pageable = made(XFT_MEM_PAGEABLE);
    static struct xfw_op ops[2 * PAIRS];
    for (uint32_t i = 0; i < 2 * PAIRS; i++)
        ops[i] = copy(i % 2, i % 2 == 0);
    double asked = ended(ops, (size_t)2 * PAIRS, NULL, XFW_LIKELY);
    double likely = by_apply(&a, ops, XFW_LIKELY);
    assert_true(asked > 1.9 * PAIRS * TAKES);
    assert_true(likely > 0.5 * asked && likely < 0.6 * asked);
    assert_true(by_apply(&a, ops, XFW_LOW) == asked);
    assert_true(by_apply(&pageable, ops, XFW_LIKELY) == asked);
    for (uint32_t i = 0; i < 2 * PAIRS; i++)
        ops[i].bytes = BYTES - 1;
    assert_true(by_apply(&a, ops, XFW_LIKELY) == asked);
    for (uint32_t i = 0; i < 2 * PAIRS; i++)
        ops[i] = copy(0, i % 2 == 0); /* one thread */
    assert_true(by_apply(&a, ops, XFW_LIKELY) == ended(ops, (size_t)2 * PAIRS, NULL, XFW_LIKELY));
    analyzed_free(&a);
    analyzed_free(&pageable);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overtook),    cmocka_unit_test(test_memory),
        cmocka_unit_test(test_order),       cmocka_unit_test(test_by_apply),
        cmocka_unit_test(test_device_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
