/* slow-page-locking: which allocations it names, what the run would save, by how many threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"
#include "xferscope/cuda_abi.h"

enum { SITE = 10, SITE_FREE, ALLOC_NS = 20000000, FREE_NS = 9000000 };

#define BYTES (64 * MIB)
#define LOCK_NS 40000.0 /* per MiB: by four threads */
#define UNLOCK_NS 20000.0
#define SHARED 3.0 /* as many times as long where forked children share the memory */
#define CLEAR_NS 10000.0

/* One buffer is allocated, used and freed. */
struct one {
    enum xft_memory memory;
    uint64_t bytes;
    uint64_t alloc_ns, free_ns; /* free_ns 0: it is not freed */
    double probed_ns;           /* per MiB, of the driver's allocation; 0: not measured */
    bool unmeasured;            /* what it takes by hand */
    unsigned times;             /* as often; 0: once */
    unsigned flags;             /* of the allocation */
    int gpus;                   /* that the process has; 0: one */
    bool called_before;         /* the allocation is not the process's first call */
};

static struct xft_event memory_event(const struct one *one, enum xft_event_kind kind)
{
    return (struct xft_event){
        .kind = (uint8_t)kind,
        .call = CALL_MEMCPY,
        .stack = kind == XFT_EVENT_ALLOC ? SITE : SITE_FREE,
        .dst = 0x7f0000000000,
        .bytes = kind == XFT_EVENT_ALLOC ? one->bytes : 0,
        .dst_mem = (uint8_t)one->memory,
        .aux = kind == XFT_EVENT_ALLOC ? one->flags : 0,
        .src_place = XFT_PLACE_UNKNOWN,
        .dst_place = XFT_PLACE_UNKNOWN,
    };
}

static struct xfp_profile *profile_of(const struct one *one)
{
    struct xfp_profile *profile = measured_profile(MEASURED_ALL); /* of 16 processors */
    static const double by_threads[][2] = {
        {1, 2.5 * LOCK_NS}, {4, LOCK_NS}, {8, 0.95 * LOCK_NS}, {16, 0.1 * LOCK_NS}};
    char name[64];
    for (size_t i = 0; i < 4 && !one->unmeasured; i++) {
        snprintf(name, sizeof name, "lock/threads%.0f/gpu0", by_threads[i][0]);
        measured_table(profile, name, by_threads[i][1]);
        snprintf(name, sizeof name, "unlock/threads%.0f/gpu0", by_threads[i][0]);
        measured_table(profile, name, UNLOCK_NS);
        snprintf(name, sizeof name, "lock/shared%.0f/gpu0", by_threads[i][0]);
        measured_table(profile, name, SHARED * by_threads[i][1]);
        snprintf(name, sizeof name, "unlock/shared%.0f/gpu0", by_threads[i][0]);
        measured_table(profile, name, SHARED * UNLOCK_NS);
        snprintf(name, sizeof name, "clear/shared%.0f/gpu0", by_threads[i][0]);
        measured_table(profile, name, CLEAR_NS);
    }
    if (one->probed_ns > 0)
        measured_table(profile, "alloc/pinned/gpu0", one->probed_ns);
    return profile;
}

static void play_buffer(struct play *play, const struct one *one)
{
    play_event(play, memory_event(one, XFT_EVENT_ALLOC), one->alloc_ns);
    for (unsigned i = 0; i < 4; i++) {
        play_async(play, STACK_UPLOAD, XFT_DIR_H2D, XFT_MEM_PINNED, MIB, 100000);
        const struct xft_event wait = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT};
        play_event(play, wait, 100000);
    }
    if (one->free_ns)
        play_event(play, memory_event(one, XFT_EVENT_FREE), one->free_ns);
}

static struct analyzed analysis_of(const struct one *one)
{
    struct xfp_profile *profile = profile_of(one);
    struct trace_builder b;
    struct play play;
    play_start(&play, &b, 1);
    if (one->called_before) {
        const struct xft_event wait = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT};
        play_event(&play, wait, 100000);
    }
    if (one->gpus == 2)
        build_meta(&b, "gpu.1.name", "Test GPU");
    play_site(&play, SITE, "make_buffer", 1);
    play_site(&play, SITE_FREE, "drop_buffer", 2);
    for (unsigned i = 0; i == 0 || i < one->times; i++)
        play_buffer(&play, one);
    play_end(&play, XFT_STATE_CLOSED);
    return analyzed_answered(&b, profile, NULL);
}

static const struct one slow = {
    .memory = XFT_MEM_PINNED, .bytes = BYTES, .alloc_ns = ALLOC_NS, .free_ns = FREE_NS};

