/* The figures: joins, achieved, achievable, lost, runs of small transfers, sites, findings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/demangle.h"
#include "analyzer/model/join.h"
#include "analyzer/report/report.h"
#include "analyzer/base/units.h"
#include "tests/analyzer/memory.h"
#include "tests/analyzer/scenario.h"

static void about(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.17g, expected %.17g", value, expected);
}

/* ---- joins ---------------------------------------------------------------------------- */

static void copy_at(struct xfa_join *join, uint32_t id, uint64_t start, uint64_t end,
                    uint64_t bytes)
{
    struct xft_event event = {.start_ns = start, .end_ns = end, .bytes = bytes, .correlation = id};
    xfa_join_add(join, &event);
}

static double joined(struct xfa_join *join, uint32_t id, uint64_t start, uint64_t bytes)
{
    struct xft_event call = {.start_ns = start, .bytes = bytes, .correlation = id};
    double ns = NAN;
    return xfa_join_find(join, &call, &ns) ? ns : NAN;
}

#define MS 1000000ull

static void test_join_by_id(void **state)
{
    struct xfa_join join = {0};
    copy_at(&join, 9, 500 * MS, 501 * MS, 64);
    copy_at(&join, 7, 100 * MS, 110 * MS, 64);
    copy_at(&join, 8, 0, 5, 64);             /* no start: the device did not time it */
    copy_at(&join, 8, 10 * MS, 10 * MS, 64); /* no duration */
    xfa_join_ready(&join);
    about(joined(&join, 7, 99 * MS, 64), 10.0 * MS);
    about(joined(&join, 9, 499 * MS, 64), 1.0 * MS);
    assert_true(isnan(joined(&join, 8, 0, 64)));
    assert_true(isnan(joined(&join, 0, 0, 64)));       /* 0 is no id */
    assert_true(isnan(joined(&join, 7, 99 * MS, 64))); /* each copy serves one call */
    xfa_join_free(&join);
}

static void test_join_id_used_again(void **state)
{
    struct xfa_join join = {0};
    copy_at(&join, 7, 900 * MS, 930 * MS, 64);
    copy_at(&join, 7, 100 * MS, 110 * MS, 64);
    copy_at(&join, 7, 500 * MS, 520 * MS, 64);
    copy_at(&join, 7, 500 * MS, 520 * MS, 64); /* reported twice */
    xfa_join_ready(&join);
    assert_int_equal(join.count, 3);
    about(joined(&join, 7, 499 * MS, 64), 20.0 * MS); /* not the one of 100 ms */
    about(joined(&join, 7, 899 * MS, 64), 30.0 * MS);
    about(joined(&join, 7, 99 * MS, 64), 10.0 * MS);
    xfa_join_free(&join);
}

static void test_join_batches_and_graphs(void **state)
{
    struct xfa_join join = {0};
    uint64_t copies = 0, bytes = 0;
    copy_at(&join, 1, 10 * MS, 11 * MS, 50); /* one call of 100 bytes in two copies */
    copy_at(&join, 1, 13 * MS, 14 * MS, 50);
    copy_at(&join, 2, 20 * MS, 29 * MS, 1000); /* a graph: two calls with one id */
    copy_at(&join, 2, 30 * MS, 31 * MS, 64);
    copy_at(&join, 3, 40 * MS, 41 * MS, 77);
    xfa_join_ready(&join);
    about(joined(&join, 1, 9 * MS, 100), 4.0 * MS);
    about(joined(&join, 2, 19 * MS, 64), 1.0 * MS);
    about(joined(&join, 2, 19 * MS, 1000), 9.0 * MS);
    xfa_join_unused(&join, &copies, &bytes);
    assert_int_equal(copies, 1);
    assert_int_equal(bytes, 77);
    xfa_join_free(&join);
}

static void half_at(struct xfa_join *join, enum xft_direction direction, uint64_t start,
                    uint64_t bytes)
{
    struct xft_event event = {.start_ns = start * MS,
                              .end_ns = (start + 2) * MS,
                              .bytes = bytes,
                              .correlation = 5,
                              .direction = (uint8_t)direction,
                              .src_mem = XFT_MEM_DEVICE,
                              .dst_mem = XFT_MEM_DEVICE};
    xfa_join_add(join, &event);
}

