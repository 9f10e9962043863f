/* serial-host-work: what it asks about, and what the run would save if another thread did the work;
 * and of host-device-turns how much of own time is which, where a thread fetches and sends. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/report/described.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"

enum {
    FETCH = 10,
    MORE,
    SEND,
    WAIT,
    CALL,
    STEPS = 20,
    COPY_NS = 300000,
    OWN_NS = 500000,
    WAKE_NS = 2000,
    SMALL = 4096,
};

struct rounds {
    uint64_t fetched, sent; /* bytes; sent 0: nothing */
    uint64_t waits_ns;      /* in each round, for something else, behind the work: the GPU */
    bool given_on;          /* a function of the host is called behind each copy */
    bool two;               /* functions fetch by turns */
    bool last;              /* the work of the last round is behind the last wait */
    const char *assume;
};

/* A copy, a function of the host behind it in its stream, and a wait for both. */
static void give_on(struct play *play, uint32_t site, uint64_t bytes)
{
    struct xft_event *copy = play_async(play, site, XFT_DIR_D2H, XFT_MEM_PINNED, bytes, COPY_NS);
    uint64_t end = copy->start_ns + 500 + COPY_NS;
    copy->device = 0;
    play_event(play, (struct xft_event){.kind = XFT_EVENT_HOST_FUNCTION, .stack = CALL}, WAKE_NS);
    const struct xft_event wait = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT, .stack = WAIT};
    play_event(play, wait, end + WAKE_NS - play->now);
}

static struct analyzed played(const struct rounds *rounds)
{
    struct trace_builder b;
    struct play play;
    struct xfp_profile *profile = measured_profile(0);
    play_start(&play, &b, 1);
    play_site(&play, FETCH, "fetch", 1);
    play_site(&play, MORE, "more", 2);
    play_site(&play, SEND, "send", 3);
    play_site(&play, WAIT, "await", 4);
    play_site(&play, CALL, "call", 5);
    for (unsigned i = 0; i < STEPS; i++) {
        uint32_t site = rounds->two && i % 2 ? MORE : FETCH;
        if (rounds->given_on)
            give_on(&play, site, rounds->fetched);
        else
            play_awaited(&play, site, WAIT, XFT_DIR_D2H, rounds->fetched, COPY_NS, WAKE_NS);
        play.now += OWN_NS;
        if (rounds->sent)
            play_awaited(&play, SEND, WAIT, XFT_DIR_H2D, rounds->sent, COPY_NS, WAKE_NS);
        bool behind = rounds->last && i + 1 == STEPS;
        enum xft_event_kind kind = behind ? XFT_EVENT_FREE : XFT_EVENT_LAUNCH;
        play_event(&play, (struct xft_event){.kind = kind}, rounds->waits_ns);
    }
    play_end(&play, XFT_STATE_CLOSED);
    return analyzed_answered(&b, profile, rounds->assume);
}

static const struct xfa_finding *found(const struct analyzed *a, const char *site)
{
    return analyzed_finding(a, XFA_FINDING_SERIAL_WORK, site);
}

/* Nothing is sent by which what follows could need the work: that it does not is likely. */
static void test_nothing_sent(void **state)
{
    const struct rounds rounds = {.fetched = 4 * MIB, .waits_ns = 400000};
    const double saved = (STEPS - 3) * (double)rounds.waits_ns;
    struct analyzed a = played(&rounds);
    const struct xfa_finding *f = found(&a, "fetch");
    (void)state;
    assert_true(f && !f->asked && f->order == 1 && f->saving.low < 1);
    assert_true(f->saving.likely > saved && f->saving.likely < STEPS * (double)OWN_NS);
    analyzed_free(&a);
}

/* Of the span no more is saved than of the run: what is left to another thread when nobody waits
 * any more is not saved, but for the last round's work, which was behind the last wait before. */
static void test_left_to_the_end(void **state)
{
    const struct rounds rounds = {.fetched = 4 * MIB, .waits_ns = WAKE_NS, .last = true};
    struct analyzed a = played(&rounds);
    const struct xfw_whatif *whatif = a.findings->whatif;
    double span = whatif->span.alone_ns - whatif->span.set_ns;
    (void)state;
    assert_true(found(&a, "fetch") && found(&a, "fetch")->order == 1);
    assert_true(fabs(span - whatif->set.likely) < 2 * WAKE_NS);
    analyzed_free(&a);
}

/* The thread goes on while another one works: of a round the shorter of both is saved. */
static void test_asked(void **state)
{
    struct rounds rounds = {.fetched = 4 * MIB, .sent = SMALL, .waits_ns = 400000};
    const double saved = (STEPS - 3) * (double)rounds.waits_ns;
    struct analyzed a = played(&rounds);
    const struct xfa_finding *f = found(&a, "fetch");
    (void)state;
    assert_true(f && f->asked && f->idle && f->order == 0 && f->transfers == STEPS);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_WORK_BESIDE);
    assert_true(f->saving.low < 1 && fabs(f->saving.likely) < 1);
    assert_true(f->answered.likely > saved);
    assert_true(f->answered.likely < STEPS * (double)(OWN_NS + COPY_NS));
    analyzed_free(&a);
    rounds.assume = "serial-host-work=yes";
    a = played(&rounds);
    f = found(&a, "fetch");
    assert_true(f && !f->asked && f->order == 1 && f->saving.likely > saved);
    assert_true(f->saving.likely < STEPS * (double)(OWN_NS + COPY_NS));
    analyzed_free(&a);
}

