/* repeated-library-setup: which plans could be made once, and what the run would save. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/base/alloc.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"

enum { MAKE = 10, DESTROY, EXECUTE, OTHER_MAKE, STEPS = 40 };
#define CALL_NS 20000
#define WITHIN_NS 100000 /* the library's own time between its calls */
#define BEFORE_NS 60000  /* the thread's own time before the first of them */
#define LAUNCH_NS 3000

enum how { ALIKE, OTHER_SIZES, ALL_KEPT, NO_MEMORY, EXECUTED, FEW, SENT_AGAIN, SENT_ELSEWHERE };

/* A call of the library's function, which the program's function calls. */
static void library_site(struct play *play, unsigned stack, const char *function, unsigned line)
{
    uint64_t own = 0x410000 + 16 * (uint64_t)stack, library = 0x7f0000000000 + 16 * (uint64_t)stack;
    build_symbol(play->b, own, 0, "filter", "/src/app.c", line, "/opt/sample/train");
    build_symbol(play->b, library, 0, function, "", 0, "/usr/lib/libcufft.so.12");
    build_stack(play->b, stack, (uint64_t[]){library, own}, 2);
}

static void call(struct play *play, enum xft_event_kind kind, unsigned stack, uint64_t address,
                 uint64_t bytes)
{
    struct xft_event *event = play_event(play, (struct xft_event){.kind = kind}, CALL_NS);
    event->stack = stack;
    event->dst = address;
    event->bytes = bytes;
    event->dst_mem = XFT_MEM_DEVICE;
    event->device = 0;
    if (kind == XFT_EVENT_SYNC)
        event->aux = XFT_SYNC_CONTEXT;
}

static void step(struct play *play, enum how how, unsigned i)
{
    unsigned make = how == EXECUTED ? EXECUTE : MAKE, destroy = how == EXECUTED ? EXECUTE : DESTROY;
    uint64_t address = 0x5000000 + (how == ALL_KEPT ? MIB * i : 0);
    uint64_t bytes = how == OTHER_SIZES ? MIB + i : MIB;
    enum xft_event_kind takes = how == NO_MEMORY ? XFT_EVENT_SYNC : XFT_EVENT_ALLOC;
    play->now += BEFORE_NS;
    call(play, takes, make, address, bytes);
    play->now += WITHIN_NS;
    call(play, XFT_EVENT_SYNC, make, 0, 0);
    play_event(play, (struct xft_event){.kind = XFT_EVENT_LAUNCH}, LAUNCH_NS);
    if (how != ALL_KEPT && how != NO_MEMORY)
        call(play, XFT_EVENT_FREE, destroy, address, bytes);
    play_event(play, (struct xft_event){.kind = XFT_EVENT_LAUNCH}, LAUNCH_NS);
}

/* A library that keeps its memory: making sends a few bytes, destroying calls nothing. */
static void send(struct play *play, unsigned stack, uint64_t address)
{
    struct xft_event *event = play_event(play,
                                         (struct xft_event){.kind = XFT_EVENT_TRANSFER,
                                                            .direction = XFT_DIR_H2D,
                                                            .src_mem = XFT_MEM_PAGEABLE,
                                                            .dst_mem = XFT_MEM_DEVICE,
                                                            .bytes = 8,
                                                            .width = 8,
                                                            .count = 1},
                                         CALL_NS);
    event->stack = stack;
    event->src = 0x1000;
    event->dst = address;
}

static void sending_step(struct play *play, enum how how, unsigned i)
{
    uint64_t address = 0x5000000 + (how == SENT_ELSEWHERE ? 512 * (uint64_t)i : 0);
    play->now += BEFORE_NS;
    send(play, MAKE, address);
    play->now += WITHIN_NS;
    send(play, OTHER_MAKE, address + 0x100000);
    play_event(play, (struct xft_event){.kind = XFT_EVENT_LAUNCH}, LAUNCH_NS);
}

static struct analyzed played(enum how how)
{
    struct trace_builder b;
    struct play play;
    struct xfp_profile *profile = measured_profile(0);
    play_start(&play, &b, 1);
    library_site(&play, MAKE, "cufftPlan1d", 1);
    library_site(&play, DESTROY, "cufftDestroy", 2);
    library_site(&play, EXECUTE, "cufftExecC2C", 3);
    library_site(&play, OTHER_MAKE, "cufftPlanMany", 4);
    for (unsigned i = 0; i < (how == FEW ? 4 : STEPS); i++)
        if (how == SENT_AGAIN || how == SENT_ELSEWHERE)
            sending_step(&play, how, i);
        else
            step(&play, how, i);
    play_end(&play, XFT_STATE_CLOSED);
    return analyzed_played(&b, profile);
}

/* A library that does all in one call at the end: what it does before is in the thread's own time.
 */
struct shape {
    uint64_t before_ns, more_ns; /* own time before the call; added in seven of eight setups */
    uint64_t behind_ns;          /* own time behind the kernel, in which it is destroyed */
    unsigned kernels;            /* of which one is launched behind it, by turns */
};

