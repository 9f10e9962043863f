/* mapped-memory: host memory read over the link again and again, and copies for little of it: what
 * is found, and what the run would save. */
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

#define OVER_LINK_NS 40000.0 /* per MiB */
#define ON_DEVICE_NS 1000.0

enum { SITE = 10, STEPS = 20, NAME = 7, ARGUMENTS = 3, BYTES_MIB = 16, LATENCY_NS = 3000 };
enum { CHANGE_NS = 50000, FILL_NS = 1000000 };
enum { HOST_MEMORY = 0x100000000, DEVICE_MEMORY = 0x200000000, RESULT = 0x300000000 };

/* Each step: perhaps a copy, a kernel, a wait. */
struct steps {
    bool copies;        /* to the device; the kernel is given the copy */
    const char *kernel; /* its name */
    uint64_t kernel_ns;
    bool fetches;  /* another copy reads what was filled */
    bool fills;    /* the host has time to fill all of it before each kernel */
    bool nameless; /* nobody knows what the kernel was given */
    unsigned more; /* kernels before it that are given the same */
    bool waits;    /* for each of them, too */
    bool others;   /* another thread waits behind each of them */
    bool beside;   /* of half a MiB, in every second step by three side by side, each in a stream of
                      its own, which take twice as long as one */
};

static void made(struct play *play, uint64_t address, uint64_t bytes, enum xft_memory memory)
{
    const struct xft_event alloc = {.kind = XFT_EVENT_ALLOC,
                                    .stack = SITE,
                                    .dst = address,
                                    .bytes = bytes,
                                    .dst_mem = (uint8_t)memory};
    play_event(play, alloc, 1000);
}

static uint64_t copy(struct play *play, const struct steps *steps)
{
    if (!steps->copies)
        return 0;
    struct xft_event *call = play_async(play, STACK_UPLOAD, XFT_DIR_H2D, XFT_MEM_PINNED,
                                        BYTES_MIB * MIB, BYTES_MIB * (uint64_t)PINNED_NS);
    call->src = HOST_MEMORY;
    call->dst = DEVICE_MEMORY;
    call->device = call->dst_place = 0;
    return call->start_ns + 500 + BYTES_MIB * (uint64_t)PINNED_NS;
}

static void wait_until(struct play *play, uint64_t end)
{
    const struct xft_event wait = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT};
    play_event(play, wait, end + 1000 - play->now);
}

/* Another thread waits for its work. */
static void others_wait(struct play *play, uint64_t end)
{
    play->lane = 1;
    wait_until(play, end);
    play->lane = 0;
}

/* Runs when what came before it is done, in a stream. Returns its end. */
static uint64_t kernel_in(struct play *play, const struct steps *steps, unsigned step,
                          uint64_t after, uint64_t stream)
{
    const struct xft_event launch = {.kind = XFT_EVENT_LAUNCH,
                                     .correlation = 1000 + step,
                                     .stream = stream,
                                     .flags = stream ? XFT_STREAM_KNOWN : 0,
                                     .src = NAME,
                                     .aux = steps->nameless ? 0 : ARGUMENTS};
    const struct xft_event ran = {
        .kind = XFT_EVENT_KERNEL, .correlation = 1000 + step, .stream = stream, .src = NAME};
    uint64_t ready = play_event(play, launch, 2000)->start_ns + LATENCY_NS, now = play->now;
    play->lane = LANE_DEVICE;
    play->now = after > ready ? after : ready;
    uint64_t end = play_event(play, ran, steps->kernel_ns)->end_ns;
    play->lane = LANE_MAIN;
    play->now = now;
    return end;
}

static uint64_t kernel(struct play *play, const struct steps *steps, unsigned step, uint64_t after)
{
    return kernel_in(play, steps, step, after, 0);
}

static void kernels_beside(struct play *play, const struct steps *steps, unsigned step)
{
    struct steps slower = *steps;
    uint64_t end = 0;
    slower.kernel_ns *= step % 2 ? 2 : 1;
    for (unsigned i = 0; i <= step % 2 * 2; i++)
        end = kernel_in(play, &slower, 3 * step + i, 0, 0x100 + i);
    wait_until(play, end);
}

