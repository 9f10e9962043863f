/* What changes and records cost, by profiles made by hand; and how often the profile is asked: once
 * for each size, however many copies there are. xfp_time() and the searches for a path are counted
 * (CMakeLists.txt). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/op/recording_cost.h"
#include "tests/analyzer/lab/hand_ops.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/scenario.h"

enum { COPIES = 1000, SIZES = 4, SIZE = 65536 };

static unsigned times, searches;
static double error; /* of all times; 0: the profile's */

struct xfp_estimate __real_xfp_time(const struct xfp_path *path, uint64_t bytes);
struct xfp_estimate __wrap_xfp_time(const struct xfp_path *path, uint64_t bytes);
const struct xfp_path *__real_xfp_find(const struct xfp_profile *profile, enum xfp_method method,
                                       struct xfp_place src, struct xfp_place dst, bool blocking);
const struct xfp_path *__wrap_xfp_find(const struct xfp_profile *profile, enum xfp_method method,
                                       struct xfp_place src, struct xfp_place dst, bool blocking);
const struct xfp_scalar *__real_xfp_find_scalar(const struct xfp_profile *profile,
                                                const char *name);
const struct xfp_scalar *__wrap_xfp_find_scalar(const struct xfp_profile *profile,
                                                const char *name);

struct xfp_estimate __wrap_xfp_time(const struct xfp_path *path, uint64_t bytes)
{
    times++;
    struct xfp_estimate estimate = __real_xfp_time(path, bytes);
    estimate.error = error > 0 ? error : estimate.error;
    return estimate;
}

const struct xfp_path *__wrap_xfp_find(const struct xfp_profile *profile, enum xfp_method method,
                                       struct xfp_place src, struct xfp_place dst, bool blocking)
{
    searches++;
    return __real_xfp_find(profile, method, src, dst, blocking);
}

const struct xfp_scalar *__wrap_xfp_find_scalar(const struct xfp_profile *profile, const char *name)
{
    searches++;
    return __real_xfp_find_scalar(profile, name);
}

static uint64_t size_of(unsigned i)
{
    return (uint64_t)SIZE << i % SIZES;
}

/* ---- answers remembered ---------------------------------------------------------------------- */

/* Of copies whose sizes take turns, in both directions, at worst and likely. */
static void test_costs(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    struct xfa_run run = {.gpu_count = 0};
    struct xfa_achievable achievable;
    struct xfw_asked asked = {0};
    xfa_achievable_init(&achievable, profile, &run);
    times = searches = 0;
    for (unsigned i = 0; i < COPIES; i++) {
        enum xft_direction direction = i % 3 ? XFT_DIR_H2D : XFT_DIR_D2H;
        enum xfw_certainty certainty = i % 5 ? XFW_LIKELY : XFW_LOW;
        const struct xfp_path *path =
            xfw_asked_path(&asked, &achievable, direction, XFT_MEM_PINNED, -1, 0);
        struct xfw_copy_cost cost = xfw_asked_cost(&asked, path, size_of(i), certainty);
        assert_true(xfw_asked_scalar(&asked, &achievable, "no/such", 0, 7) == 7);
        if (i >= COPIES / 2) /* it is kept by now, and the same as if asked */
            continue;
        unsigned before = times, found = searches;
        struct xfw_copy_cost anew = xfw_copy_cost(path, size_of(i), certainty);
        assert_ptr_equal(path, xfw_host_path(&achievable, direction, XFT_MEM_PINNED, -1, 0));
        assert_true(cost.known && cost.device_ns == anew.device_ns &&
                    cost.blocking_ns == anew.blocking_ns && cost.submit_ns == anew.submit_ns);
        times = before;
        searches = found;
    }
    assert_int_equal(searches, 2 + 1);
    assert_in_range(times, 1, 2 * SIZES * 2);
    xfa_achievable_free(&achievable);
    xfp_free(profile);
}

