/* Drawn runs of phases, of sizes that grow, with rare events, played in full and by levels of
 * samples (sample.h): where a level is said to be sure enough, times and savings are as near as is
 * said.
 *
 * usage: analyzer_whatif_levels_test [FIRST_SEED [RUNS]] */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzer/whatif/op/sample.h"
#include "tests/analyzer/lab/tape.h"

enum { OPS = 400 * XFW_BATCH, THREADS = TAPE_THREADS, PHASES = 6 };

static uint64_t first_seed = 1, runs = 16;
static uint64_t state_of_chance;

static double chance(double from, double to)
{
    return from + (to - from) * tape_chance(&state_of_chance);
}

/* ---- a drawn run ----------------------------------------------------------------------------- */

struct drawn {
    uint32_t threads;
    unsigned phases;
    double copy_ns[PHASES], kernel_ns[PHASES]; /* by phase */
    double grows, spread, rare;                /* rare: so likely a kernel takes 20 times as long */
};

static struct drawn draw(uint64_t seed)
{
    struct drawn drawn = {0};
    state_of_chance = seed * 0x9e3779b97f4a7c15u;
    for (int i = 0; i < 8; i++)
        chance(0, 1);
    drawn.threads = 1 + (uint32_t)chance(0, THREADS);
    drawn.phases = 1 + (unsigned)chance(0, PHASES);
    for (unsigned i = 0; i < PHASES; i++) {
        drawn.copy_ns[i] = chance(500, 4000);
        drawn.kernel_ns[i] = chance(500, 8000);
    }
    drawn.grows = chance(0, 1) < 0.5 ? 0 : chance(0, 2);
    drawn.spread = chance(0, 1);
    drawn.rare = chance(0, 1) < 0.5 ? 0 : chance(0, 0.01);
    return drawn;
}

static void add_step(struct tape *tape, const struct drawn *drawn, uint32_t thread)
{
    const double part = (double)tape->count / OPS;
    const unsigned phase = (unsigned)(part * drawn->phases);
    const double longer = (1 + drawn->grows * part) * (1 + drawn->spread * chance(-1, 1));
    const double rare = chance(0, 1) < drawn->rare ? 20 : 1;
    const struct tape_step step = {.copy_ns = drawn->copy_ns[phase] * longer,
                                   .kernel_ns = drawn->kernel_ns[phase] * longer * rare,
                                   .gap_ns = 1000 * chance(0, 1),
                                   .slack_ns = 3500};
    tape_add_step(tape, thread, &step);
}

/* Threads take turns, of which the one that is behind comes next. */
static struct tape tape_of(const struct drawn *drawn)
{
    struct tape tape = {.ops = calloc(OPS, sizeof *tape.ops)};
    while (tape.count + TAPE_STEP <= OPS) {
        uint32_t thread = 0;
        for (uint32_t i = 1; i < drawn->threads; i++)
            thread = tape.end[i] < tape.end[thread] ? i : thread;
        add_step(&tape, drawn, thread);
    }
    return tape;
}

/* ---- played ---------------------------------------------------------------------------------- */

/* What is kept of the tape, in place of it. */
static struct xfw_sample *keep(struct tape *tape)
{
    struct xfw_sample *sample = xfw_sample_new(tape->count);
    size_t kept = 0;
    assert_non_null(sample);
    for (size_t at = 0; at < tape->count; at += XFW_BATCH) {
        size_t count = tape->count - at < XFW_BATCH ? tape->count - at : XFW_BATCH;
        const struct xfw_stretch *stretch =
            xfw_sample_take(sample, tape->ops + at, count, at + count == tape->count);
        memmove(tape->ops + kept, tape->ops + at, stretch->ops * sizeof *tape->ops);
        kept += stretch->ops;
    }
    tape->count = kept;
    return sample;
}