/* Without peer access: both halves are the call's, and no device copy is left over. */
static void test_join_halves(void **state)
{
    struct xfa_join join = {0};
    struct xft_event call = {
        .start_ns = 9 * MS, .bytes = 64, .correlation = 5, .direction = XFT_DIR_P2P};
    uint64_t copies = 0, bytes = 0;
    double ns = NAN;
    half_at(&join, XFT_DIR_D2H, 10, 64);
    half_at(&join, XFT_DIR_H2D, 13, 64);
    xfa_join_ready(&join);
    assert_non_null(xfa_join_find(&join, &call, &ns));
    about(ns, 5.0 * MS);
    xfa_join_unused(&join, &copies, &bytes);
    assert_int_equal(copies, 0);
    xfa_join_free(&join);
}

/* ---- a whole report ------------------------------------------------------------------- */

static struct xfa_report *report_of(const struct trace_builder *b,
                                    const struct xfp_profile *profile)
{
    char error[512];
    struct xfa_trace *trace = xfa_trace_open_bytes(b->bytes, b->size, error, sizeof error);
    assert_non_null(trace);
    struct xfa_report *report = xfa_report_new("test", profile);
    xfa_report_add(report, trace);
    xfa_trace_close(trace);
    xfa_report_finish(report, XFA_SORT_LOST);
    return report;
}

static const struct xfa_row *row_at(const struct xfa_report *report, const char *site)
{
    for (size_t i = 0; i < report->rows.count; i++)
        if (strstr(report->order[i]->site->text, site))
            return report->order[i];
    fail_msg("no row at %s", site);
    return NULL;
}

static const struct xfa_finding *finding_at(const struct xfa_report *report, const char *kind,
                                            const char *site)
{
    for (size_t i = 0; i < report->finding_count; i++)
        for (size_t k = 0; k < report->findings[i].site_count; k++)
            if (strcmp(report->findings[i].kind, kind) == 0 &&
                strstr(report->findings[i].sites[k].row->site->text, site))
                return &report->findings[i];
    return NULL;
}

static void test_mixed_figures(void **state)
{
    struct trace_builder b;
    struct xfp_profile *profile = scenario_profile();
    scenario_mixed(&b);
    struct xfa_report *report = report_of(&b, profile);
    assert_int_equal(report->rows.count, 4);
    assert_int_equal(report->match, XFA_MATCH_YES);
    assert_int_equal(report->run.failed, 1);
    assert_int_equal(report->run.captured, 1);
    assert_int_equal(report->run.device_only, 1);

    const struct xfa_row *upload = row_at(report, "upload");
    const struct xfa_figures *figures = &upload->figures;
    assert_ptr_equal(report->order[0], upload); /* worst first */
    assert_string_equal(upload->site->text, "upload (train.c:42)");
    assert_string_equal(upload->call, "cudaMemcpy");
    assert_int_equal(figures->transfers, 8);
    assert_int_equal(figures->bytes, 8ull << 24);
    assert_string_equal(xfa_achieved_basis(figures), "host");
    assert_string_equal(xfa_achievable_basis(figures), "measured");
    about(xfa_achieved_gbps(figures), (1 << 24) / 1.2e6);
    about(xfa_achievable_gbps(figures), (1 << 24) / link_ns(1 << 24));
    about(xfa_lost_ns(figures), 8 * (1.2e6 - link_ns(1 << 24)));

    figures = &row_at(report, "read_results")->figures;
    assert_string_equal(xfa_achieved_basis(figures), "device");
    about(xfa_achieved_gbps(figures), 64 / 3000.0);
    about(xfa_lost_ns(figures), 100 * (3000 - link_ns(64)));

    figures = &row_at(report, "train+0x2345")->figures; /* asynchronous, pinned, not timed */
    assert_null(xfa_achieved_basis(figures));
    assert_true(isnan(xfa_achieved_gbps(figures)));
    assert_true(isnan(xfa_lost_ns(figures)));
    about(xfa_achievable_gbps(figures), (1 << 20) / link_ns(1 << 20));
    xfa_report_free(report);
    xfp_free(profile);
    build_free(&b);
}

