/* copy-instead-of-swap: which copies within a device their source need not have, what kernels
 * decide of, and what the run would save. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"

enum { OLDER = 10, NEWER, SENT, FETCHED, STEPS = 20, CALL_NS = 1500, LATENCY_NS = 3000 };
enum { KERNEL_NS = 300000, COPY_NS = 40000, SET_NS = 20000 };
enum { WAVE = 5, ADD, READ, UNTYPED }; /* ids of names */
enum { OF_ALL = 3, OF_NEXT, OF_CUR, OF_PREV, OF_INNER, OF_TWO };

static const uint64_t prev = 0x7f0000000000, cur = 0x7f0100000000, next = 0x7f0200000000,
                      host = 0x7f4000000000, bytes = 4 * MIB, large = 64 * MIB;

struct run {
    struct trace_builder b;
    struct play play;
    uint64_t busy_until;
    uint32_t launches;
};

static uint64_t later_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static struct xft_event *call(struct run *run, enum xft_event_kind kind, uint64_t ns)
{
    return play_in_stream(&run->play, kind, 0, ns);
}

static void launch(struct run *run, unsigned name, unsigned arguments)
{
    struct xft_event *event = call(run, XFT_EVENT_LAUNCH, CALL_NS);
    event->aux = arguments;
    event->src = name;
    event->correlation = 100000 + ++run->launches;
    uint64_t now = run->play.now;
    run->play.now = later_of(run->busy_until, event->start_ns + LATENCY_NS);
    run->play.lane = LANE_OTHER;
    const struct xft_event ran = {
        .kind = XFT_EVENT_KERNEL, .src = name, .correlation = 100000 + run->launches};
    run->busy_until = play_event(&run->play, ran, KERNEL_NS)->end_ns;
    run->play.lane = LANE_MAIN;
    run->play.now = now;
}

static void copy(struct run *run, unsigned stack, enum xft_direction direction, uint64_t from,
                 uint64_t to, uint64_t size)
{
    struct xft_event *event = play_stream_copy(&run->play, stack, direction, size, 0);
    event->src = from;
    event->dst = to;
    if (direction == XFT_DIR_D2D) {
        event->src_mem = event->dst_mem = XFT_MEM_DEVICE;
        event->src_place = event->dst_place = 0;
    }
    play_device_copy_behind(&run->play, event, COPY_NS, &run->busy_until);
}

static void set(struct run *run, uint64_t address, uint64_t size)
{
    struct xft_event *event = call(run, XFT_EVENT_SET, CALL_NS);
    event->dst = address;
    event->dst_mem = XFT_MEM_DEVICE;
    event->bytes = event->width = size;
}

static void allocate(struct run *run, uint64_t address, uint64_t size)
{
    const struct xft_event made = {
        .kind = XFT_EVENT_ALLOC, .dst = address, .bytes = size, .dst_mem = XFT_MEM_DEVICE};
    play_event(&run->play, made, 1000);
}

/* One letter of a step. */
static void statement(struct run *run, char what)
{
    static const uint64_t half = bytes / 2, inside = MIB;
    switch (what) {
    case 'w': /* a kernel reads cur and prev, and may write next; 'u' by no known types */
    case 'u':
        launch(run, what == 'w' ? WAVE : UNTYPED, OF_ALL);
        break;
    case 'n': /* is given next to work on, 'c' cur, 'p' prev; 'r' reads next */
    case 'r':
        launch(run, what == 'n' ? ADD : READ, OF_NEXT);
        break;
    case 'c':
        launch(run, ADD, OF_CUR);
        break;
    case 'p':
        launch(run, ADD, OF_PREV);
        break;
    case '?': /* of which nothing is known */
        launch(run, ADD, 0);
        break;
    case 'O': /* prev := cur; 'N' cur := next */
        copy(run, OLDER, XFT_DIR_D2D, cur, prev, bytes);
        break;
    case 'N':
        copy(run, NEWER, XFT_DIR_D2D, next, cur, bytes);
        break;
    case 's': /* next is sent anew, 'h' half of it; 'f' is fetched */
    case 'h':
        copy(run, SENT, XFT_DIR_H2D, host, next, what == 's' ? bytes : half);
        break;
    case 'f':
        copy(run, FETCHED, XFT_DIR_D2H, next, host, bytes);
        break;
    case 'z': /* next is set */
        set(run, next, bytes);
        break;
    case 'I': /* parts of two large allocations; 'i' a kernel is given both, 'b' their begins */
        copy(run, NEWER, XFT_DIR_D2D, next + large + inside, cur + large + inside, bytes);
        break;
    case 'i':
        launch(run, WAVE, OF_INNER);
        break;
    default:
        launch(run, WAVE, OF_TWO);
    }
}

static void names(struct run *run)
{
    play_site(&run->play, OLDER, "older", 1);
    play_site(&run->play, NEWER, "newer", 2);
    play_site(&run->play, SENT, "send", 3);
    play_site(&run->play, FETCHED, "fetch", 4);
    build_text(&run->b, WAVE, "_Z4wavePKfS0_Pf");
    build_text(&run->b, ADD, "_Z3addPf");
    build_text(&run->b, READ, "_Z4readPKf");
    build_text(&run->b, UNTYPED, "plain");
    build_arguments(&run->b, OF_ALL, (uint64_t[]){cur, prev, next}, 3);
    build_arguments(&run->b, OF_NEXT, &next, 1);
    build_arguments(&run->b, OF_CUR, &cur, 1);
    build_arguments(&run->b, OF_PREV, &prev, 1);
    build_arguments(&run->b, OF_INNER, (uint64_t[]){cur + large + MIB, prev, next + large + MIB},
                    3);
    build_arguments(&run->b, OF_TWO, (uint64_t[]){cur + large, prev, next + large}, 3);
}

