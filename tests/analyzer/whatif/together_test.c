/*
 * Ranks of a run played together: what one takes less of moves the others, by as much as they
 * waited for it. Each run's critical path is known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/changes.h"
#include "tests/analyzer/lab/ranked_lab.h"

#define US UINT64_C(1000)
#define MIB (UINT64_C(1) << 20)

enum { STEPS = 50 };

/* What the run would save; the replay of it unchanged is what was recorded. */
static double saved(struct ranked_lab *lab, uint32_t process, double least_ns, double by)
{
    const struct ranked_faster faster = {process, least_ns, by, .kernels = false};
    struct xfw_whatif *whatif = ranked_lab_play(lab, faster);
    assert_true(whatif->known);
    assert_true(fabs(whatif->replayed_ns - whatif->recorded_ns) < 1);
    assert_int_equal(whatif->ranks.processes, lab->count > 1 ? lab->count : 0);
    assert_int_equal(whatif->ranks.apart, 0);
    double saving = whatif->alone[0].likely;
    xfw_whatif_free(whatif);
    return saving;
}

static bool near(double a, double b)
{
    return fabs(a - b) < 100;
}

/* Rank 0 works for 100 us and sends; rank 1 waits for that, and works for 20 us. */
static void late_sender(struct ranked_lab *lab, bool of_requests)
{
    ranked_lab_start(lab, 2);
    for (uint64_t i = 0; i < STEPS; i++) {
        uint64_t at = 100 * US + i * 110 * US;
        ranked_send(&lab->ranks[0], 1, 5, 8, at + 100 * US, at + 110 * US);
        if (of_requests) {
            ranked_irecv(&lab->ranks[1], 0, 5, 8, at + 20 * US, 0xb0);
            ranked_wait(&lab->ranks[1], at + 21 * US, at + 110 * US);
            ranked_ended(&lab->ranks[1], 0xb0, at + 20 * US, at + 21 * US, at + 110 * US);
        } else {
            ranked_recv(&lab->ranks[1], 0, 5, 8, at + 20 * US, at + 110 * US);
        }
    }
    ranked_lab_analyse(lab);
}

/* The receiver's own time is hidden. The sender's is not, until the receiver's is longer. */
static void test_late_sender(void **state)
{
    struct ranked_lab lab;
    (void)state;
    for (int of_requests = 0; of_requests < 2; of_requests++) {
        late_sender(&lab, of_requests);
        assert_true(near(saved(&lab, 0, 50 * US, 2), (STEPS - 1) * 50.0 * US));
        assert_true(near(saved(&lab, 1, 10 * US, 2), 0));
        double most = saved(&lab, 0, 50 * US, 100);
        assert_true(most > (STEPS - 1) * 78.0 * US && most < (STEPS - 1) * 82.0 * US);
        ranked_lab_free(&lab);
    }
}

/* Rank 0 works for another 1 ms behind all: the run ends with it. */
static void last_work(struct ranked_lab *lab, uint64_t from_ns)
{
    ranked_send(&lab->ranks[0], 0, 6, 8, from_ns + 1000 * US, from_ns + 1001 * US);
}

/* A large message is sent when it can be received: rank 1 is late by 100 us, and rank 0 waits. */
static void test_late_receiver(void **state)
{
    struct ranked_lab lab;
    (void)state;
    ranked_lab_start(&lab, 2);
    for (uint64_t i = 0; i < STEPS; i++) {
        uint64_t at = 100 * US + i * 150 * US;
        ranked_send(&lab.ranks[0], 1, 5, MIB, at + 10 * US, at + 150 * US);
        ranked_recv(&lab.ranks[1], 0, 5, MIB, at + 100 * US, at + 150 * US);
    }
    last_work(&lab, 100 * US + STEPS * 150 * US);
    ranked_lab_analyse(&lab);
    assert_true(near(saved(&lab, 1, 50 * US, 2), (STEPS - 1) * 50.0 * US));
    assert_true(near(saved(&lab, 0, 5 * US, 2), 500.0 * US)); /* the last work alone */
    ranked_lab_free(&lab);
}

/* Sends that had ended before anybody received them waited for nobody: the receiver, which works
 * for 100 us each time, is what the run takes. */
