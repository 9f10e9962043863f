/* What is said of kernels by what they leave on a device of the test's own. */
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "preload/base/settings.h"
#include "preload/content/verify.h"
#include "preload/lookup/driver.h"
#include "preload/record/clock.h"
#include "preload/record/cost.h"
#include "preload/record/record.h"

enum { PIECE = 4096, PIECES = XFS_VERIFY_MOST + 1 };

static unsigned char memory[PIECES][PIECE];
static struct xfs_settings settings = {.verify = true};
static char meta[1024];
static int capture_mode;
static int busy, refuses; /* questions until the stream is idle; the driver fetches nothing */

/* ---- driver and recorder --------------------------------------------------------------------- */

static xcu_result query(xcu_stream stream)
{
    (void)stream;
    return busy && busy-- ? XCU_ERROR_NOT_READY : XCU_SUCCESS;
}

static xcu_result create(xcu_stream *stream, unsigned flags)
{
    *stream = (xcu_stream)memory;
    return flags == XCU_STREAM_NON_BLOCKING ? XCU_SUCCESS : XCU_ERROR_INVALID_VALUE;
}

static xcu_result done(xcu_stream stream)
{
    return stream == (xcu_stream)memory ? XCU_SUCCESS : XCU_ERROR_INVALID_HANDLE;
}

static xcu_result exchange(int *mode)
{
    int before = capture_mode;
    capture_mode = *mode;
    *mode = before;
    return XCU_SUCCESS;
}

static xcu_result fetch(void *to, xcu_deviceptr from, size_t bytes, xcu_stream stream)
{
    memcpy(to, (void *)(uintptr_t)from, bytes);
    assert_int_equal(capture_mode, XCU_CAPTURE_MODE_RELAXED);
    return refuses || stream != (xcu_stream)memory ? XCU_ERROR_INVALID_CONTEXT : XCU_SUCCESS;
}

void *xfs_driver_symbol(const char *name)
{
    if (strncmp(name, "cuStreamQuery", strlen("cuStreamQuery")) == 0)
        return (void *)query;
    return strcmp(name, "cuStreamCreate") == 0         ? (void *)create
           : strstr(name, "Exchange")                  ? (void *)exchange
           : strcmp(name, "cuMemcpyDtoHAsync_v2") == 0 ? (void *)fetch
                                                       : (void *)done;
}

const struct xfs_settings *xfs_settings(void)
{
    return &settings;
}

bool xfs_recording(void)
{
    return true;
}

uint64_t xfs_now_apart_ns(void)
{
    return 0;
}

void xfs_cost_took(unsigned why, uint64_t from_ns)
{
    assert_int_equal(why, XFT_OVERHEAD_VERIFY);
    assert_true(from_ns == 0);
}

void xfs_meta_set(const char *key, const char *value)
{
    if (strcmp(key, "verify.ns") != 0)
        strcat(strcat(strcat(strcat(meta, key), "="), value), " ");
}

/* ---- what happens ---------------------------------------------------------------------------- */

static int prepare(void **state)
{
    (void)state;
    memset(memory, 0, sizeof memory);
    meta[0] = 0;
    busy = refuses = capture_mode = 0;
    xfs_verify_after_fork();
    xfs_verify_session_start(true);
    assert_true(xfs_verify_on());
    return 0;
}

static void copied(unsigned piece, size_t from, size_t bytes, bool one)
{
    const struct xft_event event = {
        .direction = XFT_DIR_H2D, .dst = (uintptr_t)memory[piece] + from, .bytes = bytes};
    xfs_verify_copied(&event, one);
}

/* Given pointers to the start of these pieces. */
static uint64_t launched(unsigned a, unsigned b)
{
    const struct xfs_verify_pointer given[] = {
        {(uintptr_t)memory[a], (uintptr_t)memory[a + 1]},
        {(uintptr_t)memory[b], (uintptr_t)memory[b + 1]},
    };
    return xfs_verify_launched(given, 2, NULL, false);
}

#define KEPT(k) ((uint64_t)1 << (k))
#define CHANGED(k) ((uint64_t)1 << (32 + (k)))

static void test_kept_and_changed(void **state)
{
    (void)state;
    copied(0, 0, PIECE, true);
    copied(1, 0, PIECE, true);
    busy = 3;
    assert_true(launched(0, 1) == (KEPT(0) | KEPT(1)));
    assert_int_equal(busy, 0);
    memory[1][PIECE - 1]++;
    assert_true(launched(0, 1) == (KEPT(0) | CHANGED(1)));
    assert_true(launched(0, 1) == (KEPT(0) | KEPT(1))); /* beside what was there then */
    xfs_verify_finish();
    assert_string_equal(meta, "verify=on verify.launches=3 verify.kept=3 ");
}

/* Of what copies had nothing to do with nothing is said; nor once it was freed. */
static void test_not_copied(void **state)
{
    (void)state;
    copied(0, 0, PIECE, true);
    assert_true(launched(0, 2) == KEPT(0));
    xfs_verify_forget((uintptr_t)memory[0], (uintptr_t)memory[1]);
    assert_true(launched(0, 2) == 0);
}

/* Two pieces are reached from one pointer: one of them is not known. */
static void test_rows(void **state)
{
    (void)state;
    copied(0, 0, PIECE / 2, true);
    assert_true(launched(0, 2) == KEPT(0));
    copied(0, PIECE / 2, PIECE / 2, false);
    assert_true(launched(0, 2) == 0);
    memory[0][0]++;
    assert_true(launched(0, 2) == CHANGED(0));
}