/* answer: NULL, or what the user says. */
static struct analyzed played(const char *step, const char *answer)
{
    struct run run = {0};
    struct xfp_profile *profile = measured_profile(0);
    const struct xft_event records = {.kind = XFT_EVENT_RECORDS,
                                      .aux = XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS};
    const uint64_t buffers[] = {prev, cur, next};
    play_start(&run.play, &run.b, 1);
    names(&run);
    play_event(&run.play, records, 0);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        allocate(&run, buffers[i], bytes);
        allocate(&run, buffers[i] + large, large);
    }
    for (unsigned i = 0; i < STEPS; i++)
        for (const char *at = step; *at; at++)
            statement(&run, *at);
    call(&run, XFT_EVENT_SYNC, later_of(run.busy_until, run.play.now) + CALL_NS - run.play.now)
        ->aux = XFT_SYNC_CONTEXT;
    play_end(&run.play, XFT_STATE_CLOSED);
    return answer ? analyzed_answered(&run.b, profile, answer) : analyzed_played(&run.b, profile);
}

static const struct xfa_finding *found(const struct analyzed *a)
{
    return analyzed_finding(a, XFA_FINDING_SWAP, NULL);
}

/* Of the two copies of a step the older one's source is overwritten by the next: it may go. Of the
 * other the kernel makes the source anew, of what was copied, by what its types say. */
static void test_rotated(void **state)
{
    struct analyzed a = played("uON", NULL);
    const struct xfa_finding *f = found(&a);
    const double each = (STEPS - 2) * (double)COPY_NS;
    (void)state;
    assert_non_null(f);
    assert_int_equal(f->site_count, 2);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_SWAP);
    assert_true(f->question && f->assumed && !f->idle && !f->asked);
    assert_true(f->saving.likely > 0.95 * each && f->saving.likely < 1.1 * each);
    double high = f->saving.high - xfw_unsure_ns(a.findings->whatif, f->saving.likely);
    assert_true(high > 1.9 * each && high < 2.3 * each);
    assert_true(f->saving.low < 0.1 * each);
    assert_in_range((uint64_t)f->lost_ns, (uint64_t)(1.9 * each), (uint64_t)(2.2 * each));
    analyzed_free(&a);

    a = played("wON", NULL);
    f = found(&a);
    assert_non_null(f);
    assert_true(f->assumed && !f->idle && !f->asked);
    assert_true(f->saving.likely > 1.9 * each && f->saving.likely < 2.2 * each);
    assert_true(f->saving.low < 0.1 * each);
    analyzed_free(&a);
}

/* Only kernels decide: a question, and the answer is a saving. */
static void test_asked(void **state)
{
    struct analyzed a = played("uN", NULL);
    const struct xfa_finding *f = found(&a);
    const double most = (STEPS - 2) * (double)COPY_NS;
    (void)state;
    assert_non_null(f);
    assert_true(f->asked && f->idle);
    assert_in_range(f->transfers, STEPS - 2, STEPS - 1);
    assert_true(f->saving.likely < 1 && f->saving.high > 0.95 * most);
    analyzed_free(&a);

    a = played("uN", "copy-instead-of-swap=yes");
    f = found(&a);
    assert_non_null(f);
    assert_true(!f->asked && !f->idle && f->order == 1);
    assert_true(f->saving.likely > 0.95 * most && f->saving.likely < 1.2 * most);
    analyzed_free(&a);

    a = played("uN", "copy-instead-of-swap=no");
    assert_null(found(&a));
    analyzed_free(&a);
}

/* What overwrites all of the source leaves no question. */
static void test_sure(void **state)
{
    static const char *const steps[] = {"sNc", "zNc"};
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct analyzed a = played(steps[i], NULL);
        const struct xfa_finding *f = found(&a);
        if (!f || f->question || f->idle)
            fail_msg("%s: copied where it need not be", steps[i]);
        assert_in_range(f->transfers, STEPS - 2, STEPS - 1);
        analyzed_free(&a);
    }
}

/* Without types in a kernel's name, of parts of allocations, and where a kernel has changed what
 * was copied, it is a question, too. */
static void test_asked_of_others(void **state)
{
    static const char *const steps[] = {"uN", "iI", "wNc", "cwN"};
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct analyzed a = played(steps[i], NULL);
        const struct xfa_finding *f = found(&a);
        if (!f || !f->asked)
            fail_msg("%s: nothing is asked", steps[i]);
        analyzed_free(&a);
    }
}

static void test_left(void **state)
{
    static const struct {
        const char *step, *why;
    } steps[] = {
        {"Nn", "the kernel works on the source in place, and is not given what was copied"},
        {"Nnc", "what was copied is used when the source has changed"},
        {"wNf", "the source is fetched from where it was"},
        {"wNr", "a kernel reads the source where it was"},
        {"wNh", "half of the source is sent anew"},
        {"Nh", "half of the source is sent anew, and nothing else uses it"},
        {"N?", "it is not known what the kernel uses"},
        {"bI", "kernels are given the allocations, not the parts that are copied"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct analyzed a = played(steps[i].step, NULL);
        const struct xfa_finding *f = found(&a);
        if (f && (!f->question || f->asked))
            fail_msg("%s: %s", steps[i].step, steps[i].why);
        analyzed_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rotated), cmocka_unit_test(test_asked),
        cmocka_unit_test(test_sure),    cmocka_unit_test(test_asked_of_others),
        cmocka_unit_test(test_left),
    };
    return cmocka_run_group_tests_name("findings: copies instead of swaps", tests, NULL, NULL);
}
