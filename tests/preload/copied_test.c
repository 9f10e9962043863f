/* From a call's description to its hash: when a copy's data is there to be hashed, for which waits,
 * and what that may cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "preload/base/check.h"
#include "preload/base/own_stack.h"
#include "preload/base/sandbox.h"
#include "preload/base/settings.h"
#include "preload/content/content.h"
#include "preload/intercept/classify.h"
#include "preload/intercept/describe.h"
#include "preload/record/cost.h"
#include "preload/lookup/driver.h"
#include "preload/record/record.h"
#include "preload/timing/event_pairs.h"

/* ---- what they ask --------------------------------------------------------------------------- */

enum { BYTES = 1 << 16, NOW = 1000 };
atomic_bool xfs_sandbox_seen;
atomic_bool xfs_pairs_on;
static struct xfs_settings settings;
static uint64_t hashes, hashing_ns, meta_ns, meta_not_arrived, meta_budget;

void xfs_check_failed(int *said, const char *words)
{
    (void)said;
    fail_msg("%s", words);
}

const struct xfs_settings *xfs_settings(void)
{
    return &settings;
}

bool xfs_on_own_stack(void (*work)(void *), void *argument)
{
    work(argument);
    return true;
}

bool xfs_recording(void)
{
    return true;
}

void xfs_event_write(const struct xft_event *event)
{
    assert_int_equal(event->kind, XFT_EVENT_CONTENT);
    hashes++;
    hashing_ns += event->count;
}

uint64_t xfs_now_apart_ns(void)
{
    return 0;
}

void *xfs_driver_symbol(const char *name)
{
    (void)name;
    return NULL;
}

void xfs_cost_took(unsigned why, uint64_t from_ns)
{
    (void)why;
    (void)from_ns;
}

void xfs_cost_unusual(unsigned why)
{
    (void)why;
}

bool xfs_do_apart(void (*work)(void *), void *argument)
{
    work(argument);
    return true;
}

void xfs_meta_set(const char *key, const char *value)
{
    uint64_t number = strtoull(value, NULL, 10);
    if (!strcmp(key, "content.ns"))
        meta_ns = number;
    else if (!strcmp(key, "content.skipped.unsettled"))
        meta_not_arrived = number;
    else if (!strcmp(key, "content.skipped.budget"))
        meta_budget = number;
}

void xfs_pairs_collect(void)
{
}

/* More passes than hashes take, unless the run's clock stands still. */
static uint64_t tick_ns, ticks;
uint64_t xfs_now_ns(void)
{
    return NOW + 2 + tick_ns * ticks++;
}

int16_t xfs_only_device = XFT_PLACE_UNKNOWN; /* several: the driver is asked */
int16_t xfs_current_device(void)
{
    return 0;
}

int16_t xfs_context_device(void *context)
{
    return 0;
}

static unsigned char memory[2][BYTES];

/* The setting has its words in another order. */
static void session(enum xfs_content_mode mode, unsigned share)
{
    static const int words[] = {[XFS_CONTENT_AUTO] = 0,
                                [XFS_CONTENT_OFF] = 1,
                                [XFS_CONTENT_SAMPLED] = 2,
                                [XFS_CONTENT_WHOLE] = 3};
    xfs_content_after_fork(); /* nothing is left of an earlier one */
    settings.content = words[mode];
    settings.content_share = share;
    hashes = hashing_ns = meta_ns = meta_not_arrived = meta_budget = 0;
    xfs_content_session_start();
}

static void copy(bool up, int which, uint64_t stream, unsigned flags)
{
    const struct xft_event event = {.kind = XFT_EVENT_TRANSFER,
                                    .start_ns = NOW,
                                    .end_ns = NOW + 1,
                                    .bytes = BYTES,
                                    .direction = up ? XFT_DIR_H2D : XFT_DIR_D2H,
                                    .src_mem = up ? XFT_MEM_PINNED : XFT_MEM_DEVICE,
                                    .dst_mem = up ? XFT_MEM_DEVICE : XFT_MEM_PINNED,
                                    .stream = stream,
                                    .flags = (uint16_t)(flags | XFT_STREAM_KNOWN)};
    const struct xfs_rows rows = {(uintptr_t)memory[which], BYTES, 1, 1, 0, 0};
    xfs_content_copied(&event, &rows, &rows);
}

