/* repeated-graph-upload: when the host had no time to change what a graph uploads, what the run
 * would save if no kernel changes it, and what is no such upload. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/measured.h"
#include "tests/analyzer/traces/play.h"

enum { SITE = 10, LAUNCHES = 40, COPY_NS = 60000, KERNEL_NS = 20000, LATENCY_NS = 3000 };
enum { HOST = 0x100000000, DATA = 0x200000000, RESULT = 0x300000000 };

/* What comes between two launches. */
struct graph {
    bool waits;         /* for the launch before */
    uint64_t works_ns;  /* of its own, before the next launch */
    bool elsewhere;     /* the next copy is from other memory */
    bool fetches;       /* a copy brings something to where the graph copies from */
    const char *assume; /* the user's answer; NULL: none */
};

static struct play play;
static uint64_t device_free;

static void device(struct xft_event work, uint64_t called, uint64_t ns)
{
    uint64_t now = play.now, ready = called + LATENCY_NS;
    play.lane = LANE_DEVICE;
    play.now = device_free > ready ? device_free : ready;
    device_free = play_event(&play, work, ns)->end_ns;
    play.lane = LANE_MAIN;
    play.now = now;
}

static void launch(const struct graph *graph, unsigned i)
{
    struct xft_event copy =
        test_transfer(CALL_MEMCPY_ASYNC, XFT_DIR_H2D, XFT_MEM_PINNED, MIB, 0, 0);
    const struct xft_event event = {.kind = XFT_EVENT_GRAPH_LAUNCH,
                                    .correlation = ++play.correlation,
                                    .src = 1,
                                    .count = 1,
                                    .stack = SITE};
    uint64_t called = play.now;
    copy.src = HOST + (graph->elsewhere ? i * MIB : 0);
    copy.dst = DATA;
    copy.src_place = XFT_PLACE_HOST;
    copy.device = copy.dst_place = 0;
    copy.stack = SITE;
    copy.flags = XFT_ASYNC | XFT_GRAPH;
    copy.correlation = play.correlation;
    play_event(&play, event, 2000);
    uint64_t behind = play.now;
    play.now = called;
    play_event(&play, copy, 2000);
    play.now = behind;
    struct xft_event done = copy;
    done.kind = XFT_EVENT_DEVICE_COPY;
    done.stack = done.call = done.flags = 0;
    device(done, called, COPY_NS);
    device((struct xft_event){.kind = XFT_EVENT_KERNEL, .correlation = play.correlation}, called,
           KERNEL_NS);
}

static void wait(void)
{
    const struct xft_event event = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT};
    uint64_t until = device_free + 1000;
    play_event(&play, event, until > play.now ? until - play.now : 500);
}

static void fetch(void)
{
    struct xft_event *call = play_async(&play, STACK_RESULTS, XFT_DIR_D2H, XFT_MEM_PINNED, MIB, 0);
    call->src = RESULT;
    call->dst = HOST;
    call->src_place = 0;
    call->dst_place = XFT_PLACE_HOST;
}

static struct analyzed analysis_of(const struct graph *graph)
{
    struct xfp_profile *profile = measured_profile(MEASURED_ALL);
    struct trace_builder b;
    play_start(&play, &b, 1);
    play_site(&play, SITE, "replay", 1);
    const struct xft_event records = {.kind = XFT_EVENT_RECORDS,
                                      .aux = XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS};
    play_event(&play, records, 0);
    device_free = 0;
    for (unsigned i = 0; i < LAUNCHES; i++) {
        launch(graph, i);
        if (graph->waits)
            wait();
        if (graph->fetches)
            fetch();
        play.now += graph->works_ns;
    }
    wait();
    play_end(&play, XFT_STATE_CLOSED);
    return analyzed_answered(&b, profile, graph->assume);
}

static bool is_found(struct graph graph)
{
    struct analyzed a = analysis_of(&graph);
    bool is = analyzed_finding(&a, XFA_FINDING_GRAPH_UPLOAD, NULL) != NULL;
    analyzed_free(&a);
    return is;
}

/* A question: whether kernels leave it alone is not in the record. */
static void test_asked(void **state)
{
    (void)state;
    struct graph graph = {.waits = false};
    struct analyzed a = analysis_of(&graph);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_GRAPH_UPLOAD, "replay");
    assert_non_null(f);
    assert_int_equal(f->transfers, LAUNCHES - 1);
    assert_true(fabs(f->lost_ns - (LAUNCHES - 1) * (double)COPY_NS) < 1);
    assert_true(f->asked && f->idle && fabs(f->saving.likely) < 1);
    assert_true(f->saving.high > 0.9 * (LAUNCHES - 1) * COPY_NS);
    analyzed_free(&a);
    graph.assume = "repeated-graph-upload=yes";
    a = analysis_of(&graph);
    f = analyzed_finding(&a, XFA_FINDING_GRAPH_UPLOAD, "replay");
    assert_true(!f->asked && f->order == 1);
    assert_true(fabs(f->saving.likely - (LAUNCHES - 1) * (double)COPY_NS) < 0.02 * f->lost_ns);
    assert_true(f->saving.low > 0);
    analyzed_free(&a);
    graph.assume = "repeated-graph-upload=no";
    assert_false(is_found(graph));
}

/* Writing 1 MiB takes 42 us at 25 GB/s. */
static void test_time_to_change(void **state)
{
    (void)state;
    assert_true(is_found((struct graph){.waits = true, .works_ns = 20000}));
    assert_false(is_found((struct graph){.waits = true, .works_ns = 60000}));
    /* While the launch before may still read it, nobody changes it. */
    assert_true(is_found((struct graph){.works_ns = 60000}));
}

static void test_other_memory(void **state)
{
    (void)state;
    assert_false(is_found((struct graph){.elsewhere = true}));
    assert_false(is_found((struct graph){.fetches = true}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_asked),
        cmocka_unit_test(test_time_to_change),
        cmocka_unit_test(test_other_memory),
    };
    return cmocka_run_group_tests_name("findings: uploads of graphs", tests, NULL, NULL);
}
