/* Copies of pageable memory whose calls return when the data is staged: what kept them back on the
 * device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/whatif/ops/ops_queue.h"
#include "tests/analyzer/lab/hand_ops.h"

enum { CALL = 2000, WAY = 4000, TAKES = 900, SPACE = 500, MOST = 2048 };

static struct xfw_op resolved[MOST];
static unsigned count;

static void collect(void *self, const struct xfw_op *op)
{
    (void)self;
    resolved[count++] = *op;
}

/* A copy as it was recorded: its call takes CALL. */
static struct xfw_op copy(unsigned thread, double start, double device_start)
{
    struct xfw_op op = hand_work(XFW_COPY, thread, 0, 0, 0);
    op.thread = thread;
    op.engine = XFW_TO_DEVICE;
    op.exclusive = true;
    op.start_ns = start;
    op.end_ns = start + CALL;
    op.device_start_ns = device_start;
    op.device_end_ns = device_start + TAKES;
    return op;
}

static void run(const struct xfw_op *ops, unsigned number, bool blocks)
{
    const struct xfw_sink sink = {.op = collect};
    struct xfw_records_costs costs = {0};
    struct xfw_ops_queue *queue = xfw_ops_queue_new(&sink, &costs);
    xfw_ops_queue_begin(queue, 0);
    count = 0;
    for (unsigned i = 0; i < number; i++)
        xfw_ops_queue_push(queue, &ops[i])->blocks = blocks;
    xfw_ops_queue_release(queue, true);
    assert_int_equal(count, number);
    xfw_ops_queue_free(queue);
}

/* Their calls follow each other faster than the device copies: each waits for the one before, not
 * for as long as it did behind its call. */
static void test_queued(void **state)
{
    static struct xfw_op ops[8];
    (void)state;
    for (unsigned i = 0; i < 8; i++)
        ops[i] = copy(0, 100 + i * CALL / 2.0, 100 + WAY + i * (TAKES + SPACE) * 4);
    run(ops, 8, true);
    for (unsigned i = 0; i < 8; i++)
        assert_true(resolved[i].awaits == XFW_AWAITS_NOTHING && resolved[i].latency_ns <= WAY);
}

/* One whose call returns behind its start has waited for that. */
static void test_awaited(void **state)
{
    struct xfw_op op = copy(0, 100, 100 + CALL - TAKES / 2.0);
    (void)state;
    op.device_end_ns += 10.0 * TAKES;
    run(&op, 1, true);
    assert_true(resolved[0].awaits == XFW_AWAITS_ITS_START && resolved[0].wake_ns == TAKES / 2.0);
}

/* Another thread filled its stream, by a thousand calls, before the first copy of this one came to
 * run: it queued behind the last of these. */
static void test_far_ahead(void **state)
{
    static struct xfw_op ops[MOST];
    const unsigned others = 1000;
    const double pitch = TAKES + SPACE, begins = 100 + WAY;
    (void)state;
    ops[0] = copy(1, 100, begins + others * pitch);
    for (unsigned i = 1; i <= others; i++)
        ops[i] = copy(0, 100 + i, begins + (i - 1) * pitch);
    run(ops, others + 1, true);
    assert_true(resolved[0].latency_ns <= WAY && resolved[0].space_ns <= SPACE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queued),
        cmocka_unit_test(test_awaited),
        cmocka_unit_test(test_far_ahead),
    };
    return cmocka_run_group_tests_name("staged copies", tests, NULL, NULL);
}
