/* threads-by-turns: which threads it asks about, and what the run would save at best. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzer/whatif/schedule/handovers.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"

enum {
    SEND = 10,
    WAIT,
    OTHER_WAIT,
    OTHER_SEND,
    OTHER_WAY,
    NAME = 9,
    ARGUMENTS = 3,
    ROUNDS = 20, /* of each of two threads */
    CALL_NS = 1500,
    COPY_NS = 20000,
    KERNEL_NS = 300000,
    LONGER_NS = 100000,
    HANDOVER_NS = 40000,
    BYTES = 64 * 1024
};

#define BUFFERS 0x7f1000000000ull
#define RESULTS 0x7f2000000000ull

struct steps {
    unsigned rounds;
    uint64_t handover_ns;
    bool own_buffers; /* of each thread */
    bool chain;       /* the second thread's kernel is given what the first one's filled */
    bool reads;       /* the kernel does not write to the first one of two pointers */
    bool sends;       /* a copy fills it before */
    bool other_way;   /* another one calls the function that the second thread is in */
    unsigned alone;   /* turns of the first thread before, far apart */
    bool varies;      /* how long kernels take */
    bool far, fed;    /* so does the time behind a turn; it begins a fixed time behind the last */
    bool waits_for_device, no_arguments, default_stream, one_stream, graph, event, overlap, unlike,
        one_thread;
    bool sleeps; /* the threads' processor time was read: they sleep until their turn */
    const char *assume;
};

static const struct steps locked = {.rounds = ROUNDS, .handover_ns = HANDOVER_NS, .sends = true};

struct run {
    struct trace_builder b;
    struct play play;
    const struct steps *steps;
    uint64_t busy_until, done, ended[2];
    uint32_t correlation, turns;
};

/* Of the last call: as soon as its stream is idle. */
static void ran(struct run *run, const struct xft_event *call, enum xft_event_kind kind,
                uint64_t ns)
{
    uint64_t now = run->play.now, ready = call->end_ns + 1000;
    unsigned lane = run->play.lane;
    struct xft_event record = *call;
    record.kind = (uint8_t)kind;
    record.stack = record.call = record.flags = 0;
    run->play.lane = LANE_DEVICE;
    run->play.now = run->busy_until > ready ? run->busy_until : ready;
    run->busy_until = play_event(&run->play, record, ns)->end_ns;
    run->play.lane = lane;
    run->play.now = now;
}

static struct xft_event in_stream(const struct run *run, enum xft_event_kind kind, unsigned thread)
{
    struct xft_event event = {.kind = (uint8_t)kind};
    if (run->steps->default_stream)
        return event;
    event.flags = XFT_STREAM_KNOWN;
    event.stream = play_stream(run->steps->one_stream ? 1 : 1 + thread);
    return event;
}

static uint64_t buffer_of(const struct run *run, unsigned thread)
{
    return BUFFERS + (run->steps->own_buffers ? thread * MIB : 0);
}

static uint32_t site_of(const struct steps *steps, unsigned thread)
{
    if (thread == 0)
        return SEND;
    return steps->unlike ? OTHER_SEND : steps->other_way ? OTHER_WAY : SEND;
}

static void send(struct run *run, unsigned thread)
{
    const struct xft_event like = in_stream(run, XFT_EVENT_TRANSFER, thread);
    struct xft_event *event =
        play_async(&run->play, site_of(run->steps, thread), XFT_DIR_H2D, XFT_MEM_PINNED, BYTES, 0);
    event->device = event->dst_place = 0;
    event->flags |= like.flags;
    event->stream = like.stream;
    event->src = RESULTS;
    event->dst = buffer_of(run, thread);
    event->correlation = ++run->correlation;
    ran(run, event, XFT_EVENT_DEVICE_COPY, COPY_NS);
}

/* Five lengths by turns. */
static uint64_t kernel_ns(const struct run *run)
{
    return KERNEL_NS + (run->steps->varies ? run->turns * 3 % 5 * (uint64_t)LONGER_NS : 0);
}

static uint64_t handover_ns(const struct run *run)
{
    uint64_t ns = run->steps->handover_ns;
    if (run->steps->far)
        return ns / 2 + run->turns * 2 % 5 * ns;
    return run->steps->fed ? ns - (kernel_ns(run) - KERNEL_NS) : ns;
}

