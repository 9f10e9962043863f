/* Memory that one thread fills and another one gives back: when it goes on in the run played. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/whatif/changes/passed_on.h"

enum { MOST = 3, FILLS_NS = 400000, TOOK_NS = 2000000, SOON_NS = 20000 };

static struct xfw_op op_of(uint32_t thread, double start, double gap)
{
    struct xfw_op op = xfw_op_none();
    op.thread = thread;
    op.start_ns = start;
    op.end_ns = start + 1000;
    op.gap_ns = gap;
    return op;
}

/* Blocks are taken by thread 0 until all are held; then thread 1 gives one back at 1e7, which was
 * at 5e6 as played. */
static struct xfw_passed all_held(void)
{
    struct xfw_passed passed = {0};
    for (unsigned i = 0; i < MOST; i++) {
        struct xfw_op take = op_of(0, i * 1e6, FILLS_NS);
        xfw_passed_take(&passed, &take, MOST, i > 0, take.start_ns);
        assert_true(take.gap_ns == FILLS_NS);
    }
    struct xfw_op give = op_of(1, 1e7, 0);
    xfw_passed_give(&passed, &give, 5e6);
    return passed;
}

static double gap_of(struct xfw_passed passed, uint32_t thread, double behind, uint64_t most,
                     double now)
{
    struct xfw_op take = op_of(thread, 1e7 + 1000 + behind, TOOK_NS);
    take.woken_by = 1;
    xfw_passed_take(&passed, &take, most, true, now);
    assert_true(take.woken_by == (take.gap_ns == TOOK_NS ? 1 : XFW_NONE));
    return take.gap_ns;
}

/* It waited for the block: now it goes on when it has filled the one before, and a block is free.
 */
static void test_waited(void **state)
{
    struct xfw_passed passed = all_held();
    (void)state;
    assert_true(gap_of(passed, 0, SOON_NS, MOST, 5e6) == FILLS_NS);
    assert_true(gap_of(passed, 0, SOON_NS, MOST, 4.9e6) == FILLS_NS);
    assert_true(gap_of(passed, 0, SOON_NS, MOST, 4e6) == 1e6);
}

static void test_did_not_wait(void **state)
{
    struct xfw_passed passed = all_held();
    (void)state;
    assert_true(gap_of(passed, 0, 1.1e6, MOST, 5e6) == TOOK_NS);       /* long behind it */
    assert_true(gap_of(passed, 1, SOON_NS, MOST, 5e6) == TOOK_NS);     /* it gave it back itself */
    assert_true(gap_of(passed, 0, SOON_NS, MOST + 1, 5e6) == TOOK_NS); /* more were held before */
    assert_true(passed.fills == MOST - 1);
    struct xfw_op take = op_of(0, 1e7 + 1000 + SOON_NS, TOOK_NS); /* it called for something else */
    xfw_passed_take(&passed, &take, MOST, false, 5e6);
    assert_true(take.gap_ns == TOOK_NS && passed.fills == MOST - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waited),
        cmocka_unit_test(test_did_not_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
