/* Schedules of ops made by hand: what waits for what, to the nanosecond. */
#include "analyzer/whatif/schedule/schedule.h"
#include "tests/analyzer/lab/hand_run.h"

static void test_a_stream_is_in_order(void **state)
{
    copy(0, XFW_TO_DEVICE, 100);
    kernel(0, 200)->space_ns = 7;
    copy(0, XFW_TO_HOST, 50);
    add(hand_wait(WAKE));
    assert_true(played() == LATENCY + 100 + 7 + 200 + 50 + WAKE);
}

/* Work that comes when the stream is idle starts behind its submission. */
static void test_an_idle_stream(void **state)
{
    kernel(0, 20);
    add(hand_op(XFW_CALL, XFT_EVENT_ALLOC, 1000));
    kernel(0, 20);
    add(hand_wait(WAKE));
    assert_true(played() == CALL + 1000 + LATENCY + 20 + WAKE);
}

static void test_streams_run_side_by_side(void **state)
{
    copy(0, XFW_TO_DEVICE, 1000);
    kernel(1, 1000);
    copy(2, XFW_TO_HOST, 1000);
    add(hand_wait(WAKE));
    assert_true(played() == 2 * CALL + LATENCY + 1000 + WAKE);
}

/* Copies in one direction have one engine; what is ready earlier goes into its holes. */
static void test_an_engine(void **state)
{
    kernel(0, 1000);
    copy(0, XFW_TO_DEVICE, 100); /* from 1005 on */
    copy(1, XFW_TO_DEVICE, 300); /* submitted later, ready at 25 */
    copy(2, XFW_TO_DEVICE, 900); /* no hole is long enough */
    add(hand_wait(0));
    assert_true(played() == LATENCY + 1000 + 100 + 900);
    kernel(0, 1000);
    copy(0, XFW_TO_DEVICE, 100);
    copy(1, XFW_TO_DEVICE, 300);
    copy(2, XFW_TO_DEVICE, 500); /* behind 325, before 1005 */
    add(hand_wait(0));
    assert_true(played() == LATENCY + 1000 + 100);
}

/* One for both directions: copies take turns, also where each would slow the other. */
static void test_one_engine(void **state)
{
    for (int one = 0; one < 2; one++) {
        copy(0, XFW_TO_DEVICE, 1000)->one_engine = one;
        copy(1, XFW_TO_HOST, 1000)->one_engine = one;
        ops[count - 1].slowdown = one ? 2 : 1;
        copy(2, XFW_TO_DEVICE, 1000)->one_engine = one;
        kernel(3, 1000)->one_engine = one;
        add(hand_wait(0));
        assert_true(played() == LATENCY + (one ? 3 : 2) * 1000);
    }
}

/* What an engine did so long ago that it is not remembered is not done beside something else. */
static void test_an_engine_long_ago(void **state)
{
    enum { COPIES = 200, NS = 1000 };
    for (int i = 0; i < COPIES; i++)
        copy(0, XFW_TO_DEVICE, NS);
    for (int i = 0; i < COPIES; i++)
        copy(1, XFW_TO_DEVICE, NS); /* ready when the first ones have hardly begun */
    add(hand_wait(0));
    assert_true(played() == LATENCY + 2 * COPIES * NS);
}

static void test_events(void **state)
{
    kernel(0, 500);
    on_event(XFW_RECORD, 0, 0);
    kernel(0, 500);
    on_event(XFW_WAIT, 1, 0);
    copy(1, XFW_TO_HOST, 100);
    struct xfw_op wait = hand_op(XFW_CALL, XFT_EVENT_SYNC, 0);
    wait.awaits = XFW_AWAITS_STREAM;
    wait.stream = 1;
    wait.stream_kind = XFW_NONBLOCKING;
    wait.wake_ns = WAKE;
    add(wait);
    assert_true(played() == LATENCY + 500 + 100 + WAKE);
}