static void launch(struct run *run, unsigned thread)
{
    struct xft_event event = in_stream(run, XFT_EVENT_LAUNCH, thread);
    event.src = NAME;
    event.aux = run->steps->no_arguments ? 0 : ARGUMENTS + thread;
    event.correlation = ++run->correlation;
    if (run->steps->graph)
        event.kind = XFT_EVENT_GRAPH_LAUNCH;
    ran(run, play_event(&run->play, event, CALL_NS), XFT_EVENT_KERNEL, kernel_ns(run));
}

static void order(struct run *run, unsigned thread)
{
    struct xft_event wait = in_stream(run, XFT_EVENT_WAIT, thread);
    struct xft_event record = in_stream(run, XFT_EVENT_RECORD, thread);
    wait.aux = record.aux = XFT_SYNC_EVENT;
    wait.src = 0x70 + !thread;
    record.src = 0x70 + thread;
    play_event(&run->play, wait, CALL_NS);
    play_event(&run->play, record, CALL_NS);
}

/* From its turn before to the one that begins now the thread slept, but for a tenth of it. */
static void sleep_until_now(struct run *run, uint64_t from)
{
    struct xft_event read = {.kind = XFT_EVENT_PROCESSOR, .src = XFT_PROCESSOR_UNTIL_CALL};
    read.aux = (run->play.now - from) / 10;
    play_event(&run->play, read, 0)->start_ns = from;
}

/* Where the other one does not wait for it, it begins while this one waits. */
static void turn(struct run *run, unsigned thread)
{
    struct xft_event wait = in_stream(run, XFT_EVENT_SYNC, thread);
    const struct steps *steps = run->steps;
    wait.aux = steps->waits_for_device ? XFT_SYNC_CONTEXT : XFT_SYNC_STREAM;
    wait.stack = thread ? OTHER_WAIT : WAIT;
    run->play.lane = steps->one_thread || thread == 0 ? LANE_MAIN : LANE_OTHER;
    if (steps->sleeps && run->ended[thread])
        sleep_until_now(run, run->ended[thread]);
    if (steps->sends)
        send(run, thread);
    if (steps->event)
        order(run, thread);
    launch(run, thread);
    uint64_t begun = run->play.now;
    uint64_t end = play_event(&run->play, wait, run->busy_until - begun + CALL_NS)->end_ns;
    run->ended[thread] = end;
    run->play.now = steps->overlap ? begun + HANDOVER_NS : end + handover_ns(run);
    run->turns++;
}

static struct analyzed played(const struct steps *steps)
{
    struct run run = {.steps = steps, .correlation = 1000};
    struct xfp_profile *profile = measured_profile(MEASURED_ALL);
    const struct xft_event records = {.kind = XFT_EVENT_RECORDS,
                                      .aux = XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS};
    const char *name = steps->reads ? "_Z4readPKfPf" : "_Z4workPfS_";
    play_start(&run.play, &run.b, 1);
    play_site(&run.play, SEND, "send", 1);
    play_site(&run.play, OTHER_SEND, "fill", 3);
    play_site(&run.play, WAIT, "serve", 2);
    build_stack(&run.b, OTHER_WAY, (uint64_t[]){0x410000 + 16 * SEND, 0x401200, 0x401300}, 3);
    play_site(&run.play, OTHER_WAIT, "serve", 2);
    build_text(&run.b, NAME, name);
    for (unsigned i = 0; i < 2; i++) {
        uint64_t in = steps->chain && i == 1 ? BUFFERS + 16 * MIB : buffer_of(&run, i);
        uint64_t out = BUFFERS + (steps->chain && i == 1 ? 32 : 16) * MIB;
        build_arguments(&run.b, ARGUMENTS + i, (uint64_t[]){in, out}, 2);
    }
    play_event(&run.play, records, 0);
    for (unsigned i = 0; i < steps->alone; i++, run.play.now += 7 * KERNEL_NS)
        turn(&run, 0);
    for (unsigned i = 0; i < steps->rounds; i++)
        for (unsigned thread = 0; thread < 2; thread++)
            turn(&run, thread);
    run.play.lane = LANE_MAIN;
    play_end(&run.play, XFT_STATE_CLOSED);
    return analyzed_answered(&run.b, profile, steps->assume);
}