static void test_eager(void **state)
{
    struct ranked_lab lab;
    (void)state;
    ranked_lab_start(&lab, 2);
    for (uint64_t i = 0; i < STEPS; i++) {
        ranked_send(&lab.ranks[0], 1, 5, MIB, (100 + i * 20) * US, (110 + i * 20) * US);
        ranked_recv(&lab.ranks[1], 0, 5, MIB, (200 + i * 110) * US, (210 + i * 110) * US);
    }
    last_work(&lab, 1200 * US);
    ranked_lab_analyse(&lab);
    assert_true(near(saved(&lab, 0, 5 * US, 2), 0));
    assert_true(near(saved(&lab, 1, 50 * US, 2), (STEPS - 1) * 50.0 * US));
    ranked_lab_free(&lab);
}

/* All wait for rank 2, which works for 100 us; the others for 60 us. */
static void test_collective(void **state)
{
    struct ranked_lab lab;
    (void)state;
    ranked_lab_start(&lab, 4);
    for (uint64_t i = 0; i < STEPS; i++) {
        uint64_t at = 100 * US + i * 110 * US;
        for (uint32_t r = 0; r < 4; r++)
            ranked_collective(&lab.ranks[r], XFT_MESSAGE_ALLREDUCE, 8,
                              at + (r == 2 ? 100 : 60) * US, at + 110 * US);
    }
    ranked_lab_analyse(&lab);
    assert_true(near(saved(&lab, 2, 80 * US, 2), (STEPS - 1) * 40.0 * US));
    assert_true(near(saved(&lab, 1, 30 * US, 2), 0));
    ranked_lab_free(&lab);
}

/* A scan: ranks 2 and 3 wait for rank 1, which does not for them; rank 0 is far ahead. */
static void test_scan(void **state)
{
    struct ranked_lab lab;
    (void)state;
    ranked_lab_start(&lab, 4);
    for (uint64_t i = 0; i < STEPS; i++) {
        uint64_t at = 200 * US + i * 110 * US;
        ranked_collective(&lab.ranks[0], XFT_MESSAGE_SCAN, 8, (100 + 2 * i) * US,
                          (101 + 2 * i) * US);
        for (uint32_t r = 1; r < 4; r++)
            ranked_collective(&lab.ranks[r], XFT_MESSAGE_SCAN, 8, at + (r == 1 ? 100 : 60) * US,
                              at + 110 * US);
    }
    ranked_lab_analyse(&lab);
    assert_true(near(saved(&lab, 1, 80 * US, 2), (STEPS - 1) * 40.0 * US));
    assert_true(near(saved(&lab, 2, 30 * US, 2), 0));
    assert_true(near(saved(&lab, 0, 1 * US, 2), 0));
    struct xfw_whatif *whatif = xfw_whatif_of(lab.a.analysis, NULL, 0, NULL, NULL, NULL);
    assert_int_equal(whatif->ranks.messages, STEPS);
    xfw_whatif_free(whatif);
    ranked_lab_free(&lab);
}

/* The same by requests. Rank 3 ends with other work, as much earlier as rank 1 begins its last
 * scan. */
static void test_scan_of_requests(void **state)
{
    struct ranked_lab lab;
    (void)state;
    ranked_lab_start(&lab, 4);
    for (uint64_t i = 0; i < STEPS; i++) {
        uint64_t at = 200 * US + i * 110 * US;
        for (uint32_t r = 0; r < 4; r++) {
            uint64_t begins = r == 0 ? (100 + 5 * i) * US : at + (r == 1 ? 100 : 20 + r) * US;
            struct xft_event *scan =
                ranked_collective(&lab.ranks[r], XFT_MESSAGE_SCAN, 8, begins, begins + 100);
            scan->flags = XFT_ASYNC;
            scan->stream = 0xc0;
            uint64_t over = r == 0 ? begins + 3 * US : at + 108 * US;
            ranked_wait(&lab.ranks[r], begins + 1 * US, over);
            ranked_ended(&lab.ranks[r], 0xc0, begins, begins + 1 * US, over);
        }
    }
    uint64_t end = 200 * US + STEPS * 110 * US;
    ranked_send(&lab.ranks[3], 3, 6, 8, end + 1000 * US, end + 1001 * US);
    ranked_lab_analyse(&lab);
    assert_true(near(saved(&lab, 1, 80 * US, 2), (STEPS - 1) * 51000.0));
    assert_true(near(saved(&lab, 2, 20 * US, 2), 0));
    ranked_lab_free(&lab);
}

