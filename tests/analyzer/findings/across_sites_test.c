/* Waste that is spread over call sites: runs of small copies, and sites that are too small alone.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/play.h"

enum { SITE = 10, STEPS = 40, PIECES = 8, BYTES = 500, COPY_NS = 1000, CALL_NS = 1500 };

static const struct xft_event wait = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT};

/* ---- runs of small copies -------------------------------------------------------------------- */

/* A program that uploads the fields of a structure line by line. */
struct fields {
    unsigned lines;   /* call sites: one for each of the PIECES, or fewer by turns */
    int other_memory; /* this piece comes from pageable memory; -1: none */
    int back;         /* this piece is a copy to the host; -1: none */
    int launch;       /* behind this piece a kernel is launched; -1: none */
    const char *assume;
};

static void step(struct play *play, const struct fields *fields)
{
    for (int i = 0; i < PIECES; i++) {
        unsigned memory = i == fields->other_memory ? XFT_MEM_PAGEABLE : XFT_MEM_PINNED;
        enum xft_direction direction = i == fields->back ? XFT_DIR_D2H : XFT_DIR_H2D;
        struct xft_event *call =
            play_async(play, SITE + (unsigned)i % fields->lines, direction, memory, BYTES, COPY_NS);
        call->flags |= XFT_STREAM_KNOWN;
        call->stream = 0x10;
        const struct xft_event launch = {
            .kind = XFT_EVENT_LAUNCH, .flags = XFT_STREAM_KNOWN, .stream = 0x10};
        if (i == fields->launch)
            play_event(play, launch, 1000);
    }
    play_event(play, wait, 1000);
}

static struct analyzed run_of(const struct fields *fields)
{
    struct xfp_profile *profile = scenario_profile();
    struct trace_builder b;
    struct play play;
    play_start(&play, &b, 1);
    for (unsigned i = 0; i < PIECES; i++)
        play_site(&play, SITE + i, "fields", 100 + i);
    for (unsigned i = 0; i < STEPS; i++)
        step(&play, fields);
    play_end(&play, XFT_STATE_CLOSED);
    return analyzed_answered(&b, profile, fields->assume);
}

/* One finding, of so many sites and runs of so many pieces; runs 0: none. */
static void expect(struct fields fields, size_t sites, uint64_t runs, uint64_t pieces)
{
    struct analyzed a = run_of(&fields);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_SMALL, NULL);
    assert_int_equal(f != NULL, runs > 0);
    if (f) {
        double batched = (double)runs * (LINK_LO_NS + (double)(pieces * BYTES) / LINK_GBPS);
        assert_int_equal(f->site_count, sites);
        assert_int_equal(f->transfers, runs * pieces);
        assert_int_equal(f->bytes, runs * pieces * BYTES);
        assert_true(fabs(f->achievable_ns - batched) < 1);
        assert_true(fabs(f->lost_ns - ((double)(runs * pieces) * CALL_NS - batched)) < 1);
    }
    analyzed_free(&a);
}

/* As many lines as pieces, or one: the same runs. */
static void test_lines(void **state)
{
    (void)state;
    const struct fields plain = {.lines = 1, .other_memory = -1, .back = -1, .launch = -1};
    struct fields fields = plain;
    expect(fields, 1, STEPS, PIECES);
    fields.lines = PIECES;
    expect(fields, PIECES, STEPS, PIECES);
    fields.lines = 3;
    expect(fields, 3, STEPS, PIECES);
    fields.lines = PIECES;
    fields.launch = 3; /* in the middle: two runs of four */
    expect(fields, PIECES, 2 * STEPS, PIECES / 2);
    fields.launch = -1;
    fields.other_memory = PIECES - 1;
    expect(fields, PIECES - 1, STEPS, PIECES - 1);
    fields.other_memory = -1;
    fields.back = 0;
    expect(fields, PIECES - 1, STEPS, PIECES - 1);
}

