/* How many classes of transfers are distinguished, and what of them is left when there are more. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/scenario.h"

enum { FIRST_STACK = 100 };

/* A process with a GPU of its own that copies once at each of its call sites. */
static void add_process(struct analyzed *a, unsigned number, unsigned sites)
{
    struct trace_builder b;
    char uuid[64];
    struct xft_event events[64];
    assert_true(sites <= 64);
    build_start(&b, 1000 + (int)number);
    scenario_names(&b);
    snprintf(uuid, sizeof uuid, "GPU-00000000-1111-2222-3333-%012u", number);
    build_meta(&b, "gpu.0.uuid", uuid);
    for (unsigned i = 0; i < sites; i++) {
        char name[32];
        uint64_t address = 0x480000 + 64 * (uint64_t)i;
        snprintf(name, sizeof name, "copy_%u", i);
        build_symbol(&b, address, 0, name, "app.c", i + 1, "/app");
        build_stack(&b, FIRST_STACK + i, &address, 1);
        events[i] = test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PINNED, 1 << 20,
                                  TEST_START_NS + i * 1000000, 500000);
        events[i].stack = FIRST_STACK + i;
    }
    build_events(&b, 0, 0, events, sites);
    build_close(&b, XFT_STATE_CLOSED, TEST_START_NS + 100000000);
    analyzed_add(a, &b);
    build_free(&b);
}

/* Rows without a call site, and the transfers of all rows of a call site's line. */
static size_t nameless(const struct analyzed *a)
{
    size_t count = 0;
    for (size_t i = 0; i < a->analysis->row_count; i++)
        count += xfa_analysis_row(a->analysis, i)->site->chosen < 0;
    return count;
}

static uint64_t transfers_at(const struct analyzed *a, const char *site, bool with_gpu)
{
    uint64_t count = 0;
    for (size_t i = 0; i < a->analysis->row_count; i++) {
        const struct xfa_row *row = xfa_analysis_row(a->analysis, i);
        if (strcmp(row->site->text, site) == 0 && (row->key.dst_gpu >= 0) == with_gpu)
            count += a->analysis->rows[i].transfers;
    }
    return count;
}

/* What was asked for: a thousand processes with a GPU each and fifty call sites. */
static void test_thousand_gpus(void **state)
{
    (void)state;
    enum { PROCESSES = 1000, SITES = 50 };
    struct analyzed a = analyzed_start(NULL);
    for (unsigned i = 0; i < PROCESSES; i++)
        add_process(&a, i, SITES);
    analyzed_finish(&a);
    assert_int_equal(a.analysis->row_count, PROCESSES * SITES);
    assert_int_equal(nameless(&a), 0);
    assert_int_equal(transfers_at(&a, "copy_0 (app.c:1)", true), PROCESSES);
    assert_int_equal(transfers_at(&a, "copy_49 (app.c:50)", true), PROCESSES);
    assert_int_equal(a.analysis->without_gpu + a.analysis->without_site, 0);
    analyzed_free(&a);
}

/* More classes than are kept: the sites stay, and what was achievable. */
static void test_folded(void **state)
{
    (void)state;
    struct xfp_profile *profile = scenario_profile();
    struct analyzed a = analyzed_start(profile);
    a.analysis->classes.most = 7;
    for (unsigned i = 0; i < 5; i++)
        add_process(&a, i, 3);
    analyzed_finish(&a);
    assert_int_equal(a.analysis->row_count, 7 + 3);
    assert_int_equal(nameless(&a), 0);
    assert_int_equal(transfers_at(&a, "copy_0 (app.c:1)", true), 3);
    assert_int_equal(transfers_at(&a, "copy_0 (app.c:1)", false), 2);
    assert_int_equal(transfers_at(&a, "copy_2 (app.c:3)", true), 2);
    assert_int_equal(transfers_at(&a, "copy_2 (app.c:3)", false), 3);
    assert_int_equal(a.analysis->without_gpu, 15 - 7);
    assert_int_equal(a.analysis->without_site, 0);
    double gbps = xfa_achievable_gbps(&a.analysis->rows[0]);
    assert_true(gbps > 0);
    for (size_t i = 0; i < a.analysis->row_count; i++)
        assert_true(xfa_achievable_gbps(&a.analysis->rows[i]) == gbps);
    char *text = analyzed_report(&a, &xfa_format_text);
    assert_non_null(strstr(text, "8 transfers are shown without their GPUs"));
    free(text);
    analyzed_free(&a);
    xfp_free(profile);
}

