/* Processes of which not all ops are played: what is left out is like what is played, what they
 * take for it is as near as it is said to be, and whoever is not sure plays all. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzer/whatif/op/sample.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/scenario.h"
#include "tests/analyzer/traces/scenario_report.h"
#include "tests/analyzer/lab/tape.h"

enum { BATCHES = 2048, OPS = BATCHES * XFW_BATCH, THREADS = 2 };
enum { ODD = 1400 }; /* a batch in which something else happens */

static uint64_t state_of_chance;

/* Twice as fast or slow by chance. Of two threads the one that is behind comes next. */
static struct tape made_loop(void)
{
    struct tape tape = {.ops = calloc(OPS, sizeof *tape.ops)};
    state_of_chance = 4711;
    while (tape.count < OPS) {
        struct tape_step step = {.slack_ns = 2500};
        step.copy_ns = 1000 + 2000 * tape_chance(&state_of_chance);
        step.kernel_ns = 3000 + 3000 * tape_chance(&state_of_chance);
        step.gap_ns = 1000 * tape_chance(&state_of_chance);
        tape_add_step(&tape, tape.end[0] <= tape.end[1] ? 0 : 1, &step);
    }
    return tape;
}

/* A copy: it is made once. */
static struct tape loop(void)
{
    static struct tape made;
    if (!made.ops)
        made = made_loop();
    struct tape tape = made;
    tape.ops = malloc(OPS * sizeof *tape.ops);
    memcpy(tape.ops, made.ops, OPS * sizeof *tape.ops);
    return tape;
}

struct both { /* of a way */
    double all, sampled;
    struct xfw_measured measured;
};

static struct both play(const struct tape *tape, struct xfw_change *change,
                        struct xfw_sample *sample)
{
    struct xfa_process process = {.number = 0};
    struct both both = {.all = hand_play(tape->ops, tape->count, change, XFW_LIKELY)};
    struct xfw_player *player = xfw_player_new(&process, &change, change ? 1 : 0, XFW_LIKELY);
    const struct xfw_schedule *schedule = xfw_player_schedule(player);
    struct xfw_cuts cuts = {0};
    for (size_t at = 0; at < tape->count; at += XFW_BATCH) {
        struct xfw_op batch[XFW_BATCH];
        size_t count = tape->count - at < XFW_BATCH ? tape->count - at : XFW_BATCH;
        memcpy(batch, tape->ops + at, count * sizeof *batch);
        const struct xfw_stretch *stretch =
            xfw_sample_take(sample, batch, count, at + count == tape->count);
        size_t stay = xfw_cuts_take(&cuts, stretch, batch, stretch->ops);
        for (size_t i = 0; i < stay; i++)
            xfw_player_op(player, &batch[i]);
        xfw_measure(&both.measured, stretch, xfw_schedule_now(schedule));
    }
    both.sampled = xfw_schedule_thread_now(schedule, 0) + xfw_sample_rest(sample, &both.measured);
    xfw_cuts_free(&cuts);
    xfw_player_free(player);
    return both;
}

static struct xfw_sample *sampled(const struct tape *tape)
{
    struct xfw_sample *sample = xfw_sample_new(tape->count);
    assert_non_null(sample);
    return sample;
}

/* ---- how sure it is -------------------------------------------------------------------------- */

/* The run's time, and what is saved of it, are as near as is said; which is near. */
static void test_within_its_error(void **state)
{
    (void)state;
    struct tape tape = loop();
    struct xfw_sample *first = sampled(&tape), *second = sampled(&tape);
    struct both alone = play(&tape, NULL, first), changed = play(&tape, &tape_halved, second);
    double run = xfw_sample_error(first, &alone.measured, NULL);
    double saving = xfw_sample_error(first, &changed.measured, &alone.measured);
    struct xfw_share share = xfw_sample_share(first);
    assert_true(share.came == OPS && share.played < OPS / 2);
    assert_true(run > 0 && run < 0.005 * alone.all);
    assert_true(fabs(alone.sampled - alone.all) < 1.5 * run);
    assert_true(alone.all - changed.all > 0.05 * alone.all);
    assert_true(saving > 0 && saving < 0.005 * alone.all);
    assert_true(fabs((alone.sampled - changed.sampled) - (alone.all - changed.all)) < 1.5 * saving);
    xfw_measured_free(&alone.measured);
    xfw_measured_free(&changed.measured);
    xfw_sample_free(first);
    xfw_sample_free(second);
    free(tape.ops);
}