static void check_shape(struct shape shape, double likely_ns, double high_ns)
{
    struct trace_builder b;
    struct play play;
    struct xfp_profile *profile = measured_profile(0);
    play_start(&play, &b, 1);
    library_site(&play, MAKE, "cufftPlan1d", 1);
    for (unsigned i = 0; i < STEPS; i++) {
        play.now += shape.before_ns + (i % 8 ? shape.more_ns * (i % 8) : 0);
        send(&play, MAKE, 0x5000000);
        play_event(&play,
                   (struct xft_event){.kind = XFT_EVENT_LAUNCH, .dst = 64 + i % shape.kernels},
                   LAUNCH_NS);
        play.now += shape.behind_ns;
        play_event(&play, (struct xft_event){.kind = XFT_EVENT_LAUNCH}, LAUNCH_NS);
    }
    play_end(&play, XFT_STATE_CLOSED);
    struct analyzed a = analyzed_played(&b, profile);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_LIBRARY_SETUP, "filter");
    assert_non_null(f);
    assert_true(f->saving.likely > 0.95 * likely_ns && f->saving.likely < 1.05 * likely_ns);
    assert_true(f->saving.high > 0.9 * high_ns);
    assert_true(f->saving.low < 0.5 * (STEPS - 1) * CALL_NS);
    analyzed_free(&a);
}

/* Alike each time, it is the library's; else as much as the shortest have, and no more than 2 ms.
 */
static void test_before_the_only_call(void **state)
{
    const double all = STEPS - 1, least = 300000;
    (void)state;
    check_shape((struct shape){300000, 0, 0, 1}, all * (least + CALL_NS), all * (least + CALL_NS));
    check_shape((struct shape){300000, 200000, 0, 1}, all * (least + CALL_NS),
                all * (least + 3.5 * 200000));
    check_shape((struct shape){5000000, 0, 0, 1}, all * (2e6 + CALL_NS), all * 5e6);
}

/* Destroying it makes no call: as likely no more than a third of what making took. */
static void test_destroyed_without_a_call(void **state)
{
    const double all = STEPS - 1, made = 300000 + CALL_NS;
    (void)state;
    check_shape((struct shape){300000, 0, 50000, 1}, all * (made + 50000), all * (made + 50000));
    check_shape((struct shape){300000, 0, 250000, 1}, all * (made + 100000), all * (made + 250000));
}

/* By the kernel behind it: each of those that alternate is made once; of what is another one each
 * time, only at best. */
static void test_configurations(void **state)
{
    const double made = 300000 + CALL_NS;
    (void)state;
    check_shape((struct shape){300000, 0, 0, 4}, (STEPS - 4) * made, (STEPS - 1) * made);
    check_shape((struct shape){300000, 0, 0, STEPS - 1}, made, (STEPS - 1) * made);
}

/* All but the first: as likely with the thread's own time before it, which is no longer than within
 * it; at worst without. Of what destroys it the first stays, too. */
static void test_made_once(void **state)
{
    struct analyzed a = played(ALIKE);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_LIBRARY_SETUP, "filter");
    double each = 3 * CALL_NS + WITHIN_NS, all = (STEPS - 1) * (each + BEFORE_NS);
    (void)state;
    assert_non_null(f);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_MAKE_ONCE);
    assert_int_equal(f->transfers, 3 * (STEPS - 1));
    assert_true(f->lost_ns > 0.99 * (STEPS - 1) * each && f->lost_ns < 1.03 * (STEPS - 1) * each);
    assert_true(f->saving.likely > 0.98 * all && f->saving.likely < 1.04 * all);
    assert_true(f->saving.low < (STEPS - 1) * each);
    assert_int_equal(f->order, 1);
    analyzed_free(&a);
}

/* The second plan's own time goes as likely: it comes right behind the first's. */
static void test_sent_again(void **state)
{
    struct analyzed a = played(SENT_AGAIN);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_LIBRARY_SETUP, "filter");
    (void)state;
    assert_non_null(f);
    assert_int_equal(f->transfers, 2 * (STEPS - 1));
    assert_true(f->saving.likely > 0.95 * (STEPS - 1) * WITHIN_NS);
    assert_true(f->saving.likely < f->saving.high);
    analyzed_free(&a);
}

/* What the library allocates meanwhile is not the program's to mend. */
static void test_not_of_other_kinds(void **state)
{
    struct analyzed a = played(ALIKE);
    (void)state;
    assert_null(analyzed_finding(&a, XFA_FINDING_ALLOCATION, NULL));
    analyzed_free(&a);
    a = played(EXECUTED); /* no plan is made in that function */
    assert_non_null(analyzed_finding(&a, XFA_FINDING_ALLOCATION, NULL));
    analyzed_free(&a);
}

static void test_left(void **state)
{
    static const enum how hows[] = {OTHER_SIZES, ALL_KEPT, NO_MEMORY,
                                    EXECUTED,    FEW,      SENT_ELSEWHERE};
    (void)state;
    for (size_t i = 0; i < sizeof hows / sizeof *hows; i++) {
        struct analyzed a = played(hows[i]);
        assert_null(analyzed_finding(&a, XFA_FINDING_LIBRARY_SETUP, NULL));
        analyzed_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_made_once),
        cmocka_unit_test(test_sent_again),
        cmocka_unit_test(test_before_the_only_call),
        cmocka_unit_test(test_destroyed_without_a_call),
        cmocka_unit_test(test_configurations),
        cmocka_unit_test(test_not_of_other_kinds),
        cmocka_unit_test(test_left),
    };
    return cmocka_run_group_tests_name("findings: libraries' setups", tests, NULL, NULL);
}
