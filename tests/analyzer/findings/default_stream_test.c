/* default-stream-serialization: which work of the default stream it names, and what the run would
 * save. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/team.h"
#include "analyzer/findings/default_stream.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"

enum { COPY = 10, CLEAR, STEPS = 20, SLOTS = 2, CALL_NS = 1500, ARGUMENTS = 3, NAME = 9 };
enum { PIECE_NS = 300000, CLEAR_NS = 2000 }; /* on the device: a copy, a kernel; a memset */

#define BYTES (4 * MIB)
#define FLAGS 0x100000000u

/* Steps on two streams by turns: a memset, a copy, a kernel, and a wait for the stream's step
 * before. All was recorded one behind the other. */
struct steps {
    bool nonblocking; /* the two streams */
    bool per_thread;  /* the memset's default stream is the thread's */
    bool elsewhere;   /* the memset is in the step's stream */
    bool used;        /* the memset clears what the kernel is given */
    unsigned few;     /* memsets in all; 0: one in each step */
};

struct run {
    struct trace_builder b;
    struct play play;
    uint64_t busy_until; /* the device */
    uint64_t done[SLOTS];
    uint32_t correlation;
};

static uint64_t handle_of(unsigned slot)
{
    return 0x5000 + 0x100 * slot;
}

static uint64_t memory_of(unsigned slot)
{
    return 0x7f0000000000 + slot * 1024 * MIB;
}

/* Work behind all before, that a record tells of. */
static void ran(struct run *run, const struct xft_event *call, enum xft_event_kind kind,
                uint64_t ns)
{
    struct xft_event record = *call;
    uint64_t now = run->play.now, ready = call->start_ns + CALL_NS;
    record.kind = (uint8_t)kind;
    record.stack = record.call = record.flags = 0;
    run->play.lane = LANE_DEVICE;
    run->play.now = run->busy_until > ready ? run->busy_until : ready;
    run->busy_until = play_event(&run->play, record, ns)->end_ns;
    run->play.lane = LANE_MAIN;
    run->play.now = now;
}

static void copy(struct run *run, unsigned slot)
{
    struct xft_event *event = play_async(&run->play, COPY, XFT_DIR_H2D, XFT_MEM_PINNED, BYTES, 0);
    event->device = event->dst_place = 0;
    event->flags |= XFT_STREAM_KNOWN;
    event->stream = handle_of(slot);
    event->src = memory_of(slot) + 512 * MIB;
    event->dst = memory_of(slot);
    event->correlation = ++run->correlation;
    ran(run, event, XFT_EVENT_DEVICE_COPY, PIECE_NS);
}

static void clear(struct run *run, const struct steps *steps, unsigned slot)
{
    struct xft_event event = {.kind = XFT_EVENT_SET,
                              .stack = CLEAR,
                              .dst = steps->used ? memory_of(slot) : FLAGS + 4096 * slot,
                              .bytes = 4096,
                              .correlation = ++run->correlation};
    if (steps->elsewhere) {
        event.flags = XFT_STREAM_KNOWN;
        event.stream = handle_of(slot);
    } else if (steps->per_thread) {
        event.flags = XFT_PER_THREAD;
    }
    ran(run, play_event(&run->play, event, CALL_NS), XFT_EVENT_MEMSET, CLEAR_NS);
}

static void kernel(struct run *run, unsigned slot)
{
    const struct xft_event event = {.kind = XFT_EVENT_LAUNCH,
                                    .flags = XFT_STREAM_KNOWN,
                                    .stream = handle_of(slot),
                                    .aux = ARGUMENTS + slot,
                                    .correlation = ++run->correlation};
    ran(run, play_event(&run->play, event, CALL_NS), XFT_EVENT_KERNEL, PIECE_NS);
    run->done[slot] = run->busy_until;
}

static void await(struct run *run, unsigned slot)
{
    const struct xft_event event = {.kind = XFT_EVENT_SYNC,
                                    .aux = XFT_SYNC_STREAM,
                                    .flags = XFT_STREAM_KNOWN,
                                    .stream = handle_of(slot)};
    uint64_t now = run->play.now, done = run->done[slot];
    play_event(&run->play, event, (done > now ? done - now : 0) + CALL_NS);
}