static void test_mixed_findings(void **state)
{
    struct trace_builder b;
    struct xfp_profile *profile = scenario_profile();
    scenario_mixed(&b);
    struct xfa_report *report = report_of(&b, profile);
    assert_int_equal(report->finding_count, 5);
    for (size_t i = 1; i < report->finding_count; i++)
        assert_true(report->findings[i - 1].lost_ns >= report->findings[i].lost_ns);

    const struct xfa_finding *f = finding_at(report, "pageable-host-memory", "upload");
    about(f->lost_ns, 8 * (1.2e6 - link_ns(1 << 24)));
    assert_non_null(strstr(f->fix, "cudaMallocHost"));
    f = finding_at(report, "pageable-host-memory",
                   "torch::autograd::THPVariable_to (from python3.11)");
    about(f->lost_ns, 16 * (110000 - link_ns(1 << 20))); /* the call, not the device's half */
    assert_non_null(strstr(f->fix, "pin_memory=True"));
    f = finding_at(report, "synchronous-transfer", "upload");
    about(f->lost_ns, 8 * (1.2e6 - SUBMIT_NS));
    f = finding_at(report, "synchronous-transfer",
                   "torch::autograd::THPVariable_to (from python3.11)");
    about(f->lost_ns, 16 * (110000 - SUBMIT_NS));
    assert_non_null(strstr(f->fix, "non_blocking=True"));
    f = finding_at(report, "small-transfers", "read_results");
    about(f->lost_ns, 100 * 3000 - (LINK_LO_NS + 6400 / LINK_GBPS));
    assert_string_equal(f->achieved_basis, "device");
    assert_string_equal(f->achievable_basis, "modelled");
    assert_null(finding_at(report, "pageable-host-memory", "read_results"));
    assert_null(finding_at(report, "synchronous-transfer", "read_results"));
    xfa_report_free(report);
    xfp_free(profile);
    build_free(&b);
}

static void test_without_profile_nothing_is_made_up(void **state)
{
    struct trace_builder b;
    scenario_mixed(&b);
    struct xfa_report *report = report_of(&b, NULL);
    assert_int_equal(report->rows.count, 4);
    for (size_t i = 0; i < report->rows.count; i++) {
        assert_true(isnan(xfa_achievable_gbps(&report->order[i]->figures)));
        assert_true(isnan(xfa_lost_ns(&report->order[i]->figures)));
        assert_null(xfa_achievable_basis(&report->order[i]->figures));
    }
    about(xfa_achieved_gbps(&row_at(report, "upload")->figures), (1 << 24) / 1.2e6);
    for (size_t i = 0; i < report->finding_count; i++)
        assert_true(isnan(report->findings[i].lost_ns));
    assert_non_null(finding_at(report, "pageable-host-memory", "upload"));
    assert_null(finding_at(report, "small-transfers", "read_results"));
    xfa_report_free(report);
    build_free(&b);
}

/* ---- single points -------------------------------------------------------------------- */

static struct xfa_report *report_of_events(const struct xft_event *events, size_t count,
                                           const struct xfp_profile *profile)
{
    struct trace_builder b;
    build_start(&b, 1);
    scenario_names(&b);
    build_events(&b, 0, 0, events, count);
    build_close(&b, XFT_STATE_CLOSED, TEST_START_NS + 1000 * MS);
    struct xfa_report *report = report_of(&b, profile);
    build_free(&b);
    return report;
}

static struct xfa_figures figures_of(struct xft_event event, const struct xfp_profile *profile)
{
    struct xfa_report *report = report_of_events(&event, 1, profile);
    assert_int_equal(report->rows.count, 1);
    struct xfa_figures figures = report->order[0]->figures;
    xfa_report_free(report);
    return figures;
}

static struct xft_event one(enum xft_direction direction, unsigned memory, bool async)
{
    struct xft_event event =
        test_transfer(CALL_MEMCPY, direction, memory, 1 << 20, TEST_START_NS, 50000);
    event.flags = async ? XFT_ASYNC : 0;
    return event;
}

/* Which calls' host time is the time of their transfer. */
static void test_host_time_only_where_it_blocks(void **state)
{
    struct xft_event d2d = one(XFT_DIR_H2D, XFT_MEM_DEVICE, false);
    d2d.direction = XFT_DIR_D2D;
    assert_int_equal(figures_of(one(XFT_DIR_H2D, XFT_MEM_PINNED, false), NULL).host.transfers, 1);
    assert_int_equal(figures_of(one(XFT_DIR_H2D, XFT_MEM_PAGEABLE, true), NULL).host.transfers, 1);
    assert_int_equal(figures_of(one(XFT_DIR_D2H, XFT_MEM_PAGEABLE, true), NULL).host.transfers, 1);
    assert_int_equal(figures_of(one(XFT_DIR_H2D, XFT_MEM_PINNED, true), NULL).host.transfers, 0);
    assert_int_equal(figures_of(one(XFT_DIR_H2D, XFT_MEM_UNKNOWN, true), NULL).host.transfers, 0);
    assert_int_equal(figures_of(d2d, NULL).host.transfers, 0);
}