static void test_the_legacy_stream(void **state)
{
    kernel(1, 500)->stream_kind = XFW_BLOCKING;
    kernel(0, 100)->stream_kind = XFW_LEGACY;
    kernel(2, 100)->stream_kind = XFW_BLOCKING;
    kernel(3, 2000); /* non-blocking: beside all of them */
    add(hand_wait(0));
    assert_true(played() == 3 * CALL + LATENCY + 2000);
    kernel(1, 500)->stream_kind = XFW_BLOCKING;
    kernel(0, 100)->stream_kind = XFW_LEGACY;
    kernel(2, 100)->stream_kind = XFW_BLOCKING;
    add(hand_wait(0));
    assert_true(played() == LATENCY + 500 + 100 + 100);
}

/* Who waits for a blocking stream does not wait for what the default stream was given meanwhile;
 * who waits for that waits for all of them. */
static void test_waits_and_the_legacy_stream(void **state)
{
    for (int legacy = 0; legacy < 2; legacy++) {
        kernel(0, 100)->stream_kind = XFW_BLOCKING;
        kernel(1, 1000)->stream_kind = XFW_LEGACY;
        struct xfw_op *wait = add(hand_wait(WAKE));
        wait->awaits = XFW_AWAITS_STREAM;
        wait->stream = legacy ? 1 : 0;
        wait->stream_kind = legacy ? XFW_LEGACY : XFW_BLOCKING;
        assert_true(played() == LATENCY + 100 + (legacy ? 1000 : 0) + WAKE);
    }
}

static void test_a_full_stream(void **state)
{
    const double ns = 2.0 * XFW_OUTSTANDING * CALL;
    for (unsigned i = 0; i < XFW_OUTSTANDING + 1; i++)
        kernel(0, ns);
    assert_true(played() == LATENCY + ns + CALL); /* the last had to wait for the first */
}

static void test_asking(void **state)
{
    kernel(0, 1000);
    on_event(XFW_RECORD, 0, 0);
    struct xfw_op query = hand_op(XFW_QUERY, XFT_EVENT_QUERY, 1);
    query.awaits = XFW_AWAITS_EVENT;
    query.event = 0;
    query.gap_ns = 1500; /* it asked for so long as recorded */
    query.wake_ns = 2;
    add(query);
    assert_true(played() == LATENCY + 1000 + 2 + 1);
}

/* Of a polled wait the queries are known, too: work that is done at another time is found done by
 * one that is as far from the others as they were. As recorded the first of them is made 100 behind
 * the call before, two others 400 and 800 behind it, and the one that found out 1800. */
static double polled(double kernel_ns)
{
    kernel(0, kernel_ns);
    on_event(XFW_RECORD, 0, 0);
    struct xfw_op query = hand_op(XFW_QUERY, XFT_EVENT_QUERY, 1);
    query.awaits = XFW_AWAITS_EVENT;
    query.event = 0;
    query.gap_ns = 100;
    query.polled_ns = 1800;
    query.since_ns = 1000;
    query.queries = 3;
    query.wake_ns = 7;
    add(query);
    return played() - 1;
}

static void test_polling(void **state)
{
    const double first = polled(0); /* done before */
    const struct {
        double done, found;
    } waits[] = {{0, 0},       {1, 400},     {400, 400},   {401, 800},  {801, 1800},
                 {1800, 1800}, {1900, 1800}, {1901, 2800}, {2801, 3800}};
    (void)state;
    assert_true(first > 100); /* behind the thread's own time */
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        assert_true(polled(first + waits[i].done - LATENCY) == first + waits[i].found);
}

/* One that found the work done at once asks again as often as it takes, from then on. */
static double asked_at_once(double kernel_ns, double since_ns)
{
    kernel(0, kernel_ns);
    on_event(XFW_RECORD, 0, 0);
    struct xfw_op query = hand_op(XFW_QUERY, XFT_EVENT_QUERY, 1);
    query.awaits = XFW_AWAITS_EVENT;
    query.event = 0;
    query.gap_ns = 100;
    query.at_once = true;
    query.since_ns = since_ns;
    add(query);
    return played() - 1;
}

