/* Copies that take another time: page-locked, staged, moved elsewhere, and what they cost; 2D
 * copies that become contiguous. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"
#include "tests/analyzer/lab/hand_ops.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"
#include "tests/analyzer/lab/played.h"
#include "tests/analyzer/traces/scenario.h"

#define AT ((uint64_t)0x10000000)

enum { SITE = 10 };

struct copies {
    struct xfp_profile *profile;
    struct analyzed a;
    const struct xfp_path *pinned;
    struct xfw_buffers buffers;
};

/* A run of one class of copies, which the ops are of: pageable memory to the GPU. */
static void copies_start(struct copies *copies, bool async)
{
    struct trace_builder b;
    struct play play;
    play_start(&play, &b, 1);
    play_site(&play, SITE, "feed", 1);
    if (async)
        play_async(&play, SITE, XFT_DIR_H2D, XFT_MEM_PAGEABLE, MIB, 5000);
    else
        play_copy(&play, SITE, XFT_DIR_H2D, XFT_MEM_PAGEABLE, MIB, 100000);
    play_end(&play, XFT_STATE_CLOSED);
    *copies = (struct copies){.profile = measured_profile(MEASURED_ALL)};
    copies->a = analyzed_trace(&b, copies->profile);
    build_free(&b);
    copies->pinned =
        xfp_find(copies->profile, XFP_COPY, (struct xfp_place){XFT_MEM_REGISTERED, -1, -1},
                 (struct xfp_place){XFT_MEM_DEVICE, 0, -1}, false);
    assert_non_null(copies->pinned);
}

static void copies_end(struct copies *copies)
{
    xfw_buffers_free(&copies->buffers);
    analyzed_free(&copies->a);
    xfp_free(copies->profile);
}

/* One that took 100 us for each MiB, as pageable memory does: the call until it is staged. */
static struct xfw_op *copy(struct copies *copies, struct played *played, uint64_t at,
                           uint64_t bytes)
{
    struct xfw_op *op = played_copy(played, 1000, 0, PAGEABLE_NS * (double)bytes / (double)MIB);
    op->awaits = XFW_AWAITS_ITSELF;
    op->src = at;
    op->bytes = bytes;
    xfw_buffers_add(&copies->buffers, 0, 9, at, bytes);
    return op;
}

static double with(struct copies *copies, const struct played *played, struct xfw_times_terms terms,
                   enum xfw_certainty certainty)
{
    struct xfw_new_path path = {.class = 0, .to = copies->pinned};
    terms.buffers = &copies->buffers;
    struct xfw_change *change = xfw_change_times(copies->a.analysis, &path, 1, &terms);
    double ns = played_ns(played, copies->a.analysis, change, certainty);
    xfw_change_free(change);
    return ns;
}

static double unchanged(struct copies *copies, const struct played *played)
{
    return played_ns(played, copies->a.analysis, NULL, XFW_LIKELY);
}

#define BLOCKING(mib) (PINNED_NS * (mib) + BLOCKING_MORE_NS)
#define LOCKING(mib) (REGISTER_BASE_NS + REGISTER_NS * (mib))

/* Each buffer is locked before its first use; two that touch are one. */
static void test_once(void **state)
{
    struct copies copies;
    struct played played = {0};
    copies_start(&copies, false);
    copy(&copies, &played, AT, MIB);
    copy(&copies, &played, AT + MIB, MIB);
    copy(&copies, &played, AT, 2 * MIB);
    copy(&copies, &played, AT + 64 * MIB, 4 * MIB);
    assert_true(unchanged(&copies, &played) == 4 * 1000 + 8 * PAGEABLE_NS);
    const struct xfw_times_terms once = {.pinning = XFW_PIN_ONCE};
    double copying = 4 * 1000 + 2 * BLOCKING(1) + BLOCKING(2) + BLOCKING(4);
    assert_true(with(&copies, &played, once, XFW_LIKELY) == copying + LOCKING(2) + LOCKING(4));
    assert_true(with(&copies, &played, once, XFW_LOW) == copying + LOCKING(2) + LOCKING(4));
    const struct xfw_times_terms per_use = {.pinning = XFW_PIN_PER_USE};
    assert_true(with(&copies, &played, per_use, XFW_LIKELY) ==
                copying + 2 * LOCKING(1) + LOCKING(2) + LOCKING(4));
    copies_end(&copies);
}

/* A buffer is page-locked once in the way that takes least of those that were measured; around each
 * use it can only be registered. */
