/* The figures: achieved, achievable, lost, runs of small transfers, sites, findings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/about.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/lab/memory.h"
#include "tests/analyzer/traces/scenario.h"

/* ---- a whole report ------------------------------------------------------------------- */

static size_t row_at(const struct analyzed *report, const char *site)
{
    for (size_t i = 0; i < report->analysis->row_count; i++)
        if (strstr(analyzed_row(report, i)->site->text, site))
            return i;
    fail_msg("no row at %s", site);
    return 0;
}

static void test_mixed_figures(void **state)
{
    struct trace_builder b;
    struct xfp_profile *profile = scenario_profile();
    scenario_mixed(&b);
    struct analyzed report = analyzed_trace(&b, profile);
    assert_int_equal(report.analysis->row_count, 4);
    assert_int_equal(report.analysis->achievable.match, XFA_MATCH_YES);
    assert_int_equal(report.analysis->counts.failed, 1);
    assert_int_equal(report.analysis->counts.captured, 1);
    assert_int_equal(report.analysis->counts.device_only, 1);

    const struct xfa_row *upload = analyzed_row(&report, 0);
    const struct xfa_figures *figures = analyzed_figures(&report, 0);
    assert_int_equal(row_at(&report, "upload"), 0); /* worst first */
    assert_string_equal(upload->site->text, "upload (train.c:42)");
    assert_string_equal(upload->function->name, "cudaMemcpy");
    assert_int_equal(figures->transfers, 8);
    assert_int_equal(figures->bytes, 8ull << 24);
    assert_int_equal(xfa_achieved_basis(figures), XFA_BASIS_HOST);
    assert_int_equal(xfa_achievable_basis(figures), XFA_BASIS_MEASURED);
    about(xfa_achieved_gbps(figures), (1 << 24) / 1.2e6);
    about(xfa_achievable_gbps(figures), (1 << 24) / link_ns(1 << 24));
    about(xfa_lost_ns(figures), 8 * (1.2e6 - link_ns(1 << 24)));

    figures = analyzed_figures(&report, row_at(&report, "read_results"));
    assert_int_equal(xfa_achieved_basis(figures), XFA_BASIS_DEVICE);
    about(xfa_achieved_gbps(figures), 64 / 3000.0);
    about(xfa_lost_ns(figures), 100 * (3000 - link_ns(64)));

    figures = analyzed_figures(
        &report, row_at(&report, "train+0x2345")); /* asynchronous, pinned, not timed */
    assert_int_equal(xfa_achieved_basis(figures), XFA_BASIS_UNKNOWN);
    assert_true(isnan(xfa_achieved_gbps(figures)));
    assert_true(isnan(xfa_lost_ns(figures)));
    about(xfa_achievable_gbps(figures), (1 << 20) / link_ns(1 << 20));
    analyzed_free(&report);
    xfp_free(profile);
    build_free(&b);
}

static void test_mixed_findings(void **state)
{
    char fix[XFA_REMEDY_CHARS];
    struct trace_builder b;
    struct xfp_profile *profile = scenario_profile();
    scenario_mixed(&b);
    struct analyzed report = analyzed_trace(&b, profile);
    assert_int_equal(report.findings->count, 5);
    for (size_t i = 1; i < report.findings->count; i++)
        assert_true(report.findings->items[i - 1].lost_ns >= report.findings->items[i].lost_ns);

    const struct xfa_finding *f = analyzed_finding(&report, XFA_FINDING_PAGEABLE, "upload");
    about(f->lost_ns, 8 * (1.2e6 - link_ns(1 << 24)));
    assert_non_null(strstr(xfa_remedy_text(&f->remedy, fix), "cudaMallocHost"));
    f = analyzed_finding(&report, XFA_FINDING_PAGEABLE,
                         "torch::autograd::THPVariable_to (from python3.11)");
    about(f->lost_ns, 16 * (110000 - link_ns(1 << 20))); /* the call, not the device's half */
    assert_non_null(strstr(xfa_remedy_text(&f->remedy, fix), "pin_memory=True"));
    f = analyzed_finding(&report, XFA_FINDING_SYNCHRONOUS, "upload");
    about(f->lost_ns, 8 * (1.2e6 - SUBMIT_NS));
    f = analyzed_finding(&report, XFA_FINDING_SYNCHRONOUS,
                         "torch::autograd::THPVariable_to (from python3.11)");
    about(f->lost_ns, 16 * (110000 - SUBMIT_NS));
    assert_non_null(strstr(xfa_remedy_text(&f->remedy, fix), "non_blocking=True"));
    f = analyzed_finding(&report, XFA_FINDING_SMALL, "read_results");
    about(f->lost_ns, 100 * 3000 - (LINK_LO_NS + 6400 / LINK_GBPS));
    assert_int_equal(f->achieved_basis, XFA_BASIS_DEVICE);
    assert_int_equal(f->achievable_basis, XFA_BASIS_MODELLED);
    assert_null(analyzed_finding(&report, XFA_FINDING_PAGEABLE, "read_results"));
    assert_null(analyzed_finding(&report, XFA_FINDING_SYNCHRONOUS, "read_results"));
    analyzed_free(&report);
    xfp_free(profile);
    build_free(&b);
}

