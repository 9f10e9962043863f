/* How often the profile is asked: once for each size, however many copies there are. xfp_time() and
 * the searches for a path are counted (CMakeLists.txt). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/whatif/changes/asked.h"
#include "analyzer/whatif/changes/both_ways.h"
#include "tests/analyzer/measured.h"
#include "tests/analyzer/scenario.h"

enum { COPIES = 1000, SIZES = 4, SIZE = 65536 };

static unsigned times, searches;

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
    return __real_xfp_time(path, bytes);
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

static void test_both_ways(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    struct xfa_run run = {.gpu_count = 0};
    struct xfa_analysis analysis = {.profile = profile, .run = &run};
    struct xfw_both_ways ways = {0};
    xfa_achievable_init(&analysis.achievable, profile, &run);
    times = searches = 0;
    for (unsigned i = 0; i < COPIES; i++) {
        struct xfw_op op = {.what = XFW_COPY,
                            .engine = i % 3 ? XFW_TO_DEVICE : XFW_TO_HOST,
                            .bytes = size_of(i),
                            .duration_ns = 1000};
        assert_true(xfw_both_ways(&ways, &analysis, XFW_LIKELY, &op) >= 1);
    }
    assert_int_equal(searches, 2); /* one for each direction */
    xfa_achievable_free(&analysis.achievable);
    xfp_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_costs),
        cmocka_unit_test(test_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
