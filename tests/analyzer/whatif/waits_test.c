/* Copies that do not block any more, and when the host waits instead; waits that come later: which
 * move, and behind what. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"
#include "tests/analyzer/lab/played.h"

#define AT ((uint64_t)0x10000000)
#define OTHER (AT + 64 * MIB)
#define COPY_NS 500000.0 /* on the device */

enum { SITE = 10, CLASS_UP = 0, CLASS_DOWN = 1 };

struct copies {
    struct xfp_profile *profile;
    struct analyzed a;
    struct played played;
};

static void copies_start(struct copies *copies)
{
    struct trace_builder b;
    struct play play;
    play_start(&play, &b, 1);
    play_site(&play, SITE, "feed", 1);
    play_copy(&play, SITE, XFT_DIR_H2D, XFT_MEM_PINNED, MIB, 100000);
    play_copy(&play, SITE, XFT_DIR_D2H, XFT_MEM_PINNED, MIB, 100000);
    play_end(&play, XFT_STATE_CLOSED);
    *copies = (struct copies){.profile = measured_profile(0)};
    copies->a = analyzed_trace(&b, copies->profile);
    build_free(&b);
}

static void copies_end(struct copies *copies)
{
    analyzed_free(&copies->a);
    xfp_free(copies->profile);
}

/* A copy that the host waited for. */
static struct xfw_op *copy(struct copies *copies, double gap_ns, uint32_t class, uint64_t at)
{
    struct xfw_op *op = played_copy(&copies->played, gap_ns, 0, COPY_NS);
    op->awaits = XFW_AWAITS_ITSELF;
    op->class = class;
    op->bytes = 8 * MIB;
    *(class == CLASS_UP ? &op->src : &op->dst) = at;
    return op;
}

static double asynchronous(struct copies *copies, enum xfw_certainty certainty, bool device)
{
    struct xfw_set classes = {0};
    xfw_set_add(&classes, CLASS_UP);
    xfw_set_add(&classes, CLASS_DOWN);
    struct xfw_change *change = xfw_change_async(copies->a.analysis, &classes);
    double ns = device ? played_device_ns(&copies->played, copies->a.analysis, change, certainty)
                       : played_ns(&copies->played, copies->a.analysis, change, certainty);
    xfw_change_free(change);
    return ns;
}

#define CALLS (SUBMIT_NS_OF_COPY + RECORD_EVENT_NS)

/* Two buffers in turn, and own work as long as a copy: nobody waits for one. */
static void test_two_buffers(void **state)
{
    struct copies copies;
    copies_start(&copies);
    for (int i = 0; i < 6; i++)
        copy(&copies, 600000, CLASS_UP, i % 2 ? OTHER : AT);
    double unchanged = played_ns(&copies.played, copies.a.analysis, NULL, XFW_LIKELY);
    assert_true(unchanged == 6 * (600000 + COPY_NS));
    assert_true(asynchronous(&copies, XFW_LIKELY, false) ==
                6 * (600000 + CALLS) + 4 * SYNC_EVENT_NS);
    assert_true(asynchronous(&copies, XFW_LOW, false) == unchanged);
    copies_end(&copies);
}

/* One buffer is written in the time before it is sent again: nothing to gain, but at best. */
static void test_one_buffer(void **state)
{
    struct copies copies;
    copies_start(&copies);
    for (int i = 0; i < 3; i++)
        copy(&copies, 600000, CLASS_UP, AT);
    double likely = asynchronous(&copies, XFW_LIKELY, false);
    assert_true(likely == 3 * 600000 + 2 * (COPY_NS + XFW_WAKE_NS) + CALLS);
    assert_true(asynchronous(&copies, XFW_HIGH, false) == 3 * (600000 + CALLS) + 2 * SYNC_EVENT_NS);
    copies_end(&copies);
}

/* What was fetched is read in the next longer time of the thread's own; calls go on till then. */
static void test_fetched(void **state)
{
    struct copies copies;
    copies_start(&copies);
    copy(&copies, 1000, CLASS_DOWN, AT)->bytes = MIB;
    for (int i = 0; i < 3; i++)
        played_kernel(&copies.played, 1000, 2000, 100000);
    played_call(&copies.played, 40000, 0); /* too short to read it all */
    played_call(&copies.played, 45000, 0);
    double calls = 1000 + CALLS + 3 * 3000;
    assert_true(asynchronous(&copies, XFW_LIKELY, false) == 1000 + COPY_NS + XFW_WAKE_NS + 45000);
    assert_true(asynchronous(&copies, XFW_HIGH, false) == calls + 85000);
    assert_true(asynchronous(&copies, XFW_LIKELY, true) == 1000 + COPY_NS + 3 * 100000);
    copies_end(&copies);
}

/* Where the program waits itself there is no other wait; where memory is freed there is. */
static void test_waits(void **state)
{
    struct copies copies;
    copies_start(&copies);
    copy(&copies, 0, CLASS_UP, AT);
    played_sync(&copies.played, 1000);
    copy(&copies, 0, CLASS_UP, AT);
    struct xfw_op *unregister = played_call(&copies.played, 1000, 3000);
    unregister->kind = XFT_EVENT_UNREGISTER;
    unregister->dst = AT;
    assert_true(asynchronous(&copies, XFW_LIKELY, false) ==
                2 * COPY_NS + XFW_WAKE_NS + 1000 + 3000);
    copies_end(&copies);
}

