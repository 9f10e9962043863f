/* Runs of which the device tells only in part, since recording gave way: times of transfers from
 * others of their class, and durations of the replay. */
#include <setjmp.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/pass/samples.h"
#include "analyzer/whatif/ops/recorded.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/play.h"

enum { SMALL = 65536, LARGE = 1 << 20 };

static struct trace_builder b;
static struct play play;

static void start(bool sampled)
{
    play_start(&play, &b, 1);
    if (sampled)
        build_meta(&b, "timing.sampled", "1");
}

static void copy(uint64_t bytes, uint64_t device_ns)
{
    play_async(&play, STACK_UPLOAD, XFT_DIR_H2D, XFT_MEM_PINNED, bytes, device_ns);
    play.now += 10000;
}

static struct analyzed analysed(const struct xfp_profile *profile)
{
    play_end(&play, XFT_STATE_CLOSED);
    return analyzed_trace(&b, profile);
}

static void end(struct analyzed *a)
{
    analyzed_free(a);
    build_free(&b);
}

/* Two of 2000 and 4000 ns, three of which nothing was recorded, one of another size. */
static void play_copies(bool sampled)
{
    start(sampled);
    copy(SMALL, 2000);
    copy(SMALL, 4000);
    for (int i = 0; i < 3; i++)
        copy(SMALL, 0);
    copy(LARGE, 0);
}

static void test_times_of_others(void **state)
{
    (void)state;
    play_copies(true);
    struct analyzed a = analysed(NULL);
    const struct xfa_figures *figures = analyzed_figures(&a, 0);
    assert_int_equal(figures->transfers, 6);
    assert_int_equal(figures->device.transfers, 2);
    assert_int_equal(figures->sampled.transfers, 3);
    assert_true(fabs(figures->sampled.ns - 3 * 3000) < 1);
    /* The mean of 2000 and 4000: a deviation of 1414, of the mean 1000, a third. */
    assert_true(fabs(figures->sampled_error_ns - 3 * 1000) < 1);
    assert_true(fabs(xfa_achieved_gbps(figures) - 2.0 * SMALL / 6000) < 1e-6);
    end(&a);
}

/* A trace of which nothing says that it was sampled: what is not there is not known. */
static void test_not_sampled(void **state)
{
    (void)state;
    play_copies(false);
    struct analyzed a = analysed(NULL);
    assert_int_equal(analyzed_figures(&a, 0)->device.transfers, 2);
    assert_int_equal(analyzed_figures(&a, 0)->sampled.transfers, 0);
    end(&a);
}

/* Transfers whose time was not recorded are as far from what is achievable as the others. */
static void test_lost(void **state)
{
    (void)state;
    struct xfp_profile *profile = scenario_profile();
    double best = link_ns(SMALL);
    start(true);
    copy(SMALL, (uint64_t)best + 5000);
    copy(SMALL, (uint64_t)best + 5000);
    copy(SMALL, 0);
    struct analyzed a = analysed(profile);
    assert_int_equal(analyzed_figures(&a, 0)->lost.transfers, 3);
    assert_true(fabs(xfa_lost_ns(analyzed_figures(&a, 0)) - 3 * 5000) < 10);
    end(&a);
    xfp_free(profile);
}

/* Events around a copy take longer than it: CUPTI's times come first. */
static void test_by_events(void **state)
{
    (void)state;
    struct xfa_samples samples;
    struct xfa_event event = {.bytes = SMALL, .transfer = {.achieved_ns = 5000}};
    event.transfer.device.by_events = true;
    xfa_samples_init(&samples);
    assert_int_equal(xfa_samples_of(&samples, 7, SMALL).count, 0);
    xfa_samples_add(&samples, 7, &event);
    assert_true(xfa_samples_of(&samples, 7, SMALL).mean_ns == 5000);
    assert_true(isnan(xfa_samples_of(&samples, 7, SMALL).error));
    event.transfer.device.by_events = false;
    event.transfer.achieved_ns = 1000;
    xfa_samples_add(&samples, 7, &event);
    xfa_samples_add(&samples, 7, &event);
    assert_true(xfa_samples_of(&samples, 7, SMALL + 1).mean_ns == 1000);
    assert_int_equal(xfa_samples_of(&samples, 7, SMALL + 1).count, 2);
    assert_true(xfa_samples_of(&samples, 7, SMALL).error == 0);
    assert_int_equal(xfa_samples_of(&samples, 7, 2 * SMALL).count, 0);
    assert_int_equal(xfa_samples_of(&samples, 8, SMALL).count, 0);
    xfa_samples_free(&samples);
}

static struct xfw_op kernel(uint32_t name, double at, double device_ns)
{
    struct xfw_op op = xfw_op_none();
    op.what = XFW_KERNEL;
    op.kind = XFT_EVENT_LAUNCH;
    op.name = name;
    op.threads = 32;
    op.gpu = 0;
    op.stream = 0;
    op.engine = XFW_COMPUTE;
    op.start_ns = at;
    op.end_ns = at + 3000;
    if (device_ns > 0) {
        op.device_start_ns = at + 5000;
        op.device_end_ns = at + 5000 + device_ns;
    }
    return op;
}

static void test_kernels(void **state)
{
    (void)state;
    struct xfw_recorded *recorded = xfw_recorded_new();
    struct xfw_op ops[] = {kernel(1, 0, 10000), kernel(1, 100000, 20000), kernel(2, 200000, 0),
                           kernel(1, 300000, 0)};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        xfw_recorded_resolve(recorded, &ops[i], false, NULL);
    assert_true(ops[0].duration_ns == 10000);
    assert_true(ops[2].duration_ns == 0); /* nothing is known of any like it */
    assert_true(ops[3].duration_ns == 15000);
    xfw_recorded_free(recorded);
}

/* A copy that blocks without a record of it: what it does not take itself it waited for. */
static void test_blocking_copy(void **state)
{
    (void)state;
    struct xfw_recorded *recorded = xfw_recorded_new();
    struct xfw_op op = xfw_op_none();
    op.what = XFW_COPY;
    op.kind = XFT_EVENT_TRANSFER;
    op.gpu = 0;
    op.stream = 0;
    op.engine = XFW_TO_HOST;
    op.start_ns = 1000;
    op.end_ns = 11000;
    op.duration_ns = 4000;
    xfw_recorded_resolve(recorded, &op, true, NULL);
    assert_int_equal(op.awaits, XFW_AWAITS_ITSELF);
    assert_true(op.duration_ns == 4000 && op.latency_ns == 6000);
    assert_true(op.own_ns == 0 && op.wake_ns == 0);
    xfw_recorded_free(recorded);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times_of_others),
        cmocka_unit_test(test_not_sampled),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_by_events),
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_blocking_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