/* Half of what one asynchronous copy and the wait for it take beyond the device's time. */
static void test_around(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    struct xfa_run run = {.gpu_count = 0};
    struct xfa_achievable achievable;
    struct xfw_asked asked = {0};
    (void)state;
    xfa_achievable_init(&achievable, profile, &run);
    assert_true(isnan(xfw_around_ns(&achievable, XFT_DIR_H2D, 0)));
    const struct xfp_path *path = xfw_host_path(&achievable, XFT_DIR_H2D, XFT_MEM_PINNED, -1, 0);
    double device = xfp_time(path, SIZE).ns;
    struct xfp_row row = {.at = 1, .cost = {.median = device + 3000}};
    struct xfp_table table = {.name = "copies/single/h2d/gpu0",
                              .by = "copies",
                              .bytes = SIZE,
                              .row_count = 1,
                              .rows = &row};
    struct xfp_table *tables = profile->tables;
    size_t count = profile->table_count;
    profile->tables = &table;
    profile->table_count = 1;
    tables_anew(&achievable);
    for (unsigned i = 0; i < 2; i++) /* asked, and remembered */
        assert_true(fabs(xfw_asked_around(&asked, &achievable, XFT_DIR_H2D, 0, 7) - 1500) < 1);
    assert_true(xfw_asked_around(&asked, &achievable, XFT_DIR_D2H, 0, 7) == 7);
    row.cost.median = device - 10; /* the clock's error */
    assert_true(xfw_around_ns(&achievable, XFT_DIR_H2D, 0) == 0);
    profile->tables = tables;
    profile->table_count = count;
    xfa_achievable_free(&achievable);
    xfp_free(profile);
}

static void test_slowdowns(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    struct xfa_run run = {.gpu_count = 0};
    struct xfa_analysis analysis = {.profile = profile, .run = &run};
    struct xfw_slowdowns slowdowns = {0};
    xfa_achievable_init(&analysis.achievable, profile, &run);
    times = searches = 0;
    for (unsigned i = 0; i < COPIES; i++) {
        struct xfw_op op = {.what = XFW_COPY,
                            .engine = i % 3 ? XFW_TO_DEVICE : XFW_TO_HOST,
                            .bytes = size_of(i),
                            .duration_ns = 1000};
        assert_true(xfw_slowdown(&slowdowns, &analysis, XFW_LIKELY, &op) >= 1);
    }
    assert_int_equal(searches, 2); /* one for each direction */
    xfa_achievable_free(&analysis.achievable);
    xfp_free(profile);
}

/* ---- what a profile says --------------------------------------------------------------------- */

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
    assert_false(xfw_staging_cost(&none, NULL, BYTES, 1, 1, XFW_LIKELY).known);
    xfa_achievable_free(&none);
}

#define BOTH (XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS)

static struct xfp_scalar scalar(char *name, double ns)
{
    return (struct xfp_scalar){.name = name, .unit = "ns", .cost = {.n = 1, .median = ns}};
}

/* The second GPU of the run is the first of the profile. */
/* Half of the range of what processes took, up to a bound; nothing where none was measured. */
static void test_processes_differ_in_speed(void **state)
{
    static char name[] = "launch/by-process/gpu0";
    struct xfp_scalar launch = {.name = name, .cost = {.n = 6, .median = 4, .min = 3, .max = 5}};
    struct xfp_profile profile = {.scalars = &launch, .scalar_count = 1}, empty = {0};
    (void)state;

    assert_true(xfw_speed_error(&profile) == 0.25);
    launch.cost.max = 400;
    assert_true(xfw_speed_error(&profile) == XFW_MOST_SPEED_ERROR);
    launch.cost.max = launch.cost.min;
    assert_true(xfw_speed_error(&profile) == 0);
    assert_true(xfw_speed_error(&empty) == 0 && xfw_speed_error(NULL) == 0);
}

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
    enum xfw_behind behind = XFW_BEHIND_OTHER;

    struct xfw_op op = {.what = XFW_KERNEL, .gpu = 1};
    xfw_records_costs_add(&costs, &op, false, XFT_RECORDS_COPIES, &behind);
    assert_true(op.records_ns == 0 && op.records_device_ns == 0);
    xfw_records_costs_add(&costs, &op, false, BOTH, &behind);
    assert_true(op.records_ns == 3 && op.records_device_ns == 5);
    op.gpu = 0;
    xfw_records_costs_add(&costs, &op, false, BOTH, &behind);
    assert_true(op.records_ns == 17 && op.records_device_ns == 0);

    struct xfw_op copy = {.what = XFW_COPY, .gpu = 1, .engine = XFW_TO_HOST};
    xfw_records_costs_add(&costs, &copy, false, BOTH, &behind);
    assert_true(copy.records_ns == 7);
    xfw_records_costs_add(&costs, &copy, true, BOTH, &behind);
    assert_true(copy.records_ns == 11);

    struct xfw_op faults = {.demanded = {.records = 4, .gpu = 1}, .fetched = {.gpu = 1}};
    faults.duration_ns = 100;
    xfw_records_costs_add_moves(&costs, &faults, 0, 0);
    assert_true(faults.demanded.records_ns == 4 * 13 && faults.fetched.records_ns == 0);
    xfw_records_costs_add_moves(&costs, &faults, 70, 0); /* so much stays */
    assert_true(faults.demanded.records_ns == 100 - 70);
    assert_true(xfw_records_cost_of(&achievable, 1).moves_known);
    assert_false(xfw_records_cost_of(&achievable, 0).moves_known);
    xfa_achievable_free(&achievable);
}

