/* Work that functions of the host hand to a thread which makes no call of CUDA: found from when the
 * thread that waits for it goes on, and followed where what is before it moves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/whatif/ops/jobs.h"
#include "tests/analyzer/lab/hand_ops.h"

enum { US = 1000, CALL = 2 * US, STREAMS = 2, STEPS = 64, STEP_OPS = 5 };
enum { COPIES = 10, CALLS, WAITS }; /* call stacks */
#define JOB (300.0 * US)

/* What the thread does behind each wait: it waits for the job, works as long each time, or nothing.
 */
enum does { WAITS_FOR_JOB, WORKS, GOES_ON };

static struct xfw_op ops[STEPS * STEP_OPS + 1];
static size_t count;
static double now, stream_end[STREAMS], job_end[STEPS], idle;
static bool for_device; /* what the thread waits for: all there is */

static struct xfw_op *add(struct xfw_op op, uint32_t stream, uint32_t stack, double gap)
{
    op.number = count;
    op.thread = 0;
    op.stream = stream;
    op.stack = stack;
    op.gap_ns = gap;
    op.own_ns = CALL;
    op.start_ns = now + gap;
    now = op.end_ns = op.start_ns + CALL;
    ops[count] = op;
    return &ops[count++];
}

/* The thread's own time before each step, and what kernels take, differ. */
static double fill_ns(unsigned step)
{
    return 15.0 * US + (step * 2654435761u >> 16) % (10 * US);
}

static double kernel_ns(unsigned step)
{
    return (20 + step * 37 % 50) * (double)US;
}

static void submit(unsigned step, double gap)
{
    uint32_t stream = step % STREAMS;
    struct xfw_op *kernel =
        add(hand_work(XFW_KERNEL, stream, CALL, 0, kernel_ns(step)), stream, COPIES, gap);
    kernel->device_start_ns = xfw_max(kernel->start_ns, stream_end[stream]);
    stream_end[stream] = kernel->device_end_ns = kernel->device_start_ns + kernel_ns(step);
    struct xfw_op function = hand_work(XFW_HOST_FUNCTION, stream, CALL, 0, 0);
    function.kind = XFT_EVENT_HOST_FUNCTION;
    double called = xfw_max(add(function, stream, CALLS, 0)->start_ns, stream_end[stream]);
    job_end[step] = idle = xfw_max(idle, called) + JOB;
    struct xfw_op *record = add(hand_op(XFW_RECORD, XFT_EVENT_RECORD, CALL), stream, 0, 0);
    record->event = stream;
}

/* Until the step is done; returns the own time behind that. */
static double wait_for(unsigned step, enum does does)
{
    struct xfw_op wait = hand_op(XFW_CALL, XFT_EVENT_SYNC, 0);
    wait.awaits = for_device ? XFW_AWAITS_DEVICE : XFW_AWAITS_EVENT;
    wait.event = step % STREAMS;
    struct xfw_op *waited = add(wait, XFW_NONE, WAITS, 0);
    for (unsigned i = 0; i < STREAMS; i++)
        if (for_device || i == step % STREAMS)
            now = waited->end_ns = xfw_max(now, stream_end[i]);
    return does == WORKS ? JOB : does == WAITS_FOR_JOB ? xfw_max(0, job_end[step] - now) : 0;
}

static struct xfw_jobs *noted(enum does does, bool *any)
{
    struct xfw_jobs *jobs = xfw_jobs_new();
    double gap = 0;
    count = 0;
    now = idle = 0;
    for (unsigned i = 0; i < STREAMS; i++)
        stream_end[i] = 0;
    for (unsigned step = 0; step < STEPS; step++) {
        gap = step < STREAMS ? 0 : wait_for(step - STREAMS, does);
        submit(step, gap + fill_ns(step));
    }
    for (size_t i = 0; i < count; i++)
        xfw_jobs_note(jobs, &ops[i]);
    *any = xfw_jobs_decide(jobs);
    return jobs;
}

