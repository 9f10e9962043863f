/* element-by-element: what is a run, what its stretches are, and what the run of the program would
 * save. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/whatif/changes/areas.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/play.h"

enum {
    FETCH = 10,
    SEND = 11,
    STEPS = 40,
    ELEMENTS = 16, /* of a step */
    BYTES = 8,
    CALL_NS = 5000,
    NUMBERS = 0x100000, /* on the device */
    RESULTS = 0x200000,
    GAP_NS = 100 /* of play_event(), behind each call */
};

/* What a step has beside its copies. */
struct step {
    struct xft_event between; /* behind each pair of copies; kind 0: nothing */
    bool other_stream;        /* of `between`, of copies to the device */
    bool other_thread;        /* makes what is between */
    bool fetches_first;       /* all elements, then sends all */
    bool in_place;            /* to where they were fetched from */
    bool results_together;    /* elements that are sent lie one behind the other, however */
    uint64_t apart;           /* bytes from one element to the next; 0: BYTES */
    uint64_t bytes;           /* of each; 0: BYTES */
};

static void copy(struct play *play, const struct step *step, enum xft_direction direction,
                 uint64_t i)
{
    bool down = direction == XFT_DIR_D2H;
    bool together = step->apart == 0 || (!down && step->results_together);
    uint64_t at = i * (together ? BYTES : step->apart);
    struct xft_event *call = play_copy(play, down ? FETCH : SEND, direction, XFT_MEM_PAGEABLE,
                                       step->bytes ? step->bytes : BYTES, CALL_NS);
    call->flags |= XFT_STREAM_KNOWN;
    call->stream = step->other_stream && !down ? 0x20 : 0x10;
    if (down)
        call->src = NUMBERS + at;
    else
        call->dst = (step->in_place ? NUMBERS : RESULTS) + at;
}

static void between(struct play *play, const struct step *step)
{
    struct xft_event event = step->between;
    event.flags = XFT_STREAM_KNOWN;
    event.stream = step->other_stream ? 0x20 : 0x10;
    play->lane = step->other_thread ? LANE_OTHER : LANE_MAIN;
    if (event.kind)
        play_event(play, event, 1000);
    play->lane = LANE_MAIN;
}

static void play_step(struct play *play, const struct step *step)
{
    const struct xft_event launch = {.kind = XFT_EVENT_LAUNCH};
    for (uint64_t i = 0; i < ELEMENTS; i++) {
        copy(play, step, XFT_DIR_D2H, i);
        if (!step->fetches_first)
            copy(play, step, XFT_DIR_H2D, i);
        between(play, step);
    }
    for (uint64_t i = 0; i < ELEMENTS && step->fetches_first; i++)
        copy(play, step, XFT_DIR_H2D, i);
    play_event(play, launch, 1000);
}

static struct analyzed analysis_of(struct step step, const char *answer)
{
    struct xfp_profile *profile = scenario_profile();
    struct trace_builder b;
    struct play play;
    play_start(&play, &b, 1);
    play_site(&play, FETCH, "get", 1);
    play_site(&play, SEND, "set", 2);
    for (unsigned i = 0; i < STEPS; i++)
        play_step(&play, &step);
    play_end(&play, XFT_STATE_CLOSED);
    return analyzed_answered(&b, profile, answer);
}

static void check(struct step step, bool found)
{
    struct analyzed a = analysis_of(step, NULL);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_ELEMENTS, NULL);
    assert_int_equal(f != NULL, found);
    if (f) {
        assert_int_equal(f->transfers, 2 * STEPS * ELEMENTS);
        assert_int_equal(f->site_count, 2);
        assert_int_equal(f->remedy.kind, XFA_REMEDY_WORK_ON_COPY);
    }
    analyzed_free(&a);
}

