/* Which of the device's records belong to a period: by the number of their call, or by their times;
 * and that the trace has where periods begin and end when no call is made. The clock is the test's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "preload/record/clock.h"
#include "preload/record/hot.h"
#include "preload/record/periods.h"
#include "preload/record/record.h"
#include "tests/record/decode.h"

enum { DELAY_NS = 1000000, LASTS_NS = 5000000, FROM_NS = 1000 + DELAY_NS };

static _Atomic uint64_t clock_ns = 1000;
static _Atomic unsigned turns;

static uint64_t read_clock(void)
{
    return clock_ns;
}

static void changed(void)
{
    turns++;
}

static bool kept(enum xft_event_kind kind, uint32_t correlation, uint64_t start_ns, uint64_t end_ns)
{
    const struct xft_event record = {
        .kind = (uint8_t)kind, .correlation = correlation, .start_ns = start_ns, .end_ns = end_ns};
    return xfs_periods_keep_record(&record);
}

static void test_records(void **state)
{
    (void)state;
    xfs_periods_start(changed);
    assert_false(atomic_load(&xfs_periods_open));
    assert_false(kept(XFT_EVENT_MIGRATION, 0, 2000, 3000));
    xfs_periods_numbered(7);
    clock_ns = FROM_NS;
    assert_true(xfs_periods_look());
    xfs_periods_numbered(9);
    clock_ns = FROM_NS + LASTS_NS;
    assert_false(xfs_periods_look());
    assert_int_equal(turns, 2);
    /* Without a number, what moves by itself: whatever of it lies within. */
    assert_false(kept(XFT_EVENT_MIGRATION, 0, FROM_NS - 500, FROM_NS - 1));
    assert_true(kept(XFT_EVENT_MIGRATION, 0, FROM_NS - 500, FROM_NS + 500)); /* across the start */
    assert_true(kept(XFT_EVENT_MIGRATION, 0, FROM_NS + 1, FROM_NS + 2));
    assert_true(kept(XFT_EVENT_FAULT, 0, FROM_NS + LASTS_NS - 1, FROM_NS + LASTS_NS + 500));
    assert_false(kept(XFT_EVENT_MIGRATION, 0, FROM_NS + LASTS_NS, FROM_NS + LASTS_NS + 500));
    /* Of a call in it, whenever that ran. */
    assert_false(kept(XFT_EVENT_KERNEL, 7, FROM_NS + 1, FROM_NS + 2));
    assert_true(kept(XFT_EVENT_KERNEL, 8, FROM_NS + LASTS_NS + 1, FROM_NS + LASTS_NS + 2));
    assert_true(kept(XFT_EVENT_KERNEL, 9, FROM_NS + 1, FROM_NS + 2));
    assert_false(kept(XFT_EVENT_KERNEL, 10, FROM_NS + 1, FROM_NS + 2));
}

/* ---- written by the background thread ------------------------------------------------------ */

enum { PATIENCE_MS = 60000 };

static void allow_file_bytes(rlim_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0)
        _exit(2);
    limit.rlim_cur = bytes;
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        _exit(3);
}

/* Counted when it has been written, or cannot be. */
static void wait_for_turn(uint64_t at_ns, unsigned number)
{
    clock_ns = at_ns;
    for (int ms = 0; turns != number; ms++) {
        if (ms == PATIENCE_MS)
            _exit(4);
        usleep(1000);
    }
}

/* A process that makes no call meanwhile. `full`: nothing can be written when the period begins. */
static void record_period(bool full)
{
    signal(SIGXFSZ, SIG_IGN);
    xfs_clock_use(read_clock);
    clock_ns = 1000;
    if (!xfs_record_ready())
        _exit(1);
    xfs_periods_start(changed);
    if (full)
        allow_file_bytes(0);
    wait_for_turn(FROM_NS, 1);
    if (full)
        allow_file_bytes(RLIM_INFINITY);
    wait_for_turn(FROM_NS + LASTS_NS, 2);
    exit(0);
}

static struct decoded *period_of_another(const char *folder, bool full)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        record_period(full);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    struct decoded *trace = decode_only_file(folder);
    assert_non_null(trace);
    return trace;
}

static size_t periods_of(const struct decoded *trace, uint64_t aux[2])
{
    size_t count = 0;
    for (size_t i = 0; i < trace->count; i++)
        if (trace->events[i].event.kind == XFT_EVENT_PERIOD && count < 2)
            aux[count++] = trace->events[i].event.aux;
    return count;
}

static void test_written_without_calls(void **state)
{
    uint64_t aux[2] = {0};
    struct decoded *trace = period_of_another(*state, false);
    assert_int_equal(periods_of(trace, aux), 2);
    assert_int_equal(aux[0], XFT_PERIOD_BEGINS);
    assert_int_equal(aux[1], XFT_PERIOD_ENDS);
    assert_true(decode_is_complete(trace));
    assert_int_equal(trace->header.events_lost, 0);
    decode_free(trace);
}

/* What could not be written is counted once: it leaves no gap in addition. */
static void test_written_where_there_is_room(void **state)
{
    uint64_t aux[2] = {0};
    struct decoded *trace = period_of_another(*state, true);
    assert_int_equal(periods_of(trace, aux), 1);
    assert_int_equal(aux[0], XFT_PERIOD_ENDS);
    assert_true(decode_is_complete(trace));
    assert_int_equal(trace->header.events_lost, 1);
    decode_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records),
    };
    char folder[] = "/tmp/xferscope-periods-XXXXXX";
    const struct CMUnitTest written[] = {
        cmocka_unit_test_prestate(test_written_without_calls, folder),
        cmocka_unit_test_prestate(test_written_where_there_is_room, folder),
    };
    setenv("XFERSCOPE_DELAY", "0.001", 1);
    setenv("XFERSCOPE_DURATION", "0.005", 1);
    if (mkdtemp(folder) == NULL || setenv("XFERSCOPE_OUTPUT", folder, 1) != 0)
        return 1;
    int failed =
        cmocka_run_group_tests_name("written", written, NULL, NULL); /* nothing is known yet */
    rmdir(folder);
    xfs_clock_use(read_clock);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
