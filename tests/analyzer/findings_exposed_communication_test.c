/* exposed-communication: time of messages without a kernel beside it, a question. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/analyzed.h"
#include "tests/analyzer/ranked.h"

enum { STEPS = 50, STEP_NS = 1000000, CALL_NS = 200000 };

/* A call of 200 us in each step, of 1 ms; a kernel from there on, since the step began. */
static struct analyzed played(uint64_t kernel_from, uint64_t kernel_ns, const char *kernels)
{
    struct ranked r;
    struct xfp_profile *profile = scenario_profile();
    struct xft_event copy = test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PINNED, 64, 0, 0);
    copy.stack = STACK_UPLOAD;
    ranked_start(&r, 0, 2, "node1");
    build_meta(&r.b, "kernels", kernels);
    for (uint64_t i = 0; i <= STEPS; i++) {
        uint64_t at = 100000 + i * STEP_NS;
        ranked_event(&r, copy, at, at + 10000);
        if (i == STEPS)
            break;
        ranked_recv(&r, 1, 5, 1000, at + 300000, at + 300000 + CALL_NS);
        ranked_irecv(&r, 1, 5, 1000, at + 600000, 0xb);
        if (kernel_ns)
            ranked_event(&r, (struct xft_event){.kind = XFT_EVENT_KERNEL}, at + kernel_from,
                         at + kernel_from + kernel_ns);
    }
    ranked_end(&r);
    return analyzed_played(&r.b, profile);
}

static const struct xfa_finding *exposed(const struct analyzed *a)
{
    return analyzed_finding(a, XFA_FINDING_EXPOSED_COMMUNICATION, NULL);
}

/* Likely nothing, at best all of it: that is asked. */
static void test_question(void **state)
{
    struct analyzed a = played(550000, 300000, "on");
    const struct xfa_finding *f = exposed(&a);
    (void)state;
    assert_non_null(f);
    assert_int_equal(f->transfers, STEPS);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_OVERLAP_MESSAGES);
    assert_true(fabs(f->lost_ns - STEPS * (double)CALL_NS) < 1);
    assert_true(fabs(f->saving.likely) < STEPS * 100);
    assert_true(f->saving.high >= 0.95 * STEPS * CALL_NS);
    assert_true(f->asked);
    analyzed_free(&a);
}

/* A kernel beside a part of the call: before, within, behind. No more than kernels run. */
static void test_in_part(void **state)
{
    static const struct {
        uint64_t from, ns;
        double lost;
    } kernels[] = {{0, 350000, 150000},
                   {350000, 100000, 100000},
                   {400000, 500000, 100000},
                   {600000, 50000, 50000}};
    (void)state;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        struct analyzed a = played(kernels[i].from, kernels[i].ns, "on");
        assert_non_null(exposed(&a));
        assert_true(fabs(exposed(&a)->lost_ns - STEPS * kernels[i].lost) < 1);
        analyzed_free(&a);
    }
}

/* All of it beside a kernel, no kernel at all, kernels that were not recorded: nothing is said. */
static void test_left(void **state)
{
    (void)state;
    struct analyzed a = played(250000, 300000, "on");
    assert_null(exposed(&a));
    analyzed_free(&a);
    a = played(0, 0, "on");
    assert_null(exposed(&a));
    analyzed_free(&a);
    a = played(550000, 300000, "off");
    assert_null(exposed(&a));
    analyzed_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_question),
        cmocka_unit_test(test_in_part),
        cmocka_unit_test(test_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