/* A step on one of two streams: the wait for the step before on it, own work, a kernel, a wait, a
 * copy in the default stream that blocks. */
static void step(struct copies *copies, uint32_t stream, bool waits_itself)
{
    struct played *played = &copies->played;
    if (waits_itself) {
        struct xfw_op *wait = played_sync(played, 0);
        wait->stream = stream;
        wait->site = SITE + 1;
    }
    struct xfw_op *kernel = played_kernel(played, 600000, 0, 100000);
    kernel->stream = stream;
    struct xfw_op *right_before = played_sync(played, 0);
    right_before->stream = stream;
    right_before->site = SITE + 1;
    struct xfw_op *fetch = copy(copies, 0, CLASS_DOWN, stream == 1 ? AT : OTHER);
    fetch->engine = XFW_TO_HOST;
    fetch->stream_kind = XFW_LEGACY;
}

/* Such a copy goes to the kernel's stream, and the wait before it goes. That the program waits for
 * that stream itself before the memory is used again is learnt from the first steps. */
static void test_fetched_in_turns(void **state)
{
    enum { FEW = 5, MANY = 10 };
    double likely[2][2];
    for (int itself = 0; itself < 2; itself++) {
        for (int many = 0; many < 2; many++) {
            struct copies copies;
            copies_start(&copies);
            for (uint32_t i = 0; i < (many ? MANY : FEW); i++)
                step(&copies, 1 + i % 2, itself);
            likely[itself][many] = asynchronous(&copies, XFW_LIKELY, false);
            copies_end(&copies);
        }
    }
    const double own = 600000 + SUBMIT_NS_OF_COPY, more = MANY - FEW;
    /* Own work alone is left, and by then no event is recorded either; else what was fetched is
     * waited for before it. */
    assert_true(likely[true][true] - likely[true][false] == more * own);
    assert_true(likely[false][true] - likely[false][false] >= more * (600000 + COPY_NS));
}

/* To the device: the copy goes to the stream of the kernel that came behind it the time before, and
 * does not hold up other streams' work any more. */
static void test_sent_in_turns(void **state)
{
    enum { FEW = 4, MANY = 10, KERNEL_NS = 900000 };
    double device[2];
    for (int many = 0; many < 2; many++) {
        struct copies copies;
        copies_start(&copies);
        for (uint32_t i = 0; i < (many ? MANY : FEW); i++) {
            struct xfw_op *sent = copy(&copies, 0, CLASS_UP, i % 2 ? AT : OTHER);
            sent->dst = sent->src + 1024 * MIB;
            sent->stream_kind = XFW_LEGACY;
            played_kernel(&copies.played, 0, 0, KERNEL_NS)->stream = 1 + i % 2;
        }
        played_call(&copies.played, 0, 0)->awaits = XFW_AWAITS_DEVICE;
        device[many] = asynchronous(&copies, XFW_HIGH, false);
        copies_end(&copies);
    }
    /* Two streams, each with its copies and kernels in order; in the default stream each copy would
     * wait for all kernels. */
    assert_true(device[1] - device[0] == (MANY - FEW) / 2.0 * (COPY_NS + KERNEL_NS));
}

/* More copies than are kept: the oldest is waited for. */
static void test_many(void **state)
{
    struct copies copies;
    copies_start(&copies);
    for (unsigned i = 0; i < MOST_PLAYED; i++)
        copy(&copies, 0, CLASS_UP, AT + i * 64 * MIB);
    assert_true(asynchronous(&copies, XFW_LIKELY, false) < MOST_PLAYED * (CALLS + 1));
    assert_true(asynchronous(&copies, XFW_LIKELY, true) == MOST_PLAYED * COPY_NS);
    copies_end(&copies);
}

/* ---- waits that come later ------------------------------------------------------------------- */

#define FETCH_NS 300000.0 /* on the device, of 16 MiB */
#define OWN_NS 500000.0   /* of the thread: too short to read 16 MiB */

static struct analyzed empty(void)
{
    struct trace_builder b;
    struct play play;
    play_start(&play, &b, 1);
    play_copy(&play, 0, XFT_DIR_H2D, XFT_MEM_PINNED, MIB, 1000);
    play_end(&play, XFT_STATE_CLOSED);
    struct analyzed a = analyzed_trace(&b, NULL);
    build_free(&b);
    return a;
}

/* Fetch, wait, own work, fetch again. */
static void fetch_and_work(struct played *played, uint64_t bytes, uint32_t site)
{
    struct xfw_op *copy = played_copy(played, 0, 1000, FETCH_NS);
    copy->engine = XFW_TO_HOST;
    copy->bytes = bytes;
    played_sync(played, 0)->site = site;
    played_call(played, OWN_NS, 2000);
}

