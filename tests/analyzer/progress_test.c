/* The line that says how far analyze is: when it is due, what it says, that nothing of it stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/progress.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/scenario.h"

#define SECOND UINT64_C(1000000000)
#define BEGUN (50 * SECOND)

static char *text;
static size_t bytes;

static struct xfa_progress begun(size_t files, uint64_t all)
{
    struct xfa_progress progress = {.begun_ns = BEGUN, .files = files, .bytes = all};
    progress.out = open_memstream(&text, &bytes);
    assert_non_null(progress.out);
    return progress;
}

static void ended(struct xfa_progress *progress, const char *written)
{
    xfa_progress_clear(progress);
    fclose(progress->out);
    assert_string_equal(text, written);
    free(text);
}

static void test_due(void **state)
{
    struct xfa_progress progress = {.begun_ns = BEGUN};
    assert_false(xfa_progress_due(&progress, BEGUN - 1));
    assert_false(xfa_progress_due(&progress, BEGUN));
    assert_false(xfa_progress_due(&progress, BEGUN + SECOND - 1));
    assert_true(xfa_progress_due(&progress, BEGUN + SECOND));
    progress.said_ns = BEGUN + 2 * SECOND;
    assert_false(xfa_progress_due(&progress, BEGUN + 2 * SECOND + XFA_PROGRESS_EVERY_NS - 1));
    assert_true(xfa_progress_due(&progress, BEGUN + 2 * SECOND + XFA_PROGRESS_EVERY_NS));
}

static void test_nothing_is_said_of_what_is_fast(void **state)
{
    struct xfa_progress progress = begun(1, 100);
    xfa_progress_file(&progress, 100);
    xfa_progress_say(&progress, 0.5, BEGUN + SECOND / 2);
    ended(&progress, "");
}

static void test_one_file(void **state)
{
    struct xfa_progress progress = begun(1, 1000);
    xfa_progress_file(&progress, 1000);
    xfa_progress_say(&progress, 0.345, BEGUN + SECOND);
    xfa_progress_say(&progress, 0.4, BEGUN + SECOND + 1);
    xfa_progress_say(&progress, 1, BEGUN + 2 * SECOND);
    ended(&progress, "\r\033[Kxferscope analyze: 34 %\r\033[Kxferscope analyze: 100 %\r\033[K");
}

/* By their bytes. More than there were at first, or larger ones: not over the whole. */
static void test_many_files(void **state)
{
    struct xfa_progress progress = begun(1200, 10000);
    xfa_progress_file(&progress, 1000);
    xfa_progress_file(&progress, 4000);
    xfa_progress_say(&progress, 0.25, BEGUN + SECOND);
    for (size_t i = 2; i < 1300; i++)
        xfa_progress_file(&progress, 100);
    xfa_progress_say(&progress, 0.5, BEGUN + 2 * SECOND);
    ended(&progress, "\r\033[Kxferscope analyze: 2 of 1,200 files, 20 %"
                     "\r\033[Kxferscope analyze: 1,200 of 1,200 files, 100 %\r\033[K");
}

/* What is cleared before something else is written comes again when it is due. */
static void test_clear(void **state)
{
    struct xfa_progress progress = begun(1, 100);
    xfa_progress_file(&progress, 100);
    xfa_progress_say(&progress, 0.5, BEGUN + SECOND);
    xfa_progress_clear(&progress);
    xfa_progress_clear(&progress);
    xfa_progress_say(&progress, 0.6, BEGUN + 2 * SECOND);
    ended(&progress, "\r\033[Kxferscope analyze: 50 %\r\033[K"
                     "\r\033[Kxferscope analyze: 60 %\r\033[K");
}

static double last;
static size_t reports;

static void take_part(void *self, double part)
{
    assert_true(part >= last && part <= 1);
    last = part;
    reports++;
}

/* A walk tells how far it is, and that it has come to the end. */
static void test_walk(void **state)
{
    static const struct xfa_watch watch = {.read = take_part};
    struct trace_builder b;
    struct xfa_request request = {.path = "test", .watch = &watch};
    struct xfa_analysis *analysis = xfa_analysis_new(&request);
    char error[256];
    scenario_many(&b, 50000);
    last = 0;
    assert_true(xfa_analysis_add_bytes(analysis, b.bytes, b.size, error, sizeof error));
    assert_true(reports > 10);
    assert_true(last == 1);
    xfa_analysis_free(analysis);
    build_free(&b);
}

static void test_replay(void **state)
{
    struct xfa_progress progress = begun(1, 100);
    xfa_progress_say_replay(&progress, 0, 1200, 0, 30, BEGUN + SECOND / 2);
    xfa_progress_say_replay(&progress, 12, 1200, 7.3, 30, BEGUN + SECOND);
    ended(&progress, "\r\033[Kxferscope analyze: replaying, 12 of 1,200 copies, 7 of 30 s\r\033[K");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_due),      cmocka_unit_test(test_nothing_is_said_of_what_is_fast),
        cmocka_unit_test(test_one_file), cmocka_unit_test(test_many_files),
        cmocka_unit_test(test_clear),    cmocka_unit_test(test_walk),
        cmocka_unit_test(test_replay),
    };
    return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
