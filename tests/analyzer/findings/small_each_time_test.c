/* A few bytes in each round of a loop: frequent-readback and parameters-by-copy, what is found, and
 * what the run would save. */
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

enum { SITE = 10, FETCH = 11, ROUNDS = 320, LONG = 200000, NAME = 7, ARGUMENTS = 3 };
enum {
    AGAIN_NS = 500,
    KERNEL_NS = 10000,
    COPY_NS = 1500,
    LAUNCH_NS = 2000,
    LATENCY_NS = 3000,
    WAKE_NS = 1000
};
enum {
    DATA = 0x200000000,
    VALUES = 0x300000000,
    SYMBOL = 0x400000000,
    HOST = 0x100000000,
    TAKEN = 0x500000000
};

/* Each round: perhaps values that are sent, a kernel, perhaps a value that is fetched. */
struct loop {
    unsigned rounds;
    uint64_t sends;     /* bytes; 0: none */
    uint64_t to;        /* the device's address */
    bool elsewhere;     /* each time to another place behind that */
    const char *kernel; /* its name; NULL: none is launched */
    uint64_t results;   /* bytes that are fetched before the value; 0: none */
    uint64_t fetches;   /* bytes; 0: none */
    bool waits;         /* for what is fetched */
    bool blocks;        /* the copy itself has waited, before */
    bool collects;      /* the host puts each behind the last one */
    uint64_t takes;     /* bytes of memory behind that; 0: none */
    bool varies;        /* they do */
    bool fills;         /* the host sends something there */
};

static struct play play;
static uint64_t device_free; /* when the device has done what it was given */
static uint64_t host;        /* where the host has what is fetched */

/* Work of the device behind what it has to do. */
static void device(struct xft_event work, uint64_t called, uint64_t ns)
{
    uint64_t now = play.now, ready = called + LATENCY_NS;
    play.lane = LANE_DEVICE;
    play.now = device_free > ready ? device_free : ready;
    device_free = play_event(&play, work, ns)->end_ns;
    play.lane = LANE_MAIN;
    play.now = now;
}

static void copy(unsigned stack, enum xft_direction direction, uint64_t place, uint64_t bytes)
{
    struct xft_event *call = play_async(&play, stack, direction, XFT_MEM_PINNED, bytes, 0);
    call->src = direction == XFT_DIR_H2D ? HOST : place;
    call->dst = direction == XFT_DIR_H2D ? place : host;
    call->device = 0;
    call->src_place = direction == XFT_DIR_H2D ? XFT_PLACE_HOST : 0;
    call->dst_place = direction == XFT_DIR_H2D ? 0 : XFT_PLACE_HOST;
    call->correlation = ++play.correlation;
    struct xft_event done = *call;
    done.kind = XFT_EVENT_DEVICE_COPY;
    done.stack = done.call = done.flags = 0;
    device(done, call->start_ns, COPY_NS);
}

static void launch(void)
{
    struct xft_event event = {
        .kind = XFT_EVENT_LAUNCH, .correlation = ++play.correlation, .src = NAME, .aux = ARGUMENTS};
    uint64_t called = play_event(&play, event, LAUNCH_NS)->start_ns;
    device(
        (struct xft_event){.kind = XFT_EVENT_KERNEL, .correlation = event.correlation, .src = NAME},
        called, KERNEL_NS);
}

static void wait(void)
{
    const struct xft_event event = {.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT};
    uint64_t until = device_free + WAKE_NS;
    play_event(&play, event, until > play.now ? until - play.now : 500);
}

/* A copy to pageable memory, which has arrived when the call returns. */
static void fetch(uint64_t bytes)
{
    const uint64_t called = play.now, ready = called + LATENCY_NS;
    const uint64_t done = (device_free > ready ? device_free : ready) + COPY_NS;
    struct xft_event event =
        test_transfer(CALL_MEMCPY_ASYNC, XFT_DIR_D2H, XFT_MEM_PAGEABLE, bytes, 0, 0);
    event.stack = FETCH;
    event.flags = XFT_ASYNC;
    event.src = DATA;
    event.dst = host;
    event.device = 0;
    event.src_place = 0;
    event.dst_place = XFT_PLACE_HOST;
    event.correlation = ++play.correlation;
    struct xft_event copied = *play_event(&play, event, done + WAKE_NS - called);
    copied.kind = XFT_EVENT_DEVICE_COPY;
    copied.stack = copied.call = copied.flags = 0;
    device(copied, called, COPY_NS);
}

/* For the stream, behind a copy that has waited. */
static void wait_again(void)
{
    const struct xft_event event = {
        .kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_STREAM, .flags = XFT_STREAM_KNOWN};
    play_event(&play, event, AGAIN_NS);
}