static void check(const struct one *one, double lost, double likely)
{
    char text[XFA_REMEDY_CHARS];
    struct analyzed a = analysis_of(one);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_PAGE_LOCKING, "make_buffer");
    assert_non_null(f);
    assert_int_equal(f->site_count, 1);
    assert_int_equal(f->transfers, 1);
    assert_true(f->bytes == one->bytes);
    assert_true(fabs(f->lost_ns - lost) < 1);
    assert_true(fabs(f->saving.likely - likely) < 1);
    assert_true(f->saving.low < likely && f->saving.high > likely);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_LOCK_BY_HAND);
    assert_int_equal(f->remedy.threads, 4); /* eight hardly save more, sixteen are too many */
    assert_non_null(strstr(xfa_remedy_text(&f->remedy, text), "from 4 threads"));
    assert_non_null(f->assumed);
    analyzed_free(&a);
}

static void test_found(void **state)
{
    const double take = ALLOC_NS - 64 * LOCK_NS, give = FREE_NS - 64 * UNLOCK_NS;
    struct one one = slow;
    check(&one, take + give, take + give);
    one.memory = XFT_MEM_MAPPED;
    check(&one, take + give, take + give);
    one.free_ns = 0;
    check(&one, take, take);
}

/* What the call took beyond what the profile has for it is promised by half. */
static void test_slower_than_probed(void **state)
{
    const double take = ALLOC_NS - 64 * LOCK_NS;
    struct one one = slow;
    one.free_ns = 0;
    one.probed_ns = 200000;
    check(&one, take, take - (ALLOC_NS - 64 * one.probed_ns) / 2);
}

static double likely_ns(const struct one *one)
{
    struct analyzed a = analysis_of(one);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_PAGE_LOCKING, "make_buffer");
    assert_non_null(f);
    double ns = f->saving.likely;
    analyzed_free(&a);
    return ns;
}

/* A process's first call makes the context: that is not promised, nor by what apply saves. */
static void test_makes_the_context(void **state)
{
    struct one one = slow;
    one.free_ns = 0;
    one.probed_ns = 200000;
    const double probed = 64 * one.probed_ns, by_hand = 64 * LOCK_NS;
    one.alloc_ns = (uint64_t)probed + 60000000;
    assert_true(fabs(likely_ns(&one) - (probed - by_hand)) < 1);
    one.called_before = true;
    assert_true(fabs(likely_ns(&one) - (probed - by_hand) - 30e6) < 1);
    one.called_before = false;
    one.alloc_ns = (uint64_t)probed + 40000000; /* too little for a context */
    assert_true(fabs(likely_ns(&one) - (probed - by_hand) - 20e6) < 1);
    one.alloc_ns = (uint64_t)probed + 60000000;
    one.times = 2; /* once a process */
    assert_true(fabs(likely_ns(&one) - 2 * (probed - by_hand) - 30e6) < 1);
}

/* ---- beside advice to page-lock -------------------------------------------------------------- */

enum { SITE_PAGEABLE = 12, COPIES = 100 };

/* Memory that is sent again and again as well, in so many bytes. */
static struct analyzed beside_pageable(bool registered)
{
    const struct one one = slow;
    struct xfp_profile *profile = profile_of(&one);
    if (!registered) {
        xfp_free(profile);
        profile = measured_profile(MEASURED_HOST_COPY);
        measured_table(profile, "lock/threads4/gpu0", LOCK_NS);
        measured_table(profile, "unlock/threads4/gpu0", UNLOCK_NS);
    }
    struct trace_builder b;
    struct play play;
    play_start(&play, &b, 1);
    play_site(&play, SITE, "make_buffer", 1);
    play_site(&play, SITE_FREE, "drop_buffer", 2);
    play_site(&play, SITE_PAGEABLE, "feed", 3);
    play_buffer(&play, &one);
    for (unsigned i = 0; i < COPIES; i++) {
        play.now += 50000;
        struct xft_event *call = play_copy(&play, SITE_PAGEABLE, XFT_DIR_H2D, XFT_MEM_PAGEABLE,
                                           8 * MIB, 8 * (uint64_t)PAGEABLE_NS);
        call->src = 0x100000000;
        call->device = call->dst_place = 0;
    }
    play_end(&play, XFT_STATE_CLOSED);
    return analyzed_answered(&b, profile, NULL);
}

/* The report then says of each such advice how page-locking takes the least, and what: else the two
 * seem to contradict each other. */