/* What the run saves does not depend on how many lines the copies stand in. */
static void test_saving(void **state)
{
    (void)state;
    struct fields fields = {.lines = 1, .other_memory = -1, .back = -1, .launch = -1};
    struct analyzed one = run_of(&fields);
    fields.lines = PIECES;
    struct analyzed all = run_of(&fields);
    const struct xfa_finding *f = analyzed_finding(&one, XFA_FINDING_SMALL, NULL);
    const struct xfa_finding *g = analyzed_finding(&all, XFA_FINDING_SMALL, NULL);
    const double calls = (PIECES - 1) * (double)CALL_NS;
    assert_true(f->saving.likely > 0.7 * STEPS * calls);
    assert_true(fabs(f->saving.likely - g->saving.likely) < 1);
    assert_true(fabs(f->saving.high - g->saving.high) < 1);
    assert_int_equal(g->order, 1);
    analyzed_free(&one);
    analyzed_free(&all);
}

/* Whoever says that one of them is not to be packed has none of that run packed. */
static void test_denied(void **state)
{
    (void)state;
    struct fields fields = {.lines = PIECES,
                            .other_memory = -1,
                            .back = -1,
                            .launch = -1,
                            .assume = "small-transfers@app.c:103=no"};
    struct analyzed a = run_of(&fields);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_SMALL, NULL);
    assert_non_null(f);
    assert_int_equal(f->site_count, PIECES - 1);
    assert_true(f->idle && fabs(f->saving.likely) < 1);
    analyzed_free(&a);
}

/* ---- small sites ----------------------------------------------------------------------------- */

enum { SITES = 60, SENT = 4096, SENT_NS = 3000 };

/* Sites that each send the same bytes twice to a place of their own. */
static struct analyzed resent(unsigned sites)
{
    struct xfp_profile *profile = scenario_profile();
    struct trace_builder b;
    struct play play;
    play_start(&play, &b, 1);
    build_meta(&b, "content", "whole");
    build_meta(&b, "arguments", "on");
    for (unsigned i = 0; i < sites; i++)
        play_site(&play, SITE + i, "resend", 100 + i);
    for (unsigned i = 0; i < 2 * sites; i++) {
        struct xft_event *call =
            play_copy(&play, SITE + i % sites, XFT_DIR_H2D, XFT_MEM_PINNED, SENT, SENT_NS);
        call->src = 0x7e0000000000 + (uint64_t)(i % sites) * 65536;
        call->dst = 0x7f0000000000 + (uint64_t)(i % sites) * 65536;
        struct xft_event content = {.kind = XFT_EVENT_CONTENT,
                                    .bytes = call->bytes,
                                    .src = call->src,
                                    .dst = call->dst,
                                    .aux = 77 + i % sites,
                                    .width = SENT,
                                    .count = 10};
        uint64_t start = call->start_ns, now = play.now;
        play.lane = LANE_OTHER;
        play.now = start;
        play_event(&play, content, 0);
        play.now = now;
        play.lane = LANE_MAIN;
        play_event(&play, wait, 100);
    }
    play_end(&play, XFT_STATE_CLOSED);
    struct analyzed a = analyzed_trace(&b, profile);
    build_free(&b);
    xfp_free(profile);
    return a;
}

/* None of them would be a finding: 3 us are less than XFA_LEAST_LOST_NS. */
static void test_small_sites(void **state)
{
    (void)state;
    struct analyzed a = resent(SITES);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_REPEATED, NULL);
    assert_non_null(f);
    assert_int_equal(f->site_count, SITES);
    assert_int_equal(f->transfers, SITES);
    assert_true(fabs(f->lost_ns - (double)SITES * SENT_NS) < 1);
    analyzed_free(&a);
    a = resent(2);
    assert_null(analyzed_finding(&a, XFA_FINDING_REPEATED, NULL));
    analyzed_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_saving),
        cmocka_unit_test(test_denied),
        cmocka_unit_test(test_small_sites),
    };
    return cmocka_run_group_tests_name("findings: across call sites", tests, NULL, NULL);
}
