/* degraded-link: copies over a link that could be faster, and what the run would save. */
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

enum { SITE = 10, COPIES = 20, COPY_NS = 16 * (int)PINNED_NS, WAKE_NS = 2000 };

struct link {
    int gen, width, max_gen, max_width;
};

static void set_link(struct xfp_gpu *gpu, const struct link *link)
{
    gpu->pcie_gen = link->gen;
    gpu->pcie_width = link->width;
    gpu->pcie_max_gen = link->max_gen;
    gpu->pcie_max_width = link->max_width;
}

struct copies {
    unsigned memory;
    int count, ns;
    uint64_t bytes;
    int fast_every;  /* of so many, one takes what the profile has; 0: none does */
    int other_every; /* of so many, one goes to another GPU; 0: none does */
};

/* Copies that are waited for. Frees the profile. */
static struct analyzed copied_as(struct xfp_profile *profile, struct copies copies)
{
    struct trace_builder b;
    struct play play;
    play_start(&play, &b, 1);
    play_site(&play, SITE, "feed", 1);
    for (int i = 0; i < copies.count; i++) {
        bool fast = copies.fast_every && i % copies.fast_every == 0;
        int ns = fast ? COPY_NS : copies.ns;
        struct xft_event *call =
            play_async(&play, SITE, XFT_DIR_H2D, copies.memory, copies.bytes, ns);
        uint64_t end = call->start_ns + 500 + (uint64_t)ns;
        call->device = call->dst_place = copies.other_every && i % copies.other_every == 0 ? 1 : 0;
        struct xft_event sync = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT};
        play_event(&play, sync, end + WAKE_NS - play.now);
    }
    play_end(&play, XFT_STATE_CLOSED);
    return analyzed_played(&b, profile);
}

static struct analyzed copied_with(struct xfp_profile *profile, unsigned memory)
{
    return copied_as(profile, (struct copies){memory, COPIES, COPY_NS, 16 * MIB, 0, 0});
}

static struct analyzed copied(const struct link *link, unsigned memory)
{
    struct xfp_profile *profile = measured_profile(0);
    set_link(&profile->machine.gpus[0], link);
    return copied_with(profile, memory);
}

static const struct xfa_finding *degraded(const struct analyzed *a)
{
    return analyzed_finding(a, XFA_FINDING_DEGRADED_LINK, "feed");
}

/* Half of the lanes: half of the time, as the measured model has no fixed part. */
static void test_lanes(void **state)
{
    const struct link half = {5, 8, 5, 16};
    struct analyzed a = copied(&half, XFT_MEM_PINNED);
    const struct xfa_finding *f = degraded(&a);
    assert_non_null(f);
    assert_int_equal(f->transfers, COPIES);
    assert_true(fabs(f->lost_ns - COPIES * COPY_NS / 2.0) < 1);
    assert_true(fabs(f->saving.likely - COPIES * COPY_NS / 2.0) < 1);
    assert_true(f->saving.low < 0.6 * f->saving.likely);
    assert_non_null(f->assumed);
    analyzed_free(&a);
}

/* Generation 4 instead of 5: twice the time but for rounding of the rates. */
static void test_generation(void **state)
{
    const struct link older = {4, 16, 5, 16};
    struct analyzed a = copied(&older, XFT_MEM_PINNED);
    assert_non_null(degraded(&a));
    assert_true(fabs(degraded(&a)->saving.likely - COPIES * COPY_NS / 2.0) < COPIES * 100);
    analyzed_free(&a);
}

/* A link that is all there, or of which nothing is known; memory that the processor copies. */
static void test_left(void **state)
{
    static const struct link links[] = {{5, 16, 5, 16}, {0, 0, 0, 0}, {5, 0, 5, 16}, {9, 8, 9, 16}};
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        struct analyzed a = copied(&links[i], XFT_MEM_PINNED);
        assert_null(degraded(&a));
        analyzed_free(&a);
    }
    struct analyzed a = copied(&(struct link){5, 8, 5, 16}, XFT_MEM_PAGEABLE);
    assert_null(degraded(&a));
    analyzed_free(&a);
}

/* ---- beside its equals ----------------------------------------------------------------------- */