/* Call and copy of 1 MiB; times from the start of the call. */
static struct xfa_figures staged_figures(enum xft_direction direction, uint64_t call_end,
                                         uint64_t copy_start, uint64_t copy_end)
{
    struct xft_event events[2] = {one(direction, XFT_MEM_PAGEABLE, false)};
    events[0].end_ns = events[0].start_ns + call_end;
    events[0].correlation = 5;
    events[1] = events[0];
    events[1].kind = XFT_EVENT_DEVICE_COPY;
    events[1].start_ns += copy_start;
    events[1].end_ns = events[0].start_ns + copy_end;
    struct xfa_report *report = report_of_events(events, 2, NULL);
    struct xfa_figures figures = report->order[0]->figures;
    xfa_report_free(report);
    return figures;
}

/* A copy of no bytes is no transfer, at whatever level it was seen and whatever was timed of it. */
static void test_no_bytes_are_no_transfer(void **state)
{
    struct xft_event events[8];
    size_t n = 0;
    for (unsigned call = CALL_MEMCPY; call <= CALL_HTOD; call++) {
        events[n] = one(XFT_DIR_H2D, XFT_MEM_PAGEABLE, call == CALL_MEMCPY_ASYNC);
        events[n].call = (uint16_t)call;
        events[n++].bytes = 0;
    }
    events[n] = events[n - 1];
    events[n - 1].correlation = events[n].correlation = 7;
    events[n++].kind = XFT_EVENT_DEVICE_COPY;
    events[n] = events[0];
    events[n++].flags = XFT_FAILED;
    events[n++] = one(XFT_DIR_H2D, XFT_MEM_PAGEABLE, false);
    struct xfa_report *report = report_of_events(events, n, NULL);
    assert_int_equal(report->rows.count, 1);
    assert_int_equal(report->order[0]->figures.transfers, 1);
    assert_int_equal(report->order[0]->figures.smallest, 1 << 20);
    assert_int_equal(report->run.empty, 3);
    assert_int_equal(report->run.failed, 1);
    assert_int_equal(report->run.device_only, 0);
    assert_int_equal(xfa_report_level(report, "runtime").transfers, 1);
    assert_int_equal(xfa_report_level(report, "driver").transfers, 0);
    xfa_report_free(report);
}

/* From and to pageable memory the device sees half of the work only. */
static void test_staged_copies(void **state)
{
    struct xfa_figures figures = staged_figures(XFT_DIR_H2D, 100000, 20000, 90000);
    about(figures.host.ns, 100000); /* the copy ended within the call */
    assert_int_equal(figures.device.transfers, 0);
    figures = staged_figures(XFT_DIR_H2D, 10000, 9000, 40000);
    about(figures.host.ns, 40000); /* the call returned when all was staged */
    figures = staged_figures(XFT_DIR_H2D, 10000, 25000, 40000);
    about(figures.host.ns, 25000); /* not the 15 us in which other work went before */
    figures = staged_figures(XFT_DIR_D2H, 100000, 60000, 90000);
    about(figures.device.ns, 40000); /* without the wait for earlier work */
    assert_int_equal(figures.host.transfers, 0);
}

/* A call of 50 us from TEST_START_NS on with its device copy at [start, end). */
static struct xfa_figures staged(enum xft_direction direction, unsigned memory, uint64_t start,
                                 uint64_t end)
{
    struct xft_event events[2] = {one(direction, memory, false), {0}};
    events[0].correlation = 7;
    events[1] = events[0];
    events[1].kind = XFT_EVENT_DEVICE_COPY;
    events[1].start_ns = TEST_START_NS + start;
    events[1].end_ns = TEST_START_NS + end;
    struct xfa_report *report = report_of_events(events, 2, NULL);
    struct xfa_figures figures = report->order[0]->figures;
    xfa_report_free(report);
    return figures;
}