static struct xfs_frame wait(unsigned flags)
{
    return (struct xfs_frame){.event = {.start_ns = NOW + 2, .flags = (uint16_t)flags}};
}

#define STREAM ((xcu_stream)0x50)
#define OTHER ((xcu_stream)0x60)
#define EVENT ((xcu_event)0x70)

static void wait_for_stream(xcu_stream stream, unsigned flags)
{
    struct xfs_frame frame = wait(flags);
    xfs_sync_stream(&frame, stream);
}

static void downloads_are_hashed_when_waited_for(void **state)
{
    session(XFS_CONTENT_WHOLE, 0);
    copy(false, 0, 0x50, XFT_ASYNC);
    assert_int_equal(hashes, 0);
    wait_for_stream(OTHER, 0);
    assert_int_equal(hashes, 0);
    wait_for_stream(STREAM, 0);
    assert_int_equal(hashes, 1);
    copy(false, 0, 0x50, 0);
    assert_int_equal(hashes, 2); /* a blocking one is there */
}

/* Stream 0 is the thread's own to some calls, and the legacy one to others. */
static void the_threads_default_stream_is_another(void **state)
{
    session(XFS_CONTENT_WHOLE, 0);
    copy(false, 0, 0, XFT_ASYNC | XFT_PER_THREAD);
    wait_for_stream(NULL, 0);
    assert_int_equal(hashes, 0);
    wait_for_stream(NULL, XFT_PER_THREAD);
    assert_int_equal(hashes, 1);
    copy(false, 0, 0, XFT_ASYNC);
    wait_for_stream(NULL, XFT_PER_THREAD);
    assert_int_equal(hashes, 1);
    wait_for_stream(NULL, 0);
    assert_int_equal(hashes, 2);
}

static void events_and_contexts_are_waits(void **state)
{
    struct xfs_frame frame = wait(0);
    session(XFS_CONTENT_WHOLE, 0);
    copy(false, 0, 0x50, XFT_ASYNC);
    xfs_cuda_event_recorded(EVENT, STREAM, false);
    copy(false, 1, 0x60, XFT_ASYNC);
    frame = wait(0);
    frame.event.start_ns = UINT64_MAX;
    xfs_sync_event(&frame, EVENT);
    assert_int_equal(hashes, 1);
    frame = wait(0);
    xfs_sync_context(&frame, NULL);
    assert_int_equal(hashes, 2);
}

/* What is sent on before anybody waited for it may be anything by now. */
static void sources_on_their_way_are_not_hashed(void **state)
{
    session(XFS_CONTENT_WHOLE, 0);
    copy(false, 0, 0x50, XFT_ASYNC);
    copy(true, 0, 0x50, XFT_ASYNC);
    assert_int_equal(hashes, 0);
    copy(true, 1, 0x50, XFT_ASYNC);
    assert_int_equal(hashes, 1);
    xfs_content_finish();
    assert_true(meta_not_arrived > 0);
}

/* ---- by default ------------------------------------------------------------------------------ */

static bool asked_of(enum xft_direction direction, uint64_t bytes)
{
    const struct xft_event event = {.bytes = bytes, .direction = (uint8_t)direction};
    return xfs_content_of(&event);
}

static void uploads_alone(void **state)
{
    session(XFS_CONTENT_AUTO, 0);
    assert_true(asked_of(XFT_DIR_H2D, 65536));
    assert_false(asked_of(XFT_DIR_H2D, 65535));
    assert_false(asked_of(XFT_DIR_D2H, 1 << 30));
    assert_false(xfs_content_on());
    for (int i = 0; i < 10; i++)
        copy(true, 0, 0x50, XFT_ASYNC);
    assert_int_equal(hashes, 10);
    session(XFS_CONTENT_OFF, 0);
    assert_false(asked_of(XFT_DIR_H2D, 65536));
    session(XFS_CONTENT_SAMPLED, 0);
    assert_true(asked_of(XFT_DIR_D2H, 1));
}

static uint64_t uploads(int n, bool change)
{
    uint64_t before = hashes;
    for (int i = 0; i < n; i++) {
        memory[0][0] = (unsigned char)(memory[0][0] + change);
        copy(true, 0, 0x50, 0);
    }
    return hashes - before;
}

