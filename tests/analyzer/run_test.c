/* Many traces as one run: hosts, clocks, GPUs, sites; the order of time over processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/scenario.h"

#define UUID(n) "GPU-" #n #n #n #n #n #n #n #n "-1111-2222-3333-444444444444"

struct made {
    const char *host;
    const char *uuids[3];
    uint64_t real_ns, mono_ns; /* of its start */
    const char *clock;
};

/* A process with `count` events, each 100 ns after the one before, from its start on. */
static struct trace_builder make(const struct made *made, size_t count, int device)
{
    struct trace_builder b;
    struct xft_event *events = calloc(count, sizeof *events);
    assert_non_null(events);
    build_start(&b, 1);
    b.header.start_real_ns = made->real_ns;
    b.header.start_mono_ns = made->mono_ns;
    build_call(&b, CALL_MEMCPY, XFT_LEVEL_RUNTIME, "cudaMemcpy");
    build_meta(&b, "hostname", made->host);
    if (made->clock)
        build_meta(&b, "clock", made->clock);
    for (unsigned i = 0; made->uuids[i]; i++) {
        char key[32];
        snprintf(key, sizeof key, "gpu.%u.uuid", i);
        build_meta(&b, key, made->uuids[i]);
        snprintf(key, sizeof key, "gpu.%u.name", i);
        build_meta(&b, key, "Test GPU");
    }
    for (size_t i = 0; i < count; i++) {
        events[i] = test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PINNED, 1 << 20,
                                  made->mono_ns + i * 100, 50);
        events[i].dst_place = events[i].device = (int16_t)device;
    }
    build_events(&b, 0, 0, events, count);
    build_close(&b, XFT_STATE_CLOSED, made->mono_ns + count * 100);
    free(events);
    return b;
}

/* Two ranks that see one GPU each as their first are on two GPUs; a third shares one of them, but
 * another host's GPU of the same uuid (which cannot be, unless it is made up) is another. */
static void test_gpus(void **state)
{
    static const struct made made[] = {
        {"node01", {UUID(0), NULL}, 1000, 1000, NULL},
        {"node01", {UUID(1), NULL}, 1000, 1000, NULL},
        {"node01", {UUID(1), UUID(0), NULL}, 1000, 1000, NULL},
        {"node02", {UUID(1), NULL}, 1000, 1000, NULL},
    };
    struct analyzed a = analyzed_start(NULL);
    for (size_t i = 0; i < 4; i++) {
        struct trace_builder b = make(&made[i], 1 + i, 0);
        analyzed_add(&a, &b);
        build_free(&b);
    }
    analyzed_finish(&a);
    const struct xfa_run *run = a.analysis->run;
    assert_int_equal(run->host_count, 2);
    assert_int_equal(run->gpu_count, 3);
    assert_string_equal(run->gpus[0].uuid, UUID(0));
    assert_string_equal(run->gpus[1].uuid, UUID(1));
    assert_int_equal(run->gpus[2].host, 1);
    assert_int_equal(a.analysis->row_count, 3);
    uint64_t by_gpu[3] = {0};
    for (size_t i = 0; i < 3; i++)
        by_gpu[analyzed_row(&a, i)->key.dst_gpu] += analyzed_figures(&a, i)->transfers;
    assert_int_equal(by_gpu[0], 1);
    assert_int_equal(by_gpu[1], 2 + 3);
    assert_int_equal(by_gpu[2], 4);
    assert_int_equal(run->processes[2]->gpus[1], 0);
    analyzed_free(&a);
}

/* Ordinals that the trace says nothing of stay what they are. */
static void test_gpus_unknown(void **state)
{
    static const struct made made = {"node01", {UUID(0), NULL}, 1000, 1000, NULL};
    struct trace_builder b = make(&made, 1, 3);
    struct analyzed a = analyzed_trace(&b, NULL);
    assert_int_equal(analyzed_row(&a, 0)->key.dst_gpu, 3);
    analyzed_free(&a);
    build_free(&b);
}

/*
 * The second process began 250 ns after the first by the clock that they share, though the wall
 * clock was set a millisecond on between the two. The other host's times go by its wall clock.
 */
static void test_clocks(void **state)
{
    static const struct made made[] = {
        {"node01", {NULL}, 5000000000, 1000, "boot1/4026531834"},
        {"node01", {NULL}, 5001000000, 1250, "boot1/4026531834"},
        {"node02", {NULL}, 5000000030, 900000, "boot2/4026531834"},
    };
    struct trace_builder b[3];
    struct xfa_process *processes[3];
    struct xfa_run *run = xfa_run_new("test");
    char error[256];
    for (size_t i = 0; i < 3; i++) {
        b[i] = make(&made[i], 500, 0);
        processes[i] = xfa_run_open_bytes(run, b[i].bytes, b[i].size, error, sizeof error);
        assert_non_null(processes[i]);
    }
    assert_int_equal(xfa_process_wall_ns(processes[1], 1250), 5000000250);
    assert_int_equal(xfa_process_wall_ns(processes[2], 900000), 5000000030);
    assert_int_equal(xfa_process_wall_ns(processes[2], 0), 0);
    xfa_run_free(run);
    for (size_t i = 0; i < 3; i++)
        build_free(&b[i]);
}

/* What was learnt of a process stays when its file is closed. */
static void test_closed(void **state)
{
    static const struct made made = {"node01", {UUID(0), NULL}, 7000, 1000, NULL};
    struct trace_builder b = make(&made, 10, 0);
    struct analyzed a = analyzed_trace(&b, NULL);
    build_free(&b);
    const struct xfa_process *process = a.analysis->run->processes[0];
    assert_null(process->trace);
    assert_int_equal(process->end_real_ns, 7000 + 1000);
    assert_int_equal(a.analysis->transfers[0], 10);
    assert_string_equal(analyzed_row(&a, 0)->function->name, "cudaMemcpy");
    assert_string_equal(analyzed_row(&a, 0)->site->text, "(no call stack)");
    analyzed_free(&a);
}

/* Whatever the clocks of a file say: from 1 to INT64_MAX, in order; only 0 is 0. */
static void test_absurd_clocks(void **state)
{
    (void)state;
    const uint64_t
        most = INT64_MAX,
        moments[] = {1,         999, 1000, 1001, most, most + 1, UINT64_MAX - 999, UINT64_MAX - 998,
                     UINT64_MAX};
    const uint64_t offsets[] = {0, 1, 1000, most, most + 1, (uint64_t)-1000, UINT64_MAX};
    for (size_t o = 0; o < sizeof offsets / sizeof *offsets; o++) {
        struct xfa_process process = {.clock_offset = offsets[o]};
        uint64_t before = 1;
        assert_int_equal(xfa_process_wall_ns(&process, 0), 0);
        for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
            uint64_t wall = xfa_process_wall_ns(&process, moments[i]);
            assert_in_range(wall, before, most);
            before = wall;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_absurd_clocks), cmocka_unit_test(test_gpus),
        cmocka_unit_test(test_gpus_unknown),  cmocka_unit_test(test_clocks),
        cmocka_unit_test(test_closed),
    };
    return cmocka_run_group_tests_name("analyzer-run", tests, NULL, NULL);
}
