/* launch-bound: which launches are for pieces that one launch could do for, and what that saves. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/whatif/changes/batch_launches.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"

enum {
    WAIT = 10,
    SEND,
    STRETCHES = 30,
    PIECES = 64,
    FEW = 5,
    SHORT = 10,
    THREADS = 256,
    MOST_KERNELS = 4
};
#define LAUNCH_NS 4000
#define GAP_NS 500 /* the thread's own time */
#define LONG_GAP_NS 20000
#define TABLE_NS 4000                      /* batch_launches.c: its call, and on the device */
#define EACH_NS (LAUNCH_NS + GAP_NS + 100) /* from launch to launch: play.c has a pause */
#define LATENCY_NS 2000
#define KERNEL_NS 3000
#define WAKE_NS 2000
#define MEMORY 0x7f1000000000ull
#define TABLE 0x7f2000000000ull
#define SUM 0x7f3000000000ull
#define STEP 4096

/* Of piece i, as step s has it; count of pointers. */
typedef unsigned given_fn(unsigned stretch, unsigned i, uint64_t *pointers);

struct how {
    const char *kernels[MOST_KERNELS]; /* of a piece; NULL: no more */
    given_fn *given;                   /* NULL: it is not recorded */
    unsigned pieces, threads;
    uint64_t gap_ns;
    unsigned late;   /* so many launches into a stretch the host works; 0: never */
    bool by_streams; /* pieces take turns in two */
    bool sends;      /* a copy before each piece */
};

static unsigned given_own(unsigned stretch, unsigned i, uint64_t *pointers)
{
    (void)stretch;
    pointers[0] = MEMORY + (uint64_t)i * STEP;
    pointers[1] = TABLE;
    return 2;
}

static unsigned given_only_own(unsigned stretch, unsigned i, uint64_t *pointers)
{
    return given_own(stretch, i, pointers) - 1;
}

/* Adds up. */
static unsigned given_sum(unsigned stretch, unsigned i, uint64_t *pointers)
{
    (void)stretch;
    pointers[0] = SUM;
    pointers[1] = MEMORY + (uint64_t)i * STEP;
    return 2;
}

/* Each reads what the one before has written. */
static unsigned given_chain(unsigned stretch, unsigned i, uint64_t *pointers)
{
    (void)stretch;
    pointers[0] = MEMORY + (uint64_t)(i + 1) * STEP;
    pointers[1] = MEMORY + (uint64_t)i * STEP;
    return 2;
}

/* Two buffers take turns. */
static unsigned given_turns(unsigned stretch, unsigned i, uint64_t *pointers)
{
    (void)stretch;
    pointers[0] = MEMORY + (uint64_t)(i % 2) * STEP;
    pointers[1] = MEMORY + (uint64_t)(1 - i % 2) * STEP;
    return 2;
}

/* A sweep over sixteen pieces, again and again. */
static unsigned given_sweeps(unsigned stretch, unsigned i, uint64_t *pointers)
{
    return given_own(stretch, i % 16, pointers);
}

static const struct how plain = {
    .kernels = {"_Z4stepPfPKf"},
    .given = given_own,
    .pieces = PIECES,
    .threads = THREADS,
    .gap_ns = GAP_NS,
};
static const struct how filtered = {
    .kernels = {"_Z9transform4dataIfE", "_Z6filterPf", "_Z9transform4dataIfE"},
    .given = given_only_own,
    .pieces = PIECES,
    .threads = THREADS,
    .gap_ns = GAP_NS,
};

struct run {
    struct trace_builder b;
    struct play play;
    const struct how *how;
    uint64_t busy;
    unsigned launches; /* of the stretch */
    uint32_t correlation;
    unsigned arguments;
};

/* Names of their own where they differ. */
static unsigned name_of(const struct how *how, unsigned k)
{
    unsigned first = 0;
    while (strcmp(how->kernels[first], how->kernels[k]) != 0)
        first++;
    return 100 + first;
}

static unsigned arguments_of(struct run *run, unsigned stretch, unsigned i)
{
    uint64_t pointers[2];
    if (!run->how->given)
        return 0;
    unsigned count = run->how->given(stretch, i, pointers);
    build_arguments(&run->b, ++run->arguments, pointers, count);
    return run->arguments;
}

/* The kernel begins as soon as it can. */
static void launch(struct run *run, unsigned name, unsigned arguments, unsigned stream)
{
    struct play *play = &run->play;
    uint64_t begun = play->now;
    struct xft_event *event = play_in_stream(play, XFT_EVENT_LAUNCH, stream, LAUNCH_NS);
    event->src = name;
    event->dst = run->how->threads;
    event->aux = arguments;
    event->correlation = ++run->correlation;
    uint64_t start = begun + LATENCY_NS > run->busy ? begun + LATENCY_NS : run->busy;
    uint64_t now = play->now;
    unsigned was = play->lane;
    play->lane = LANE_DEVICE;
    play->now = start;
    const struct xft_event kernel = {.kind = XFT_EVENT_KERNEL,
                                     .src = name,
                                     .dst = run->how->threads,
                                     .correlation = run->correlation};
    play_event(play, kernel, KERNEL_NS);
    play->lane = was;
    bool late = ++run->launches == run->how->late;
    play->now = now + (late ? LONG_GAP_NS : run->how->gap_ns);
    run->busy = start + KERNEL_NS;
}