static void test_what_ends_a_run(void **state)
{
    (void)state;
    check((struct step){.in_place = false}, true);
    check((struct step){.in_place = true}, true);
    check((struct step){.between = {.kind = XFT_EVENT_LAUNCH}}, false);
    check((struct step){.between = {.kind = XFT_EVENT_LAUNCH}, .other_thread = true}, false);
    check((struct step){.between = {.kind = XFT_EVENT_SET}}, false);
    check((struct step){.between = {.kind = XFT_EVENT_GRAPH_LAUNCH}}, false);
    check((struct step){.between = {.kind = XFT_EVENT_FREE, .dst = 1}}, false);
    check((struct step){.between = {.kind = XFT_EVENT_WAIT, .src = 1}}, false);
    check((struct step){.between = {.kind = XFT_EVENT_ALLOC, .dst = 1, .bytes = 8}}, true);
    check((struct step){.between = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_STREAM}}, true);
    check((struct step){.between = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_EVENT, .src = 1}},
          false);
    check((struct step){.other_stream = true}, false);
    /* Runs of one direction are small-transfers. */
    check((struct step){.fetches_first = true}, false);
    check((struct step){.bytes = 1 << 20, .apart = 1 << 20}, false);
    /* Each is alone in its stretch. */
    check((struct step){.apart = 2 << 20}, false);
}

/* A wait for the device may be for work of another stream, but where there was none yet; the next
 * ones are for the copies alone. */
static void test_waits_for_the_device(void **state)
{
    (void)state;
    struct analyzed a = analysis_of(
        (struct step){.between = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT}}, NULL);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_ELEMENTS, NULL);
    assert_non_null(f);
    assert_int_equal(f->transfers, 2 * STEPS * (ELEMENTS - 1) + 2);
    analyzed_free(&a);
}

/* Of the calls of a step two are left, and likely a turn of a loop between those that go. */
static void test_saving(void **state)
{
    (void)state;
    const double gone = STEPS * (2 * ELEMENTS - 2), gaps = gone * GAP_NS;
    struct analyzed a = analysis_of((struct step){.in_place = false}, NULL);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_ELEMENTS, NULL);
    assert_non_null(f);
    double copies = STEPS * 2 * (LINK_LO_NS + ELEMENTS * BYTES / LINK_GBPS);
    assert_true(fabs(f->lost_ns - (STEPS * 2.0 * ELEMENTS * CALL_NS - copies)) < 1);
    assert_true(f->saving.likely > gone * CALL_NS);
    assert_true(f->saving.likely < gone * CALL_NS + gaps);
    assert_true(f->saving.low < gone * CALL_NS && f->saving.low > 0.75 * gone * CALL_NS);
    assert_int_equal(f->order, 1);
    analyzed_free(&a);
}

/* What the host waits for behind pieces that go, goes. */
static void test_waits_go(void **state)
{
    (void)state;
    struct analyzed bare = analysis_of((struct step){.in_place = false}, NULL);
    struct analyzed waits = analysis_of(
        (struct step){.between = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_STREAM}}, NULL);
    const struct xfa_finding *one = analyzed_finding(&bare, XFA_FINDING_ELEMENTS, NULL);
    const struct xfa_finding *other = analyzed_finding(&waits, XFA_FINDING_ELEMENTS, NULL);
    assert_non_null(one);
    assert_non_null(other);
    double more = other->saving.likely - one->saving.likely;
    assert_true(more > 0.9 * STEPS * (ELEMENTS - 1) * 1000);
    assert_true(more < 1.1 * STEPS * ELEMENTS * 1000);
    analyzed_free(&bare);
    analyzed_free(&waits);
}

/* Each stretch is fetched once, and sent once; also what lies between elements. Where that is of
 * the elements that are sent, it is fetched before. */