static void made(uint64_t address, uint64_t bytes)
{
    const struct xft_event alloc = {
        .kind = XFT_EVENT_ALLOC, .dst = address, .bytes = bytes, .dst_mem = XFT_MEM_DEVICE};
    play_event(&play, alloc, 1000);
}

static void write_loop(struct trace_builder *b, int pid, const struct loop *loop)
{
    play_start(&play, b, pid);
    play_site(&play, SITE, "send", 1);
    play_site(&play, FETCH, "fetch", 2);
    build_text(b, NAME, loop->kernel ? loop->kernel : "none");
    build_arguments(b, ARGUMENTS, (uint64_t[]){DATA, VALUES}, 2);
    const struct xft_event records = {.kind = XFT_EVENT_RECORDS,
                                      .aux = XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS};
    play_event(&play, records, 0);
    made(DATA, 1 << 20);
    made(VALUES, 1 << 20);
    device_free = 0;
    for (unsigned i = 0; i < loop->rounds; i++) {
        host = HOST + (loop->collects ? i * loop->fetches : 0);
        if (loop->sends)
            copy(SITE, XFT_DIR_H2D, loop->to + (loop->elsewhere ? i * loop->sends : 0),
                 loop->sends);
        if (loop->kernel)
            launch();
        if (loop->results)
            copy(SITE, XFT_DIR_D2H, VALUES, loop->results);
        if (loop->fetches && loop->blocks)
            fetch(loop->fetches);
        else if (loop->fetches)
            copy(FETCH, XFT_DIR_D2H, DATA, loop->fetches);
        if (loop->waits && loop->blocks)
            wait_again();
        else if (loop->waits)
            wait();
        if (loop->takes)
            made(TAKEN, loop->takes * (loop->varies ? 1 + i % 3 : 1));
        if (loop->fills)
            copy(SITE, XFT_DIR_H2D, TAKEN, 8192);
    }
    wait();
    play_end(&play, XFT_STATE_CLOSED);
}

static struct analyzed analysis_of(const struct loop *loop)
{
    struct xfp_profile *profile = measured_profile(MEASURED_ALL);
    struct trace_builder b;
    for (size_t i = 0; i < profile->path_count && loop->blocks; i++)
        profile->paths[i].fit.Lo_ns = LINK_LO_NS; /* half of the bandwidth: 105 KB */
    write_loop(&b, 1, loop);
    return analyzed_played(&b, profile);
}

static bool is_found(struct loop loop, enum xfa_finding_id id)
{
    struct analyzed a = analysis_of(&loop);
    const struct xfa_finding *f = analyzed_finding(&a, id, NULL);
    bool is = f != NULL;
    if (f)
        assert_int_equal(f->transfers, loop.rounds);
    analyzed_free(&a);
    return is;
}

/* ---- frequent-readback ----------------------------------------------------------------------- */

static const struct loop reads = {.rounds = ROUNDS, .kernel = "sweep", .fetches = 4, .waits = true};

static void test_readback(void **state)
{
    (void)state;
    struct analyzed a = analysis_of(&reads);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_READBACK, "fetch");
    assert_non_null(f);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_LOOK_LESS);
    assert_true(isnan(f->lost_ns));
    assert_non_null(f->assumed);
    assert_true(f == &a.findings->items[0] && f->order == 1);
    /* Of 31 of 32 rounds all but the kernel goes, and the space of a kernel behind another one. */
    double round = LATENCY_NS + KERNEL_NS + COPY_NS + WAKE_NS + 100;
    double most = 31 * ROUNDS / 32 * (round - KERNEL_NS);
    assert_true(f->saving.likely > 0.6 * most && f->saving.likely < 1.05 * most);
    /* At best only the last look is left, and kernels follow each other at once. */
    double high = f->saving.high;
    double runs = 4 * XFW_RUN_ERROR * a.findings->whatif->alone_ns;
    assert_true(fabs(high - (ROUNDS - 1) * (round - KERNEL_NS)) < runs);
    /* At worst the program needs each of them. */
    double low = f->saving.low + xfw_unsure_ns(a.findings->whatif, f->saving.likely);
    assert_true(fabs(low) < 1000);
    analyzed_free(&a);
}

static void test_no_readback(void **state)
{
    (void)state;
    struct loop loop = reads;
    assert_true(is_found(loop, XFA_FINDING_READBACK));
    loop.fetches = 4096; /* results */
    assert_false(is_found(loop, XFA_FINDING_READBACK));
    loop = reads;
    loop.kernel = NULL; /* no rounds of work */
    assert_false(is_found(loop, XFA_FINDING_READBACK));
    loop = reads;
    loop.rounds = 20;
    assert_false(is_found(loop, XFA_FINDING_READBACK));
}