static void stretch_of(struct run *run, unsigned stretch)
{
    const struct how *how = run->how;
    run->launches = 0;
    for (unsigned i = 0; i < how->pieces; i++) {
        unsigned arguments = arguments_of(run, stretch, i);
        if (how->sends)
            play_async(&run->play, SEND, XFT_DIR_H2D, XFT_MEM_REGISTERED, 64, 1000);
        for (unsigned k = 0; k < MOST_KERNELS && how->kernels[k]; k++)
            launch(run, name_of(how, k), arguments, how->by_streams ? i % 2 : 0);
    }
    struct xft_event *wait =
        play_in_stream(&run->play, XFT_EVENT_SYNC, 0, play_wait_ns(&run->play, run->busy, WAKE_NS));
    wait->aux = XFT_SYNC_CONTEXT;
    wait->stack = WAIT;
}

static struct analyzed played(const struct how *how)
{
    static struct run run;
    run = (struct run){.how = how, .correlation = 7000};
    play_start(&run.play, &run.b, 1);
    play_site(&run.play, WAIT, "finish", 1);
    play_site(&run.play, SEND, "send", 2);
    for (unsigned k = 0; k < MOST_KERNELS && how->kernels[k]; k++)
        if (name_of(how, k) == 100 + k)
            build_text(&run.b, 100 + k, how->kernels[k]);
    const struct xft_event records = {.kind = XFT_EVENT_RECORDS, .aux = XFT_RECORDS_KERNELS};
    play_event(&run.play, records, 0);
    for (unsigned i = 0; i < STRETCHES; i++)
        stretch_of(&run, i);
    play_end(&run.play, XFT_STATE_CLOSED);
    return analyzed_played(&run.b, measured_profile(0));
}

static const struct xfa_finding *with_remedy(const struct analyzed *a, enum xfa_remedy_kind remedy)
{
    const struct xfa_finding *found = NULL;
    for (size_t i = 0; i < a->findings->count; i++)
        if (a->findings->items[i].id == XFA_FINDING_LAUNCH_BOUND &&
            a->findings->items[i].remedy.kind == remedy)
            found = &a->findings->items[i];
    return found;
}

/* So many launches of a stretch stay, and those of the pieces that were needed to see that there
 * are many. What goes had taken each_ns. */
static double saved_ns(const struct how *how, unsigned stay, double each_ns)
{
    unsigned kernels = 1;
    while (kernels < MOST_KERNELS && how->kernels[kernels])
        kernels++;
    unsigned go = STRETCHES * (how->pieces * kernels - stay);
    return (go - (XFW_PIECES_LEAST - 1) * kernels) * each_ns;
}

static void test_pieces(void **state)
{
    struct analyzed a = played(&plain);
    const struct xfa_finding *pieces = with_remedy(&a, XFA_REMEDY_BATCH_LAUNCHES);
    const struct xfa_finding *graph = with_remedy(&a, XFA_REMEDY_LAUNCH_GRAPH);
    double saved = saved_ns(&plain, 1, EACH_NS);
    (void)state;
    assert_non_null(pieces);
    assert_int_equal(pieces->transfers, STRETCHES * (PIECES - 1) - (XFW_PIECES_LEAST - 1));
    assert_true(pieces->lost_ns >= (double)pieces->transfers * LAUNCH_NS);
    assert_float_equal(pieces->saving.likely, saved, 0.01 * saved);
    assert_true(pieces->order > 0); /* in the best set */
    assert_non_null(graph);
    assert_int_equal(graph->order, 0);
    assert_int_equal(graph->instead_of, pieces->order);
    assert_true(graph->saving.likely < pieces->saving.likely);
    assert_true(graph->saving.high >= pieces->saving.likely);
    analyzed_free(&a);
}

/* At worst the thread's own time stays, and a table is sent before each run. */
static void test_bounds(void **state)
{
    struct how how = plain;
    (void)state;
    how.pieces = SHORT;
    struct analyzed a = played(&how);
    const struct xfa_finding *f = with_remedy(&a, XFA_REMEDY_BATCH_LAUNCHES);
    double stays = saved_ns(&how, 1, LAUNCH_NS);
    assert_non_null(f);
    assert_true(f->saving.low > 0.7 * stays && f->saving.low < 0.75 * stays); /* a fifth off */
    assert_true(f->saving.high >= f->saving.likely);
    analyzed_free(&a);
}

