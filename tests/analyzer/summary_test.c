/* The summary of a run: what copying cost and which part of the run that is, and the worst finding.
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

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "analyzer/report/headline.h"
#include "analyzer/report/summary.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/scenario.h"

#define MAKE "`probe` makes one"

/* ---- a run ----------------------------------------------------------------------------------- */

static struct {
    struct trace_builder b;
    struct xft_event calls[16], done[16];
    size_t call_count, done_count;
    uint32_t correlation;
} it;

static void begin(const char *kernels)
{
    memset(&it, 0, sizeof it);
    build_start(&it.b, 1);
    scenario_names(&it.b);
    if (kernels)
        build_meta(&it.b, "kernels", kernels);
}

static struct xft_event *did(enum xft_event_kind kind, int gpu, uint64_t start, uint64_t end)
{
    struct xft_event *event = &it.done[it.done_count++];
    *event = (struct xft_event){.kind = (uint8_t)kind,
                                .device = (int16_t)gpu,
                                .dst_place = (int16_t)gpu,
                                .start_ns = TEST_START_NS + start,
                                .end_ns = TEST_START_NS + end};
    return event;
}

/* Of 1 MiB to the GPU, from pinned memory; end 0: nobody knows when the device did it. */
static struct xft_event *copy(int gpu, uint64_t start, uint64_t end)
{
    struct xft_event *call = &it.calls[it.call_count++];
    *call = test_transfer(CALL_MEMCPY_ASYNC, XFT_DIR_H2D, XFT_MEM_PINNED, 1 << 20,
                          TEST_START_NS + start, 100);
    call->flags = XFT_ASYNC;
    call->stack = STACK_UPLOAD;
    call->device = call->dst_place = (int16_t)gpu;
    if (end == 0)
        return call;
    call->correlation = ++it.correlation;
    struct xft_event *done = did(XFT_EVENT_DEVICE_COPY, gpu, start, end);
    *done = *call;
    done->kind = XFT_EVENT_DEVICE_COPY;
    done->end_ns = TEST_START_NS + end;
    done->stack = done->call = done->flags = 0;
    return call;
}

static void end(uint64_t ns)
{
    build_events(&it.b, 0, 0, it.calls, it.call_count);
    build_events(&it.b, 1, 0, it.done, it.done_count);
    build_close(&it.b, XFT_STATE_CLOSED, TEST_START_NS + ns);
}

/* ---- its summary ----------------------------------------------------------------------------- */

static void file_for(char *path)
{
    int file = mkstemps(path, (int)strlen(strrchr(path, '.')));
    assert_true(file >= 0);
    close(file);
}

/* Lines, for the caller to free. */
static char *summary_of(const struct trace_builder *b, struct xfp_profile *profile)
{
    char run[] = "/tmp/xferscope-test-XXXXXX.trace", machine[] = "/tmp/xferscope-test-XXXXXX.json";
    char error[256], *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    file_for(run);
    build_save(b, run);
    file_for(machine);
    if (profile)
        assert_int_equal(xfp_save(profile, machine, error, sizeof error), 0);
    const struct xfa_summary_request request = {
        .run = run, .profile = profile ? machine : NULL, .make_profile = MAKE};
    assert_true(xfa_summarize(&request, out));
    fclose(out);
    unlink(run);
    unlink(machine);
    return text;
}

/* ---- what is shown of it --------------------------------------------------------------------- */

static char *shown; /* lines, with the reason behind a slash */

static void show(const char *line, const char *why)
{
    char *longer = xfa_print("%s%s%s%s\n", shown, line, why ? "/" : "", why ? why : "");
    free(shown);
    shown = longer;
}

/* Of a text of xfa_summarize(), which is freed. */
static char *lines_of(char *text, const char *why)
{
    shown = xfa_text("");
    xfa_summary_lines(text, why, show);
    free(text);
    return shown;
}

static char *summary_lines(const struct trace_builder *b, struct xfp_profile *profile)
{
    return lines_of(summary_of(b, profile), NULL);
}

/* What is known when the work ends too early is shown, and the reason; of the line that was to come
 * nothing. */
