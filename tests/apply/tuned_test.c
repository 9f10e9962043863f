/* What xferscope apply takes from a machine's profile (tools/xferscope/tuned.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/xferscope/tuned.h"
#include "xferscope/profile.h"

#define MIB (UINT64_C(1) << 20)

static struct xfp_profile *read_profile(void)
{
    char why[256];
    struct xfp_profile *profile = xfp_read_file(XFERSCOPE_TEST_PROFILE, why, sizeof why);

    assert_non_null(profile);
    return profile;
}

/* All times of the paths whose names begin so. */
static void scale(struct xfp_profile *profile, const char *name, double times)
{
    for (size_t i = 0; i < profile->path_count; i++) {
        struct xfp_path *path = &profile->paths[i];
        for (size_t k = 0; strncmp(path->name, name, strlen(name)) == 0 && k < path->point_count;
             k++)
            path->points[k].blocking_ns *= times;
    }
}

static void a_measured_machine(void **state)
{
    struct xfp_profile *profile = read_profile();
    struct tuned tuned = tuned_by(profile);

    (void)state;
    assert_int_equal(tuned.threads, 16); /* 37 GB/s, behind a link of 55 */
    assert_int_equal(tuned.least, MIB);
    xfp_free(profile);
}

/* The fewest threads that keep ahead of it. */
static void a_slower_link(void **state)
{
    struct xfp_profile *profile = read_profile();

    (void)state;
    scale(profile, "copy/pinned/h2d", 4);
    assert_int_equal(tuned_by(profile).threads, 4); /* 21.8 GB/s, ahead of 13.8 */
    scale(profile, "copy/pinned/h2d", 10);
    assert_int_equal(tuned_by(profile).threads, 1);
    xfp_free(profile);
}

/* The driver's way is as fast: no size is said, and the default stays. */
static void nothing_to_gain(void **state)
{
    struct xfp_profile *profile = read_profile();

    (void)state;
    scale(profile, "copy/pageable/", 0.1);
    assert_int_equal(tuned_by(profile).least, 0);
    xfp_free(profile);
}

/* Of the sizes from which on it gains, the smallest; one size that gains below others that do not
 * is none. */
static void from_a_size_on(void **state)
{
    struct xfp_profile *profile = read_profile();

    (void)state;
    scale(profile, "copy/pageable/d2h", 0.1);
    for (size_t i = 0; i < profile->path_count; i++)
        for (size_t k = 0; k < profile->paths[i].point_count; k++)
            if (strcmp(profile->paths[i].name, "copy/pageable/h2d/gpu0") == 0 &&
                profile->paths[i].points[k].bytes == 8 * MIB)
                profile->paths[i].points[k].blocking_ns = 1000;
    assert_int_equal(tuned_by(profile).least, 16 * MIB);
    xfp_free(profile);
}

static void a_profile_without_copies(void **state)
{
    struct xfp_profile *profile = read_profile();
    size_t tables = profile->table_count;
    struct tuned tuned;

    (void)state;
    profile->table_count = 0;
    tuned = tuned_by(profile);
    assert_true(tuned.threads == 0 && tuned.least == 0);
    profile->table_count = tables;
    xfp_free(profile);
}

/* As if it had been measured at 16 and 64 MiB that a relay takes so much of the straight copy. */
static void relay(struct xfp_profile *profile, double of_16, double of_64)
{
    struct xfp_place host = {XFT_MEM_PINNED, -1, -1}, device = {XFT_MEM_DEVICE, 0, -1};
    const struct xfp_path *path = xfp_find(profile, XFP_COPY, host, device, true);
    static struct xfp_row rows[2];
    static struct xfp_table table;

    rows[0] = (struct xfp_row){.at = 16 * MIB};
    rows[0].cost.median = of_16 * xfp_blocking_time(path, 16 * MIB).ns;
    rows[1] = (struct xfp_row){.at = 64 * MIB};
    rows[1].cost.median = of_64 * xfp_blocking_time(path, 64 * MIB).ns;
    table = (struct xfp_table){.name = "relayed/pinned/h2d/gpu1-gpu0",
                               .by = "bytes",
                               .unit = "ns",
                               .row_count = 2,
                               .rows = rows};
    profile->tables[profile->table_count - 1] = table;
}

static void uploads_by_another_link(void **state)
{
    struct xfp_profile *profile = read_profile();
    struct xfp_table last = profile->tables[profile->table_count - 1];
    struct xfp_gpu gpus[2] = {{.uuid = "GPU-a"}, {.uuid = "GPU-b"}}, *own = profile->machine.gpus;
    size_t count = profile->machine.gpu_count;
    char text[64], small[16];

    (void)state;
    tuned_relays(profile, text, sizeof text);
    assert_string_equal(text, "");
    profile->machine.gpus = gpus;
    profile->machine.gpu_count = 2;
    relay(profile, 0.6, 0.5);
    tuned_relays(profile, text, sizeof text);
    assert_string_equal(text, "GPU-a<GPU-b:16777216");
    tuned_relays(profile, small, sizeof small);
    assert_string_equal(small, "");
    relay(profile, 0.95, 0.5);
    tuned_relays(profile, text, sizeof text);
    assert_string_equal(text, "GPU-a<GPU-b:67108864");
    relay(profile, 0.5, 0.95);
    tuned_relays(profile, text, sizeof text);
    assert_string_equal(text, "");
    profile->machine.gpus = own;
    profile->machine.gpu_count = count;
    profile->tables[profile->table_count - 1] = last;
    xfp_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_measured_machine),       cmocka_unit_test(a_slower_link),
        cmocka_unit_test(nothing_to_gain),          cmocka_unit_test(from_a_size_on),
        cmocka_unit_test(a_profile_without_copies), cmocka_unit_test(uploads_by_another_link),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