static const struct xfa_finding *found(const struct analyzed *a)
{
    return analyzed_finding(a, XFA_FINDING_BY_TURNS, NULL);
}

/* Two threads, and one buffer that each turn fills: at best both work at the same time. */
static void test_asked(void **state)
{
    (void)state;
    for (int own = 0; own < 2; own++) {
        struct steps steps = locked;
        steps.own_buffers = own;
        struct analyzed a = played(&steps);
        const struct xfa_finding *f = found(&a);
        double turn = KERNEL_NS + COPY_NS + HANDOVER_NS, half = ROUNDS * turn;
        assert_non_null(f);
        assert_int_equal(f->remedy.kind, XFA_REMEDY_NARROW_LOCK);
        assert_int_equal(f->site_count, 1);
        assert_in_range(f->transfers, 2 * ROUNDS - 3, 2 * ROUNDS);
        assert_true(f->asked && f->idle && f->order == 0 && isnan(f->lost_ns));
        assert_true(f->saving.low < 1 && fabs(f->saving.likely) < 1);
        assert_true(f->saving.high > 0.85 * half && f->saving.high < 1.1 * half);
        analyzed_free(&a);
    }
}

/* Likely a thread comes for its turn in the middle of the one before, at worst behind it. */
static void test_answered(void **state)
{
    struct steps steps = locked;
    (void)state;
    steps.assume = "threads-by-turns=no";
    struct analyzed a = played(&steps);
    assert_null(found(&a));
    analyzed_free(&a);
    steps.assume = "threads-by-turns=yes";
    a = played(&steps);
    const struct xfa_finding *f = found(&a);
    assert_non_null(f);
    assert_true(!f->asked && f->saving.high > 0.85 * ROUNDS * (double)KERNEL_NS);
    assert_true(f->saving.low < 0.1 * ROUNDS * (double)KERNEL_NS); /* they come right then */
    assert_true(f->saving.likely > 0.4 * ROUNDS * (double)KERNEL_NS);
    assert_true(f->saving.likely < 0.6 * ROUNDS * (double)(KERNEL_NS + COPY_NS + HANDOVER_NS));
    analyzed_free(&a);
}

/* It slept behind the other one's turn: it waited for that, whatever its usual work is. */
static void test_slept(void **state)
{
    struct steps steps = locked;
    (void)state;
    steps.assume = "threads-by-turns=yes";
    steps.sleeps = true;
    struct analyzed a = played(&steps);
    const struct xfa_finding *f = found(&a);
    assert_non_null(f);
    assert_true(f->saving.likely > 0.75 * ROUNDS * (double)KERNEL_NS);
    assert_true(f->saving.low < 0.1 * ROUNDS * (double)KERNEL_NS);
    analyzed_free(&a);
}

static void is_silent(const struct steps *steps)
{
    struct analyzed a = played(steps);
    assert_null(found(&a));
    analyzed_free(&a);
}

/* In a stream that they share, or the default stream, a thread without a lock would call while the
 * other one's work is under way. At best, and once answered, each gets a stream of its own. */
static void test_one_stream(void **state)
{
    (void)state;
    for (int legacy = 0; legacy < 2; legacy++) {
        struct steps steps = locked;
        steps.one_stream = !legacy;
        steps.default_stream = legacy;
        struct analyzed a = played(&steps);
        const struct xfa_finding *f = found(&a);
        double turn = KERNEL_NS + COPY_NS + HANDOVER_NS, half = ROUNDS * turn;
        assert_non_null(f);
        assert_true(f->asked && fabs(f->saving.likely) < 1);
        assert_true(f->saving.high > 0.85 * half && f->saving.high < 1.1 * half);
        analyzed_free(&a);
        steps.assume = "threads-by-turns=yes";
        a = played(&steps);
        f = found(&a);
        assert_true(f && f->saving.likely > 0.4 * ROUNDS * (double)KERNEL_NS);
        analyzed_free(&a);
        steps.assume = NULL;
        steps.overlap = true;
        is_silent(&steps);
    }
}

