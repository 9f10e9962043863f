/* host-device-turns: what it asks about, and what the run would save at best. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/report/described.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"

enum { FETCH = 10, WAIT, SEND, STEPS = 20, COPY_NS = 300000, WAKE_NS = 2000, OWN_NS = 500000 };

struct steps {
    enum xft_direction direction;
    uint64_t bytes;
    unsigned times;
    const char *assume; /* the user's answer; NULL: none */
    uint64_t sent;      /* bytes, behind the work on each; 0: none */
    unsigned more;      /* copies like the first, right behind it */
    uint64_t own_ns;    /* the host's work; 0: OWN_NS */
    unsigned launches;  /* so many times a kernel behind that */
};

static const struct steps results = {XFT_DIR_D2H, 4 * MIB, STEPS, NULL, 0, 0, 0, 0};

/* A copy, a wait for it, and the host's work. */
static struct analyzed played(const struct steps *steps)
{
    struct trace_builder b;
    struct play play;
    struct xfp_profile *profile = measured_profile(0);
    play_start(&play, &b, 1);
    play_site(&play, FETCH, "fetch", 1);
    play_site(&play, WAIT, "await", 2);
    play_site(&play, SEND, "send", 3);
    for (unsigned i = 0; i < steps->times; i++) {
        for (unsigned k = 0; k <= steps->more; k++)
            play_awaited(&play, FETCH, WAIT, steps->direction, steps->bytes, COPY_NS, WAKE_NS);
        play.now += steps->own_ns ? steps->own_ns : OWN_NS;
        if (steps->sent)
            play_awaited(&play, SEND, WAIT, XFT_DIR_H2D, steps->sent, COPY_NS, WAKE_NS);
        if (i < steps->launches)
            play_event(&play, (struct xft_event){.kind = XFT_EVENT_LAUNCH}, WAKE_NS);
    }
    play_end(&play, XFT_STATE_CLOSED);
    return analyzed_answered(&b, profile, steps->assume);
}

#define MIN_MORE_NS 500000

/* Blocking uploads of pageable memory, each made right before it. */
static struct analyzed converting(const char *assume)
{
    struct trace_builder b;
    struct play play;
    struct xfp_profile *profile = measured_profile(MEASURED_ALL);
    play_start(&play, &b, 1);
    play_site(&play, SEND, "send", 3);
    for (unsigned i = 0; i < STEPS; i++) {
        play.now += OWN_NS;
        struct xft_event *call =
            play_copy(&play, SEND, XFT_DIR_H2D, XFT_MEM_PAGEABLE, MIB, 4 * COPY_NS / 3);
        call->src = 0x10000;
        call->dst = 0x7000000;
    }
    play_end(&play, XFT_STATE_CLOSED);
    return analyzed_answered(&b, profile, assume);
}

static const struct xfa_finding *found(const struct analyzed *a)
{
    return analyzed_finding(a, XFA_FINDING_HOST_TURNS, "fetch");
}

/* At best the copies go, and the work behind each but the last, which no call follows. */
static void test_asked(void **state)
{
    struct analyzed a = played(&results);
    const struct xfa_finding *f = found(&a);
    double all = (STEPS - 1) * (double)(COPY_NS + OWN_NS);
    (void)state;
    assert_non_null(f);
    assert_int_equal(f->transfers, STEPS);
    assert_int_equal(f->bytes, STEPS * results.bytes);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_ON_DEVICE);
    assert_true(isnan(f->lost_ns));
    assert_true(f->asked && f->idle && f->order == 0);
    assert_true(f->saving.low < 1 && fabs(f->saving.likely) < 1);
    assert_true(f->saving.high > 0.98 * all && f->saving.high < 1.04 * all);
    analyzed_free(&a);
}

/* Answered, it is likely, and the best change. */
static void test_answered(void **state)
{
    struct steps steps = results;
    steps.assume = "host-device-turns=yes";
    struct analyzed a = played(&steps);
    const struct xfa_finding *f = found(&a);
    double all = (STEPS - 1) * (double)(COPY_NS + OWN_NS);
    (void)state;
    assert_non_null(f);
    assert_true(!f->asked && f->order == 1);
    assert_true(f->saving.likely > 0.98 * all && f->saving.likely < 1.04 * all);
    analyzed_free(&a);
    steps.assume = "host-device-turns=no";
    a = played(&steps);
    assert_null(found(&a));
    analyzed_free(&a);
}