/* Too few stretches to know how far they differ. */
static void test_not_known(void **state)
{
    (void)state;
    struct tape tape = loop();
    struct xfw_sample *sample = xfw_sample_new(100 * (uint64_t)OPS); /* it ends early */
    tape.count = OPS / 4;
    struct both alone = play(&tape, NULL, sample);
    assert_true(xfw_sample_error(sample, &alone.measured, NULL) == INFINITY);
    xfw_measured_free(&alone.measured);
    xfw_sample_free(sample);
    free(tape.ops);
}

static void test_short_ones_are_played(void **state)
{
    (void)state;
    assert_null(xfw_sample_new(110000));
}

/* ---- what is left out ------------------------------------------------------------------------ */

static enum xfw_part part_of_odd(const struct tape *tape)
{
    struct xfw_sample *sample = sampled(tape);
    for (size_t at = 0; at < OPS; at += XFW_BATCH)
        xfw_sample_take(sample, tape->ops + at, XFW_BATCH, at + XFW_BATCH == OPS);
    enum xfw_part part = xfw_sample_at(sample, ODD)->part;
    assert_int_equal(xfw_sample_count(sample), BATCHES);
    assert_int_equal(xfw_sample_at(sample, 0)->part, XFW_COUNTED);
    assert_int_equal(xfw_sample_at(sample, BATCHES - 1)->part, XFW_COUNTED);
    xfw_sample_free(sample);
    return part;
}

static struct xfw_op *odd_op(struct tape *tape, enum xfw_what what)
{
    for (size_t i = (size_t)ODD * XFW_BATCH;; i++)
        if (tape->ops[i].what == what)
            return &tape->ops[i];
}

/* Whatever is new is played, wherever it comes; what is not is left out there. */
static void test_what_is_new(void **state)
{
    (void)state;
    struct tape tape = loop();
    assert_int_equal(part_of_odd(&tape), XFW_LEFT);
    struct xfw_op *copy = odd_op(&tape, XFW_COPY), as_it_was = *copy;
    copy->site = 99;
    assert_int_equal(part_of_odd(&tape), XFW_COUNTED);
    *copy = as_it_was;
    copy->class = 7;
    assert_int_equal(part_of_odd(&tape), XFW_COUNTED);
    *copy = as_it_was;
    copy->stream = 5;
    assert_int_equal(part_of_odd(&tape), XFW_COUNTED);
    *copy = as_it_was;
    copy->bytes = 16384;
    assert_int_equal(part_of_odd(&tape), XFW_COUNTED);
    *copy = as_it_was;
    copy->dst += 1 << 16;
    assert_int_equal(part_of_odd(&tape), XFW_COUNTED);
    *copy = as_it_was;
    copy->demanded.bytes = 1;
    assert_int_equal(part_of_odd(&tape), XFW_COUNTED);
    *copy = as_it_was;
    copy->duration_ns *= 10000; /* as much as many batches */
    assert_int_equal(part_of_odd(&tape), XFW_COUNTED);
    *copy = as_it_was;
    odd_op(&tape, XFW_CALL)->what = XFW_RANGE;
    assert_int_equal(part_of_odd(&tape), XFW_COUNTED);
    free(tape.ops);
}

