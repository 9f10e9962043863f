/* small-transfers: what ends a run, and what the run of the program would save. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/whatif/changes/strides.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"

enum {
    SITE = 10,
    STEPS = 40,
    PIECES = 8,
    BYTES = 500,
    COPY_NS = 1000,
    CALL_NS = 1500,
    EVENT = 0x77,
    OTHER = 0x88
};

/* What comes behind each piece. */
struct between {
    struct xft_event event; /* kind 0: nothing */
    bool again;             /* asks for it, too: QUERY */
    bool streams;           /* pieces go to two streams by turns */
    bool of_other_stream;   /* the event is */
    uint64_t row;           /* bytes of a row, where pieces have several */
    uint64_t copy_ns;       /* 0: COPY_NS */
    bool down;              /* to the host */
};

static void step(struct play *play, const struct between *between)
{
    for (uint64_t i = 0; i < PIECES; i++) {
        struct xft_event *call =
            play_async(play, SITE, between->down ? XFT_DIR_D2H : XFT_DIR_H2D, XFT_MEM_PINNED, BYTES,
                       between->copy_ns ? between->copy_ns : COPY_NS);
        call->flags |= XFT_STREAM_KNOWN;
        call->width = between->row ? between->row : call->width;
        call->stream = between->streams ? 0x10 + i % 2 : 0x10;
        struct xft_event event = between->event;
        event.flags = XFT_STREAM_KNOWN;
        event.stream = between->of_other_stream ? 0x20 : 0x10;
        if (event.kind)
            play_event(play, event, 200);
        event.kind = XFT_EVENT_QUERY;
        event.aux = XFT_SYNC_EVENT;
        if (between->again)
            play_event(play, event, 200);
    }
    const struct xft_event wait = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT};
    play_event(play, wait, 1000);
}

static struct analyzed analysis_of(struct between between)
{
    struct xfp_profile *profile = scenario_profile();
    struct trace_builder b;
    struct play play;
    play_start(&play, &b, 1);
    play_site(&play, SITE, "fields", 1);
    for (unsigned i = 0; i < STEPS; i++)
        step(&play, &between);
    play_end(&play, XFT_STATE_CLOSED);
    return analyzed_answered(&b, profile, NULL);
}

/* Of the runs that were found: transfers, and the time that the test gave them. */
static void check(struct between between, uint64_t transfers, uint64_t runs)
{
    struct analyzed a = analysis_of(between);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_SMALL, "fields");
    assert_int_equal(f != NULL, transfers > 0);
    if (f) {
        double batched = (double)runs * LINK_LO_NS + (double)(transfers * BYTES) / LINK_GBPS;
        assert_int_equal(f->transfers, transfers);
        assert_true(fabs(f->achievable_ns - batched) < 1);
        assert_true(fabs(f->lost_ns - ((double)transfers * CALL_NS - batched)) < 1);
        assert_int_equal(f->remedy.kind, XFA_REMEDY_BATCH);
    }
    analyzed_free(&a);
}

static void test_what_ends_a_run(void **state)
{
    const uint64_t all = STEPS * PIECES;
    check((struct between){.streams = false}, all, STEPS);
    check((struct between){.event = {.kind = XFT_EVENT_LAUNCH}}, 0, 0);
    check((struct between){.event = {.kind = XFT_EVENT_SET}}, 0, 0);
    check((struct between){.event = {.kind = XFT_EVENT_GRAPH_LAUNCH}}, 0, 0);
    check((struct between){.event = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT}}, 0, 0);
    /* The host may have each piece before it makes the next: it could make all at once. */
    check((struct between){.event = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_STREAM}}, all, STEPS);
    check((struct between){.event = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_STREAM},
                           .of_other_stream = true},
          0, 0);
    check((struct between){.event = {.kind = XFT_EVENT_WAIT, .src = EVENT}}, 0, 0);
    check((struct between){.event = {.kind = XFT_EVENT_FREE, .dst = 1}}, 0, 0);
    check((struct between){.event = {.kind = XFT_EVENT_ALLOC, .dst = 1}}, all, STEPS);
    check((struct between){.streams = true}, 0, 0);
    /* An event: only who asks for it knows of the piece. */
    check((struct between){.event = {.kind = XFT_EVENT_RECORD, .src = EVENT}}, all, STEPS);
    check((struct between){.event = {.kind = XFT_EVENT_RECORD, .src = EVENT}, .again = true}, 0, 0);
    check((struct between){.event = {.kind = XFT_EVENT_QUERY, .src = OTHER, .aux = XFT_SYNC_EVENT}},
          all, STEPS);
}

/* Rows so short that they take the time take it in one call, too; those that go to the host a
 * kernel can gather. Others stay as they lie. */