/* What the host has made of it goes back to the device: as many bytes, and no others. */
static void test_results(void **state)
{
    struct steps steps = results;
    double without = STEPS * (double)(COPY_NS + OWN_NS), sent = STEPS * (double)COPY_NS;
    (void)state;
    for (int same = 0; same < 2; same++) {
        steps.sent = same ? results.bytes : 2 * results.bytes;
        struct analyzed a = played(&steps);
        const struct xfa_finding *f = found(&a);
        assert_non_null(f);
        assert_true((f->saving.high > without + sent / 2) == (same == 1));
        analyzed_free(&a);
    }
}

/* Few copies, or small ones. */
static void test_left(void **state)
{
    const struct steps others[] = {
        {XFT_DIR_D2H, 4 * MIB, 7, NULL, 0, 0, 0, 0},
        {XFT_DIR_D2H, MIB / 32, STEPS, NULL, 0, 0, 0, 0},
        {XFT_DIR_H2D, 4 * MIB, 7, NULL, 0, 0, 0, 0},
        {XFT_DIR_H2D, MIB / 32, STEPS, NULL, 0, 0, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct analyzed a = played(&others[i]);
        assert_null(found(&a));
        analyzed_free(&a);
    }
}

/* Few copies are asked about where the GPU went on behind each, and not where it did so twice. */
static void test_few(void **state)
{
    struct steps few = {.direction = XFT_DIR_D2H, .bytes = 4 * MIB, .times = 4, .launches = 3};
    (void)state;
    struct analyzed a = played(&few);
    const struct xfa_finding *f = found(&a);
    assert_true(f && f->asked && f->transfers == few.times);
    analyzed_free(&a);
    few.launches = 2;
    a = played(&few);
    assert_null(found(&a));
    analyzed_free(&a);
}

/* What the host works before a copy to the device may be that it converts: of a quarter of the
 * bytes the GPU could make it. The first copy has none before it. */
static void test_converts(void **state)
{
    const struct steps sends = {XFT_DIR_H2D, 4 * MIB, STEPS, NULL, 0, 0, 0, 0};
    struct analyzed a = played(&sends);
    const struct xfa_finding *f = found(&a);
    double all = (STEPS - 1) * (OWN_NS + 0.75 * COPY_NS);
    (void)state;
    assert_non_null(f);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_ON_DEVICE);
    assert_true(!f->remedy.to_host && f->asked && f->idle && f->question);
    assert_true(f->saving.low < 1 && fabs(f->saving.likely) < 1);
    assert_true(f->saving.high > 0.98 * all && f->saving.high < 1.04 * all);
    analyzed_free(&a);
}

/* Longer work may make it of nothing: then no copy is needed. */
static void test_makes(void **state)
{
    struct steps sends = {XFT_DIR_H2D, MIB / 4, STEPS, NULL, 0, 0, 0, 0}; /* 500 us for 256 KiB */
    struct analyzed a = played(&sends);
    const struct xfa_finding *f = found(&a);
    double all = (STEPS - 1) * (double)(OWN_NS + COPY_NS);
    (void)state;
    assert_non_null(f);
    assert_true(f->remedy.kind == XFA_REMEDY_ON_DEVICE && !f->remedy.to_host);
    assert_true(f->asked && f->idle && f->question && fabs(f->saving.likely) < 1);
    assert_true(f->saving.high > 0.98 * all && f->saving.high < 1.04 * all);
    analyzed_free(&a);
    sends.assume = "host-device-turns=yes";
    a = played(&sends);
    f = found(&a);
    assert_true(f && !f->asked && f->order == 1 && f->saving.likely > 0.98 * all);
    analyzed_free(&a);
}

