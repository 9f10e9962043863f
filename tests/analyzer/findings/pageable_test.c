/* pageable-host-memory: which way it advises, and what the run would save by it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/report/savings.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/schedule/cached.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"

enum { SITE = 10, COPIES = 20 };

/* Copies to the GPU that the host waits for, each from so far behind the one before; every fifth
 * takes so much longer. */
static struct analyzed copied_unevenly(unsigned parts, uint64_t bytes, uint64_t stride, uint64_t ns,
                                       unsigned copies, uint64_t more_ns)
{
    struct trace_builder b;
    struct play play;
    struct xfp_profile *profile = measured_profile(parts);
    play_start(&play, &b, 1);
    play_site(&play, SITE, "feed", 1);
    for (unsigned i = 0; i < copies; i++) {
        play.now += 50000;
        struct xft_event *call = play_copy(&play, SITE, XFT_DIR_H2D, XFT_MEM_PAGEABLE, bytes,
                                           i % 5 == 4 ? ns + more_ns : ns);
        call->src = 0x100000000 + i * stride;
        call->device = call->dst_place = 0;
    }
    play_end(&play, XFT_STATE_CLOSED);
    return analyzed_played(&b, profile);
}

static struct analyzed copied(unsigned parts, uint64_t bytes, uint64_t stride, uint64_t ns)
{
    return copied_unevenly(parts, bytes, stride, ns, COPIES, 0);
}

static const struct xfa_finding *pageable(const struct analyzed *a)
{
    return analyzed_finding(a, XFA_FINDING_PAGEABLE, "feed");
}

/* One buffer, again and again: locked once. Low and high are as far off as no model is
 * surer, since all errors are 0. */
static void test_once(void **state)
{
    const double bytes_ns = 8 * PAGEABLE_NS;
    struct analyzed a = copied(MEASURED_ALL, 8 * MIB, 0, 8 * (uint64_t)PAGEABLE_NS);
    const struct xfa_finding *f = pageable(&a);
    double saved =
        COPIES * (bytes_ns - 8 * PINNED_NS - BLOCKING_MORE_NS) - REGISTER_BASE_NS - 8 * REGISTER_NS;
    assert_non_null(f);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_PIN);
    assert_null(f->assumed);
    assert_true(fabs(f->saving.likely - saved) < 1);
    double unsure = xfw_unsure_ns(a.findings->whatif, saved);
    assert_true(fabs(f->saving.low + unsure - saved) < 1);
    /* At best the host's own time is shorter, too (cached.h); the copies have to be made. */
    double cached = COPIES * XFW_CACHE_BYTES * XFW_CACHED_NS_PER_BYTE;
    assert_true(f->saving.high > saved && f->saving.high < saved + unsure + cached);
    assert_false(f->idle);
    assert_true(f == &a.findings->items[0]); /* making it asynchronous too saves no more */
    const struct xfa_finding *both = analyzed_finding(&a, XFA_FINDING_SYNCHRONOUS, "feed");
    assert_true(both && both->idle);
    analyzed_free(&a);
}

/* What page-locking takes, which the saving has in it, is said where it is 0.5 % of the run. */
static void test_once_is_said(void **state)
{
    struct analyzed a = copied(MEASURED_ALL, 8 * MIB, 0, 8 * (uint64_t)PAGEABLE_NS);
    const struct xfa_finding *f = pageable(&a);
    assert_non_null(f);
    assert_int_equal(f->note.pinned.by, XFW_PINNED_REGISTERED);
    assert_true(fabs(f->note.pinned.ns - REGISTER_BASE_NS - 8 * REGISTER_NS) < 1);
    assert_false(f->note.in_order);
    char *report = analyzed_report(&a, &xfa_format_markdown);
    assert_non_null(strstr(report, " (page-locking takes 440 us once, which is counted: "));
    free(report);
    analyzed_free(&a);
    a = copied_unevenly(MEASURED_ALL, 8 * MIB, 0, 8 * (uint64_t)PAGEABLE_NS, 50 * COPIES, 0);
    f = pageable(&a);
    assert_non_null(f);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_PIN);
    assert_int_equal(f->note.pinned.by, XFW_PINNED_UNKNOWN);
    analyzed_free(&a);
}

/* Memory that is used once, in large blocks: staged by four threads rather than locked each time.
 */
static void test_staged(void **state)
{
    struct analyzed a = copied(MEASURED_ALL, 16 * MIB, 16 * MIB, 16 * (uint64_t)PAGEABLE_NS);
    const struct xfa_finding *f = pageable(&a);
    double piece = HOST_COPY_NS / 4 + SUBMIT_NS_OF_COPY;
    double saved = 16 * PAGEABLE_NS - (16 * piece + PINNED_NS + BLOCKING_MORE_NS / 2);
    assert_non_null(f);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_STAGE);
    assert_int_equal(f->remedy.threads, 4);
    assert_non_null(f->assumed);
    assert_true(fabs(f->saving.likely - COPIES * saved + SET_UP_NS(4)) < 1);
    analyzed_free(&a);
}

static double applied_ns(const struct analyzed *a)
{
    return a->findings->whatif->applied.likely;
}

static double saved_by_apply(double mib)
{
    const double piece = fmin(4, mib / 8), one = piece * HOST_COPY_NS / 4 + SUBMIT_NS_OF_COPY;
    return mib * PAGEABLE_NS -
           (XFW_APPLIED_UP_NS + mib / piece * one + piece * PINNED_NS + BLOCKING_MORE_NS / 2);
}

