/* managed-demand-migration and managed-thrashing: what is found, and what the run would save. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"

/* Per MiB. */
#define AHEAD_NS 30000
#define BACK_NS 50000
#define FAULTS_NS 200000 /* of the host */
#define READ_NS 40000.0  /* over the link */
#define DEVICE_NS 1000.0

enum { SITE = 10, STEPS = 20, MEMORY = 0x7000000, BYTES_MIB = 8, STALLED = 1000000 };

/* Each step the host touches all of the memory, then a kernel does. */
struct steps {
    uint64_t kernel_ns; /* without waiting for pages */
    enum xft_migration_cause cause;
    uint64_t busy_ns; /* of the host, without waiting for pages */
    double demand_ns; /* per MiB, of pages that a kernel demands, by the profile; 0: not measured */
    unsigned faults;  /* of the host, in each step */
    bool given;       /* the kernel is given the memory, to write or read */
    bool written;     /* a thread that writes is spared half by a prefetch */
    bool fresh;       /* nothing moves, but the kernel's faults find new pages */
    bool looks_last;  /* the host touches the memory behind the last kernel, and frees it */
};

static void moved(struct play *play, const struct steps *steps, enum xft_direction direction,
                  uint64_t ns)
{
    const struct xft_event move = {.kind = XFT_EVENT_MIGRATION,
                                   .direction = (uint8_t)direction,
                                   .aux = steps->cause,
                                   .src = MEMORY,
                                   .bytes = MIB};
    unsigned lane = play->lane;
    uint64_t now = play->now;
    play->lane = LANE_DEVICE;
    for (unsigned i = 0; i < BYTES_MIB; i++, play->now += ns / BYTES_MIB - 100)
        play_event(play, move, 0)->end_ns += ns / BYTES_MIB;
    play->lane = lane;
    play->now = now;
}

static void fresh(struct play *play)
{
    const struct xft_event fault = {
        .kind = XFT_EVENT_FAULT, .src = MEMORY, .src_mem = XFT_MEM_MANAGED, .count = 16};
    play_event(play, fault, 0)->end_ns += STALLED;
}

static void kernel(struct play *play, const struct steps *steps, unsigned step)
{
    const struct xft_event launch = {
        .kind = XFT_EVENT_LAUNCH, .correlation = 1 + step, .aux = steps->given};
    const struct xft_event ran = {.kind = XFT_EVENT_KERNEL, .correlation = 1 + step};
    const struct xft_event wait = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT};
    uint64_t now = play_event(play, launch, 2000)->start_ns + 3000, later = play->now;
    play->now = now;
    play->lane = LANE_DEVICE;
    uint64_t end = play_event(play, ran, steps->kernel_ns + STALLED)->end_ns;
    play->now = now + 10;
    if (steps->fresh)
        fresh(play);
    else
        moved(play, steps, XFT_DIR_H2D, STALLED);
    play->lane = LANE_MAIN;
    play->now = later;
    play_event(play, wait, end + 1000 - later);
}

static struct xfp_profile *profile_of_it(const struct steps *steps)
{
    const struct xfp_place host = {XFT_MEM_MANAGED, -1, -1}, gpu = {XFT_MEM_MANAGED, 0, -1};
    const struct xfp_place mapped = {XFT_MEM_MAPPED, -1, -1}, device = {XFT_MEM_DEVICE, 0, -1};
    struct xfp_profile *profile = measured_profile(MEASURED_ALL);
    measured_path(profile, XFP_PREFETCH, XFT_DIR_H2D, host, gpu, AHEAD_NS);
    measured_path(profile, XFP_PREFETCH, XFT_DIR_D2H, gpu, host, BACK_NS);
    measured_path(profile, XFP_DEMAND, XFT_DIR_D2H, gpu, host, FAULTS_NS);
    measured_scalar(profile, "spared/managed/read/gpu0", (XFP_SPARED_BYTES >> 20) * FAULTS_NS);
    measured_scalar(profile, "spared/managed/write/gpu0",
                    (XFP_SPARED_BYTES >> 20) * FAULTS_NS / (steps->written ? 2.0 : 1));
    if (steps->demand_ns > 0)
        measured_path(profile, XFP_DEMAND, XFT_DIR_H2D, host, gpu, steps->demand_ns);
    measured_path(profile, XFP_MAPPED_READ, XFT_DIR_H2D, mapped, device, READ_NS);
    measured_path(profile, XFP_MAPPED_WRITE, XFT_DIR_D2H, device, mapped, READ_NS);
    measured_path(profile, XFP_COPY, XFT_DIR_D2D, device, device, DEVICE_NS);
    return profile;
}

