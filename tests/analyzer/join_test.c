/* Device times of calls, joined in a window (analyzer/pass/join.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/pass/join.h"
#include "tests/analyzer/lab/resolved.h"

#define MS 1000000ull

static struct xfa_process process;

static void copy_at(struct xfa_join *join, uint32_t id, uint64_t start, uint64_t end,
                    uint64_t bytes)
{
    struct xft_event event = {.kind = XFT_EVENT_DEVICE_COPY,
                              .start_ns = start,
                              .end_ns = end,
                              .bytes = bytes,
                              .correlation = id};
    const struct xfa_event copy = resolved(&process, &event, 0, 1);
    xfa_join_copy(join, &copy);
}

static void push(struct xfa_join *join, const struct xft_event *row)
{
    *xfa_join_room(join) = resolved(&process, row, 0, 1);
    xfa_join_push(join);
}

static void call_at(struct xfa_join *join, uint32_t id, uint64_t start, uint64_t bytes)
{
    struct xft_event event = {
        .kind = XFT_EVENT_TRANSFER, .start_ns = start, .bytes = bytes, .correlation = id};
    push(join, &event);
}

/* The next that leaves is the call of that time, with that time of the device's; 0 = without. */
static void leaves(struct xfa_join *join, bool last, uint64_t start, uint64_t device_ns)
{
    const struct xfa_event *event = xfa_join_pop(join, last);
    assert_non_null(event);
    assert_int_equal(event->start_ns, start);
    if (event->kind == XFT_EVENT_TRANSFER)
        assert_int_equal(event->transfer.device.end_ns - event->transfer.device.start_ns,
                         device_ns);
}

static void stays(struct xfa_join *join)
{
    assert_null(xfa_join_pop(join, false));
}

static void test_by_id(void **state)
{
    struct xfa_join *join = xfa_join_new();
    call_at(join, 7, 99 * MS, 64);
    call_at(join, 8, 100 * MS, 64);
    stays(join);
    copy_at(join, 8, 0, 5, 64);               /* no start: the device did not time it */
    copy_at(join, 8, 101 * MS, 101 * MS, 64); /* no duration */
    copy_at(join, 9, 101 * MS, 102 * MS, 64); /* somebody else's */
    stays(join);
    copy_at(join, 8, 110 * MS, 111 * MS, 64);
    stays(join); /* in the order of the calls */
    copy_at(join, 7, 112 * MS, 122 * MS, 64);
    leaves(join, false, 99 * MS, 10 * MS);
    leaves(join, false, 100 * MS, 1 * MS);
    assert_false(xfa_join_waits(join));
    copy_at(join, 7, 130 * MS, 140 * MS, 64); /* each call takes its own */
    xfa_join_end(join);
    assert_int_equal(xfa_join_unjoined(join)->copies, 2);
    assert_int_equal(xfa_join_unjoined(join)->bytes, 128);
    assert_int_equal(xfa_join_unjoined(join)->late, 0);
    xfa_join_free(join);
}

static void test_without_id(void **state)
{
    struct xfa_join *join = xfa_join_new();
    call_at(join, 0, 1 * MS, 64); /* 0 is no id */
    copy_at(join, 0, 2 * MS, 3 * MS, 64);
    leaves(join, false, 1 * MS, 0);
    xfa_join_free(join);
}

/* What moved nothing waits for no copy: that is another call's, made under the same id. */
static void test_idle(void **state)
{
    struct xfa_join *join = xfa_join_new();
    struct xft_event failed = {.kind = XFT_EVENT_TRANSFER,
                               .flags = XFT_FAILED,
                               .start_ns = 1 * MS,
                               .bytes = 64,
                               .correlation = 7};
    push(join, &failed);
    call_at(join, 7, 2 * MS, 64);
    leaves(join, false, 1 * MS, 0);
    copy_at(join, 7, 3 * MS, 5 * MS, 64);
    leaves(join, false, 2 * MS, 2 * MS);
    xfa_join_free(join);
}

static void test_id_used_again(void **state)
{
    struct xfa_join *join = xfa_join_new();
    copy_at(join, 7, 100 * MS, 110 * MS, 64); /* of a call that was not recorded */
    call_at(join, 7, 499 * MS, 64);
    copy_at(join, 7, 500 * MS, 520 * MS, 64);
    copy_at(join, 7, 500 * MS, 520 * MS, 64); /* reported twice */
    call_at(join, 7, 899 * MS, 64);
    copy_at(join, 7, 900 * MS, 930 * MS, 64);
    leaves(join, false, 499 * MS, 20 * MS);
    leaves(join, false, 899 * MS, 30 * MS);
    xfa_join_end(join);
    assert_int_equal(xfa_join_unjoined(join)->copies, 1);
    xfa_join_free(join);
}

static void test_batches_and_graphs(void **state)
{
    struct xfa_join *join = xfa_join_new();
    call_at(join, 1, 9 * MS, 100);
    copy_at(join, 1, 10 * MS, 11 * MS, 50); /* one call of 100 bytes in two copies */
    stays(join);
    copy_at(join, 1, 13 * MS, 14 * MS, 50);
    leaves(join, false, 9 * MS, 4 * MS);
    call_at(join, 2, 19 * MS, 64); /* a graph: two calls with one id */
    call_at(join, 2, 19 * MS + 1, 1000);
    copy_at(join, 2, 20 * MS, 29 * MS, 1000);
    copy_at(join, 2, 30 * MS, 31 * MS, 64);
    copy_at(join, 3, 40 * MS, 41 * MS, 77);
    leaves(join, false, 19 * MS, 1 * MS);
    leaves(join, false, 19 * MS + 1, 9 * MS);
    xfa_join_end(join);
    assert_int_equal(xfa_join_unjoined(join)->copies, 1);
    assert_int_equal(xfa_join_unjoined(join)->bytes, 77);
    xfa_join_free(join);
}

