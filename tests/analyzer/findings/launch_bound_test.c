/* launch-bound: which launches a graph could make, and what the run would save. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/whatif/changes/sequences.h"
#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"

enum { WAIT = 10, COPY, STRETCHES = 30, ROUNDS = 16, KERNELS = 4, NODES = ROUNDS * KERNELS };
#define LAUNCH_NS 4000
#define GAP_NS 500 /* the thread's own time */
#define LATENCY_NS 2000
#define KERNEL_NS 1000
#define WAKE_NS 2000
/* By the profile. */
#define GRAPH_NS 3000
#define MADE_NS 1000 /* of a node, as is the next one */
#define UPDATED_NS 2500
#define SPACE_NS 250    /* launch_graphs.c: as likely, where the profile has no figure */
#define MEASURED_NS 600 /* where it has one */

struct how {
    uint64_t kernel_ns, gap_ns;
    unsigned kernels, rounds; /* 0: as many as above */
    bool shuffled;            /* kernels come in an order that does not come again */
    bool odd;                 /* the last kernel of a round is another one each time */
    bool sends;               /* a copy to the device before each round */
    bool measured;            /* the profile has the distance of a graph's kernels */
    uint64_t apart_ns;        /* kernels that queue begin so long behind the one before */
    unsigned arguments;       /* each launch is given one of so many; 0: another one each time */
};

static const struct how plain = {.kernel_ns = KERNEL_NS, .gap_ns = GAP_NS, .arguments = 1};

/* A table by nodes, in proportion to them beyond the first ns. */
static void table(struct xfp_profile *profile, const char *name, double first, double each)
{
    measured_table(profile, name, 1);
    struct xfp_table *made = &profile->tables[profile->table_count - 1];
    for (size_t i = 0; i < made->row_count; i++) {
        struct xfp_cost *cost = &made->rows[i].cost;
        made->rows[i].at = 1 + 1000 * i;
        double ns = first + each * (double)made->rows[i].at;
        cost->median = cost->min = cost->max = cost->ci_low = cost->ci_high = ns;
    }
}

static struct xfp_profile *machine(const struct how *how)
{
    struct xfp_profile *profile = measured_profile(0);
    if (how->measured)
        measured_scalar(profile, "graph/device-node/gpu0", MEASURED_NS);
    table(profile, "graph/instantiate/gpu0", 0, MADE_NS);
    table(profile, "graph/update/gpu0", 0, UPDATED_NS);
    table(profile, "graph/launch/gpu0", GRAPH_NS, 0);
    return profile;
}

/* The kernel begins as soon as it can. */
static void launch(struct play *play, const struct how *how, unsigned name, uint64_t arguments,
                   uint64_t *busy)
{
    static uint32_t correlation = 7000;
    uint64_t begun = play->now;
    struct xft_event *event = play_in_stream(play, XFT_EVENT_LAUNCH, 0, LAUNCH_NS);
    event->src = name;
    event->dst = 256;
    event->aux = arguments;
    event->correlation = ++correlation;
    uint64_t free_at = *busy + how->apart_ns;
    uint64_t start = begun + LATENCY_NS > free_at ? begun + LATENCY_NS : free_at;
    uint64_t now = play->now;
    unsigned was = play->lane;
    play->lane = LANE_DEVICE;
    play->now = start;
    play_event(
        play, (struct xft_event){.kind = XFT_EVENT_KERNEL, .src = name, .correlation = correlation},
        how->kernel_ns);
    play->lane = was;
    play->now = now + how->gap_ns;
    *busy = start + how->kernel_ns;
}

static void round_of(struct play *play, const struct how *how, uint64_t *busy)
{
    static uint64_t launched, drawn = 1;
    unsigned kernels = how->kernels ? how->kernels : KERNELS;
    if (how->sends)
        play_async(play, COPY, XFT_DIR_H2D, XFT_MEM_REGISTERED, 64, 1000);
    for (unsigned i = 0; i < kernels; i++) {
        drawn = drawn * 6364136223846793005u + 1442695040888963407u;
        unsigned name = how->shuffled ? 1 + (unsigned)(drawn >> 60) : 1 + i;
        launched++;
        if (how->odd && i == kernels - 1)
            name = 100 + (unsigned)launched;
        uint64_t turn = how->arguments ? launched / kernels % how->arguments : launched;
        launch(play, how, name, 1 + turn, busy);
    }
}

static struct analyzed played(const struct how *how)
{
    static struct play play;
    struct trace_builder b = {0};
    uint64_t busy = 0;
    play = (struct play){0};
    play_start(&play, &b, 1);
    play_site(&play, WAIT, "finish", 1);
    play_site(&play, COPY, "send", 2);
    play_event(&play, (struct xft_event){.kind = XFT_EVENT_RECORDS, .aux = XFT_RECORDS_KERNELS}, 0);
    for (unsigned i = 0; i < STRETCHES; i++) {
        for (unsigned k = 0; k < (how->rounds ? how->rounds : ROUNDS); k++)
            round_of(&play, how, &busy);
        struct xft_event *wait =
            play_in_stream(&play, XFT_EVENT_SYNC, 0, play_wait_ns(&play, busy, WAKE_NS));
        wait->aux = XFT_SYNC_STREAM;
        wait->stack = WAIT;
    }
    play_end(&play, XFT_STATE_CLOSED);
    return analyzed_played(&b, machine(how));
}