/* CUPTI's work for the first copy and the first launch is paid once, by a process. */
static void test_first_records(void **state)
{
    static char copied[] = "records/first/copy/gpu0", launched[] = "records/first/launch/gpu0";
    static char call[] = "records/copy/h2d/gpu0";
    struct xfp_scalar scalars[] = {scalar(copied, 30000), scalar(launched, 50000), scalar(call, 7)};
    const struct xfp_profile profile = {.scalars = scalars,
                                        .scalar_count = sizeof scalars / sizeof *scalars};
    struct xfa_achievable achievable;
    xfa_achievable_init(&achievable, &profile, &run);
    struct xfw_records_costs costs = {.achievable = &achievable};
    struct xfw_op copy = {.what = XFW_COPY, .engine = XFW_TO_DEVICE}, launch = {.what = XFW_KERNEL};
    enum xfw_behind behind = XFW_BEHIND_OTHER;

    xfw_records_costs_add(&costs, &launch, false, XFT_RECORDS_COPIES, &behind); /* no kernels */
    xfw_records_costs_add(&costs, &copy, false, BOTH, &behind);
    assert_true(launch.records_ns == 0 && copy.records_ns == 30007);
    xfw_records_costs_add(&costs, &copy, false, BOTH, &behind);
    xfw_records_costs_add(&costs, &launch, false, BOTH, &behind);
    assert_true(launch.records_ns == 50000 && copy.records_ns == 7);
    xfw_records_costs_add(&costs, &launch, false, BOTH, &behind);
    assert_true(launch.records_ns == 0);
    xfa_achievable_free(&achievable);
}

static double added(struct xfw_records_costs *costs, struct xfw_op op, bool blocks,
                    enum xfw_behind *behind)
{
    xfw_records_costs_add(costs, &op, blocks, BOTH, behind);
    return op.records_ns;
}

/* A launch behind anything else, and a copy behind a launch, take longer to record. Ranges and
 * event calls between change nothing. A profile that does not know it gives the figures of others.
 */
