/* What a report adds up over processes and classes, and what it measures by. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/compare.h"
#include "tests/analyzer/lab/about.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/scenario.h"

/* ---- sums ----------------------------------------------------------------------------------- */

static struct xfa_figures figures(uint64_t smallest, uint64_t largest, double error_ns)
{
    struct xfa_figures f = {.transfers = 4, .smallest = smallest, .largest = largest};
    f.achievable = (struct xfa_sum){.transfers = 4, .bytes = 4, .ns = 100};
    f.achievable_error_ns = error_ns;
    return f;
}

static void test_merged(void **state)
{
    struct xfa_figures large = figures(1000, 5000, 10), small = figures(8, 2000, 30), all = {0};
    (void)state;
    xfa_figures_merge(&all, &large);
    assert_int_equal(all.smallest, 1000); /* not the 0 of none at all */
    xfa_figures_merge(&all, &small);
    xfa_figures_merge(&all, &(struct xfa_figures){0});
    assert_int_equal(all.smallest, 8);
    assert_int_equal(all.largest, 5000);
    about(xfa_achievable_error(&all), 40.0 / 200);
}

/* The class in which half of the transfers is reached. */
static void test_typical(void **state)
{
    struct xfa_figures f = {.transfers = 10};
    (void)state;
    f.sizes[7] = 4;  /* from 64 bytes on */
    f.sizes[11] = 1; /* from 1 KiB on: the fifth */
    f.sizes[21] = 5;
    assert_int_equal(xfa_typical_size(&f), 1024);
}

/* ---- reports -------------------------------------------------------------------------------- */

static struct xft_event upload(uint64_t bytes, uint64_t host_ns)
{
    struct xft_event event =
        test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PINNED, bytes, TEST_START_NS, host_ns);
    event.stack = STACK_UPLOAD;
    return event;
}

static uint64_t start_ms; /* of the next process */

static void add_trace(struct analyzed *report, const struct xft_event *events, size_t count,
                      const char *uuid)
{
    struct trace_builder b;
    build_start(&b, 1);
    b.header.start_real_ns += start_ms * 1000000;
    scenario_names(&b);
    if (uuid)
        build_meta(&b, "gpu.0.uuid", uuid);
    build_events(&b, 0, 0, events, count);
    build_close(&b, XFT_STATE_CLOSED, TEST_START_NS + 100000000);
    analyzed_add(report, &b);
    build_free(&b);
}

static struct analyzed report_of(const struct xft_event *events, size_t count, const char *uuid,
                                 const struct xfp_profile *profile)
{
    struct analyzed report = analyzed_start(profile);
    add_trace(&report, events, count, uuid);
    analyzed_finish(&report);
    return report;
}

/* One path more, `times` as slow as the first, which it is like otherwise. */
static struct xfp_path *add_path(struct xfp_profile *p, const char *name, double times)
{
    p->paths = realloc(p->paths, (p->path_count + 1) * sizeof *p->paths);
    assert_non_null(p->paths);
    struct xfp_path *path = &p->paths[p->path_count++];
    *path = p->paths[0];
    path->name = strdup(name);
    path->points = calloc(path->point_count, sizeof *path->points);
    for (size_t i = 0; i < path->point_count; i++) {
        struct xfp_point *point = &path->points[i];
        *point = p->paths[0].points[i];
        point->median_ns *= times;
        point->min_ns = point->max_ns = point->ci_low_ns = point->ci_high_ns = point->median_ns;
    }
    return path;
}

static double achievable(const struct xfp_profile *profile, const char *uuid)
{
    struct xft_event event = upload(1 << 20, 500000);
    struct analyzed report = report_of(&event, 1, uuid, profile);
    assert_int_equal(report.analysis->row_count, 1);
    double gbps = xfa_achievable_gbps(analyzed_figures(&report, 0));
    analyzed_free(&report);
    return gbps;
}

/* A process may see the machine's second GPU as its first. */
static void test_gpus_by_uuid(void **state)
{
    static const char second[] = "GPU-22222222-1111-2222-3333-444444444444";
    struct xfp_profile *profile = scenario_profile();
    struct xfp_machine *m = &profile->machine;
    (void)state;
    m->gpus = realloc(m->gpus, 2 * sizeof *m->gpus);
    assert_non_null(m->gpus);
    m->gpus[1] = (struct xfp_gpu){.name = strdup("Test GPU"), .uuid = strdup(second), .numa = -1};
    m->gpu_count = 2;
    add_path(profile, "copy/pinned/h2d/gpu1", 4)->dst.device = 1;
    about(achievable(profile, NULL), (1 << 20) / link_ns(1 << 20));
    about(achievable(profile, second), (1 << 20) / link_ns(1 << 20) / 4);
    xfp_free(profile);
}

/* Of the kinds of memory that the program could have taken, the fastest. */
static void test_fastest_memory(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    (void)state;
    add_path(profile, "copy/mapped/h2d/gpu0", 3)->src.memory = XFT_MEM_MAPPED;
    about(achievable(profile, NULL), (1 << 20) / link_ns(1 << 20));
    add_path(profile, "copy/write-combined/h2d/gpu0", 0.5)->src.memory = XFT_MEM_WRITE_COMBINED;
    about(achievable(profile, NULL), (1 << 20) / link_ns(1 << 20) * 2);
    xfp_free(profile);
}

