/* Managed memory: which allocation a migration belongs to, which kernel and which line faulted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"

enum { T0 = 1000000000, MIB = 1 << 20, SLACK = 20000 };
enum { ALLOC_CALL = 1, SYNC_CALL, FREE_CALL, COPY_CALL };
enum { HOST_LANE, DEVICE_LANE, OTHER_LANE };

static struct xft_event host[64], device[64], other[8];
static size_t host_count, device_count, other_count;
static struct trace_builder b;
static struct analyzed a;

static void begin(int pid)
{
    host_count = device_count = other_count = 0;
    build_start(&b, pid);
    build_call(&b, ALLOC_CALL, XFT_LEVEL_RUNTIME, "cudaMallocManaged");
    build_call(&b, SYNC_CALL, XFT_LEVEL_RUNTIME, "cudaDeviceSynchronize");
    build_call(&b, FREE_CALL, XFT_LEVEL_RUNTIME, "cudaFree");
    build_call(&b, COPY_CALL, XFT_LEVEL_RUNTIME, "cudaMemcpyAsync");
    build_meta(&b, "managed", "on");
}

/* A stack of one frame, whose line is its number; but for those of the limit's test. */
static void stack(unsigned id, unsigned line)
{
    uint64_t address = 0x410000 + 16 * (uint64_t)line;
    build_symbol(&b, address, 0, "site", "/src/app.c", line, "/opt/app");
    build_stack(&b, id, &address, 1);
}

static int start(void **state)
{
    (void)state;
    begin(1);
    for (unsigned i = 1; i < 10; i++)
        stack(i, i);
    stack(40, 40);
    stack(41, 41);
    a = analyzed_start(NULL);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    analyzed_free(&a);
    return 0;
}

/* ns after the start of the run */
static struct xft_event *call(unsigned kind, unsigned id, uint64_t at, uint64_t address,
                              uint64_t bytes, unsigned stack_id)
{
    bool memory = kind == XFT_EVENT_ALLOC || kind == XFT_EVENT_FREE;
    host[host_count] = (struct xft_event){.kind = (uint8_t)kind,
                                          .call = (uint16_t)id,
                                          .start_ns = T0 + at,
                                          .end_ns = T0 + at + 10,
                                          .dst = address,
                                          .bytes = bytes,
                                          .dst_mem = memory ? XFT_MEM_MANAGED : 0,
                                          .stack = stack_id};
    return &host[host_count++];
}

static void moved(uint64_t at, uint64_t address, uint64_t bytes, unsigned direction)
{
    device[device_count++] = (struct xft_event){.kind = XFT_EVENT_MIGRATION,
                                                .start_ns = T0 + at,
                                                .end_ns = T0 + at + 100,
                                                .src = address,
                                                .bytes = bytes,
                                                .direction = (uint8_t)direction,
                                                .aux = XFT_CAUSE_COHERENCE};
}

static void fault(uint64_t at, uint64_t address, int on, unsigned count, unsigned stack_id)
{
    device[device_count++] = (struct xft_event){.kind = XFT_EVENT_FAULT,
                                                .start_ns = T0 + at,
                                                .end_ns = on < 0 ? 0 : T0 + at + 50,
                                                .src = address,
                                                .device = (int16_t)on,
                                                .count = count,
                                                .stack = stack_id};
}

static void kernel(uint64_t from, uint64_t to, int on, unsigned name)
{
    device[device_count++] = (struct xft_event){.kind = XFT_EVENT_KERNEL,
                                                .start_ns = T0 + from,
                                                .end_ns = T0 + to,
                                                .src = name,
                                                .device = (int16_t)on};
}

static void add_process(void)
{
    build_events(&b, HOST_LANE, 0, host, host_count);
    build_events(&b, DEVICE_LANE, 0, device, device_count);
    build_events(&b, OTHER_LANE, 0, other, other_count);
    build_close(&b, XFT_STATE_CLOSED, T0 + 1000000000);
    analyzed_add(&a, &b);
    build_free(&b);
}

static const struct xfa_managed *result(void)
{
    add_process();
    analyzed_finish(&a);
    return &a.analysis->managed;
}

/* ---- what was found ------------------------------------------------------------------------ */

/* The site of that line; 0: "no call stack". UINT32_MAX: the run has no such site. */
static uint32_t site_at(unsigned line)
{
    const struct xfa_run *run = a.analysis->run;
    for (uint32_t i = 0; i < xfa_run_site_count(run); i++) {
        const struct xfa_site *site = xfa_run_site(run, i);
        if (line ? site->chosen >= 0 && site->frames[site->chosen].line == line : site->chosen < 0)
            return i;
    }
    return UINT32_MAX;
}

