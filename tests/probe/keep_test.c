/* Points that were measured one by one: kept, found under their conditions, and what they answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "xferscope/profile.h"

static const struct xfp_place pinned = {XFT_MEM_PINNED, -1, 0}, gpu = {XFT_MEM_DEVICE, 0, -1},
                              other = {XFT_MEM_DEVICE, 1, -1};

#define HEAD "{\"schema\":\"xferscope-profile\",\"version\":1,\"machine\":{},\"paths\":["
#define PLACES                                                                                     \
    "\"method\":\"copy\",\"direction\":\"H2D\",\"src\":{\"memory\":\"pinned\",\"numa\":0},"        \
    "\"dst\":{\"memory\":\"device\",\"device\":0},"
#define SWEPT                                                                                      \
    "{\"name\":\"copy/pinned/h2d/gpu0\"," PLACES                                                   \
    "\"fit\":{\"Lo_ns\":1000,\"G_ns_per_byte\":1,\"max_error\":0.1,\"fit_min_bytes\":64},"         \
    "\"points\":[{\"bytes\":1024,\"median_ns\":2024},{\"bytes\":4096,\"median_ns\":5096}]}"

static struct xfp_profile *parse(const char *text)
{
    char error[300] = "";
    struct xfp_profile *profile = xfp_parse(text, strlen(text), error, sizeof(error));

    if (!profile)
        fail_msg("%s", error);
    return profile;
}

static struct xfp_point point(uint64_t bytes, double ns)
{
    return (struct xfp_point){.bytes = bytes,
                              .n = 6,
                              .median_ns = ns,
                              .min_ns = ns,
                              .max_ns = ns,
                              .ci_low_ns = ns,
                              .ci_high_ns = ns};
}

static int keep(struct xfp_profile *profile, const struct xfp_path *like, uint64_t bytes, double ns)
{
    struct xfp_point p = point(bytes, ns);

    return xfp_keep_point(profile, like, &p);
}

static struct xfp_path like_named(const char *name)
{
    return (struct xfp_path){.name = (char *)(uintptr_t)name,
                             .method = XFP_COPY,
                             .direction = XFT_DIR_H2D,
                             .src = pinned,
                             .dst = gpu,
                             .device_timed = true};
}

static void a_size_joins_its_path(void **state)
{
    struct xfp_profile *profile = parse(HEAD SWEPT "]}");
    struct xfp_path like = like_named("copy/pinned/h2d/gpu0");
    const struct xfp_path *path;

    assert_int_equal(xfp_time(&profile->paths[0], 3000).basis, XFP_INTERPOLATED);
    assert_int_equal(keep(profile, &like, 3000, 3333), 0);
    assert_int_equal(keep(profile, &like, 9000, 9999), 0);
    assert_int_equal(keep(profile, &like, 5, 1001), 0);
    assert_int_equal(keep(profile, &like, 3000, 3334), 0); /* takes its place */
    path = xfp_find(profile, XFP_COPY, pinned, gpu, false);
    assert_int_equal(profile->path_count, 1);
    assert_int_equal(path->point_count, 5);
    for (size_t i = 1; i < path->point_count; i++)
        assert_true(path->points[i].bytes > path->points[i - 1].bytes);
    assert_int_equal(xfp_time(path, 3000).basis, XFP_MEASURED);
    assert_float_equal(xfp_time(path, 3000).ns, 3334, 1e-9);
    assert_float_equal(path->fit.G_ns_per_byte, 1, 0); /* the sweep's */
    assert_false(path->chosen);
    assert_true(path->points[2].bytes == 3000 && path->points[2].chosen);
    assert_false(path->points[1].chosen);
    assert_int_equal(keep(profile, &like, 4096, 5097), 0); /* stays the sweep's */
    assert_false(path->points[3].chosen);
    assert_int_equal(xfp_time(path, 90000).basis, XFP_MODELLED);
    xfp_free(profile);
}

static void chosen_sizes_speak_of_themselves(void **state)
{
    struct xfp_profile *profile = parse(HEAD "]}");
    struct xfp_path like = like_named("copy/pinned/h2d/gpu0");
    const struct xfp_path *path;

    keep(profile, &like, 1000, 100);
    keep(profile, &like, 2000, 200);
    keep(profile, &like, 4001, 400);
    path = xfp_find(profile, XFP_COPY, pinned, gpu, false);
    assert_true(path->chosen);
    assert_false(path->fit.valid);
    assert_int_equal(xfp_time(path, 1000).basis, XFP_MEASURED);
    assert_int_equal(xfp_time(path, 1500).basis, XFP_INTERPOLATED);
    assert_int_equal(xfp_time(path, 3000).basis, XFP_UNKNOWN); /* more than twice apart */
    assert_int_equal(xfp_time(path, 999).basis, XFP_UNKNOWN);
    assert_int_equal(xfp_time(path, 4002).basis, XFP_UNKNOWN);
    xfp_free(profile);
}