/* What the program does only at one time, and for long, is in the run's time as it is. */
static void test_pause(void **state)
{
    (void)state;
    struct tape tape = loop();
    const double pause = 1e9;
    size_t at = (size_t)ODD * XFW_BATCH + 100;
    tape.ops[at].gap_ns += pause;
    for (size_t i = at; i < OPS; i++) {
        tape.ops[i].start_ns += pause;
        tape.ops[i].end_ns += pause;
    }
    for (size_t i = at + 1; i < OPS; i++)
        if (tape.ops[i].thread != tape.ops[at].thread) {
            tape.ops[i].gap_ns += pause;
            break;
        }
    struct xfw_sample *sample = sampled(&tape);
    struct both alone = play(&tape, NULL, sample);
    assert_true(alone.all > pause);
    assert_int_equal(xfw_sample_at(sample, ODD)->part, XFW_COUNTED);
    assert_true(fabs(alone.sampled - alone.all) <
                1.5 * xfw_sample_error(sample, &alone.measured, NULL));
    xfw_measured_free(&alone.measured);
    xfw_sample_free(sample);
    free(tape.ops);
}

/* Of what is left out changes still learn which memory there is; it takes no time. */
static void test_memory_is_said(void **state)
{
    (void)state;
    struct tape tape = loop();
    struct xfw_sample *sample = sampled(&tape);
    struct xfw_cuts cuts = {0};
    uint64_t all = 0, allocations = 0, left = 0;
    for (size_t i = 0; i < OPS; i++)
        if (tape.ops[i].kind == XFT_EVENT_ADVISE && i % 40 < 4) {
            tape.ops[i].kind = XFT_EVENT_ALLOC;
            all++;
        }
    for (size_t at = 0; at < OPS; at += XFW_BATCH) {
        const struct xfw_stretch *stretch =
            xfw_sample_take(sample, tape.ops + at, XFW_BATCH, at + XFW_BATCH == OPS);
        size_t stay = xfw_cuts_take(&cuts, stretch, tape.ops + at, stretch->ops);
        for (size_t i = at; i < at + stay; i++) {
            allocations += tape.ops[i].kind == XFT_EVENT_ALLOC;
            if (stretch->part != XFW_LEFT)
                continue;
            left++;
            assert_int_equal(tape.ops[i].kind, XFT_EVENT_ALLOC);
            assert_true(tape.ops[i].own_ns == 0 && tape.ops[i].gap_ns == 0);
        }
    }
    assert_int_equal(allocations, all);
    assert_true(left > 0);
    xfw_cuts_free(&cuts);
    xfw_sample_free(sample);
    free(tape.ops);
}

/* Where the tape is cut a thread that sleeps most of the time does not run ahead of the others. */
static void test_cut_from_the_tape(void **state)
{
    (void)state;
    struct tape tape = loop();
    double last = 0;
    size_t wakes = 0;
    for (size_t i = 1; i < OPS; i++) {
        if (i % 5000 != 1)
            continue;
        struct xfw_op *op = &tape.ops[i];
        uint64_t number = op->number;
        double start = op->start_ns;
        *op = hand_op(XFW_CALL, XFT_EVENT_ADVISE, 10);
        op->number = number;
        op->thread = THREADS;
        op->start_ns = start;
        op->gap_ns = start - last;
        op->end_ns = last = start + 10;
        wakes++;
    }
    struct xfw_sample *sample = sampled(&tape);
    struct both alone = play(&tape, NULL, sample);
    assert_true(wakes > 50 && xfw_sample_share(sample).played < OPS / 2);
    assert_true(xfw_sample_error(sample, &alone.measured, NULL) < 0.003 * alone.all);
    assert_true(fabs(alone.sampled - alone.all) <
                1.5 * xfw_sample_error(sample, &alone.measured, NULL) + 0.002 * alone.all);
    xfw_measured_free(&alone.measured);
    xfw_sample_free(sample);
    free(tape.ops);
}

/* ---- a run ----------------------------------------------------------------------------------- */

enum { CALLS = 600000, PERIOD_NS = 10000, CALL_NS = 1000 };

/* Half of the gap before each call goes. */
static void shorten(const struct xfw_change *change, void *state, struct xfw_player *player,
                    struct xfw_op *op)
{
    (void)change;
    (void)state;
    (void)player;
    if (op->kind == XFT_EVENT_LAUNCH)
        op->gap_ns /= 2;
}

