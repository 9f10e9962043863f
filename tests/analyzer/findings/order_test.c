/* serial-transfer-and-compute and one-direction-at-a-time: runs written down by hand, and what they
 * would save. Copies and kernels take 100 us each on the device. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/play.h"

enum { NS = 100000, CALL_NS = 1000, BYTES = 200000, SITE_UP = 20, SITE_DOWN, PARTS = 4 };
#define STREAM 0x5000u
#define DEVICE 0x700000000000u
#define HOST 0x7f0000000000u

struct world {
    struct play play;
    struct trace_builder b;
    uint64_t idle_at; /* the device: of one stream */
    unsigned arguments;
};

static void start(struct world *t)
{
    *t = (struct world){.idle_at = 0};
    play_start(&t->play, &t->b, 50);
    play_site(&t->play, SITE_UP, "bring", 30);
    play_site(&t->play, SITE_DOWN, "fetch", 40);
    play_event(&t->play,
               (struct xft_event){.kind = XFT_EVENT_RECORDS,
                                  .aux = XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS,
                                  .device = -1},
               0);
    play_event(&t->play,
               (struct xft_event){.kind = XFT_EVENT_STREAM,
                                  .stream = STREAM,
                                  .flags = XFT_STREAM_KNOWN,
                                  .aux = XFT_STREAM_NONBLOCKING},
               CALL_NS);
    play_event(&t->play,
               (struct xft_event){.kind = XFT_EVENT_ALLOC,
                                  .dst = DEVICE,
                                  .dst_mem = XFT_MEM_DEVICE,
                                  .bytes = 100 * BYTES},
               CALL_NS);
}

/* In the stream: when what it was given before is done. */
static void run_on_device(struct world *t, struct xft_event *call, enum xft_event_kind kind)
{
    call->stream = STREAM;
    call->flags |= XFT_STREAM_KNOWN;
    call->correlation = ++t->play.correlation;
    struct xft_event *ran = play_device_part(&t->play, call, call->bytes, NS);
    ran->kind = (uint8_t)kind;
    if (ran->start_ns < t->idle_at)
        ran->start_ns = t->idle_at;
    ran->end_ns = t->idle_at = ran->start_ns + NS;
}

static void copy(struct world *t, enum xft_direction direction, uint64_t host, uint64_t device)
{
    bool up = direction == XFT_DIR_H2D;
    struct xft_event event =
        test_transfer(CALL_MEMCPY_ASYNC, direction, XFT_MEM_PINNED, BYTES, 0, 0);
    event.stack = up ? SITE_UP : SITE_DOWN;
    event.flags = XFT_ASYNC;
    event.src = up ? host : device;
    event.dst = up ? device : host;
    run_on_device(t, play_event(&t->play, event, CALL_NS), XFT_EVENT_DEVICE_COPY);
}

static void kernel(struct world *t, uint64_t pointer)
{
    build_arguments(&t->b, ++t->arguments, &pointer, 1);
    struct xft_event event = {.kind = XFT_EVENT_LAUNCH, .aux = t->arguments};
    run_on_device(t, play_event(&t->play, event, CALL_NS), XFT_EVENT_KERNEL);
}

static void wait(struct world *t)
{
    struct xft_event event = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT};
    uint64_t until = t->idle_at > t->play.now ? t->idle_at : t->play.now;
    play_event(&t->play, event, until + CALL_NS - t->play.now);
}

static struct analyzed weighed(struct world *t)
{
    play_end(&t->play, XFT_STATE_CLOSED);
    struct analyzed a = analyzed_trace(&t->b, NULL);
    xfa_findings_weigh(a.findings, a.analysis);
    assert_true(a.findings->whatif->known);
    assert_true(a.findings->whatif->error < 1e-6);
    return a;
}

static void finish(struct world *t, struct analyzed *a)
{
    analyzed_free(a);
    build_free(&t->b);
}

static bool about(double ns, double expected)
{
    return fabs(ns - expected) < 2;
}

/* Findings of the two kinds; others may have found something else. */
static size_t of_order(const struct analyzed *a)
{
    size_t count = 0;
    for (size_t i = 0; i < a->findings->count; i++)
        count += a->findings->items[i].id == XFA_FINDING_SERIAL ||
                 a->findings->items[i].id == XFA_FINDING_ONE_WAY;
    return count;
}

