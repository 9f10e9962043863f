/* Managed memory: which allocation a migration belongs to, which kernel and which line faulted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/model/managed.h"
#include "tests/analyzer/build_trace.h"

enum { T0 = 1000000000, MIB = 1 << 20 };
enum { ALLOC_CALL = 1, SYNC_CALL, FREE_CALL };

static struct xft_event host[64], device[64];
static size_t host_count, device_count;
static struct trace_builder b;

static int start(void **state)
{
    (void)state;
    host_count = device_count = 0;
    build_start(&b, 1);
    return 0;
}

/* ns after the start of the run */
static void call(unsigned kind, unsigned id, uint64_t at, uint64_t address, uint64_t bytes,
                 unsigned stack)
{
    host[host_count++] = (struct xft_event){.kind = (uint8_t)kind,
                                            .call = (uint16_t)id,
                                            .start_ns = T0 + at,
                                            .end_ns = T0 + at + 10,
                                            .dst = address,
                                            .bytes = bytes,
                                            .dst_mem = kind == XFT_EVENT_SYNC ? 0 : XFT_MEM_MANAGED,
                                            .stack = stack};
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

static void fault(uint64_t at, uint64_t address, int on, unsigned count, unsigned stack)
{
    device[device_count++] = (struct xft_event){.kind = XFT_EVENT_FAULT,
                                                .start_ns = T0 + at,
                                                .end_ns = on < 0 ? 0 : T0 + at + 50,
                                                .src = address,
                                                .device = (int16_t)on,
                                                .count = count,
                                                .stack = stack};
}

static void kernel(uint64_t from, uint64_t to, int on, unsigned name)
{
    device[device_count++] = (struct xft_event){.kind = XFT_EVENT_KERNEL,
                                                .start_ns = T0 + from,
                                                .end_ns = T0 + to,
                                                .src = name,
                                                .device = (int16_t)on};
}

static struct xfa_managed result(void)
{
    struct xfa_managed managed;
    char error[256];
    build_events(&b, 0, 0, host, host_count);
    build_events(&b, 1, 0, device, device_count);
    build_close(&b, XFT_STATE_CLOSED, T0 + 1000000000);
    struct xfa_trace *trace = xfa_trace_open_bytes(b.bytes, b.size, error, sizeof error);
    assert_non_null(trace);
    xfa_managed_read(&managed, trace);
    xfa_trace_close(trace);
    build_free(&b);
    return managed;
}

static const struct xfa_managed_figures *at_site(const struct xfa_managed *m, uint32_t stack)
{
    const struct xfa_managed_site *site = xfa_table_get(&m->sites, &stack);
    return site ? &site->figures : NULL;
}

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
    struct xfa_managed m = result();
    assert_int_equal(at_site(&m, 1)->bytes[XFT_DIR_H2D], 10);
    assert_int_equal(at_site(&m, 1)->allocated, 4 * MIB);
    assert_int_equal(at_site(&m, 2)->bytes[XFT_DIR_D2H], 1000);
    assert_int_equal(at_site(&m, 3)->bytes[XFT_DIR_D2H], 10000);
    assert_int_equal(at_site(&m, 0)->bytes[XFT_DIR_H2D], 101);
    assert_int_equal(at_site(&m, 0)->bytes[XFT_DIR_D2H], 100000);
    assert_int_equal(at_site(&m, 0)->allocations, 0);
    assert_int_equal(at_site(&m, 2)->by_cause[XFT_CAUSE_COHERENCE], 1000);
    assert_int_equal(m.beyond, 0);
    xfa_managed_free(&m);
}

static const struct xfa_managed_kernel *of_kernel(const struct xfa_managed *m, uint32_t site,
                                                  uint32_t name)
{
    struct xfa_managed_kernel_key key = {site, name};
    return xfa_table_get(&m->kernels, &key);
}

/* On that device, and at that time; of two at once the later. */
static void test_kernels(void **state)
{
    (void)state;
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
    struct xfa_managed m = result();
    assert_int_equal(of_kernel(&m, 1, 7)->faults, 3 + 5);
    assert_int_equal(of_kernel(&m, 1, 7)->groups, 2);
    assert_int_equal(of_kernel(&m, 1, 8)->faults, 4);
    assert_int_equal(of_kernel(&m, 1, 9)->faults, 6);
    assert_int_equal(of_kernel(&m, 1, 0)->faults, 20 + 50);
    assert_null(of_kernel(&m, 1, 6));
    assert_int_equal(at_site(&m, 1)->faults, 88);
    assert_int_equal(at_site(&m, 1)->fault_groups, 6);
    assert_int_equal(at_site(&m, 1)->fault_ns, 6 * 50);
    xfa_managed_free(&m);
}

static const struct xfa_managed_line *line_at(const struct xfa_managed *m, size_t i)
{
    assert_true(i < m->lines.count);
    return xfa_table_at(&m->lines, i);
}

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
    struct xfa_managed m = result();
    assert_int_equal(m.lines.count, 3);
    const struct xfa_managed_line *first = line_at(&m, 0), *middle = line_at(&m, 1),
                                  *last = line_at(&m, 2);
    assert_int_equal(first->key.site, 0);
    assert_int_equal(first->key.before_call, UINT16_MAX);
    assert_int_equal(first->key.after, 1);
    assert_int_equal(middle->faults, 2);
    assert_int_equal(middle->key.site, 1);
    assert_int_equal(middle->key.line, 41);
    assert_int_equal(middle->key.before, 2);
    assert_int_equal(middle->key.before_call, SYNC_CALL);
    assert_int_equal(middle->key.after, 3);
    assert_int_equal(last->key.before, 3);
    assert_int_equal(last->key.after_call, UINT16_MAX);
    assert_int_equal(at_site(&m, 1)->host_faults, 3);
    xfa_managed_free(&m);
}

/* More sites than are kept: the rest is summed up as not known, and counted. */
static void test_limit(void **state)
{
    (void)state;
    enum { SITES = XFA_MAX_MANAGED_ROWS + 5 };
    struct xft_event *events = calloc(SITES, sizeof *events);
    assert_non_null(events);
    for (unsigned i = 0; i < SITES; i++) {
        call(XFT_EVENT_ALLOC, ALLOC_CALL, 10 * i, 0x1000000 + (uint64_t)i * MIB, MIB, i + 1);
        events[i] = host[--host_count];
    }
    build_events(&b, 2, 0, events, SITES);
    free(events);
    moved(10 * SITES, 0x1000000 + (uint64_t)(SITES - 1) * MIB, 77, XFT_DIR_H2D);
    struct xfa_managed m = result();
    assert_int_equal(m.sites.count, XFA_MAX_MANAGED_ROWS + 1);
    assert_int_equal(at_site(&m, 0)->bytes[XFT_DIR_H2D], 77);
    assert_int_equal(at_site(&m, 0)->allocations, 5);
    assert_int_equal(m.beyond, 5 + 1);
    xfa_managed_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_addresses, start),
        cmocka_unit_test_setup(test_kernels, start),
        cmocka_unit_test_setup(test_lines, start),
        cmocka_unit_test_setup(test_limit, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
