/* What changes and records cost, by profiles made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/records_cost.h"

enum { BYTES = 16 << 20, OTHERWISE = 42 };

/* GPUs of the run are the profile's by their uuids, in another order. */
static char first[] = "GPU-1", second[] = "GPU-2";
static struct xfa_gpu gpus[] = {{.uuid = first, .ordinal = 0}, {.uuid = second, .ordinal = 1}};
static const struct xfa_run run = {.gpus = gpus, .gpu_count = 2};

static void test_without_a_profile(void **state)
{
    struct xfa_achievable none;
    xfa_achievable_init(&none, NULL, &run);
    assert_int_equal(xfa_achievable_gpu(&none, 1), 1);
    assert_int_equal(xfa_achievable_gpu(&none, -1), -1);
    for (int gpu = -1; gpu < 2; gpu++) {
        bool known = true;
        assert_null(xfw_host_path(&none, XFT_DIR_H2D, XFT_MEM_PINNED, -1, gpu));
        assert_true(xfw_table_cost(&none, "alloc/device", -1, gpu, BYTES, XFW_LIKELY) == 0);
        assert_true(xfw_scalar_cost(&none, "event/record", gpu, OTHERWISE) == OTHERWISE);
        assert_true(xfw_registration_cost(&none, -1, gpu, BYTES, XFW_LIKELY, &known) == 0);
        assert_false(known);
        assert_false(xfw_records_cost_of(&none, gpu).known);
    }
    assert_int_equal(xfw_staging_threads(&none, XFT_DIR_H2D), 0);
    assert_false(xfw_staging_cost(&none, NULL, BYTES, 1, XFW_LIKELY).known);
    xfa_achievable_free(&none);
}

static struct xfp_scalar scalar(char *name, double ns)
{
    return (struct xfp_scalar){.name = name, .unit = "ns", .cost = {.n = 1, .median = ns}};
}

/* The second GPU of the run is the first of the profile. */
static void test_records(void **state)
{
    static char launch[] = "records/launch/gpu0", device[] = "records/launch-device/gpu0";
    static char call[] = "records/copy/d2h/gpu0", blocking[] = "records/copy-blocking/d2h/gpu0";
    static char moved[] = "records/migration/h2d/gpu0", other[] = "records/launch/gpu1";
    struct xfp_scalar scalars[] = {scalar(launch, 3),    scalar(device, 5), scalar(call, 7),
                                   scalar(blocking, 11), scalar(moved, 13), scalar(other, 17)};
    struct xfp_gpu known[] = {{.uuid = second}, {.uuid = first}};
    const struct xfp_profile profile = {.machine = {.gpus = known, .gpu_count = 2},
                                        .scalars = scalars,
                                        .scalar_count = sizeof scalars / sizeof *scalars};
    struct xfa_achievable achievable;
    xfa_achievable_init(&achievable, &profile, &run);
    struct xfw_records_costs costs = {.achievable = &achievable};

    struct xfw_op op = {.what = XFW_KERNEL, .gpu = 1};
    xfw_records_costs_add(&costs, &op, false, false);
    assert_true(op.records_ns == 0 && op.records_device_ns == 0);
    xfw_records_costs_add(&costs, &op, false, true);
    assert_true(op.records_ns == 3 && op.records_device_ns == 5);
    op.gpu = 0;
    xfw_records_costs_add(&costs, &op, false, true);
    assert_true(op.records_ns == 17 && op.records_device_ns == 0);

    struct xfw_op copy = {.what = XFW_COPY, .gpu = 1, .engine = XFW_TO_HOST};
    xfw_records_costs_add(&costs, &copy, false, true);
    assert_true(copy.records_ns == 7);
    xfw_records_costs_add(&costs, &copy, true, true);
    assert_true(copy.records_ns == 11);

    struct xfw_op faults = {.demanded = {.records = 4, .gpu = 1}, .fetched = {.gpu = 1}};
    xfw_records_costs_add_moves(&costs, &faults);
    assert_true(faults.demanded.records_ns == 4 * 13 && faults.fetched.records_ns == 0);
    assert_true(xfw_records_cost_of(&achievable, 1).moves_known);
    assert_false(xfw_records_cost_of(&achievable, 0).moves_known);
    xfa_achievable_free(&achievable);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_profile),
        cmocka_unit_test(test_records),
    };
    return cmocka_run_group_tests_name("what if: costs", tests, NULL, NULL);
}
