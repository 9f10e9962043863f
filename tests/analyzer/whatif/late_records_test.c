/* Copies whose record of the device ends long after work behind them in their stream began; kernels
 * that were launched before CUPTI made records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/whatif/ops/ops_pending.h"
#include "tests/analyzer/lab/hand_ops.h"

enum { US = 1000, LATE = 18000, BYTES = 73728, MOST = 4 };

static struct xfw_op ops[MOST];
static size_t count;

static void collect(void *self, const struct xfw_op *op)
{
    assert_true(count < MOST);
    ops[count++] = *op;
}

struct ran {
    enum xfw_what what;
    uint32_t stream;
    double start_us, end_us; /* on the device; each is called 1 us behind the one before */
};

/* What becomes of them; the first one is kept until `kept_us` at least. */
static void play(const struct ran *ran, size_t of, double kept_us)
{
    const struct xfw_sink sink = {.op = collect};
    struct xfw_records_costs costs = {0};
    struct xfw_ops_queue *queue = xfw_ops_queue_new(&sink, &costs);
    count = 0;
    xfw_ops_queue_begin(queue, 0);
    for (size_t i = 0; i < of; i++) {
        struct xfw_op op = hand_work(ran[i].what, ran[i].stream, 0, 0, 0);
        op.exclusive = false;
        op.bytes = BYTES;
        op.start_ns = (double)i * US;
        op.end_ns = op.start_ns + 500;
        op.device_start_ns = ran[i].start_us * US;
        op.device_end_ns = ran[i].end_us * US;
        xfw_ops_queue_at(queue, (uint64_t)(ran[i].start_us * US));
        xfw_ops_queue_push(queue, &op);
        xfw_ops_queue_release(queue, false);
        assert_true(count == 0 || ran[i].start_us >= kept_us);
    }
    xfw_ops_queue_release(queue, true);
    assert_int_equal(count, of);
    xfw_ops_queue_free(queue);
}

/* It had ended when the next work of its stream began. */
static void test_a_late_end(void **state)
{
    static const struct ran ran[] = {{XFW_COPY, 0, 20, LATE},
                                     {XFW_KERNEL, 1, 40, 50},
                                     {XFW_KERNEL, 0, 60, 100},
                                     {XFW_KERNEL, 0, 100, 120}};
    play(ran, 4, LATE);
    assert_true(ops[0].device_end_ns == 60 * US && ops[0].duration_ns == 40 * US);
    assert_true(ops[2].duration_ns == 40 * US);
}

/* One that took long, and nothing began meanwhile. */
static void test_a_slow_copy(void **state)
{
    static const struct ran ran[] = {
        {XFW_COPY, 0, 20, LATE}, {XFW_KERNEL, 1, 40, 50}, {XFW_KERNEL, 0, LATE, LATE + 100}};
    play(ran, 3, LATE);
    assert_true(ops[0].device_end_ns == LATE * US);
}

/* What takes as long as it may is not kept; kernels may overlap with the next one of their stream.
 */
static void test_no_doubt(void **state)
{
    static const struct ran usual[] = {{XFW_COPY, 0, 20, 1000}, {XFW_KERNEL, 0, 60, 100}};
    static const struct ran kernel[] = {{XFW_KERNEL, 0, 20, LATE}, {XFW_KERNEL, 0, 60, 100}};
    play(usual, 2, 0);
    assert_true(ops[0].device_end_ns == 1000 * US);
    play(kernel, 2, 0);
    assert_true(ops[0].device_end_ns == LATE * US);
}

/* Of a kernel no record is made, of the blocking copy behind it there is one. */
static void play_before_records(double called_us, double copied_us)
{
    const struct xfw_sink sink = {.op = collect};
    struct xfw_records_costs costs = {0};
    struct xfw_ops_queue *queue = xfw_ops_queue_new(&sink, &costs);
    struct xfw_op kernel = hand_work(XFW_KERNEL, 0, 0, 0, 0);
    struct xfw_op copy = hand_work(XFW_COPY, 0, 0, 0, 0);
    count = 0;
    xfw_ops_queue_begin(queue, 0);
    kernel.end_ns = 500;
    xfw_ops_queue_push(queue, &kernel);
    xfw_ops_queue_release(queue, false);
    assert_int_equal(count, 0);
    copy.bytes = 8;
    copy.start_ns = called_us * US;
    copy.device_start_ns = copied_us * US;
    copy.device_end_ns = copy.device_start_ns + 2 * US;
    copy.end_ns = copy.device_end_ns + 50 * US;
    xfw_ops_queue_push(queue, &copy)->blocks = true;
    xfw_ops_queue_release(queue, true);
    assert_int_equal(count, 2);
    xfw_ops_queue_free(queue);
}

/* The copy waited for it: it ran until then, though CUPTI began meanwhile. Else nothing is known.
 */
static void test_before_records(void **state)
{
    play_before_records(13000, 133000);
    assert_true(ops[0].device_start_ns == 0 && ops[0].device_end_ns == 133000 * US);
    assert_true(ops[0].duration_ns == 133000 * US && ops[1].latency_ns == 0);
    for (int late = 0; late < 2; late++) {
        double waited = late ? 30 : 1000;
        play_before_records(late ? 20 : 13000, (late ? 20 : 13000) + waited);
        assert_true(ops[0].duration_ns == 0 && ops[1].latency_ns == waited * US);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_late_end),
        cmocka_unit_test(test_a_slow_copy),
        cmocka_unit_test(test_no_doubt),
        cmocka_unit_test(test_before_records),
    };
    return cmocka_run_group_tests_name("what-if: late records", tests, NULL, NULL);
}