/* Only of some thousand calls in turns. */
static void shorten_some(const struct xfw_change *change, void *state, struct xfw_player *player,
                         struct xfw_op *op)
{
    if (op->number % 16384 < 8192)
        shorten(change, state, player, op);
}

/* Ten times as long a gap, now and then a little more: by more than a run's time may be off. */
static void lengthen(const struct xfw_change *change, void *state, struct xfw_player *player,
                     struct xfw_op *op)
{
    (void)change;
    (void)state;
    (void)player;
    op->gap_ns *= op->number % 16384 < 8192 ? 10 : 10.5;
}

enum ranges { NO_RANGE, RANGE_FIRST, RANGE_LAST };
static bool gathers; /* ops of the walk that sums up are played */
static uint64_t most_played;

static struct xfw_whatif *weighed(const struct xfw_change_type *type, uint64_t odd_ns,
                                  enum ranges with_range)
{
    struct trace_builder b;
    struct xft_event *calls = calloc(CALLS + 2, sizeof *calls);
    uint64_t now = TEST_START_NS + PERIOD_NS, count = 0;
    state_of_chance = 11;
    build_start(&b, 1);
    scenario_names(&b);
    const struct xft_event begin = {.kind = XFT_EVENT_RANGE_BEGIN, .dst = 1};
    if (with_range == RANGE_FIRST) {
        calls[count] = begin;
        calls[count].start_ns = calls[count].end_ns = now - 10;
        count++;
    }
    for (uint64_t i = 0; i < CALLS; i++) {
        calls[count++] = (struct xft_event){
            .kind = XFT_EVENT_LAUNCH, .start_ns = now, .end_ns = now + CALL_NS, .src = 1};
        now += PERIOD_NS + (i % 8192 < 4096 ? odd_ns : 0);
    }
    if (with_range == RANGE_LAST) {
        calls[count] = begin;
        calls[count].start_ns = calls[count].end_ns = now;
        count++;
    }
    for (uint64_t at = 0; at < count; at += XFT_SLAB_EVENTS)
        build_events(&b, 0, at, calls + at,
                     (uint32_t)(count - at < XFT_SLAB_EVENTS ? count - at : XFT_SLAB_EVENTS));
    build_close(&b, XFT_STATE_CLOSED, now);
    struct analyzed a = analyzed_trace(&b, NULL);
    struct xfw_change change = {.type = type, .analysis = a.analysis}, *changes[] = {&change};
    const struct xfw_proposals proposals = {.changes = changes,
                                            .count = 1,
                                            .most_played = most_played,
                                            .gather = gathers ? a.findings->gather : NULL};
    struct xfw_whatif *whatif = xfw_whatif_of_proposals(a.analysis, &proposals);
    assert_true(whatif->known);
    analyzed_free(&a);
    build_free(&b);
    free(calls);
    return whatif;
}

static const struct xfw_change_type shorter = {.name = "shorter", .op = shorten};
static const double half_of_all = (CALLS - 1.0) * (PERIOD_NS - CALL_NS) / 2;

/* Steady as it is, all is known of what was left out. */
static void test_steady_run(void **state)
{
    (void)state;
    struct xfw_whatif *whatif = weighed(&shorter, 0, NO_RANGE);
    assert_int_equal(whatif->ops.came, CALLS);
    assert_true(whatif->ops.played < CALLS * 3 / 4);
    assert_true(fabs(whatif->alone[0].likely - half_of_all) < 1e-6 * half_of_all);
    assert_true(whatif->sample_error_ns < 1e-6 * whatif->alone_ns);
    assert_true(fabs(whatif->set.likely - half_of_all) < 1e-6 * half_of_all);
    xfw_whatif_free(whatif);
}