static struct analyzed played(const struct steps *steps)
{
    struct run run = {.correlation = 1000};
    struct xfp_profile *profile = measured_profile(MEASURED_ALL);
    const struct xft_event records = {.kind = XFT_EVENT_RECORDS,
                                      .aux = XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS};
    play_start(&run.play, &run.b, 1);
    play_site(&run.play, COPY, "feed", 1);
    play_site(&run.play, CLEAR, "clear", 2);
    play_event(&run.play, records, 0);
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        const struct xft_event made = {.kind = XFT_EVENT_STREAM,
                                       .stream = handle_of(slot),
                                       .aux = steps->nonblocking ? XFT_STREAM_NONBLOCKING : 0};
        build_arguments(&run.b, ARGUMENTS + slot, (uint64_t[]){memory_of(slot)}, 1);
        play_event(&run.play, made, CALL_NS);
    }
    for (unsigned i = 0; i < STEPS; i++) {
        await(&run, i % SLOTS);
        if (!steps->few || i < steps->few)
            clear(&run, steps, i % SLOTS);
        copy(&run, i % SLOTS);
        kernel(&run, i % SLOTS);
    }
    for (unsigned slot = 0; slot < SLOTS; slot++)
        await(&run, slot);
    play_end(&run.play, XFT_STATE_CLOSED);
    return analyzed_played(&run.b, profile);
}

static double saving_of(struct steps steps)
{
    struct analyzed a = played(&steps);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_DEFAULT_STREAM, "clear");
    double likely = f ? f->saving.likely : NAN;
    if (f) {
        assert_int_equal(f->transfers, steps.few ? steps.few : STEPS);
        assert_int_equal(f->remedy.kind, XFA_REMEDY_OWN_STREAM);
        assert_non_null(f->assumed);
    }
    analyzed_free(&a);
    return likely;
}

/* Copies run beside the kernels of the step before: of each step the kernel is left, all but once.
 */
static void test_saving(void **state)
{
    double saved = saving_of((struct steps){0}), copies = (STEPS - 1) * (double)PIECE_NS;
    assert_true(fabs(saved - copies) < 0.1 * copies);
}

/* The memset of what the kernel is given comes behind the copy to it, and before the kernel: that
 * is the order of one stream, and other streams' work need not wait. */
static void test_memory_in_common(void **state)
{
    double saved = saving_of((struct steps){.used = true}), copies = (STEPS - 1) * (double)PIECE_NS;
    assert_true(saved > 0.8 * copies && saved < 1.1 * copies);
}

static void test_not_found(void **state)
{
    assert_false(isnan(saving_of((struct steps){0})));
    assert_true(isnan(saving_of((struct steps){.nonblocking = true})));
    assert_true(isnan(saving_of((struct steps){.per_thread = true})));
    assert_true(isnan(saving_of((struct steps){.elsewhere = true})));
    assert_true(isnan(saving_of((struct steps){.few = 3})));
}

/* What members of a team give comes from another process. */
static bool is_apart_by_others(const void *sums, const struct analyzed *a, size_t *readers)
{
    void *other = calloc(1, xfa_kind_default_stream.self_bytes);
    struct xfa_parcel parcel = {0};
    (void)xfa_kind_default_stream.observe(other);
    xfa_kind_default_stream.give(sums, &parcel);
    struct xfa_unpacking from = xfa_unpack(&parcel);
    xfa_kind_default_stream.take(other, a->analysis, &from);
    assert_false(from.bad);
    bool apart = xfa_default_stream_threads_apart(other);
    (void)xfa_default_stream_readers(other, readers);
    xfa_kind_default_stream.free(other);
    xfa_parcel_free(&parcel);
    free(other);
    return apart;
}

/* Are threads apart, with those kernels that are said to read only? The same for members of a team.
 */
static bool is_apart(const struct analyzed *a, size_t readers)
{
    const void *sums = a->findings->selves[XFA_FINDING_DEFAULT_STREAM];
    size_t count = 0, given = 0;
    bool apart = xfa_default_stream_threads_apart(sums);
    const struct xfa_stream_reader *found = xfa_default_stream_readers(sums, &count);
    assert_int_equal(count, readers);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(found[i].arguments, 2);
    assert_int_equal(is_apart_by_others(sums, a, &given), apart);
    assert_int_equal(given, readers);
    return apart;
}

