/* early-wait: which waits it names, and what the run would save. */
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

enum { FETCH = 10, WAIT, STEPS = 20, CALL_NS = 1500, WAKE_NS = 2000 };

/* So long a result takes on the device, and the host is busy afterwards. */
struct steps {
    enum xft_direction direction;
    uint64_t bytes, device_ns, own_ns;
};

static struct analyzed played(const struct steps *steps)
{
    struct trace_builder b;
    struct play play;
    struct xfp_profile *profile = measured_profile(0);
    play_start(&play, &b, 1);
    play_site(&play, FETCH, "fetch", 1);
    play_site(&play, WAIT, "await", 2);
    for (int i = 0; i < STEPS; i++) {
        play_awaited(&play, FETCH, WAIT, steps->direction, steps->bytes, steps->device_ns, WAKE_NS);
        play.now += steps->own_ns;
    }
    play_end(&play, XFT_STATE_CLOSED);
    return analyzed_played(&b, profile);
}

static const struct xfa_finding *early(const struct analyzed *a)
{
    for (size_t i = 0; i < a->findings->count; i++)
        if (a->findings->items[i].id == XFA_FINDING_EARLY_WAIT)
            return &a->findings->items[i];
    return NULL;
}

/* All of the own work covers the copy; the last step has none behind it that counts. */
static void test_saved(void **state)
{
    const struct steps steps = {XFT_DIR_D2H, 16 * MIB, 300000, 500000};
    struct analyzed a = played(&steps);
    const struct xfa_finding *f = early(&a);
    assert_non_null(f);
    assert_int_equal(f->transfers, STEPS - 1);
    assert_int_equal(f->bytes, (STEPS - 1) * 16 * MIB);
    assert_int_equal(f->site_count, 1);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_WAIT_LATER);
    assert_non_null(f->assumed);
    double waited = 500 + 300000 + WAKE_NS - CALL_NS - 100;
    assert_true(fabs(f->lost_ns - (STEPS - 1) * waited) < 1);
    /* A wait that has nothing to wait for still takes its own time. */
    assert_true(f->saving.likely > (STEPS - 1) * (waited - 2 * WAKE_NS));
    assert_true(f->saving.likely <= STEPS * waited);
    assert_true(f->saving.low < 1 && f->saving.high >= f->saving.likely); /* at worst nothing */
    analyzed_free(&a);
}

/* The thread's own time covers a part of the wait. */
static void test_covered_in_part(void **state)
{
    const struct steps steps = {XFT_DIR_D2H, 16 * MIB, 300000, 100000};
    struct analyzed a = played(&steps);
    const struct xfa_finding *f = early(&a);
    (void)state;
    assert_non_null(f);
    assert_true(fabs(f->lost_ns - (STEPS - 1) * (100000 + 100)) < 1);
    analyzed_free(&a);
}

/* Time enough to read the result, none to speak of, or nothing fetched: nothing is said. */
static void test_left(void **state)
{
    const struct steps others[] = {
        {XFT_DIR_D2H, 4 * MIB, 300000, 500000},
        {XFT_DIR_D2H, 16 * MIB, 300000, 5000},
        {XFT_DIR_H2D, 16 * MIB, 300000, 500000},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct analyzed a = played(&others[i]);
        assert_null(early(&a));
        analyzed_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_saved),
        cmocka_unit_test(test_covered_in_part),
        cmocka_unit_test(test_left),
    };
    return cmocka_run_group_tests_name("findings: early waits", tests, NULL, NULL);
}