static void test_records_in_turn(void **state)
{
    static char launched[] = "records/launch/gpu0", waited[] = "records/launch-after-wait/gpu0";
    static char call[] = "records/copy/d2h/gpu0", behind[] = "records/copy-after-launch/d2h/gpu0";
    static char blocking[] = "records/copy-blocking/d2h/gpu0";
    struct xfp_scalar scalars[] = {scalar(launched, 3), scalar(call, 7), scalar(blocking, 11),
                                   scalar(waited, 13), scalar(behind, 17)};
    struct xfp_profile profile = {.scalars = scalars, .scalar_count = 5};
    const struct xfw_op launch = {.what = XFW_KERNEL}, range = {.what = XFW_RANGE},
                        copy = {.what = XFW_COPY, .engine = XFW_TO_HOST},
                        up = {.what = XFW_COPY, .engine = XFW_TO_DEVICE},
                        wait = {.what = XFW_CALL, .kind = XFT_EVENT_SYNC};

    for (int known = 0; known < 2; known++) {
        struct xfa_achievable achievable;
        profile.scalar_count = known ? 5 : 3;
        xfa_achievable_init(&achievable, &profile, &run);
        struct xfw_records_costs costs = {.achievable = &achievable};
        enum xfw_behind of = XFW_BEHIND_OTHER;
        assert_true(added(&costs, launch, false, &of) == (known ? 13 : 3));
        assert_true(added(&costs, launch, false, &of) == 3);
        assert_true(added(&costs, range, false, &of) == 0);
        assert_true(added(&costs, copy, false, &of) == (known ? 17 : 7));
        assert_true(added(&costs, copy, false, &of) == 7);
        assert_true(added(&costs, copy, true, &of) == 11); /* blocks: a wait */
        assert_true(added(&costs, launch, false, &of) == (known ? 13 : 3));
        added(&costs, wait, false, &of);
        assert_true(added(&costs, launch, false, &of) == (known ? 13 : 3));
        assert_true(added(&costs, up, false, &of) == 0);
        assert_true(added(&costs, launch, false, &of) == (known ? 13 : 3));
        xfa_achievable_free(&achievable);
    }
}

static void test_recording_is_taken_out(void **state)
{
    struct xfw_op op = hand_work(XFW_COPY, 0, 1000, 0, 500);
    op.gap_ns = 100;
    op.hook_ns = 30;
    op.records_ns = 400;
    op.space_ns = 900;
    op.records_device_ns = 200;
    xfw_op_alone(&op);
    assert_true(op.gap_ns == 70 && op.own_ns == 600 && op.space_ns == 700);
    op.records_ns = 1e6; /* never all of a call */
    op.paced_ns = 800;   /* copies that queue: from start to start */
    op.records_device_ns = 50;
    xfw_op_alone(&op);
    assert_true(op.own_ns == 0.3 * 600 && op.space_ns == 300);
    op.lead_ns = 100; /* of which the next one has as much behind it */
    op.space_ns = 700;
    op.records_device_ns = 50;
    xfw_op_alone(&op);
    assert_true(op.space_ns == 400);
}

/* What CUPTI does before the driver submits keeps the work back, too; of a call that waits, what
 * does not fit before it is behind it. */
static void test_recording_kept_the_work_back(void **state)
{
    struct xfw_op launch = hand_work(XFW_KERNEL, 0, 1000, 2000, 500);
    launch.records_ns = 400;
    xfw_op_alone(&launch);
    assert_true(launch.own_ns == 600 && launch.latency_ns == 1600);
    launch.records_ns = 1e6;
    xfw_op_alone(&launch);
    assert_true(launch.latency_ns == 0.3 * 1600);

    struct xfw_op copy = hand_work(XFW_COPY, 0, 0, 1000, 500);
    copy.awaits = XFW_AWAITS_ITSELF;
    copy.wake_ns = 3000;
    copy.records_ns = 400;
    xfw_op_alone(&copy);
    assert_true(copy.latency_ns == 600 && copy.wake_ns == 3000);
    copy.records_ns = 1420; /* 420 of which fit before it */
    xfw_op_alone(&copy);
    assert_true(fabs(copy.latency_ns - 180) < 1e-6 && fabs(copy.wake_ns - 2000) < 1e-6);
    copy.records_ns = 1e6;
    copy.wake_ns = -500; /* it returned before the end: staged */
    xfw_op_alone(&copy);
    assert_true(copy.wake_ns == -500);
}

/* Launches in a row take nearly what the profile's do; others a tenth longer. */
static void test_launches_in_a_row(void **state)
{
    static char launched[] = "records/launch/gpu0", bare[] = "launch/by-process/gpu0";
    struct xfp_scalar scalars[] = {scalar(launched, 100), scalar(bare, 300)};
    const struct xfp_profile profile = {.scalars = scalars, .scalar_count = 2};
    struct xfa_achievable achievable;
    xfa_achievable_init(&achievable, &profile, &run);
    struct xfw_records_costs costs = {.achievable = &achievable};
    static const struct {
        enum xfw_behind behind;
        double own_ns, bare;
    } cases[] = {{XFW_BEHIND_LAUNCH, 0, 312},
                 {XFW_BEHIND_LAUNCH, 499, 312},
                 {XFW_BEHIND_LAUNCH, 500, 330},
                 {XFW_BEHIND_OTHER, 0, 330}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct xfw_op launch = hand_work(XFW_KERNEL, 0, 1000, 3000, 500);
        enum xfw_behind behind = cases[i].behind;
        costs.met.launched = true;
        costs.own_ns = cases[i].own_ns;
        xfw_records_costs_add(&costs, &launch, false, BOTH, &behind);
        assert_true(fabs(launch.bare_ns - cases[i].bare) < 1e-6);
    }
    xfa_achievable_free(&achievable);
}