/* What apply saves: ten copies until it starts, then every other of ten; of large ones four until
 * it starts, then all. Few small ones are too little to start for; of what nobody measured nothing
 * is known. */
static void test_applied(void **state)
{
    struct analyzed a = copied(MEASURED_ALL, 32 * MIB, 32 * MIB, 32 * (uint64_t)PAGEABLE_NS);
    assert_true(fabs(applied_ns(&a) - 5 * saved_by_apply(32) + SET_UP_NS(8)) < 1);
    analyzed_free(&a);
    a = copied(MEASURED_ALL, 64 * MIB, 64 * MIB, 64 * (uint64_t)PAGEABLE_NS);
    assert_true(fabs(applied_ns(&a) - 16 * saved_by_apply(64) + SET_UP_NS(8)) < 1);
    char *text = xfa_applied_text(a.findings);
    assert_non_null(strstr(text, "without an edit: xferscope apply would save "));
    free(text);
    analyzed_free(&a);
    a = copied(MEASURED_ALL, 4 * MIB, 4 * MIB, 4 * (uint64_t)PAGEABLE_NS);
    assert_true(fabs(applied_ns(&a)) < 1);
    assert_null(xfa_applied_text(a.findings));
    analyzed_free(&a);
    a = copied(MEASURED_ALL, 4 * MIB, 4 * MIB, 40 * (uint64_t)PAGEABLE_NS);
    /* Of what such copies took for other reasons four threads take a quarter; twelve are behind the
     * start, of which apply makes seven. */
    assert_true(fabs(applied_ns(&a) - 7 * (saved_by_apply(4) + 27 * PAGEABLE_NS) + SET_UP_NS(8)) <
                1);
    analyzed_free(&a);
    a = copied(MEASURED_REGISTER, 64 * MIB, 64 * MIB, 64 * (uint64_t)PAGEABLE_NS);
    assert_true(isnan(applied_ns(&a)));
    analyzed_free(&a);
}

/* Where most copies gain nothing, those few that would are left alone, too, once the trials are
 * over: one of the two that fall among these is made apply's way. */
static void test_applied_where_few_gain(void **state)
{
    const double ours = 32 * PAGEABLE_NS - saved_by_apply(32), more = saved_by_apply(32);
    struct analyzed a =
        copied_unevenly(MEASURED_ALL, 32 * MIB, 32 * MIB, (uint64_t)ours, 100, (uint64_t)more);
    assert_true(fabs(applied_ns(&a) - more + SET_UP_NS(8)) < 20);
    analyzed_free(&a);
}

/* The same where nobody measured how fast threads copy: locked around each use, if that pays. */
static void test_per_use(void **state)
{
    struct analyzed a = copied(MEASURED_REGISTER, 16 * MIB, 32 * MIB, 24 * (uint64_t)PAGEABLE_NS);
    const struct xfa_finding *f = pageable(&a);
    double locked = 16 * (PINNED_NS + REGISTER_NS) + REGISTER_BASE_NS + BLOCKING_MORE_NS;
    assert_non_null(f);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_PIN_PER_USE);
    assert_true(fabs(f->saving.likely - COPIES * (24 * PAGEABLE_NS - locked)) < 1);
    analyzed_free(&a);
    a = copied(MEASURED_REGISTER, 16 * MIB, 32 * MIB, 16 * (uint64_t)PAGEABLE_NS);
    assert_null(pageable(&a));                                          /* it pays, but not twice */
    assert_null(analyzed_finding(&a, XFA_FINDING_SYNCHRONOUS, "feed")); /* nor by Async copies */
    analyzed_free(&a);
    a = copied(MEASURED_REGISTER, 16 * MIB, 0, 16 * (uint64_t)PAGEABLE_NS); /* again and again */
    assert_non_null(analyzed_finding(&a, XFA_FINDING_SYNCHRONOUS, "feed"));
    analyzed_free(&a);
}

/* Locking a megabyte for one use takes longer than what it saves: left alone. */
static void test_left(void **state)
{
    struct analyzed a = copied(MEASURED_ALL, MIB, 2 * MIB, (uint64_t)PAGEABLE_NS);
    assert_null(pageable(&a));
    analyzed_free(&a);
    a = copied(MEASURED_ALL, MIB, 0, (uint64_t)PAGEABLE_NS);
    assert_non_null(pageable(&a));
    analyzed_free(&a);
}

/* What locking takes was not measured: that is said. */
static void test_not_measured(void **state)
{
    struct analyzed a = copied(0, MIB, 2 * MIB, (uint64_t)PAGEABLE_NS);
    const struct xfa_finding *f = pageable(&a);
    assert_non_null(f);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_PIN);
    assert_non_null(f->assumed);
    assert_true(fabs(f->saving.likely - COPIES * (PAGEABLE_NS - PINNED_NS - BLOCKING_MORE_NS)) < 1);
    analyzed_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_once_is_said),
        cmocka_unit_test(test_staged),
        cmocka_unit_test(test_applied),
        cmocka_unit_test(test_applied_where_few_gain),
        cmocka_unit_test(test_per_use),
        cmocka_unit_test(test_left),
        cmocka_unit_test(test_not_measured),
    };
    return cmocka_run_group_tests_name("findings: pageable memory", tests, NULL, NULL);
}