static void test_without_profile_nothing_is_made_up(void **state)
{
    struct trace_builder b;
    scenario_mixed(&b);
    struct analyzed report = analyzed_trace(&b, NULL);
    assert_int_equal(report.analysis->row_count, 4);
    for (size_t i = 0; i < report.analysis->row_count; i++) {
        assert_true(isnan(xfa_achievable_gbps(analyzed_figures(&report, i))));
        assert_true(isnan(xfa_lost_ns(analyzed_figures(&report, i))));
        assert_int_equal(xfa_achievable_basis(analyzed_figures(&report, i)), XFA_BASIS_UNKNOWN);
    }
    about(xfa_achieved_gbps(analyzed_figures(&report, row_at(&report, "upload"))),
          (1 << 24) / 1.2e6);
    for (size_t i = 0; i < report.findings->count; i++)
        assert_true(isnan(report.findings->items[i].lost_ns));
    assert_non_null(analyzed_finding(&report, XFA_FINDING_PAGEABLE, "upload"));
    assert_null(analyzed_finding(&report, XFA_FINDING_SMALL, "read_results"));
    analyzed_free(&report);
    build_free(&b);
}

/* ---- single points -------------------------------------------------------------------- */

#define MS 1000000ull

static struct analyzed report_of_events(const struct xft_event *events, size_t count,
                                        const struct xfp_profile *profile)
{
    struct trace_builder b;
    build_start(&b, 1);
    scenario_names(&b);
    build_events(&b, 0, 0, events, count);
    build_close(&b, XFT_STATE_CLOSED, TEST_START_NS + 1000 * MS);
    struct analyzed report = analyzed_trace(&b, profile);
    build_free(&b);
    return report;
}