static void test_refused(void **state)
{
    (void)state;
    copied(0, 0, PIECE, true);
    refuses = 1;
    assert_true(launched(0, 1) == 0);
    refuses = 0;
    assert_true(launched(0, 1) == 0); /* it is not known what was there before */
    assert_true(launched(0, 1) == KEPT(0));
    xfs_verify_finish();
    assert_non_null(strstr(meta, "verify.skipped.refused=1 "));
}

/* With more pieces than there is room for nobody knows what is left. */
static void test_too_many(void **state)
{
    (void)state;
    for (unsigned i = 0; i + 1 < PIECES; i++)
        copied(i, 0, PIECE, true);
    assert_true(launched(0, 1) == (KEPT(0) | KEPT(1)));
    copied(PIECES - 1, 0, PIECE, true);
    assert_true(launched(0, 1) == 0);
}

/* What may have changed something that is not seen: the launch behind it has kept nothing for
 * certain. */
static void test_changed_by_others(void **state)
{
    (void)state;
    const struct xft_event within = {
        .direction = XFT_DIR_D2D, .dst = (uintptr_t)memory[0] + 8, .bytes = PIECE / 2};
    copied(0, 0, PIECE, true);
    copied(1, 0, PIECE, true);
    copied(0, 16, 8, true); /* too short to be looked at */
    assert_true(launched(0, 1) == KEPT(1));
    assert_true(launched(0, 1) == (KEPT(0) | KEPT(1)));
    xfs_verify_copied(&within, true);
    assert_true(launched(0, 1) == KEPT(1));
    xfs_verify_copied(&within, false); /* in rows: anywhere */
    assert_true(launched(0, 1) == 0);
    xfs_verify_unknown();
    assert_true(launched(0, 1) == 0);
    assert_true(launched(0, 1) == (KEPT(0) | KEPT(1)));
    assert_int_equal(capture_mode, 0);
}

/* What was filled is looked at again: the launch behind it is compared with that. */
static void test_filled(void **state)
{
    (void)state;
    const struct xft_event row = {.dst = (uintptr_t)memory[0] + PIECE - 8, .bytes = 8};
    const struct xft_event captured = {.flags = XFT_CAPTURED, .dst = (uintptr_t)memory[0]};
    copied(0, 0, PIECE, true);
    copied(1, 0, PIECE, true);
    memory[0][PIECE - 1] = 1;
    busy = 3;
    xfs_verify_filled(&row, row.dst + 8);
    assert_int_equal(busy, 0);
    assert_true(launched(0, 1) == (KEPT(0) | KEPT(1)));
    memory[1][0] = 1;
    xfs_verify_filled(&row, (uintptr_t)memory[1] + 8); /* a second row */
    assert_true(launched(0, 1) == (KEPT(0) | KEPT(1)));
    memory[0][0] = 2;
    xfs_verify_filled(&captured, (uintptr_t)memory[1]);
    xfs_verify_filled(&row, (uintptr_t)memory[1]);
    memory[0][0] = 3;
    assert_true(launched(0, 1) == (CHANGED(0) | KEPT(1)));
    assert_int_equal(capture_mode, 0);
}

/* A fill that is not waited for. */
static void test_filled_unseen(void **state)
{
    (void)state;
    const struct xft_event row = {.dst = (uintptr_t)memory[0], .bytes = 8};
    copied(0, 0, PIECE, true);
    copied(1, 0, PIECE, true);
    refuses = 1;
    xfs_verify_filled(&row, row.dst + 8);
    refuses = 0;
    assert_true(launched(0, 1) == KEPT(1));
    xfs_verify_filled(&row, row.dst + 8);
    assert_true(launched(0, 1) == (KEPT(0) | KEPT(1)));
}

/* The stream's work does not end: what it leaves is not known. */
static void test_at_work(void **state)
{
    (void)state;
    copied(0, 0, PIECE, true);
    busy = INT_MAX;
    assert_true(launched(0, 1) == 0);
    busy = 0;
    assert_true(launched(0, 1) == 0);
    assert_true(launched(0, 1) == KEPT(0));
}

static void *launch_too(void *unused)
{
    (void)unused;
    assert_true(launched(0, 1) == 0);
    return NULL;
}

/* Launches of several threads run beside each other: nothing is said any more. */
static void test_threads(void **state)
{
    (void)state;
    pthread_t thread;
    copied(0, 0, PIECE, true);
    assert_true(launched(0, 1) == KEPT(0));
    assert_int_equal(pthread_create(&thread, NULL, launch_too, NULL), 0);
    pthread_join(thread, NULL);
    assert_true(launched(0, 1) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_kept_and_changed, prepare),
        cmocka_unit_test_setup(test_not_copied, prepare),
        cmocka_unit_test_setup(test_rows, prepare),
        cmocka_unit_test_setup(test_refused, prepare),
        cmocka_unit_test_setup(test_too_many, prepare),
        cmocka_unit_test_setup(test_changed_by_others, prepare),
        cmocka_unit_test_setup(test_filled, prepare),
        cmocka_unit_test_setup(test_filled_unseen, prepare),
        cmocka_unit_test_setup(test_at_work, prepare),
        cmocka_unit_test_setup(test_threads, prepare),
    };
    return cmocka_run_group_tests_name("kernels and what was copied", tests, NULL, NULL);
}