/* Nobody waits for the last rank of a scan, not even where it is the last to come. */
static void test_end_of_scan(void **state)
{
    struct ranked_lab lab;
    (void)state;
    ranked_lab_start(&lab, 2);
    for (uint64_t i = 0; i < STEPS; i++) {
        ranked_collective(&lab.ranks[0], XFT_MESSAGE_SCAN, 8, (100 + 20 * i) * US,
                          (101 + 20 * i) * US);
        ranked_collective(&lab.ranks[1], XFT_MESSAGE_SCAN, 8, (200 + 110 * i) * US,
                          (210 + 110 * i) * US);
    }
    ranked_lab_analyse(&lab);
    assert_true(near(saved(&lab, 1, 80 * US, 2), (STEPS - 1) * 50.0 * US));
    assert_true(near(saved(&lab, 0, 10 * US, 2), 0));
    ranked_lab_free(&lab);
}

/* A ring of four, each of which sends on what it has received: rank 0's work is everybody's. */
static void test_ring(void **state)
{
    struct ranked_lab lab;
    (void)state;
    ranked_lab_start(&lab, 4);
    for (uint64_t i = 0; i < STEPS; i++) {
        uint64_t at = 100 * US + i * 160 * US;
        ranked_send(&lab.ranks[0], 1, 5, 8, at + 100 * US, at + 105 * US);
        for (uint32_t r = 1; r < 4; r++) {
            uint64_t comes = at + (95 + 15 * r) * US;
            ranked_recv(&lab.ranks[r], r - 1, 5, 8, at + 1 * US, comes);
            ranked_send(&lab.ranks[r], (r + 1) % 4, 5, 8, comes + 5 * US, comes + 10 * US);
        }
        ranked_recv(&lab.ranks[0], 3, 5, 8, at + 106 * US, at + 160 * US);
    }
    ranked_lab_analyse(&lab);
    assert_true(near(saved(&lab, 0, 90 * US, 2), (STEPS - 1) * 50.0 * US));
    ranked_lab_free(&lab);
}

/* One call waits for two messages, of which rank 2's is late: when that is early, so is its end. */
static void test_two_at_once(void **state)
{
    struct ranked_lab lab;
    (void)state;
    ranked_lab_start(&lab, 3);
    for (uint64_t i = 0; i < STEPS; i++) {
        uint64_t at = 1000 * US + i * 120 * US;
        ranked_send(&lab.ranks[1], 0, 5, 8, (100 + i * 3) * US, (101 + i * 3) * US);
        ranked_irecv(&lab.ranks[0], 1, 5, 8, at, 0xa);
        ranked_irecv(&lab.ranks[0], 2, 5, 8, at + 1 * US, 0xb);
        ranked_send(&lab.ranks[2], 0, 5, 8, at + 100 * US, at + 102 * US);
        ranked_wait(&lab.ranks[0], at + 2 * US, at + 110 * US);
        ranked_ended(&lab.ranks[0], 0xa, at, at + 2 * US, at + 110 * US);
        ranked_ended(&lab.ranks[0], 0xb, at + 1 * US, at + 2 * US, at + 110 * US);
    }
    ranked_lab_analyse(&lab);
    assert_true(near(saved(&lab, 2, 90 * US, 2), (STEPS - 1) * 59.0 * US));
    assert_true(near(saved(&lab, 1, 1 * US, 2), 0));
    ranked_lab_free(&lab);
}

/* Rank 0 has nothing left to do, and ends when rank 1 does, which works for another 1 ms. */
static void test_end_together(void **state)
{
    struct ranked_lab lab;
    (void)state;
    ranked_lab_start(&lab, 2);
    ranked_send(&lab.ranks[0], 1, 5, 8, 100 * US, 110 * US);
    ranked_recv(&lab.ranks[1], 0, 5, 8, 90 * US, 120 * US);
    ranked_send(&lab.ranks[1], 1, 6, 8, 1120 * US, 1121 * US); /* to itself, and nobody receives */
    lab.ranks[0].ends_ns = 1150 * US;
    lab.ranks[1].ends_ns = 1140 * US;
    ranked_lab_analyse(&lab);
    assert_true(near(saved(&lab, 1, 500 * US, 2), 500.0 * US));
    ranked_lab_free(&lab);
}