/* Each wait is for the job of its own stream, which was called STREAMS steps before. */
static void waits_for_jobs(void)
{
    bool any;
    struct xfw_jobs *jobs = noted(WAITS_FOR_JOB, &any);
    uint64_t functions[STEPS];
    unsigned waits = 0, steps = 0;
    assert_true(any);
    xfw_jobs_again(jobs);
    for (size_t i = 0; i < count; i++) {
        struct xfw_op before = ops[i];
        xfw_jobs_split(jobs, &ops[i]);
        if (ops[i].what == XFW_HOST_FUNCTION) {
            assert_true(fabs(ops[i].job_ns - JOB) < 5 * US);
            functions[steps++] = ops[i].number + 1;
        }
        if (!ops[i].for_job)
            continue;
        assert_int_equal(ops[i].woken_by_stream, functions[steps - STREAMS]);
        waits++;
        assert_int_equal(ops[i].what, XFW_KERNEL);
        assert_true(before.gap_ns >= ops[i].gap_ns);
        assert_true(ops[i].gap_ns < 40 * US);
    }
    assert_true(waits + 1 >= STEPS - STREAMS && waits <= STEPS - STREAMS);
    xfw_jobs_free(jobs);
}

static void test_waits_for_jobs(void **state)
{
    (void)state;
    waits_for_jobs();
}

/* All functions are behind a wait for the device: the job may be that of an earlier one. */
static void test_waits_for_the_device(void **state)
{
    (void)state;
    for_device = true;
    waits_for_jobs();
    for_device = false;
}

/* Once kernels take no time the jobs take what they took: they decide how long it all takes. */
static void test_jobs_stay(void **state)
{
    bool any;
    struct xfw_jobs *jobs = noted(WAITS_FOR_JOB, &any);
    (void)state;
    xfw_jobs_again(jobs);
    double before = hand_play(ops, count, NULL, XFW_LIKELY);
    for (size_t i = 0; i < count; i++) {
        xfw_jobs_split(jobs, &ops[i]);
        ops[i].duration_ns = ops[i].what == XFW_KERNEL ? 0 : ops[i].duration_ns;
    }
    double after = hand_play(ops, count, NULL, XFW_LIKELY);
    assert_true(before > (STEPS - STREAMS) * JOB);
    assert_true(after > (STEPS - STREAMS) * JOB);
    xfw_jobs_free(jobs);
}

/* Own work takes as long behind each wait, whenever the functions were called. */
static void test_own_work(void **state)
{
    bool any;
    (void)state;
    xfw_jobs_free(noted(WORKS, &any));
    assert_false(any);
    xfw_jobs_free(noted(GOES_ON, &any));
    assert_false(any);
}

/* Functions that nobody had to wait for take what the others of their call site do, as far as they
 * were done by then. */
static void test_usual_time(void **state)
{
    enum { UNKNOWN = 2 };
    bool any;
    struct xfw_jobs *jobs = noted(GOES_ON, &any);
    unsigned functions = 0;
    (void)state;
    xfw_jobs_free(jobs);
    jobs = xfw_jobs_new();
    for (size_t i = 0; i < count; i++) {
        struct xfw_op *op = &ops[i];
        if (op->what == XFW_HOST_FUNCTION && functions++ < UNKNOWN) {
            op->done_ns = functions == 1 ? op->end_ns + 1000 * US : op->end_ns + 180 * US;
        } else if (op->what == XFW_HOST_FUNCTION) {
            op->device_start_ns = op->end_ns + 10000 * US;
            op->device_end_ns = op->device_start_ns + 100 * US;
            op->duration_ns = 100 * US;
        }
        xfw_jobs_note(jobs, op);
    }
    assert_true(xfw_jobs_decide(jobs));
    xfw_jobs_again(jobs);
    functions = 0;
    for (size_t i = 0; i < count; i++) {
        xfw_jobs_split(jobs, &ops[i]);
        if (ops[i].what != XFW_HOST_FUNCTION || functions++ >= UNKNOWN)
            continue;
        assert_true(functions == 1 ? ops[i].duration_ns == 100 * US
                                   : ops[i].duration_ns > 0 && ops[i].duration_ns < 100 * US);
        assert_int_equal(ops[i].engine, XFW_CALLS);
    }
    xfw_jobs_free(jobs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits_for_jobs), cmocka_unit_test(test_waits_for_the_device),
        cmocka_unit_test(test_jobs_stay),      cmocka_unit_test(test_own_work),
        cmocka_unit_test(test_usual_time),
    };
    return cmocka_run_group_tests_name("what-if: jobs that functions hand on", tests, NULL, NULL);
}