static void test_short_rows(void **state)
{
    static const struct {
        uint64_t row, copy_ns;
        bool down, found;
        enum xfa_remedy_kind remedy;
    } cases[] = {{0, 8000, false, true, XFA_REMEDY_BATCH},
                 {5, 8000, false, false, 0},
                 {5, 8000, true, true, XFA_REMEDY_GATHER},
                 {5, 2100, false, true, XFA_REMEDY_BATCH_ROWS},
                 {5, 2100, true, true, XFA_REMEDY_BATCH_ROWS}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct analyzed a = analysis_of((struct between){
            .row = cases[i].row, .copy_ns = cases[i].copy_ns, .down = cases[i].down});
        const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_SMALL, "fields");
        assert_int_equal(f != NULL, cases[i].found);
        if (f)
            assert_int_equal(f->remedy.kind, cases[i].remedy);
        analyzed_free(&a);
    }
}

/* The call blocks: what the host waits beyond the bytes' time is another call's cost, too, as long
 * as the call as measured, and as in the profile, takes twice as long as the bytes. */
static void test_blocking(void **state)
{
    enum { LITTLE = 200000, MUCH = 300000 }; /* 4000 ns, 6000 ns; another call costs 5000 */
    static const struct {
        uint64_t bytes, call_ns;
        enum xft_memory memory;
        bool found;
    } cases[] = {{LITTLE, 9000, XFT_MEM_PINNED, true},
                 {LITTLE, 7900, XFT_MEM_PINNED, false},
                 {MUCH, 13000, XFT_MEM_PINNED, false},
                 {LITTLE, 9000, XFT_MEM_PAGEABLE, false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct trace_builder b;
        struct play play;
        play_start(&play, &b, 1);
        play_site(&play, SITE, "slices", 1);
        for (unsigned k = 0; k < STEPS * PIECES; k++) {
            play_copy(&play, SITE, XFT_DIR_H2D, cases[i].memory, cases[i].bytes, cases[i].call_ns);
            if (k % PIECES == PIECES - 1)
                play_event(&play, (struct xft_event){.kind = XFT_EVENT_LAUNCH}, 1000);
        }
        play_end(&play, XFT_STATE_CLOSED);
        struct analyzed a = analyzed_answered(&b, scenario_profile(), NULL);
        const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_SMALL, "slices");
        assert_int_equal(f != NULL, cases[i].found);
        if (f)
            assert_int_equal(f->transfers, STEPS * PIECES);
        analyzed_free(&a);
    }
}

/* The host makes 8 calls, packing takes half of 8 * (30 + 500 * 0.12). The copy of all takes 70 ns
 * more than the last one, and is done when the host begins to wait. */
static void test_saving(void **state)
{
    const double calls = (PIECES - 1) * (double)CALL_NS;
    const double packing = 0.5 * PIECES * (30 + BYTES * 0.12);
    struct analyzed a = analysis_of((struct between){.streams = false});
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_SMALL, "fields");
    assert_true(a.findings->whatif->known);
    assert_non_null(f);
    double saved = STEPS * (calls - packing);
    assert_true(fabs(f->saving.likely - saved) < 0.02 * saved);
    assert_true(f->saving.low < saved && f->saving.high > saved);
    assert_int_equal(f->order, 1);
    /* The first run's pieces are the first work: that they go later does not shorten the span. */
    const struct xfw_whatif *whatif = a.findings->whatif;
    double run = whatif->set.likely;
    assert_true(run > 0.9 * saved);
    assert_true(fabs(whatif->span.alone_ns - whatif->span.set_ns - run) < 1);
    analyzed_free(&a);
}

/* ---- within a device ------------------------------------------------------------------------- */

enum { FROM = 0x100000, TO = 0x200000, ROW = 4096 };

static void test_strides(void **state)
{
    (void)state;
    struct xfw_strides strides = {.count = 0};
    for (uint64_t i = 0; i < 100; i++)
        assert_true(xfw_strides_take(&strides, FROM + i * ROW, TO + 2 * i * ROW, BYTES));
    assert_int_equal(strides.count, 1);
    assert_false(xfw_strides_take(&strides, FROM + 500, TO, BYTES));           /* there it wrote */
    assert_false(xfw_strides_take(&strides, FROM + 1000, TO + 1000, BYTES));   /* no row */
    assert_false(xfw_strides_take(&strides, TO + 198 * ROW + 499, 64, BYTES)); /* reads it */
    assert_false(xfw_strides_take(&strides, 64, FROM + 99 * ROW, 1)); /* which was to be read */
    /* Backwards; and rows that overlap are none. */
    strides.count = 0;
    for (uint64_t i = 0; i < 8; i++)
        assert_true(xfw_strides_take(&strides, FROM - i * ROW, TO - i * ROW, BYTES));
    assert_int_equal(strides.count, 1);
    assert_false(xfw_strides_take(&strides, TO - 7 * ROW, 64, BYTES));
    assert_false(xfw_strides_take(&strides, TO - 7 * ROW + BYTES, 64, BYTES));
    /* Anywhere. */
    strides.count = 0;
    for (uint64_t i = 0; i < XFW_MOST_STRIDES; i++)
        assert_true(xfw_strides_take(&strides, FROM + i * i * 600, TO + i * 512, BYTES - i));
    assert_int_equal(strides.count, XFW_MOST_STRIDES);
    assert_false(xfw_strides_take(&strides, FROM / 2, TO / 2, BYTES));
}