static void test_ended_early(void **state)
{
    struct trace_builder b;
    struct xfp_profile *profile = scenario_profile();
    (void)state;
    scenario_mixed(&b);
    char *text = summary_of(&b, profile), *whole = lines_of(xfa_text(text), "late");
    assert_null(strstr(whole, "late")); /* all was written */
    char *read = strchr(text, '\n'), *cost = strchr(read + 1, '\n'),
         *found = strchr(cost + 1, '\n');
    char *early = lines_of(xfa_print("%.*s\ncost 1 u", (int)(read - text), text), "late");
    assert_string_equal(early, "what that cost is in the report/late\n");
    free(early);
    early = lines_of(xfa_print("%.*s\nworst: sma", (int)(found - text), text), "late");
    char *wanted = xfa_print("%.*s\n%.*s/late\n", (int)(cost - read - 1), read + 1,
                             (int)(found - cost - 2), cost + 2);
    assert_string_equal(early, wanted);
    assert_non_null(strstr(early, "; what it would save is in the report/late\n"));
    assert_memory_equal(whole, read + 1, (size_t)(cost - read));
    free(early);
    free(wanted);
    free(whole);
    free(text);
    xfp_free(profile);
    build_free(&b);
}

/* Its first line. */
static void assert_cost(const char *wanted)
{
    char *text = summary_lines(&it.b, NULL);
    assert_non_null(strchr(text, '\n'));
    *strchr(text, '\n') = 0;
    assert_string_equal(text, wanted);
    free(text);
    build_free(&it.b);
}

/* ---- what it cost ---------------------------------------------------------------------------- */

static void test_exposed(void **state)
{
    (void)state;
    begin("on");
    copy(0, 10000, 30000);
    copy(0, 50000, 70000);
    did(XFT_EVENT_KERNEL, 0, 60000, 90000);
    end(200000);
    assert_cost("cost 40.0 us, 20 % of the run's 200 us; 30.0 us of it exposed, with no kernel "
                "beside it");
}

static void test_all_hidden(void **state)
{
    (void)state;
    begin("on");
    copy(0, 60000, 61000);
    did(XFT_EVENT_KERNEL, 0, 60000, 90000);
    end(100000);
    assert_cost("cost 1.00 us, 1.0 % of the run's 100 us; nothing of it exposed, with no kernel "
                "beside it");
}

/* One digit behind the point below 10 %, and never "10.0 %". */
static void test_percent(void **state)
{
    static const struct {
        uint64_t ns;
        const char *text;
    } cases[] = {{9940, ", 9.9 % of"}, {9960, ", 10 % of"}, {55500, ", 56 % of"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin("on");
        copy(0, 10000, 10000 + cases[i].ns);
        end(100000);
        char *text = summary_lines(&it.b, NULL);
        assert_non_null(strstr(text, cases[i].text));
        free(text);
        build_free(&it.b);
    }
}

/* The part is of all GPUs' time. */
static void test_two_gpus(void **state)
{
    (void)state;
    begin("on");
    copy(0, 10000, 50000);
    copy(1, 10000, 70000);
    end(200000);
    assert_cost("cost 100 us on 2 GPUs, 25 % of the run's 200 us; 100 us of it exposed, with no "
                "kernel beside it");
}

static void test_kernels_not_known(void **state)
{
    (void)state;
    begin(NULL);
    copy(0, 10000, 30000);
    end(200000);
    assert_cost("cost 20.0 us, 10 % of the run's 200 us; how much of it was exposed is not known "
                "without kernels' times");
}

/* Where the device's times are missing, what calls took that waited for their copies. */
static void test_times_of_calls(void **state)
{
    (void)state;
    begin("on");
    *copy(0, 0, 0) = test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PAGEABLE, 1 << 20,
                                   TEST_START_NS + 10000, 90000);
    end(200000);
    assert_cost("cost at most 90.0 us, 45 % of the run's 200 us (times of the calls)");
}

static void test_no_times(void **state)
{
    (void)state;
    begin("on");
    copy(0, 10000, 0);
    end(200000);
    assert_cost("what that cost is not known: no times were recorded");
}

static void test_a_part_of_the_run(void **state)
{
    (void)state;
    begin("on");
    build_meta(&it.b, "periods.duration_ns", "50000");
    did(XFT_EVENT_PERIOD, 0, 100000, 100000)->aux = XFT_PERIOD_BEGINS;
    copy(0, 110000, 120000);
    did(XFT_EVENT_PERIOD, 0, 150000, 150000)->aux = XFT_PERIOD_ENDS;
    end(900000);
    assert_cost("cost 10.0 us, 20 % of the recorded 50.0 us; 10.0 us of it exposed, with no "
                "kernel beside it");
}

