/* wait-for-order: which waits of the host only order streams, and what the run would save;
 * unneeded-wait: of which of them nothing is known to be for anything. */
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

enum { COPY = 10, WAIT, LAST, STEPS = 20, CALL_NS = 1500, LATENCY_NS = 3000, WAKE_NS = 50000 };
enum { FIRST, SECOND, STREAMS, BUFFERS = 2, KERNEL_NS = 300000, COPY_NS = 5000 };
enum { WRITES = 7, READS, PLAIN };                                          /* ids of names */
enum { OF_FIRST = 3, OF_SECOND = 5, OF_THIRD = 8, OF_OTHER = 10, OF_HOST }; /* of arguments */

#define MEMORY(buffer) (0x7f0000000000 + (uint64_t)(buffer)*MIB)
static const uint64_t results = 0x7f1000000000, other = 0x7f2000000000, host = 0x7f4000000000;

struct run {
    struct trace_builder b;
    struct play play;
    uint64_t busy_until[STREAMS], recorded;
    uint32_t launches;
    unsigned buffer; /* of this step */
};

static uint64_t later_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static struct xft_event *call(struct run *run, enum xft_event_kind kind, int stream, unsigned aux,
                              uint64_t ns)
{
    struct xft_event *event = play_in_stream(&run->play, kind, (unsigned)stream, ns);
    event->aux = aux;
    event->src = 0x9000; /* the event's handle */
    return event;
}

static void launch(struct run *run, int stream, unsigned name, unsigned arguments)
{
    struct xft_event *event = call(run, XFT_EVENT_LAUNCH, stream, arguments, CALL_NS);
    event->src = name;
    event->correlation = 100000 + ++run->launches;
    uint64_t now = run->play.now;
    run->play.now = later_of(run->busy_until[stream], event->start_ns + LATENCY_NS);
    run->play.lane = LANE_OTHER;
    const struct xft_event ran = {
        .kind = XFT_EVENT_KERNEL, .src = name, .correlation = 100000 + run->launches};
    run->busy_until[stream] = play_event(&run->play, ran, KERNEL_NS)->end_ns;
    run->play.lane = LANE_MAIN;
    run->play.now = now;
}

static void fetch(struct run *run)
{
    struct xft_event *event = play_stream_copy(&run->play, COPY, XFT_DIR_D2H, 4096, FIRST);
    event->src = other;
    event->dst = host;
    play_device_copy_behind(&run->play, event, COPY_NS, &run->busy_until[FIRST]);
}

static void wait_for(struct run *run, unsigned stack)
{
    uint64_t done = later_of(run->busy_until[FIRST], run->busy_until[SECOND]);
    call(run, XFT_EVENT_SYNC, FIRST, XFT_SYNC_CONTEXT, play_wait_ns(&run->play, done, WAKE_NS))
        ->stack = stack;
}

/* One letter of a step. */
static void statement(struct run *run, char what)
{
    switch (what) {
    case 'a': /* the first stream's kernel, which writes the step's buffer; 'p' by no known types */
    case 'p':
        launch(run, FIRST, what == 'a' ? WRITES : PLAIN, OF_FIRST + run->buffer);
        break;
    case 'h': /* that writes memory of the host */
        launch(run, FIRST, WRITES, OF_HOST);
        break;
    case 'b': /* the second's, which reads it; 'c' other memory; 'q' by no known types */
    case 'q':
        launch(run, SECOND, what == 'b' ? READS : PLAIN, OF_SECOND + run->buffer);
        break;
    case 'r': /* the first stream's, which reads it, too */
        launch(run, FIRST, READS, OF_THIRD + run->buffer);
        break;
    case 'c':
        launch(run, SECOND, WRITES, OF_OTHER);
        break;
    case 'f':
        fetch(run);
        break;
    case 'F': /* the first stream calls a function */
        call(run, XFT_EVENT_HOST_FUNCTION, FIRST, 0, CALL_NS);
        break;
    case 'R': /* the event is recorded behind the first stream's work; 'V' the second waits for it
               */
        call(run, XFT_EVENT_RECORD, FIRST, 0, CALL_NS);
        run->recorded = run->busy_until[FIRST];
        break;
    case 'V':
        call(run, XFT_EVENT_WAIT, SECOND, 0, CALL_NS);
        run->busy_until[SECOND] = later_of(run->busy_until[SECOND], run->recorded);
        break;
    default: /* 'D', 'L' wait for the device */
        wait_for(run, what == 'D' ? WAIT : LAST);
    }
}