static double later(const struct analyzed *a, const struct played *played,
                    enum xfw_certainty certainty)
{
    struct xfw_set sites = {0};
    xfw_set_add(&sites, SITE);
    struct xfw_change *change = xfw_change_later_wait(a->analysis, &sites);
    double ns = played_ns(played, a->analysis, change, certainty);
    xfw_change_free(change);
    return ns;
}

/* The copy goes on behind the thread's own work. */
static void test_later(void **state)
{
    struct analyzed a = empty();
    struct played played = {0};
    fetch_and_work(&played, 16 * MIB, SITE);
    fetch_and_work(&played, 16 * MIB, SITE);
    double unchanged = played_ns(&played, a.analysis, NULL, XFW_LIKELY);
    assert_true(unchanged == 2 * (FETCH_NS + OWN_NS + 2000));
    assert_true(later(&a, &played, XFW_LIKELY) == 2 * (1000 + OWN_NS + 2000));
    assert_true(later(&a, &played, XFW_HIGH) == 2 * (1000 + OWN_NS + 2000));
    assert_true(later(&a, &played, XFW_LOW) == unchanged);
    analyzed_free(&a);
}

/* Longer than the own work: the wait still waits for the rest. */
static void test_rest(void **state)
{
    struct analyzed a = empty();
    struct played played = {0};
    fetch_and_work(&played, 16 * MIB, SITE);
    played.ops[0].duration_ns = 3 * OWN_NS;
    assert_true(later(&a, &played, XFW_LIKELY) == 3 * OWN_NS + 2000);
    analyzed_free(&a);
}

/* There was time to read it; nothing was fetched; another site: as before, but at best. */
static void test_not_moved(void **state)
{
    struct analyzed a = empty();
    struct played played = {0};
    fetch_and_work(&played, MIB, SITE);
    double unchanged = FETCH_NS + OWN_NS + 2000;
    assert_true(later(&a, &played, XFW_LIKELY) == unchanged);
    assert_true(later(&a, &played, XFW_HIGH) == 1000 + OWN_NS + 2000);
    played = (struct played){0};
    fetch_and_work(&played, 16 * MIB, SITE);
    played.ops[0].engine = XFW_TO_DEVICE;
    assert_true(later(&a, &played, XFW_LIKELY) == unchanged);
    played = (struct played){0};
    fetch_and_work(&played, 16 * MIB, SITE + 1);
    assert_true(later(&a, &played, XFW_HIGH) == unchanged);
    analyzed_free(&a);
}

/* The wait is for the work that another thread passed on, not for the work before that. */
static void test_passed_on(void **state)
{
    struct analyzed a = empty();
    struct played played = {0};
    fetch_and_work(&played, 16 * MIB, SITE);
    played.ops[played.count++] = played.ops[2];
    played.ops[2] = xfw_op_none();
    played.ops[2].thread = 1;
    played.ops[2].own_ns = 2 * OWN_NS;
    played.ops[3].woken_by = 1;
    played.ops[3].woken_after_ns = 7000;
    /* The other thread begins where the first one is. */
    assert_true(later(&a, &played, XFW_LIKELY) == 1000 + 2 * OWN_NS + 7000 + 2000);
    analyzed_free(&a);
}

/* ---- waits for a device that go -------------------------------------------------------------- */

static double without(const struct analyzed *a, const struct played *played,
                      enum xfw_certainty certainty)
{
    struct xfw_set sites = {0};
    xfw_set_add(&sites, SITE);
    struct xfw_change *change = xfw_change_no_device_wait(a->analysis, &sites);
    double ns = played_ns(played, a->analysis, change, certainty);
    xfw_change_free(change);
    return ns;
}

/* The copy goes on behind the own work, and is waited for behind that. */
static void test_no_device_wait(void **state)
{
    struct analyzed a = empty();
    struct played played = {0};
    (void)state;
    fetch_and_work(&played, MIB, SITE);
    played.ops[1].awaits = XFW_AWAITS_DEVICE;
    played.ops[0].duration_ns = 2 * OWN_NS;
    played_sync(&played, 0);
    assert_true(without(&a, &played, XFW_LIKELY) == 2 * OWN_NS);
    assert_true(without(&a, &played, XFW_HIGH) == 2 * OWN_NS);
    assert_true(without(&a, &played, XFW_LOW) == 3 * OWN_NS + 2000);
    played.ops[1].site = SITE + 1;
    assert_true(without(&a, &played, XFW_HIGH) == 3 * OWN_NS + 2000);
    played.ops[1].site = SITE;
    played.ops[1].awaits = XFW_AWAITS_STREAM; /* a narrow wait stays */
    assert_true(without(&a, &played, XFW_HIGH) == 3 * OWN_NS + 2000);
    analyzed_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_buffers),
        cmocka_unit_test(test_one_buffer),
        cmocka_unit_test(test_fetched),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_fetched_in_turns),
        cmocka_unit_test(test_sent_in_turns),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_later),
        cmocka_unit_test(test_rest),
        cmocka_unit_test(test_not_moved),
        cmocka_unit_test(test_passed_on),
        cmocka_unit_test(test_no_device_wait),
    };
    return cmocka_run_group_tests_name("what-if: waits", tests, NULL, NULL);
}