static const struct xfa_managed_figures *at_site(const struct xfa_managed *m, unsigned line)
{
    uint32_t number = site_at(line);
    const struct xfa_managed_site *site = xfa_table_get(&m->sites, &number);
    return site ? &site->figures : NULL;
}

/* NULL: the name is not known */
static const struct xfa_managed_kernel *of_kernel(const struct xfa_managed *m, unsigned line,
                                                  const char *name)
{
    for (size_t i = 0; i < m->kernels.count; i++) {
        const struct xfa_managed_kernel *found = xfa_table_at(&m->kernels, i);
        bool same = name && found->name ? strcmp(name, found->name) == 0 : name == found->name;
        if (same && found->key.site == site_at(line))
            return found;
    }
    return NULL;
}

static const struct xfa_managed_line *line_at(const struct xfa_managed *m, size_t i)
{
    assert_true(i < m->lines.count);
    return xfa_table_at(&m->lines, i);
}

static void assert_call(uint32_t site, uint32_t function, unsigned line, const char *name)
{
    assert_int_equal(site, site_at(line));
    assert_int_not_equal(function, 0);
    assert_string_equal(xfa_run_function(a.analysis->run, function - 1)->name, name);
}

/* ---- allocations --------------------------------------------------------------------------- */

/* The same address again and again, and another in between. */
static void test_addresses(void **state)
{
    (void)state;
    call(XFT_EVENT_ALLOC, ALLOC_CALL, 100, 0x1000000, 4 * MIB, 1);
    call(XFT_EVENT_FREE, FREE_CALL, 5000, 0x1000000, 4 * MIB, 9);
    call(XFT_EVENT_ALLOC, ALLOC_CALL, 6000, 0x1000000, 1 * MIB, 2);
    call(XFT_EVENT_ALLOC, ALLOC_CALL, 6100, 0x1100000, 1 * MIB, 3);
    moved(50, 0x1000000, 1, XFT_DIR_H2D);              /* before there was any */
    moved(1000, 0x1000000 + 3 * MIB, 10, XFT_DIR_H2D); /* inside the first */
    moved(5500, 0x1000000, 100, XFT_DIR_H2D);          /* in between */
    moved(7000, 0x1000000 + MIB - 1, 1000, XFT_DIR_D2H);
    moved(7000, 0x1100000, 10000, XFT_DIR_D2H);
    moved(7000, 0x1200000, 100000, XFT_DIR_D2H); /* behind the last */
    const struct xfa_managed *m = result();
    assert_int_equal(at_site(m, 1)->bytes[XFT_DIR_H2D], 10);
    assert_int_equal(at_site(m, 1)->allocated, 4 * MIB);
    assert_int_equal(at_site(m, 2)->bytes[XFT_DIR_D2H], 1000);
    assert_int_equal(at_site(m, 3)->bytes[XFT_DIR_D2H], 10000);
    assert_int_equal(at_site(m, 0)->bytes[XFT_DIR_H2D], 101);
    assert_int_equal(at_site(m, 0)->bytes[XFT_DIR_D2H], 100000);
    assert_int_equal(at_site(m, 0)->allocations, 0);
    assert_int_equal(at_site(m, 2)->by_cause[XFT_CAUSE_COHERENCE], 1000);
    assert_int_equal(m->beyond, 0);
    assert_true(m->on && !m->off && !m->unseen && !m->why);
    const struct xfa_managed_site **sites = xfa_managed_sites(m);
    assert_int_equal(sites[0]->site, site_at(0));
    assert_int_equal(sites[1]->site, site_at(3));
    assert_int_equal(sites[3]->site, site_at(1));
    free(sites);
}

/* From the start of the call that made it to the end of the one that freed it, both included; of
 * two the newer. */