/* More than a few bytes, which the host collects: it does not look at them before the next round.
 * The look that stays brings what the others would have. */
static void test_collected(void **state)
{
    struct loop loop = reads;
    const uint64_t more = 65536;
    (void)state;
    loop.blocks = true;
    struct analyzed b = analysis_of(&loop);
    loop.fetches = more;
    loop.collects = true;
    struct analyzed a = analysis_of(&loop);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_READBACK, "fetch");
    const struct xfa_finding *g = analyzed_finding(&b, XFA_FINDING_READBACK, "fetch");
    assert_non_null(f);
    assert_int_equal(f->transfers, ROUNDS - 1); /* the first one is behind nothing */
    double longer =
        ((ROUNDS - 1) / 32) * (2 * PAGEABLE_NS - PAGEABLE_NS / 4); /* 2 MiB; 1/4 is the least */
    assert_true(fabs(g->saving.likely - f->saving.likely - longer) < 0.05 * longer);
    analyzed_free(&a);
    analyzed_free(&b);
    loop.blocks = false; /* the host goes on, and looks at it when it is there */
    a = analysis_of(&loop);
    assert_null(analyzed_finding(&a, XFA_FINDING_READBACK, "fetch"));
    analyzed_free(&a);
    loop.blocks = true;
    loop.collects = false; /* it looks at each */
    assert_false(is_found(loop, XFA_FINDING_READBACK));
    loop.collects = true;
    loop.fetches = 1 << 20; /* the link is used well */
    a = analysis_of(&loop);
    assert_null(analyzed_finding(&a, XFA_FINDING_READBACK, "fetch"));
    analyzed_free(&a);
}

/* The value decides how much memory is taken behind it, where nothing else is known to. */
static void test_decides_a_size(void **state)
{
    struct loop loop = reads;
    (void)state;
    loop.takes = 4096;
    assert_true(is_found(loop, XFA_FINDING_READBACK));
    loop.varies = true;
    assert_false(is_found(loop, XFA_FINDING_READBACK));
    loop.fills = true;
    assert_true(is_found(loop, XFA_FINDING_READBACK));
}

/* Nobody waits for them: what goes are copies, not rounds of waiting. */
static void test_not_waited_for(void **state)
{
    (void)state;
    struct loop loop = reads;
    loop.waits = false;
    struct analyzed a = analysis_of(&loop), b = analysis_of(&reads);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_READBACK, NULL);
    const struct xfa_finding *g = analyzed_finding(&b, XFA_FINDING_READBACK, NULL);
    assert_true(!f || f->saving.likely < 0.6 * g->saving.likely);
    analyzed_free(&a);
    analyzed_free(&b);
}

/* The host waits for more than the value, which it fetched before: that it still needs. */
static void test_waits_for_results(void **state)
{
    (void)state;
    struct loop loop = reads;
    struct analyzed alone = analysis_of(&loop);
    loop.results = 65536;
    struct analyzed both = analysis_of(&loop);
    const struct xfa_finding *f = analyzed_finding(&alone, XFA_FINDING_READBACK, "fetch");
    const struct xfa_finding *g = analyzed_finding(&both, XFA_FINDING_READBACK, "fetch");
    double copies = ROUNDS * (COPY_NS + LAUNCH_NS); /* that go, no waits */
    assert_non_null(f);
    assert_true(f->saving.likely > copies);
    assert_true(!g || (g->saving.likely < copies && g->saving.high < copies));
    analyzed_free(&alone);
    analyzed_free(&both);
}

/* The wait for the stream right behind a copy that has waited is for the value, too: as much is
 * saved as without it. */
static void test_waits_twice(void **state)
{
    (void)state;
    struct loop loop = reads;
    loop.blocks = true;
    struct analyzed twice = analysis_of(&loop);
    loop.waits = false;
    struct analyzed once = analysis_of(&loop);
    const struct xfa_finding *f = analyzed_finding(&twice, XFA_FINDING_READBACK, "fetch");
    const struct xfa_finding *g = analyzed_finding(&once, XFA_FINDING_READBACK, "fetch");
    assert_non_null(f);
    assert_non_null(g);
    assert_true(f->saving.likely > 0.98 * g->saving.likely);
    analyzed_free(&twice);
    analyzed_free(&once);
}

