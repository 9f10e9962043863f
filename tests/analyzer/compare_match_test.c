/* Which call site of one run is which of the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/compare/match.h"
#include "analyzer/compare/side.h"

#define MOST 128

static struct {
    struct xfa_snapshot_row rows[MOST];
    const struct xfa_snapshot_row *pointers[MOST];
    size_t count;
} sides[2];
enum { BEFORE, AFTER };

static void clear(void)
{
    memset(sides, 0, sizeof sides);
}

/* A copy to GPU 0 from that memory. */
static struct xfa_snapshot_row *add(unsigned side, const char *function, const char *file,
                                    unsigned line, const char *called, unsigned memory)
{
    size_t i = sides[side].count++;
    struct xfa_snapshot_row *row = &sides[side].rows[i];
    *row = (struct xfa_snapshot_row){
        .place = {.text = (char *)(function ? function : "somewhere"),
                  .function = (char *)function,
                  .file = (char *)file,
                  .line = line},
        .called = (char *)called,
        .key = {.direction = XFT_DIR_H2D,
                .src_mem = (uint8_t)memory,
                .dst_mem = XFT_MEM_DEVICE,
                .src_gpu = -1},
        .transfers = 10,
        .bytes = 10 << 20,
    };
    sides[side].pointers[i] = row;
    return row;
}

/* "0>1 1>- ": which of the rows before is which after. */
static const char *matched(void)
{
    static char text[MOST * 8];
    char *at = text;
    size_t *to = xfa_match_rows(sides[BEFORE].pointers, sides[BEFORE].count, sides[AFTER].pointers,
                                sides[AFTER].count);
    *at = 0;
    for (size_t i = 0; i < sides[BEFORE].count; i++)
        at += to[i] == XFA_UNMATCHED ? sprintf(at, "%zu>- ", i) : sprintf(at, "%zu>%zu ", i, to[i]);
    free(to);
    return text;
}

static unsigned moved(size_t before, size_t after)
{
    return xfa_moved_of(&sides[BEFORE].rows[before], &sides[AFTER].rows[after]);
}

/* A line was added above: the second copy now stands where the third one stood. */
static void test_lines_that_moved(void **state)
{
    (void)state;
    clear();
    for (unsigned i = 0; i < 3; i++) {
        add(BEFORE, "step", "a.cu", 10 + i, "cudaMemcpy", XFT_MEM_PINNED);
        add(AFTER, "step", "a.cu", 11 + i, "cudaMemcpy", XFT_MEM_PINNED);
    }
    assert_string_equal(matched(), "0>0 1>1 2>2 ");
    assert_int_equal(moved(0, 0), XFA_MOVED_LINE);
    assert_int_equal(moved(1, 0), 0);
}

/* The order in which rows were met means nothing. */
static void test_any_order_of_rows(void **state)
{
    (void)state;
    clear();
    add(BEFORE, "step", "a.cu", 20, "cudaMemcpy", XFT_MEM_PINNED);
    add(BEFORE, "step", "a.cu", 10, "cudaMemcpy", XFT_MEM_PINNED);
    add(AFTER, "step", "a.cu", 14, "cudaMemcpy", XFT_MEM_PINNED);
    add(AFTER, "step", "a.cu", 24, "cudaMemcpy", XFT_MEM_PINNED);
    assert_string_equal(matched(), "0>1 1>0 ");
}

/* One of three is gone: those that stay are the ones that are most alike. */
static void test_one_is_gone(void **state)
{
    (void)state;
    clear();
    add(BEFORE, "step", "a.cu", 10, "cudaMemcpy", XFT_MEM_PINNED)->bytes = 100;
    add(BEFORE, "step", "a.cu", 11, "cudaMemcpy", XFT_MEM_PINNED)->bytes = 5000;
    add(BEFORE, "step", "a.cu", 12, "cudaMemcpy", XFT_MEM_PINNED)->bytes = 800000;
    add(AFTER, "step", "a.cu", 10, "cudaMemcpy", XFT_MEM_PINNED)->bytes = 5000;
    add(AFTER, "step", "a.cu", 11, "cudaMemcpy", XFT_MEM_PINNED)->bytes = 800000;
    assert_string_equal(matched(), "0>- 1>0 2>1 ");
    clear();
    add(BEFORE, "step", "a.cu", 10, "cudaMemcpy", XFT_MEM_PINNED);
    add(AFTER, "step", "a.cu", 10, "cudaMemcpy", XFT_MEM_PINNED);
    add(AFTER, "step", "a.cu", 30, "cudaMemcpy", XFT_MEM_PINNED);
    assert_string_equal(matched(), "0>0 ");
}

static void test_what_was_changed(void **state)
{
    (void)state;
    clear();
    add(BEFORE, "step", "a.cu", 10, "cudaMemcpy", XFT_MEM_PAGEABLE);
    add(AFTER, "step", "a.cu", 10, "cudaMemcpyAsync", XFT_MEM_PINNED);
    assert_string_equal(matched(), "0>0 ");
    assert_int_equal(moved(0, 0), XFA_MOVED_CALL | XFA_MOVED_KIND);
    clear();
    add(BEFORE, "step", "before.cu", 10, "cudaMemcpy", XFT_MEM_PINNED);
    add(AFTER, "step", "after.cu", 12, "cudaMemcpy", XFT_MEM_PINNED);
    assert_string_equal(matched(), "0>0 ");
    assert_int_equal(moved(0, 0), XFA_MOVED_FILE | XFA_MOVED_LINE);
}