static void conditions_are_asked_for(void **state)
{
    struct xfp_profile *profile = parse(HEAD "]}");
    struct xfp_path warm = like_named("copy-warm/pinned/h2d/gpu0");
    struct xfp_path rows = like_named("copy-rows-512/pinned/h2d/gpu0");
    const struct xfp_conditions is_warm = {.cache = XFP_WARM}, of_rows = {.row_bytes = 512},
                                of_others = {.row_bytes = 513};

    warm.cache = XFP_WARM;
    rows.row_bytes = 512;
    keep(profile, &warm, 1000, 200);
    keep(profile, &rows, 1024, 300);
    assert_null(xfp_find(profile, XFP_COPY, pinned, gpu, false));
    assert_null(xfp_find_under(profile, XFP_COPY, pinned, gpu, &of_others));
    assert_string_equal(xfp_find_under(profile, XFP_COPY, pinned, gpu, &is_warm)->name, warm.name);
    assert_string_equal(xfp_find_under(profile, XFP_COPY, pinned, gpu, &of_rows)->name, rows.name);
    xfp_free(profile);
}

/* One that knows all sizes is better than one of the very place that knows a few. */
static void swept_paths_are_found_first(void **state)
{
    struct xfp_profile *profile = parse(HEAD SWEPT "]}");
    struct xfp_path near = like_named("copy/pinned/h2d/node1-gpu0");
    struct xfp_place node1 = {XFT_MEM_PINNED, -1, 1};

    near.src = node1;
    keep(profile, &near, 3000, 1);
    profile->paths[0].src.numa = -1;
    assert_string_equal(xfp_find(profile, XFP_COPY, node1, gpu, false)->name,
                        "copy/pinned/h2d/gpu0");
    profile->paths[0].src.numa = 0;
    assert_string_equal(xfp_find(profile, XFP_COPY, node1, gpu, false)->name, near.name);
    xfp_free(profile);
}

/* A look-up by places finds the first of two alike. */
static void peers_come_first(void **state)
{
    struct xfp_profile *profile = parse(HEAD "]}");
    struct xfp_path without = like_named("copy/no-peer/p2p/gpu0-gpu1");
    struct xfp_path with = like_named("copy/peer/p2p/gpu0-gpu1");

    without.direction = with.direction = XFT_DIR_P2P;
    without.src = with.src = gpu;
    without.dst = with.dst = other;
    keep(profile, &without, 1000, 200);
    keep(profile, &with, 1000, 100);
    assert_string_equal(xfp_find(profile, XFP_COPY, gpu, other, false)->name, with.name);
    assert_int_equal(xfp_find_path(profile, without.name)->point_count, 1);
    xfp_free(profile);
}

static void all_of_it_is_written_and_read(void **state)
{
    struct xfp_profile *profile = parse(HEAD SWEPT "]}"), *again;
    struct xfp_path warm = like_named("copy-warm/pinned/h2d/gpu0");
    struct xfp_path rows = like_named("copy-rows-512/pinned/h2d/gpu0");
    char name[] = "/tmp/xferscope-keep-XXXXXX", error[300];
    int file = mkstemp(name);

    warm.cache = XFP_WARM;
    rows.row_bytes = 512;
    keep(profile, &warm, 1000, 200);
    keep(profile, &rows, 1024, 300);
    assert_int_equal(xfp_save(profile, name, error, sizeof(error)), 0);
    again = xfp_read_file(name, error, sizeof(error));
    assert_non_null(again);
    assert_int_equal(again->path_count, 3);
    assert_true(xfp_is_plain(&again->paths[0]) && !again->paths[0].chosen);
    assert_true(again->paths[1].points[0].chosen && !again->paths[0].points[0].chosen);
    assert_int_equal(again->paths[1].cache, XFP_WARM);
    assert_true(again->paths[1].chosen);
    assert_int_equal(again->paths[2].row_bytes, 512);
    assert_int_equal(again->paths[2].cache, XFP_COLD);
    close(file);
    unlink(name);
    xfp_free(profile);
    xfp_free(again);
}

static void odd_words_are_refused(void **state)
{
    static const char *const odd[][2] = {
        {"\"cache\":\"tepid\",", "paths[0].cache: \"tepid\""},
        {"\"cache\":1,", "paths[0].cache: must be a string"},
        {"\"row_bytes\":-1,", "paths[0].row_bytes"},
    };
    char text[1000], error[300];

    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        snprintf(text, sizeof(text), "%s{\"name\":\"a\",%s%s\"points\":[]}]}", HEAD, PLACES,
                 odd[i][0]);
        assert_null(xfp_parse(text, strlen(text), error, sizeof(error)));
        if (!strstr(error, odd[i][1]))
            fail_msg("%s", error);
    }
}

static void a_full_profile_takes_no_more(void **state)
{
    struct xfp_profile *profile = parse(HEAD "]}");
    struct xfp_path like = like_named("copy/pinned/h2d/gpu0");

    for (uint64_t i = 1; i <= 4096; i++)
        assert_int_equal(keep(profile, &like, i, 100), 0);
    assert_int_equal(keep(profile, &like, 4097, 100), -1);
    assert_int_equal(keep(profile, &like, 4096, 101), 0);
    assert_int_equal(profile->paths[0].point_count, 4096);
    xfp_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_size_joins_its_path),
        cmocka_unit_test(chosen_sizes_speak_of_themselves),
        cmocka_unit_test(conditions_are_asked_for),
        cmocka_unit_test(swept_paths_are_found_first),
        cmocka_unit_test(peers_come_first),
        cmocka_unit_test(all_of_it_is_written_and_read),
        cmocka_unit_test(odd_words_are_refused),
        cmocka_unit_test(a_full_profile_takes_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