static void fault(struct play *play, unsigned times)
{
    const struct xft_event touch = {.kind = XFT_EVENT_FAULT,
                                    .device = XFT_PLACE_HOST,
                                    .src = MEMORY,
                                    .src_mem = XFT_MEM_MANAGED,
                                    .count = 1};
    unsigned lane = play->lane;
    play->lane = LANE_DEVICE;
    for (unsigned i = 0; i < times; i++)
        play_event(play, touch, 0);
    play->lane = lane;
}

static struct analyzed analysis_with(const struct steps *steps, const char *assume)
{
    struct xfp_profile *profile = profile_of_it(steps);
    struct trace_builder b;
    struct play play;
    const struct xft_event alloc = {.kind = XFT_EVENT_ALLOC,
                                    .stack = SITE,
                                    .dst = MEMORY,
                                    .bytes = BYTES_MIB * MIB,
                                    .dst_mem = XFT_MEM_MANAGED};
    const struct xft_event records = {.kind = XFT_EVENT_RECORDS,
                                      .aux = XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS};
    play_start(&play, &b, 1);
    build_meta(&b, "managed", "on");
    play_site(&play, SITE, "make", 1);
    const uint64_t given = MEMORY;
    build_arguments(&b, 1, &given, 1);
    play_event(&play, records, 0);
    play_event(&play, alloc, 1000);
    for (unsigned i = 0; i < STEPS; i++) {
        if (!steps->fresh)
            moved(&play, steps, XFT_DIR_D2H, BYTES_MIB * 20000);
        fault(&play, steps->faults);
        play.now += BYTES_MIB * FAULTS_NS + steps->busy_ns;
        kernel(&play, steps, i);
    }
    if (steps->looks_last) {
        const struct xft_event over = {.kind = XFT_EVENT_FREE, .src_mem = XFT_MEM_MANAGED};
        moved(&play, steps, XFT_DIR_D2H, BYTES_MIB * 20000);
        play.now += BYTES_MIB * FAULTS_NS + steps->busy_ns;
        play_event(&play, over, 1000);
    }
    play_end(&play, XFT_STATE_CLOSED);
    return analyzed_answered(&b, profile, assume);
}

static struct analyzed analysis_of(const struct steps *steps)
{
    return analysis_with(steps, NULL);
}

static bool about(double is, double should)
{
    return fabs(is - should) < STEPS * 2000;
}

static const struct xfa_finding *demand(const struct analyzed *a)
{
    return analyzed_finding(a, XFA_FINDING_DEMAND, "make");
}

static const struct xfa_finding *thrashing(const struct analyzed *a)
{
    return analyzed_finding(a, XFA_FINDING_THRASHING, "make");
}

static void check(const struct xfa_finding *f, const struct analyzed *a, double saved,
                  const char *remedy)
{
    char text[XFA_REMEDY_CHARS];
    assert_non_null(f);
    assert_true(f == &a->findings->items[0] && !f->idle);
    assert_true(f->bytes == 2 * STEPS * BYTES_MIB * MIB);
    assert_true(about(f->lost_ns, STEPS * (STALLED + BYTES_MIB * 20000.0)));
    assert_true(about(f->saving.likely, saved));
    assert_true(f->saving.low <= f->saving.likely && f->saving.high >= f->saving.likely);
    assert_non_null(f->assumed);
    assert_non_null(strstr(xfa_remedy_text(&f->remedy, text), remedy));
    assert_int_equal(f->order, 1);
}

static double span_with_set(const struct steps *steps)
{
    struct analyzed a = analysis_of(steps);
    assert_non_null(demand(&a));
    double ns = a.findings->whatif->span.set_ns;
    analyzed_free(&a);
    return ns;
}

/* What is sent to the host behind the last kernel is waited for, as kernels were: the span ends
 * there. */
static void test_demand_behind_the_last_wait(void **state)
{
    struct steps steps = {.kernel_ns = 2000000, .cause = XFT_CAUSE_COHERENCE};
    (void)state;
    double before = span_with_set(&steps);
    steps.looks_last = true;
    assert_true(fabs(span_with_set(&steps) - before - BYTES_MIB * BACK_NS) < 10000);
}