/* The 1st, 2nd, 4th, ... 64th, 128th, 192nd; the 256th is another one than that, the 320th is not.
 */
static void what_changes_is_passed_over(void **state)
{
    session(XFS_CONTENT_AUTO, 0);
    assert_int_equal(uploads(3, true), 2);
    assert_int_equal(uploads(197, true), 7);
    assert_int_equal(uploads(119, false), 1);
    assert_int_equal(uploads(80, false), 80);
    session(XFS_CONTENT_SAMPLED, 0);
    assert_int_equal(uploads(9, true), 9);
}

static void slow_memory_is_left_alone(void **state)
{
    session(XFS_CONTENT_AUTO, 0);
    const struct xft_event event = {.kind = XFT_EVENT_TRANSFER,
                                    .start_ns = NOW,
                                    .bytes = BYTES,
                                    .direction = XFT_DIR_H2D,
                                    .src_mem = XFT_MEM_WRITE_COMBINED,
                                    .dst_mem = XFT_MEM_DEVICE};
    const struct xfs_rows rows = {(uintptr_t)memory[0], BYTES, 1, 1, 0, 0};
    xfs_content_copied(&event, &rows, &rows);
    assert_int_equal(hashes, 0);
}

/* ---- cost ------------------------------------------------------------------------------------ */

/* What was set aside before is given back: all that was spent is what the hashes took. */
static void what_it_took_is_in_meta(void **state)
{
    tick_ns = UINT64_C(3600000000000);
    session(XFS_CONTENT_WHOLE, 0);
    for (int i = 0; i < 20; i++)
        copy(true, 0, 0x50, 0);
    xfs_content_finish();
    assert_int_equal(hashes, 20);
    tick_ns = 0;
    assert_int_equal(meta_ns, hashing_ns);
}

/* That of a simulated GPU does not spend it. */
static void no_time_of_the_run(void **state)
{
    session(XFS_CONTENT_WHOLE, 0);
    copy(true, 0, 0x50, 0);
    xfs_content_finish();
    assert_int_equal(hashes, 1);
    assert_int_equal(hashing_ns, 0);
    assert_true(meta_ns > 0);
}

static uint64_t clock_ns(void)
{
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A hundredth of the time since the session began, not since the machine did: too little for one
 * hash, unless this process was kept waiting meanwhile, which is another try. */
static void the_budget_begins_with_the_session(void **state)
{
    const uint64_t enough_ns = 5000000; /* for the samples of one copy: 6 ms */
    uint64_t began;
    assert_true(clock_ns() > 1000 * enough_ns);
    do {
        began = clock_ns();
        session(XFS_CONTENT_WHOLE, 1);
        copy(true, 0, 0x50, 0);
    } while (clock_ns() - began > enough_ns);
    xfs_content_finish();
    assert_int_equal(hashes, 0);
    assert_int_equal(meta_budget, 1);
}

/* A hundredth of 0.1 ms is too little for a hash; all of it would do. */
static void by_default_a_hundredth(void **state)
{
    const uint64_t enough_ns = 1000000;
    uint64_t began;
    do {
        began = clock_ns();
        session(XFS_CONTENT_AUTO, 100);
        while (clock_ns() - began < 100000) {
        }
        copy(true, 0, 0x50, 0);
    } while (clock_ns() - began > enough_ns);
    xfs_content_finish();
    assert_int_equal(hashes, 0);
    assert_int_equal(meta_budget, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(downloads_are_hashed_when_waited_for),
        cmocka_unit_test(the_threads_default_stream_is_another),
        cmocka_unit_test(events_and_contexts_are_waits),
        cmocka_unit_test(sources_on_their_way_are_not_hashed),
        cmocka_unit_test(what_it_took_is_in_meta),
        cmocka_unit_test(no_time_of_the_run),
        cmocka_unit_test(the_budget_begins_with_the_session),
        cmocka_unit_test(uploads_alone),
        cmocka_unit_test(what_changes_is_passed_over),
        cmocka_unit_test(slow_memory_is_left_alone),
        cmocka_unit_test(by_default_a_hundredth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