static double play(const struct tape *tape, struct xfw_change *change,
                   const struct xfw_sample *sample, struct xfw_measured *measured)
{
    struct xfa_process process = {.number = 0};
    struct xfw_player *player = xfw_player_new(&process, &change, change ? 1 : 0, XFW_LIKELY);
    const struct xfw_schedule *schedule = xfw_player_schedule(player);
    struct xfw_cuts cuts = {0};
    const struct xfw_op *next = tape->ops;
    for (size_t i = 0; i < xfw_sample_count(sample); i++) {
        const struct xfw_stretch *stretch = xfw_sample_at(sample, i);
        struct xfw_op batch[XFW_BATCH];
        memcpy(batch, next, stretch->ops * sizeof *batch);
        next += stretch->ops;
        size_t count = xfw_cuts_take(&cuts, stretch, batch, stretch->ops);
        for (size_t k = 0; k < count; k++)
            xfw_player_op(player, &batch[k]);
        xfw_measure(measured, stretch, xfw_schedule_now(schedule));
    }
    double total = xfw_schedule_now(schedule) + xfw_sample_rest(sample, measured);
    xfw_cuts_free(&cuts);
    xfw_player_free(player);
    return total;
}

struct figure {
    double value, error, truth;
};

static bool is_within(const struct figure *figure, double times)
{
    return fabs(figure->value - figure->truth) <= times * figure->error + 1;
}

struct outcome {
    struct figure run, saving;
    double played; /* part of the ops */
    bool sure;
};

static void play_level(const struct tape *tape, const struct xfw_sample *sample,
                       struct outcome *outcome)
{
    struct xfw_measured alone = {0}, changed = {0};
    struct xfw_share share = xfw_sample_share(sample);
    outcome->run.value = play(tape, NULL, sample, &alone);
    outcome->saving.value = outcome->run.value - play(tape, &tape_halved, sample, &changed);
    outcome->run.error = xfw_sample_error(sample, &alone, NULL);
    outcome->saving.error = xfw_sample_error(sample, &changed, &alone);
    outcome->played = (double)share.played / (double)share.came;
    double most = 0.005 * outcome->run.value;
    outcome->sure = outcome->run.error <= most &&
                    outcome->saving.error <= most + 0.05 * fabs(outcome->saving.value);
    xfw_measured_free(&alone);
    xfw_measured_free(&changed);
}

static struct outcome outcome_of(uint64_t seed)
{
    const struct drawn drawn = draw(seed);
    struct tape tape = tape_of(&drawn);
    struct outcome outcome = {.run.truth = hand_play(tape.ops, tape.count, NULL, XFW_LIKELY)};
    outcome.saving.truth =
        outcome.run.truth - hand_play(tape.ops, tape.count, &tape_halved, XFW_LIKELY);
    struct xfw_sample *sample = keep(&tape);
    double before = 0;
    for (unsigned level = 0;; level++) {
        xfw_sample_at_level(sample, level);
        play_level(&tape, sample, &outcome);
        assert_true(outcome.played > before); /* and all that the level before it did */
        before = outcome.played;
        if (outcome.sure || !xfw_sample_has_more(sample))
            break;
    }
    xfw_sample_free(sample);
    free(tape.ops);
    return outcome;
}

/* Two standard errors: one of twenty may be beyond. */
static void test_as_near_as_is_said(void **state)
{
    size_t sure = 0, within = 0, far = 0;
    double played = 0;
    (void)state;
    for (uint64_t i = 0; i < runs; i++) {
        struct outcome outcome = outcome_of(first_seed + i);
        if (!outcome.sure)
            continue;
        sure++;
        played += outcome.played;
        within += is_within(&outcome.run, 1) + is_within(&outcome.saving, 1);
        far += !is_within(&outcome.run, 2) + !is_within(&outcome.saving, 2);
    }
    print_message(
        "%zu of %d runs by a sample, of %.0f %% of their calls: %zu of %zu figures within "
        "their error, %zu beyond twice that\n",
        sure, (int)runs, 100 * played / (double)sure, within, 2 * sure, far);
    assert_true(3 * sure >= runs);
    assert_true(played < 0.6 * (double)sure);
    assert_true(10 * within >= 18 * sure);
    assert_true(20 * far <= 2 * sure);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_near_as_is_said)};
    first_seed = argc > 1 ? strtoull(argv[1], NULL, 10) : first_seed;
    runs = argc > 2 ? strtoull(argv[2], NULL, 10) : runs;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
