/* Managed memory that moves on demand: to which op it belongs, and what recording it cost. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/alloc.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/scenario.h"

enum { PIECE = 65536, UP_NS = 100, DOWN_NS = 250, MOST = 512, MEMORY = 0x70000000 };

/* ---- the run --------------------------------------------------------------------------------- */

static struct trace_builder b;
static struct xft_event host[MOST], device[MOST];
static size_t hosts, devices;
static uint64_t faulted = PIECE; /* bytes that a fault brings */
static uint32_t host_faults;     /* in the record of the host's; 0: it does not say */

static struct xft_event *call(enum xft_event_kind kind, uint64_t start, uint64_t end)
{
    host[hosts] = (struct xft_event){
        .kind = (uint8_t)kind, .start_ns = TEST_START_NS + start, .end_ns = TEST_START_NS + end};
    return &host[hosts++];
}

static struct xft_event *happened(enum xft_event_kind kind, uint64_t start, uint64_t end)
{
    device[devices] = (struct xft_event){
        .kind = (uint8_t)kind, .start_ns = TEST_START_NS + start, .end_ns = TEST_START_NS + end};
    return &device[devices++];
}

static void moved(enum xft_direction direction, uint64_t cause, uint64_t start, uint64_t end)
{
    struct xft_event *event = happened(XFT_EVENT_MIGRATION, start, end);
    event->direction = (uint8_t)direction;
    event->aux = cause;
    event->bytes = cause == XFT_CAUSE_COHERENCE ? faulted : PIECE;
}

/* A kernel from 15 to 65 us that waits for pages from 20 to 30, from 40 to 42 and from 64 on; then
 * the host, in whose own time from 70 to 100 us pages come back from 80 to 82. */
static void record(void)
{
    hosts = devices = 0;
    build_start(&b, 1);
    scenario_names(&b);
    call(XFT_EVENT_RECORDS, 1000, 1000)->aux = XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS;
    call(XFT_EVENT_ALLOC, 2000, 9000)->dst_mem = XFT_MEM_MANAGED;
    call(XFT_EVENT_LAUNCH, 10000, 12000)->correlation = 1;
    call(XFT_EVENT_SYNC, 13000, 70000)->aux = XFT_SYNC_CONTEXT;
    call(XFT_EVENT_SYNC, 100000, 101000)->aux = XFT_SYNC_CONTEXT;
    happened(XFT_EVENT_KERNEL, 15000, 65000)->correlation = 1;
    moved(XFT_DIR_H2D, XFT_CAUSE_COHERENCE, 20000, 21000);
    happened(XFT_EVENT_FAULT, 20500, 30000)->count = 5;
    moved(XFT_DIR_H2D, XFT_CAUSE_PREFETCH, 40000, 42000);
    moved(XFT_DIR_H2D, XFT_CAUSE_USER, 50000, 55000); /* some prefetch of the program's */
    moved(XFT_DIR_H2D, XFT_CAUSE_COHERENCE, 64000, 66000);
    moved(XFT_DIR_D2H, XFT_CAUSE_COHERENCE, 80000, 81000);
    moved(XFT_DIR_D2H, XFT_CAUSE_PREFETCH, 80500, 82000);
    struct xft_event *touch = happened(XFT_EVENT_FAULT, 80000, 0);
    touch->device = XFT_PLACE_HOST;
    touch->count = host_faults;
    build_events(&b, 0, 0, host, hosts);
    build_events(&b, 1, 0, device, devices);
    build_close(&b, XFT_STATE_CLOSED, TEST_START_NS + 110000);
}

/* Begins with a kernel that is given managed memory. */
static void record_given(void)
{
    const uint64_t given = MEMORY;
    hosts = devices = 0;
    build_start(&b, 1);
    scenario_names(&b);
    build_arguments(&b, 1, &given, 1);
    call(XFT_EVENT_RECORDS, 1000, 1000)->aux = XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS;
    struct xft_event *alloc = call(XFT_EVENT_ALLOC, 2000, 9000);
    alloc->dst_mem = XFT_MEM_MANAGED;
    alloc->dst = MEMORY;
    alloc->bytes = PIECE;
    struct xft_event *launch = call(XFT_EVENT_LAUNCH, 10000, 12000);
    launch->correlation = launch->aux = 1;
}