/* ---- the worst finding ----------------------------------------------------------------------- */

/* What the report says it would save, and of how long a run. */
static void test_saving(void **state)
{
    struct trace_builder b;
    struct xfp_profile *profile = scenario_profile();
    (void)state;
    scenario_mixed(&b);
    struct analyzed a = analyzed_weighed(&b, profile);
    const struct xfa_finding *worst = &a.findings->items[0];
    const struct xfw_saving *saving = &worst->saving;
    assert_true(saving->low < saving->likely && saving->likely < saving->high);
    char *headline = xfa_headline_line(a.analysis, a.findings, NULL);
    assert_non_null(strstr(headline, " -> "));
    char *wanted = xfa_print("worst: %s at %s; %s\n", xfa_finding_word(worst->id),
                             worst->sites[0].site->text, headline);
    free(headline);
    char *text = summary_lines(&b, profile);
    assert_string_equal(strchr(text, '\n') + 1, wanted);
    free(text);
    free(wanted);
    analyzed_free(&a);
    xfp_free(profile);
    build_free(&b);
}

/* What another machine gives says nothing of this one. */
static void test_no_profile_of_it(void **state)
{
    struct trace_builder b;
    struct xfp_profile *profile = scenario_profile();
    (void)state;
    scenario_mixed(&b);
    char *text = summary_lines(&b, NULL);
    assert_non_null(
        strstr(text, "; what it would save is not known without a machine profile: " MAKE "\n"));
    scenario_other_machine(profile);
    char *other = summary_lines(&b, profile);
    assert_non_null(strstr(
        other, "; what it would save is not known without a profile of this machine: " MAKE "\n"));
    *strstr(text, "without") = *strstr(other, "without") = 0;
    assert_string_equal(text, other);
    free(text);
    free(other);
    xfp_free(profile);
    build_free(&b);
}

static void test_nothing_to_change(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    (void)state;
    begin("on");
    copy(0, 10000, 10000 + (uint64_t)link_ns(1 << 20));
    end(200000000);
    char *text = summary_lines(&it.b, profile);
    assert_non_null(strstr(text, "\nworst: nothing worth changing was found\n"));
    free(text);
    text = summary_lines(&it.b, NULL);
    assert_non_null(strstr(text, "\nworst: none is known without a machine profile: " MAKE));
    free(text);
    xfp_free(profile);
    build_free(&it.b);
}

/* The end of a long site, and no half of a character. */
static void test_long_site(void **state)
{
    char name[3 * 200 + 4] = "";
    (void)state;
    for (size_t more = 0; more < 3; more++) {
        memset(name, 'x', more);
        for (size_t i = 0; i < 200; i++)
            memcpy(name + more + 3 * i, "\xe2\x82\xac", 4);
        begin("on");
        build_symbol(&it.b, 0x480000, 0, name, "/src/a.c", 7, "/opt/sample/train");
        build_stack(&it.b, 99, (uint64_t[]){0x480000}, 1);
        for (unsigned i = 0; i < 4; i++) {
            struct xft_event *call = copy(0, 0, 0);
            *call = test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PAGEABLE, 16 << 20,
                                  TEST_START_NS + 2000000 * i, 1900000);
            call->stack = 99;
        }
        end(9000000);
        char *text = summary_lines(&it.b, NULL), *site = strstr(text, " at ...");
        assert_non_null(site);
        site += strlen(" at ...");
        assert_memory_equal(site, "\xe2\x82\xac", 3);
        char *last = strstr(site, " (a.c:7);");
        assert_non_null(last);
        assert_in_range((size_t)(last - site), 100, 120);
        assert_int_equal((last - site) % 3, 0);
        free(text);
        build_free(&it.b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ended_early),       cmocka_unit_test(test_exposed),
        cmocka_unit_test(test_all_hidden),        cmocka_unit_test(test_percent),
        cmocka_unit_test(test_two_gpus),          cmocka_unit_test(test_kernels_not_known),
        cmocka_unit_test(test_times_of_calls),    cmocka_unit_test(test_no_times),
        cmocka_unit_test(test_a_part_of_the_run), cmocka_unit_test(test_saving),
        cmocka_unit_test(test_no_profile_of_it),  cmocka_unit_test(test_nothing_to_change),
        cmocka_unit_test(test_long_site),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