static void test_times_of_allocations(void **state)
{
    (void)state;
    call(XFT_EVENT_FREE, FREE_CALL, 5000, 0x1000000, MIB, 9);
    other[other_count++] = (struct xft_event){.kind = XFT_EVENT_ALLOC, /* a later lane */
                                              .call = ALLOC_CALL,
                                              .start_ns = T0 + 100,
                                              .end_ns = T0 + 110,
                                              .dst = 0x1000000,
                                              .bytes = MIB,
                                              .dst_mem = XFT_MEM_MANAGED,
                                              .stack = 1};
    other[other_count++] = other[0];
    other[1].start_ns = T0 + 5009;
    other[1].end_ns = T0 + 5030;
    other[1].stack = 2;
    moved(99, 0x1000000, 1, XFT_DIR_H2D);
    moved(100, 0x1000000, 10, XFT_DIR_H2D);
    moved(5000, 0x1000000, 100, XFT_DIR_H2D);
    moved(5008, 0x1000000, 1000, XFT_DIR_H2D);
    moved(5009, 0x1000000, 10000, XFT_DIR_H2D);
    moved(5011, 0x1000000, 100000, XFT_DIR_H2D);
    const struct xfa_managed *m = result();
    assert_int_equal(at_site(m, 0)->bytes[XFT_DIR_H2D], 1);
    assert_int_equal(at_site(m, 1)->bytes[XFT_DIR_H2D], 1110);
    assert_int_equal(at_site(m, 2)->bytes[XFT_DIR_H2D], 110000);
}

static void test_last_ns_of_an_allocation(void **state)
{
    (void)state;
    call(XFT_EVENT_ALLOC, ALLOC_CALL, 100, 0x1000000, MIB, 1);
    call(XFT_EVENT_FREE, FREE_CALL, 5000, 0x1000000, MIB, 9);
    moved(5010, 0x1000000, 1, XFT_DIR_H2D);
    moved(5011, 0x1000000, 10, XFT_DIR_H2D);
    const struct xfa_managed *m = result();
    assert_int_equal(at_site(m, 1)->bytes[XFT_DIR_H2D], 1);
    assert_int_equal(at_site(m, 0)->bytes[XFT_DIR_H2D], 10);
}

/* ---- kernels ------------------------------------------------------------------------------- */

/* On that device, and at that time; of two at once the later. */
static void test_kernels(void **state)
{
    (void)state;
    build_text(&b, 6, "six");
    build_text(&b, 7, "_Z5sevenPf");
    build_text(&b, 8, "eight");
    build_text(&b, 9, "nine");
    call(XFT_EVENT_ALLOC, ALLOC_CALL, 0, 0x1000000, 4 * MIB, 1);
    kernel(100000, 200000, 0, 7);
    kernel(150000, 160000, 0, 8);
    kernel(100000, 900000, 1, 9);
    kernel(20000, 50000, 0, 6);
    fault(120000, 0x1000000, 0, 3, 0);
    fault(155000, 0x1000000, 0, 4, 0);
    fault(190000, 0x1000000, 0, 5, 0);
    fault(155000, 0x1000000, 1, 6, 0);
    fault(500000, 0x1000000, 0, 20, 0); /* nothing ran there then */
    fault(30000, 0x1000000, 1, 50, 0);  /* nor here: on the other one */
    const struct xfa_managed *m = result();
    assert_int_equal(of_kernel(m, 1, "seven(float*)")->faults, 3 + 5);
    assert_int_equal(of_kernel(m, 1, "seven(float*)")->groups, 2);
    assert_int_equal(of_kernel(m, 1, "eight")->faults, 4);
    assert_int_equal(of_kernel(m, 1, "nine")->faults, 6);
    assert_int_equal(of_kernel(m, 1, NULL)->faults, 20 + 50);
    assert_null(of_kernel(m, 1, "six"));
    assert_int_equal(at_site(m, 1)->faults, 88);
    assert_int_equal(at_site(m, 1)->fault_groups, 6);
    assert_int_equal(at_site(m, 1)->fault_ns, 6 * 50);
    const struct xfa_managed_kernel **kernels = xfa_managed_kernels(m);
    assert_int_equal(kernels[0]->ns, 100); /* of 2 groups each: by name, the unknown first */
    assert_null(kernels[0]->name);
    assert_string_equal(kernels[1]->name, "seven(float*)");
    assert_string_equal(kernels[2]->name, "eight");
    assert_string_equal(kernels[3]->name, "nine");
    free(kernels);
}

/* The clocks of kernels and faults differ by up to SLACK, either way. */
static void test_slack(void **state)
{
    (void)state;
    build_text(&b, 6, "early");
    build_text(&b, 7, "late");
    call(XFT_EVENT_ALLOC, ALLOC_CALL, 0, 0x1000000, 4 * MIB, 1);
    kernel(100000, 200000, 0, 6);
    kernel(300000, 400000, 0, 7);
    fault(100000 - SLACK - 1, 0x1000000, 0, 1, 0);
    fault(100000 - SLACK, 0x1000000, 0, 2, 0);
    fault(200000 + SLACK, 0x1000000, 0, 4, 0);
    fault(200000 + SLACK + 1, 0x1000000, 0, 8, 0);
    fault(300000 - SLACK, 0x1000000, 0, 16, 0);
    fault(400000 + SLACK, 0x1000000, 0, 32, 0);
    const struct xfa_managed *m = result();
    assert_int_equal(of_kernel(m, 1, "early")->faults, 2 + 4);
    assert_int_equal(of_kernel(m, 1, "late")->faults, 16 + 32);
    assert_int_equal(of_kernel(m, 1, NULL)->faults, 1 + 8);
}