/* Two threads: A's kernel is given managed memory, B's call ends last before that comes back, from
 * 80 to 81 us. A makes a call afterwards, or no more: then it has ended. */
static void record_threads(bool goes_on)
{
    record_given();
    call(XFT_EVENT_SYNC, 13000, 70000)->aux = XFT_SYNC_CONTEXT;
    if (goes_on)
        call(XFT_EVENT_SYNC, 100000, 101000)->aux = XFT_SYNC_CONTEXT;
    build_events(&b, 0, 0, host, hosts);
    hosts = 0;
    call(XFT_EVENT_SYNC, 71000, 75000)->aux = XFT_SYNC_CONTEXT;
    call(XFT_EVENT_SYNC, 105000, 106000)->aux = XFT_SYNC_CONTEXT;
    build_events(&b, 1, 0, host, hosts);
    happened(XFT_EVENT_KERNEL, 15000, 65000)->correlation = 1;
    moved(XFT_DIR_D2H, XFT_CAUSE_COHERENCE, 80000, 81000);
    device[devices - 1].src = MEMORY;
    build_events(&b, 2, 0, device, devices);
    build_close(&b, XFT_STATE_CLOSED, TEST_START_NS + 110000);
}

/* Two kernels at a time, of which the first is given managed memory, and calls of another thread by
 * the hundred until that comes. */
static void record_many_calls(void)
{
    record_given();
    struct xft_event *launch = call(XFT_EVENT_LAUNCH, 13000, 14000);
    launch->correlation = 2;
    launch->stream = 7;
    call(XFT_EVENT_SYNC, 14500, 70000)->aux = XFT_SYNC_CONTEXT;
    build_events(&b, 0, 0, host, hosts);
    hosts = 0;
    for (unsigned i = 0; i < 400; i++)
        call(XFT_EVENT_SET, 20000 + 50 * i, 20010 + 50 * i);
    build_events(&b, 1, 0, host, hosts);
    happened(XFT_EVENT_KERNEL, 15000, 65000)->correlation = 1;
    happened(XFT_EVENT_KERNEL, 16000, 66000)->correlation = 2;
    moved(XFT_DIR_H2D, XFT_CAUSE_COHERENCE, 45000, 46000);
    device[devices - 1].src = MEMORY;
    build_events(&b, 2, 0, device, devices);
    build_close(&b, XFT_STATE_CLOSED, TEST_START_NS + 110000);
}

enum { MANY = 1200, MOVE_NS = 1000 };

/* A kernel that waits for so many moves, one behind the other, and runs for `times` as long; the
 * memory that they are of has `of` times the bytes that came. */
static void record_moves(unsigned moves, double times, double of)
{
    static struct xft_event many[MANY + 1];
    record_given();
    host[1].bytes = (uint64_t)(of * moves) * PIECE;
    uint64_t end = 15000 + (uint64_t)(times * moves * MOVE_NS);
    call(XFT_EVENT_SYNC, 13000, end + 5000)->aux = XFT_SYNC_CONTEXT;
    happened(XFT_EVENT_KERNEL, 15000, end)->correlation = 1;
    many[0] = device[0];
    for (unsigned i = 0; i < moves; i++) {
        devices = 0;
        moved(XFT_DIR_H2D, XFT_CAUSE_PREFETCH, 15000 + i * MOVE_NS, 15000 + (i + 1) * MOVE_NS);
        many[i + 1] = device[0];
        many[i + 1].src = MEMORY + (uint64_t)i * PIECE;
    }
    build_events(&b, 0, 0, host, hosts);
    build_events(&b, 1, 0, many, moves + 1);
    build_close(&b, XFT_STATE_CLOSED, TEST_START_NS + end + 10000);
}

/* ---- ops as they are played ------------------------------------------------------------------ */

static struct xfw_op played[MOST];
static size_t plays;

static void take(const struct xfw_change *change, void *state, struct xfw_player *player,
                 struct xfw_op *op)
{
    (void)change, (void)state;
    if (xfw_player_certainty(player) == XFW_LIKELY && plays < MOST)
        played[plays++] = *op;
}