/* The driver's own copy through its pinned buffer belongs to a transfer of pageable memory. */
static void test_staging_counts(void **state)
{
    /* Device to host: 20 us of waiting for a kernel, then 10 on the device and 20 unpacking. */
    struct xfa_figures f = staged(XFT_DIR_D2H, XFT_MEM_PAGEABLE, 20000, 30000);
    about(f.device.ns, 30000);
    assert_int_equal(f.host.transfers, 0);
    /* Host to device: the call, and what the device does after it; not the queue in between. */
    about(staged(XFT_DIR_H2D, XFT_MEM_PAGEABLE, 40000, 60000).host.ns, 60000);
    about(staged(XFT_DIR_H2D, XFT_MEM_PAGEABLE, 900000, 910000).host.ns, 60000);
    about(staged(XFT_DIR_H2D, XFT_MEM_PAGEABLE, 10000, 45000).host.ns, 50000);
    /* Pinned memory: the device is all there is. */
    about(staged(XFT_DIR_D2H, XFT_MEM_PINNED, 20000, 30000).device.ns, 10000);
    about(staged(XFT_DIR_H2D, XFT_MEM_PINNED, 20000, 30000).device.ns, 10000);
}

static void test_end_before_start_is_no_time(void **state)
{
    struct xft_event event = one(XFT_DIR_H2D, XFT_MEM_PINNED, false);
    event.end_ns = event.start_ns - 1;
    struct xfa_figures figures = figures_of(event, NULL);
    assert_int_equal(figures.transfers, 1);
    assert_true(isnan(xfa_achieved_gbps(&figures)));
}

static void test_faster_than_achievable_loses_nothing(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    struct xft_event event = one(XFT_DIR_H2D, XFT_MEM_PINNED, false);
    event.end_ns = event.start_ns + 100;
    struct xfa_figures figures = figures_of(event, profile);
    assert_true(xfa_lost_ns(&figures) == 0);
    xfp_free(profile);
}

static void test_unknown_numbers_are_unknown(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    struct xft_event event = one(XFT_DIR_H2D, XFT_MEM_PINNED, false);
    event.direction = 200;
    event.src_mem = 201;
    event.call = 60000;
    event.stack = 4000000000u;
    struct xfa_report *report = report_of_events(&event, 1, profile);
    assert_int_equal(report->order[0]->key.direction, XFT_DIR_UNKNOWN);
    assert_int_equal(report->order[0]->key.src_mem, XFT_MEM_UNKNOWN);
    assert_string_equal(report->order[0]->call, "(unknown function)");
    assert_string_equal(report->order[0]->site->text, "(no call stack)");
    assert_true(isnan(xfa_achievable_gbps(&report->order[0]->figures)));
    xfa_report_free(report);
    xfp_free(profile);
}

/* A GPU the profile does not speak of has nothing achievable that we know of. */
static void test_gpu_not_in_profile(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    struct xft_event event = one(XFT_DIR_H2D, XFT_MEM_PINNED, false);
    event.dst_place = 3;
    struct xfa_figures figures = figures_of(event, profile);
    assert_true(isnan(xfa_achievable_gbps(&figures)));
    xfp_free(profile);
}

/* ---- runs of small transfers ---------------------------------------------------------- */

#define SMALL_BYTES 256

static struct xft_event small(size_t i, unsigned stack)
{
    struct xft_event event = test_transfer(CALL_MEMCPY_ASYNC, XFT_DIR_H2D, XFT_MEM_PINNED,
                                           SMALL_BYTES, TEST_START_NS + i * 10000, 1000);
    event.flags = XFT_ASYNC;
    event.stack = stack;
    return event;
}

static struct xfa_figures small_figures(const struct xft_event *events, size_t count)
{
    struct xfp_profile *profile = scenario_profile();
    struct xfa_report *report = report_of_events(events, count, profile);
    struct xfa_figures sum = {0};
    for (size_t i = 0; i < report->rows.count; i++)
        xfa_figures_merge(&sum, &report->order[i]->figures);
    xfa_report_free(report);
    xfp_free(profile);
    return sum;
}