/* A second copy sends what was made with the first one's. */
static void test_made_together(void **state)
{
    struct steps sends = {XFT_DIR_H2D, MIB / 4, STEPS, NULL, 0, 0, 0, 0};
    double all = (STEPS - 1) * (double)(OWN_NS + 2 * COPY_NS);
    (void)state;
    sends.more = 1;
    struct analyzed a = played(&sends);
    const struct xfa_finding *f = found(&a);
    assert_true(f && f->asked);
    assert_true(f->saving.high > 0.98 * all && f->saving.high < 1.04 * all);
    analyzed_free(&a);
}

/* It takes no longer than converting does, nor less than writing, and is not the larger question's.
 */
static void test_converts_not(void **state)
{
    const struct steps others[] = {
        {XFT_DIR_H2D, 16 * MIB, STEPS, NULL, 0, 0, 0, 0},       /* 500 us for 16 MiB */
        {XFT_DIR_H2D, MIB / 16, STEPS, NULL, 0, 0, 4000000, 0}, /* 4 ms for 64 KiB */
    };
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct analyzed a = played(&others[i]);
        assert_null(found(&a));
        analyzed_free(&a);
    }
    struct steps both = results;
    both.sent = 2 * results.bytes; /* behind the work on what is fetched */
    struct analyzed a = played(&both);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_HOST_TURNS, "send");
    assert_true(found(&a)->asked && !f);
    analyzed_free(&a);
}

/* With the answer other changes may be worth more, too: the bound is that of the best set then. */
static void test_bound(void **state)
{
    struct analyzed a[2];
    const struct xfa_finding *f[2];
    (void)state;
    for (int yes = 0; yes < 2; yes++) {
        a[yes] = converting(yes ? "host-device-turns=yes" : NULL);
        f[yes] = analyzed_finding(&a[yes], XFA_FINDING_HOST_TURNS, "send");
        assert_non_null(f[yes]);
    }
    const struct xfw_whatif *asked = a[0].findings->whatif, *answered = a[1].findings->whatif;
    assert_true(f[0]->asked && !f[1]->asked && f[1]->order > 0);
    assert_true(xfa_finding_up_to(f[0]) <= answered->set.high + 1);
    assert_true(xfa_finding_up_to(f[0]) > answered->set.likely);
    assert_true(f[0]->answered.likely > answered->set.likely - 1);
    assert_true(asked->set.likely + MIN_MORE_NS < answered->set.likely);
    assert_true(f[1]->saving.likely + MIN_MORE_NS < answered->set.likely);
    assert_true(f[0]->saving.high + MIN_MORE_NS < xfa_finding_up_to(f[0]));
    struct xfa_described described = xfa_describe(a[0].analysis, a[0].findings, f[0]);
    assert_non_null(strstr(described.question, " in all if the host only converts what send"));
    xfa_described_free(&described);
    analyzed_free(&a[0]);
    analyzed_free(&a[1]);
}

/* What is left has to be done: copies that nobody asks about, as they took. */
static void test_held(void **state)
{
    struct steps steps = results;
    (void)state;
    steps.sent = 2 * results.bytes;
    struct analyzed a = played(&steps);
    const struct xfa_finding *f = found(&a);
    const struct xfw_whatif *whatif = a.findings->whatif;
    const double sent = 0.97 * STEPS * COPY_NS;
    assert_true(f && f->asked);
    assert_true(f->answered.high > whatif->alone_ns - sent);
    assert_true(xfa_finding_up_to(f) < whatif->alone_ns - sent);
    assert_true(xfa_finding_up_to(f) > f->answered.likely);
    assert_true(f->up_to.span_ns < whatif->span.alone_ns - sent);
    assert_true(f->up_to.span_ns > f->answered.likely);
    analyzed_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bound),         cmocka_unit_test(test_asked),
        cmocka_unit_test(test_answered),      cmocka_unit_test(test_results),
        cmocka_unit_test(test_left),          cmocka_unit_test(test_converts),
        cmocka_unit_test(test_converts_not),  cmocka_unit_test(test_makes),
        cmocka_unit_test(test_made_together), cmocka_unit_test(test_held),
        cmocka_unit_test(test_few),
    };
    return cmocka_run_group_tests_name("findings: turns of host and device", tests, NULL, NULL);
}