static void test_asking_at_once(void **state)
{
    const double first = asked_at_once(0, 0); /* done before */
    (void)state;
    assert_true(first > 100);
    assert_true(asked_at_once(0, 3000) == first);
    assert_true(asked_at_once(first + 500 - LATENCY, 0) == first + 500);
    assert_true(asked_at_once(first + 500 - LATENCY, 3000) == first + 3000);
    assert_true(asked_at_once(first + 3500 - LATENCY, 3000) == first + 6000);
}

/* Kernels that read the host's memory in place have the link one after the other, and what copies
 * leave of it. */
static void test_kernels_share_the_link(void **state)
{
    const double copy_begins = 40000, copy_ns = 50000;
    for (uint32_t i = 0; i < 2; i++)
        add(reading_kernel(i));
    add(hand_wait(0));
    assert_true(played() == LATENCY + REACH + 2 * LINK + AFTER);
    copy(2, XFW_TO_DEVICE, copy_ns)->latency_ns = copy_begins;
    add(reading_kernel(0));
    add(hand_wait(0));
    assert_true(played() == CALL + LATENCY + REACH + copy_ns + LINK + AFTER);
    copy(2, XFW_TO_HOST, copy_ns)->latency_ns = copy_begins;
    add(reading_kernel(0));
    add(hand_wait(0));
    assert_true(played() == CALL + LATENCY + REACH + LINK + AFTER); /* the other way */
}

/* Behind another stream's work, too, an engine begins after the space that is usual there; what
 * only this work waited for, longer, is not the engine's. */
static void test_space_behind_an_engine(void **state)
{
    for (int longer = 0; longer < 2; longer++) {
        copy(0, XFW_TO_DEVICE, 20000);
        copy(1, XFW_TO_DEVICE, 20000)->space_ns = longer ? 9000 : 400;
        add(hand_wait(0));
        assert_true(played() == LATENCY + 20000 + (longer ? XFW_QUEUED_NS : 400) + 20000);
    }
}

/* n copies that queue take Lo + n k G + (n - 1) g, in one stream and in several; one that comes
 * just before the end of the one before hides as much; behind other work of the stream none does.
 */
static void test_copies_that_queue_hide_their_lead(void **state)
{
    const double lead = 30;
    for (int streams = 1; streams <= 2; streams++) {
        for (uint32_t i = 0; i < 3; i++)
            copy(streams == 1 ? 0 : i, XFW_TO_DEVICE, 100)->lead_ns = lead;
        add(hand_wait(0));
        assert_true(played() == LATENCY + 100 + 2 * (100 - lead));
    }
    copy(0, XFW_TO_DEVICE, 100)->lead_ns = lead; /* ends at LATENCY + 100 */
    struct xfw_op *late = copy(1, XFW_TO_DEVICE, 100);
    late->lead_ns = lead;
    late->gap_ns = 100 - CALL - 20; /* it is ready 20 before that */
    add(hand_wait(0));
    assert_true(played() == LATENCY + 100 - 20 + 100);
    copy(0, XFW_TO_DEVICE, 100)->lead_ns = lead;
    kernel(0, 1000);
    copy(0, XFW_TO_DEVICE, 100)->lead_ns = lead;
    add(hand_wait(0));
    assert_true(played() == LATENCY + 100 + 1000 + 100);
    copy(0, XFW_TO_DEVICE, 100)->lead_ns = lead;
    on_event(XFW_RECORD, 0, 1);
    copy(1, XFW_TO_DEVICE, 10)->lead_ns = 5;
    on_event(XFW_WAIT, 1, 1); /* over at once: it waits for the first copy alone */
    copy(1, XFW_TO_DEVICE, 100)->lead_ns = lead;
    add(hand_wait(0));
    assert_true(played() == LATENCY + 100 + 100);
}