/* Pieces of a step: each so far behind the one before it. */
struct within {
    unsigned pieces;
    uint64_t src_step, dst_step;
    bool other_length; /* each has a length of its own */
};

static void play_within(struct play *play, const struct within *within)
{
    for (uint64_t i = 0; i < within->pieces; i++) {
        uint64_t bytes = within->other_length ? BYTES - i : BYTES;
        struct xft_event *call =
            play_async(play, SITE, XFT_DIR_D2D, XFT_MEM_DEVICE, bytes, COPY_NS);
        struct xft_event *record =
            &play->lanes[LANE_DEVICE].events[play->lanes[LANE_DEVICE].count - 1];
        call->flags |= XFT_STREAM_KNOWN;
        call->stream = 0x10;
        call->device = call->src_place = call->dst_place = 0;
        call->src = record->src = FROM + i * within->src_step;
        call->dst = record->dst = TO + i * within->dst_step;
    }
    const struct xft_event wait = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT};
    play_event(play, wait, 1000);
}

static struct analyzed analysis_within(struct within within)
{
    const struct xfp_place device = {XFT_MEM_DEVICE, 0, -1};
    struct xfp_profile *profile = scenario_profile();
    struct trace_builder b;
    struct play play;
    measured_path(profile, XFP_COPY, XFT_DIR_D2D, device, device, 1000);
    profile->paths[profile->path_count - 1].fit = (struct xfp_fit){.valid = true,
                                                                   .Lo_ns = LINK_LO_NS,
                                                                   .g_ns = LINK_GAP_NS,
                                                                   .G_ns_per_byte = 0.001,
                                                                   .max_error = 0.01,
                                                                   .fit_min_bytes = 1 << 20};
    play_start(&play, &b, 1);
    play_site(&play, SITE, "faces", 1);
    for (unsigned i = 0; i < STEPS; i++)
        play_within(&play, &within);
    play_end(&play, XFT_STATE_CLOSED);
    return analyzed_answered(&b, profile, NULL);
}

/* So many of the copies of a step are found. */
static void check_within(struct within within, unsigned found)
{
    struct analyzed a = analysis_within(within);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_SMALL, "faces");
    assert_int_equal(f != NULL, found > 0);
    if (f) {
        assert_int_equal(f->transfers, STEPS * found);
        assert_int_equal(f->remedy.kind, XFA_REMEDY_BATCH_WITHIN);
    }
    analyzed_free(&a);
}

static void test_within(void **state)
{
    (void)state;
    check_within((struct within){PIECES, ROW, 2 * ROW, false}, PIECES);
    check_within((struct within){PIECES, ROW, 2 * ROW, true}, PIECES);
    check_within((struct within){PIECES, ROW, BYTES / 2, false}, 0);       /* over each other */
    check_within((struct within){PIECES, TO - FROM, TO - FROM, false}, 0); /* a chain */
    check_within((struct within){3, ROW, ROW, false}, 0);                  /* too few */
}

/* Of eight calls, and what the host does between them, one is left. At worst it does what it did
 * between them. */
static void test_within_saving(void **state)
{
    (void)state;
    const double calls = STEPS * (PIECES - 1) * 1500.0, between = STEPS * (PIECES - 1) * 100.0;
    struct analyzed a = analysis_within((struct within){PIECES, ROW, 2 * ROW, false});
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_SMALL, "faces");
    assert_non_null(f);
    double unsure = xfw_unsure_ns(a.findings->whatif, f->saving.likely);
    assert_true(fabs(f->saving.likely - calls - between) < 0.02 * calls);
    assert_true(f->saving.low + unsure < calls + 0.02 * calls);
    assert_true(f->saving.low + unsure > 0.2 * calls);
    analyzed_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_ends_a_run), cmocka_unit_test(test_short_rows),
        cmocka_unit_test(test_blocking),        cmocka_unit_test(test_saving),
        cmocka_unit_test(test_strides),         cmocka_unit_test(test_within),
        cmocka_unit_test(test_within_saving),
    };
    return cmocka_run_group_tests_name("findings: small transfers", tests, NULL, NULL);
}