/* A second GPU, whose copies to it and from it take so many ns per MiB, from two nodes. */
static struct analyzed beside(const char *name, int width, double up, double down)
{
    static const struct link all_there = {5, 16, 5, 16};
    struct xfp_profile *profile = measured_profile(0);
    struct xfp_machine *machine = &profile->machine;
    const struct xfp_place other = {XFT_MEM_DEVICE, 1, -1};
    machine->gpus = realloc(machine->gpus, 2 * sizeof *machine->gpus);
    machine->gpus[1] =
        (struct xfp_gpu){.name = strdup(name), .uuid = strdup(""), .pci = strdup("")};
    machine->gpu_count = 2;
    machine->numa_nodes = 2;
    for (int node = 0; node < 2; node++) {
        const struct xfp_place host = {XFT_MEM_PINNED, -1, node};
        measured_path(profile, XFP_COPY, XFT_DIR_H2D, host, other, up * (2 - node));
        measured_path(profile, XFP_COPY, XFT_DIR_D2H, other, host, down * (2 - node));
    }
    set_link(&machine->gpus[0], &all_there);
    set_link(&machine->gpus[1], &(struct link){5, width, 5, width});
    return copied_with(profile, XFT_MEM_PINNED);
}

static void test_slower_than_its_equal(void **state)
{
    struct analyzed a = beside("Test GPU", 16, PINNED_NS / 2, PINNED_NS);
    const struct xfa_finding *f = degraded(&a);
    (void)state;
    assert_non_null(f);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_MEND_LINK);
    assert_true(fabs(f->lost_ns - COPIES * COPY_NS / 2.0) < 1);
    assert_true(fabs(f->saving.likely - COPIES * COPY_NS / 2.0) < 1);
    analyzed_free(&a);
}

/* The other direction; hardly faster; another GPU, or another link; of which nothing is known. */
static void test_no_equal(void **state)
{
    (void)state;
    struct analyzed all[] = {
        beside("Test GPU", 16, PINNED_NS, PINNED_NS / 2),
        beside("Test GPU", 16, PINNED_NS / 1.2, PINNED_NS),
        beside("Another GPU", 16, PINNED_NS / 2, PINNED_NS / 2),
        beside("Test GPU", 8, PINNED_NS / 2, PINNED_NS / 2),
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_null(degraded(&all[i]));
        analyzed_free(&all[i]);
    }
}

/* ---- beside its own figure ------------------------------------------------------------------- */

static struct analyzed slowly(struct copies copies)
{
    return copied_as(measured_profile(0), copies);
}

static void test_slower_than_measured(void **state)
{
    (void)state;
    struct analyzed a =
        slowly((struct copies){XFT_MEM_PINNED, COPIES, 2 * COPY_NS, 16 * MIB, 0, 0});
    const struct xfa_finding *f = degraded(&a);
    assert_non_null(f);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_CHECK_LINK);
    assert_int_equal(f->transfers, COPIES);
    assert_true(fabs(f->saving.likely / (COPIES * COPY_NS) - 1) < 0.03); /* shown in steps of 2 % */
    assert_true(f->saving.low <= 0);
    assert_non_null(f->assumed);
    analyzed_free(&a);
}

/* Too few, too small; some are as fast as ever; pageable; not by enough; beside another GPU. */
static void test_not_clearly_slower(void **state)
{
    static const struct copies all[] = {
        {XFT_MEM_PINNED, COPIES - 1, 2 * COPY_NS, 16 * MIB, 0, 0},
        {XFT_MEM_PINNED, COPIES, 2 * COPY_NS, 15 * MIB, 0, 0},
        {XFT_MEM_PINNED, 2 * COPIES, 2 * COPY_NS, 16 * MIB, 8, 0},
        {XFT_MEM_PAGEABLE, COPIES, 20 * COPY_NS, 16 * MIB, 0, 0},
        {XFT_MEM_PINNED, COPIES, COPY_NS + COPY_NS / 4, 16 * MIB, 0, 0},
        {XFT_MEM_PINNED, 2 * COPIES, 2 * COPY_NS, 16 * MIB, 0, 8},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct analyzed a = slowly(all[i]);
        assert_null(degraded(&a));
        analyzed_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_generation),
        cmocka_unit_test(test_left),
        cmocka_unit_test(test_slower_than_its_equal),
        cmocka_unit_test(test_no_equal),
        cmocka_unit_test(test_slower_than_measured),
        cmocka_unit_test(test_not_clearly_slower),
    };
    return cmocka_run_group_tests_name("findings: degraded links", tests, NULL, NULL);
}