/* Not timed: Lo + k G + (n - 1) g by the model, against Lo + k G. */
static void test_small_run_by_the_model(void **state)
{
    struct xft_event events[50];
    for (size_t i = 0; i < 50; i++)
        events[i] = small(i, STACK_UPLOAD);
    struct xfa_figures figures = small_figures(events, 50);
    assert_int_equal(figures.small_runs, 1);
    assert_int_equal(figures.small.transfers, 50);
    assert_int_equal(figures.small_modelled, 50);
    about(figures.small_batched_ns, LINK_LO_NS + 50 * SMALL_BYTES / LINK_GBPS);
    about(figures.small.ns - figures.small_batched_ns, 49 * LINK_GAP_NS);
    assert_int_equal(figures.small_limit, (uint64_t)(LINK_LO_NS * LINK_GBPS));
}

static void test_other_sites_and_large_ones_end_a_run(void **state)
{
    struct xft_event events[9];
    for (size_t i = 0; i < 9; i++)
        events[i] = small(i, STACK_UPLOAD);
    events[3].stack = STACK_RESULTS; /* 3 + 1 + 5 */
    events[6].bytes = 8 << 20;       /* 3, 1, 2, -, 2 */
    struct xfa_figures figures = small_figures(events, 9);
    assert_int_equal(figures.small_runs, 3);
    assert_int_equal(figures.small.transfers, 7);
}

static void test_single_small_transfers_are_no_run(void **state)
{
    struct xft_event events[8];
    for (size_t i = 0; i < 8; i++)
        events[i] = small(i, i % 2 ? STACK_UPLOAD : STACK_RESULTS);
    assert_int_equal(small_figures(events, 8).small_runs, 0);
}

/* ---- machines ------------------------------------------------------------------------- */

static void test_other_machine(void **state)
{
    struct trace_builder b;
    struct xfp_profile *profile = scenario_profile();
    scenario_mixed(&b);
    profile->machine.machine_id[0] = 'x';
    struct xfa_report *report = report_of(&b, profile);
    assert_int_equal(report->match, XFA_MATCH_NO);
    assert_non_null(strstr(report->mismatch, "another machine"));
    xfa_report_free(report);

    profile->machine.machine_id[0] = 'a';
    profile->machine.simulated = true;
    report = report_of(&b, profile);
    assert_int_equal(report->match, XFA_MATCH_NO);
    assert_true(xfa_report_simulated(report));
    xfa_report_free(report);
    xfp_free(profile);
    build_free(&b);
}

/* ---- words ---------------------------------------------------------------------------- */

static void test_units(void **state)
{
    char text[XFA_UNIT_CHARS];
    assert_string_equal(xfa_bytes_text(text, 0), "0 B");
    assert_string_equal(xfa_bytes_text(text, 1023), "1023 B");
    assert_string_equal(xfa_bytes_text(text, 1024), "1 KiB");
    assert_string_equal(xfa_bytes_text(text, 1536), "1.50 KiB");
    assert_string_equal(xfa_bytes_text(text, 1 << 20), "1 MiB");
    assert_string_equal(xfa_bytes_text(text, 16 << 20), "16 MiB");
    assert_string_equal(xfa_bytes_text(text, UINT64_MAX), "16 EiB");
    assert_string_equal(xfa_time_text(text, NAN), "-");
    assert_string_equal(xfa_time_text(text, 0), "0 ns");
    assert_string_equal(xfa_time_text(text, 999), "999 ns");
    assert_string_equal(xfa_time_text(text, 12345), "12.3 us");
    assert_string_equal(xfa_time_text(text, 2.5e9), "2.50 s");
    assert_string_equal(xfa_gbps_text(text, NAN), "-");
    assert_string_equal(xfa_gbps_text(text, 55.35), "55.4");
}