/* Kernels that fill the GPU take as long together as one after the other; of others the longest. */
static void test_filled(void **state)
{
    struct how how = plain;
    (void)state;
    how.threads = XFW_FILL_LIKELY;
    struct analyzed a = played(&how);
    const struct xfa_finding *f = with_remedy(&a, XFA_REMEDY_BATCH_LAUNCHES);
    double saved = saved_ns(&how, 1, EACH_NS - KERNEL_NS);
    assert_non_null(f);
    assert_float_equal(f->saving.likely, saved, 0.01 * saved);
    assert_true(f->saving.high > 1.5 * saved); /* a larger GPU */
    analyzed_free(&a);
    how.threads = XFW_FILL_LIKELY / 2;
    struct analyzed half = played(&how);
    f = with_remedy(&half, XFA_REMEDY_BATCH_LAUNCHES);
    saved = saved_ns(&how, 1, EACH_NS - 0.5 * KERNEL_NS);
    assert_non_null(f);
    assert_float_equal(f->saving.likely, saved, 0.01 * saved);
    analyzed_free(&half);
}

/* Three launches for each piece become three. */
static void test_sequence(void **state)
{
    struct analyzed a = played(&filtered);
    const struct xfa_finding *f = with_remedy(&a, XFA_REMEDY_BATCH_LAUNCHES);
    double saved = saved_ns(&filtered, 3, EACH_NS);
    (void)state;
    assert_non_null(f);
    assert_float_equal(f->saving.likely, saved, 0.01 * saved);
    analyzed_free(&a);
}

/* A run that is interrupted within a piece goes on behind that. */
static void test_interrupted(void **state)
{
    struct how how = filtered;
    (void)state;
    for (how.late = 1; how.late <= 3; how.late++) {
        struct analyzed a = played(&how);
        const struct xfa_finding *f = with_remedy(&a, XFA_REMEDY_BATCH_LAUNCHES);
        double saved = saved_ns(&how, 3 * 4, EACH_NS);
        assert_non_null(f);
        assert_true(f->saving.likely > 0.98 * saved);
        analyzed_free(&a);
    }
}

/* Of pieces that are worked on again and again those of one sweep go together. */
static void test_sweeps(void **state)
{
    struct how how = plain;
    (void)state;
    how.given = given_sweeps;
    struct analyzed a = played(&how);
    const struct xfa_finding *f = with_remedy(&a, XFA_REMEDY_BATCH_LAUNCHES);
    double saved = saved_ns(&how, PIECES / 16, EACH_NS);
    assert_non_null(f);
    assert_float_equal(f->saving.likely, saved, 0.01 * saved);
    analyzed_free(&a);
}

/* More pieces than there are places for. */
static void test_many(void **state)
{
    struct how how = plain;
    (void)state;
    how.pieces = XFW_PIECE_POINTERS;
    struct analyzed a = played(&how);
    const struct xfa_finding *f = with_remedy(&a, XFA_REMEDY_BATCH_LAUNCHES);
    double saved = saved_ns(&how, 2, EACH_NS);
    assert_non_null(f);
    assert_float_equal(f->saving.likely, saved, 0.01 * saved);
    analyzed_free(&a);
}

static void none(const struct how *how)
{
    struct analyzed a = played(how);
    assert_null(with_remedy(&a, XFA_REMEDY_BATCH_LAUNCHES));
    analyzed_free(&a);
}

/* What a launch may have left is used by another one. */
static void test_dependent(void **state)
{
    static given_fn *const dependent[] = {given_sum, given_chain, given_turns};
    struct how how = plain;
    (void)state;
    for (size_t i = 0; i < sizeof dependent / sizeof *dependent; i++) {
        how.given = dependent[i];
        none(&how);
    }
}

/* It is not known what they write: only at best they do not need each other. */
static void unknown(const struct how *how)
{
    struct analyzed a = played(how);
    const struct xfa_finding *f = with_remedy(&a, XFA_REMEDY_BATCH_LAUNCHES);
    assert_non_null(f);
    assert_true(f->saving.likely < 0.01 * f->saving.high);
    assert_true(f->saving.high > 0.8 * saved_ns(how, 1, EACH_NS));
    assert_true(f->idle);
    analyzed_free(&a);
}

static void test_unknown(void **state)
{
    struct how how = plain;
    (void)state;
    how.given = NULL;
    unknown(&how);
    how = plain;
    how.kernels[0] = "step"; /* extern "C": it may write the table */
    unknown(&how);
    how.given = given_turns; /* but it writes something */
    none(&how);
}

static void test_left(void **state)
{
    struct how how = plain;
    (void)state;
    how.pieces = FEW;
    none(&how);
    how = plain;
    how.by_streams = true;
    none(&how);
    how = plain;
    how.sends = true;
    none(&how);
    how = plain;
    how.gap_ns = LONG_GAP_NS; /* the host works in between */
    none(&how);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),      cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_filled),      cmocka_unit_test(test_sequence),
        cmocka_unit_test(test_interrupted), cmocka_unit_test(test_sweeps),
        cmocka_unit_test(test_many),        cmocka_unit_test(test_dependent),
        cmocka_unit_test(test_unknown),     cmocka_unit_test(test_left),
    };
    return cmocka_run_group_tests_name("findings: launches for pieces", tests, NULL, NULL);
}