static void test_parts(void **state)
{
    struct world t;
    start(&t);
    for (unsigned i = 0; i < PARTS; i++) {
        copy(&t, XFT_DIR_H2D, HOST + i * BYTES, DEVICE + i * BYTES);
        kernel(&t, DEVICE + i * BYTES);
        copy(&t, XFT_DIR_D2H, HOST + i * BYTES, DEVICE + i * BYTES);
    }
    wait(&t);
    struct analyzed a = weighed(&t);
    const struct xfa_finding *first = analyzed_finding(&a, XFA_FINDING_SERIAL, NULL);
    const struct xfa_finding *other = analyzed_finding(&a, XFA_FINDING_ONE_WAY, NULL);
    assert_int_equal(of_order(&a), 2); /* of four numbers of streams the best */
    assert_non_null(first);
    assert_non_null(other);
    assert_int_equal(first->remedy.streams, 3); /* more save no more */
    /* The last wait is over when the work is, and not a call later. */
    assert_true(about(first->saving.likely, (3 * PARTS - (PARTS + 2)) * NS + CALL_NS));
    assert_true(first->saving.low <= first->saving.likely);
    assert_true(first->saving.high >= first->saving.likely);
    assert_int_equal(first->order, 1);
    assert_int_equal(first->site_count, 2);
    assert_int_equal(first->transfers, 2 * PARTS);
    assert_true(isnan(first->lost_ns));
    assert_non_null(first->assumed);
    assert_true(about(other->saving.likely, (3 * PARTS - (2 * PARTS + 1)) * NS));
    assert_int_equal(other->order, 0); /* both at once cannot be made */
    char *report = analyzed_report(&a, &xfa_format_text);
    assert_non_null(strstr(report, "keep 3 parts under way (rounds;"));
    assert_non_null(strstr(report, "one of 3 streams by turns"));
    free(report);
    report = analyzed_report(&a, &xfa_format_json);
    assert_non_null(strstr(report, "\"streams\": 3"));
    free(report);
    finish(&t, &a);
}

/* What the host sends has been fetched into the same memory: it seems to make its rounds' input of
 * results, and the report says so. */
static void test_rounds_in_order(void **state)
{
    for (int fetched = 0; fetched < 2; fetched++) {
        struct world t;
        start(&t);
        for (unsigned round = 0; round < 2; round++) {
            for (unsigned i = 0; i < PARTS; i++) {
                uint64_t sent = HOST + (fetched ? 0 : PARTS * BYTES) + i * BYTES;
                copy(&t, XFT_DIR_H2D, sent, DEVICE + i * BYTES);
                kernel(&t, DEVICE + i * BYTES);
                copy(&t, XFT_DIR_D2H, HOST + i * BYTES, DEVICE + i * BYTES);
            }
            wait(&t);
        }
        struct analyzed a = weighed(&t);
        const struct xfa_finding *finding = analyzed_finding(&a, XFA_FINDING_SERIAL, NULL);
        assert_non_null(finding);
        assert_int_equal(finding->remedy.kind, XFA_REMEDY_OVERLAP);
        assert_int_equal(finding->note.in_order, fetched);
        char *report = analyzed_report(&a, &xfa_format_json);
        assert_int_equal(strstr(report, "so rounds stay in order") != NULL, fetched);
        free(report);
        finish(&t, &a);
    }
}

static void test_directions(void **state)
{
    struct world t;
    start(&t);
    for (unsigned i = 0; i < PARTS; i++) {
        copy(&t, XFT_DIR_H2D, HOST, DEVICE);
        copy(&t, XFT_DIR_D2H, HOST + BYTES, DEVICE + BYTES);
        wait(&t);
    }
    struct analyzed a = weighed(&t);
    const struct xfa_finding *finding = analyzed_finding(&a, XFA_FINDING_ONE_WAY, NULL);
    assert_int_equal(of_order(&a), 1);
    assert_non_null(finding);
    /* The second of each pair begins when it has been submitted; how long that takes was not seen,
     * 3000 ns stand in. The first began 500 ns behind its call. */
    double each = NS + 500 - (CALL_NS + 100 + 3000);
    assert_true(about(finding->saving.likely, PARTS * each));
    finish(&t, &a);
}