static void test_once_in_the_cheapest_way(void **state)
{
    struct copies copies;
    struct played played = {0};
    copies_start(&copies, false);
    copy(&copies, &played, AT, 8 * MIB);
    const struct xfw_times_terms once = {.pinning = XFW_PIN_ONCE};
    const struct xfw_times_terms per_use = {.pinning = XFW_PIN_PER_USE};
    const double rest = 1000 + BLOCKING(8);
    measured_table(copies.profile, "alloc/pinned/gpu0", 30000);
    tables_anew(&copies.a.analysis->achievable);
    assert_true(with(&copies, &played, once, XFW_LIKELY) == rest + LOCKING(8)); /* free unknown */
    measured_table(copies.profile, "free/pinned/gpu0", 10000);
    tables_anew(&copies.a.analysis->achievable);
    assert_true(with(&copies, &played, once, XFW_LIKELY) == rest + 8 * 40000);
    measured_table(copies.profile, "lock/threads4/gpu0", 20000);
    measured_table(copies.profile, "unlock/threads4/gpu0", 5000);
    tables_anew(&copies.a.analysis->achievable);
    assert_true(with(&copies, &played, once, XFW_LIKELY) == rest + 8 * 25000);
    assert_true(with(&copies, &played, per_use, XFW_LIKELY) == rest + LOCKING(8));
    copies_end(&copies);
}

/* What took many times what it should had other reasons, which stay. */
static void test_other_reasons(void **state)
{
    struct copies copies;
    struct played played = {0};
    const struct xfw_times_terms once = {.pinning = XFW_PIN_ONCE};
    copies_start(&copies, false);
    copy(&copies, &played, AT, MIB)->duration_ns = 10 * PAGEABLE_NS;
    assert_true(with(&copies, &played, once, XFW_LIKELY) ==
                1000 + LOCKING(1) + 9 * PAGEABLE_NS + BLOCKING(1));
    played.ops[0].duration_ns = 3 * PAGEABLE_NS;
    assert_true(with(&copies, &played, once, XFW_LIKELY) == 1000 + LOCKING(1) + BLOCKING(1));
    copies_end(&copies);
}

/* So much for each MiB, without error. */
static void exact_table(struct xfp_profile *profile, const char *name, double ns)
{
    measured_table(profile, name, ns);
    struct xfp_table *table = &profile->tables[profile->table_count - 1];
    for (size_t i = 0; i < table->row_count; i++)
        table->rows[i].cost.ci_low = table->rows[i].cost.ci_high = table->rows[i].cost.median;
}

/* A copy whose call's page faults made the memory: page-locking makes it instead, in the way that
 * takes the least; what it took beside that stays. */
static void test_made(void **state)
{
    struct copies copies;
    struct played played = {0};
    struct xfw_marks made = {0};
    struct xfw_times_terms once = {.pinning = XFW_PIN_ONCE, .made = &made};
    const double pages_ns = 256 * 2000, touch_ns = 300000, other_ns = 9 * PAGEABLE_NS;
    const double rest = 1000 + BLOCKING(1) + other_ns;
    copies_start(&copies, false);
    copy(&copies, &played, AT, MIB)->duration_ns = PAGEABLE_NS + other_ns;
    assert_true(with(&copies, &played, once, XFW_LIKELY) == rest + LOCKING(1));
    xfw_mark(&made, 0, 0);
    /* Without figures: three quarters of the call, and 0.7 us to touch a page. */
    assert_true(fabs(with(&copies, &played, once, XFW_LIKELY) -
                     (rest - 0.75 * (PAGEABLE_NS + other_ns) + LOCKING(1) + 256 * 700)) < 1);
    exact_table(copies.profile, "new-copy/pages/h2d/gpu0", PAGEABLE_NS + pages_ns);
    exact_table(copies.profile, "kept-copy/pages/h2d/gpu0", PAGEABLE_NS);
    exact_table(copies.profile, "touch/pages/host", touch_ns);
    tables_anew(&copies.a.analysis->achievable);
    assert_true(fabs(with(&copies, &played, once, XFW_LIKELY) -
                     (rest - 1.25 * pages_ns + LOCKING(1) + touch_ns)) < 1);
    assert_true(fabs(with(&copies, &played, once, XFW_HIGH) -
                     (rest - other_ns + LOCKING(1) + touch_ns * 0.75)) < 1);
    const struct xfw_times_terms per_use = {.pinning = XFW_PIN_PER_USE, .made = &made};
    assert_true(with(&copies, &played, per_use, XFW_LIKELY) ==
                with(&copies, &played, once, XFW_LIKELY));
    exact_table(copies.profile, "lock/threads4/gpu0", 150000);
    exact_table(copies.profile, "unlock/threads4/gpu0", 5000);
    tables_anew(&copies.a.analysis->achievable);
    assert_true(fabs(with(&copies, &played, once, XFW_LIKELY) - (rest - 1.25 * pages_ns + 155000)) <
                1);
    once.made = NULL;
    assert_true(with(&copies, &played, once, XFW_LIKELY) == rest + LOCKING(1));
    xfw_marks_free(&made);
    copies_end(&copies);
}

