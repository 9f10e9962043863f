/* pageable-host-memory of copies in rows: what page-locking them would save. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/whatif/changes/changes.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"

enum { SITE = 10, COPIES = 20, ROW = 1024, TOOK_NS = 300000 };

/* 1 MiB in rows: what one of ROW bytes takes beyond its part of a contiguous copy, and one of 64,
 * the shortest, of two dimensions; of three it is as much again. */
#define MORE_NS 20.0
#define SHORTEST_MORE_NS 5.0

#define WHOLE_NS (PINNED_NS + BLOCKING_MORE_NS)
#define LOCK_NS(mib) (REGISTER_BASE_NS + (mib)*REGISTER_NS)

/* Of 4 MiB, in rows of 64, ROW and 1 MiB. */
static void add_table(struct xfp_profile *profile, const char *name, double times)
{
    measured_table(profile, name, 0);
    struct xfp_table *table = &profile->tables[profile->table_count - 1];
    table->bytes = 4 * MIB;
    table->row_count = 3;
    table->rows[0].at = 64;
    table->rows[0].cost.median = 4 * (PINNED_NS + times * SHORTEST_MORE_NS * MIB / 64);
    table->rows[1].at = ROW;
    table->rows[1].cost.median = 4 * (PINNED_NS + times * MORE_NS * MIB / ROW);
    table->rows[2].at = MIB;
    table->rows[2].cost.median = 4 * PINNED_NS;
    for (size_t i = 0; i < table->row_count; i++)
        table->rows[i].cost.ci_low = table->rows[i].cost.ci_high = table->rows[i].cost.median;
}

enum measured_rows { NO_ROWS, FLAT_ROWS, ALL_ROWS };

struct copies {
    enum xft_direction direction;
    uint64_t width, reach, took_ns;
    uint64_t first_ns; /* that the first one takes; 0: as all */
    enum measured_rows measured;
};

static struct analyzed copied(struct copies copies)
{
    bool up = copies.direction == XFT_DIR_H2D;
    struct trace_builder b;
    struct play play;
    struct xfp_profile *profile = measured_profile(MEASURED_REGISTER);
    if (copies.measured != NO_ROWS)
        add_table(profile, up ? "copy-2d/pinned/h2d/gpu0" : "copy-2d/pinned/d2h/gpu0", 1);
    if (copies.measured == ALL_ROWS)
        add_table(profile, up ? "copy-3d/pinned/h2d/gpu0" : "copy-3d/pinned/d2h/gpu0", 2);
    play_start(&play, &b, 1);
    play_site(&play, SITE, "tiles", 1);
    for (unsigned i = 0; i < COPIES; i++) {
        play.now += 50000;
        uint64_t ns = i == 0 && copies.first_ns ? copies.first_ns : copies.took_ns;
        struct xft_event *call =
            play_copy(&play, SITE, copies.direction, XFT_MEM_PAGEABLE, MIB, ns);
        *(up ? &call->src : &call->dst) = 0x100000000;
        *(up ? &call->dst_place : &call->src_place) = 0;
        call->device = 0;
        call->width = copies.width;
        call->aux = copies.reach;
    }
    play_end(&play, XFT_STATE_CLOSED);
    return analyzed_played(&b, profile);
}

static struct xfw_saving saved(struct copies copies)
{
    struct analyzed a = copied(copies);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_PAGEABLE, "tiles");
    assert_non_null(f);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_PIN);
    struct xfw_saving saving = {f->saving.low, f->saving.likely, f->saving.high};
    analyzed_free(&a);
    return saving;
}

static bool is_about(double a, double b)
{
    return fabs(a - b) < 1;
}

/* Each row takes what the profile has, and the buffer is locked once, as far as it reaches. */
static void test_known(void **state)
{
    struct copies copies = {XFT_DIR_H2D, ROW, 0, TOOK_NS, 0, ALL_ROWS};
    const double rows_ns = MORE_NS * MIB / ROW;
    const double likely = COPIES * (TOOK_NS - WHOLE_NS - rows_ns);
    struct xfw_saving saving = saved(copies);
    assert_true(is_about(saving.likely, likely - LOCK_NS(1)));
    copies.reach = 5 * MIB;
    assert_true(is_about(saved(copies).likely, likely - LOCK_NS(5)));
    copies.direction = XFT_DIR_D2H; /* likely the first one's memory was made meanwhile */
    copies.reach = 0;
    assert_true(saved(copies).likely < likely - LOCK_NS(1));
    assert_true(saved(copies).likely > likely - LOCK_NS(1) - TOOK_NS);
    /* At worst rows are those of three dimensions. */
    copies.direction = XFT_DIR_H2D;
    copies.measured = FLAT_ROWS;
    assert_true(saved(copies).low > saving.low + 0.9 * COPIES * rows_ns);
}

/* Rows of half the shortest length that was measured: each as long as that one. */
static void test_narrow(void **state)
{
    struct copies copies = {XFT_DIR_H2D, 32, 0, TOOK_NS, 0, ALL_ROWS};
    double each_ns = SHORTEST_MORE_NS + PINNED_NS * 64 / MIB;
    double likely = COPIES * (TOOK_NS - BLOCKING_MORE_NS - each_ns * MIB / 32);
    assert_true(is_about(saved(copies).likely, likely - LOCK_NS(1)));
    assert_true(saved(copies).high > likely);
}

/* Without figures of rows: as likely they are as fast as one piece, at worst nothing is saved. */
static void test_not_measured(void **state)
{
    struct copies copies = {XFT_DIR_H2D, ROW, 0, TOOK_NS, 0, NO_ROWS};
    struct xfw_saving saving = saved(copies);
    assert_true(is_about(saving.likely, COPIES * (TOOK_NS - WHOLE_NS) - LOCK_NS(1)));
    assert_true(saving.low <= 0);
}

/* What the first copy takes beyond others, and what making a result's memory takes, stays. */
static void test_first(void **state)
{
    struct copies copies = {XFT_DIR_H2D, ROW, 0, TOOK_NS, 0, ALL_ROWS};
    const double usual = saved(copies).likely;
    copies.first_ns = 100 * TOOK_NS;
    assert_true(saved(copies).likely < usual);
    copies.direction = XFT_DIR_D2H;
    struct xfw_saving saving = saved(copies);
    assert_true(saving.likely < usual);
    assert_true(saving.high > usual + 50 * TOOK_NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_not_measured),
        cmocka_unit_test(test_first),
    };
    return cmocka_run_group_tests_name("findings: pageable memory in rows", tests, NULL, NULL);
}
