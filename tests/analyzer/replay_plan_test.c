/* Of --replay: which transfers are distinguished, what is measured for them, and for how long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/remeasure/replay.h"
#include "tests/analyzer/traces/play.h"
#include "tests/analyzer/traces/scenario_replay.h"

enum { SITE = 10 };

/* A run's cells, with what they point into. */
struct gathered {
    struct xfa_cells cells;
    struct xfa_analysis *analysis;
    struct trace_builder b;
};

static void gather(struct gathered *g, const struct xfp_profile *profile)
{
    char error[256];
    struct xfa_observer observer = xfa_cells_observer(&g->cells);
    struct xfa_request request = {
        .path = "test", .profile = profile, .observers = &observer, .observer_count = 1};
    g->analysis = xfa_analysis_new(&request);
    assert_true(xfa_analysis_add_bytes(g->analysis, g->b.bytes, g->b.size, error, sizeof error));
    xfa_analysis_finish(g->analysis);
}

static void let_go(struct gathered *g)
{
    xfa_cells_free(&g->cells);
    xfa_analysis_free(g->analysis);
    build_free(&g->b);
}

static void gather_scenario(struct gathered *g, const struct xfp_profile *profile)
{
    memset(g, 0, sizeof *g);
    xfa_cells_init(&g->cells);
    scenario_replay(&g->b, false);
    gather(g, profile);
}

/* ---- cells ----------------------------------------------------------------------------------- */

static void distinct_transfers_worst_first(void **state)
{
    struct xfp_profile *profile = scenario_profile();
    struct gathered g;
    gather_scenario(&g, profile);
    assert_int_equal(g.cells.cells.count, 7);
    assert_int_equal(g.cells.transfers, 62);
    assert_int_equal(g.cells.merged, 0);
    uint32_t *order = xfa_cells_worst_first(&g.cells);
    const struct xfa_cell *worst = xfa_cell_at(&g.cells, order[0]);
    const struct xfa_cell *second = xfa_cell_at(&g.cells, order[1]);
    assert_int_equal(worst->key.bytes, REPLAY_PAGEABLE);
    assert_int_equal(worst->transfers, 20);
    assert_int_equal(worst->timed, 20);
    assert_float_equal(worst->lost_ns, 20 * (400000 - link_ns(REPLAY_PAGEABLE)), 1);
    assert_int_equal(second->key.bytes, REPLAY_PINNED);
    assert_true(second->key.async && !worst->key.async);
    free(order);
    let_go(&g);
    xfp_free(profile);
}

/* Copies of 1000, 1100, 1200, ... bytes from pinned memory, then one each from pageable memory. */
static void gather_sizes(struct gathered *g, size_t most, unsigned sizes, const uint64_t *late,
                         size_t late_count)
{
    struct play play;
    memset(g, 0, sizeof *g);
    xfa_cells_init(&g->cells);
    g->cells.most = most;
    play_start(&play, &g->b, 1);
    play_site(&play, SITE, "step", 1);
    for (unsigned i = 0; i < sizes; i++)
        play_copy(&play, SITE, XFT_DIR_H2D, XFT_MEM_PINNED, 1000 + 100 * i, 5000);
    for (size_t i = 0; i < late_count; i++)
        play_copy(&play, SITE, XFT_DIR_H2D, XFT_MEM_PAGEABLE, late[i], 5000);
    play_end(&play, XFT_STATE_CLOSED);
    gather(g, NULL);
}

static uint64_t transfers_of(const struct gathered *g, uint64_t bytes, unsigned memory)
{
    for (size_t i = 0; i < g->cells.cells.count; i++) {
        const struct xfa_cell *cell = xfa_cell_at(&g->cells, i);
        if (cell->key.bytes == bytes && cell->key.src_mem == memory)
            return cell->transfers;
    }
    return 0;
}

