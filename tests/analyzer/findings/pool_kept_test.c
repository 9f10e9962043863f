/* repeated-allocation of a memory pool that gives its memory back at each wait: its threshold is
 * raised, and both what allocates and what waits gets shorter. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"

#define MIB ((uint64_t)1 << 20)

enum {
    SITE = 10,
    GIVE,
    ROUNDS = 50,
    NEW_NS = 50000, /* to take what the pool does not have */
    KEPT_NS = 2000, /* what it has: the likely guess */
    GIVE_NS = 1000,
    COPY_NS = 40000,
    BACK_NS = 150000, /* to give it back, behind the work waited for */
    WAKE_NS = 2000    /* with nothing to give back */
};

static void memory(struct play *play, enum xft_event_kind kind, uint64_t bytes, uint64_t ns)
{
    struct xft_event event = {
        .kind = (uint8_t)kind,
        .flags = XFT_ASYNC,
        .call = CALL_MEMCPY,
        .stack = kind == XFT_EVENT_ALLOC ? SITE : GIVE,
        .dst = 0x302000000,
        .bytes = bytes,
        .dst_mem = XFT_MEM_DEVICE,
        .src_place = XFT_PLACE_UNKNOWN,
    };
    play_event(play, event, ns);
}

/* kept: as after the change. grows: each round takes more than was given back before in all. */
static struct analyzed played(bool kept, bool grows)
{
    struct trace_builder b;
    struct play play;
    play_start(&play, &b, 1);
    play_site(&play, SITE, "scratch", 1);
    play_site(&play, GIVE, "leave", 2);
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t bytes = grows ? (uint64_t)1024 << i : MIB;
        memory(&play, XFT_EVENT_ALLOC, bytes, kept ? KEPT_NS : NEW_NS);
        struct xft_event *copy = play_stream_copy(&play, STACK_UPLOAD, XFT_DIR_D2H, MIB, 0);
        uint64_t busy = 0;
        play_device_copy_behind(&play, copy, COPY_NS, &busy);
        memory(&play, XFT_EVENT_FREE, bytes, GIVE_NS);
        struct xft_event *wait = play_in_stream(
            &play, XFT_EVENT_SYNC, 0, play_wait_ns(&play, busy, kept ? WAKE_NS : BACK_NS));
        wait->aux = XFT_SYNC_STREAM;
    }
    play_end(&play, XFT_STATE_CLOSED);
    return analyzed_played(&b, measured_profile(0));
}

static void test_keeps(void **state)
{
    const double less =
        (ROUNDS - 1) * (double)(NEW_NS - KEPT_NS) + ROUNDS * (double)(BACK_NS - WAKE_NS);
    struct analyzed a = played(false, false);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_ALLOCATION, "scratch");
    (void)state;
    assert_non_null(f);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_KEEP_POOL);
    assert_true(fabs(f->saving.likely - less) < 0.02 * less);
    assert_true(f->saving.low > 0.5 * less && f->saving.low < 0.85 * less);
    assert_true(f->order > 0);
    analyzed_free(&a);
}

/* Then only the waits get shorter. */
static void test_too_little(void **state)
{
    const double less = ROUNDS * (double)(BACK_NS - WAKE_NS);
    struct analyzed a = played(false, true);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_ALLOCATION, "scratch");
    (void)state;
    assert_non_null(f);
    assert_true(fabs(f->saving.likely - less) < 0.02 * less);
    analyzed_free(&a);
}

/* It keeps its memory already: there is nothing to gain. */
static void test_kept(void **state)
{
    struct analyzed a = played(true, false);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_ALLOCATION, NULL);
    (void)state;
    assert_true(!f || f->idle);
    analyzed_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keeps),
        cmocka_unit_test(test_too_little),
        cmocka_unit_test(test_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