/* Pageable memory, each copy of it waited for: page-locked it can be copied beside kernels and
 * copies the other way. What page-locking saves by itself is no matter of streams. */
static void blocking(struct world *t, enum xft_direction direction, uint64_t host, uint64_t device)
{
    enum { LARGE = 20000000, TOOK = 900000, ON_DEVICE = 880000 };
    bool up = direction == XFT_DIR_H2D;
    struct xft_event event = test_transfer(CALL_MEMCPY, direction, XFT_MEM_PAGEABLE, LARGE, 0, 0);
    uint64_t waited = t->idle_at > t->play.now ? t->idle_at - t->play.now : 0;
    event.stack = up ? SITE_UP : SITE_DOWN;
    event.stream = STREAM;
    event.flags = XFT_STREAM_KNOWN;
    event.src = up ? host : device;
    event.dst = up ? device : host;
    struct xft_event *call = play_event(&t->play, event, waited + TOOK);
    call->correlation = ++t->play.correlation;
    struct xft_event *ran = play_device_part(&t->play, call, LARGE, 0);
    ran->start_ns = call->end_ns - ON_DEVICE - 1000;
    ran->end_ns = t->idle_at = call->end_ns - 1000;
}

static struct analyzed sweeps(struct world *t, struct xfp_profile *profile, bool kernels)
{
    enum { SWEEPS = 3, APART = 20000000 };
    start(t);
    for (unsigned i = 0; i < SWEEPS * PARTS; i++) {
        blocking(t, XFT_DIR_H2D, HOST + i % PARTS * APART, DEVICE);
        if (kernels)
            kernel(t, DEVICE);
        if (kernels)
            blocking(t, XFT_DIR_D2H, HOST + i % PARTS * APART, DEVICE);
    }
    wait(t);
    play_end(&t->play, XFT_STATE_CLOSED);
    struct analyzed a = analyzed_trace(&t->b, profile);
    xfa_findings_weigh(a.findings, a.analysis);
    return a;
}

static void test_pageable(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    struct world t;
    struct analyzed a = sweeps(&t, profile, true);
    const struct xfa_finding *finding = analyzed_finding(&a, XFA_FINDING_SERIAL, NULL);
    assert_non_null(finding);
    assert_ptr_equal(finding, &a.findings->items[0]);
    assert_int_equal(finding->remedy.kind, XFA_REMEDY_PIN_OVERLAP);
    assert_int_equal(finding->order, 1);
    assert_in_range(finding->remedy.streams, 2, 3);
    /* 12 parts of 900 + 100 + 900 us; page-locked copies take 402 us, and overlap. */
    double before = 12 * (2 * 900e3 + NS), after = 12 * 402e3 + NS + 402e3;
    assert_true(fabs(finding->saving.likely - (before - after)) < 0.02 * before);
    assert_int_equal(of_order(&a), 1);
    finish(&t, &a);

    a = sweeps(&t, profile, false); /* nothing to be done at the same time */
    assert_int_equal(of_order(&a), 0);
    finish(&t, &a);
    xfp_free(profile);
}

static struct xft_event *last_of(struct world *t, unsigned lane)
{
    return &t->play.lanes[lane].events[t->play.lanes[lane].count - 1];
}

/* One large copy there, a kernel, one back, and a wait: nothing else to do meanwhile, but for parts
 * of it. Cut into n, a step takes 100 us / n, n kernels of 100 us / n + 2 us, and 100 us / n. */
static void test_cut(void **state)
{
    enum { STEPS = 1, LARGE = 64 << 20 };
    for (int many = 0; many < 2; many++) {
        struct world t;
        start(&t);
        for (unsigned i = 0; i < STEPS; i++) {
            copy(&t, XFT_DIR_H2D, HOST, DEVICE);
            last_of(&t, LANE_MAIN)->bytes = last_of(&t, LANE_MAIN)->width = LARGE;
            kernel(&t, DEVICE);
            last_of(&t, LANE_MAIN)->dst = last_of(&t, LANE_DEVICE)->dst = many ? 1 << 20 : 256;
            copy(&t, XFT_DIR_D2H, HOST + LARGE, DEVICE);
            last_of(&t, LANE_MAIN)->bytes = last_of(&t, LANE_MAIN)->width = LARGE;
            wait(&t);
        }
        struct analyzed a = weighed(&t);
        const struct xfa_finding *finding = analyzed_finding(&a, XFA_FINDING_SERIAL, NULL);
        if (many) {
            assert_non_null(finding);
            assert_int_equal(finding->remedy.kind, XFA_REMEDY_SPLIT);
            assert_int_equal(finding->remedy.streams, 8);
            double cut = 2.0 * NS / 8 + NS + 8 * 2000;
            assert_true(fabs(finding->saving.likely - STEPS * (3.0 * NS - cut)) < STEPS * 3000);
            assert_true(finding->saving.low < 0.02 * STEPS * NS); /* at worst it cannot be cut */
        }
        assert_int_equal(of_order(&a), many);
        finish(&t, &a);
    }
}