/* Nothing goes on meanwhile: the next copy waits for a buffer. */
static void test_nothing_beside(void **state)
{
    struct rounds rounds = {.fetched = 4 * MIB, .waits_ns = WAKE_NS};
    (void)state;
    rounds.assume = "serial-host-work=yes";
    struct analyzed a = played(&rounds);
    const struct xfa_finding *f = found(&a, "fetch");
    assert_true(!f || f->saving.likely < (STEPS + 1) * (double)(COPY_NS + 10 * WAKE_NS));
    analyzed_free(&a);
}

/* What is sent may be what the host has made of what it fetched, where that is as many bytes. */
static void test_results(void **state)
{
    struct rounds rounds = {.fetched = 4 * MIB, .sent = 4 * MIB, .waits_ns = 400000};
    (void)state;
    struct analyzed a = played(&rounds);
    assert_null(found(&a, "fetch"));
    analyzed_free(&a);
    rounds.sent = MIB;
    a = played(&rounds);
    assert_true(found(&a, "fetch") && found(&a, "fetch")->asked);
    analyzed_free(&a);
}

/* A function that the stream calls behind the copy gives it to another thread already. */
static void test_given_on(void **state)
{
    struct rounds rounds = {.fetched = 4 * MIB, .waits_ns = 400000, .given_on = true};
    (void)state;
    struct analyzed a = played(&rounds);
    assert_null(found(&a, "fetch"));
    analyzed_free(&a);
}

/* Of own time between what is fetched and what is sent as much is about the former as of the bytes
 * is: as likely; nothing of it at worst, all at best. */
static void test_both(void **state)
{
    struct rounds rounds = {.fetched = 3 * MIB, .sent = MIB, .waits_ns = WAKE_NS};
    const double copies = STEPS * (double)COPY_NS, own = STEPS * (double)OWN_NS;
    (void)state;
    rounds.assume = "host-device-turns/D2H=yes";
    struct analyzed a = played(&rounds);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_HOST_TURNS, "fetch");
    assert_true(f && !f->asked);
    assert_true(f->saving.likely > 0.97 * (copies + 0.75 * own));
    assert_true(f->saving.likely < 1.03 * (copies + 0.75 * own));
    assert_true(f->saving.low < 1.03 * copies);
    assert_true(f->saving.high > 0.97 * (copies + own));
    analyzed_free(&a);
    rounds.assume = "host-device-turns/H2D=yes";
    a = played(&rounds);
    f = analyzed_finding(&a, XFA_FINDING_HOST_TURNS, "send");
    assert_true(f && !f->asked);
    assert_true(f->saving.likely < 0.3 * own + copies && f->saving.high > 0.9 * own);
    analyzed_free(&a);
}

/* Each function's work is a question of its own, with a key that is not the other one's; one answer
 * is for all sites of a function. */
static void test_functions(void **state)
{
    struct rounds rounds = {.fetched = 4 * MIB, .sent = SMALL, .waits_ns = 400000, .two = true};
    (void)state;
    struct analyzed a = played(&rounds);
    const struct xfa_finding *fetch = found(&a, "fetch"), *more = found(&a, "more");
    assert_true(fetch && more && fetch != more && fetch->asked && more->asked);
    char *keys[] = {xfa_finding_key(a.findings, fetch), xfa_finding_key(a.findings, more)};
    assert_non_null(strchr(keys[0], '@'));
    assert_string_not_equal(keys[0], keys[1]);
    free(keys[0]);
    free(keys[1]);
    analyzed_free(&a);
    rounds.assume = "serial-host-work@fetch|more=no";
    a = played(&rounds);
    assert_true(!found(&a, "fetch") && !found(&a, "more"));
    analyzed_free(&a);
}

/* What is likely stands before the bound where it reads otherwise. */
static void test_words(void **state)
{
    struct rounds rounds = {.fetched = 3 * MIB, .sent = MIB, .waits_ns = WAKE_NS};
    (void)state;
    struct analyzed a = played(&rounds);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_HOST_TURNS, "fetch");
    assert_true(f && f->asked);
    struct xfa_described described = xfa_describe(a.analysis, a.findings, f);
    const char *most = strstr(described.question, ", up to ");
    assert_non_null(most);
    assert_non_null(strstr(most, ", if the GPU can do"));
    assert_string_equal(described.key, "host-device-turns/D2H");
    xfa_described_free(&described);
    analyzed_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_asked),           cmocka_unit_test(test_nothing_sent),
        cmocka_unit_test(test_nothing_beside),  cmocka_unit_test(test_results),
        cmocka_unit_test(test_given_on),        cmocka_unit_test(test_both),
        cmocka_unit_test(test_functions),       cmocka_unit_test(test_words),
        cmocka_unit_test(test_left_to_the_end),
    };
    return cmocka_run_group_tests_name("findings: the host's work in turn", tests, NULL, NULL);
}
