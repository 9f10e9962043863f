/* write-combined-readback: which memory it names, and what the run would save where the host reads
 * what was brought there. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"

#define CACHED_NS 100000.0    /* to read a MiB */
#define COMBINED_NS 5000000.0 /* without caches */
#define STEPS 20

enum { SITE = 10, NAME = 7, ARGUMENTS = 3, RESULTS = 0x100000000, DEVICE_MEMORY = 0x200000000 };

/* Each step: results come, are waited for, and the host does something for a time. */
struct steps {
    enum xft_memory memory;
    const char *kernel; /* its name: it is given the memory; NULL: a copy brings the results */
    uint64_t host_ns;
    bool unwaited;   /* the host does not wait for them */
    bool unmeasured; /* how long it reads */
    bool freed;      /* before the host has its time */
};

static void memory_event(struct play *play, enum xft_event_kind kind, uint64_t address,
                         enum xft_memory memory)
{
    const struct xft_event event = {.kind = (uint8_t)kind,
                                    .call = CALL_MEMCPY,
                                    .stack = SITE,
                                    .dst = address,
                                    .bytes = kind == XFT_EVENT_ALLOC ? MIB : 0,
                                    .dst_mem = (uint8_t)memory};
    play_event(play, event, 1000);
}

/* Returns when it is there. */
static uint64_t bring(struct play *play, const struct steps *steps, unsigned step)
{
    const struct xft_event launch = {
        .kind = XFT_EVENT_LAUNCH, .correlation = 1000 + step, .src = NAME, .aux = ARGUMENTS};
    const struct xft_event ran = {
        .kind = XFT_EVENT_KERNEL, .correlation = 1000 + step, .src = NAME};
    if (!steps->kernel) {
        struct xft_event *call =
            play_async(play, STACK_RESULTS, XFT_DIR_D2H, steps->memory, MIB, (uint64_t)PINNED_NS);
        call->src = DEVICE_MEMORY;
        call->dst = RESULTS;
        call->device = call->src_place = 0;
        return call->start_ns + 500 + (uint64_t)PINNED_NS;
    }
    uint64_t ready = play_event(play, launch, 2000)->start_ns + 3000, now = play->now;
    play->lane = LANE_DEVICE;
    play->now = ready;
    uint64_t end = play_event(play, ran, 20000)->end_ns;
    play->lane = LANE_MAIN;
    play->now = now;
    return end;
}

static struct analyzed analysis_of(const struct steps *steps)
{
    struct xfp_profile *profile = measured_profile(MEASURED_ALL);
    struct trace_builder b;
    struct play play;
    if (!steps->unmeasured) {
        measured_table(profile, "host-read/pinned/host", CACHED_NS);
        measured_table(profile, "host-read/write-combined/host", COMBINED_NS);
    }
    play_start(&play, &b, 1);
    play_site(&play, SITE, "make_results", 1);
    build_text(&b, NAME, steps->kernel ? steps->kernel : "none");
    build_arguments(&b, ARGUMENTS, (uint64_t[]){RESULTS}, 1);
    const struct xft_event records = {.kind = XFT_EVENT_RECORDS,
                                      .aux = XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS};
    play_event(&play, records, 0);
    memory_event(&play, XFT_EVENT_ALLOC, RESULTS, steps->memory);
    for (unsigned i = 0; i < STEPS; i++) {
        uint64_t end = bring(&play, steps, i);
        const struct xft_event wait = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT};
        if (!steps->unwaited)
            play_event(&play, wait, end + 1000 - play.now);
        if (steps->freed) {
            memory_event(&play, XFT_EVENT_FREE, RESULTS, steps->memory);
            memory_event(&play, XFT_EVENT_ALLOC, RESULTS, steps->memory);
        }
        play.now += steps->host_ns;
    }
    const struct xft_event wait = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT};
    play_event(&play, wait, 3000);
    play_end(&play, XFT_STATE_CLOSED);
    return analyzed_played(&b, profile);
}

static const struct steps read_back = {.memory = XFT_MEM_WRITE_COMBINED,
                                       .host_ns = (uint64_t)COMBINED_NS};

static void check(struct steps steps, double likely)
{
    struct analyzed a = analysis_of(&steps);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_WRITE_COMBINED, "make_results");
    assert_non_null(f);
    assert_int_equal(f->site_count, 1);
    assert_int_equal(f->transfers, STEPS);
    assert_true(f->bytes == STEPS * MIB);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_CACHED);
    assert_non_null(f->assumed);
    assert_true(isnan(f->lost_ns));
    assert_true(fabs(f->saving.likely - likely) < 0.001 * likely);
    assert_true(f->saving.low <= 0); /* the host may do something else */
    analyzed_free(&a);
}

static void test_found(void **state)
{
    const double saved = STEPS * (COMBINED_NS - CACHED_NS);
    struct steps steps = read_back;
    check(steps, saved);
    steps.host_ns = 2 * (uint64_t)COMBINED_NS; /* half of it is something else */
    check(steps, saved);
    steps.host_ns = (uint64_t)(0.75 * COMBINED_NS); /* so it is quicker than the profile has it */
    check(steps, 0.75 * saved);
}

/* A kernel that writes to it over the link. */
static void test_written_by_kernels(void **state)
{
    struct steps steps = read_back;
    steps.kernel = "_Z5solvePf"; /* solve(float *) */
    check(steps, STEPS * (COMBINED_NS - CACHED_NS));
}

static bool is_found(struct steps steps)
{
    struct analyzed a = analysis_of(&steps);
    bool is = analyzed_finding(&a, XFA_FINDING_WRITE_COMBINED, NULL) != NULL;
    analyzed_free(&a);
    return is;
}

static void test_not_found(void **state)
{
    struct steps steps = read_back;
    assert_true(is_found(steps));
    steps.memory = XFT_MEM_PINNED;
    assert_false(is_found(steps));
    steps = read_back;
    steps.host_ns = (uint64_t)(0.4 * COMBINED_NS); /* too short to have read it */
    assert_false(is_found(steps));
    steps = read_back;
    steps.unwaited = true;
    assert_false(is_found(steps));
    steps = read_back;
    steps.unmeasured = true;
    assert_false(is_found(steps));
    steps = read_back;
    steps.freed = true;
    assert_false(is_found(steps));
    steps = read_back;
    steps.kernel = "_Z4readPKf"; /* read(float const *): what such memory is for */
    assert_false(is_found(steps));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found),
        cmocka_unit_test(test_written_by_kernels),
        cmocka_unit_test(test_not_found),
    };
    return cmocka_run_group_tests_name("findings: write-combined memory", tests, NULL, NULL);
}
