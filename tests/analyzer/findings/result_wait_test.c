/* wait-beyond-result: which waits for a device or a stream it names, and what the run would save.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"

enum { COPY = 10, WAIT, STEPS = 20, CALL_NS = 1500, WAKE_NS = 2000, PAUSE_NS = 100 };
enum { COPIES, KERNELS, STREAMS };
enum { OF_DEVICE = 3, OF_HOST }; /* ids of arguments; 0: not known */

#define BYTES (1 * MIB)
#define COPY_NS 50000
#define KERNEL_NS 300000
#define OWN_NS 200000

static const uint64_t host_memory = 0x7f4000000000, fetched = 0x7f5000000000,
                      computed = 0x7f0000000000;

struct run {
    struct trace_builder b;
    struct play play;
    uint64_t busy_until[STREAMS], recorded; /* recorded: what the event is behind */
    uint32_t launches;
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
    event->stack = kind == XFT_EVENT_SYNC ? WAIT : 0;
    return event;
}

/* An asynchronous copy of page-locked memory, and its record. */
static void copy(struct run *run, enum xft_direction direction, uint64_t memory)
{
    bool up = direction == XFT_DIR_H2D;
    struct xft_event *event = play_stream_copy(&run->play, COPY, direction, BYTES, COPIES);
    event->src = up ? host_memory : memory;
    event->dst = up ? memory : host_memory;
    play_device_copy_behind(&run->play, event, COPY_NS, &run->busy_until[COPIES]);
}

/* A kernel and its record. */
static void launch(struct run *run, int stream, unsigned arguments)
{
    struct xft_event *event = call(run, XFT_EVENT_LAUNCH, stream, arguments, CALL_NS);
    event->src = 0;
    event->correlation = 100000 + ++run->launches;
    uint64_t start = later_of(run->busy_until[stream], event->start_ns + 3000), now = run->play.now;
    run->play.lane = LANE_OTHER;
    run->play.now = start;
    const struct xft_event ran = {.kind = XFT_EVENT_KERNEL, .correlation = 100000 + run->launches};
    run->busy_until[stream] = play_event(&run->play, ran, KERNEL_NS)->end_ns;
    run->play.lane = LANE_MAIN;
    run->play.now = now;
}

static void wait_for(struct run *run, unsigned what)
{
    uint64_t done = what == XFT_SYNC_STREAM ? run->busy_until[COPIES]
                    : what == XFT_SYNC_EVENT
                        ? run->recorded
                        : later_of(run->busy_until[COPIES], run->busy_until[KERNELS]);
    call(run, XFT_EVENT_SYNC, COPIES, what, play_wait_ns(&run->play, done, WAKE_NS));
}

/* One letter of a step. */
static void statement(struct run *run, char what)
{
    switch (what) {
    case 'o': /* own work of the thread */
        run->play.now += OWN_NS;
        break;
    case 'c': /* copy to the device; 'f' to the host; 'x' to the host, of what kernels are given */
        copy(run, XFT_DIR_H2D, fetched);
        break;
    case 'f':
    case 'x':
        copy(run, XFT_DIR_D2H, what == 'f' ? fetched : computed);
        break;
    case 'k': /* a kernel; 'h' of memory of the host, 'u' of what is not known */
    case 'h':
    case 'u':
        launch(run, KERNELS, what == 'k' ? OF_DEVICE : what == 'h' ? OF_HOST : 0);
        break;
    case 'b': /* a kernel behind the copies */
        launch(run, COPIES, OF_DEVICE);
        break;
    case 'R': /* the event is recorded behind the kernels, 'r' the copies; 'V' these wait for it */
    case 'r': {
        int stream = what == 'R' ? KERNELS : COPIES;
        call(run, XFT_EVENT_RECORD, stream, 0, CALL_NS);
        run->recorded = run->busy_until[stream];
        break;
    }
    case 'V':
        call(run, XFT_EVENT_WAIT, COPIES, 0, CALL_NS);
        run->busy_until[COPIES] = later_of(run->busy_until[COPIES], run->recorded);
        break;
    default: /* 'D' wait for the device, 'S' for the copies' stream, 'E' for the event */
        wait_for(run, what == 'D'   ? XFT_SYNC_CONTEXT
                      : what == 'S' ? XFT_SYNC_STREAM
                                    : XFT_SYNC_EVENT);
    }
}

