/*
 * Comparing profiles: what differs beyond noise, and what is only noise.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/report/compare.h"

struct given {
    double median, half; /* half of the interval's width */
};

static struct xfp_point point(uint64_t bytes, struct given g)
{
    return (struct xfp_point){.bytes = bytes,
                              .n = 20,
                              .median_ns = g.median,
                              .min_ns = g.median - g.half,
                              .max_ns = g.median + g.half,
                              .ci_low_ns = g.median - g.half,
                              .ci_high_ns = g.median + g.half};
}

struct lab {
    char name[2][32];
    struct xfp_point points[2][2];
    struct xfp_path paths[2];
    struct xfp_profile profile;
};

/* Two paths of two sizes: "copy/x/h2d" and "copy/y/h2d". */
static struct xfp_profile *make(struct lab *lab, const struct given given[4])
{
    for (int i = 0; i < 2; i++) {
        snprintf(lab->name[i], sizeof(lab->name[i]), "copy/%c/h2d", 'x' + i);
        for (int j = 0; j < 2; j++)
            lab->points[i][j] = point(1024u << j, given[2 * i + j]);
        lab->paths[i] =
            (struct xfp_path){.name = lab->name[i], .point_count = 2, .points = lab->points[i]};
    }
    lab->profile = (struct xfp_profile){.path_count = 2, .paths = lab->paths};
    return &lab->profile;
}

static struct xfp_comparison compare(const struct xfp_profile *a, const struct xfp_profile *b,
                                     const char *filter, double tolerance, char **text)
{
    struct xfp_comparison result;
    char error[200];
    size_t bytes;
    FILE *out = open_memstream(text, &bytes);

    assert_int_equal(xfp_compare(a, b, filter, tolerance, out, &result, error, sizeof(error)), 0);
    fclose(out);
    return result;
}

static const struct given base[] = {{1000, 10}, {2000, 10}, {3000, 30}, {6000, 60}};

static void the_same_is_no_difference(void **state)
{
    struct lab a, b;
    char *text;
    struct xfp_comparison r = compare(make(&a, base), make(&b, base), NULL, 0.05, &text);

    assert_int_equal(r.compared, 2);
    assert_int_equal(r.differ + r.only_first + r.only_second, 0);
    assert_non_null(strstr(text, "0 of 2 benchmarks differ"));
    free(text);
}

/* 4 % slower with narrow intervals, 40 % slower with intervals that meet: both are noise. */
static void noise_is_no_difference(void **state)
{
    const struct given later[] = {{1040, 1}, {2000, 10}, {4200, 1300}, {6000, 60}};
    struct lab a, b;
    char *text;
    struct xfp_comparison r = compare(make(&a, base), make(&b, later), NULL, 0.05, &text);

    assert_int_equal(r.differ, 0);
    free(text);
    r = compare(make(&a, base), make(&b, later), NULL, 0.01, &text);
    assert_int_equal(r.differ, 1); /* the 4 %, when runs may differ by 1 % only */
    free(text);
}

/* Beyond the first one's median, slower and faster, but within its interval. */
static void the_first_ones_interval_counts(void **state)
{
    const struct given wide[] = {{1000, 400}, {2000, 10}, {1000, 400}, {6000, 60}};
    const struct given later[] = {{1300, 10}, {2000, 10}, {700, 10}, {6000, 60}};
    struct lab a, b;
    char *text;
    struct xfp_comparison r = compare(make(&a, wide), make(&b, later), NULL, 0.05, &text);

    assert_int_equal(r.compared, 2);
    assert_int_equal(r.differ, 0);
    free(text);
}