/* What is still the same is matched before what was changed, whatever their lines. */
static void test_the_same_first(void **state)
{
    (void)state;
    clear();
    add(BEFORE, "step", "a.cu", 10, "cudaMemcpy", XFT_MEM_PAGEABLE);
    add(BEFORE, "step", "a.cu", 20, "cudaMemcpy", XFT_MEM_PINNED);
    add(AFTER, "step", "a.cu", 10, "cudaMemcpy", XFT_MEM_PINNED);
    add(AFTER, "step", "a.cu", 20, "cudaMemcpy", XFT_MEM_REGISTERED);
    assert_string_equal(matched(), "0>1 1>0 ");
}

static void test_others_are_others(void **state)
{
    (void)state;
    clear();
    add(BEFORE, "step", "a.cu", 10, "cudaMemcpy", XFT_MEM_PINNED);
    add(BEFORE, "step", "a.cu", 12, "cudaMemcpy", XFT_MEM_PINNED)->key.direction = XFT_DIR_D2H;
    add(AFTER, "other", "a.cu", 10, "cudaMemcpy", XFT_MEM_PINNED);
    add(AFTER, "step", "a.cu", 10, "cudaMemcpy", XFT_MEM_PINNED)->key.dst_gpu = 1;
    assert_string_equal(matched(), "0>- 1>- ");
    clear();
    add(BEFORE, "step", "a.cu", 10, "cudaMemcpy", XFT_MEM_PINNED);
    add(AFTER, "step", "a.cu", 10, "cudaMemcpy", XFT_MEM_PINNED)->key.direction = XFT_DIR_D2H;
    assert_string_equal(matched(), "0>- "); /* by the direction alone */
}

/* Without symbols the module is all there is; another module is another place. */
static void test_functions_that_are_not_known(void **state)
{
    (void)state;
    clear();
    add(BEFORE, NULL, "train", 0x1200, "cuMemcpyHtoD_v2", XFT_MEM_PINNED);
    add(BEFORE, NULL, "libother.so", 0x1300, "cuMemcpyHtoD_v2", XFT_MEM_PINNED);
    add(AFTER, NULL, "train", 0x1280, "cuMemcpyHtoD_v2", XFT_MEM_PINNED);
    add(AFTER, NULL, "libnew.so", 0x1300, "cuMemcpyHtoD_v2", XFT_MEM_PINNED);
    assert_string_equal(matched(), "0>0 1>- ");
    clear();
    add(BEFORE, NULL, NULL, 0, "cudaMemcpy", XFT_MEM_PINNED); /* no call stack */
    add(AFTER, NULL, NULL, 0, "cudaMemcpy", XFT_MEM_PINNED);
    assert_string_equal(matched(), "0>0 ");
}

static void test_more_than_are_weighed(void **state)
{
    (void)state;
    clear();
    for (unsigned i = 0; i < 100; i++)
        add(BEFORE, "step", "a.cu", 10 + i, "cudaMemcpy", XFT_MEM_PINNED);
    for (unsigned i = 0; i < 60; i++)
        add(AFTER, "step", "a.cu", 500 + i, "cudaMemcpy", XFT_MEM_PINNED);
    assert_non_null(strstr(matched(), " 59>59 60>- "));
}

static void test_none(void **state)
{
    (void)state;
    clear();
    assert_string_equal(matched(), "");
    add(BEFORE, "step", "a.cu", 10, "cudaMemcpy", XFT_MEM_PINNED);
    assert_string_equal(matched(), "0>- ");
}

/* ---- repetitions ----------------------------------------------------------------------------- */

static void run_of(struct xfa_snapshot *run, unsigned side, double span)
{
    *run = (struct xfa_snapshot){.rows = sides[side].rows, .row_count = sides[side].count};
    run->measures[XFA_MEASURE_SPAN] = xfa_sample_of(span, 0);
    for (size_t i = 0; i < run->row_count; i++)
        run->rows[i].time = xfa_sample_of(span / 10 * (double)(i + 1), 0);
}

static void test_repetitions_are_one(void **state)
{
    (void)state;
    struct xfa_snapshot runs[3];
    clear();
    add(0, "step", "a.cu", 10, "cudaMemcpy", XFT_MEM_PINNED);
    add(1, "late", "a.cu", 30, "cudaMemcpy", XFT_MEM_PINNED)->transfers = 3;
    add(1, "step", "a.cu", 10, "cudaMemcpy", XFT_MEM_PINNED);
    run_of(&runs[0], 0, 100);
    run_of(&runs[1], 1, 90);
    run_of(&runs[2], 0, 80);
    struct xfa_side side = xfa_side_of((struct xfa_snapshot *[]){&runs[0], &runs[1], &runs[2]}, 3);
    assert_int_equal(side.middle, 1);
    assert_int_equal(side.row_count, 2);
    assert_int_equal(side.rows[0].runs, 3);
    assert_int_equal(side.rows[0].middle, 1);
    assert_true(side.rows[0].times[1].value == 18);
    assert_int_equal(side.rows[1].runs, 1);
    assert_int_equal(side.rows[1].middle, 0);
    assert_true(side.rows[1].times[0].value == 0 && side.rows[1].times[1].value == 9);
    assert_true(side.rows[0].transfers == 10 && side.rows[1].transfers == 0);
    xfa_side_free(&side);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_that_moved),
        cmocka_unit_test(test_any_order_of_rows),
        cmocka_unit_test(test_one_is_gone),
        cmocka_unit_test(test_what_was_changed),
        cmocka_unit_test(test_the_same_first),
        cmocka_unit_test(test_others_are_others),
        cmocka_unit_test(test_functions_that_are_not_known),
        cmocka_unit_test(test_more_than_are_weighed),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_repetitions_are_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