/* Threads that wait for the device would wait for each other's work, the one with less of it. */
static void test_wait_for_device(void **state)
{
    struct steps steps = locked;
    (void)state;
    steps.waits_for_device = steps.varies = true;
    struct analyzed a = played(&steps);
    const struct xfa_finding *f = found(&a);
    double all = 2 * ROUNDS * (double)(KERNEL_NS + 2 * LONGER_NS + COPY_NS + HANDOVER_NS);
    assert_non_null(f);
    assert_true(f->saving.high > 0.486 * all);
    analyzed_free(&a);
}

/* What is no lock: turns far apart, few, unlike, beside each other, or of one thread. */
static void test_left(void **state)
{
    struct steps steps[6];
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        steps[i] = locked;
    steps[0].rounds = 7;
    steps[1].handover_ns = 2 * KERNEL_NS;
    steps[2].event = true;
    steps[3].overlap = true;
    steps[4].one_thread = true;
    steps[5].unlike = true;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        is_silent(&steps[i]);
}

/* A turn needs what the one before has filled, or may. */
static void test_given_on(void **state)
{
    struct steps steps = locked;
    (void)state;
    steps.no_arguments = true;
    is_silent(&steps);
    steps = locked;
    steps.graph = true;
    is_silent(&steps);
    for (int reads = 0; reads < 2; reads++) {
        steps = locked;
        steps.chain = steps.own_buffers = true;
        steps.reads = reads;
        is_silent(&steps);
    }
    steps = locked;
    steps.sends = false; /* the kernel reads and writes in place: it may be scratch */
    struct analyzed a = played(&steps);
    assert_non_null(found(&a));
    analyzed_free(&a);
}

/* Threads that come to one call on different ways; and what one of them does alone before. */
static void test_what_differs(void **state)
{
    struct steps steps[2] = {locked, locked};
    (void)state;
    steps[0].other_way = true;
    steps[1].alone = 12;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct analyzed a = played(&steps[i]);
        assert_non_null(found(&a));
        analyzed_free(&a);
    }
}

/* What pays only where turns meet is no advice, unless they need not be apart. */
static void test_turns_stay(void **state)
{
    struct steps steps = locked;
    (void)state;
    steps.own_buffers = true;
    steps.handover_ns = 4 * HANDOVER_NS; /* for the host to do beside the work */
    struct analyzed a = played(&steps);
    assert_non_null(found(&a));
    assert_true(isnan(a.findings->whatif->set.likely));
    analyzed_free(&a);
    steps.assume = "threads-by-turns=yes";
    a = played(&steps);
    assert_true(a.findings->whatif->set.likely > 0.3 * ROUNDS * (double)KERNEL_NS);
    analyzed_free(&a);
}

/* Two threads have a turn each, and the first one another. */
static struct xfw_handover of_turns(double free_ns, double worked_ns, double most_ns)
{
    struct xfw_handovers handovers = {.most_ns = most_ns};
    struct xfw_turn_call call = {1, true, true, 0, 100, worked_ns, 0, 0};
    xfw_handovers_call(&handovers, &call);
    call = (struct xfw_turn_call){2, true, true, 100 + free_ns, 200 + free_ns, 0, 0, 0};
    assert_true(xfw_handovers_call(&handovers, &call).behind_ns == 0);
    call = (struct xfw_turn_call){1, true, true, 210 + free_ns, 300 + free_ns, 7, 0, 0};
    return xfw_handovers_call(&handovers, &call);
}

static struct xfw_handover after_turns(double free_ns, double worked_ns)
{
    const struct xfw_handover found = of_turns(free_ns, worked_ns, XFW_HANDOVER_MOST_NS);
    assert_true(found.waited_ns == 10 && found.behind_ns == 10 && found.gap_ns == 10);
    assert_true(found.other_ns == 100 && found.idle_ns == 110 + free_ns);
    return found;
}

/* While one was to be had for longer than it takes to go on, the thread did not need any. */
static void test_turns_to_be_had(void **state)
{
    (void)state;
    assert_true(after_turns(50, 0).least_ns == 50);
    assert_true(after_turns(15, 0).least_ns == 0);
    assert_true(of_turns(15, 0, 9).behind_ns == 0); /* so long behind it waited for nobody */
}

