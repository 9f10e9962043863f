/* narrow-rows: which copies it names, and what the run would save. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/play.h"

#define MIB ((uint64_t)1 << 20)

enum { SITE = 10, COUNT = 30, NARROW_NS = 90000 };

struct copies {
    enum xft_direction direction;
    enum xft_memory memory;
    uint64_t width, ns;
    uint32_t batch; /* copies in each call */
};

static struct analyzed analysis_of(const struct copies *copies)
{
    struct xfp_profile *profile = scenario_profile();
    if (copies->memory == XFT_MEM_PAGEABLE) {
        struct xfp_path *path = &profile->paths[0];
        path->src.memory = XFT_MEM_PAGEABLE;
        for (size_t i = 0; i < path->point_count; i++)
            path->points[i].blocking_ns = path->points[i].median_ns;
    }
    struct trace_builder b;
    struct play play;
    play_start(&play, &b, 1);
    play_site(&play, SITE, "columns", 1);
    for (unsigned i = 0; i < COUNT; i++) {
        struct xft_event *call =
            copies->memory == XFT_MEM_PAGEABLE
                ? play_copy(&play, SITE, copies->direction, copies->memory, MIB, copies->ns)
                : play_async(&play, SITE, copies->direction, copies->memory, MIB, copies->ns);
        call->width = copies->width;
        call->count = copies->batch ? copies->batch : 1;
        const struct xft_event wait = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT};
        play_event(&play, wait, copies->ns);
    }
    play_end(&play, XFT_STATE_CLOSED);
    return analyzed_answered(&b, profile, NULL);
}

static void check(enum xft_direction direction)
{
    const struct copies copies = {direction, XFT_MEM_PINNED, 32, NARROW_NS, 0};
    const double lost = COUNT * (NARROW_NS - link_ns(MIB));
    char text[XFA_REMEDY_CHARS];
    struct analyzed a = analysis_of(&copies);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_NARROW, "columns");
    assert_non_null(f);
    assert_int_equal(f->transfers, COUNT);
    assert_true(fabs(f->lost_ns - lost) < 1);
    assert_true(a.findings->whatif->known);
    assert_true(fabs(f->saving.likely - lost) < 0.01 * lost);
    assert_true(f->saving.low < 0); /* when the host has to gather the rows each time */
    assert_non_null(f->assumed);
    assert_non_null(strstr(xfa_remedy_text(&f->remedy, text), "one behind the other"));
    analyzed_free(&a);
}

static void test_found(void **state)
{
    check(XFT_DIR_H2D);
    check(XFT_DIR_D2H);
}

static bool is_found(struct copies copies)
{
    struct analyzed a = analysis_of(&copies);
    bool is = analyzed_finding(&a, XFA_FINDING_NARROW, NULL) != NULL;
    analyzed_free(&a);
    return is;
}

static void test_not_found(void **state)
{
    struct copies copies = {XFT_DIR_H2D, XFT_MEM_PINNED, 32, NARROW_NS, 0};
    assert_true(is_found(copies));
    copies.width = MIB; /* slow for other reasons */
    assert_false(is_found(copies));
    copies.width = 32;
    copies.batch = 4;
    assert_false(is_found(copies));
    copies.batch = 0;
    copies.ns = (uint64_t)link_ns(MIB); /* rows that are wide enough */
    assert_false(is_found(copies));
}

/* The driver gathers them, in the call: that takes longer than one run of pageable bytes. */
static void test_of_pageable_memory(void **state)
{
    assert_true(is_found((struct copies){XFT_DIR_H2D, XFT_MEM_PAGEABLE, 32, 4 * NARROW_NS, 0}));
    assert_false(is_found((struct copies){XFT_DIR_H2D, XFT_MEM_PAGEABLE, MIB, 4 * NARROW_NS, 0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found),
        cmocka_unit_test(test_not_found),
        cmocka_unit_test(test_of_pageable_memory),
    };
    return cmocka_run_group_tests_name("findings: narrow rows", tests, NULL, NULL);
}
