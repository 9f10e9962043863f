/* Ranks of a run: which processes are one, what they moved, which stand out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/scenario.h"

struct made {
    const char *rank, *world;
    uint64_t transfers, ns; /* how many of 1 MiB, how long each takes */
    int node;               /* of the host's memory; -1 = not known */
};

static void add(struct analyzed *a, const struct made *made)
{
    struct trace_builder b;
    struct xft_event *events = calloc(made->transfers + 1, sizeof *events);
    assert_non_null(events);
    build_start(&b, 1);
    build_call(&b, CALL_MEMCPY, XFT_LEVEL_RUNTIME, "cudaMemcpy");
    if (made->rank)
        build_meta(&b, "rank", made->rank);
    if (made->world)
        build_meta(&b, "rank.world", made->world);
    for (uint64_t i = 0; i < made->transfers; i++) {
        events[i] = test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PINNED, 1 << 20,
                                  TEST_START_NS + i * 1000000, made->ns);
        events[i].src_place = (int16_t)made->node;
    }
    build_events(&b, 0, 0, events, made->transfers);
    build_close(&b, XFT_STATE_CLOSED, TEST_START_NS + made->transfers * 1000000);
    analyzed_add(a, &b);
    build_free(&b);
    free(events);
}

static const struct xfa_rank_sum *rank_at(const struct analyzed *a, size_t i)
{
    return xfa_table_at(&a->analysis->ranks.all, i);
}

static bool stands_out(const struct analyzed *a, uint32_t rank, enum xfa_rank_measure measure)
{
    size_t count;
    bool found = false;
    struct xfa_outlier *outliers = xfa_ranks_outliers(&a->analysis->ranks, &count);
    for (size_t i = 0; i < count; i++)
        found = found || (outliers[i].rank == rank && outliers[i].measure == measure);
    free(outliers);
    return found;
}

static size_t outlier_count(const struct analyzed *a)
{
    size_t count;
    free(xfa_ranks_outliers(&a->analysis->ranks, &count));
    return count;
}

/* A rank's helpers are its own; ranks of one number in two launches are two; what is no number is
 * no rank. */
static void test_who_is_one(void **state)
{
    static const struct made made[] = {
        {"0", "one", 1, 1000, -1},  {"1", "one", 2, 1000, -1},           {"1", "one", 3, 1000, -1},
        {"1", "two", 4, 1000, -1},  {NULL, NULL, 5, 1000, -1},           {NULL, NULL, 6, 1000, -1},
        {"-7", "one", 7, 1000, -1}, {"99999999999", "one", 8, 1000, -1},
    };
    static const uint64_t transfers[] = {1, 5, 4, 5, 6, 7, 8};
    struct analyzed a = analyzed_start(NULL);
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        add(&a, &made[i]);
    analyzed_finish(&a);
    assert_int_equal(a.analysis->ranks.all.count, 7);
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(rank_at(&a, i)->transfers, transfers[i]);
        assert_int_equal(rank_at(&a, i)->key.is_rank, i < 3);
    }
    assert_int_equal(rank_at(&a, 1)->processes, 2);
    analyzed_free(&a);
}

static void test_who_stands_out(void **state)
{
    static const struct made made[] = {
        {"0", "w", 100, 20000, 0}, {"1", "w", 104, 20400, 0}, {"2", "w", 97, 19900, 0},
        {"3", "w", 300, 20100, 0}, {"4", "w", 101, 60000, 0}, {"5", "w", 99, 20200, 1},
        {NULL, NULL, 0, 1, -1}, /* the launcher */
    };
    struct xfp_profile *profile = scenario_profile();
    profile->machine.gpus[0].numa = 0;
    struct analyzed a = analyzed_start(profile);
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        add(&a, &made[i]);
    analyzed_finish(&a);
    assert_int_equal(outlier_count(&a), 3);
    assert_int_equal(xfa_ranks_count(&a.analysis->ranks), 6);
    assert_true(stands_out(&a, 3, XFA_RANK_BYTES));
    assert_true(stands_out(&a, 4, XFA_RANK_GBPS));
    assert_true(stands_out(&a, 5, XFA_RANK_FAR));
    assert_true(xfa_rank_figure(rank_at(&a, 5), XFA_RANK_FAR) == 1);
    assert_true(xfa_ranks_median(&a.analysis->ranks, XFA_RANK_FAR) == 0);
    char *text = analyzed_report(&a, &xfa_format_text);
    assert_non_null(strstr(text, "Ranks (6 on "));
    assert_non_null(strstr(text, "moved 300 MiB"));
    free(text);
    analyzed_free(&a);
    xfp_free(profile);
}

/* How far is far: the median of the distances, 10, is 0.6745 of a standard deviation, and 3.5 of
 * these are 51.9. */
static void test_how_far(void **state)
{
    (void)state;
    for (unsigned last = 151; last <= 152; last++) {
        const struct made made[] = {{"0", "w", 90, 20000, -1},  {"1", "w", 90, 20000, -1},
                                    {"2", "w", 100, 20000, -1}, {"3", "w", 100, 20000, -1},
                                    {"4", "w", 110, 20000, -1}, {"5", "w", 110, 20000, -1},
                                    {"6", "w", last, 20000, -1}};
        struct analyzed a = analyzed_start(NULL);
        for (size_t i = 0; i < sizeof made / sizeof *made; i++)
            add(&a, &made[i]);
        analyzed_finish(&a);
        assert_int_equal(outlier_count(&a), last == 152);
        analyzed_free(&a);
    }
}

/* A tenth of the median is little, however alike the others are; three are not compared. */
static void test_who_does_not(void **state)
{
    static const struct made alike[] = {
        {"0", "w", 100, 20000, -1}, {"1", "w", 100, 20000, -1}, {"2", "w", 100, 20000, -1},
        {"3", "w", 109, 20000, -1}, {"4", "w", 100, 21900, -1},
    };
    static const struct made few[] = {
        {"0", "w", 100, 20000, -1}, {"1", "w", 100, 20000, -1}, {"2", "w", 900, 20000, -1}};
    struct analyzed a = analyzed_start(NULL);
    for (size_t i = 0; i < 5; i++)
        add(&a, &alike[i]);
    analyzed_finish(&a);
    assert_int_equal(outlier_count(&a), 0);
    assert_true(isnan(xfa_ranks_median(&a.analysis->ranks, XFA_RANK_FAR)));
    analyzed_free(&a);
    a = analyzed_start(NULL);
    for (size_t i = 0; i < 3; i++)
        add(&a, &few[i]);
    analyzed_finish(&a);
    assert_int_equal(outlier_count(&a), 0);
    analyzed_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_is_one),
        cmocka_unit_test(test_how_far),
        cmocka_unit_test(test_who_stands_out),
        cmocka_unit_test(test_who_does_not),
    };
    return cmocka_run_group_tests_name("analyzer-ranks", tests, NULL, NULL);
}
