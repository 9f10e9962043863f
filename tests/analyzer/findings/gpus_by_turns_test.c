/* gpus-by-turns: of which threads it is said, what the run would save, and what it asks. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"

enum {
    SEND = 10,
    FETCH,
    WAIT,
    NAME = 9,
    ARGUMENTS = 3,
    GPUS = 2,
    ROUNDS = 20,
    WORK_NS = 200000, /* of the host, before each copy */
    CALL_NS = 1500,
    COPY_NS = 20000,
    KERNEL_NS = 30000,
    BYTES = 64 * 1024
};

#define BUFFERS 0x7f1000000000ull /* on devices */
#define SENT 0x7f2000000000ull    /* the host's */
#define FETCHED 0x7f3000000000ull

struct steps {
    unsigned rounds, block; /* block: so many of one GPU, one after the other; 0: one */
    uint64_t work_ns;
    bool fetches; /* what the kernel has made, and waits for it */
    bool looks;   /* then the host works on it before it asks the same GPU again */
    bool one_gpu, a_thread_each, one_buffer, chain, events;
    bool swaps;  /* all GPUs are sent what all have made in the round before */
    bool keeps;  /* then, into the memory that all are sent in this round */
    bool pinned; /* then, and of memory that is read later than its copy's call returns */
    const char *assume;
};

static const struct steps in_turn = {.rounds = ROUNDS, .work_ns = WORK_NS};

struct run {
    struct trace_builder b;
    struct play play;
    const struct steps *steps;
    uint64_t busy_until[GPUS];
    uint32_t correlation;
    unsigned round;
};

static unsigned gpu_of(const struct run *run, unsigned turn)
{
    return run->steps->one_gpu ? 0 : turn;
}

/* In the stream of that turn. */
static struct xft_event in_stream(const struct run *run, enum xft_event_kind kind, unsigned turn)
{
    return (struct xft_event){.kind = (uint8_t)kind,
                              .device = (int16_t)gpu_of(run, turn),
                              .flags = XFT_STREAM_KNOWN,
                              .stream = play_stream(1 + turn)};
}

/* Of the last call: as soon as its GPU is idle. */
static void ran(struct run *run, const struct xft_event *call, enum xft_event_kind kind,
                uint64_t ns)
{
    uint64_t now = run->play.now, ready = call->end_ns + 1000;
    uint64_t *busy_until = &run->busy_until[call->device];
    unsigned lane = run->play.lane;
    struct xft_event record = *call;
    record.kind = (uint8_t)kind;
    record.stack = record.call = record.flags = 0;
    run->play.lane = LANE_DEVICE;
    run->play.now = *busy_until > ready ? *busy_until : ready;
    *busy_until = play_event(&run->play, record, ns)->end_ns;
    run->play.lane = lane;
    run->play.now = now;
}

static void copy(struct run *run, unsigned turn, enum xft_direction direction)
{
    const bool up = direction == XFT_DIR_H2D;
    const struct xft_event like = in_stream(run, XFT_EVENT_TRANSFER, turn);
    const uint64_t of_host = run->steps->one_buffer ? 0 : turn * MIB;
    const unsigned memory =
        up && run->steps->swaps && !run->steps->pinned ? XFT_MEM_PAGEABLE : XFT_MEM_PINNED;
    struct xft_event *event =
        play_async(&run->play, up ? SEND : FETCH, direction, memory, BYTES, 0);
    event->device = like.device;
    *(up ? &event->dst_place : &event->src_place) = like.device;
    event->flags |= like.flags;
    event->stream = like.stream;
    event->src = up ? SENT + of_host : BUFFERS + turn * MIB;
    event->dst = up ? BUFFERS + turn * MIB : FETCHED + of_host;
    if (run->steps->swaps) {
        const bool second = run->steps->keeps ? false : (run->round + !up) % 2;
        const uint64_t place = SENT + second * MIB;
        *(up ? &event->src : &event->dst) = place + (up ? 0 : turn * (BYTES / GPUS));
    }
    event->correlation = ++run->correlation;
    ran(run, event, XFT_EVENT_DEVICE_COPY, COPY_NS);
}

