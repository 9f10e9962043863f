/* overbroad-wait: which waits for a device it names, and what the run would save. */
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
enum { SLOTS = 2, THIRD = SLOTS, STREAMS };

#define BYTES (4 * MIB)
#define DEVICE_NS 300000
#define OWN_NS 500000

struct run {
    struct trace_builder b;
    struct play play;
    uint64_t busy_until; /* the device */
};

static uint64_t memory_of(int stream)
{
    return 0x7f0000000000 + (uint64_t)stream * 1024 * MIB;
}

static struct xft_event *call(struct run *run, enum xft_event_kind kind, int stream, unsigned aux)
{
    struct xft_event *event = play_in_stream(&run->play, kind, (unsigned)stream, CALL_NS);
    event->aux = aux;
    event->src = event->stream; /* the event's handle */
    return event;
}

/* An asynchronous copy in the stream, of the memory of another, or of its own. */
static void copy(struct run *run, enum xft_direction direction, int stream, int memory)
{
    struct xft_event *event =
        play_stream_copy(&run->play, COPY, direction, BYTES, (unsigned)stream);
    play_device_copy(&run->play, event, DEVICE_NS);
    event->src = memory_of(memory);
    event->dst = memory_of(memory) + 512 * MIB;
    run->busy_until = event->start_ns + 500 + DEVICE_NS;
}

static void wait_for_device(struct run *run)
{
    const struct xft_event event = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT, .stack = WAIT};
    play_event(&run->play, event, play_wait_ns(&run->play, run->busy_until, WAKE_NS));
}

static void in_other_thread(struct run *run, int stream)
{
    run->play.lane = LANE_OTHER;
    call(run, XFT_EVENT_SYNC, stream, XFT_SYNC_STREAM);
    run->play.lane = LANE_MAIN;
}

/* One letter of a step, which has a stream (of two, in turns) and another one beside these. */
static void statement(struct run *run, char what, int slot)
{
    switch (what) {
    case 'o': /* own work of the thread */
        run->play.now += OWN_NS;
        break;
    case 'c': /* copy to the device; 'f' to the host; 'k' a kernel, 'n' in no stream */
    case 'f':
        copy(run, what == 'c' ? XFT_DIR_H2D : XFT_DIR_D2H, slot, slot);
        break;
    case 'k':
        call(run, XFT_EVENT_LAUNCH, slot, 0)->src = 0;
        break;
    case 'n':
        call(run, XFT_EVENT_LAUNCH, slot, 0)->flags = 0;
        break;
    case 'x': /* the third stream: the same memory; 'y' other memory */
    case 'y':
        copy(run, XFT_DIR_H2D, THIRD, what == 'x' ? slot : THIRD);
        break;
    case 'V': /* the third stream waits for the event */
        call(run, XFT_EVENT_WAIT, slot, 0)->stream = play_stream(THIRD);
        break;
    case 'R': /* the event is recorded; 'Y' waited for */
        call(run, XFT_EVENT_RECORD, slot, 0);
        break;
    case 'Y':
        call(run, XFT_EVENT_SYNC, slot, XFT_SYNC_EVENT);
        break;
    case 'W': /* wait for the stream; 'X' for the third; 'Q' asked; 'T' in another thread */
        call(run, XFT_EVENT_SYNC, slot, XFT_SYNC_STREAM);
        break;
    case 'X':
        call(run, XFT_EVENT_SYNC, THIRD, XFT_SYNC_STREAM);
        break;
    case 'Q':
        call(run, XFT_EVENT_QUERY, slot, XFT_SYNC_STREAM);
        break;
    case 'T':
        in_other_thread(run, slot);
        break;
    default:
        wait_for_device(run);
    }
}

static struct analyzed played(const char *step)
{
    struct run run = {0};
    struct xfp_profile *profile = measured_profile(0);
    play_start(&run.play, &run.b, 1);
    play_site(&run.play, COPY, "feed", 1);
    play_site(&run.play, WAIT, "await", 2);
    for (int i = 0; i < STEPS; i++)
        for (const char *at = step; *at; at++)
            statement(&run, *at, i % SLOTS);
    for (int stream = 0; stream < STREAMS; stream++)
        call(&run, XFT_EVENT_SYNC, stream, XFT_SYNC_STREAM);
    play_end(&run.play, XFT_STATE_CLOSED);
    return analyzed_played(&run.b, profile);
}

/* The copies take less than the own work of the next step: of a wait nothing is left. */
static void test_saved(void **state)
{
    struct analyzed a = played("WocD");
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_OVERBROAD_WAIT, "await");
    (void)state;
    assert_non_null(f);
    assert_int_equal(f->transfers, STEPS);
    assert_int_equal(f->bytes, STEPS * BYTES);
    assert_int_equal(f->site_count, 1);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_WAIT_NARROWLY);
    assert_true(isnan(f->lost_ns));
    assert_non_null(f->assumed);
    double waited = 500 + DEVICE_NS + WAKE_NS - CALL_NS - PAUSE_NS;
    assert_true(f->saving.likely > (STEPS - 1) * (waited - 2 * WAKE_NS));
    assert_true(f->saving.likely <= STEPS * waited);
    assert_true(f->saving.low < 1 && f->saving.high >= f->saving.likely); /* at worst nothing */
    analyzed_free(&a);
}

struct step {
    const char *step, *why;
};

static void assert_found(const struct step *steps, size_t count, bool found)
{
    for (size_t i = 0; i < count; i++) {
        struct analyzed a = played(steps[i].step);
        if ((analyzed_finding(&a, XFA_FINDING_OVERBROAD_WAIT, NULL) != NULL) != found)
            fail_msg("%s: %s", steps[i].step, steps[i].why);
        analyzed_free(&a);
    }
}

static void test_found(void **state)
{
    const struct step steps[] = {
        {"WcD", "each stream is waited for before it is given more"},
        {"YckRD", "so is an event behind its work"},
        {"cRDVyX", "so is a stream that waits for that event"},
        {"WcDyX", "the third stream has memory of its own"},
        {"WcRDVxX", "the third stream waits for what used the memory"},
        {"WofD", "there is no time to read what was fetched"},
    };
    (void)state;
    assert_found(steps, sizeof steps / sizeof *steps, true);
}

static void test_left(void **state)
{
    const struct step steps[] = {
        {"cD", "the streams are never waited for"},
        {"WcDk", "the stream is given more before it is waited for"},
        {"YRcD", "the event is not behind the work"},
        {"WcnD", "one of the streams is not waited for"},
        {"TcD", "another thread waits"},
        {"QcD", "the stream is asked, not waited for"},
        {"cWD", "nothing is in flight"},
        {"WcDxX", "the wait orders two streams that use the same memory"},
        {"WfDo", "there is time to read what was fetched"},
    };
    (void)state;
    assert_found(steps, sizeof steps / sizeof *steps, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_saved),
        cmocka_unit_test(test_found),
        cmocka_unit_test(test_left),
    };
    return cmocka_run_group_tests_name("findings: overbroad waits", tests, NULL, NULL);
}