static void what_differs_is_named_with_its_way(void **state)
{
    const struct given later[] = {{1000, 10}, {2600, 10}, {2000, 10}, {6000, 60}};
    struct lab a, b;
    char *text;
    struct xfp_comparison r = compare(make(&a, base), make(&b, later), NULL, 0.05, &text);

    assert_int_equal(r.differ, 2);
    assert_int_equal(r.slower, 1);
    assert_int_equal(r.faster, 1);
    assert_non_null(strstr(text, "2 KiB"));
    assert_non_null(strstr(text, "+30.0 %"));
    assert_non_null(strstr(text, "-33.3 %"));
    free(text);
    r = compare(make(&a, base), make(&b, later), "y/h2d$", 0.05, &text);
    assert_int_equal(r.compared, 1);
    assert_int_equal(r.slower, 0);
    assert_null(strstr(text, "copy/x"));
    free(text);
}

static void what_only_one_has_is_named(void **state)
{
    struct lab a, b;
    char *text;
    struct xfp_comparison r;

    make(&a, base)->path_count = 1;
    r = compare(&a.profile, make(&b, base), NULL, 0.05, &text);
    assert_int_equal(r.only_second, 1);
    assert_int_equal(r.compared, 1);
    assert_non_null(strstr(text, "only in the second: copy/y/h2d"));
    free(text);
    r = compare(&b.profile, &a.profile, NULL, 0.05, &text);
    assert_int_equal(r.only_first, 1);
    free(text);
}

/* Sizes of a coarser sweep: those that both have are compared. */
static void sizes_need_not_be_the_same(void **state)
{
    const struct given later[] = {{5, 1}, {2600, 10}, {5, 1}, {6000, 60}};
    struct lab a, b;
    char *text;
    struct xfp_comparison r;

    make(&b, later);
    for (int i = 0; i < 2; i++)
        b.points[i][0].bytes = 16;
    r = compare(make(&a, base), &b.profile, NULL, 0.05, &text);
    assert_int_equal(r.compared, 2);
    assert_int_equal(r.differ, 1);
    assert_non_null(strstr(text, "1 of 1"));
    free(text);
}

static void costs_and_groups_are_compared_too(void **state)
{
    struct xfp_scalar scalars[2] = {{"sync/a", "ns", {9, 100, 99, 101, 99, 101}},
                                    {"sync/a", "ns", {9, 150, 149, 151, 149, 151}}};
    struct xfp_row rows[2] = {{4096, {9, 100, 99, 101, 99, 101}}, {4096, {9, 50, 49, 51, 49, 51}}};
    struct xfp_point points[2] = {point(64, base[0]), point(64, base[3])};
    struct xfp_table tables[2];
    struct xfp_concurrent groups[2];
    struct xfp_profile p[2] = {0};
    char *text;
    struct xfp_comparison r;

    for (int i = 0; i < 2; i++) {
        tables[i] = (struct xfp_table){"alloc/b", "bytes", "ns", 0, 1, &rows[i]};
        groups[i] =
            (struct xfp_concurrent){.name = "concurrent/c", .point_count = 1, .points = &points[i]};
        p[i] = (struct xfp_profile){.scalar_count = 1,
                                    .scalars = &scalars[i],
                                    .table_count = 1,
                                    .tables = &tables[i],
                                    .concurrent_count = 1,
                                    .concurrent = &groups[i]};
    }
    r = compare(&p[0], &p[1], NULL, 0.05, &text);
    assert_int_equal(r.compared, 3);
    assert_int_equal(r.slower, 2);
    assert_int_equal(r.faster, 1);
    free(text);
}

static void what_records_add_is_not_compared(void **state)
{
    struct xfp_scalar scalars[2][2] = {{{"sync/a", "ns", {9, 100, 99, 101, 99, 101}},
                                        {"records/launch/a", "ns", {9, 100, 99, 101, 99, 101}}},
                                       {{"sync/a", "ns", {9, 100, 99, 101, 99, 101}},
                                        {"records/copy/a", "ns", {9, 50, 49, 51, 49, 51}}}};
    struct xfp_profile p[2] = {{.scalar_count = 2, .scalars = scalars[0]},
                               {.scalar_count = 2, .scalars = scalars[1]}};
    char *text;
    struct xfp_comparison r = compare(&p[0], &p[1], NULL, 0.05, &text);

    assert_int_equal(r.compared, 1);
    assert_int_equal(r.differ + r.only_first + r.only_second, 0);
    free(text);
    scalars[1][1] = (struct xfp_scalar){"records/launch/a", "ns", {9, 50, 49, 51, 49, 51}};
    r = compare(&p[0], &p[1], NULL, 0.05, &text);
    assert_int_equal(r.compared, 1);
    assert_int_equal(r.differ, 0);
    free(text);
}