/* What the host writes to the value's place before each round is written once for a look. */
static void test_resets(void **state)
{
    (void)state;
    struct loop loop = reads;
    loop.sends = loop.fetches;
    loop.to = VALUES;
    struct analyzed other = analysis_of(&loop);
    loop.to = DATA;
    struct analyzed reset = analysis_of(&loop);
    const struct xfa_finding *f = analyzed_finding(&other, XFA_FINDING_READBACK, "fetch");
    const struct xfa_finding *g = analyzed_finding(&reset, XFA_FINDING_READBACK, "fetch");
    assert_non_null(f);
    assert_non_null(g);
    double more = g->saving.likely - f->saving.likely, copies = 31 * ROUNDS / 32 * COPY_NS;
    assert_true(more > 0.9 * copies);
    assert_true(fabs(g->saving.low + xfw_unsure_ns(reset.findings->whatif, g->saving.likely)) <
                1000);
    analyzed_free(&other);
    analyzed_free(&reset);
}

/* ---- parameters-by-copy ---------------------------------------------------------------------- */

static const struct loop sends = {
    .rounds = ROUNDS, .sends = 96, .to = VALUES, .kernel = "_Z4stepPfPKf"};

static void test_parameters(void **state)
{
    (void)state;
    struct analyzed a = analysis_of(&sends);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_PARAMETERS, "send");
    assert_non_null(f);
    assert_int_equal(f->remedy.kind, XFA_REMEDY_ARGUMENTS);
    assert_true(f == &a.findings->items[0] && f->order == 1);
    /* The device copies and computes by turns: the copies' time goes. */
    assert_true(fabs(f->saving.likely - ROUNDS * COPY_NS) < 0.1 * ROUNDS * COPY_NS);
    assert_true(f->saving.low > 0);
    analyzed_free(&a);
}

/* A long run repeats itself: a part of its calls shows what it would save. */
static void test_long_run(void **state)
{
    (void)state;
    struct loop loop = sends;
    loop.rounds = LONG;
    loop.waits = true;
    struct analyzed a = analysis_of(&loop);
    const struct xfa_finding *f = analyzed_finding(&a, XFA_FINDING_PARAMETERS, "send");
    const struct xfw_whatif *whatif = a.findings->whatif;
    assert_non_null(f);
    assert_true(whatif->ops.came >= (uint64_t)3 * LONG);
    assert_true(whatif->ops.played < whatif->ops.came / 2);
    assert_true(fabs(f->saving.likely - LONG * COPY_NS) < 0.02 * LONG * COPY_NS);
    analyzed_free(&a);
}

static void test_no_parameters(void **state)
{
    (void)state;
    struct loop loop = sends;
    assert_true(is_found(loop, XFA_FINDING_PARAMETERS));
    loop.to = SYMBOL; /* a variable of the device */
    assert_true(is_found(loop, XFA_FINDING_PARAMETERS));
    loop.to = DATA; /* which the kernel writes */
    assert_false(is_found(loop, XFA_FINDING_PARAMETERS));
    loop = sends;
    loop.sends = 8192; /* more than a launch takes along */
    assert_false(is_found(loop, XFA_FINDING_PARAMETERS));
    loop = sends;
    loop.elsewhere = true; /* a table that is filled */
    assert_false(is_found(loop, XFA_FINDING_PARAMETERS));
    loop = sends;
    loop.kernel = NULL;
    assert_false(is_found(loop, XFA_FINDING_PARAMETERS));
    loop = sends;
    loop.rounds = 20;
    assert_false(is_found(loop, XFA_FINDING_PARAMETERS));
}

/* Processes that send once each: to an address of before, but of another process's memory. */
static void test_places_of_a_process(void **state)
{
    struct xfp_profile *profile = measured_profile(MEASURED_ALL);
    struct analyzed a = analyzed_start(profile);
    struct trace_builder b[40];
    struct loop loop = sends;
    (void)state;
    loop.rounds = 1;
    for (int i = 0; i < 40; i++) {
        write_loop(&b[i], 1 + i, &loop);
        analyzed_add(&a, &b[i]);
    }
    analyzed_finish(&a);
    assert_null(analyzed_finding(&a, XFA_FINDING_PARAMETERS, NULL));
    analyzed_free(&a);
    for (int i = 0; i < 40; i++)
        build_free(&b[i]);
    xfp_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_readback),       cmocka_unit_test(test_no_readback),
        cmocka_unit_test(test_collected),      cmocka_unit_test(test_decides_a_size),
        cmocka_unit_test(test_not_waited_for), cmocka_unit_test(test_waits_for_results),
        cmocka_unit_test(test_waits_twice),    cmocka_unit_test(test_resets),
        cmocka_unit_test(test_parameters),     cmocka_unit_test(test_long_run),
        cmocka_unit_test(test_no_parameters),  cmocka_unit_test(test_places_of_a_process),
    };
    return cmocka_run_group_tests_name("findings: a few bytes each time", tests, NULL, NULL);
}