/* buffers: that the steps use by turns. */
static struct analyzed answered(const char *step, unsigned buffers, const char *answer)
{
    struct run run = {0};
    struct xfp_profile *profile = measured_profile(0);
    const struct xft_event made = {
        .kind = XFT_EVENT_ALLOC, .dst = host, .bytes = MIB, .dst_mem = XFT_MEM_PINNED};
    const struct xft_event records = {.kind = XFT_EVENT_RECORDS,
                                      .aux = XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS};
    play_start(&run.play, &run.b, 1);
    play_site(&run.play, COPY, "fetch", 1);
    play_site(&run.play, WAIT, "await", 2);
    play_site(&run.play, LAST, "last", 3);
    build_text(&run.b, WRITES, "_Z5writePj");
    build_text(&run.b, READS, "_Z4readPKjPj");
    build_text(&run.b, PLAIN, "plain");
    for (unsigned i = 0; i < BUFFERS; i++) {
        build_arguments(&run.b, OF_FIRST + i, (uint64_t[]){MEMORY(i)}, 1);
        build_arguments(&run.b, OF_SECOND + i, (uint64_t[]){MEMORY(i), results}, 2);
        build_arguments(&run.b, OF_THIRD + i, (uint64_t[]){MEMORY(i), other}, 2);
    }
    build_arguments(&run.b, OF_OTHER, (uint64_t[]){other}, 1);
    build_arguments(&run.b, OF_HOST, (uint64_t[]){host}, 1);
    play_event(&run.play, records, 0);
    play_event(&run.play, made, 1000);
    for (unsigned i = 0; i < STEPS; i++) {
        run.buffer = i % buffers;
        for (const char *at = step; *at; at++)
            statement(&run, *at);
    }
    call(&run, XFT_EVENT_SYNC, FIRST, XFT_SYNC_CONTEXT,
         later_of(run.busy_until[FIRST], run.busy_until[SECOND]) + WAKE_NS - run.play.now);
    play_end(&run.play, XFT_STATE_CLOSED);
    return analyzed_answered(&run.b, profile, answer);
}

static struct analyzed played(const char *step, unsigned buffers)
{
    return answered(step, buffers, NULL);
}

static const struct xfa_finding *found(const struct analyzed *a)
{
    return analyzed_finding(a, XFA_FINDING_ORDER_WAIT, NULL);
}

/* Each kernel needs what the one before it did: one comes behind the other, and the host's waking
 * is no part of that any more. Both waits are for order, by the one buffer. */
static void test_saved(void **state)
{
    struct analyzed a = played("aDbL", 1);
    const struct xfa_finding *f = found(&a);
    const double most = 2.0 * STEPS * (WAKE_NS + LATENCY_NS + 2 * CALL_NS);
    (void)state;
    assert_non_null(f);
    assert_int_equal(f->site_count, 2);
    assert_in_range(f->transfers, 2 * STEPS - 2, 2 * STEPS);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_ORDER_BY_EVENT);
    assert_true(isnan(f->lost_ns) && f->assumed && !f->idle);
    assert_true(f->saving.likely > 0.9 * most && f->saving.likely <= most);
    assert_true(f->saving.low < 1);
    analyzed_free(&a);
}

/* By turns of two buffers the first stream's next kernel could run beside the second's. What the
 * last wait of a step is for is not known: at best only it goes. */
static void test_at_best(void **state)
{
    struct analyzed a = played("aDbL", 2);
    const struct xfa_finding *f = found(&a);
    const double beside = (STEPS - 2) * (double)KERNEL_NS;
    const double most = STEPS * (double)(WAKE_NS + LATENCY_NS + 2 * CALL_NS);
    (void)state;
    assert_non_null(f);
    assert_true(f->saving.likely > 0.9 * most && f->saving.likely <= most);
    assert_true(f->saving.high > f->saving.likely + beside);
    assert_true(f->saving.high <
                a.findings->whatif->span.alone_ns - STEPS * (double)KERNEL_NS + most);
    assert_non_null(f->at_best);
    analyzed_free(&a);
}