static void kernels(struct play *play, const struct steps *steps, unsigned step, uint64_t after)
{
    for (unsigned i = 0; i <= steps->more; i++) {
        after = kernel(play, steps, step * (steps->more + 1) + i, after);
        if (steps->waits || i == steps->more)
            wait_until(play, after);
        else if (steps->others)
            others_wait(play, after);
    }
}

static struct analyzed answered(const struct steps *steps, const char *answer)
{
    const struct xfp_place host = {XFT_MEM_MAPPED, -1, -1}, gpu = {XFT_MEM_DEVICE, 0, -1};
    struct xfp_profile *profile = measured_profile(MEASURED_ALL);
    struct trace_builder b;
    struct play play;
    measured_path(profile, XFP_MAPPED_READ, XFT_DIR_H2D, host, gpu, OVER_LINK_NS);
    measured_path(profile, XFP_COPY, XFT_DIR_D2D, gpu, gpu, ON_DEVICE_NS);
    play_start(&play, &b, 1);
    play_site(&play, SITE, "make", 1);
    build_text(&b, NAME, steps->kernel);
    build_arguments(&b, ARGUMENTS,
                    (uint64_t[]){steps->copies ? DEVICE_MEMORY : HOST_MEMORY, RESULT}, 2);
    const struct xft_event records = {.kind = XFT_EVENT_RECORDS,
                                      .aux = XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS};
    play_event(&play, records, 0);
    made(&play, HOST_MEMORY, steps->beside ? MIB / 2 : BYTES_MIB * MIB, XFT_MEM_MAPPED);
    made(&play, DEVICE_MEMORY, BYTES_MIB * MIB, XFT_MEM_DEVICE);
    made(&play, RESULT, 8, XFT_MEM_DEVICE);
    for (unsigned i = 0; i < STEPS; i++) {
        play.now += steps->fills ? FILL_NS : CHANGE_NS; /* the host changes what it has */
        if (steps->beside)
            kernels_beside(&play, steps, i);
        else
            kernels(&play, steps, i, copy(&play, steps));
        if (!steps->fetches)
            continue;
        struct xft_event *back =
            play_copy(&play, STACK_RESULTS, XFT_DIR_D2H, XFT_MEM_PINNED, MIB, 30000);
        back->src = DEVICE_MEMORY;
        back->device = back->src_place = 0;
    }
    play_end(&play, XFT_STATE_CLOSED);
    return analyzed_answered(&b, profile, answer);
}

static struct analyzed analysis_of(const struct steps *steps)
{
    return answered(steps, NULL);
}

/* At best what is played as `ns` goes, and no more than that is widened by, nor than the run has.
 */
static bool at_best(const struct analyzed *a, const struct xfa_finding *f, double ns)
{
    const struct xfw_whatif *whatif = a->findings->whatif;
    double most =
        fmin(ns + xfw_unsure_ns(whatif, f->saving.likely), fmax(ns, whatif->span.alone_ns));
    return f->saving.high > ns - STEPS * 2000 && f->saving.high < most + STEPS * 2000;
}

/* The lower bound without what the replay is not sure of. */
static double low(const struct analyzed *a, const struct xfa_finding *f)
{
    return f->saving.low + xfw_unsure_ns(a->findings->whatif, f->saving.likely);
}

/* How soon kernels follow what they wait for is known to a microsecond or two. */
static bool about(double is, double should)
{
    return fabs(is - should) < STEPS * 2000;
}

/* Eight times over: 16 MiB come in one copy, and are read eight times on the device. */
static void test_read_again(void **state)
{
    const double once = BYTES_MIB * OVER_LINK_NS, copied = BYTES_MIB * PINNED_NS;
    const double read = 8 * BYTES_MIB * ON_DEVICE_NS;
    struct steps steps = {.kernel = "_Z4readPKfPd", .kernel_ns = (uint64_t)(8 * once)};
    struct analyzed a = analysis_of(&steps);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_MAPPED, "make");
    assert_non_null(f);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_STOP_MAPPING);
    assert_int_equal(f->transfers, STEPS);
    assert_true(about(f->lost_ns, STEPS * 7 * once));
    assert_true(f == &a.findings->items[0] && !f->idle);
    /* The kernel waits for its copy, which is as long under way as its launch had been at least. */
    assert_true(about(f->saving.likely, STEPS * (8 * once + LATENCY_NS - copied - read)));
    assert_true(at_best(&a, f, STEPS * (8 * once - read / 2) - copied));
    assert_true(about(low(&a, f), STEPS * (LATENCY_NS - copied)));
    assert_non_null(f->assumed);
    analyzed_free(&a);
    /* Where it may have written, or has, it has to come back. */
    steps.kernel = "read";
    a = analysis_of(&steps);
    f = analyzed_finding(&a, XFA_FINDING_MAPPED, "make");
    assert_true(about(f->saving.likely, STEPS * (8 * once + LATENCY_NS - copied - read)));
    assert_true(about(low(&a, f), STEPS * (LATENCY_NS - 2 * copied)));
    analyzed_free(&a);
    steps.kernel = "_Z4readPfPd";
    a = analysis_of(&steps);
    f = analyzed_finding(&a, XFA_FINDING_MAPPED, "make");
    assert_true(about(f->saving.likely, STEPS * (8 * once + LATENCY_NS - 2 * copied - read)));
    analyzed_free(&a);
}