static void too_many_sizes_count_in_the_nearest(void **state)
{
    const uint64_t late[] = {70, 5000, 71};
    struct gathered g;
    gather_sizes(&g, 4, 10, late, 3); /* 1000 to 1300 have cells; 1400 to 1900 count in 1300 */
    assert_int_equal(transfers_of(&g, 1000, XFT_MEM_PINNED), 1);
    assert_int_equal(transfers_of(&g, 1300, XFT_MEM_PINNED), 7);
    assert_int_equal(transfers_of(&g, 70, XFT_MEM_PAGEABLE), 3); /* of its kind the only one */
    assert_int_equal(g.cells.cells.count, 5);
    assert_int_equal(g.cells.merged, 8);
    assert_int_equal(g.cells.beyond, 0);
    assert_int_equal(g.cells.transfers, 13);
    let_go(&g);
}

static void nearest_is_by_ratio(void **state)
{
    struct play play;
    struct gathered g = {0};
    static const uint64_t sizes[] = {100, 10000, 1100, 900, 5, 99999};
    xfa_cells_init(&g.cells);
    g.cells.most = 2;
    play_start(&play, &g.b, 1);
    play_site(&play, SITE, "step", 1);
    for (size_t i = 0; i < 6; i++)
        play_copy(&play, SITE, XFT_DIR_H2D, XFT_MEM_PINNED, sizes[i], 5000);
    play_end(&play, XFT_STATE_CLOSED);
    gather(&g, NULL);
    assert_int_equal(transfers_of(&g, 100, XFT_MEM_PINNED), 3);   /* 900, 5 */
    assert_int_equal(transfers_of(&g, 10000, XFT_MEM_PINNED), 3); /* 1100, 99999 */
    let_go(&g);
}

/* ---- the plan, and measuring within the limit ------------------------------------------------ */

/* A clock that a copy moves by a second; it says what was measured. */
struct fake {
    uint64_t now;
    size_t count, stop_after, fail_at; /* from 1; 0 = never */
    struct xfp_transfer_spec specs[64];
};

static uint64_t fake_now(void *self)
{
    return ((struct fake *)self)->now;
}

static void fake_measure(void *self, const struct xfp_transfer_spec *spec,
                         struct xfp_transfer_point *point)
{
    struct fake *fake = self;
    assert_true(fake->count < 64);
    fake->specs[fake->count++] = *spec;
    fake->now += 1000000000;
    *point = (struct xfp_transfer_point){.basis = XFP_MEASURED,
                                         .point = {.bytes = spec->bytes, .n = 6, .median_ns = 1}};
    if (fake->count != fake->fail_at)
        return;
    point->basis = XFP_UNKNOWN;
    strcpy(point->why, "cannot pin it");
}

static bool fake_stopped(void *self)
{
    const struct fake *fake = self;
    return fake->stop_after && fake->count >= fake->stop_after;
}

/* The scenario's plan for its own machine, measured by `fake`. */
static void replay_scenario(struct fake *fake, double limit_s, struct xfa_replayed *replayed)
{
    struct xfp_profile *profile = scenario_profile();
    struct gathered g;
    struct xfa_places places;
    struct xfa_plan plan;
    struct xfa_replay_request request = {.limit_s = limit_s};
    struct xfa_meter meter = {fake, fake_now, fake_measure, fake_stopped};
    gather_scenario(&g, profile);
    xfa_places_init(&places, g.analysis->run, &profile->machine, &profile->machine);
    assert_null(places.refusal);
    xfa_plan_make(&plan, &g.cells, &places, profile);
    memset(replayed, 0, sizeof *replayed);
    xfa_replay_measure(&plan, &request, &meter, replayed);
    xfa_replay_sum(&plan, &g.cells, replayed);
    xfa_plan_free(&plan);
    xfa_places_free(&places);
    let_go(&g);
    xfp_free(profile);
}