/* A copy that the call does not wait for is done later by what CUPTI adds on the device, too: by as
 * much more as it adds to a call that waits. */
static void test_copies_done_later(void **state)
{
    static char call[] = "records/copy/d2h/gpu0", blocking[] = "records/copy-blocking/d2h/gpu0";
    struct xfp_scalar scalars[] = {scalar(call, 50), scalar(blocking, 250)};
    const struct xfp_profile profile = {.scalars = scalars, .scalar_count = 2};
    struct xfa_achievable achievable;
    xfa_achievable_init(&achievable, &profile, &run);
    struct xfw_records_costs costs = {.achievable = &achievable};
    enum xfw_behind behind = XFW_BEHIND_OTHER;
    for (int blocks = 0; blocks < 2; blocks++) {
        struct xfw_op op = hand_work(XFW_COPY, 0, 1000, 3000, 500);
        op.engine = XFW_TO_HOST;
        op.bare_ns = blocks ? 0 : 950;
        xfw_records_costs_add(&costs, &op, blocks, BOTH, &behind);
        assert_true(op.records_lag_ns == (blocks ? 0 : 200));
        if (blocks)
            continue;
        xfw_op_alone(&op);
        assert_true(op.own_ns == 950 && op.latency_ns == 3000 - 50 - 200);
        assert_true(op.duration_ns == 500);
    }
    xfa_achievable_free(&achievable);
}

/* Of a call that waits for its copy, and what that takes without is known, what is beyond is
 * CUPTI's, half of what is more than usual, half of the usual at least and thirty times it at most;
 * where the copy was kept back by earlier work, the usual. */
static void test_records_of_calls_that_wait(void **state)
{
    static const struct {
        double bare_ns, call_ns, kept_ns, taken;
    } cases[] = {{1000, 1100, 0, 100},      {1000, 1300, 0, 200 + 50}, {1000, 1050, 0, 100},
                 {1000, 900, 0, 100},       {1000, 1100, 5000, 200},   {1000, 1300, 5000, 200},
                 {9000, 40000, 0, 30 * 200}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct xfw_op op = hand_work(XFW_COPY, 0, 0, 400, 300);
        op.awaits = XFW_AWAITS_ITSELF;
        op.wake_ns = cases[i].call_ns - 700;
        op.start_ns = 10000;
        op.device_start_ns = 10000 + cases[i].kept_ns + 400;
        op.device_end_ns = op.device_start_ns + 300;
        op.records_ns = 200;
        op.bare_ns = cases[i].bare_ns;
        op.bare_known = true;
        xfw_op_alone(&op);
        assert_true(fabs(op.latency_ns + op.wake_ns + 300 - (cases[i].call_ns - cases[i].taken)) <
                    1e-6);
    }
}

/* Of a call that submits, what is beyond the call without it by the profile is CUPTI's; half of
 * what is beyond what CUPTI usually adds; no more of what takes far longer. Where the profile has
 * no such call without, and of calls that wait, CUPTI's part is in proportion, within bounds. The
 * first launch has what it has once. */