/* Of two turns the second one's thread, which slept so long, begins 70 behind the other's end. */
static double behind_asleep(double slept_ns)
{
    struct xfw_handovers handovers = {.most_ns = XFW_HANDOVER_MOST_NS};
    struct xfw_turn_call call = {.tid = 1, .work = true, .waits = true, .end_ns = 10000};
    xfw_handovers_call(&handovers, &call);
    call = (struct xfw_turn_call){2, true, true, 20000, 60000, 0, 0, 0};
    xfw_handovers_call(&handovers, &call);
    call = (struct xfw_turn_call){1, true, true, 130000, 140000, 0, slept_ns, 0};
    return xfw_handovers_call(&handovers, &call).behind_ns;
}

/* A thread that slept until another one's turn was over waited for it, however long it worked then;
 * not one that slept for longer, or hardly. */
static void test_slept_until_then(void **state)
{
    (void)state;
    assert_true(behind_asleep(50000) == 70000);
    assert_true(behind_asleep(30000) == 70000);
    assert_true(behind_asleep(20000) == 0);
    assert_true(behind_asleep(70000) == 0);
    assert_true(behind_asleep(0) == 0);
}

/* Of the first thread's calls that end turns, those of one place have another thread's turn behind
 * them. */
static void test_released(void **state)
{
    enum { WITHIN = 1, LAST = 2, PLACES = 5 };
    struct xfw_handovers handovers = {.most_ns = XFW_HANDOVER_MOST_NS};
    const uint32_t places[PLACES] = {WITHIN, LAST, WITHIN, WITHIN, LAST};
    double now = 0;
    (void)state;
    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < PLACES; i++) {
            const int32_t tid = i < 2 ? 1 : 2;
            const struct xfw_turn_call call = {tid, true, true, now, now + 100, 0, 0, places[i]};
            const struct xfw_handover found = xfw_handovers_call(&handovers, &call);
            assert_true(found.ends && (round == 0 || found.released == (places[i] == LAST)));
            now += 110;
        }
}

/* Likely its own time is what it took of a processor before its first turn. */
static void test_own_time(void **state)
{
    (void)state;
    assert_true(after_turns(15, 0).likely_ns == 10 + 100 / 2);
    assert_true(after_turns(15, 80).likely_ns == 80);
    assert_true(after_turns(15, 3).likely_ns == 10);
}

/* The lock is held over work of the host, too, in a turn's beginning. */
static void test_host_work_held(void **state)
{
    struct steps steps = locked;
    (void)state;
    steps.rounds = 2 * ROUNDS;
    steps.handover_ns = 2 * (uint64_t)XFW_HANDOVER_MOST_NS;
    steps.varies = true;
    struct analyzed a = played(&steps);
    const struct xfa_finding *f = found(&a);
    assert_non_null(f);
    assert_true(f->asked && f->transfers >= 4 * ROUNDS - 3);
    assert_true(f->saving.high > 0.5 * 2 * ROUNDS * (double)(KERNEL_NS + COPY_NS));
    analyzed_free(&a);
    steps.rounds = 4 * ROUNDS;
    steps.far = true; /* now soon, now late */
    is_silent(&steps);
    steps.far = false;
    steps.fed =
        true; /* something else begins turns: the longer one is, the sooner comes the next */
    is_silent(&steps);
    steps.fed = false;
    steps.rounds = 10; /* that none is beside another may be chance */
    is_silent(&steps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_asked),        cmocka_unit_test(test_answered),
        cmocka_unit_test(test_one_stream),   cmocka_unit_test(test_wait_for_device),
        cmocka_unit_test(test_left),         cmocka_unit_test(test_given_on),
        cmocka_unit_test(test_what_differs), cmocka_unit_test(test_turns_to_be_had),
        cmocka_unit_test(test_own_time),     cmocka_unit_test(test_host_work_held),
        cmocka_unit_test(test_slept),        cmocka_unit_test(test_turns_stay),
        cmocka_unit_test(test_released),     cmocka_unit_test(test_slept_until_then),
    };
    return cmocka_run_group_tests_name("findings: threads by turns", tests, NULL, NULL);
}
