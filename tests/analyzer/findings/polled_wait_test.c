/* polled-wait: which queries it names, when it asks, and what the run would save. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"

enum { FETCH = 10, POLL, STEPS = 20, QUERY_NS = 500, FIRST_NS = 1000 };

/* A result takes so long on the device; between two queries lies so much, of which the thread is at
 * work (0: not known). */
struct steps {
    uint64_t device_ns, pause_ns, worked_ns;
};

static uint64_t lost_ns; /* from the ends of all results to the queries that found them */

/* The thread asks FIRST_NS behind the copy for the first time, and then after each pause. */
static void poll(struct play *play, const struct steps *steps, uint64_t done)
{
    play->now += FIRST_NS;
    uint64_t first = play->now, queries = 0;
    while (play->now < done) {
        play->now += steps->pause_ns;
        queries++;
    }
    lost_ns += play->now - done;
    const struct xft_event query = {
        .kind = XFT_EVENT_QUERY,
        .aux = XFT_SYNC_STREAM,
        .device = 0,
        .stack = queries ? POLL : 0,
        .count = (uint32_t)queries,
        .width = play->now - first,
        .dst = queries
                   ? xft_polled(steps->pause_ns, steps->worked_ns > 0, steps->worked_ns * queries)
                   : 0};
    play_event(play, query, QUERY_NS);
}

static struct analyzed answered(const struct steps *steps, const char *answer)
{
    struct trace_builder b;
    struct play play;
    struct xfp_profile *profile = measured_profile(0);
    lost_ns = 0;
    play_start(&play, &b, 1);
    play_site(&play, FETCH, "fetch", 1);
    play_site(&play, POLL, "poll", 2);
    for (int i = 0; i < STEPS; i++) {
        const struct xft_event *copy =
            play_async(&play, FETCH, XFT_DIR_D2H, XFT_MEM_PINNED, MIB, steps->device_ns);
        (void)copy;
        const struct play_lane *device = &play.lanes[LANE_DEVICE];
        poll(&play, steps, device->events[device->count - 1].end_ns);
    }
    play_end(&play, XFT_STATE_CLOSED);
    return analyzed_answered(&b, profile, answer);
}

static struct analyzed played(const struct steps *steps)
{
    return answered(steps, NULL);
}

static const struct xfa_finding *polled(const struct analyzed *a)
{
    for (size_t i = 0; i < a->findings->count; i++)
        if (a->findings->items[i].id == XFA_FINDING_POLLED_WAIT)
            return &a->findings->items[i];
    return NULL;
}

/* A thread that sleeps loses what lies behind the end of the work, and little less is saved. */
static void test_sleeps(void **state)
{
    const struct steps steps = {.device_ns = 30000, .pause_ns = 70000, .worked_ns = 3000};
    struct analyzed a = played(&steps);
    const struct xfa_finding *f = polled(&a);
    (void)state;
    assert_non_null(f);
    assert_int_equal(f->transfers, STEPS);
    assert_int_equal(f->site_count, 1);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_WAIT_BY_CALL);
    assert_null(f->question);
    double lost = (double)lost_ns;
    assert_true(f->saving.likely > 0.8 * lost && f->saving.likely <= lost);
    assert_true(f->saving.low > 0.3 * lost && f->saving.low < f->saving.likely);
    assert_true(f->saving.high >= f->saving.likely);
    analyzed_free(&a);
}

/* It may have work of its own between queries: that is asked. */
static void test_asked(void **state)
{
    const struct steps steps[] = {
        {.device_ns = 30000, .pause_ns = 70000, .worked_ns = 60000},
        {.device_ns = 30000, .pause_ns = 70000, .worked_ns = 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct analyzed a = played(&steps[i]);
        const struct xfa_finding *f = polled(&a);
        assert_non_null(f);
        assert_int_equal(f->remedy.kind, XFA_REMEDY_WAIT_IF_IDLE);
        assert_non_null(f->question);
        assert_true(f->saving.likely < 1);
        assert_true(f->saving.high > 0.8 * (double)lost_ns);
        analyzed_free(&a);
        a = answered(&steps[i], "polled-wait=yes");
        f = polled(&a);
        assert_true(f && !f->asked && f->order == 1);
        assert_true(f->saving.likely > 0.8 * (double)lost_ns);
        analyzed_free(&a);
    }
}

/* Queries one right behind the other lose nothing; nor does one that finds the work done. */
static void test_left(void **state)
{
    const struct steps steps[] = {
        {.device_ns = 30000, .pause_ns = 1000, .worked_ns = 1000},
        {.device_ns = 100, .pause_ns = 70000, .worked_ns = 3000},
    };
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct analyzed a = played(&steps[i]);
        assert_null(polled(&a));
        analyzed_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sleeps),
        cmocka_unit_test(test_asked),
        cmocka_unit_test(test_left),
    };
    return cmocka_run_group_tests_name("findings: polled waits", tests, NULL, NULL);
}
