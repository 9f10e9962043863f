/* driver-contention: calls of threads that wait for each other; what they would take alone, and
 * what the run would save. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"

#define ABOUT 0.05 /* times are kept in classes of this width */

enum {
    SITE = 10,
    NAME = 7,
    NAME_LATE,
    ALONE = 20,
    ROUNDS = 200,
    CALL_NS = 2000,  /* alone */
    FIRST_NS = 6000, /* in the driver first */
    LATER_NS = 1000, /* the other comes so much later */
    BEHIND_NS = 9000,
    ROUND_NS = 12000,
    LOAD_NS = 3000000
};

/* Two threads make a call at about the same time, in turns one of them first. */
struct rounds {
    enum xft_event_kind kind; /* of their calls */
    uint64_t behind_ns;       /* what the later one takes */
    uint64_t apart_ns;        /* how much later it comes */
    bool first_waits;         /* the first one waits for the device, out of the driver */
    bool loads;               /* the first one is the first launch of a kernel, once */
    bool one;                 /* one thread makes all calls */
    bool allocates;           /* the first one allocates */
};

static void call(struct play *play, unsigned lane, uint64_t start, const struct xft_event *event,
                 uint64_t ns)
{
    play->lane = lane;
    play->now = start;
    play_event(play, *event, ns);
}

static struct xft_event call_of(const struct rounds *rounds)
{
    return (struct xft_event){
        .kind = (uint8_t)rounds->kind,
        .call = CALL_MEMCPY,
        .stack = rounds->kind == XFT_EVENT_LAUNCH ? 0 : SITE,
        .src = rounds->kind == XFT_EVENT_LAUNCH ? NAME : 0,
        .src_place = XFT_PLACE_UNKNOWN,
        .dst_place = XFT_PLACE_UNKNOWN,
    };
}

static void play_rounds(struct play *play, const struct rounds *rounds)
{
    const struct xft_event event = call_of(rounds);
    const struct xft_event wait = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT};
    const struct xft_event alloc = {.kind = XFT_EVENT_ALLOC, .stack = SITE, .bytes = MIB};
    const struct xft_event *first = rounds->first_waits ? &wait
                                    : rounds->allocates ? &alloc
                                                        : &event;
    uint64_t now = play->now;
    for (unsigned i = 0; i < ALONE; i++, now += ROUND_NS)
        call(play, LANE_MAIN, now, &event, CALL_NS);
    for (unsigned i = 0; i < ROUNDS; i++, now += ROUND_NS) {
        bool second = i % 2 && !rounds->one;
        call(play, second ? LANE_OTHER : LANE_MAIN, now, first, FIRST_NS);
        call(play, second || rounds->one ? LANE_MAIN : LANE_OTHER,
             now + (rounds->one ? FIRST_NS : rounds->apart_ns), &event, rounds->behind_ns);
    }
    if (rounds->loads) {
        struct xft_event late = event;
        late.src = NAME_LATE;
        call(play, LANE_MAIN, now, &late, LOAD_NS);
        call(play, LANE_OTHER, now + LATER_NS, &event, LOAD_NS);
        now += LOAD_NS + ROUND_NS;
    }
    play->lane = LANE_MAIN;
    play->now = now;
}

static struct analyzed analysis_of(const struct rounds *rounds)
{
    struct xfp_profile *profile = measured_profile(MEASURED_ALL);
    struct trace_builder b;
    struct play play;
    play_start(&play, &b, 1);
    play_site(&play, SITE, "clear", 1);
    build_text(&b, NAME, "step");
    build_text(&b, NAME_LATE, "rare");
    play_rounds(&play, rounds);
    play_end(&play, XFT_STATE_CLOSED);
    return analyzed_played(&b, profile);
}

static const struct xfa_finding *found(const struct analyzed *a, enum xfa_remedy_kind remedy)
{
    for (size_t i = 0; i < a->findings->count; i++)
        if (a->findings->items[i].id == XFA_FINDING_CONTENTION &&
            a->findings->items[i].remedy.kind == remedy)
            return &a->findings->items[i];
    return NULL;
}

static const struct rounds contended = {
    .kind = XFT_EVENT_LAUNCH, .behind_ns = BEHIND_NS, .apart_ns = LATER_NS};