/* Rank 0 fetches what it sends, or something else, and sends at once: that must have come before.
 */
static double asynchronous_saves(bool sends_it)
{
    struct ranked_lab lab;
    ranked_lab_start(&lab, 2);
    for (uint64_t i = 0; i < STEPS; i++) {
        uint64_t at = 100 * US + i * 400 * US;
        struct xft_event copy = test_transfer(CALL_MEMCPY, XFT_DIR_D2H, XFT_MEM_PINNED, MIB, 0, 0);
        copy.src = 0x10000000;
        copy.dst = 0x20000000;
        copy.stack = STACK_UPLOAD;
        ranked_event(&lab.ranks[0], copy, at, at + 200 * US);
        ranked_send(&lab.ranks[0], 1, 5, MIB, at + 201 * US, at + 300 * US)->src =
            sends_it ? 0x20000000 : 0x30000000;
        ranked_recv(&lab.ranks[1], 0, 5, MIB, at + 1 * US, at + 310 * US);
    }
    ranked_lab_analyse(&lab);
    struct xfw_set classes = {0};
    xfw_set_add(&classes, 0);
    struct xfw_change *change = xfw_change_async(lab.a.analysis, &classes);
    struct xfw_whatif *whatif = xfw_whatif_of(lab.a.analysis, &change, 1, NULL, NULL, NULL);
    double saving = whatif->alone[0].likely;
    xfw_whatif_free(whatif);
    xfw_change_free(change);
    ranked_lab_free(&lab);
    return saving;
}

static void test_sent_memory(void **state)
{
    (void)state;
    assert_true(asynchronous_saves(true) < (STEPS - 1) * 10.0 * US);
    assert_true(asynchronous_saves(false) > (STEPS - 1) * 80.0 * US);
}

/* Rank 0's messages are under way for `ns` less, or it waits so much less for each. */
static double cuts_save(struct ranked_lab *lab, enum xfw_cut_of of, double ns)
{
    struct xfw_cut *cuts = xfa_alloc(STEPS * sizeof *cuts);
    for (uint64_t i = 0; i < STEPS; i++) {
        double at = (double)(1000 + 110 * US + i * 150 * US);
        cuts[i] =
            (struct xfw_cut){.at_ns = at, .began_ns = at, .of = (uint8_t)of, .ns = {ns, ns, ns}};
    }
    struct xfw_change *change = xfw_change_own_time(lab->a.analysis, cuts, STEPS);
    struct xfw_whatif *whatif = xfw_whatif_of(lab->a.analysis, &change, 1, NULL, NULL, NULL);
    double saving = whatif->alone[0].likely;
    xfw_whatif_free(whatif);
    xfw_change_free(change);
    return saving;
}

/* A message that takes 10 us less ends so much earlier for both ranks. When rank 0 works while it
 * waits, rank 1 gains nothing, which receives late. */
static void test_message_takes_less(void **state)
{
    struct ranked_lab lab;
    (void)state;
    ranked_lab_start(&lab, 2);
    for (uint64_t i = 0; i < STEPS; i++) {
        uint64_t at = 100 * US + i * 150 * US;
        ranked_send(&lab.ranks[0], 1, 5, MIB, at + 10 * US, at + 150 * US);
        ranked_recv(&lab.ranks[1], 0, 5, MIB, at + 100 * US, at + 150 * US);
    }
    ranked_lab_analyse(&lab);
    assert_true(near(cuts_save(&lab, XFW_CUT_SENT, 10.0 * US), STEPS * 10.0 * US));
    assert_true(near(cuts_save(&lab, XFW_CUT_GOT, 10.0 * US), 0));
    assert_true(near(cuts_save(&lab, XFW_CUT_WAIT, 10.0 * US), 0));
    ranked_lab_free(&lab);
}

/* MPI copies device memory itself, within its call: what the call waited before was for the sender.
 */
