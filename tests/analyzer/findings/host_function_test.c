/* host-function-in-stream: how long functions took is found from what waited for them, and what the
 * run would save if a thread of its own did their work. */
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

enum { COPY = 10, FUNCTION, WAIT, STEPS = 20, CALL_NS = 1500, WAKE_NS = 2000, STREAMS = 2 };

#define BYTES (1 * MIB)
#define COPY_NS 50000
#define FUNCTION_NS 300000

static const uint64_t host_memory = 0x7f4000000000, results = 0x7f5000000000,
                      device_memory = 0x7f0000000000;

struct run {
    struct trace_builder b;
    struct play play;
    uint64_t busy_until[STREAMS], called_until;
    uint64_t function_ns;
    bool of_results; /* what is sent is what was fetched */
};

static uint64_t later_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void copy(struct run *run, enum xft_direction direction, unsigned stream)
{
    bool up = direction == XFT_DIR_H2D;
    struct xft_event *event = play_stream_copy(&run->play, COPY, direction, BYTES, stream);
    event->src = !up ? device_memory : run->of_results ? results : host_memory;
    event->dst = up ? device_memory : results;
    play_device_copy_behind(&run->play, event, COPY_NS, &run->busy_until[stream]);
}

/* The driver calls it when its stream has come to it, and the one before has returned. */
static void function(struct run *run, unsigned stream)
{
    struct xft_event *event = play_in_stream(&run->play, XFT_EVENT_HOST_FUNCTION, stream, CALL_NS);
    event->stack = FUNCTION;
    uint64_t start =
        later_of(later_of(run->busy_until[stream], run->called_until), event->start_ns);
    run->busy_until[stream] = run->called_until = start + run->function_ns;
}

static void wait_for(struct run *run, unsigned stream)
{
    uint64_t ns = play_wait_ns(&run->play, run->busy_until[stream], WAKE_NS);
    struct xft_event *wait = play_in_stream(&run->play, XFT_EVENT_SYNC, stream, ns);
    wait->stack = WAIT;
    wait->aux = XFT_SYNC_STREAM;
}

/* hold_ns: what the profile has for a function that does nothing; 0: nothing. */
static struct analyzed played_held(uint64_t function_ns, unsigned streams, bool of_results,
                                   double hold_ns)
{
    struct run run = {.function_ns = function_ns, .of_results = of_results};
    struct xfp_profile *profile = measured_profile(0);
    const struct xft_event records = {.kind = XFT_EVENT_RECORDS,
                                      .aux = XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS};
    if (hold_ns > 0)
        measured_scalar(profile, "host-function/hold/gpu0", hold_ns);
    play_start(&run.play, &run.b, 1);
    play_site(&run.play, COPY, "fetch", 1);
    play_site(&run.play, FUNCTION, "analyse", 2);
    play_site(&run.play, WAIT, "await", 3);
    play_event(&run.play, records, 0);
    for (unsigned i = 0; i < STEPS; i++) {
        copy(&run, XFT_DIR_H2D, i % streams);
        copy(&run, XFT_DIR_D2H, i % streams);
        function(&run, i % streams);
    }
    for (unsigned stream = 0; stream < streams; stream++)
        wait_for(&run, stream);
    play_end(&run.play, XFT_STATE_CLOSED);
    return analyzed_played(&run.b, profile);
}

static struct analyzed played(uint64_t function_ns, unsigned streams, bool of_results)
{
    return played_held(function_ns, streams, of_results, 0);
}

#define CALLED_AFTER_NS 50000 /* of that, it is taken to be called by then */

/* As recorded, copies and functions take turns; then the functions follow each other, in a thread
 * that has the most to do, and are called and the copies done meanwhile. */
static void test_saved(void **state)
{
    struct analyzed a = played(FUNCTION_NS, 1, false);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_HOST_FUNCTION, "analyse");
    (void)state;
    assert_non_null(f);
    assert_int_equal(f->transfers, STEPS);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_OWN_THREAD);
    assert_true(isnan(f->lost_ns));
    assert_in_range((uint64_t)f->saving.likely,
                    (STEPS - 2) * (2 * COPY_NS + CALLED_AFTER_NS) - FUNCTION_NS,
                    STEPS * (2 * COPY_NS + CALLED_AFTER_NS));
    assert_true(f->saving.low < 1);                       /* at worst nothing */
    assert_true(f->saving.high > 1.5 * f->saving.likely); /* at best nobody waits for the thread */
    analyzed_free(&a);
}

/* The same with what the profile has for a function that does nothing: less is the driver's. */
static void test_saved_by_the_profile(void **state)
{
    const double hold_ns = 20000;
    struct analyzed a = played_held(FUNCTION_NS, 1, false, hold_ns);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_HOST_FUNCTION, "analyse");
    (void)state;
    assert_non_null(f);
    assert_true(f->saving.likely >= (STEPS - 2) * (2 * COPY_NS + hold_ns) - FUNCTION_NS);
    assert_true(f->saving.likely <= STEPS * (2 * COPY_NS + hold_ns));
    analyzed_free(&a);
}

/* The driver's one thread calls those of both streams: as it was recorded, it was, and there is
 * nothing that a thread of the program's own does faster. */
static void test_one_after_the_other(void **state)
{
    struct analyzed a = played(FUNCTION_NS, 2, false);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_HOST_FUNCTION, "analyse");
    double whole = (double)STEPS * FUNCTION_NS;
    (void)state;
    assert_true(a.findings->whatif->error < 0.01);
    assert_true(a.findings->whatif->alone_ns > whole);
    assert_true(!f || f->saving.likely < 2 * (double)FUNCTION_NS);
    analyzed_free(&a);
}

static void test_left(void **state)
{
    struct analyzed sent = played(FUNCTION_NS, 1, true), brief = played(5000, 1, false);
    (void)state;
    /* The stream needs what the function does with what it fetched. */
    assert_null(analyzed_finding(&sent, XFA_FINDING_HOST_FUNCTION, NULL));
    assert_null(analyzed_finding(&brief, XFA_FINDING_HOST_FUNCTION, NULL));
    analyzed_free(&sent);
    analyzed_free(&brief);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_saved),
        cmocka_unit_test(test_saved_by_the_profile),
        cmocka_unit_test(test_one_after_the_other),
        cmocka_unit_test(test_left),
    };
    return cmocka_run_group_tests_name("findings: host functions", tests, NULL, NULL);
}