/* Two threads by turns, each with a kernel in the default stream, which it waits for: all behind
 * each other, though each uses memory of its own, or the same. */
static const char *kernel_name; /* of these; NULL: not known */
static bool threads_are_apart;

static double saving_of_threads(bool shared)
{
    struct run run = {.correlation = 1000};
    struct xfp_profile *profile = measured_profile(MEASURED_ALL);
    play_start(&run.play, &run.b, 1);
    play_site(&run.play, CLEAR, "clear", 2);
    play_event(&run.play, (struct xft_event){.kind = XFT_EVENT_RECORDS, .aux = XFT_RECORDS_KERNELS},
               0);
    for (unsigned i = 0; i < SLOTS; i++)
        build_arguments(&run.b, ARGUMENTS + i,
                        (uint64_t[]){memory_of(shared && !kernel_name ? 0 : i), memory_of(7)},
                        kernel_name ? 2 : 1);
    if (kernel_name)
        build_text(&run.b, NAME, kernel_name);
    uint64_t free_at[SLOTS] = {run.play.now, run.play.now};
    for (unsigned i = 0; i < STEPS; i++) {
        unsigned lane = i % 2 ? LANE_OTHER : LANE_MAIN;
        struct xft_event event = {.kind = XFT_EVENT_LAUNCH,
                                  .stack = CLEAR,
                                  .aux = ARGUMENTS + i % 2,
                                  .src = kernel_name ? NAME : 0,
                                  .correlation = ++run.correlation};
        run.play.lane = lane;
        run.play.now = free_at[i % 2] + 10 * i; /* one behind the other, as they are played */
        struct xft_event call = *play_event(&run.play, event, CALL_NS);
        uint64_t after = run.play.now;
        ran(&run, &call, XFT_EVENT_KERNEL, PIECE_NS);
        run.play.lane = lane;
        run.play.now = after;
        play_event(&run.play, (struct xft_event){.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_STREAM},
                   run.busy_until - after + CALL_NS);
        free_at[i % 2] = run.play.now;
    }
    run.play.lane = LANE_MAIN;
    play_end(&run.play, XFT_STATE_CLOSED);
    struct analyzed a = analyzed_weighed(&run.b, profile);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_DEFAULT_STREAM, "clear");
    double likely = f ? f->saving.likely : NAN;
    threads_are_apart =
        is_apart(&a, kernel_name && strcmp(kernel_name, "_Z4readPfPKf") == 0 ? 1 : 0);
    if (f)
        assert_int_equal(f->remedy.kind, XFA_REMEDY_STREAM_PER_THREAD);
    build_free(&run.b);
    a.analysis->profile = NULL;
    xfp_free(profile);
    analyzed_free(&a);
    return likely;
}

static void test_threads(void **state)
{
    const double half = STEPS / 2 * (double)PIECE_NS;
    double apart = saving_of_threads(false), shared = saving_of_threads(true);
    (void)state;
    assert_true(apart > 0.8 * half && apart < 1.1 * half);
    assert_true(isnan(shared) || shared < 0.2 * half);
}

/* Memory of both that kernels only read, by their names. */
static void test_read_by_threads(void **state)
{
    (void)state;
    (void)saving_of_threads(false);
    assert_true(threads_are_apart);
    (void)saving_of_threads(true);
    assert_false(threads_are_apart);
    kernel_name = "_Z4readPfPKf";
    (void)saving_of_threads(true);
    assert_true(threads_are_apart);
    kernel_name = "_Z5writePfS_";
    (void)saving_of_threads(true);
    assert_false(threads_are_apart);
    kernel_name = "read";
    (void)saving_of_threads(true);
    assert_false(threads_are_apart);
    kernel_name = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_saving),          cmocka_unit_test(test_memory_in_common),
        cmocka_unit_test(test_not_found),       cmocka_unit_test(test_threads),
        cmocka_unit_test(test_read_by_threads),
    };
    return cmocka_run_group_tests_name("findings: the default stream", tests, NULL, NULL);
}