/* Stretches that differ make it unsure, beyond a limit too much: then all is played. */
static void test_unsteady_run(void **state)
{
    (void)state;
    struct xfw_whatif *some = weighed(&shorter, 300, NO_RANGE);
    assert_true(some->ops.came == CALLS && some->sample_error_ns > 0);
    double unsure = xfw_unsure_ns(some, some->alone[0].likely);
    assert_true(some->alone[0].high - some->alone[0].likely > unsure);
    xfw_whatif_free(some);
    const struct xfw_change_type sometimes = {.name = "sometimes", .op = shorten_some};
    struct xfw_whatif *much = weighed(&sometimes, 0, NO_RANGE);
    assert_int_equal(much->ops.came, 0);
    assert_true(much->sample_error_ns == 0);
    assert_true(fabs(much->recorded_ns - much->alone_ns) < 1);
    xfw_whatif_free(much);
}

/* All would be too much: it stays with the sample, and says so. */
static void test_stops(void **state)
{
    const struct xfw_change_type sometimes = {.name = "sometimes", .op = shorten_some};
    (void)state;
    most_played = 2 * (uint64_t)CALLS; /* in three ways */
    struct xfw_whatif *whatif = weighed(&sometimes, 0, NO_RANGE);
    assert_true(whatif->stopped && whatif->ops.came == CALLS && whatif->ops.played < CALLS);
    assert_true(whatif->sample_error_ns > 0.005 * whatif->alone_ns);
    double off = fabs(whatif->alone[0].likely - half_of_all / 2);
    assert_true(off < 1.5 * whatif->sample_error_ns);
    assert_true(whatif->alone[0].high - whatif->alone[0].likely >= whatif->sample_error_ns);
    xfw_whatif_free(whatif);
    most_played = 0;
    whatif = weighed(&sometimes, 0, NO_RANGE);
    assert_true(!whatif->stopped && whatif->ops.came == 0);
    xfw_whatif_free(whatif);
}

/* More and more that is new: at some point no more of it is played for that. */
static void test_all_is_new(void **state)
{
    enum { BATCHES_OF_NEW = 8000 };
    struct xfw_sample *sample = xfw_sample_new((uint64_t)BATCHES_OF_NEW * XFW_BATCH);
    (void)state;
    for (uint64_t i = 0; i < BATCHES_OF_NEW; i++) {
        struct xfw_op op = hand_op(XFW_CALL, XFT_EVENT_ADVISE, 100);
        op.site = (uint32_t)i;
        op.start_ns = (double)i * 100;
        op.end_ns = op.start_ns + 100;
        xfw_sample_take(sample, &op, 1, i + 1 == BATCHES_OF_NEW);
        assert_int_equal(
            xfw_sample_at(sample, i)->part == XFW_COUNTED || xfw_sample_stopped(sample), true);
    }
    assert_true(xfw_sample_stopped(sample));
    assert_in_range(xfw_sample_share(sample).played, 4096, 4096 + 1000);
    xfw_sample_free(sample);
}

/* One batch is like others, and leads in to a stretch that was played for what is new in it: so
 * nothing was left out, and all is known. */
static void test_none_is_left_out(void **state)
{
    enum { ALL = 4000, KNOWN = 16 };
    const uint64_t calls = (uint64_t)ALL * XFW_BATCH;
    struct xfw_sample *plan = xfw_sample_new(calls), *sample = xfw_sample_new(calls);
    struct xfw_measured measured = {0};
    uint64_t lead = 0;
    (void)state;
    for (uint64_t i = 0; i < ALL; i++) {
        struct xfw_op op = hand_op(XFW_CALL, XFT_EVENT_ADVISE, 100);
        op.start_ns = (double)i * 100;
        op.end_ns = op.start_ns + 100;
        xfw_sample_take(plan, &op, 1, i + 1 == ALL);
        bool leads = xfw_sample_at(plan, i)->part == XFW_WARMING;
        lead = leads && lead == 0 ? i : lead;
        op.site = i < KNOWN || i == lead ? op.site : (uint32_t)i;
        xfw_measure(&measured, xfw_sample_take(sample, &op, 1, i + 1 == ALL), op.end_ns);
    }
    struct xfw_share share = xfw_sample_share(sample);
    assert_true(lead > 0 && xfw_sample_at(sample, lead)->part == XFW_WARMING);
    assert_true(xfw_sample_share(plan).played < ALL && share.played == share.came);
    assert_true(xfw_sample_error(sample, &measured, NULL) == 0);
    assert_true(xfw_sample_rest(sample, &measured) == 0);
    xfw_measured_free(&measured);
    xfw_sample_free(plan);
    xfw_sample_free(sample);
}

