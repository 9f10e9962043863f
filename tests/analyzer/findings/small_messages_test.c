/* small-messages: which it names, and what the run would save. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/ranked.h"

enum { STEPS = 50, EACH = 10, CALL_NS = 5000, STEP_NS = 200000 };

enum between { NOTHING, A_WAIT, A_RECEIVE, A_BEGUN_RECEIVE, A_FETCH, A_SYNC };

static void between_two(struct ranked *r, enum between what, uint64_t at)
{
    struct xft_event fetch = test_transfer(CALL_MEMCPY, XFT_DIR_D2H, XFT_MEM_PINNED, 64, 0, 0);
    struct xft_event sync = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT};
    fetch.stack = STACK_UPLOAD;
    sync.stack = STACK_UPLOAD;
    if (what == A_WAIT)
        ranked_wait(r, at, at + 100);
    else if (what == A_RECEIVE)
        ranked_recv(r, 1, 6, 8, at, at + 100);
    else if (what == A_BEGUN_RECEIVE)
        ranked_irecv(r, 1, 6, 8, at, 0xb0);
    else if (what == A_FETCH)
        ranked_event(r, fetch, at, at + 100);
    else if (what == A_SYNC)
        ranked_event(r, sync, at, at + 100);
}

static struct analyzed played(uint64_t bytes, enum between what, struct xfp_profile *profile)
{
    struct ranked ranks[2];
    struct xft_event copy = test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PINNED, 64, 0, 0);
    copy.stack = STACK_UPLOAD;
    for (uint32_t i = 0; i < 2; i++)
        ranked_start(&ranks[i], i, 2, i ? "node2" : "node1");
    for (uint64_t i = 0; i < STEPS; i++) {
        uint64_t at = 100000 + i * STEP_NS;
        ranked_event(&ranks[0], copy, at - 20000, at - 10000);
        for (uint64_t k = 0; k < EACH; k++) {
            ranked_send(&ranks[0], 1, 5, bytes, at, at + CALL_NS);
            between_two(&ranks[0], what, at + CALL_NS + 200);
            at += CALL_NS + 500;
        }
        ranked_wait(&ranks[0], at, at + 100);
    }
    ranked_event(&ranks[0], copy, 100000 + STEPS * STEP_NS, 110000 + STEPS * STEP_NS);
    ranked_end(&ranks[0]);
    ranked_end(&ranks[1]);
    struct analyzed a = analyzed_weighed_all(
        (const struct trace_builder *const[]){&ranks[0].b, &ranks[1].b}, 2, profile);
    build_free(&ranks[0].b);
    build_free(&ranks[1].b);
    a.analysis->profile = NULL; /* not asked any more */
    xfp_free(profile);
    return a;
}

/* 2 us and 0.1 ns a byte. */
static struct xfp_profile *network(const char *from)
{
    struct xfp_profile *profile = scenario_profile();
    ranked_network(profile, from, "node2", 2000, 10);
    return profile;
}

/* Ten of 100 bytes: 9 times 2 us of each step. */
static void test_saved(void **state)
{
    static const enum between kept[] = {NOTHING, A_BEGUN_RECEIVE};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct analyzed a = played(100, kept[i], network("node1"));
        const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_SMALL_MESSAGES, "exchange");
        assert_non_null(f);
        assert_int_equal(f->transfers, STEPS * EACH);
        assert_int_equal(f->bytes, STEPS * EACH * 100);
        assert_int_equal(f->remedy.kind, XFA_REMEDY_MERGE_MESSAGES);
        assert_true(fabs(f->lost_ns - STEPS * 18000.0) < STEPS * 10);
        assert_true(fabs(f->saving.likely - STEPS * 18000.0) < STEPS * 1000);
        analyzed_free(&a);
    }
}

/* What the calls took is all that can go: nine tenths of it. */
static void test_no_more_than_they_took(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    (void)state;
    ranked_network(profile, "node1", "node2", 200000, 10);
    struct analyzed a = played(100, NOTHING, profile);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_SMALL_MESSAGES, NULL);
    assert_true(fabs(f->lost_ns - STEPS * 9.0 * CALL_NS) < STEPS * 10);
    analyzed_free(&a);
}

/* Between each two something that may decide on the next one; messages whose bytes take the time;
 * a network that was not measured: nothing is said. */
static void test_left(void **state)
{
    static const enum between ends[] = {A_WAIT, A_RECEIVE, A_FETCH, A_SYNC};
    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct analyzed a = played(100, ends[i], network("node1"));
        assert_null(analyzed_finding(&a, XFA_FINDING_SMALL_MESSAGES, NULL));
        analyzed_free(&a);
    }
    struct analyzed a = played(30000, NOTHING, network("node1"));
    assert_null(analyzed_finding(&a, XFA_FINDING_SMALL_MESSAGES, NULL));
    analyzed_free(&a);
    a = played(100, NOTHING, network("node7"));
    assert_null(analyzed_finding(&a, XFA_FINDING_SMALL_MESSAGES, NULL));
    analyzed_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_saved),
        cmocka_unit_test(test_no_more_than_they_took),
        cmocka_unit_test(test_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