static void test_cxx_names(void **state)
{
    static const char *const names[][2] = {
        {"_ZN3net6upload5batchEPKfm", "net::upload::batch(float const*, unsigned long)"},
        {"_Zthis is none", "_Zthis is none"},
        {"plain_c", "plain_c"},
        {"", ""},
        {"_ZN1aI1bS_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_E1cEv",
         "_ZN1aI1bS_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_S_E1cEv"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *text = xfa_demangle(names[i][0]);
        assert_string_equal(text, names[i][1]);
        free(text);
    }
}

/* What is shown of it is common/text_test.c's affair. */
static void test_hostile_text_is_kept_and_tamed(void **state)
{
    char *kept = xfa_kept("a\0\x1b[31m\xff", 8), *shown = xfa_clean("a\0\x1b[31m\xff", 8);
    assert_string_equal(kept, "a\xef\xbf\xbd\x1b[31m\xff");
    assert_string_equal(shown, "a<U+0000><U+001B>[31m<0xFF>");
    free(kept);
    free(shown);
}

/* ---- what a small file can claim ------------------------------------------------------ */

#define BOMB_STACKS 2000
#define BOMB_DEPTH 200
#define BOMB_NAME (8u << 20)

/* Every stack has 199 frames with a name of 8 MiB: 3 TB of text, were it taken at its word. */
static void bomb_names(struct trace_builder *b)
{
    struct xft_symbol symbol = {.address = 0x401100, .line = 1, .function_bytes = BOMB_NAME};
    unsigned char *payload = calloc(1, sizeof symbol + BOMB_NAME);
    memcpy(payload, &symbol, sizeof symbol);
    for (uint32_t i = 0; i < BOMB_NAME; i++) /* within what a reader lets a segment unfold to */
        payload[sizeof symbol + i] = (unsigned char)('a' + (i % 500 ? 0 : i * 2654435761u >> 28));
    build_segment(b, XFT_SEG_SYMBOLS, payload, sizeof symbol + BOMB_NAME);
    free(payload);
    size_t entry = sizeof(struct xft_stack) + BOMB_DEPTH * sizeof(uint64_t);
    payload = calloc(BOMB_STACKS, entry);
    for (uint32_t i = 0; i < BOMB_STACKS; i++) {
        struct xft_stack stack = {i + 1, BOMB_DEPTH};
        memcpy(payload + i * entry, &stack, sizeof stack);
        for (uint64_t k = 0; k < BOMB_DEPTH; k++)
            memcpy(payload + i * entry + sizeof stack + k * 8, &(uint64_t){k ? 0x401100 : i + 16},
                   8);
    }
    build_segment(b, XFT_SEG_STACKS, payload, BOMB_STACKS * entry);
    free(payload);
}

static void test_name_bomb(void **state)
{
    struct trace_builder b;
    struct xft_event *events = calloc(BOMB_STACKS, sizeof *events);
    for (uint32_t i = 0; i < BOMB_STACKS; i++) {
        events[i] = one(XFT_DIR_H2D, XFT_MEM_PINNED, false);
        events[i].stack = i + 1;
    }
    build_start(&b, 1);
    build_meta(&b, "exe", "x");
    bomb_names(&b);
    build_events(&b, 0, 0, events, BOMB_STACKS);
    build_close(&b, XFT_STATE_CLOSED, TEST_START_NS + 1);
    assert_true(b.size < 1 << 20);
    long before = peak_kib();
    struct xfa_report *report = report_of(&b, NULL);
    FILE *sink = fopen("/dev/null", "w");
    xfa_format_json.write(report, &(struct xfa_view){.width = 100}, sink);
    fclose(sink);
    assert_int_equal(report->rows.count, BOMB_STACKS);
    assert_true(report->shelf.frames <= XFA_MAX_FRAMES + BOMB_STACKS);
    assert_true(peak_kib() - before < MOST_KIB);
    xfa_report_free(report);
    free(events);
    build_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_join_by_id),
        cmocka_unit_test(test_join_id_used_again),
        cmocka_unit_test(test_join_batches_and_graphs),
        cmocka_unit_test(test_join_halves),
        cmocka_unit_test(test_mixed_figures),
        cmocka_unit_test(test_mixed_findings),
        cmocka_unit_test(test_without_profile_nothing_is_made_up),
        cmocka_unit_test(test_host_time_only_where_it_blocks),
        cmocka_unit_test(test_no_bytes_are_no_transfer),
        cmocka_unit_test(test_staged_copies),
        cmocka_unit_test(test_staging_counts),
        cmocka_unit_test(test_end_before_start_is_no_time),
        cmocka_unit_test(test_faster_than_achievable_loses_nothing),
        cmocka_unit_test(test_unknown_numbers_are_unknown),
        cmocka_unit_test(test_gpu_not_in_profile),
        cmocka_unit_test(test_small_run_by_the_model),
        cmocka_unit_test(test_other_sites_and_large_ones_end_a_run),
        cmocka_unit_test(test_single_small_transfers_are_no_run),
        cmocka_unit_test(test_other_machine),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_cxx_names),
        cmocka_unit_test(test_name_bomb),
        cmocka_unit_test(test_hostile_text_is_kept_and_tamed),
    };
    return cmocka_run_group_tests_name("analyzer-model", tests, NULL, NULL);
}