static void half_at(struct xfa_join *join, enum xft_direction direction, uint64_t start)
{
    struct xft_event event = {.kind = XFT_EVENT_DEVICE_COPY,
                              .start_ns = start * MS,
                              .end_ns = (start + 2) * MS,
                              .bytes = 64,
                              .correlation = 5,
                              .direction = (uint8_t)direction,
                              .src_mem = XFT_MEM_DEVICE,
                              .dst_mem = XFT_MEM_DEVICE};
    const struct xfa_event copy = resolved(&process, &event, 0, 1);
    xfa_join_copy(join, &copy);
}

/* Without peer access: both halves are the call's, and no device copy is left over. */
static void test_halves(void **state)
{
    struct xfa_join *join = xfa_join_new();
    struct xft_event call = {.kind = XFT_EVENT_TRANSFER,
                             .start_ns = 9 * MS,
                             .bytes = 64,
                             .correlation = 5,
                             .direction = XFT_DIR_P2P};
    push(join, &call);
    half_at(join, XFT_DIR_D2H, 10);
    stays(join);
    half_at(join, XFT_DIR_H2D, 13);
    leaves(join, false, 9 * MS, 5 * MS);
    xfa_join_end(join);
    assert_int_equal(xfa_join_unjoined(join)->copies, 0);
    xfa_join_free(join);
}

/* By the converted clock of the device a copy may begin before its call; much earlier ones are not
 * its own. */
static void test_early(void **state)
{
    struct xfa_join *join = xfa_join_new();
    copy_at(join, 4, 10 * MS, 11 * MS, 64);
    copy_at(join, 5, 20 * MS - 900, 20 * MS - 100, 64);
    copy_at(join, 6, 20 * MS - 800, 20 * MS - 200, 30); /* in two pieces, one after the call */
    call_at(join, 4, 20 * MS, 64);
    call_at(join, 5, 20 * MS, 64);
    call_at(join, 6, 20 * MS, 64);
    copy_at(join, 6, 20 * MS + 100, 20 * MS + 300, 34);
    stays(join);
    leaves(join, true, 20 * MS, 0);
    leaves(join, true, 20 * MS, 800);
    leaves(join, true, 20 * MS, 1100);
    assert_null(xfa_join_pop(join, true));
    xfa_join_end(join);
    assert_int_equal(xfa_join_unjoined(join)->copies, 1);
    xfa_join_free(join);
}

/* A call whose copy does not come holds up 15 events behind it, not the run; others are joined. */
static void test_window(void **state)
{
    struct xfa_join *join = xfa_join_within(16);
    struct xft_event event = {.kind = XFT_EVENT_FREE};
    call_at(join, 1, 1, 64);
    for (uint32_t i = 0; i < 14; i++) {
        event.start_ns = 2 + i;
        push(join, &event);
        stays(join);
    }
    call_at(join, 2, 100, 64);
    leaves(join, false, 1, 0); /* the window is full */
    for (uint32_t i = 0; i < 14; i++)
        leaves(join, false, 2 + i, 0);
    stays(join);
    copy_at(join, 1, 200, 300, 64);
    copy_at(join, 2, 200, 300, 64);
    leaves(join, false, 100, 100);
    xfa_join_end(join);
    assert_int_equal(xfa_join_unjoined(join)->late, 1);
    assert_int_equal(xfa_join_unjoined(join)->copies, 1); /* that of the late call */
    xfa_join_free(join);
}

/* Many rounds through a small window, ids that share a place, every third copy missing. */
static void test_many(void **state)
{
    struct xfa_join *join = xfa_join_within(64);
    uint64_t given = 0, joined = 0, calls = 100000;
    for (uint64_t i = 0; i < calls; i++) {
        const struct xfa_event *event;
        call_at(join, (uint32_t)(1 + i % 7 * 65536), 1000 + i * 10, 64);
        if (i % 3)
            copy_at(join, (uint32_t)(1 + i % 7 * 65536), 1000 + i * 10 + 1, 1000 + i * 10 + 4, 64);
        while ((event = xfa_join_pop(join, i + 1 == calls))) {
            assert_int_equal(event->start_ns, 1000 + given++ * 10);
            joined += event->transfer.device.count;
        }
    }
    xfa_join_end(join);
    assert_int_equal(given, calls);
    assert_int_equal(joined + xfa_join_unjoined(join)->copies, calls - (calls + 2) / 3);
    xfa_join_free(join);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_id),         cmocka_unit_test(test_without_id),
        cmocka_unit_test(test_id_used_again), cmocka_unit_test(test_batches_and_graphs),
        cmocka_unit_test(test_halves),        cmocka_unit_test(test_early),
        cmocka_unit_test(test_window),        cmocka_unit_test(test_many),
        cmocka_unit_test(test_idle),
    };
    return cmocka_run_group_tests_name("analyzer-join", tests, NULL, NULL);
}