/* Each part needs the one before: the host's memory that it takes was fetched from the device. */
static void test_chain(void **state)
{
    struct world t;
    start(&t);
    for (unsigned i = 0; i < PARTS; i++) {
        copy(&t, XFT_DIR_H2D, HOST, DEVICE);
        kernel(&t, DEVICE);
        copy(&t, XFT_DIR_D2H, HOST, DEVICE);
    }
    wait(&t);
    struct analyzed a = weighed(&t);
    assert_int_equal(of_order(&a), 0);
    finish(&t, &a);
}

/* The host waits in between. Nothing comes back: it waits so that it may go on, which with several
 * buffers it may do earlier. It does not where it looks at a few bytes first, unless it sends many
 * then, which are hardly made of these. */
static void test_waits(void **state)
{
    const struct {
        bool looks, sends_few;
    } cases[] = {{false, false}, {true, true}, {true, false}};
    for (unsigned c = 0; c < 3; c++) {
        const bool looks = cases[c].looks, stays = looks && cases[c].sends_few;
        struct world t;
        start(&t);
        for (unsigned i = 0; i < PARTS; i++) {
            copy(&t, XFT_DIR_H2D, HOST + i * BYTES, DEVICE);
            if (cases[c].sends_few)
                last_of(&t, LANE_MAIN)->bytes = last_of(&t, LANE_MAIN)->width = 4096;
            kernel(&t, DEVICE);
            if (looks) {
                copy(&t, XFT_DIR_D2H, HOST + PARTS * BYTES, DEVICE);
                last_of(&t, LANE_MAIN)->bytes = last_of(&t, LANE_MAIN)->width = 8;
            }
            wait(&t);
        }
        struct analyzed a = weighed(&t);
        const struct xfa_finding *finding = analyzed_finding(&a, XFA_FINDING_SERIAL, NULL);
        assert_int_equal(finding != NULL, !stays);
        assert_true(looks || fabs(finding->saving.likely - (PARTS - 1) * NS) < 0.1 * NS);
        finish(&t, &a);
    }
}

/* Copies alone, or of one direction alone: nothing to do at the same time. */
static void test_nothing_to_overlap(void **state)
{
    struct world t;
    start(&t);
    for (unsigned i = 0; i < PARTS; i++)
        copy(&t, XFT_DIR_H2D, HOST + i * BYTES, DEVICE + i * BYTES);
    wait(&t);
    struct analyzed a = weighed(&t);
    assert_int_equal(of_order(&a), 0);
    finish(&t, &a);
}

/* What is tried is no finding before the run was replayed. */
static void test_not_weighed(void **state)
{
    struct world t;
    start(&t);
    for (unsigned i = 0; i < PARTS; i++) {
        copy(&t, XFT_DIR_H2D, HOST, DEVICE);
        copy(&t, XFT_DIR_D2H, HOST + BYTES, DEVICE + BYTES);
    }
    wait(&t);
    play_end(&t.play, XFT_STATE_CLOSED);
    struct analyzed a = analyzed_trace(&t.b, NULL);
    assert_int_equal(of_order(&a), 0);
    finish(&t, &a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),       cmocka_unit_test(test_rounds_in_order),
        cmocka_unit_test(test_directions),  cmocka_unit_test(test_pageable),
        cmocka_unit_test(test_cut),         cmocka_unit_test(test_chain),
        cmocka_unit_test(test_waits),       cmocka_unit_test(test_nothing_to_overlap),
        cmocka_unit_test(test_not_weighed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
