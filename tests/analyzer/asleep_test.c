/* Traces between two readings: what they say when they wake, and when they are to be opened anew.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/read/asleep.h"
#include "tests/analyzer/traces/scenario.h"
#include "tests/analyzer/traces/scenario_report.h"

static char place[] = "/tmp/xferscope-asleep-XXXXXX";
static char path[64];

static unsigned loaded, checked; /* segments with names; with events, when a trace is opened */

unsigned char *__real_xfa_segment_load(struct xfa_trace *trace, const struct xfa_segment *segment);
unsigned char *__wrap_xfa_segment_load(struct xfa_trace *trace, const struct xfa_segment *segment);
unsigned char *__wrap_xfa_segment_load(struct xfa_trace *trace, const struct xfa_segment *segment)
{
    loaded++;
    return __real_xfa_segment_load(trace, segment);
}

bool __real_xfa_segment_sound(struct xfa_trace *trace, const struct xfa_segment *segment);
bool __wrap_xfa_segment_sound(struct xfa_trace *trace, const struct xfa_segment *segment);
bool __wrap_xfa_segment_sound(struct xfa_trace *trace, const struct xfa_segment *segment)
{
    checked += segment->type == XFT_SEG_EVENTS;
    return __real_xfa_segment_sound(trace, segment);
}

static struct xfa_trace *open_trace(enum xft_state state)
{
    char error[256] = "";
    struct trace_builder b;
    scenario_findings(&b, "");
    build_close(&b, state, 0);
    build_save(&b, path);
    build_free(&b);
    struct xfa_trace *trace = xfa_trace_open(path, error, sizeof error);
    if (!trace)
        fail_msg("%s", error);
    loaded = checked = 0;
    return trace;
}

/* ---- all that it says ------------------------------------------------------------------------ */

static void write_batch(void *to, const struct xfa_batch *batch)
{
    fprintf(to, "%u %d %llu %zu ", batch->lane, batch->tid, (unsigned long long)batch->first_seq,
            batch->rows);
    fwrite(batch->events, sizeof *batch->events, batch->rows, to);
}

static void write_table(FILE *out, const struct xfa_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        fwrite(xfa_table_at(table, i), table->key_bytes, 1, out);
    fprintf(out, " %zu\n", table->count);
}

static char *said(struct xfa_trace *trace, bool events)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    const struct xfa_names *names = &trace->names;
    write_table(out, &names->pairs);
    write_table(out, &names->calls);
    write_table(out, &names->stacks);
    write_table(out, &names->texts);
    write_table(out, &names->arguments);
    fprintf(out, "%zu %zu %zu %s\n", names->module_count, names->symbol_count, names->lines_count,
            xfa_trace_meta(trace, "exe"));
    if (events)
        xfa_trace_events(trace, write_batch, out);
    char *line = xfa_trace_loss_line(trace);
    fprintf(out, "%s %llu\n", line ? line : "", (unsigned long long)trace->loss.bad_entries);
    free(line);
    fputc(0, out);
    fclose(out);
    return text;
}

static void assert_says(struct xfa_trace *trace, bool events, const char *before)
{
    char *now = said(trace, events);
    assert_string_equal(now, before);
    free(now);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_with_names(void **state)
{
    struct xfa_trace *trace = open_trace(XFT_STATE_CLOSED);
    char *before = said(trace, true);
    (void)state;
    assert_true(xfa_trace_may_sleep(trace));
    for (unsigned i = 0; i < 3; i++) {
        xfa_trace_sleep(trace, true);
        assert_int_equal(trace->source.fd, -1);
        assert_true(xfa_trace_wake(trace, i > 0));
        assert_says(trace, true, before);
    }
    assert_int_equal(loaded, 0);
    assert_int_equal(checked, 0);
    xfa_trace_close(trace);
    free(before);
}

static void test_without_names(void **state)
{
    struct xfa_trace *trace = open_trace(XFT_STATE_CLOSED);
    char *before = said(trace, false);
    size_t bytes = xfa_trace_bytes(trace), segments = trace->segment_count;
    size_t named = trace->names.bytes;
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        xfa_trace_sleep(trace, false);
        assert_true(xfa_trace_bytes(trace) < bytes - named);
        assert_int_equal(trace->names.block_count, 0);
        assert_true(trace->segment_count < segments);
        assert_true(xfa_trace_wake(trace, false));
        assert_says(trace, false, before);
    }
    assert_int_equal(loaded, 2 * trace->segment_count);
    assert_int_equal(checked, 0);
    xfa_trace_sleep(trace, false);
    assert_false(xfa_trace_wake(trace, true)); /* where its events are was not kept */
    xfa_trace_close(trace);
    free(before);
}

static void test_other_files(void **state)
{
    (void)state;
    for (unsigned how = 0; how < 3; how++) {
        struct xfa_trace *trace = open_trace(XFT_STATE_CLOSED);
        const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 2}};
        xfa_trace_sleep(trace, true);
        if (how == 0)
            assert_int_equal(truncate(path, 4096), 0);
        else if (how == 1)
            assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
        else
            assert_int_equal(unlink(path), 0);
        assert_false(xfa_trace_wake(trace, false));
        xfa_trace_close(trace);
    }
}

/* A process that still runs writes to it. */
static void test_still_recorded(void **state)
{
    struct xfa_trace *trace = open_trace(XFT_STATE_RECORDING);
    (void)state;
    assert_false(xfa_trace_may_sleep(trace));
    xfa_trace_close(trace);
}

static void test_heads(void **state)
{
    char error[256] = "";
    struct xfa_trace *whole = open_trace(XFT_STATE_CLOSED);
    struct xfa_trace *heads = xfa_trace_open_heads(path, error, sizeof error);
    (void)state;
    assert_non_null(heads);
    assert_int_equal(checked, 0);
    assert_string_equal(xfa_trace_meta(heads, "exe"), xfa_trace_meta(whole, "exe"));
    assert_int_equal(heads->names.pairs.count, whole->names.pairs.count);
    assert_int_equal(heads->names.stacks.count, 0);
    assert_true(whole->names.stacks.count > 0);
    assert_false(xfa_trace_may_sleep(heads));
    xfa_trace_close(whole);
    xfa_trace_close(heads);
}

static int make_place(void **state)
{
    (void)state;
    if (!mkdtemp(place))
        return -1;
    snprintf(path, sizeof path, "%s/1-1.trace", place);
    return 0;
}

static int remove_place(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_with_names),  cmocka_unit_test(test_without_names),
        cmocka_unit_test(test_other_files), cmocka_unit_test(test_still_recorded),
        cmocka_unit_test(test_heads),
    };
    return cmocka_run_group_tests(tests, make_place, remove_place);
}