/* Kernels that have time for all of it: it is sent ahead. */
static void test_demand(void **state)
{
    const struct steps steps = {
        .kernel_ns = 20000, .cause = XFT_CAUSE_COHERENCE, .busy_ns = 3000000};
    const double faults = STALLED + BYTES_MIB * FAULTS_NS, moves = BYTES_MIB * (AHEAD_NS + BACK_NS);
    struct analyzed a = analysis_of(&steps);
    check(demand(&a), &a, STEPS * (faults - moves + 3000), "cudaMemPrefetchAsync()");
    assert_true(!thrashing(&a) || thrashing(&a)->idle);
    analyzed_free(&a);
}

/* A kernel waits for the driver, too, which serves its faults; no record shows that. */
static void test_demand_of_the_driver(void **state)
{
    const double others = BYTES_MIB * (FAULTS_NS - AHEAD_NS - BACK_NS) + 3000.0;
    struct steps steps = {.cause = XFT_CAUSE_COHERENCE, .busy_ns = 5000000};
    const struct {
        uint64_t kernel_ns;
        double demand_ns, stalled_ns;
    } cases[] = {{STALLED, 200000, 8 * 200000},  /* most of the kernel's time */
                 {3 * STALLED, 187500, STALLED}, /* less than half of it: its own work, too */
                 {STALLED, 300000, 2 * STALLED - 8 * DEVICE_NS}}; /* but it reads the memory */
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        steps.kernel_ns = cases[i].kernel_ns;
        steps.demand_ns = cases[i].demand_ns;
        struct analyzed a = analysis_of(&steps);
        check(demand(&a), &a, STEPS * (cases[i].stalled_ns + others), "cudaMemPrefetchAsync()");
        analyzed_free(&a);
    }
}

/* By the profile its pieces take less on demand than a prefetch does: what the kernel waited longer
 * may have been for the records, and likely nothing is sent ahead to it. */
static void test_demand_of_little(void **state)
{
    const struct steps steps = {.kernel_ns = 20000,
                                .cause = XFT_CAUSE_COHERENCE,
                                .busy_ns = 3000000,
                                .demand_ns = 0.9 * AHEAD_NS};
    const double back = BYTES_MIB * (FAULTS_NS - BACK_NS);
    (void)state;
    struct analyzed a = analysis_of(&steps);
    const struct xfa_finding *f = demand(&a);
    assert_non_null(f);
    assert_true(f->saving.likely > 0.95 * STEPS * back && f->saving.likely < 1.05 * STEPS * back);
    assert_true(f->saving.high > STEPS * (back + STALLED - BYTES_MIB * AHEAD_NS));
    analyzed_free(&a);
}

/* What a kernel may have written the host reads. Where that is not known, it may as well write. */
static void test_read_or_written(void **state)
{
    struct steps steps = {
        .kernel_ns = 20000, .cause = XFT_CAUSE_COHERENCE, .busy_ns = 3000000, .written = true};
    const double faults = STALLED + BYTES_MIB * FAULTS_NS, moves = BYTES_MIB * (AHEAD_NS + BACK_NS);
    const double read = STEPS * (faults - moves + 3000);
    (void)state;
    for (unsigned given = 0; given < 2; given++) {
        steps.given = given;
        struct analyzed a = analysis_of(&steps);
        const double spared = given ? 0 : STEPS * BYTES_MIB * FAULTS_NS / 4.0;
        const struct xfa_finding *f = demand(&a);
        assert_non_null(f);
        /* The first step's is before any kernel. */
        assert_true(f->saving.likely > read - spared - BYTES_MIB * FAULTS_NS / 2 &&
                    f->saving.likely < read - spared + STEPS * 2000);
        analyzed_free(&a);
    }
}

/* Kernels that have no time to touch it: it stays, and one of the two remedies is taken. */
/* Only kernels touch it, and their faults find new pages: it is to be memory of the device. Not
 * where the host touches it, too. */
static void test_never_moved(void **state)
{
    const struct steps steps = {.kernel_ns = 1000000, .fresh = true};
    const struct steps touched = {.kernel_ns = 1000000, .fresh = true, .faults = 1};
    struct analyzed a = analysis_of(&steps);
    const struct xfa_finding *f = demand(&a);
    char text[XFA_REMEDY_CHARS];
    (void)state;
    assert_non_null(f);
    assert_false(f->idle);
    assert_true(f->bytes == BYTES_MIB * MIB);
    assert_true(about(f->lost_ns, STEPS * (double)STALLED));
    assert_true(about(f->saving.likely, STEPS * (double)STALLED));
    assert_true(f->saving.low > 0 && f->saving.low <= STEPS * STALLED / 2.0);
    assert_non_null(strstr(xfa_remedy_text(&f->remedy, text), "allocate it on the device"));
    analyzed_free(&a);
    a = analysis_of(&touched);
    assert_null(demand(&a));
    analyzed_free(&a);
}