/* 10 % slower: noise by one's interval, a difference by the other's; as is one that tells none. */
static void staged_copies_and_overlap_are_compared_too(void **state)
{
    const struct xfp_spread wide = {9, 80, 130, 90, 120}, narrow = {9, 98, 112, 99, 111};
    struct xfp_staged_point points[2] = {
        {64, 100, 100, 100, 100, 2, 1, 65536, wide, narrow, narrow, {0}},
        {64, 110, 110, 100, 110, 2, 1, 65536, wide, {9, 108, 112, 109, 111}, narrow, {0}}};
    struct xfp_overlap overlap[2] = {{.name = "overlap/b", .bytes = 64}, {.name = "overlap/b"}};
    struct xfp_staged staged[2];
    struct xfp_profile p[2] = {0};
    char *text;
    struct xfp_comparison r;

    points[0].unpipelined = (struct xfp_spread){9, 98, 102, 99, 101};
    overlap[1] = overlap[0];
    overlap[0].h2d_ns = overlap[0].d2h_ns = overlap[1].h2d_ns = overlap[1].d2h_ns = 50;
    overlap[0].both_ns = 100;
    overlap[1].both_ns = 50;
    for (int i = 0; i < 2; i++) {
        staged[i] = (struct xfp_staged){.name = "staged/a", .point_count = 1, .points = &points[i]};
        p[i] = (struct xfp_profile){
            .staged_count = 1, .staged = &staged[i], .overlap_count = 1, .overlap = &overlap[i]};
    }
    r = compare(&p[0], &p[1], NULL, 0.05, &text);
    assert_int_equal(r.compared, 7);
    assert_int_equal(r.slower, 2);
    assert_int_equal(r.faster, 1);
    assert_non_null(strstr(text, "staged/a 2B"));
    assert_non_null(strstr(text, "staged/a 4B"));
    assert_non_null(strstr(text, "overlap/b both"));
    assert_null(strstr(text, "driver"));
    free(text);
    staged[1].name = "staged/c";
    r = compare(&p[0], &p[1], NULL, 0.05, &text);
    assert_int_equal(r.only_first, 4);
    assert_non_null(strstr(text, "only in the second: staged/c 3B"));
    free(text);
}

/* A replay added a path to the second, whose sizes a program chose. */
static void what_a_replay_added_is_no_difference(void **state)
{
    const struct given same[4] = {{100, 1}, {200, 1}, {100, 1}, {200, 1}};
    struct lab a, b;
    struct xfp_comparison result;
    char *text;

    make(&a, same);
    make(&b, same);
    a.profile.path_count = 1;
    result = compare(&a.profile, &b.profile, NULL, 0.05, &text);
    assert_int_equal(result.only_second, 1);
    free(text);
    b.paths[1].chosen = true;
    result = compare(&a.profile, &b.profile, NULL, 0.05, &text);
    assert_int_equal(result.only_second, 0);
    assert_int_equal(result.compared, 1);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_is_no_difference),
        cmocka_unit_test(noise_is_no_difference),
        cmocka_unit_test(the_first_ones_interval_counts),
        cmocka_unit_test(what_differs_is_named_with_its_way),
        cmocka_unit_test(what_only_one_has_is_named),
        cmocka_unit_test(sizes_need_not_be_the_same),
        cmocka_unit_test(costs_and_groups_are_compared_too),
        cmocka_unit_test(what_records_add_is_not_compared),
        cmocka_unit_test(staged_copies_and_overlap_are_compared_too),
        cmocka_unit_test(what_a_replay_added_is_no_difference),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