/* The host needs a function that the stream calls before: it waits for that, unless nobody does.
 * The function is taken to work until the wait returns: that stays. */
static void test_function(void **state)
{
    struct analyzed a = played("afFDb", 1);
    const struct xfa_finding *f = found(&a);
    (void)state;
    assert_non_null(f);
    assert_true(f->saving.likely < STEPS * (double)CALL_NS);
    assert_true(f->saving.high > 0.8 * STEPS * (LATENCY_NS + 2 * CALL_NS));
    analyzed_free(&a);
}

/* Two kernels that only read the same need no order: at best they run beside each other. */
static void test_only_read(void **state)
{
    struct analyzed a = played("aDbLrL", 1);
    const struct xfa_finding *f = found(&a);
    (void)state;
    assert_non_null(f);
    double high = f->saving.high - xfw_unsure_ns(a.findings->whatif, f->saving.likely);
    assert_true(high > 0.9 * STEPS * (KERNEL_NS + 2.0 * WAKE_NS));
    analyzed_free(&a);
}

struct left {
    const char *step, *why;
};

/* Steps of which nothing is said: no finding, or a question that is not asked. */
static void check_left(const struct left *steps, size_t count, unsigned buffers,
                       const struct xfa_finding *(*find)(const struct analyzed *a))
{
    for (size_t i = 0; i < count; i++) {
        struct analyzed a = played(steps[i].step, buffers);
        const struct xfa_finding *f = find(&a);
        if (f && (!f->question || f->asked))
            fail_msg("%s: %s", steps[i].step, steps[i].why);
        analyzed_free(&a);
    }
}

static void test_left(void **state)
{
    static const struct left steps[] = {
        {"aDc", "the streams have no memory in common"},
        {"pDq", "it is not known whether either kernel writes"},
        {"aRVDb", "the second stream waits for the first already"},
        {"afDbL", "the host may read what was fetched"},
        {"ahDbL", "the kernel writes memory of the host"},
        {"aDa", "one stream alone"},
    };
    (void)state;
    check_left(steps, sizeof steps / sizeof *steps, BUFFERS, found);
}

static const struct xfa_finding *unneeded(const struct analyzed *a)
{
    return analyzed_finding(a, XFA_FINDING_UNNEEDED_WAIT, NULL);
}

/* Each kernel of the one stream is behind the one before without a wait: at best the host's waking,
 * and the launch that follows it, is no part of the run. */
static void test_unneeded(void **state)
{
    const double most = (2.0 * STEPS - 1) * (WAKE_NS + LATENCY_NS + 2 * CALL_NS);
    struct analyzed a = played("aDrD", 1);
    const struct xfa_finding *f = unneeded(&a);
    (void)state;
    assert_non_null(f);
    assert_true(f->asked && f->question && f->idle && isnan(f->lost_ns));
    assert_int_equal(f->site_count, 1);
    assert_in_range(f->transfers, 2 * STEPS - 2, 2 * STEPS);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_LEAVE_WAIT_OUT);
    assert_true(f->saving.likely < 1 && f->saving.low < 1);
    assert_true(f->saving.high > 0.9 * most && f->saving.high < 1.1 * most);
    analyzed_free(&a);
    a = answered("aDrD", 1, "unneeded-wait=yes");
    f = unneeded(&a);
    assert_true(f && !f->asked && f->order == 1);
    assert_true(f->saving.likely > 0.9 * most && f->saving.likely < 1.1 * most);
    analyzed_free(&a);
}

static void test_needed(void **state)
{
    static const struct left steps[] = {
        {"afD", "the host may read what was fetched"},
        {"ahD", "the kernel writes memory of the host"},
        {"aFD", "a function of the host is behind it"},
        {"aDbL", "they order two streams"},
        {"aDaDb", "half of them do"},
    };
    (void)state;
    check_left(steps, sizeof steps / sizeof *steps, 1, unneeded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_saved),    cmocka_unit_test(test_at_best),
        cmocka_unit_test(test_function), cmocka_unit_test(test_only_read),
        cmocka_unit_test(test_left),     cmocka_unit_test(test_unneeded),
        cmocka_unit_test(test_needed),
    };
    return cmocka_run_group_tests_name("findings: waits for order", tests, NULL, NULL);
}