/* 2 us are enough for two of the 16 MiB on the device: one is read over the link, likely. */
static void test_read_in_part(void **state)
{
    const double copied = BYTES_MIB * PINNED_NS, kernel_ns = 2000;
    struct steps steps = {.copies = true, .kernel = "look_up", .kernel_ns = (uint64_t)kernel_ns};
    struct analyzed a = analysis_of(&steps);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_MAPPED, NULL);
    assert_non_null(f);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_MAP);
    assert_int_equal(f->transfers, STEPS);
    assert_true(about(f->lost_ns, STEPS * copied * 14 / 16));
    /* Its call goes, with the time behind it, and the kernel begins as behind any launch. */
    double without = 500 + copied - LATENCY_NS + 1600;
    assert_true(about(f->saving.likely, STEPS * (without - (OVER_LINK_NS - kernel_ns))));
    assert_true(at_best(&a, f, STEPS * without));
    assert_true(about(low(&a, f), STEPS * (without - (4 * OVER_LINK_NS - kernel_ns))));
    assert_non_null(f->assumed);
    analyzed_free(&a);
}

static bool is_found(struct steps steps)
{
    struct analyzed a = analysis_of(&steps);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_MAPPED, NULL);
    bool is = f && !f->question;
    analyzed_free(&a);
    return is;
}

static bool is_asked(struct steps steps)
{
    struct analyzed a = analysis_of(&steps);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_MAPPED, NULL);
    bool is = f && f->asked;
    analyzed_free(&a);
    return is;
}

/* Three kernels that read it once each: one copy serves them all, and each has its own time left,
 * unless the host may have changed the memory between them. */
static void test_read_by_several(void **state)
{
    const double once = BYTES_MIB * OVER_LINK_NS, copied = BYTES_MIB * PINNED_NS;
    const double read = BYTES_MIB * ON_DEVICE_NS, computes = 100000;
    struct steps steps = {.kernel = "_Z4readPKfPd", .kernel_ns = (uint64_t)(once + computes)};
    steps.more = 2;
    struct analyzed a = analysis_of(&steps);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_MAPPED, "make");
    assert_non_null(f);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_STOP_MAPPING);
    assert_true(about(f->lost_ns, STEPS * 2 * once));
    assert_true(about(f->saving.likely, STEPS * (3 * (once - read) + LATENCY_NS - copied)));
    assert_true(about(low(&a, f), STEPS * (LATENCY_NS - copied)));
    analyzed_free(&a);
    steps.others = true;
    a = analysis_of(&steps);
    f = analyzed_finding(&a, XFA_FINDING_MAPPED, "make");
    assert_non_null(f);
    /* In the first step it is not seen yet who waits. */
    assert_true(about(f->lost_ns, (STEPS - 1) * 2 * once));
    assert_true(f->saving.likely > (STEPS - 1) * 2 * (once - read));
    steps.others = false;
    analyzed_free(&a);
    steps.waits = true;
    assert_false(is_found(steps));
    assert_true(is_asked(steps));
    steps.waits = false;
    steps.kernel_ns = (uint64_t)(once / 2); /* no time to read all of it */
    assert_false(is_found(steps) || is_asked(steps));
}

/* Each byte once, and the host has waited in between: a copy each time is no faster, one for good
 * is. It can be only where the host had no time to write all of it. */