static void launch(struct run *run, unsigned turn)
{
    struct xft_event event = in_stream(run, XFT_EVENT_LAUNCH, turn);
    event.src = NAME;
    event.aux = ARGUMENTS + turn;
    event.correlation = ++run->correlation;
    ran(run, play_event(&run->play, event, CALL_NS), XFT_EVENT_KERNEL, KERNEL_NS);
}

static void wait(struct run *run, unsigned turn)
{
    struct xft_event event = in_stream(run, XFT_EVENT_SYNC, turn);
    const uint64_t done = run->busy_until[event.device];
    event.aux = XFT_SYNC_STREAM;
    event.stack = WAIT;
    play_event(&run->play, event, play_wait_ns(&run->play, done, CALL_NS));
}

/* Each one's stream waits for what the other one's has done. */
static void order(struct run *run, unsigned turn)
{
    struct xft_event wait = in_stream(run, XFT_EVENT_WAIT, turn);
    struct xft_event record = in_stream(run, XFT_EVENT_RECORD, turn);
    wait.aux = record.aux = XFT_SYNC_EVENT;
    wait.src = 0x70 + !turn;
    record.src = 0x70 + turn;
    play_event(&run->play, wait, CALL_NS);
    play_event(&run->play, record, CALL_NS);
}

static void serve(struct run *run, unsigned turn)
{
    run->play.lane = run->steps->a_thread_each && turn > 0 ? LANE_OTHER : LANE_MAIN;
    run->play.now += run->steps->work_ns;
    copy(run, turn, XFT_DIR_H2D);
    if (run->steps->events)
        order(run, turn);
    launch(run, turn);
    if (!run->steps->fetches)
        return;
    copy(run, turn, XFT_DIR_D2H);
    wait(run, turn);
    if (!run->steps->looks)
        return;
    run->play.now += run->steps->work_ns;
    wait(run, turn);
}

static struct analyzed played(const struct steps *steps)
{
    struct run run = {.steps = steps, .correlation = 1000};
    struct xfp_profile *profile = measured_profile(MEASURED_ALL);
    const struct xft_event records = {.kind = XFT_EVENT_RECORDS,
                                      .aux = XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS};
    play_start(&run.play, &run.b, 1);
    play_site(&run.play, SEND, "serve", 1);
    play_site(&run.play, FETCH, "serve", 2);
    play_site(&run.play, WAIT, "serve", 3);
    build_text(&run.b, NAME, "_Z4workPfS_");
    for (unsigned i = 0; i < GPUS; i++) {
        uint64_t in = BUFFERS + i * MIB, out = BUFFERS + (16 + (steps->chain ? 0 : i)) * MIB;
        build_arguments(&run.b, ARGUMENTS + i, (uint64_t[]){in, out}, 2);
    }
    play_event(&run.play, records, 0);
    const unsigned block = steps->block ? steps->block : 1;
    for (unsigned i = 0; i < GPUS * steps->rounds; i++) {
        run.round = i / GPUS;
        serve(&run, i / block % GPUS);
    }
    run.play.lane = LANE_MAIN;
    for (unsigned turn = 0; turn < GPUS; turn++)
        wait(&run, turn);
    play_end(&run.play, XFT_STATE_CLOSED);
    return analyzed_answered(&run.b, profile, steps->assume);
}

static const struct xfa_finding *found(const struct analyzed *a)
{
    return analyzed_finding(a, XFA_FINDING_GPUS_BY_TURNS, NULL);
}

static bool asks_host_turns(const struct analyzed *a)
{
    for (size_t i = 0; i < a->findings->count; i++)
        if (a->findings->items[i].id == XFA_FINDING_HOST_TURNS && a->findings->items[i].asked)
            return true;
    return false;
}

/* Nothing comes back: what the host does for both GPUs it does at the same time. */
static void test_advised(void **state)
{
    (void)state;
    struct analyzed a = played(&in_turn);
    const struct xfa_finding *f = found(&a);
    const double half = ROUNDS * (double)WORK_NS;
    assert_non_null(f);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_GPU_THREADS);
    assert_true(!f->idle && f->order == 1 && isnan(f->lost_ns));
    assert_true(f->saving.low < 1);
    assert_true(f->saving.likely > 0.9 * half && f->saving.likely < 1.05 * half);
    assert_false(asks_host_turns(&a)); /* the same time is in both */
    analyzed_free(&a);
}