static void copies_within(struct ranked_lab *lab)
{
    ranked_lab_start(lab, 2);
    for (uint64_t i = 0; i < STEPS; i++) {
        uint64_t at = 100 * US + i * 110 * US;
        struct xft_event copy = test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PINNED, 4096, 0, 0);
        copy.stack = STACK_UPLOAD;
        copy.correlation = (uint32_t)i + 1;
        struct xft_event device = copy;
        device.kind = XFT_EVENT_DEVICE_COPY;
        device.stack = 0;
        ranked_send(&lab->ranks[0], 1, 5, 8, at + 100 * US, at + 110 * US);
        ranked_recv(&lab->ranks[1], 0, 5, 8, at + 20 * US, at + 110 * US);
        ranked_event(&lab->ranks[1], copy, at + 105 * US, at + 109 * US);
        ranked_event(&lab->ranks[1], device, at + 106 * US, at + 108 * US);
    }
    ranked_lab_analyse(lab);
}

static void test_copies_within(void **state)
{
    struct ranked_lab lab;
    (void)state;
    copies_within(&lab);
    assert_true(near(saved(&lab, 0, 50 * US, 2), (STEPS - 1) * 50.0 * US));
    ranked_lab_free(&lab);
}

/* Who receives what is scheduled receives one process after the other, with the same times. */
struct heard {
    size_t begun, ended, ops;
    double last_ns, inner_ns;
};

static void hear_process(void *self, struct xfa_process *process)
{
    struct heard *heard = self;
    assert_int_equal(process->number, heard->begun);
    assert_int_equal(heard->begun++, heard->ended);
}

static void hear_op(void *self, const struct xfw_op *op, const struct xfw_op *recorded,
                    const struct xfw_schedule *schedule)
{
    struct heard *heard = self;
    (void)recorded;
    heard->ops++;
    if (op->what == XFW_COPY)
        heard->inner_ns = xfw_schedule_last(schedule)->call;
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
    heard->ended++;
    heard->last_ns = fmax(heard->last_ns, total_ns);
}

static void test_tap(void **state)
{
    struct heard heard = {0};
    const struct xfw_tap tap = {&heard, hear_process, hear_op, hear_after, hear_end};
    struct ranked_lab lab;
    (void)state;
    copies_within(&lab);
    assert_null(xfw_whatif_tap(lab.a.analysis, NULL, NULL, 0, &tap));
    assert_int_equal(heard.ended, 2);
    assert_true(heard.ops > (size_t)STEPS * 5);
    assert_true(near(heard.last_ns, 1000 + 100.0 * US + STEPS * 110.0 * US + 1000));
    assert_true(near(heard.inner_ns, 1000 + 100.0 * US + (STEPS - 1) * 110.0 * US + 105.0 * US));
    ranked_lab_free(&lab);
}

/* Where the ops of all are too many to be kept, each rank is played for itself. */
static void test_no_room(void **state)
{
    struct ranked_lab lab;
    (void)state;
    late_sender(&lab, false);
    struct xfw_gather *gather = xfw_gather_new(1, true, NULL);
    struct xfw_whatif *whatif = xfw_whatif_of(lab.a.analysis, NULL, 0, NULL, NULL, gather);
    assert_true(whatif->known);
    assert_int_equal(whatif->ranks.processes, 0);
    assert_true(fabs(whatif->replayed_ns - whatif->recorded_ns) < 1);
    xfw_whatif_free(whatif);
    xfw_gather_free(gather);
    ranked_lab_free(&lab);
}

/* One rank without the others is played as ever: its waits are its own time. */
static void test_alone(void **state)
{
    struct ranked_lab lab;
    (void)state;
    late_sender(&lab, false);
    analyzed_free(&lab.a);
    lab.a = analyzed_start(NULL);
    analyzed_add(&lab.a, &lab.ranks[1].b);
    analyzed_finish(&lab.a);
    lab.count = 1;
    assert_true(near(saved(&lab, 1, 10 * US, 2), 0));
    lab.count = 2;
    ranked_lab_free(&lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late_sender),
        cmocka_unit_test(test_late_receiver),
        cmocka_unit_test(test_eager),
        cmocka_unit_test(test_scan),
        cmocka_unit_test(test_scan_of_requests),
        cmocka_unit_test(test_end_of_scan),
        cmocka_unit_test(test_collective),
        cmocka_unit_test(test_ring),
        cmocka_unit_test(test_two_at_once),
        cmocka_unit_test(test_end_together),
        cmocka_unit_test(test_sent_memory),
        cmocka_unit_test(test_message_takes_less),
        cmocka_unit_test(test_copies_within),
        cmocka_unit_test(test_tap),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