/* Stretches but the first of which it is learnt: what is left of a launch is its kernel. */
static double saved_apart_ns(double node_ns, double apart_ns)
{
    double left = KERNEL_NS + apart_ns;
    double each = LAUNCH_NS + GAP_NS - (node_ns > left ? node_ns : left);
    return (STRETCHES - 1) * NODES * each - NODES * MADE_NS;
}

static double saved_ns(double node_ns)
{
    return saved_apart_ns(node_ns, SPACE_NS);
}

static void test_graphs(void **state)
{
    struct analyzed a = played(&plain);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_LAUNCH_BOUND, "finish");
    (void)state;
    assert_non_null(f);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_LAUNCH_GRAPH);
    assert_true(f->transfers < STRETCHES * NODES && f->transfers > 0.8 * STRETCHES * NODES);
    assert_true(f->lost_ns > (double)f->transfers * (LAUNCH_NS + GAP_NS));
    assert_float_equal(f->saving.likely, saved_ns(0), 0.05 * saved_ns(0));
    assert_true(f->saving.low > 0 && f->saving.low < f->saving.likely);
    assert_true(f->saving.high > f->saving.likely);
    assert_true(f->order > 0); /* in the best set */
    assert_non_null(f->at_best);
    analyzed_free(&a);
}

/* By the profile, also of kernels that queued; at worst these stay as far apart as they were. */
static void test_distance(void **state)
{
    struct how how = plain;
    (void)state;
    how.measured = true;
    struct analyzed a = played(&how);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_LAUNCH_BOUND, "finish");
    double saved = saved_apart_ns(0, MEASURED_NS);
    assert_non_null(f);
    assert_float_equal(f->saving.likely, saved, 0.05 * saved);
    analyzed_free(&a);
    how.apart_ns = 2 * MEASURED_NS; /* longer than it takes to launch the next one */
    how.kernel_ns = LAUNCH_NS;
    struct analyzed queued = played(&how);
    f = analyzed_finding(&queued, XFA_FINDING_LAUNCH_BOUND, "finish");
    saved = (STRETCHES - 1) * NODES * (double)MEASURED_NS - NODES * MADE_NS;
    assert_non_null(f);
    assert_float_equal(f->saving.likely, saved, 0.1 * saved);
    assert_true(f->saving.low < 0.2 * saved);
    analyzed_free(&queued);
}

/* Buffers that take turns are captured by two rounds; what is another one each time is updated. */
static void test_arguments(void **state)
{
    struct how how = plain;
    struct analyzed same = played(&how);
    how.arguments = 2;
    struct analyzed turns = played(&how);
    how.arguments = 0;
    struct analyzed others = played(&how);
    double likely[3];
    struct analyzed *all[] = {&same, &turns, &others};
    (void)state;
    for (int i = 0; i < 3; i++) {
        const struct xfa_finding *f = analyzed_finding(all[i], XFA_FINDING_LAUNCH_BOUND, "finish");
        assert_non_null(f);
        likely[i] = f->saving.likely;
    }
    assert_float_equal(likely[1], likely[0], 0.02 * likely[0]);
    assert_float_equal(likely[2], saved_ns(UPDATED_NS), 0.15 * saved_ns(UPDATED_NS));
    for (int i = 0; i < 3; i++)
        analyzed_free(all[i]);
}

/* What is another kernel each time is no node, nor is what has it among the calls before. */
static void test_odd(void **state)
{
    struct how how = plain;
    how.kernels = 20;
    how.odd = true;
    struct analyzed a = played(&how);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_LAUNCH_BOUND, "finish");
    const unsigned first = how.kernels - 1, others = first - XFW_SEQUENCE_BEHIND;
    (void)state;
    assert_non_null(f);
    assert_true(f->transfers > STRETCHES * others);
    assert_true(f->transfers <= STRETCHES * (first + (ROUNDS - 1) * others));
    analyzed_free(&a);
}

/* No advice: the finding is not there, or idle. */
static void quiet(const struct how *how)
{
    struct analyzed a = played(how);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_LAUNCH_BOUND, NULL);
    assert_true(!f || f->idle);
    analyzed_free(&a);
}

static void none(const struct how *how)
{
    struct analyzed a = played(how);
    assert_null(analyzed_finding(&a, XFA_FINDING_LAUNCH_BOUND, NULL));
    analyzed_free(&a);
}

static void test_left(void **state)
{
    struct how how = plain;
    (void)state;
    how.kernel_ns = 20000; /* they hide the launches */
    quiet(&how);
    how = plain;
    how.shuffled = true;
    none(&how);
    how = plain;
    how.gap_ns = 12000; /* the host works in between */
    none(&how);
    how = plain;
    how.kernels = 3; /* that wait for what is sent, or are waited for */
    how.sends = true;
    none(&how);
    how.sends = false;
    how.rounds = 1;
    none(&how);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graphs),    cmocka_unit_test(test_distance),
        cmocka_unit_test(test_arguments), cmocka_unit_test(test_odd),
        cmocka_unit_test(test_left),
    };
    return cmocka_run_group_tests_name("findings: launches for a graph", tests, NULL, NULL);
}
