/* What a row of a trace is decoded to, kind by kind (analyzer/pass/event.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/resolved.h"

enum { SRC = 101, DST = 102, WIDTH = 103, AUX = 2, COUNT = 105 };

static struct xfa_process process = {.number = 3, .gpus = {5, 6, 7}};

static struct xft_event row_of(enum xft_event_kind kind)
{
    return (struct xft_event){.start_ns = 1000,
                              .end_ns = 1500,
                              .bytes = 64,
                              .src = SRC,
                              .dst = DST,
                              .width = WIDTH,
                              .aux = AUX,
                              .count = COUNT,
                              .device = 1,
                              .kind = (uint8_t)kind};
}

static struct xfa_event of(enum xft_event_kind kind)
{
    const struct xft_event row = row_of(kind);
    return resolved(&process, &row, 9, 10);
}

static void test_all_have(void **state)
{
    struct xft_event row = row_of(XFT_EVENT_PEER);
    (void)state;
    row.device = 2;
    struct xfa_event event = resolved(&process, &row, 9, 10);
    assert_ptr_equal(event.process, &process);
    assert_int_equal(event.start_ns, 1000);
    assert_int_equal(event.end_ns, 1500);
    assert_true(xfa_event_ns(&event) == 500);
    assert_int_equal(event.bytes, 64);
    assert_int_equal(event.lane, 9);
    assert_int_equal(event.tid, 10);
    assert_int_equal(event.gpu, 7);
    assert_null(event.range);
    row.device = XFT_PLACE_HOST;
    assert_int_equal(resolved(&process, &row, 9, 10).gpu, XFT_PLACE_HOST);
    row.end_ns = 999;
    event = resolved(&process, &row, 9, 10);
    assert_true(xfa_event_ns(&event) == 0);
}

static void test_memory(void **state)
{
    static const enum xft_event_kind calls[] = {XFT_EVENT_ALLOC, XFT_EVENT_FREE, XFT_EVENT_REGISTER,
                                                XFT_EVENT_UNREGISTER, XFT_EVENT_SET};
    static const enum xft_event_kind managed[] = {XFT_EVENT_PREFETCH, XFT_EVENT_ADVISE,
                                                  XFT_EVENT_MIGRATION, XFT_EVENT_FAULT};
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        assert_int_equal(of(calls[i]).memory.address, DST);
    assert_int_equal(of(XFT_EVENT_SET).memory.row_bytes, WIDTH);
    for (size_t i = 0; i < sizeof managed / sizeof *managed; i++)
        assert_int_equal(of(managed[i]).managed.address, SRC);
    assert_int_equal(of(XFT_EVENT_MIGRATION).managed.cause, AUX);
    assert_int_equal(of(XFT_EVENT_FAULT).managed.count, COUNT);
}

static void test_work(void **state)
{
    static const enum xft_event_kind kinds[] = {XFT_EVENT_DEVICE_COPY, XFT_EVENT_KERNEL,
                                                XFT_EVENT_MEMSET};
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        assert_int_equal(of(kinds[i]).work.stream, AUX);
    assert_int_equal(of(XFT_EVENT_KERNEL).work.name, SRC);
    assert_int_equal(of(XFT_EVENT_KERNEL).work.threads, DST);
    assert_int_equal(of(XFT_EVENT_LAUNCH).launch.name, SRC);
    assert_int_equal(of(XFT_EVENT_LAUNCH).launch.threads, DST);
    assert_int_equal(of(XFT_EVENT_LAUNCH).launch.arguments, AUX);
    assert_int_equal(of(XFT_EVENT_GRAPH_LAUNCH).launched.copies, COUNT);
}

static void test_order_of_work(void **state)
{
    struct xft_event newer = row_of(XFT_EVENT_SYNC);
    (void)state;
    assert_int_equal(of(XFT_EVENT_SYNC).wait.what, XFT_SYNC_STREAM);
    assert_int_equal(of(XFT_EVENT_QUERY).wait.event, SRC);
    assert_int_equal(of(XFT_EVENT_RECORD).wait.what, XFT_SYNC_EVENT);
    assert_int_equal(of(XFT_EVENT_WAIT).wait.event, SRC);
    newer.aux = XFT_SYNC_CONTEXT + 1; /* of a later version: not known */
    assert_int_equal(resolved(&process, &newer, 9, 10).wait.what, 0);
    assert_int_equal(of(XFT_EVENT_STREAM).made, AUX);
}

static void test_others(void **state)
{
    (void)state;
    assert_int_equal(of(XFT_EVENT_RANGE_BEGIN).nvtx.name, AUX);
    assert_int_equal(of(XFT_EVENT_RANGE_END).nvtx.domain, SRC);
    assert_int_equal(of(XFT_EVENT_RANGE_END).nvtx.id, DST);
    assert_int_equal(of(XFT_EVENT_CONTENT).content.src, SRC);
    assert_int_equal(of(XFT_EVENT_CONTENT).content.dst, DST);
    assert_int_equal(of(XFT_EVENT_CONTENT).content.hash, AUX);
    assert_int_equal(of(XFT_EVENT_CONTENT).content.width, WIDTH);
    assert_int_equal(of(XFT_EVENT_CONTENT).content.ns, COUNT);
    assert_int_equal(of(XFT_EVENT_RECORDS).records, AUX);
    assert_int_equal(of(XFT_EVENT_OVERHEAD).overhead.behind, COUNT);
}