static void test_read_once(void **state)
{
    const double once = BYTES_MIB * OVER_LINK_NS, read = BYTES_MIB * ON_DEVICE_NS;
    const double copied = BYTES_MIB * PINNED_NS;
    struct steps steps = {.kernel = "_Z4readPKfPd", .kernel_ns = (uint64_t)once};
    for (int faster = 0; faster < 2; faster++) { /* than by the profile */
        steps.kernel_ns = (uint64_t)(faster ? 0.9 * once : once);
        struct analyzed a = analysis_of(&steps);
        const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_MAPPED, "make");
        assert_non_null(f);
        assert_true(f->asked && f->question && isnan(f->lost_ns));
        assert_true(f->saving.likely == 0);
        double gain = STEPS * ((double)steps.kernel_ns - read / 2) - copied;
        assert_true(at_best(&a, f, gain));
        analyzed_free(&a);
    }
    steps.kernel_ns = (uint64_t)(0.7 * once); /* a part of it */
    assert_false(is_found(steps) || is_asked(steps));
    steps.kernel_ns = (uint64_t)once;
    steps.fills = true;
    assert_false(is_found(steps) || is_asked(steps));
}

/* The same, and the answer is yes. */
static void test_left_unchanged(void **state)
{
    const double once = BYTES_MIB * OVER_LINK_NS, read = BYTES_MIB * ON_DEVICE_NS;
    const struct steps steps = {.kernel = "_Z4readPKfPd", .kernel_ns = (uint64_t)once};
    struct analyzed a = answered(&steps, "mapped-memory=yes");
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_MAPPED, "make");
    assert_non_null(f);
    assert_false(f->asked);
    assert_true(about(f->saving.likely, STEPS * (once - read) - BYTES_MIB * PINNED_NS));
    analyzed_free(&a);
}

/* Kernels side by side are as fast as one alone once they do not share the link: of which the one
 * in the other steps shows what it takes. What that is beyond reading all once they still take. */
static void test_read_beside(void **state)
{
    const double once = OVER_LINK_NS / 2, read = ON_DEVICE_NS / 2, alone = 2.5 * once;
    struct steps steps = {.kernel = "_Z4readPKfPd", .kernel_ns = (uint64_t)alone, .beside = true};
    struct analyzed a = analysis_of(&steps);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_MAPPED, "make");
    assert_non_null(f);
    const double left = alone - once + read, copied = PINNED_NS / 2;
    const double single = alone - left - copied, three = 2 * alone - left;
    const double first = once - read - copied; /* of the first three it is not seen yet */
    const double gain = STEPS / 2 * (single + three) - three + first;
    assert_true(about(f->saving.likely, gain));
    assert_true(f->saving.high > gain + STEPS / 2 * left);
    analyzed_free(&a);
}

static void test_not_found(void **state)
{
    const uint64_t once = BYTES_MIB * (uint64_t)OVER_LINK_NS;
    struct steps reads = {.kernel = "read", .kernel_ns = 2 * once};
    struct steps copies = {.copies = true, .kernel = "look_up", .kernel_ns = 2000};
    assert_true(is_found(reads) && is_found(copies));
    reads.nameless = copies.nameless = true; /* who was given it? */
    assert_false(is_found(reads) || is_found(copies));
    reads.nameless = copies.nameless = false;
    reads.kernel_ns = once; /* each byte once: a copy is no faster */
    assert_false(is_found(reads));
    reads.kernel_ns = 200 * once; /* computes */
    assert_false(is_found(reads));
    copies.kernel_ns = 8000; /* may read half of it */
    assert_false(is_found(copies));
    copies.kernel_ns = 2000;
    copies.kernel = "_Z7look_upPfPd"; /* writes to it */
    assert_false(is_found(copies));
    copies.kernel = "_Z7look_upPKfPd";
    assert_true(is_found(copies));
    copies.fetches = true;
    assert_false(is_found(copies));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_again),      cmocka_unit_test(test_read_in_part),
        cmocka_unit_test(test_read_by_several), cmocka_unit_test(test_read_once),
        cmocka_unit_test(test_left_unchanged),  cmocka_unit_test(test_read_beside),
        cmocka_unit_test(test_not_found),
    };
    return cmocka_run_group_tests_name("findings: mapped memory", tests, NULL, NULL);
}