static struct xfa_figures figures_of(struct xft_event event, const struct xfp_profile *profile)
{
    struct analyzed report = report_of_events(&event, 1, profile);
    assert_int_equal(report.analysis->row_count, 1);
    struct xfa_figures figures = *analyzed_figures(&report, 0);
    analyzed_free(&report);
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
    struct analyzed report = report_of_events(events, 2, NULL);
    struct xfa_figures figures = *analyzed_figures(&report, 0);
    analyzed_free(&report);
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
    struct analyzed report = report_of_events(events, n, NULL);
    assert_int_equal(report.analysis->row_count, 1);
    assert_int_equal(analyzed_figures(&report, 0)->transfers, 1);
    assert_int_equal(analyzed_figures(&report, 0)->smallest, 1 << 20);
    assert_int_equal(report.analysis->counts.empty, 3);
    assert_int_equal(report.analysis->counts.failed, 1);
    assert_int_equal(report.analysis->counts.device_only, 0);
    assert_int_equal(report.analysis->runtime.transfers, 1);
    assert_int_equal(report.analysis->driver.transfers, 0);
    analyzed_free(&report);
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
    struct analyzed report = report_of_events(events, 2, NULL);
    struct xfa_figures figures = *analyzed_figures(&report, 0);
    analyzed_free(&report);
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
    struct analyzed report = report_of_events(&event, 1, profile);
    assert_int_equal(analyzed_row(&report, 0)->key.direction, XFT_DIR_UNKNOWN);
    assert_int_equal(analyzed_row(&report, 0)->key.src_mem, XFT_MEM_UNKNOWN);
    assert_string_equal(analyzed_row(&report, 0)->function->name, "(unknown function)");
    assert_string_equal(analyzed_row(&report, 0)->site->text, "(no call stack)");
    assert_true(isnan(xfa_achievable_gbps(analyzed_figures(&report, 0))));
    analyzed_free(&report);
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

/* Findings of a run that lasts as long as its events: no saving is too small to be shown. */
static struct analyzed small_report(const struct xft_event *events, size_t count)
{
    struct trace_builder b;
    struct xfp_profile *profile = scenario_profile();
    build_start(&b, 1);
    scenario_names(&b);
    build_events(&b, 0, 0, events, count);
    build_close(&b, XFT_STATE_CLOSED, events[count - 1].end_ns);
    struct analyzed report = analyzed_trace(&b, profile);
    xfp_free(profile); /* findings are made */
    build_free(&b);
    return report;
}

/* Not timed: Lo + k G + (n - 1) g by the model, against Lo + k G. */
static void test_small_run_by_the_model(void **state)
{
    struct xft_event events[50];
    for (size_t i = 0; i < 50; i++)
        events[i] = small(i, STACK_UPLOAD);
    struct analyzed report = small_report(events, 50);
    const struct xfa_finding *f = analyzed_finding(&report, XFA_FINDING_SMALL, NULL);
    assert_non_null(f);
    assert_int_equal(f->transfers, 50);
    assert_int_equal(f->achieved_basis, XFA_BASIS_MODELLED);
    about(f->achievable_ns, LINK_LO_NS + 50 * SMALL_BYTES / LINK_GBPS);
    about(f->achieved_ns - f->achievable_ns, 49 * LINK_GAP_NS);
    analyzed_free(&report);
}

static void test_other_memory_and_large_ones_end_a_run(void **state)
{
    struct xft_event events[60];
    for (size_t i = 0; i < 60; i++)
        events[i] = small(i, STACK_UPLOAD);
    events[20].src_mem = XFT_MEM_PAGEABLE;
    events[40].bytes = events[40].width = 8 << 20;
    struct analyzed report = small_report(events, 60);
    const struct xfa_finding *f = analyzed_finding(&report, XFA_FINDING_SMALL, NULL);
    assert_non_null(f);
    assert_int_equal(f->transfers, 20 + 19 + 19); /* in three runs */
    about(f->achieved_ns - f->achievable_ns, (19 + 18 + 18) * LINK_GAP_NS);
    analyzed_free(&report);
}

static void test_single_small_transfers_are_no_run(void **state)
{
    struct xft_event events[80];
    for (size_t i = 0; i < 80; i++) {
        events[i] = small(i, STACK_UPLOAD);
        events[i].src_mem = i % 2 ? events[i].src_mem : XFT_MEM_PAGEABLE;
    }
    struct analyzed report = small_report(events, 80);
    assert_null(analyzed_finding(&report, XFA_FINDING_SMALL, NULL));
    analyzed_free(&report);
}

/* ---- machines ------------------------------------------------------------------------- */

static void test_other_machine(void **state)
{
    struct trace_builder b;
    struct xfp_profile *profile = scenario_profile();
    scenario_mixed(&b);
    profile->machine.machine_id[0] = 'x';
    struct analyzed report = analyzed_trace(&b, profile);
    assert_int_equal(report.analysis->achievable.match, XFA_MATCH_NO);
    assert_non_null(strstr(report.analysis->achievable.mismatch, "another machine"));
    analyzed_free(&report);

    profile->machine.machine_id[0] = 'a';
    profile->machine.simulated = true;
    report = analyzed_trace(&b, profile);
    assert_int_equal(report.analysis->achievable.match, XFA_MATCH_NO);
    assert_true(report.analysis->simulated);
    analyzed_free(&report);
    xfp_free(profile);
    build_free(&b);
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
    struct analyzed report = analyzed_trace(&b, NULL);
    FILE *sink = fopen("/dev/null", "w");
    assert_non_null(sink);
    analyzed_write(&report, &xfa_format_json, sink);
    fclose(sink);
    assert_int_equal(report.analysis->row_count, BOMB_STACKS);
    assert_true(report.analysis->run->shelf.frames <= XFA_MAX_FRAMES + BOMB_STACKS);
    assert_true(peak_kib() - before < MOST_KIB);
    analyzed_free(&report);
    free(events);
    build_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
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
        cmocka_unit_test(test_other_memory_and_large_ones_end_a_run),
        cmocka_unit_test(test_single_small_transfers_are_no_run),
        cmocka_unit_test(test_other_machine),
        cmocka_unit_test(test_name_bomb),
    };
    return cmocka_run_group_tests_name("analyzer-model", tests, NULL, NULL);
}