static bool is_about(double ns, double expected)
{
    return fabs(ns - expected) < ABOUT * expected;
}

/* Each thread is behind in half of the rounds. Likely the later call waits for the first one as
 * long as that takes alone, and as much of that thread's own time; at best for nothing. */
static void test_found(void **state)
{
    for (int sets = 0; sets < 2; sets++) {
        struct rounds rounds = contended;
        rounds.kind = sets ? XFT_EVENT_SET : XFT_EVENT_LAUNCH;
        struct analyzed a = analysis_of(&rounds);
        const struct xfa_finding *f = found(&a, XFA_REMEDY_FEWER_CALLS);
        const double excess = BEHIND_NS - CALL_NS, likely = ROUNDS / 2 * (excess - 2 * CALL_NS);
        assert_non_null(f);
        assert_int_equal(f->site_count, 1);
        assert_non_null(
            strstr(f->sites[0].site->text, sets ? "clear (app.c:1)" : "(no call stack)"));
        assert_int_equal(f->transfers, ROUNDS);
        assert_true(is_about(f->lost_ns, ROUNDS * excess));
        assert_true(is_about(f->saving.likely, likely));
        assert_true(f->saving.low <= 0);
        assert_true(f->saving.high > ROUNDS / 2 * excess * (1 - ABOUT));
        assert_null(found(&a, XFA_REMEDY_LOAD_EARLY));
        analyzed_free(&a);
    }
}

/* What allocating takes alone is not known: likely the call waits until it is done. */
static void test_behind_an_allocation(void **state)
{
    struct rounds rounds = contended;
    rounds.allocates = true;
    struct analyzed a = analysis_of(&rounds);
    const struct xfa_finding *f = found(&a, XFA_REMEDY_FEWER_CALLS);
    const double excess = BEHIND_NS - CALL_NS,
                 likely = ROUNDS / 2 * (excess - (FIRST_NS - LATER_NS));
    assert_non_null(f);
    assert_true(is_about(f->saving.likely, likely));
    analyzed_free(&a);
}

static bool is_found(struct rounds rounds)
{
    struct analyzed a = analysis_of(&rounds);
    bool is = found(&a, XFA_REMEDY_FEWER_CALLS) != NULL;
    analyzed_free(&a);
    return is;
}

static void test_not_found(void **state)
{
    struct rounds rounds = contended;
    assert_true(is_found(rounds));
    rounds.behind_ns = CALL_NS; /* no longer than alone */
    assert_false(is_found(rounds));
    rounds = contended;
    rounds.apart_ns = FIRST_NS; /* the first is done: it has other reasons */
    assert_false(is_found(rounds));
    rounds = contended;
    rounds.first_waits = true;
    assert_false(is_found(rounds));
    rounds = contended;
    rounds.one = true;
    assert_false(is_found(rounds));
}

/* The first launch of a kernel: another thread's call waits until it is loaded. Likely that saves
 * nothing, since it is loaded anyway. */
static void test_loading(void **state)
{
    struct rounds rounds = contended;
    rounds.behind_ns = CALL_NS;
    rounds.loads = true;
    struct analyzed a = analysis_of(&rounds);
    const struct xfa_finding *f = found(&a, XFA_REMEDY_LOAD_EARLY);
    assert_non_null(f);
    assert_int_equal(f->transfers, 1);
    assert_true(is_about(f->lost_ns, LOAD_NS - CALL_NS));
    assert_true(fabs(f->saving.likely) < 1);
    assert_true(f->saving.high > LOAD_NS - 2 * ROUND_NS);
    assert_true(f->asked);
    assert_null(found(&a, XFA_REMEDY_FEWER_CALLS));
    analyzed_free(&a);
    rounds.loads = false;
    a = analysis_of(&rounds);
    assert_null(found(&a, XFA_REMEDY_LOAD_EARLY));
    analyzed_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found),
        cmocka_unit_test(test_behind_an_allocation),
        cmocka_unit_test(test_not_found),
        cmocka_unit_test(test_loading),
    };
    return cmocka_run_group_tests_name("findings: driver contention", tests, NULL, NULL);
}
