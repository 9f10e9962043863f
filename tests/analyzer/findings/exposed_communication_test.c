/* exposed-communication: time of messages without a kernel beside it, a question. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/ranked.h"

enum { STEPS = 50, STEP_NS = 1000000, CALL_NS = 200000 };

/* A call of 200 us in each step, of 1 ms; a kernel from there on, since the step began. */
static struct analyzed played(uint64_t kernel_from, uint64_t kernel_ns, const char *kernels)
{
    struct ranked r;
    struct xfp_profile *profile = scenario_profile();
    struct xft_event copy = test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PINNED, 64, 0, 0);
    copy.stack = STACK_UPLOAD;
    ranked_start(&r, 0, 2, "node1");
    build_meta(&r.b, "kernels", kernels);
    for (uint64_t i = 0; i <= STEPS; i++) {
        uint64_t at = 100000 + i * STEP_NS;
        ranked_event(&r, copy, at, at + 10000);
        if (i == STEPS)
            break;
        ranked_recv(&r, 1, 5, 1000, at + 300000, at + 300000 + CALL_NS);
        ranked_irecv(&r, 1, 5, 1000, at + 600000, 0xb);
        if (kernel_ns)
            ranked_event(&r, (struct xft_event){.kind = XFT_EVENT_KERNEL}, at + kernel_from,
                         at + kernel_from + kernel_ns);
    }
    ranked_end(&r);
    return analyzed_played(&r.b, profile);
}

static const struct xfa_finding *exposed(const struct analyzed *a)
{
    return analyzed_finding(a, XFA_FINDING_EXPOSED_COMMUNICATION, NULL);
}

/* Likely nothing, at best all of it: that is asked. */
static void test_question(void **state)
{
    struct analyzed a = played(550000, 300000, "on");
    const struct xfa_finding *f = exposed(&a);
    (void)state;
    assert_non_null(f);
    assert_int_equal(f->transfers, STEPS);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_OVERLAP_MESSAGES);
    assert_true(fabs(f->lost_ns - STEPS * (double)CALL_NS) < 1);
    assert_true(fabs(f->saving.likely) < STEPS * 100);
    assert_true(f->saving.high >= 0.95 * STEPS * CALL_NS);
    assert_true(f->asked);
    analyzed_free(&a);
}

/* A kernel beside a part of the call: before, within, behind. No more than kernels run. */
static void test_in_part(void **state)
{
    static const struct {
        uint64_t from, ns;
        double lost;
    } kernels[] = {{0, 350000, 150000},
                   {350000, 100000, 100000},
                   {400000, 500000, 100000},
                   {600000, 50000, 50000}};
    (void)state;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        struct analyzed a = played(kernels[i].from, kernels[i].ns, "on");
        assert_non_null(exposed(&a));
        assert_true(fabs(exposed(&a)->lost_ns - STEPS * kernels[i].lost) < 1);
        analyzed_free(&a);
    }
}

/* All of it beside a kernel, no kernel at all, kernels that were not recorded: nothing is said. */
static void test_left(void **state)
{
    (void)state;
    struct analyzed a = played(250000, 300000, "on");
    assert_null(exposed(&a));
    analyzed_free(&a);
    a = played(0, 0, "on");
    assert_null(exposed(&a));
    analyzed_free(&a);
    a = played(550000, 300000, "off");
    assert_null(exposed(&a));
    analyzed_free(&a);
}

/* ---- NCCL ------------------------------------------------------------------------------------ */

#define US UINT64_C(1000)

enum { STREAM = 0x10, OTHER_STREAM = 0x20, REDUCED_US = 200 };

static void launch(struct ranked *r, uint32_t number, uint64_t stream, uint64_t at, uint64_t from,
                   uint64_t to)
{
    struct xft_event event = {.kind = XFT_EVENT_LAUNCH,
                              .flags = XFT_STREAM_KNOWN,
                              .stream = stream,
                              .correlation = number};
    ranked_event(r, event, at, at + US);
    event.kind = XFT_EVENT_KERNEL;
    event.flags = 0;
    ranked_event(r, event, from, to);
}

static void await(struct ranked *r, uint64_t from, uint64_t to)
{
    const struct xft_event event = {.kind = XFT_EVENT_SYNC,
                                    .aux = XFT_SYNC_STREAM,
                                    .flags = XFT_STREAM_KNOWN,
                                    .stream = STREAM};
    ranked_event(r, event, from, to);
}