static void test_records_of_slow_calls(void **state)
{
    static char launched[] = "records/launch/gpu0", bare[] = "launch/by-process/gpu0";
    static char call[] = "records/copy/d2h/gpu0", blocking[] = "records/copy-blocking/d2h/gpu0";
    static char once[] = "records/first/launch/gpu0";
    struct xfp_scalar scalars[] = {scalar(launched, 100), scalar(bare, 300), scalar(call, 50),
                                   scalar(blocking, 200), scalar(once, 1000)};
    const struct xfp_profile profile = {.scalars = scalars, .scalar_count = 5};
    struct xfa_achievable achievable;
    xfa_achievable_init(&achievable, &profile, &run);
    struct xfw_records_costs costs = {.achievable = &achievable};
    static const struct {
        double call_ns, launch, copy, known_copy, blocking; /* of it */
    } cases[] = {{330, 0, 82.5, 100 + 15, 100},
                 {430, 100, 107.5, 100 + 65, 107.5},
                 {600, 165 + 52.5, 150, 100 + 150, 150},
                 {40, 0, 25, 0, 100},
                 {4000, 165 + 1402.5, 300, 100 + 850, 200}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double ns = cases[i].call_ns;
        struct xfw_op launch = hand_work(XFW_KERNEL, 0, ns, 9000, 500),
                      copy = hand_work(XFW_COPY, 0, ns, 9000, 500), waits = copy, known = copy;
        enum xfw_behind behind = XFW_BEHIND_WAIT;
        copy.engine = waits.engine = known.engine = XFW_TO_HOST;
        known.bare_ns = 200;
        waits.awaits = XFW_AWAITS_ITSELF;
        waits.latency_ns = waits.wake_ns = ns / 2;
        if (i == 0) {
            struct xfw_op once_more = launch;
            xfw_records_costs_add(&costs, &once_more, false, BOTH, &behind);
            assert_true(once_more.records_ns == 1100 && once_more.bare_ns == 0);
            behind = XFW_BEHIND_WAIT;
        }
        xfw_records_costs_add(&costs, &launch, false, BOTH, &behind);
        xfw_records_costs_add(&costs, &copy, false, BOTH, &behind);
        xfw_records_costs_add(&costs, &known, false, BOTH, &behind);
        xfw_records_costs_add(&costs, &waits, true, BOTH, &behind);
        xfw_op_alone(&launch);
        xfw_op_alone(&copy);
        xfw_op_alone(&known);
        xfw_op_alone(&waits);
        assert_true(fabs(launch.own_ns - (ns - cases[i].launch)) < 1e-6);
        assert_true(fabs(launch.latency_ns - (9000 - cases[i].launch)) < 1e-6);
        const double left[] = {fmax(0.3 * ns, ns - cases[i].copy),
                               fmax(0.3 * ns, ns - cases[i].known_copy),
                               fmax(0.3 * ns, ns - cases[i].blocking)};
        assert_true(fabs(copy.own_ns - left[0]) < 1e-6 && fabs(known.own_ns - left[1]) < 1e-6);
        assert_true(fabs(waits.latency_ns + waits.wake_ns - left[2]) < 1e-6);
    }
    xfa_achievable_free(&achievable);
}

/* Copies from page-locked memory: 1000 ns alone, 1500 ns while the other direction is busy. */
static char alone_name[] = "copy/pinned/h2d/gpu0", both_name[] = "duplex/pinned/h2d/gpu0";
static struct xfp_point alone_points[] = {
    {.bytes = SIZE, .n = 1, .median_ns = 1000},
    {.bytes = 2 * SIZE, .n = 1, .median_ns = 2000, .host_ns = 700}};
static struct xfp_point both_points[] = {{.bytes = SIZE, .n = 1, .median_ns = 1500}};
static struct xfp_path paths[] = {
    {.name = alone_name,
     .method = XFP_COPY,
     .direction = XFT_DIR_H2D,
     .src = {XFT_MEM_PINNED, -1, -1},
     .dst = {XFT_MEM_DEVICE, 0, -1},
     .points = alone_points,
     .point_count = 2},
    {.name = both_name,
     .method = XFP_COPY,
     .direction = XFT_DIR_H2D,
     .src = {XFT_MEM_PINNED, -1, -1},
     .dst = {XFT_MEM_DEVICE, 0, -1},
     .load = XFP_BOTH_WAYS,
     .points = both_points,
     .point_count = 1},
};

