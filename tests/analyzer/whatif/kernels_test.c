/*
 * NCCL's kernels in runs whose ranks are played together: what one rank takes less of moves the
 * others by as much as their kernels waited for its own. In each step a kernel of rank 0 begins
 * early and waits for that of rank 1; both end together.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/schedule/change.h"
#include "analyzer/whatif/whatif.h"
#include "tests/analyzer/lab/ranked_lab.h"

#define US UINT64_C(1000)

enum { STEPS = 50, STEP_US = 140, STREAM = 0x10 };

static void start(struct ranked_lab *lab, uint32_t count)
{
    ranked_lab_start(lab, count);
    for (uint32_t i = 0; i < count; i++)
        ranked_event(&lab->ranks[i],
                     (struct xft_event){.kind = XFT_EVENT_RECORDS,
                                        .aux = XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS},
                     0, 0);
}

/* The replay of the run unchanged is what was recorded; what it would save. */
static double saved(struct ranked_lab *lab, uint32_t process, double least_ns, uint64_t apart)
{
    const struct ranked_faster faster = {process, least_ns, .by = 2, .kernels = true};
    struct xfw_whatif *whatif = ranked_lab_play(lab, faster);
    assert_true(whatif->known);
    assert_true(fabs(whatif->replayed_ns - whatif->recorded_ns) < 1);
    assert_int_equal(whatif->ranks.processes, lab->count);
    assert_int_equal(whatif->ranks.meetings, STEPS);
    assert_int_equal(whatif->ranks.apart, apart);
    double saving = whatif->alone[0].likely;
    xfw_whatif_free(whatif);
    return saving;
}