/* An all-reduce of 200 us, for which the host waits, behind a kernel of so long; beside it another
 * one, and a receive of MPI. */
static struct analyzed reduced(uint64_t kernel_us, uint64_t beside_us, uint64_t received_us)
{
    struct ranked r;
    struct xfp_profile *profile = scenario_profile();
    uint32_t number = 0;
    ranked_start(&r, 0, 2, "node1");
    ranked_event(&r,
                 (struct xft_event){.kind = XFT_EVENT_RECORDS,
                                    .aux = XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS},
                 0, 0);
    for (uint64_t i = 0; i < STEPS; i++) {
        uint64_t at = 100 * US + i * STEP_NS, call = at + 20 * US + kernel_us * US;
        uint64_t begins = call + 10 * US, ends = begins + REDUCED_US * US;
        launch(&r, ++number, STREAM, at, at + 10 * US, at + (10 + kernel_us) * US);
        if (beside_us)
            launch(&r, ++number, OTHER_STREAM, at + 2 * US, begins, begins + beside_us * US);
        struct xft_event *event =
            ranked_collective(&r, XFT_MESSAGE_ALLREDUCE, 1 << 20, call, call + 3 * US);
        event->call = CALL_NCCL;
        event->flags = XFT_ASYNC | XFT_STREAM_KNOWN;
        event->stream = STREAM;
        event->correlation = ++number;
        launch(&r, number, STREAM, call + US, begins, ends);
        if (received_us)
            ranked_recv(&r, 1, 5, 1000, call + 4 * US, call + (4 + received_us) * US);
        await(&r, call + (5 + received_us) * US, ends + 2 * US);
    }
    ranked_end(&r);
    return analyzed_played(&r.b, profile);
}

static const struct xfa_finding *exposed_as(const struct analyzed *a, enum xfa_remedy_kind remedy)
{
    for (size_t i = 0; i < a->findings->count; i++)
        if (a->findings->items[i].id == XFA_FINDING_EXPOSED_COMMUNICATION &&
            a->findings->items[i].remedy.kind == remedy)
            return &a->findings->items[i];
    return NULL;
}

/* Kernels of NCCL are no work that others could be beside; at best all of their time is hidden. */
static void test_nccl(void **state)
{
    (void)state;
    struct analyzed a = reduced(300, 0, 0);
    const struct xfa_finding *f = exposed_as(&a, XFA_REMEDY_OVERLAP_COLLECTIVES);
    assert_non_null(f);
    assert_null(exposed_as(&a, XFA_REMEDY_OVERLAP_MESSAGES));
    assert_int_equal(f->transfers, STEPS);
    assert_int_equal(f->bytes, (uint64_t)STEPS << 20);
    assert_true(fabs(f->lost_ns - STEPS * (double)REDUCED_US * US) < 1);
    assert_true(fabs(f->saving.likely) < STEPS * 100);
    assert_true(f->saving.high >= 0.9 * STEPS * REDUCED_US * US);
    assert_true(f->saving.high <= 1.05 * STEPS * REDUCED_US * US);
    assert_true(f->asked);
    analyzed_free(&a);
}

/* Beside another kernel in part; no more than the others' kernels run; beside a receive of MPI,
 * which is exposed as well. */
static void test_nccl_in_part(void **state)
{
    (void)state;
    struct analyzed a = reduced(300, 120, 0);
    const struct xfa_finding *f = exposed_as(&a, XFA_REMEDY_OVERLAP_COLLECTIVES);
    assert_non_null(f);
    assert_true(fabs(f->lost_ns - STEPS * 80e3) < 1);
    analyzed_free(&a);
    a = reduced(50, 0, 0);
    f = exposed_as(&a, XFA_REMEDY_OVERLAP_COLLECTIVES);
    assert_non_null(f);
    assert_true(fabs(f->lost_ns - STEPS * 50e3) < 1);
    analyzed_free(&a);
    a = reduced(300, 0, 100);
    f = exposed_as(&a, XFA_REMEDY_OVERLAP_MESSAGES);
    assert_non_null(f);
    assert_true(fabs(f->lost_ns - STEPS * 100e3) < 1);
    analyzed_free(&a);
    a = reduced(300, REDUCED_US, 0);
    assert_null(exposed_as(&a, XFA_REMEDY_OVERLAP_COLLECTIVES));
    analyzed_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_question),     cmocka_unit_test(test_in_part),
        cmocka_unit_test(test_left),         cmocka_unit_test(test_nccl),
        cmocka_unit_test(test_nccl_in_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