/* Threads that stage make a part of such memory each. */
static void test_made_by_threads(void **state)
{
    struct copies copies;
    struct played played = {0};
    struct xfw_marks made = {0};
    struct xfw_times_terms stage = {.pinning = XFW_STAGE, .threads = 4};
    const double pages_ns = 256 * 16 * 2000, half = 0.5;
    copies_start(&copies, false);
    copy(&copies, &played, AT, 16 * MIB)->duration_ns = 16 * PAGEABLE_NS + pages_ns;
    exact_table(copies.profile, "new-copy/pages/h2d/gpu0", PAGEABLE_NS + pages_ns / 16);
    exact_table(copies.profile, "kept-copy/pages/h2d/gpu0", PAGEABLE_NS);
    exact_table(copies.profile, "touch-threads/pages/host", 0);
    struct xfp_table *threads = &copies.profile->tables[copies.profile->table_count - 1];
    threads->row_count = 2;
    threads->rows[0] = (struct xfp_row){.at = 1, .cost.median = 1000};
    threads->rows[1] = (struct xfp_row){.at = 4, .cost.median = 1000 * half};
    tables_anew(&copies.a.analysis->achievable);
    double before = with(&copies, &played, stage, XFW_LIKELY);
    double worst = with(&copies, &played, stage, XFW_LOW);
    xfw_mark(&made, 0, 0);
    stage.made = &made;
    assert_true(fabs(with(&copies, &played, stage, XFW_LIKELY) - before + half * pages_ns) < 1);
    assert_true(with(&copies, &played, stage, XFW_LOW) == worst);
    xfw_marks_free(&made);
    copies_end(&copies);
}

/* Pieces of 1 MiB: four threads take as long for one as the link does, and submitting it. */
static void test_staged(void **state)
{
    struct copies copies;
    struct played played = {0};
    copies_start(&copies, false);
    copy(&copies, &played, AT, 16 * MIB);
    copy(&copies, &played, AT, MIB); /* too small */
    const struct xfw_times_terms stage = {.pinning = XFW_STAGE, .threads = 4};
    double piece = HOST_COPY_NS / 4 + SUBMIT_NS_OF_COPY;
    double expected = SET_UP_NS(4) + 1000 + piece + 15 * piece + PINNED_NS + BLOCKING_MORE_NS / 2;
    assert_true(fabs(with(&copies, &played, stage, XFW_LIKELY) - expected - 1000 - PAGEABLE_NS) <
                1);
    copies_end(&copies);
}

/* An Async call on pageable memory does not block any more: the kernel's launch and the thread's
 * own work go on meanwhile, until the memory is used again. */
static void test_async(void **state)
{
    struct copies copies;
    struct played played = {0};
    const struct xfw_times_terms once = {.pinning = XFW_PIN_ONCE};
    copies_start(&copies, true);
    copy(&copies, &played, AT, 8 * MIB);
    played_call(&played, 50000, 1000);                   /* meanwhile */
    copy(&copies, &played, AT, 8 * MIB)->gap_ns = 30000; /* while which the memory is written */
    played_sync(&played, 0);
    double submit = 1000 + LOCKING(8) + SUBMIT_NS_OF_COPY;
    double device = submit - SUBMIT_NS_OF_COPY + BLOCKING_MORE_NS / 2 + 8 * PINNED_NS;
    double second = device + 2000 + 30000 + BLOCKING_MORE_NS / 2 + 8 * PINNED_NS;
    assert_true(fabs(with(&copies, &played, once, XFW_LIKELY) - second) < 1);
    /* At best it is written when the copy is done; at worst the host waits at once. */
    second = device + 2000 + BLOCKING_MORE_NS / 2 + 8 * PINNED_NS;
    assert_true(fabs(with(&copies, &played, once, XFW_HIGH) - second) < 1);
    double blocking = 1000 + LOCKING(8) + BLOCKING(8) + 51000 + 30000 + BLOCKING(8);
    assert_true(fabs(with(&copies, &played, once, XFW_LOW) - blocking) < 1);
    copies_end(&copies);
}