static void test_beside_pageable(void **state)
{
    struct analyzed a = beside_pageable(true);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_PAGEABLE, "feed");
    const struct xfa_finding *slower = analyzed_finding(&a, XFA_FINDING_PAGE_LOCKING, NULL);
    assert_true(f && f->remedy.kind == XFA_REMEDY_PIN && slower && !slower->idle);
    assert_int_equal(f->note.pinned.by, XFW_PINNED_REGISTERED);
    assert_true(f->note.pinned.ns < XFA_LEAST_SAVED * a.findings->whatif->alone_ns);
    assert_int_equal(slower->note.pinned.by, XFW_PINNED_UNKNOWN);
    analyzed_free(&a);
    a = beside_pageable(false);
    f = analyzed_finding(&a, XFA_FINDING_PAGEABLE, "feed");
    assert_non_null(f);
    assert_int_equal(f->note.pinned.by, XFW_PINNED_BY_HAND);
    assert_int_equal(f->note.pinned.threads, 4);
    char *report = analyzed_report(&a, &xfa_format_text);
    assert_non_null(strstr(report, "which is counted: mmap(), a write to each page, then"));
    free(report);
    analyzed_free(&a);
}

/* ---- what apply saves ------------------------------------------------------------------------ */

static double applied_ns(const struct one *one)
{
    struct analyzed a = analysis_of(one);
    double ns = a.findings->whatif->applied.likely;
    analyzed_free(&a);
    return ns;
}

/* The first of a site is made its way, then every other of ten. It takes what memory that is shared
 * does; the second of a size is kept, and the others are cleared alone. */
static void test_applied(void **state)
{
    const double take = ALLOC_NS - 64 * SHARED * LOCK_NS, clear = ALLOC_NS - 64 * CLEAR_NS;
    const double first = take + FREE_NS - 64 * SHARED * UNLOCK_NS;
    struct one one = slow;
    assert_true(fabs(applied_ns(&one) - first) < 1);
    one.times = 4;
    assert_true(fabs(applied_ns(&one) - first - take - FREE_NS) < 1);
    one.times = 12;
    assert_true(fabs(applied_ns(&one) - first - take - 5 * clear - 6 * (double)FREE_NS) < 1);
}

/* More than apply keeps: each is made anew. */
static void test_applied_to_large_ones(void **state)
{
    const double take = 160 * SHARED * LOCK_NS, give = 160 * SHARED * UNLOCK_NS;
    struct one one = slow;
    one.bytes = 160 * MIB;
    one.alloc_ns = 3 * (uint64_t)ALLOC_NS;
    one.free_ns = 3 * (uint64_t)FREE_NS;
    one.times = 4;
    assert_true(fabs(applied_ns(&one) - 2 * (3.0 * ALLOC_NS - take + 3.0 * FREE_NS - give)) < 1);
    one.alloc_ns = 20200000; /* not faster by a tenth: five trials alone */
    one.free_ns = (uint64_t)give;
    one.times = 40;
    assert_true(fabs(applied_ns(&one) - 5 * (20200000 - take)) < 1);
}

static void test_not_applied(void **state)
{
    struct one one = slow;
    one.flags = XCU_HOST_PORTABLE;
    assert_true(fabs(applied_ns(&one)) < 1);
    one = slow;
    one.bytes = 31 * MIB;
    assert_true(isnan(applied_ns(&one)));
    one = slow;
    one.memory = XFT_MEM_MAPPED;
    assert_true(isnan(applied_ns(&one)));
    one = slow;
    one.unmeasured = true;
    assert_true(isnan(applied_ns(&one)));
    one = slow;
    one.gpus = 2;
    assert_true(fabs(applied_ns(&one)) < 1);
}

static bool is_found(struct one one)
{
    struct analyzed a = analysis_of(&one);
    bool is = analyzed_finding(&a, XFA_FINDING_PAGE_LOCKING, NULL) != NULL;
    analyzed_free(&a);
    return is;
}

static void test_not_found(void **state)
{
    struct one one = slow;
    assert_true(is_found(one));
    one.alloc_ns = 64 * (uint64_t)LOCK_NS;
    one.free_ns = 64 * (uint64_t)UNLOCK_NS;
    assert_false(is_found(one)); /* as quick as by hand */
    one = slow;
    one.unmeasured = true;
    assert_false(is_found(one));
    one = slow;
    one.memory = XFT_MEM_WRITE_COMBINED; /* cannot be made by hand */
    assert_false(is_found(one));
    one.memory = XFT_MEM_DEVICE;
    assert_false(is_found(one));
    one = slow;
    one.bytes = MIB / 2; /* nothing is known of so little */
    assert_false(is_found(one));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found),
        cmocka_unit_test(test_beside_pageable),
        cmocka_unit_test(test_slower_than_probed),
        cmocka_unit_test(test_not_found),
        cmocka_unit_test(test_applied),
        cmocka_unit_test(test_applied_to_large_ones),
        cmocka_unit_test(test_not_applied),
        cmocka_unit_test(test_makes_the_context),
    };
    return cmocka_run_group_tests_name("findings: slow page-locking", tests, NULL, NULL);
}