/* The run that was recorded last. */
static struct xfw_whatif *play_recorded(const struct xfp_profile *profile)
{
    static const struct xfw_change_type type = {.name = "watching", .op = take};
    struct analyzed a = analyzed_trace(&b, profile);
    struct xfw_change watching = {.type = &type, .analysis = a.analysis}, *changes[] = {&watching};
    plays = 0;
    struct xfw_whatif *whatif = xfw_whatif_of(a.analysis, changes, 1, NULL, NULL, NULL);
    analyzed_free(&a);
    build_free(&b);
    return whatif;
}

static struct xfw_whatif *play(const struct xfp_profile *profile)
{
    record();
    return play_recorded(profile);
}

/* Those of the kind, in their order. */
static const struct xfw_op *op_of(enum xft_event_kind kind, size_t which)
{
    for (size_t i = 0; i < plays; i++)
        if (played[i].kind == kind && which-- == 0)
            return &played[i];
    return NULL;
}

static bool near(double is, double should)
{
    return fabs(is - should) < 0.5;
}

static void test_whose_it_was(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    struct xfw_whatif *whatif = play(profile);
    const struct xfw_op *kernel = op_of(XFT_EVENT_LAUNCH, 0), *wait = op_of(XFT_EVENT_SYNC, 1);
    assert_true(whatif->known);
    assert_true(kernel && wait);
    assert_int_equal(kernel->demanded.records, 3);
    assert_true(kernel->demanded.bytes == 3 * PIECE);
    assert_true(near(kernel->demanded.stalled_ns, 10000 + 2000 + 1000));
    assert_true(near(kernel->duration_ns, 50000));
    assert_int_equal(kernel->fetched.records, 0);
    assert_int_equal(wait->fetched.records, 2);
    assert_true(wait->fetched.bytes == 2 * PIECE);
    assert_true(near(wait->fetched.stalled_ns, 2000));
    assert_true(near(wait->gap_ns, 30000));
    assert_int_equal(op_of(XFT_EVENT_SYNC, 0)->fetched.records, 0);
    assert_true(near(whatif->replayed_ns, whatif->alone_ns));
    assert_false(whatif->recording_known);
    xfw_whatif_free(whatif);
    xfp_free(profile);
}

/* Pages that faults brought alone are counted, and how long the host's come one after the other. */
static void test_one_by_one(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    (void)state;
    for (int alone = 0; alone < 2; alone++) {
        faulted = alone ? XFW_PAGE_BYTES : PIECE;
        struct xfw_whatif *whatif = play(profile);
        assert_int_equal(op_of(XFT_EVENT_LAUNCH, 0)->demanded.pages,
                         alone ? 2 : XFW_PAGES_TOGETHER);
        assert_int_equal(op_of(XFT_EVENT_SYNC, 1)->fetched.span_us, 2);
        xfw_whatif_free(whatif);
    }
    faulted = PIECE;
    xfp_free(profile);
}

static void test_what_recording_cost(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    measured_scalar(profile, "records/sync/stream/gpu0", 0);
    struct xfw_whatif *whatif = play(profile);
    assert_false(whatif->recording_known); /* but not of this */
    xfw_whatif_free(whatif);
    measured_scalar(profile, "records/migration/h2d/gpu0", UP_NS);
    measured_scalar(profile, "records/migration/d2h/gpu0", DOWN_NS);
    whatif = play(profile);
    const struct xfw_op *kernel = op_of(XFT_EVENT_LAUNCH, 0), *wait = op_of(XFT_EVENT_SYNC, 1);
    assert_true(whatif->recording_known);
    assert_true(near(kernel->duration_ns, 50000 - 3 * UP_NS));
    assert_true(near(kernel->demanded.stalled_ns, 13000 - 3 * UP_NS));
    assert_true(near(wait->gap_ns, 30000 - 2 * DOWN_NS));
    assert_true(near(whatif->replayed_ns - whatif->alone_ns, 3 * UP_NS + 2 * DOWN_NS));
    xfw_whatif_free(whatif);
    xfp_free(profile);
}

/* Of the host's faults: some for each fault, the rest for the bytes, in pieces as the probe's. What
 * faults take by the profile stays. */