/* Elsewhere: as much less as the one path takes less than the other. */
static void test_moved(void **state)
{
    struct copies copies;
    struct played played = {0};
    copies_start(&copies, false);
    copy(&copies, &played, AT, 2 * MIB)->latency_ns = 7000;
    struct xfw_new_path path = {.class = 0, .to = copies.pinned};
    path.from = xfp_find(copies.profile, XFP_COPY, (struct xfp_place){XFT_MEM_PAGEABLE, -1, -1},
                         (struct xfp_place){XFT_MEM_DEVICE, 0, -1}, false);
    played.ops[0].duration_ns = 300000; /* slower than measured */
    struct xfw_change *change =
        xfw_change_times(copies.a.analysis, &path, 1, &(struct xfw_times_terms){0});
    assert_true(played_ns(&played, copies.a.analysis, change, XFW_LIKELY) ==
                1000 + 7000 + 300000 * PINNED_NS / PAGEABLE_NS);
    xfw_change_free(change);
    path.from = NULL;
    change = xfw_change_times(copies.a.analysis, &path, 1, &(struct xfw_times_terms){0});
    assert_true(played_ns(&played, copies.a.analysis, change, XFW_LIKELY) ==
                1000 + 7000 + 2 * PINNED_NS);
    xfw_change_free(change);
    copies_end(&copies);
}

/* Stretches of memory, in any order. */
static void test_buffers(void **state)
{
    struct xfw_buffers buffers = {0};
    assert_int_equal(xfw_buffers_add(&buffers, 1, 9, 100, 50), 50);
    assert_int_equal(xfw_buffers_add(&buffers, 1, 9, 300, 50), 50);
    assert_int_equal(xfw_buffers_add(&buffers, 1, 9, 10, 20), 20);
    assert_int_equal(xfw_buffers_add(&buffers, 1, 9, 120, 50), 20);
    assert_int_equal(xfw_buffers_add(&buffers, 1, 9, 130, 10), 0);
    assert_int_equal(buffers.processes[1].count, 3);
    assert_int_equal(xfw_buffers_find(&buffers, 1, 100), 1);
    assert_int_equal(xfw_buffers_find(&buffers, 1, 169), 1);
    assert_int_equal(xfw_buffers_find(&buffers, 1, 349), 2);
    assert_true(xfw_buffers_find(&buffers, 1, 170) == SIZE_MAX);
    assert_true(xfw_buffers_find(&buffers, 0, 100) == SIZE_MAX);
    assert_int_equal(xfw_buffers_add(&buffers, 1, 9, 170, 130), 130); /* joins its neighbours */
    assert_int_equal(buffers.processes[1].count, 2);
    assert_int_equal(xfw_buffers_find(&buffers, 1, 349), 1);
    assert_int_equal(xfw_buffers_add(&buffers, 1, 9, 0, 1000), 1000 - 20 - 250);
    assert_int_equal(buffers.processes[1].count, 1);
    /* What only touches another thread's is apart. */
    assert_int_equal(xfw_buffers_add(&buffers, 1, 8, 1000, 50), 50);
    assert_int_equal(xfw_buffers_add(&buffers, 1, 8, 1050, 50), 50);
    assert_int_equal(buffers.processes[1].count, 2);
    assert_int_equal(xfw_buffers_find(&buffers, 1, 999), 0);
    assert_int_equal(xfw_buffers_find(&buffers, 1, 1000), 1);
    assert_int_equal(xfw_buffers_add(&buffers, 1, 9, 900, 150), 0);
    assert_int_equal(buffers.processes[1].count, 1);
    xfw_buffers_free(&buffers);
}

/* ---- contiguous rows ------------------------------------------------------------------------- */

enum { BYTES = 1 << 20, NARROW_NS = 90000, CALL_NS = 100, LATENCY_NS = 50 };
enum { IN_CALL = 7, TO_HOST = 9 }; /* classes of pageable memory */

static double contiguous_all_ns(const struct xfw_op *ops, size_t count,
                                enum xfw_certainty certainty)
{
    struct xfa_run run = {0};
    struct xfa_analysis analysis = {0};
    struct xfp_profile *profile = scenario_profile();
    xfa_achievable_init(&analysis.achievable, profile, &run);
    struct xfw_contiguous_path *paths = xfa_alloc(4 * sizeof *paths);
    paths[0] = (struct xfw_contiguous_path){5, &profile->paths[0], false, false};
    paths[1] = (struct xfw_contiguous_path){2, &profile->paths[0], false, true};
    paths[2] = (struct xfw_contiguous_path){IN_CALL, &profile->paths[0], true, false};
    paths[3] = (struct xfw_contiguous_path){TO_HOST, &profile->paths[0], true, true};
    struct xfw_change *change = xfw_change_contiguous(&analysis, paths, 4);
    double end = hand_play(ops, count, change, certainty);
    xfw_change_free(change);
    xfa_achievable_free(&analysis.achievable);
    xfp_free(profile);
    return end;
}