/* A gap that is hardly too short is taken: what is behind would be late by as little. */
static void test_a_gap_hardly_too_short(void **state)
{
    for (int fits = 0; fits < 2; fits++) {
        copy(0, XFW_TO_DEVICE, 1000);
        copy(1, XFW_TO_DEVICE, 1000)->latency_ns = fits ? 1960 : 1900; /* from 2 * CALL on */
        copy(2, XFW_TO_DEVICE, 1000);
        copy(2, XFW_TO_HOST, 10);
        add(hand_op(XFW_CALL, XFT_EVENT_SYNC, 0))->awaits = XFW_AWAITS_STREAM;
        ops[count - 1].stream = 2;
        double gap_ends = CALL + (fits ? 1960 : 1900);
        assert_true(played() == (fits ? LATENCY + 2000 + 10 : gap_ends + 2000 + 10));
    }
}

enum { SERVED = 50000, PAGES = 8000 };

/* A kernel that waits for so long until the driver has served its faults. */
static void faulting_kernel(uint32_t stream)
{
    struct xfw_op *op = kernel(stream, SERVED + AFTER);
    op->demanded.bytes = 1;
    op->demanded.stalled_ns = SERVED;
    op->link_ns = PAGES;
}

/* The driver serves one kernel's faults after the other's; copies have the link until pages move.
 */
static void test_the_driver_serves_faults(void **state)
{
    const double late = 10000;
    for (uint32_t i = 0; i < 2; i++)
        faulting_kernel(i);
    add(hand_wait(0));
    assert_true(played() == LATENCY + 2 * SERVED + AFTER);
    faulting_kernel(0);
    copy(1, XFW_TO_DEVICE, SERVED - PAGES - 2 * CALL);
    add(hand_op(XFW_CALL, XFT_EVENT_SYNC, 0))->awaits = XFW_AWAITS_STREAM;
    ops[count - 1].stream = 1;
    assert_true(played() == CALL + LATENCY + SERVED - PAGES - 2 * CALL);
    copy(1, XFW_TO_DEVICE, SERVED + late);
    faulting_kernel(0);
    add(hand_wait(0));
    assert_true(played() == LATENCY + SERVED + late + PAGES + AFTER);
    copy(1, XFW_TO_HOST, SERVED + late);
    faulting_kernel(0);
    add(hand_wait(0));
    assert_true(played() == CALL + LATENCY + SERVED + AFTER);
}

static void prefetch(uint32_t stream, enum xfw_engine engine)
{
    struct xfw_op *op = copy(stream, engine, SERVED);
    op->what = XFW_PREFETCH;
    op->link_ns = PAGES;
}

/* So it does with prefetches in that direction. */
static void test_the_driver_prefetches(void **state)
{
    prefetch(0, XFW_TO_DEVICE);
    faulting_kernel(1);
    prefetch(2, XFW_TO_DEVICE);
    prefetch(3, XFW_TO_HOST);
    add(hand_wait(0));
    assert_true(played() == LATENCY + 3 * SERVED);
    copy(0, XFW_TO_HOST, SERVED);
    prefetch(1, XFW_TO_HOST);
    add(hand_wait(0));
    assert_true(played() == LATENCY + SERVED + PAGES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stream_is_in_order),
        cmocka_unit_test(test_an_idle_stream),
        cmocka_unit_test(test_streams_run_side_by_side),
        cmocka_unit_test(test_an_engine),
        cmocka_unit_test(test_one_engine),
        cmocka_unit_test(test_an_engine_long_ago),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_the_legacy_stream),
        cmocka_unit_test(test_waits_and_the_legacy_stream),
        cmocka_unit_test(test_a_full_stream),
        cmocka_unit_test(test_asking),
        cmocka_unit_test(test_polling),
        cmocka_unit_test(test_asking_at_once),
        cmocka_unit_test(test_kernels_share_the_link),
        cmocka_unit_test(test_the_driver_serves_faults),
        cmocka_unit_test(test_the_driver_prefetches),
        cmocka_unit_test(test_space_behind_an_engine),
        cmocka_unit_test(test_copies_that_queue_hide_their_lead),
        cmocka_unit_test(test_a_gap_hardly_too_short),
    };
    return cmocka_run_group_tests_name("schedules", tests, NULL, NULL);
}