/* One process on the profile's machine, one on another: the report has to say so. */
static void test_second_process_elsewhere(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    struct analyzed report = analyzed_start(profile);
    struct xft_event event = upload(1 << 20, 500000);
    (void)state;
    add_trace(&report, &event, 1, NULL);
    assert_int_equal(report.analysis->achievable.match, XFA_MATCH_YES);
    add_trace(&report, &event, 1, "GPU-99999999-1111-2222-3333-444444444444");
    assert_int_equal(report.analysis->achievable.match, XFA_MATCH_NO);
    assert_non_null(report.analysis->achievable.mismatch);
    add_trace(&report, &event, 1, NULL);
    assert_int_equal(report.analysis->achievable.match, XFA_MATCH_NO);
    analyzed_finish(&report);
    analyzed_free(&report);
    xfp_free(profile);
}

/* From the first process's start to the last one's end, whichever is read first. */
static void test_wall_time(void **state)
{
    static const uint64_t starts_ms[][2] = {{0, 50}, {50, 0}};
    struct xft_event event = upload(1 << 20, 500000);
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct analyzed report = analyzed_start(NULL);
        for (size_t k = 0; k < 2; k++) {
            start_ms = starts_ms[i][k];
            add_trace(&report, &event, 1, NULL);
        }
        start_ms = 0;
        analyzed_finish(&report);
        about(xfa_run_wall_ns(report.analysis->run), 150e6); /* each takes 100 ms */
        analyzed_free(&report);
    }
}

/* ---- findings ------------------------------------------------------------------------------- */

/* A loss is one when it is more than what the profile may be wrong by. */
static void test_loss_within_the_error(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    struct xft_event event = upload(1 << 30, 0);
    double best = link_ns(1 << 28);
    (void)state;
    event.src_mem = XFT_MEM_PAGEABLE;
    event.bytes = event.width = 1 << 28; /* the profile's largest size */
    event.end_ns = event.start_ns + (uint64_t)(1.5 * best);
    struct analyzed report = report_of(&event, 1, NULL, profile);
    assert_non_null(analyzed_finding(&report, XFA_FINDING_PAGEABLE, NULL));
    analyzed_free(&report);
    struct xfp_point *point = &profile->paths[0].points[profile->paths[0].point_count - 1];
    assert_int_equal(point->bytes, event.bytes);
    point->ci_high_ns = point->max_ns = 1.6 * best;
    report = report_of(&event, 1, NULL, profile);
    assert_null(analyzed_finding(&report, XFA_FINDING_PAGEABLE, NULL));
    analyzed_free(&report);
    xfp_free(profile);
}

/* Of two sites one's price is measured, the other's modelled: the whole is as sure as the latter.
 */
static void test_weakest_basis(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    struct xft_event events[2] = {upload(1 << 28, 20000000), upload(1 << 29, 40000000)};
    (void)state;
    events[0].src_mem = events[1].src_mem = XFT_MEM_PAGEABLE;
    events[1].stack = STACK_RESULTS;
    for (int turn = 0; turn < 2; turn++) { /* the worse site is the first, either way */
        struct analyzed report = report_of(events, 2, NULL, profile);
        const struct xfa_finding *both = analyzed_finding(&report, XFA_FINDING_PAGEABLE, NULL);
        assert_non_null(both);
        assert_int_equal(both->site_count, 2);
        assert_int_equal(both->achievable_basis, XFA_BASIS_MODELLED);
        analyzed_free(&report);
        events[0].end_ns += 100000000;
    }
    xfp_free(profile);
}

/* Copies that nobody timed: what they took is the model's, and the finding says so. */
static void test_modelled_run(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    enum { COUNT = 5000 };
    struct xft_event *events = calloc(COUNT, sizeof *events);
    (void)state;
    assert_non_null(events);
    for (size_t i = 0; i < COUNT; i++) {
        events[i] = upload(256, 1000);
        events[i].start_ns += i * 10000;
        events[i].end_ns += i * 10000;
        events[i].flags = XFT_ASYNC;
    }
    struct analyzed report = report_of(events, COUNT, NULL, profile);
    const struct xfa_finding *small = analyzed_finding(&report, XFA_FINDING_SMALL, NULL);
    assert_non_null(small);
    assert_int_equal(small->achieved_basis, XFA_BASIS_MODELLED);
    about(small->lost_ns, (COUNT - 1) * LINK_GAP_NS);
    analyzed_free(&report);
    xfp_free(profile);
    free(events);
}

/* ---- order ---------------------------------------------------------------------------------- */

static int larger_first(const void *a, const void *b)
{
    return xfa_descending(*(const double *)a, *(const double *)b);
}

/* What is unknown is neither the largest nor in the way of the others. */
static void test_unknown_last(void **state)
{
    (void)state;
    double all[] = {NAN, -2, 3, NAN, 0, 7, -INFINITY, NAN, 3};
    const double expected[] = {7, 3, 3, 0, -2, -INFINITY};
    const size_t known = sizeof expected / sizeof *expected, count = sizeof all / sizeof *all;
    qsort(all, count, sizeof *all, larger_first);
    for (size_t i = 0; i < count; i++)
        assert_true(i < known ? all[i] == expected[i] : isnan(all[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merged),
        cmocka_unit_test(test_typical),
        cmocka_unit_test(test_gpus_by_uuid),
        cmocka_unit_test(test_fastest_memory),
        cmocka_unit_test(test_second_process_elsewhere),
        cmocka_unit_test(test_wall_time),
        cmocka_unit_test(test_loss_within_the_error),
        cmocka_unit_test(test_weakest_basis),
        cmocka_unit_test(test_modelled_run),
        cmocka_unit_test(test_unknown_last),
    };
    return cmocka_run_group_tests_name("sums", tests, NULL, NULL);
}