/* What the one before in the same room had is not left there: a transfer waits for its times. */
static void test_transfer(void **state)
{
    struct xft_event row = row_of(XFT_EVENT_TRANSFER);
    const struct xfa_merged merged = {.event = &row};
    struct xfa_event event;
    (void)state;
    memset(&event, 0x55, sizeof event);
    xfa_event_read(&event, &process, &merged);
    assert_int_equal(event.transfer.src, SRC);
    assert_int_equal(event.transfer.dst, DST);
    assert_int_equal(event.transfer.width, WIDTH);
    assert_int_equal(event.transfer.copies, COUNT);
    assert_int_equal(event.transfer.device.count, 0);
    assert_int_equal(event.transfer.device.start_ns, 0);
    assert_null(event.transfer.class);
    assert_null(event.range);
    assert_true(xfa_event_moves(&event));
    row.flags = XFT_CAPTURED;
    xfa_event_read(&event, &process, &merged);
    assert_false(xfa_event_moves(&event));
}

/* Times are without what lies outside of the process's periods. */
static void test_periods(void **state)
{
    struct xfa_period period[] = {{.from_ns = 500, .until_ns = 600},
                                  {.from_ns = 1200, .until_ns = 1400, .out_ns = 600}};
    struct xfa_periods periods = {.all = period, .count = 2};
    struct xfa_process limited = {.periods = &periods};
    const struct xft_event row = row_of(XFT_EVENT_SYNC);
    const struct xfa_event event = resolved(&limited, &row, 0, 1);
    (void)state;
    assert_int_equal(event.start_ns, 600); /* between the two */
    assert_int_equal(event.end_ns, 800);   /* behind the last: 1400, of which 600 are left out */
}

/* A process without its file: the level of the call is not known. */
static void test_messages(void **state)
{
    struct xft_event row = row_of(XFT_EVENT_MESSAGE);
    (void)state;
    row.aux = xft_message_peers(3, XFT_RANK_ANY);
    row.count = xft_message_count(XFT_MESSAGE_RECV, 9);
    row.correlation = (uint32_t)-1;
    struct xfa_event event = resolved(&process, &row, 9, 10);
    assert_int_equal(event.message.src, SRC);
    assert_int_equal(event.message.dst, DST);
    assert_int_equal(event.message.arrives, WIDTH);
    assert_int_equal(event.message.to, 3);
    assert_int_equal(event.message.from, XFT_RANK_ANY);
    assert_int_equal(event.message.communicator, 9);
    assert_int_equal(event.message.what, XFT_MESSAGE_RECV);
    assert_int_equal(event.message.tag, -1);
    assert_int_equal(event.correlation, 0);

    row = row_of(XFT_EVENT_MESSAGE_END);
    event = resolved(&process, &row, 9, 10);
    assert_int_equal(event.message_end.began_ns, AUX);
    assert_int_equal(event.message_end.arrived, WIDTH);
    assert_int_equal(event.message_end.from, SRC - 1);
    row.src = 0;
    assert_int_equal(resolved(&process, &row, 9, 10).message_end.from, XFT_RANK_ANY);

    event = of(XFT_EVENT_COMMUNICATOR);
    assert_int_equal(event.communicator.id, AUX);
    assert_int_equal(event.communicator.number, COUNT);
    assert_int_equal(event.communicator.size, WIDTH);
    assert_int_equal(event.communicator.rank, SRC);
    assert_int_equal(event.communicator.ranks, DST);
}

/* aux of rows is how far they reach; of contiguous pageable memory, page faults. */
static void test_faults(void **state)
{
    struct xft_event row = row_of(XFT_EVENT_TRANSFER);
    (void)state;
    row.count = 1;
    row.aux = xft_faults(7, UINT64_MAX);
    row.direction = XFT_DIR_D2H;
    row.dst_mem = XFT_MEM_PAGEABLE;
    row.width = row.bytes;
    struct xfa_transfer of = resolved(&process, &row, 9, 10).transfer;
    assert_int_equal(of.faults_within, 7);
    assert_int_equal(of.faults_before, UINT32_MAX);
    assert_int_equal(of.reach, row.bytes);
    row.dst_mem = XFT_MEM_PINNED;
    of = resolved(&process, &row, 9, 10).transfer;
    assert_true(of.faults_within == 0 && of.faults_before == 0 && of.reach == row.bytes);
    row.width = row.bytes / 2;
    row.aux = 1000;
    of = resolved(&process, &row, 9, 10).transfer;
    assert_true(of.faults_within == 0 && of.reach == 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),      cmocka_unit_test(test_all_have),
        cmocka_unit_test(test_memory),        cmocka_unit_test(test_work),
        cmocka_unit_test(test_order_of_work), cmocka_unit_test(test_others),
        cmocka_unit_test(test_transfer),      cmocka_unit_test(test_periods),
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests_name("analyzer-event", tests, NULL, NULL);
}