/* Of a GPU that the profile does not speak of nothing is achievable, folded or not. */
static void test_folded_gpu_not_in_profile(void **state)
{
    (void)state;
    struct xfp_profile *profile = scenario_profile();
    struct xft_event event =
        test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PINNED, 1 << 20, TEST_START_NS, 500000);
    event.dst_place = 3;
    struct trace_builder b;
    build_start(&b, 1);
    scenario_names(&b);
    build_events(&b, 0, 0, &event, 1);
    build_close(&b, XFT_STATE_CLOSED, TEST_START_NS + 100000000);
    struct analyzed a = analyzed_start(profile);
    a.analysis->classes.most = 0;
    analyzed_add(&a, &b);
    build_free(&b);
    analyzed_finish(&a);
    assert_int_equal(a.analysis->without_gpu, 1);
    assert_true(isnan(xfa_achievable_gbps(&a.analysis->rows[0])));
    analyzed_free(&a);
    xfp_free(profile);
}

/* More of these too. */
static void test_without_site(void **state)
{
    (void)state;
    struct analyzed a = analyzed_start(NULL);
    a.analysis->classes.most = 4;
    a.analysis->classes.most_folded = 1;
    for (unsigned i = 0; i < 4; i++)
        add_process(&a, i, 3);
    analyzed_finish(&a);
    assert_int_equal(a.analysis->row_count, 4 + 1 + 1);
    assert_int_equal(nameless(&a), 1);
    assert_int_equal(transfers_at(&a, "copy_1 (app.c:2)", false), 3);
    assert_int_equal(transfers_at(&a, "(no call stack)", false), 5);
    assert_int_equal(a.analysis->without_gpu, 3);
    assert_int_equal(a.analysis->without_site, 5);
    char *json = analyzed_report(&a, &xfa_format_json);
    assert_non_null(strstr(json, "\"folded\": {"));
    assert_non_null(strstr(json, "\"without_site\": 5"));
    free(json);
    analyzed_free(&a);
}

/* Another process's memory seems to lie on this GPU (CUDA IPC): the device's record says where it
 * is. Where there is none, or it says the same, the call's word holds. */
static void test_memory_of_another_process(void **state)
{
    (void)state;
    struct trace_builder b;
    struct xft_event events[6];
    build_start(&b, 1);
    scenario_names(&b);
    build_meta(&b, "gpu.0.uuid", "GPU-00000000-1111-2222-3333-000000000000");
    build_meta(&b, "gpu.1.uuid", "GPU-00000000-1111-2222-3333-000000000001");
    for (unsigned i = 0; i < 3; i++) {
        struct xft_event *call = &events[2 * i], *record = &events[2 * i + 1];
        *call = test_transfer(CALL_MEMCPY_ASYNC, XFT_DIR_D2D, XFT_MEM_DEVICE, 1 << 20,
                              TEST_START_NS + i * 1000000, 5000);
        call->stack = STACK_UPLOAD;
        call->flags = XFT_ASYNC;
        call->src_place = call->dst_place = call->device = 0;
        call->correlation = 10 + i;
        *record = *call;
        record->kind = i == 2 ? XFT_EVENT_QUERY : XFT_EVENT_DEVICE_COPY;
        record->start_ns += 10000;
        record->end_ns = record->start_ns + 20000;
        record->stack = record->call = record->flags = 0;
        record->direction = i == 0 ? XFT_DIR_P2P : XFT_DIR_D2D;
        record->src_place = i == 0;
    }
    build_events(&b, 0, 0, events, 6);
    build_close(&b, XFT_STATE_CLOSED, TEST_START_NS + 100000000);
    struct analyzed a = analyzed_trace(&b, NULL);
    build_free(&b);
    unsigned between = 0, within = 0;
    assert_int_equal(a.analysis->row_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct xfa_row *row = xfa_analysis_row(a.analysis, i);
        bool p2p = row->key.direction == XFT_DIR_P2P;
        *(p2p ? &between : &within) += (unsigned)a.analysis->rows[i].transfers;
        assert_int_equal(row->key.src_gpu != row->key.dst_gpu, p2p);
    }
    assert_int_equal(between, 1);
    assert_int_equal(within, 2);
    analyzed_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thousand_gpus),
        cmocka_unit_test(test_folded),
        cmocka_unit_test(test_folded_gpu_not_in_profile),
        cmocka_unit_test(test_without_site),
        cmocka_unit_test(test_memory_of_another_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