/* ---- lines --------------------------------------------------------------------------------- */

/* Between the call begun last and the one begun next, at the line that the record names. */
static void test_lines(void **state)
{
    (void)state;
    fault(50, 0x1000000, XFT_PLACE_HOST, 1, 40); /* before any call */
    call(XFT_EVENT_ALLOC, ALLOC_CALL, 100, 0x1000000, 4 * MIB, 1);
    call(XFT_EVENT_SYNC, SYNC_CALL, 1000, 0, 0, 2);
    call(XFT_EVENT_SYNC, SYNC_CALL, 2000, 0, 0, 3);
    fault(1500, 0x1000000, XFT_PLACE_HOST, 1, 41);
    fault(1600, 0x1001000, XFT_PLACE_HOST, 1, 41);
    fault(2500, 0x1000000, XFT_PLACE_HOST, 1, 41); /* after the last call */
    const struct xfa_managed *m = result();
    assert_int_equal(m->lines.count, 3);
    const struct xfa_managed_line *first = line_at(m, 0), *middle = line_at(m, 1),
                                  *last = line_at(m, 2);
    assert_int_equal(first->key.site, site_at(0));
    assert_int_equal(first->key.before_function, 0);
    assert_call(first->key.after, first->key.after_function, 1, "cudaMallocManaged");
    assert_int_equal(middle->faults, 2);
    assert_int_equal(middle->key.site, site_at(1));
    assert_int_equal(middle->key.line, site_at(41));
    assert_call(middle->key.before, middle->key.before_function, 2, "cudaDeviceSynchronize");
    assert_call(middle->key.after, middle->key.after_function, 3, "cudaDeviceSynchronize");
    assert_call(last->key.before, last->key.before_function, 3, "cudaDeviceSynchronize");
    assert_int_equal(last->key.after_function, 0);
    assert_int_equal(at_site(m, 1)->host_faults, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(line_at(m, i)->key.tid, 100 + HOST_LANE);
    const struct xfa_managed_line **lines = xfa_managed_lines(m);
    assert_ptr_equal(lines[0], middle);
    assert_ptr_equal(lines[1], first); /* app.c:40 stands before app.c:41 */
    free(lines);
}

/* A call begun in the ns of the fault is the one before; so is one that moved nothing, and the
 * calls of any thread, of which there are two then. A copy of a launched graph is no call. */
static void test_calls_around(void **state)
{
    (void)state;
    call(XFT_EVENT_ALLOC, ALLOC_CALL, 100, 0x1000000, 4 * MIB, 1);
    call(XFT_EVENT_TRANSFER, COPY_CALL, 1000, 0, MIB, 2)->flags = XFT_CAPTURED;
    struct xft_event *graph = call(XFT_EVENT_TRANSFER, COPY_CALL, 2500, 0, MIB, 5);
    graph->flags = XFT_GRAPH;
    graph->correlation = 7;
    other[other_count++] = (struct xft_event){.kind = XFT_EVENT_TRANSFER,
                                              .call = COPY_CALL,
                                              .flags = XFT_FAILED,
                                              .correlation = 8,
                                              .bytes = MIB,
                                              .start_ns = T0 + 3000,
                                              .end_ns = T0 + 3010,
                                              .stack = 3};
    call(XFT_EVENT_TRANSFER, COPY_CALL, 4000, 0, MIB, 4);
    fault(1000, 0x1000000, XFT_PLACE_HOST, 1, 40);
    fault(3000, 0x1000000, XFT_PLACE_HOST, 1, 41);
    const struct xfa_managed *m = result();
    assert_int_equal(m->lines.count, 2);
    const struct xfa_managed_line *first = line_at(m, 0), *last = line_at(m, 1);
    assert_call(first->key.before, first->key.before_function, 2, "cudaMemcpyAsync");
    assert_call(first->key.after, first->key.after_function, 3, "cudaMemcpyAsync");
    assert_call(last->key.before, last->key.before_function, 3, "cudaMemcpyAsync");
    assert_call(last->key.after, last->key.after_function, 4, "cudaMemcpyAsync");
    assert_int_equal(first->key.tid, 0);
    assert_int_equal(a.analysis->counts.failed, 1);
    assert_int_equal(a.analysis->counts.captured, 1);
}

/* ---- processes ----------------------------------------------------------------------------- */

/* Their sites and kernels are the run's; one without moves shows none of its allocations. */
static void test_processes(void **state)
{
    (void)state;
    build_text(&b, 5, "_Z5sevenPf");
    call(XFT_EVENT_ALLOC, ALLOC_CALL, 0, 0x1000000, MIB, 1);
    kernel(50, 200, 0, 5);
    fault(100, 0x1000000, 0, 1, 0);
    fault(300, 0x1000000, XFT_PLACE_HOST, 1, 40);
    add_process();
    begin(2);
    stack(8, 1); /* other numbers for the same */
    stack(7, 40);
    build_text(&b, 9, "_Z5sevenPf");
    call(XFT_EVENT_ALLOC, ALLOC_CALL, 0, 0x9000000, MIB, 8);
    kernel(50, 200, 0, 9);
    fault(100, 0x9000000, 0, 2, 0);
    fault(300, 0x9000000, XFT_PLACE_HOST, 2, 7);
    add_process();
    begin(3);
    build_meta(&b, "managed", "off");
    build_meta(&b, "managed.why", "somebody else has it");
    stack(1, 1);
    call(XFT_EVENT_ALLOC, ALLOC_CALL, 0, 0x9000000, MIB, 1);
    const struct xfa_managed *m = result();
    assert_int_equal(m->sites.count, 1);
    assert_int_equal(at_site(m, 1)->allocations, 2);
    assert_int_equal(at_site(m, 1)->host_faults, 3);
    assert_int_equal(m->kernels.count, 1);
    assert_int_equal(of_kernel(m, 1, "seven(float*)")->faults, 3);
    assert_int_equal(m->lines.count, 1);
    assert_int_equal(line_at(m, 0)->faults, 3);
    assert_true(m->on && m->off && m->unseen);
    assert_string_equal(m->why, "somebody else has it");
}

/* ---- limits -------------------------------------------------------------------------------- */

/* More sites than are kept: the rest is summed up as not known, and counted. */
static void test_limit(void **state)
{
    (void)state;
    enum { SITES = XFA_MAX_MANAGED_ROWS + 5, OF_ONE_SITE = 3 };
    struct xft_event *events = calloc(SITES, sizeof *events);
    assert_non_null(events);
    for (unsigned i = 0; i < SITES; i++) {
        uint64_t address = 0x500000 + i;
        build_stack(&b, 100 + i, &address, 1);
        call(XFT_EVENT_ALLOC, ALLOC_CALL, 10 * i, 0x1000000 + (uint64_t)i * MIB, MIB, 100 + i);
        events[i] = host[--host_count];
    }
    build_events(&b, 3, 0, events, SITES);
    free(events);
    moved(10 * SITES, 0x1000000 + (uint64_t)(SITES - 1) * MIB, 77, XFT_DIR_H2D);
    add_process();
    begin(2); /* and of those of the next process that are others */
    stack(1, 1);
    for (unsigned i = 0; i < OF_ONE_SITE; i++)
        call(XFT_EVENT_ALLOC, ALLOC_CALL, i, 0x1000000, MIB, 1);
    fault(100, 0x1000000, 0, 1, 0);
    const struct xfa_managed *m = result();
    assert_int_equal(m->sites.count, XFA_MAX_MANAGED_ROWS + 1);
    assert_int_equal(at_site(m, 0)->bytes[XFT_DIR_H2D], 77);
    assert_int_equal(at_site(m, 0)->allocations, 5 + OF_ONE_SITE);
    assert_int_equal(m->beyond, 5 + 1 + 1);
    assert_int_equal(of_kernel(m, 0, NULL)->faults, 1); /* where its site's figures are */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_addresses, start, stop),
        cmocka_unit_test_setup_teardown(test_times_of_allocations, start, stop),
        cmocka_unit_test_setup_teardown(test_last_ns_of_an_allocation, start, stop),
        cmocka_unit_test_setup_teardown(test_kernels, start, stop),
        cmocka_unit_test_setup_teardown(test_slack, start, stop),
        cmocka_unit_test_setup_teardown(test_lines, start, stop),
        cmocka_unit_test_setup_teardown(test_calls_around, start, stop),
        cmocka_unit_test_setup_teardown(test_processes, start, stop),
        cmocka_unit_test_setup_teardown(test_limit, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