static void test_thrashing(void **state)
{
    const struct steps steps = {.kernel_ns = 1000, .cause = XFT_CAUSE_PREFETCH, .busy_ns = 3000};
    /* What does not move in the first step had not moved to a kernel before. */
    const double faults = STEPS * STALLED + (STEPS - 1) * (double)(BYTES_MIB * FAULTS_NS);
    struct analyzed a = analysis_of(&steps);
    check(thrashing(&a), &a, faults - STEPS * (READ_NS - 1000), "SetPreferredLocation");
    assert_non_null(demand(&a));
    assert_int_equal(demand(&a)->order, 0);
    analyzed_free(&a);
}

/* Prefetches of the program's own. */
static void test_not_found(void **state)
{
    const struct steps steps = {.kernel_ns = 1000, .cause = XFT_CAUSE_USER, .busy_ns = 3000};
    struct analyzed a = analysis_of(&steps);
    assert_null(demand(&a));
    assert_true(!thrashing(&a));
    analyzed_free(&a);
}

static const struct xfa_finding *turns(const struct analyzed *a)
{
    return analyzed_finding(a, XFA_FINDING_HOST_TURNS, "make");
}

/* Could the GPU do what the host does between kernels, or have it by a small copy? Then nothing
 * moves, nobody waits, and the host's time there goes; not the first step's, before any wait, nor
 * the second one's, behind a wait that had not been for that before. */
static void test_touched_between(void **state)
{
    const struct steps steps = {.kernel_ns = 300000,
                                .cause = XFT_CAUSE_COHERENCE,
                                .busy_ns = 400000,
                                .faults = STEPS}; /* each moves a part of it */
    const double gone = STALLED + BYTES_MIB * FAULTS_NS + 400000.0;
    (void)state;
    struct analyzed a = analysis_of(&steps);
    const struct xfa_finding *f = turns(&a);
    assert_non_null(f);
    assert_true(f->asked && f->idle && f->order == 0 && fabs(f->saving.likely) < 1);
    assert_true(f->saving.high > (STEPS - 2) * gone);
    assert_true(demand(&a)->order == 1);
    char *question = xfa_finding_question(f);
    assert_non_null(strstr(question, "what the host does with the memory of make"));
    free(question);
    double up_to = xfa_finding_up_to(f);
    analyzed_free(&a);

    a = analysis_with(&steps, "host-device-turns=yes");
    f = turns(&a);
    assert_true(f && !f->asked && f->order == 1 && demand(&a)->order == 0);
    assert_true(f->saving.likely > (STEPS - 2) * gone && f->saving.likely < (STEPS - 1) * gone);
    assert_true(up_to > f->saving.likely && up_to < a.findings->whatif->set.high + 1);
    char text[XFA_REMEDY_CHARS];
    assert_non_null(strstr(xfa_remedy_text(&f->remedy, text), "cudaMemcpyAsync()"));
    analyzed_free(&a);

    a = analysis_with(&steps, "host-device-turns=no");
    assert_null(turns(&a));
    analyzed_free(&a);
}

/* The host touches it a few times, as it reads results; or by prefetches of the program's own. */
static void test_not_touched_between(void **state)
{
    struct steps steps = {.kernel_ns = 300000, .cause = XFT_CAUSE_COHERENCE, .busy_ns = 400000};
    (void)state;
    struct analyzed a = analysis_of(&steps);
    assert_null(turns(&a));
    analyzed_free(&a);
    steps.faults = STEPS;
    steps.cause = XFT_CAUSE_USER;
    a = analysis_of(&steps);
    assert_null(turns(&a));
    analyzed_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_demand_behind_the_last_wait),
        cmocka_unit_test(test_demand),
        cmocka_unit_test(test_demand_of_the_driver),
        cmocka_unit_test(test_thrashing),
        cmocka_unit_test(test_demand_of_little),
        cmocka_unit_test(test_read_or_written),
        cmocka_unit_test(test_not_found),
        cmocka_unit_test(test_never_moved),
        cmocka_unit_test(test_touched_between),
        cmocka_unit_test(test_not_touched_between),
    };
    return cmocka_run_group_tests_name("findings: managed memory", tests, NULL, NULL);
}