static void test_faults_of_the_host(void **state)
{
    const struct xfp_place here = {XFT_MEM_MANAGED, -1, -1}, gpu = {XFT_MEM_MANAGED, 0, -1};
    const double pieces = 2.0 * PIECE / (4.0 * 1024 * 1024 / 12);
    struct xfp_profile *profile = scenario_profile();
    (void)state;
    measured_scalar(profile, "records/migration/d2h/gpu0", DOWN_NS);
    host_faults = 3;
    xfw_whatif_free(play(profile));
    const struct xfw_op *wait = op_of(XFT_EVENT_SYNC, 1);
    assert_int_equal(wait->fetched.faults, 3);
    assert_int_equal(op_of(XFT_EVENT_LAUNCH, 0)->demanded.faults, 0);
    assert_true(near(wait->gap_ns, 30000 - 2 * DOWN_NS * (0.3 * 3 + 0.7 * pieces)));
    /* 128 KiB take 29.9 us of the 30: at most the rest was recording. */
    measured_path(profile, XFP_DEMAND, XFT_DIR_D2H, gpu, here, 29900 * 8);
    xfw_whatif_free(play(profile));
    assert_true(near(op_of(XFT_EVENT_SYNC, 1)->gap_ns, 29900));
    host_faults = 0;
    xfp_free(profile);
}

/* The thread's whose kernel uses it; one that makes no more calls has one of its own then, which
 * others may have waited for. */
static void test_which_thread(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    for (int goes_on = 0; goes_on < 2; goes_on++) {
        record_threads(goes_on);
        xfw_whatif_free(play_recorded(profile));
        const struct xfw_op *there = op_of(XFT_EVENT_MIGRATION, 0);
        assert_true(goes_on ? !there : there != NULL);
        there = goes_on ? op_of(XFT_EVENT_SYNC, 2) : there;
        assert_int_equal(there->thread, 0);
        assert_int_equal(there->fetched.records, 1);
        assert_true(near(there->gap_ns, goes_on ? 30000 : 11000));
        for (size_t i = 0; i < plays; i++)
            assert_true(played[i].thread == 0 || played[i].fetched.records == 0);
    }
    xfp_free(profile);
}

static void test_many_calls_meanwhile(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    record_many_calls();
    xfw_whatif_free(play_recorded(profile));
    assert_int_equal(op_of(XFT_EVENT_LAUNCH, 0)->demanded.records, 1);
    assert_int_equal(op_of(XFT_EVENT_LAUNCH, 1)->demanded.records, 0);
    assert_true(near(op_of(XFT_EVENT_LAUNCH, 0)->link_ns, 1000));
    xfp_free(profile);
}

static void check_moves(unsigned moves, double times, double of, bool completed)
{
    struct xfp_profile *profile = scenario_profile();
    const double seen = (double)moves * MOVE_NS, part = completed ? times : 1;
    record_moves(moves, times, of);
    xfw_whatif_free(play_recorded(profile));
    const struct xfw_moved *demanded = &op_of(XFT_EVENT_LAUNCH, 0)->demanded;
    double records = demanded->records;
    assert_true(fabs(records - part * moves) < 1);
    assert_true((double)demanded->bytes == (completed ? of : 1) * moves * PIECE);
    assert_true(near(demanded->stalled_ns, part * seen));
    assert_true(near(demanded->unseen_ns, (part - 1) * seen));
    xfp_free(profile);
}

/* Records of moves end before the kernel does, whose time all of the memory takes, as it came: the
 * rest is taken to have come, too. Not where it has less or more, where the records are few, or go
 * on to the kernel's end. */
static void test_records_that_end(void **state)
{
    (void)state;
    check_moves(MANY, 4, 4, true);
    check_moves(MANY, 4, 4.5, true);
    check_moves(MANY, 4, 6, false);
    check_moves(MANY, 4, 2, false);
    check_moves(MANY, 4, 1, false);
    check_moves(MANY / 2, 4, 4, false);
    check_moves(MANY, 1.05, 1, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whose_it_was),         cmocka_unit_test(test_one_by_one),
        cmocka_unit_test(test_what_recording_cost),  cmocka_unit_test(test_which_thread),
        cmocka_unit_test(test_many_calls_meanwhile), cmocka_unit_test(test_faults_of_the_host),
        cmocka_unit_test(test_records_that_end),
    };
    return cmocka_run_group_tests_name("what if: managed memory", tests, NULL, NULL);
}
