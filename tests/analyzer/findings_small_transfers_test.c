/* small-transfers: what ends a run, and what the run of the program would save. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/analyzed.h"
#include "tests/analyzer/play.h"

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
};

static void step(struct play *play, const struct between *between)
{
    for (uint64_t i = 0; i < PIECES; i++) {
        struct xft_event *call =
            play_async(play, SITE, XFT_DIR_H2D, XFT_MEM_PINNED, BYTES, COPY_NS);
        call->flags |= XFT_STREAM_KNOWN;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_ends_a_run),
        cmocka_unit_test(test_saving),
    };
    return cmocka_run_group_tests_name("findings: small transfers", tests, NULL, NULL);
}