/* The host's time was not measured at the smaller size: the larger one's stands for it. */
static void test_submit_time(void **state)
{
    const struct xfp_path without = {.points = both_points, .point_count = 1};
    assert_true(xfw_copy_cost(&paths[0], SIZE, XFW_LIKELY).submit_ns == 700);
    assert_true(xfw_copy_cost(&without, SIZE, XFW_LIKELY).submit_ns == XFW_SUBMIT_NS);
}

/* At worst copies of both directions slow each other by the errors, too, of half a time at most:
 * then the time alone is still some. */
static void test_slowdown_hardly_known(void **state)
{
    struct xfp_profile profile = {.paths = paths, .path_count = 2};
    struct xfa_run one = {.gpu_count = 0};
    struct xfa_analysis analysis = {.profile = &profile, .run = &one};
    struct xfw_op op = {
        .what = XFW_COPY, .engine = XFW_TO_DEVICE, .bytes = SIZE, .duration_ns = 100};
    xfa_achievable_init(&analysis.achievable, &profile, &one);
    for (int c = 0; c < XFW_CERTAINTIES; c++) {
        static const double expected[] = {1500 * 1.5 / 500, 1.5, 1};
        struct xfw_slowdowns slowdowns = {0};
        error = 2;
        double factor = xfw_slowdown(&slowdowns, &analysis, (enum xfw_certainty)c, &op);
        error = 0;
        assert_true(factor == expected[c]);
    }
    xfa_achievable_free(&analysis.achievable);
}

/* ---- tables by place ------------------------------------------------------------------------- */

static double cost_at(const struct xfa_achievable *achievable, const char *what, int node, int gpu)
{
    return xfw_table_cost(achievable, what, node, gpu, 2 * MIB, XFW_LIKELY);
}

/* That of the GPU; else that of a node and the GPU: of the one asked for, or of the lowest. */
static void test_tables_of_places(void **state)
{
    struct xfp_profile *profile = measured_profile(MEASURED_ALL);
    struct xfa_run one = {0};
    struct xfa_analysis analysis = {.profile = profile, .run = &one};
    const struct xfa_achievable *achievable = &analysis.achievable;
    measured_table(profile, "prefix/gpu0", 7);
    measured_table(profile, "wait/node2-gpu0", 1000);
    measured_table(profile, "wait/node1-gpu0", 2000);
    measured_table(profile, "wait/node1-gpu10", 3000);
    measured_table(profile, "wait/node01-gpu1", 4000);
    measured_table(profile, "wait/gpu2", 5000);
    measured_table(profile, "wait/node0-gpu2", 6000);
    measured_table(profile, "wait/gpu3/again", 7000);
    xfa_achievable_init(&analysis.achievable, profile, &one);
    assert_true(cost_at(achievable, "wait", -1, 0) == 4000);
    assert_true(cost_at(achievable, "wait", 2, 0) == 2000);
    assert_true(cost_at(achievable, "wait", 0, 0) == 0);
    assert_true(cost_at(achievable, "wait", -1, 10) == 6000);
    assert_true(cost_at(achievable, "wait", -1, 1) == 0);
    assert_true(cost_at(achievable, "wait", 0, 2) == 10000);
    assert_true(cost_at(achievable, "wait", -1, 3) == 0);
    assert_true(cost_at(achievable, "pre", -1, 0) == 0);
    xfa_achievable_free(&analysis.achievable);
    xfp_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_costs),
        cmocka_unit_test(test_around),
        cmocka_unit_test(test_slowdowns),
        cmocka_unit_test(test_without_a_profile),
        cmocka_unit_test(test_processes_differ_in_speed),
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_first_records),
        cmocka_unit_test(test_launches_in_a_row),
        cmocka_unit_test(test_copies_done_later),
        cmocka_unit_test(test_records_of_calls_that_wait),
        cmocka_unit_test(test_records_of_slow_calls),
        cmocka_unit_test(test_recording_is_taken_out),
        cmocka_unit_test(test_recording_kept_the_work_back),
        cmocka_unit_test(test_records_in_turn),
        cmocka_unit_test(test_submit_time),
        cmocka_unit_test(test_slowdown_hardly_known),
        cmocka_unit_test(test_tables_of_places),
    };
    return cmocka_run_group_tests_name("what-if: costs", tests, NULL, NULL);
}