/* How much longer exactly need not be known of what costs time. */
static void test_costly_change(void **state)
{
    const struct xfw_change_type longer = {.name = "longer", .op = lengthen};
    struct xfw_whatif *whatif = weighed(&longer, 0, NO_RANGE);
    (void)state;
    assert_int_equal(whatif->ops.came, CALLS);
    assert_true(whatif->alone[0].likely < -8 * whatif->alone_ns);
    assert_true(whatif->sample_error_ns < 1e-6 * whatif->alone_ns);
    xfw_whatif_free(whatif);
}

/* Ranges last as long as what is in them. */
static void test_all_is_asked_for(void **state)
{
    (void)state;
    for (enum ranges range = RANGE_FIRST; range <= RANGE_LAST; range++) {
        struct xfw_whatif *whatif = weighed(&shorter, 0, range);
        assert_int_equal(whatif->ops.came, 0);
        assert_true(fabs(whatif->alone[0].likely - half_of_all) < 1e-6 * half_of_all);
        xfw_whatif_free(whatif);
    }
}

/* The same in the walk that sums the run up, and in one of its own. */
static void test_gathered(void **state)
{
    gathers = true;
    test_steady_run(state);
    test_unsteady_run(state);
    test_all_is_asked_for(state);
    struct xfw_whatif *gathered = weighed(&shorter, 300, NO_RANGE);
    gathers = false;
    struct xfw_whatif *walked = weighed(&shorter, 300, NO_RANGE);
    assert_true(gathered->alone[0].likely == walked->alone[0].likely);
    assert_true(gathered->alone[0].high == walked->alone[0].high);
    assert_int_equal(gathered->ops.played, walked->ops.played);
    xfw_whatif_free(gathered);
    xfw_whatif_free(walked);
}

/* However long a process is, no more of it is played: what is played has to be kept. */
static void test_no_more_of_the_longest(void **state)
{
    (void)state;
    uint64_t played[2];
    for (unsigned i = 0; i < 2; i++) {
        uint64_t batches = (uint64_t)200000 << i;
        struct xfw_sample *sample = xfw_sample_new(batches * XFW_BATCH);
        for (uint64_t b = 0; b < batches; b++) {
            struct xfw_op op = hand_op(XFW_CALL, XFT_EVENT_ADVISE, 100);
            op.start_ns = (double)b * 100;
            op.end_ns = op.start_ns + 100;
            xfw_sample_take(sample, &op, 1, b + 1 == batches);
        }
        xfw_sample_at_level(sample, XFW_SAMPLE_LEVELS);
        played[i] = xfw_sample_share(sample).played;
        xfw_sample_free(sample);
    }
    assert_in_range(played[0], 640 * 5, 640 * 6);
    assert_in_range(played[1], 640 * 5, 640 * 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_within_its_error),
        cmocka_unit_test(test_not_known),
        cmocka_unit_test(test_short_ones_are_played),
        cmocka_unit_test(test_what_is_new),
        cmocka_unit_test(test_pause),
        cmocka_unit_test(test_memory_is_said),
        cmocka_unit_test(test_cut_from_the_tape),
        cmocka_unit_test(test_steady_run),
        cmocka_unit_test(test_unsteady_run),
        cmocka_unit_test(test_stops),
        cmocka_unit_test(test_all_is_new),
        cmocka_unit_test(test_none_is_left_out),
        cmocka_unit_test(test_costly_change),
        cmocka_unit_test(test_all_is_asked_for),
        cmocka_unit_test(test_gathered),
        cmocka_unit_test(test_no_more_of_the_longest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