/* Results come back before the host works for the other GPU: that may need them. */
static void test_asked(void **state)
{
    struct steps steps = in_turn;
    const double half = ROUNDS * (double)(WORK_NS + KERNEL_NS);
    (void)state;
    for (int same = 0; same < 2; same++) {
        steps.fetches = !same;
        steps.one_buffer = same; /* one that both send: each thread would have its own */
        struct analyzed a = played(&steps);
        const struct xfa_finding *f = found(&a);
        assert_non_null(f);
        assert_true(f->asked && f->idle && f->order == 0);
        assert_true(fabs(f->saving.likely) < 0.2 * half);
        assert_true(f->saving.high > 0.75 * half && f->saving.high < 1.4 * half);
        analyzed_free(&a);
    }
    steps = in_turn;
    steps.fetches = true;
    steps.assume = "gpus-by-turns=yes";
    struct analyzed a = played(&steps);
    const struct xfa_finding *f = found(&a);
    assert_true(f && !f->asked && f->saving.likely > 0.75 * half);
    analyzed_free(&a);
    steps.assume = "gpus-by-turns=no";
    a = played(&steps);
    assert_null(found(&a));
    analyzed_free(&a);
}

/* What the host has worked on before it went on to the other GPU, it needs no more. */
static void test_looked_at(void **state)
{
    struct steps steps = in_turn;
    (void)state;
    steps.fetches = steps.looks = true;
    struct analyzed a = played(&steps);
    const struct xfa_finding *f = found(&a);
    assert_non_null(f);
    assert_true(!f->idle && f->saving.likely > 0.9 * ROUNDS * 2 * (double)WORK_NS);
    analyzed_free(&a);
}

/* Each GPU is sent all that the GPUs have made in the round before: it waits for these copies
 * alone, not for what the other one does in this round. Memory that all are sent, and that the
 * first one's results go to, the second one has to wait for. */
static void test_swapped(void **state)
{
    struct steps steps = in_turn;
    const double half = ROUNDS * (double)(KERNEL_NS + COPY_NS);
    (void)state;
    steps.work_ns = 2000;
    steps.fetches = steps.swaps = true;
    struct analyzed a = played(&steps);
    const struct xfa_finding *f = found(&a);
    assert_non_null(f);
    assert_true(!f->asked && f->saving.likely > 0.5 * half && f->saving.likely < half);
    analyzed_free(&a);
    steps.pinned = true;
    a = played(&steps);
    f = found(&a);
    assert_true(!f || f->saving.likely < 0.2 * half);
    analyzed_free(&a);
    steps.pinned = false;
    steps.keeps = true;
    a = played(&steps);
    f = found(&a);
    assert_true(!f || f->saving.likely < 0.2 * half);
    analyzed_free(&a);
}

static void is_silent(const struct steps *steps)
{
    struct analyzed a = played(steps);
    assert_null(found(&a));
    analyzed_free(&a);
}

/* One GPU, one thread for each, a few turns, hardly any work of the host. */
static void test_left(void **state)
{
    struct steps steps[4];
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        steps[i] = in_turn;
    steps[0].one_gpu = true;
    steps[1].a_thread_each = true;
    steps[2].rounds = 4;
    steps[3].work_ns = 1000;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        is_silent(&steps[i]);
}

/* GPUs that use the same memory, or wait for each other: what the host does for one of them between
 * two turns of the other one stays there. */
static void test_ordered(void **state)
{
    struct steps steps = in_turn;
    (void)state;
    steps.block = ROUNDS;
    steps.rounds = 8 * ROUNDS;
    struct analyzed a = played(&steps);
    const struct xfa_finding *f = found(&a);
    assert_true(f && f->saving.likely > 0.9 * steps.rounds * (double)WORK_NS);
    analyzed_free(&a);
    steps.chain = true;
    is_silent(&steps);
    steps.chain = false;
    steps.events = true;
    is_silent(&steps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_advised),   cmocka_unit_test(test_asked),
        cmocka_unit_test(test_looked_at), cmocka_unit_test(test_left),
        cmocka_unit_test(test_ordered),   cmocka_unit_test(test_swapped),
    };
    return cmocka_run_group_tests_name("findings: GPUs by turns", tests, NULL, NULL);
}
