/* Rows that become contiguous, played by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/rows.h"
#include "tests/analyzer/hand_ops.h"
#include "tests/analyzer/scenario.h"

enum { BYTES = 1 << 20, NARROW_NS = 90000, IN_CALL = 7, CALL_NS = 100, LATENCY_NS = 50 };

static double played(struct xfw_op op, enum xfw_certainty certainty)
{
    struct xfa_run run = {0};
    struct xfa_analysis analysis = {0};
    struct xfp_profile *profile = scenario_profile();
    xfa_achievable_init(&analysis.achievable, profile, &run);
    struct xfw_rows_path *paths = xfa_alloc(3 * sizeof *paths);
    paths[0] = (struct xfw_rows_path){5, &profile->paths[0], false};
    paths[1] = (struct xfw_rows_path){2, &profile->paths[0], false};
    paths[2] = (struct xfw_rows_path){IN_CALL, &profile->paths[0], true};
    struct xfw_change *change = xfw_change_rows(&analysis, paths, 3);
    const struct xfw_op ops[] = {op, hand_wait(0)};
    double end = hand_play(ops, 2, change, certainty);
    xfw_change_free(change);
    xfp_free(profile);
    return end;
}

static struct xfw_op narrow(uint32_t class, double ns)
{
    struct xfw_op op = hand_work(XFW_COPY, 0, CALL_NS, LATENCY_NS, ns);
    op.class = class;
    op.bytes = BYTES;
    return op;
}

static void test_as_contiguous_ones(void **state)
{
    const double gathered = 30 + 0.12 * BYTES; /* by the host, at worst */
    const double contiguous = LATENCY_NS + link_ns(BYTES);
    assert_true(played(narrow(2, NARROW_NS), XFW_LIKELY) == contiguous);
    assert_true(played(narrow(5, NARROW_NS), XFW_HIGH) == contiguous);
    assert_true(played(narrow(5, NARROW_NS), XFW_LOW) == gathered + contiguous);
}

/* Of pageable memory: the call takes so much less, whatever its parts. */
static double call_of_pageable(uint8_t awaits, double own_ns, double duration_ns)
{
    struct xfw_op op = narrow(IN_CALL, duration_ns);
    op.awaits = awaits;
    op.own_ns = own_ns;
    return played(op, XFW_LIKELY);
}

static void test_pageable(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    double blocking = xfw_copy_cost(&profile->paths[0], BYTES, XFW_LIKELY).blocking_ns;
    xfp_free(profile);
    assert_true(blocking > 0 && blocking < NARROW_NS);
    assert_true(fabs(call_of_pageable(XFW_AWAITS_ITSELF, 0, NARROW_NS) - blocking) < 1);
    assert_true(fabs(call_of_pageable(XFW_AWAITS_NOTHING, NARROW_NS, 0) - blocking) < 1);
    assert_true(call_of_pageable(XFW_AWAITS_NOTHING, 500, 0) == 500); /* is as fast already */
}

/* Of other classes, and those that are as fast already. */
static void test_others(void **state)
{
    assert_true(played(narrow(3, NARROW_NS), XFW_LIKELY) == LATENCY_NS + NARROW_NS);
    assert_true(played(narrow(XFW_NONE, NARROW_NS), XFW_LIKELY) == LATENCY_NS + NARROW_NS);
    assert_true(played(narrow(2, 5000), XFW_LIKELY) == LATENCY_NS + 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_contiguous_ones),
        cmocka_unit_test(test_pageable),
        cmocka_unit_test(test_others),
    };
    return cmocka_run_group_tests_name("what if: rows", tests, NULL, NULL);
}