static struct analyzed played(const char *step)
{
    struct run run = {0};
    struct xfp_profile *profile = measured_profile(0);
    const struct xft_event made = {
        .kind = XFT_EVENT_ALLOC, .dst = host_memory, .bytes = BYTES, .dst_mem = XFT_MEM_PINNED};
    const struct xft_event records = {.kind = XFT_EVENT_RECORDS,
                                      .aux = XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS};
    play_start(&run.play, &run.b, 1);
    play_site(&run.play, COPY, "fetch", 1);
    play_site(&run.play, WAIT, "await", 2);
    build_arguments(&run.b, OF_DEVICE, (uint64_t[]){computed}, 1);
    build_arguments(&run.b, OF_HOST, (uint64_t[]){computed, host_memory + 64}, 2);
    play_event(&run.play, records, 0);
    play_event(&run.play, made, 1000);
    for (int i = 0; i < STEPS; i++)
        for (const char *at = step; *at; at++)
            statement(&run, *at);
    wait_for(&run, XFT_SYNC_CONTEXT);
    play_end(&run.play, XFT_STATE_CLOSED);
    return analyzed_played(&run.b, profile);
}

/* The host waits for the kernel in the other stream, and works behind that: with the event it works
 * while the kernel runs, and waits for that in the end. */
static void test_saved(void **state)
{
    struct analyzed a = played("fkDo");
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_RESULT_WAIT, "await");
    (void)state;
    assert_non_null(f);
    assert_int_equal(f->transfers, STEPS);
    assert_int_equal(f->bytes, STEPS * BYTES);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_WAIT_FOR_RESULT);
    assert_true(isnan(f->lost_ns));
    assert_non_null(f->assumed);
    /* What a step waits for the kernel and the host works goes on at the same time. */
    assert_in_range((uint64_t)f->saving.likely, (STEPS - 2) * (OWN_NS - 10000),
                    STEPS * (OWN_NS + 10000));
    assert_true(f->saving.low < 1 && f->saving.high >= f->saving.likely); /* at worst nothing */
    analyzed_free(&a);
}

/* The same with an event behind the kernel, in the stream of the copy: it is recorded earlier. */
static void test_event_saved(void **state)
{
    struct analyzed a = played("cbrEo");
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_RESULT_WAIT, "await");
    (void)state;
    assert_non_null(f);
    assert_int_equal(f->transfers, STEPS);
    assert_in_range((uint64_t)f->saving.likely, (STEPS - 2) * (OWN_NS - 10000),
                    STEPS * (OWN_NS + 10000));
    assert_true(f->saving.low < 1 && f->saving.high >= f->saving.likely);
    analyzed_free(&a);
}

/* The kernels come one behind the other with or without the wait, and the host does nothing. */
static void test_nothing_saved(void **state)
{
    struct analyzed a = played("kRVxkD");
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_RESULT_WAIT, "await");
    (void)state;
    assert_true(!f || f->saving.likely < STEPS * (double)(WAKE_NS + 10 * CALL_NS));
    analyzed_free(&a);
}

struct step {
    const char *step, *why;
};

static void assert_found(const struct step *steps, size_t count, bool found)
{
    for (size_t i = 0; i < count; i++) {
        struct analyzed a = played(steps[i].step);
        if ((analyzed_finding(&a, XFA_FINDING_RESULT_WAIT, NULL) != NULL) != found)
            fail_msg("%s: %s", steps[i].step, steps[i].why);
        analyzed_free(&a);
    }
}

static void test_found(void **state)
{
    const struct step steps[] = {
        {"fkDo", "the kernel in the other stream is not waited for"},
        {"fbSo", "nor is the one behind the copy in its own"},
        {"cbSo", "the host may fill the memory again behind the copy"},
        {"cbrEo", "so it may where it waits for an event behind the kernel"},
        {"cbrbEo", "whatever the stream is given behind the event"},
        {"cbrcEo", "so it does not wait for that"},
        {"fkRDoEVx", "what is fetched of the kernel's memory waits for the event"},
        {"kRVxkDo", "so does the copy: of the kernel behind nothing is needed"},
    };
    (void)state;
    assert_found(steps, sizeof steps / sizeof *steps, true);
}

static void test_left(void **state)
{
    const struct step steps[] = {
        {"kDo", "nothing is known that the host needs"},
        {"bfSo", "the copy is the last"},
        {"bcrEo", "it is the last before the event"},
        {"fkRVrEo", "the stream stands for the other, which it waits for before the event"},
        {"fhDo", "the kernel may write memory of the host"},
        {"fuDo", "it is not known what the kernel is given"},
        {"kfDox", "the wait orders the kernel and the copy of what it writes"},
        {"fkRVSo", "the stream stands for the other, which it waits for"},
        {"fkRVbSo", "so it does where it has work behind that"},
    };
    (void)state;
    assert_found(steps, sizeof steps / sizeof *steps, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_saved),         cmocka_unit_test(test_event_saved),
        cmocka_unit_test(test_nothing_saved), cmocka_unit_test(test_found),
        cmocka_unit_test(test_left),
    };
    return cmocka_run_group_tests_name("findings: waits beyond the result", tests, NULL, NULL);
}
