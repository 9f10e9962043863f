/* fresh-memory: page faults in copies of pageable memory and before them, and what keeping the
 * memory saves. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"

enum { FETCH = 10, STEPS = 20 };
static const uint64_t bytes = 16 * MIB, pages = 4096, own_ns = 20000000;
static const double copy_ns = 16 * PAGEABLE_NS, fault_ns = 1000; /* each */

/* A copy that takes so much beyond one of touched memory, behind the thread's own time. */
struct step {
    uint64_t within, before; /* page faults */
    double more_ns;
    unsigned every; /* of so many copies one has them */
    bool call;      /* another call comes between the own time and the copy */
};

static struct analyzed played(struct step step, enum xft_direction direction, const char *answer)
{
    struct trace_builder b;
    struct play play = {0};
    struct xfp_profile *profile = measured_profile(MEASURED_ALL);
    play_start(&play, &b, 1);
    play_site(&play, FETCH, "fetch", 1);
    for (unsigned i = 0; i < STEPS; i++) {
        bool has = step.every == 0 || i % step.every == 0;
        play.now += own_ns;
        if (step.call)
            play_in_stream(&play, XFT_EVENT_RECORD, 0, 1000);
        struct xft_event *event = play_copy(&play, FETCH, direction, XFT_MEM_PAGEABLE, bytes,
                                            (uint64_t)(copy_ns + (has ? step.more_ns : 0)));
        event->width = bytes;
        event->aux = has ? xft_faults(step.within, step.before) : 0;
    }
    play_end(&play, XFT_STATE_CLOSED);
    return answer ? analyzed_answered(&b, profile, answer) : analyzed_played(&b, profile);
}

static const struct xfa_finding *found(const struct analyzed *a)
{
    return analyzed_finding(a, XFA_FINDING_FRESH, NULL);
}

/* What each call took beyond a copy of touched memory is saved. */
static void test_within(void **state)
{
    static const enum xft_direction both[] = {XFT_DIR_D2H, XFT_DIR_H2D};
    const double more = (double)pages * fault_ns, most = STEPS * more;
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct analyzed a = played((struct step){.within = pages, .more_ns = more}, both[i], NULL);
        const struct xfa_finding *f = found(&a);
        assert_non_null(f);
        assert_int_equal(f->remedy.kind, XFA_REMEDY_REUSE);
        assert_int_equal(f->transfers, STEPS);
        assert_true(f->lost_ns > 0.5 * most && f->lost_ns < most && !f->question);
        assert_true(f->saving.likely > 0.95 * most && f->saving.likely < 1.02 * most);
        double low = f->saving.low + xfw_unsure_ns(a.findings->whatif, f->saving.likely);
        assert_true(low > 0.65 * most && low < 0.75 * most);
        analyzed_free(&a);
    }
}

/* Calls that took no longer have nothing to save, whatever faulted. */
static void test_no_longer(void **state)
{
    struct analyzed a = played((struct step){.within = pages}, XFT_DIR_D2H, NULL);
    const struct xfa_finding *f = found(&a);
    (void)state;
    assert_non_null(f);
    assert_true(f->idle && f->saving.likely < 1000);
    analyzed_free(&a);
}

/* Huge pages: eight faults of 16 MiB. */
static void test_huge(void **state)
{
    const double more = 1e6;
    struct analyzed a = played((struct step){.within = 8, .more_ns = more}, XFT_DIR_D2H, NULL);
    const struct xfa_finding *f = found(&a);
    (void)state;
    assert_non_null(f);
    assert_true(f->saving.likely > 0.9 * STEPS * more && !f->idle);
    analyzed_free(&a);
}

/* Faults of the program's own time may be of other memory: a question, with the time of them. */
static void test_before(void **state)
{
    const struct step step = {.before = pages + 100};
    struct analyzed a = played(step, XFT_DIR_D2H, NULL);
    const struct xfa_finding *f = found(&a);
    const double most = STEPS * (double)own_ns; /* which is less than 6.4 us a page */
    (void)state;
    assert_non_null(f);
    assert_true(f->asked && f->idle && f->question && isnan(f->lost_ns));
    assert_true(f->saving.likely < 1);
    double high = f->saving.high - xfw_unsure_ns(a.findings->whatif, f->saving.likely);
    assert_true(high > 0.9 * most && high < 1.1 * most);
    analyzed_free(&a);

    a = played(step, XFT_DIR_D2H, "fresh-memory=yes");
    f = found(&a);
    assert_non_null(f);
    const double likely = STEPS * ((double)pages * 1600 + 0.1 * (double)bytes);
    assert_true(!f->asked && f->saving.likely > 0.9 * likely && f->saving.likely < 1.1 * likely);
    analyzed_free(&a);
}

/* The memory may be made before other calls: then that time goes. */
static void test_before_other_calls(void **state)
{
    const struct step step = {.before = pages + 100, .call = true};
    struct analyzed a = played(step, XFT_DIR_D2H, NULL);
    const struct xfa_finding *f = found(&a);
    const double most = (STEPS - 2) * (double)own_ns;
    (void)state;
    assert_non_null(f);
    assert_true(f->asked);
    double high = f->saving.high - xfw_unsure_ns(a.findings->whatif, f->saving.likely);
    assert_true(high > 0.9 * most);
    analyzed_free(&a);
}

static void test_left(void **state)
{
    static const struct step steps[] = {
        {.within = 7},                     /* as any call may */
        {.within = pages / 3},             /* a third of it is new */
        {.within = pages, .every = 3},     /* seldom */
        {.before = pages / 3},             /* too few for it */
        {.before = 5 * pages},             /* so many are not of it */
        {.within = pages, .every = STEPS}, /* its first use */
        {0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct analyzed a = played(steps[i], XFT_DIR_D2H, NULL);
        assert_null(found(&a));
        analyzed_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_within), cmocka_unit_test(test_no_longer),
        cmocka_unit_test(test_huge),   cmocka_unit_test(test_before),
        cmocka_unit_test(test_left),   cmocka_unit_test(test_before_other_calls),
    };
    return cmocka_run_group_tests_name("findings: fresh memory", tests, NULL, NULL);
}