static double contiguous_ns(struct xfw_op op, enum xfw_certainty certainty)
{
    const struct xfw_op ops[] = {op, hand_wait(0)};
    return contiguous_all_ns(ops, 2, certainty);
}

static struct xfw_op narrow(uint32_t class, double ns)
{
    struct xfw_op op = hand_work(XFW_COPY, 0, CALL_NS, LATENCY_NS, ns);
    op.class = class;
    op.bytes = BYTES;
    return op;
}

static void test_as_contiguous_ones(void **state)
{
    const double gathered = 30 + 0.12 * BYTES; /* by the host, at worst */
    const double contiguous = LATENCY_NS + link_ns(BYTES);
    assert_true(contiguous_ns(narrow(2, NARROW_NS), XFW_LIKELY) == contiguous);
    assert_true(contiguous_ns(narrow(5, NARROW_NS), XFW_HIGH) == contiguous);
    assert_true(contiguous_ns(narrow(5, NARROW_NS), XFW_LOW) == gathered + contiguous);
}

/* Of pageable memory: the call takes so much less, whatever its parts. */
static double call_of_pageable(uint8_t awaits, double own_ns, double duration_ns)
{
    struct xfw_op op = narrow(IN_CALL, duration_ns);
    op.awaits = awaits;
    op.own_ns = own_ns;
    return contiguous_ns(op, XFW_LIKELY);
}

static void test_pageable(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    double blocking = xfw_copy_cost(&profile->paths[0], BYTES, XFW_LIKELY).blocking_ns;
    xfp_free(profile);
    assert_true(blocking > 0 && blocking < NARROW_NS);
    assert_true(fabs(call_of_pageable(XFW_AWAITS_ITSELF, 0, NARROW_NS) - blocking) < 1);
    assert_true(fabs(call_of_pageable(XFW_AWAITS_NOTHING, NARROW_NS, 0) - blocking) < 1);
    assert_true(call_of_pageable(XFW_AWAITS_NOTHING, 500, 0) == 500); /* is as fast already */
}

/* What comes to pageable memory for the first time may have waited for that memory to be made. */
static void test_memory_that_is_new(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    double blocking = xfw_copy_cost(&profile->paths[0], BYTES, XFW_LIKELY).blocking_ns;
    xfp_free(profile);
    struct xfw_op first = narrow(TO_HOST, 0);
    first.awaits = XFW_AWAITS_NOTHING;
    first.own_ns = NARROW_NS;
    first.dst = AT;
    struct xfw_op half = first, other = first;
    half.dst = AT + BYTES / 2;
    other.dst = AT + 4 * (uint64_t)BYTES;
    const struct xfw_op all[] = {first, first, half, other};
    assert_true(contiguous_all_ns(all, 1, XFW_LIKELY) == NARROW_NS);
    assert_true(fabs(contiguous_all_ns(all, 2, XFW_LIKELY) - NARROW_NS - blocking) < 1);
    double three = contiguous_all_ns(all, 3, XFW_LIKELY);
    assert_true(fabs(three - 1.5 * (NARROW_NS + blocking)) < 1);
    assert_true(fabs(contiguous_all_ns(all, 4, XFW_LIKELY) - three - NARROW_NS) < 1);
    assert_true(contiguous_all_ns(all, 2, XFW_HIGH) < NARROW_NS);
}

/* Of other classes, and those that are as fast already. */
static void test_other_classes(void **state)
{
    assert_true(contiguous_ns(narrow(3, NARROW_NS), XFW_LIKELY) == LATENCY_NS + NARROW_NS);
    assert_true(contiguous_ns(narrow(XFW_NONE, NARROW_NS), XFW_LIKELY) == LATENCY_NS + NARROW_NS);
    assert_true(contiguous_ns(narrow(2, 5000), XFW_LIKELY) == LATENCY_NS + 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_once_in_the_cheapest_way),
        cmocka_unit_test(test_staged),
        cmocka_unit_test(test_async),
        cmocka_unit_test(test_moved),
        cmocka_unit_test(test_buffers),
        cmocka_unit_test(test_other_reasons),
        cmocka_unit_test(test_as_contiguous_ones),
        cmocka_unit_test(test_pageable),
        cmocka_unit_test(test_memory_that_is_new),
        cmocka_unit_test(test_other_classes),
        cmocka_unit_test(test_made),
        cmocka_unit_test(test_made_by_threads),
    };
    return cmocka_run_group_tests_name("what-if: paths", tests, NULL, NULL);
}