static bool near(double a, double b)
{
    return fabs(a - b) < 200;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void launch(struct ranked *ranked, uint32_t correlation, uint64_t stream, int gpu,
                   uint64_t at_ns, uint64_t from_ns, uint64_t to_ns)
{
    struct xft_event event = {.kind = XFT_EVENT_LAUNCH,
                              .flags = XFT_STREAM_KNOWN,
                              .stream = stream,
                              .device = (int16_t)gpu,
                              .correlation = correlation};
    ranked_event(ranked, event, at_ns, at_ns + US);
    event.kind = XFT_EVENT_KERNEL;
    event.flags = 0;
    ranked_event(ranked, event, from_ns, to_ns);
}

/* A call of NCCL at at_ns in the rank's communicator `number`, whose kernel it launches 1 us later.
 */
static struct xft_event *nccl(struct ranked_lab *lab, uint32_t rank, enum xft_message what,
                              uint64_t at_ns, uint64_t from_ns, uint64_t to_ns)
{
    struct ranked *ranked = &lab->ranks[rank];
    launch(ranked, ++lab->correlation, STREAM, 0, at_ns + US, from_ns, to_ns);
    struct xft_event *event = ranked_collective(ranked, what, 1 << 20, at_ns, at_ns + 3 * US);
    event->call = CALL_NCCL;
    event->flags = XFT_ASYNC | XFT_STREAM_KNOWN;
    event->stream = STREAM;
    event->correlation = lab->correlation;
    return event;
}

static void await(struct ranked *ranked, uint64_t from_ns, uint64_t to_ns)
{
    const struct xft_event event = {.kind = XFT_EVENT_SYNC,
                                    .aux = XFT_SYNC_STREAM,
                                    .flags = XFT_STREAM_KNOWN,
                                    .stream = STREAM};
    ranked_event(ranked, event, from_ns, to_ns);
}

static uint64_t step_at(uint64_t i)
{
    return (100 + i * STEP_US) * US;
}

/* Rank 0 calls after 20 us, the others after 100 us; the transfer takes 30 us. */
static void all_reduces(struct ranked_lab *lab, uint64_t of_last)
{
    for (uint64_t i = 0; i < STEPS; i++) {
        uint64_t at = step_at(i);
        for (uint32_t r = 0; r < lab->count; r++) {
            uint64_t own = (r == 0 ? 20 : 100) * US;
            if (r > 0 && i >= of_last)
                continue;
            nccl(lab, r, XFT_MESSAGE_ALLREDUCE, at + own, at + own + 5 * US, at + 135 * US);
            await(&lab->ranks[r], at + own + 4 * US, at + 137 * US);
        }
    }
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* Rank 0's own time is hidden behind what it waits for rank 1, whose own is everybody's. */
static void test_all_reduce(void **state)
{
    struct ranked_lab lab;
    (void)state;
    start(&lab, 2);
    all_reduces(&lab, STEPS);
    ranked_lab_analyse(&lab);
    assert_true(near(saved(&lab, 1, 80 * US, 0), (STEPS - 1) * 52000.0));
    assert_true(near(saved(&lab, 0, 15 * US, 0), 0));
    assert_int_equal(lab.a.analysis->matched.unmet, 0);
    ranked_lab_free(&lab);
}

/* Two hosts, whose clocks are 2 ms apart: what the kernels waited for sets them. */
static void test_hosts(void **state)
{
    struct ranked_lab lab;
    (void)state;
    start(&lab, 2);
    build_meta(&lab.ranks[1].b, "hostname", "node2");
    lab.ranks[1].offset_ns = 2e6;
    all_reduces(&lab, STEPS);
    ranked_lab_analyse(&lab);
    const struct xfa_host_clock *clock = &lab.a.analysis->matched.clocks.all[1];
    assert_int_equal(clock->basis, XFA_CLOCK_MESSAGES);
    assert_true(fabs(clock->offset_ns - 2e6) < 60e3);
    assert_true(near(saved(&lab, 1, 80 * US, 0), (STEPS - 1) * 52000.0));
    ranked_lab_free(&lab);
}

/* A part of rank 1's calls was not recorded: kernels take what they took. */
static void test_partial(void **state)
{
    struct ranked_lab lab;
    (void)state;
    start(&lab, 2);
    all_reduces(&lab, STEPS - 3);
    ranked_lab_analyse(&lab);
    assert_int_equal(lab.a.analysis->matched.meetings, 0);
    assert_int_equal(lab.a.analysis->matched.unmet, 2 * STEPS - 3);
    struct xfw_whatif *whatif = xfw_whatif_of(lab.a.analysis, NULL, 0, NULL, NULL, NULL);
    assert_int_equal(whatif->ranks.processes, 0);
    char *report = analyzed_report(&lab.a, &xfa_format_text);
    assert_non_null(strstr(report, "97 calls of NCCL without their other sides"));
    free(report);
    assert_true(fabs(whatif->replayed_ns - whatif->recorded_ns) < 1);
    xfw_whatif_free(whatif);
    ranked_lab_free(&lab);
}

/* Of more calls than are kept both sides are, or none. */
static void test_more_than_kept(void **state)
{
    struct ranked_lab lab;
    (void)state;
    start(&lab, 2);
    all_reduces(&lab, STEPS);
    lab.a = analyzed_start(NULL);
    lab.a.analysis->messages.nccl.kept.most = STEPS;
    for (uint32_t i = 0; i < lab.count; i++) {
        ranked_end(&lab.ranks[i]);
        analyzed_add(&lab.a, &lab.ranks[i].b);
    }
    analyzed_finish(&lab.a);
    assert_in_range(lab.a.analysis->matched.meetings, 5, STEPS / 2);
    assert_int_equal(lab.a.analysis->matched.unmet, 0);
    struct xfw_whatif *whatif = xfw_whatif_of(lab.a.analysis, NULL, 0, NULL, NULL, NULL);
    assert_true(fabs(whatif->replayed_ns - whatif->recorded_ns) < 1);
    xfw_whatif_free(whatif);
    ranked_lab_free(&lab);
}

/* Rank 1 sends in a group, whose end launches the kernel, late; rank 0 receives. buffered: the
 * sender's kernel ends before the receiver's begins. */
static void exchange(struct ranked_lab *lab, bool buffered)
{
    start(lab, 2);
    for (uint64_t i = 0; i < STEPS; i++) {
        uint64_t at = step_at(i), sent = buffered ? 10 : 100, got = buffered ? 100 : 20;
        uint64_t over = buffered ? 30 : 135;
        struct xft_event *event =
            nccl(lab, 1, XFT_MESSAGE_SEND, at + sent * US, at + (sent + 5) * US, at + over * US);
        event->aux = xft_message_peers(0, XFT_RANK_NONE);
        event->start_ns -= 5 * US;
        event->end_ns -= 5 * US;
        await(&lab->ranks[1], at + (sent + 4) * US, at + (over + 2) * US);
        event = nccl(lab, 0, XFT_MESSAGE_RECV, at + got * US, at + (got + 5) * US, at + 135 * US);
        event->aux = xft_message_peers(XFT_RANK_NONE, 1);
        await(&lab->ranks[0], at + (got + 4) * US, at + 137 * US);
    }
    ranked_lab_analyse(lab);
}

static void test_messages(void **state)
{
    struct ranked_lab lab;
    (void)state;
    exchange(&lab, false);
    assert_true(near(saved(&lab, 1, 80 * US, 0), (STEPS - 1) * 52000.0));
    assert_true(near(saved(&lab, 0, 15 * US, 0), 0));
    ranked_lab_free(&lab);
}

/* Who gives to buffers waits for nobody: its last call is as early as it was. */
static void test_buffered(void **state)
{
    struct ranked_lab lab;
    (void)state;
    exchange(&lab, true);
    assert_true(near(saved(&lab, 0, 80 * US, 0), 90000.0)); /* then the sender is the last */
    assert_true(near(saved(&lab, 1, 100 * US, 0), 0));
    ranked_lab_free(&lab);
}

/* One process with a rank on each of two GPUs, in one group: a kernel before holds up the second.
 */
static void test_one_process(void **state)
{
    struct ranked_lab lab;
    (void)state;
    start(&lab, 1);
    struct xft_event second = lab.ranks[0].events[0];
    lab.ranks[0].events[0].width = second.width = 2;
    second.count = 2;
    second.src = 1;
    ranked_event(&lab.ranks[0], second, 0, 0);
    for (uint64_t i = 0; i < STEPS; i++) {
        uint64_t at = step_at(i);
        launch(&lab.ranks[0], ++lab.correlation, STREAM + 1, 1, at, at + 5 * US, at + 105 * US);
        for (uint32_t gpu = 0; gpu < 2; gpu++) {
            struct xft_event *event = ranked_collective(&lab.ranks[0], XFT_MESSAGE_ALLREDUCE, 1024,
                                                        at + (2 + gpu) * US, at + (3 + gpu) * US);
            event->call = CALL_NCCL;
            event->flags = XFT_ASYNC | XFT_STREAM_KNOWN;
            event->stream = STREAM + gpu;
            event->count = xft_message_count(XFT_MESSAGE_ALLREDUCE, 1 + gpu);
            event->correlation = ++lab.correlation;
            launch(&lab.ranks[0], lab.correlation, STREAM + gpu, (int)gpu, at + (5 + gpu) * US,
                   at + (gpu ? 106 : 10) * US, at + 135 * US);
        }
        await(&lab.ranks[0], at + 8 * US, at + 137 * US);
    }
    ranked_lab_analyse(&lab);
    assert_true(near(saved(&lab, 0, 80 * US, 0), STEPS * 50000.0));
    ranked_lab_free(&lab);
}

/* Rank 0 sends by MPI once it has called NCCL, and rank 1 receives before it does. */
static void message_between(struct ranked_lab *lab, uint64_t sent_us)
{
    start(lab, 2);
    for (uint64_t i = 0; i < STEPS; i++) {
        uint64_t at = step_at(i);
        nccl(lab, 0, XFT_MESSAGE_ALLREDUCE, at + 20 * US, at + 25 * US, at + 135 * US);
        if (sent_us < 135)
            ranked_send(&lab->ranks[0], 1, 5, 8, at + sent_us * US, at + (sent_us + 1) * US);
        await(&lab->ranks[0], at + 27 * US, at + 137 * US);
        if (sent_us > 135)
            ranked_send(&lab->ranks[0], 1, 5, 8, at + sent_us * US, at + (sent_us + 1) * US);
        ranked_recv(&lab->ranks[1], 0, 5, 8, at + 28 * US, at + 30 * US);
        nccl(lab, 1, XFT_MESSAGE_ALLREDUCE, at + 100 * US, at + 105 * US, at + 135 * US);
        await(&lab->ranks[1], at + 104 * US, at + 137 * US);
    }
    ranked_lab_analyse(lab);
}

/* The host goes on while a kernel waits. */
static void test_message_between(void **state)
{
    struct ranked_lab lab;
    (void)state;
    message_between(&lab, 25);
    assert_true(near(saved(&lab, 1, 60 * US, 0), STEPS * 35500.0));
    ranked_lab_free(&lab);
}

/* One process with two threads, each with a rank on a GPU of its own: the first one waits for its
 * kernel, which waits for that of the second. device: the first one waits for all work of one
 * GPU that both use, which the second one's kernel may be: then the first kernel waits for nobody.
 */
static void threads(struct ranked_lab *lab, bool device)
{
    start(lab, 1);
    struct ranked *ranked = &lab->ranks[0];
    struct xft_event second = ranked->events[0];
    ranked->events[0].width = second.width = 2;
    second.count = 2;
    second.src = 1;
    ranked_event(ranked, second, 0, 0);
    await(ranked, 50 * US, 51 * US);
    ranked->events[ranked->count - 1].reserved[0] = 1;
    for (uint64_t i = 0; i < STEPS; i++) {
        uint64_t at = step_at(i);
        for (uint32_t r = 0; r < 2; r++) {
            uint64_t own = (r == 0 ? 20 : 100) * US;
            struct xft_event *event =
                nccl(lab, 0, XFT_MESSAGE_ALLREDUCE, at + own, at + own + 5 * US, at + 135 * US);
            event->count = xft_message_count(XFT_MESSAGE_ALLREDUCE, 1 + r);
            await(ranked, at + own + 4 * US, at + 137 * US);
            for (size_t k = ranked->count - 4; r && k < ranked->count; k++) {
                ranked->events[k].reserved[0] = 1;
                ranked->events[k].stream = STREAM + 1;
                ranked->events[k].device = device ? 0 : 1;
            }
            if (device && r == 0)
                ranked->events[ranked->count - 1].aux = XFT_SYNC_CONTEXT;
        }
    }
    ranked_lab_analyse(lab);
}

static void test_threads(void **state)
{
    struct ranked_lab lab;
    (void)state;
    threads(&lab, false);
    assert_true(near(saved(&lab, 0, 80 * US, 0), (STEPS - 1) * 52000.0 + 75000.0));
    ranked_lab_free(&lab);
    threads(&lab, true);
    assert_true(saved(&lab, 0, 80 * US, STEPS) < 10.0 * US);
    ranked_lab_free(&lab);
}

/* Who receives what is scheduled knows when the kernels are over: when rank 1 is faster those of
 * rank 0 take less. */
struct heard {
    size_t kernels, shorter, ended;
};

static void hear_process(void *self, struct xfa_process *process)
{
    (void)self;
    (void)process;
}

static void hear_op(void *self, const struct xfw_op *op, const struct xfw_op *recorded,
                    const struct xfw_schedule *schedule)
{
    struct heard *heard = self;
    assert_true(op->what != XFW_MEETING);
    if (op->what != XFW_KERNEL)
        return;
    double took = xfw_schedule_last(schedule)->end - xfw_schedule_last(schedule)->start;
    double took_before = recorded->device_end_ns - recorded->device_start_ns;
    heard->kernels++;
    heard->shorter += near(took_before - took, 52000.0);
    assert_true(took_before - took < 1 || near(took_before - took, 52000.0));
}

static void hear_after(void *self, uint32_t stream, double ns)
{
    (void)self;
    (void)stream;
    (void)ns;
}

static void hear_end(void *self, struct xfa_process *process, const struct xfw_schedule *schedule,
                     double total_ns)
{
    struct heard *heard = self;
    (void)process;
    (void)schedule;
    (void)total_ns;
    heard->ended++;
}

static void test_tap(void **state)
{
    struct heard heard = {0};
    const struct xfw_tap tap = {&heard, hear_process, hear_op, hear_after, hear_end};
    struct ranked_lab lab;
    (void)state;
    start(&lab, 2);
    all_reduces(&lab, STEPS);
    ranked_lab_analyse(&lab);
    struct ranked_change faster = ranked_lab_change(
        &lab, (struct ranked_faster){.process = 1, .least_ns = 80 * US, .by = 2, .kernels = true});
    struct xfw_change *changes[] = {&faster.change};
    assert_null(xfw_whatif_tap(lab.a.analysis, changes, (const unsigned[]){1}, 1, &tap));
    assert_int_equal(heard.kernels, 2 * STEPS);
    assert_int_equal(heard.shorter, STEPS - 1);
    assert_int_equal(heard.ended, 2);
    ranked_lab_free(&lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_reduce),  cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_partial),     cmocka_unit_test(test_more_than_kept),
        cmocka_unit_test(test_messages),    cmocka_unit_test(test_buffered),
        cmocka_unit_test(test_one_process), cmocka_unit_test(test_message_between),
        cmocka_unit_test(test_threads),     cmocka_unit_test(test_tap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