static void the_worst_as_it_was_comes_first(void **state)
{
    static const struct {
        enum xft_memory memory;
        enum xfp_cache cache;
    } wanted[] = {{XFT_MEM_PAGEABLE, XFP_COLD},       {XFT_MEM_PINNED, XFP_COLD},
                  {XFT_MEM_WRITE_COMBINED, XFP_COLD}, {XFT_MEM_REGISTERED, XFP_COLD},
                  {XFT_MEM_MAPPED, XFP_COLD},         {XFT_MEM_PAGEABLE, XFP_WARM},
                  {XFT_MEM_PINNED, XFP_WARM}};
    struct fake fake = {0};
    struct xfa_replayed replayed;
    replay_scenario(&fake, 1000, &replayed);
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(fake.specs[i].bytes, REPLAY_PAGEABLE);
        assert_int_equal(fake.specs[i].src.memory, wanted[i].memory);
        assert_int_equal(fake.specs[i].cache, wanted[i].cache);
        assert_true(fake.specs[i].blocking);
    }
    assert_int_equal(fake.specs[7].bytes, REPLAY_PINNED);
    assert_int_equal(fake.specs[7].src.memory, XFT_MEM_PINNED);
    assert_false(fake.specs[7].blocking);
    assert_int_equal(replayed.covered, 5);
    assert_int_equal(replayed.impossible, 2);
    assert_int_equal(replayed.no_time, 0);
    assert_int_equal(replayed.measured, fake.count);
    xfa_replayed_free(&replayed);
}

static void the_limit_is_held(void **state)
{
    struct fake fake = {0};
    struct xfa_replayed replayed;
    replay_scenario(&fake, 9.5, &replayed);
    assert_int_equal(fake.count, 10); /* the last one was begun in time */
    assert_int_equal(replayed.measured, 10);
    assert_true(replayed.no_time > 0);
    assert_int_equal(replayed.covered, 1);
    assert_int_equal(replayed.covered_transfers, 20);
    assert_float_equal(replayed.seconds, 10, 1e-9);
    assert_float_equal(replayed.covered_ns, 20 * 400000, 1);
    xfa_replayed_free(&replayed);
}

static void what_would_take_too_long_is_not_begun(void **state)
{
    struct fake fake = {0};
    struct xfa_replayed replayed;
    replay_scenario(&fake, 0.004, &replayed); /* 8 times 2 copies of 0.4 ms are more than that */
    assert_true(fake.count > 0);
    assert_int_not_equal(fake.specs[0].src.memory, XFT_MEM_PAGEABLE);
    xfa_replayed_free(&replayed);
}

static void the_user_may_stop_it(void **state)
{
    struct fake fake = {.stop_after = 3};
    struct xfa_replayed replayed;
    replay_scenario(&fake, 1000, &replayed);
    assert_int_equal(fake.count, 3);
    assert_int_equal(replayed.measured, 3);
    assert_true(replayed.stopped);
    assert_int_equal(replayed.covered, 0);
    xfa_replayed_free(&replayed);
}

static void a_failure_is_reported_and_the_rest_goes_on(void **state)
{
    struct fake fake = {.fail_at = 1};
    struct xfa_replayed replayed;
    replay_scenario(&fake, 1000, &replayed);
    assert_int_equal(replayed.failed, 1);
    assert_int_equal(replayed.measured, fake.count - 1);
    assert_string_equal(replayed.failure, "copy/pageable/h2d/gpu0 of 1000003 bytes: cannot pin it");
    assert_int_equal(replayed.covered, 4);
    xfa_replayed_free(&replayed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distinct_transfers_worst_first),
        cmocka_unit_test(too_many_sizes_count_in_the_nearest),
        cmocka_unit_test(nearest_is_by_ratio),
        cmocka_unit_test(the_worst_as_it_was_comes_first),
        cmocka_unit_test(the_limit_is_held),
        cmocka_unit_test(what_would_take_too_long_is_not_begun),
        cmocka_unit_test(the_user_may_stop_it),
        cmocka_unit_test(a_failure_is_reported_and_the_rest_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