static void test_what_is_left(void **state)
{
    (void)state;
    struct analyzed near = analysis_of((struct step){.in_place = false}, NULL);
    struct analyzed gaps = analysis_of((struct step){.apart = 2 * BYTES}, NULL);
    struct analyzed long_one = analysis_of((struct step){.apart = 60000}, NULL);
    const struct xfa_finding *one = analyzed_finding(&near, XFA_FINDING_ELEMENTS, NULL);
    const struct xfa_finding *other = analyzed_finding(&gaps, XFA_FINDING_ELEMENTS, NULL);
    const struct xfa_finding *far = analyzed_finding(&long_one, XFA_FINDING_ELEMENTS, NULL);
    assert_non_null(one);
    assert_non_null(other);
    assert_non_null(far);
    double fetch_more = one->saving.likely - other->saving.likely; /* of what is sent, all */
    assert_true(fetch_more > 0.8 * STEPS * LINK_LO_NS);
    double longer = STEPS * 3 * (15 * 60000.0 / LINK_GBPS);
    assert_true(other->saving.likely - far->saving.likely > 0.9 * longer);
    struct analyzed wide =
        analysis_of((struct step){.apart = 60000, .results_together = true}, NULL);
    const struct xfa_finding *fetched = analyzed_finding(&wide, XFA_FINDING_ELEMENTS, NULL);
    assert_non_null(fetched);
    /* What lies between them comes along; the host's copy of it costs half of 0.12 ns a byte. */
    double along = STEPS * 15 * 60000.0, fewer = one->saving.likely - fetched->saving.likely;
    assert_true(fabs(fewer - along * (0.5 * 0.12 + 1 / LINK_GBPS)) < 0.05 * fewer);
    analyzed_free(&wide);
    analyzed_free(&near);
    analyzed_free(&gaps);
    analyzed_free(&long_one);
}

/* Without one of its sites nothing is left of the advice. */
static void test_a_site_that_is_denied(void **state)
{
    (void)state;
    struct analyzed a =
        analysis_of((struct step){.in_place = false}, "element-by-element@app.c:1=no");
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_ELEMENTS, NULL);
    assert_true(!f || f->idle || f->saving.likely < 1);
    analyzed_free(&a);
}

static void test_stretches(void **state)
{
    (void)state;
    struct xfw_memories none = {0};
    struct xfw_areas areas = {.count = 0};
    /* Whichever way, and behind each other or not; one that is sent whole needs no fetch. */
    for (uint64_t i = 0; i < 100; i++)
        assert_non_null(xfw_areas_take(&areas, &none, NUMBERS + 8 * i, 8, false));
    assert_int_equal(areas.count, 1);
    assert_int_equal(xfw_areas_copies(&areas), 1);
    assert_non_null(xfw_areas_take(&areas, &none, NUMBERS + 8 * 102, 8, false));
    assert_int_equal(xfw_areas_copies(&areas), 2);
    assert_non_null(xfw_areas_take(&areas, &none, NUMBERS - 800, 8, true));
    assert_int_equal(areas.count, 1);
    assert_int_equal(areas.items[0].end - areas.items[0].first, 8 * 203);
    /* Too far away; and no room for another one. */
    for (uint64_t i = 1; i < XFW_AREAS; i++)
        assert_non_null(xfw_areas_take(&areas, &none, NUMBERS + (i << 24), 8, true));
    assert_int_equal(areas.count, XFW_AREAS);
    assert_null(xfw_areas_take(&areas, &none, NUMBERS + ((uint64_t)XFW_AREAS << 24), 8, true));
    /* Long, but not much longer than its pieces. */
    areas.count = 0;
    for (uint64_t i = 0; i < 64; i++)
        assert_non_null(xfw_areas_take(&areas, &none, NUMBERS + (i << 17), (1 << 17) / 16, true));
    assert_int_equal(areas.count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_ends_a_run), cmocka_unit_test(test_waits_for_the_device),
        cmocka_unit_test(test_saving),          cmocka_unit_test(test_what_is_left),
        cmocka_unit_test(test_waits_go),        cmocka_unit_test(test_a_site_that_is_denied),
        cmocka_unit_test(test_stretches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
