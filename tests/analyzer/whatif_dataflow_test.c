/* Copies that leave their stream's order, played by hand: what still waits for what. Copies and
 * kernels take 100 ns each, calls nothing, unless it is said otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzer/whatif/changes/changes.h"
#include "tests/analyzer/hand_ops.h"

enum { MOST = 128, NS = 100, BYTES = 1000, POINTERS = 8 };
enum { UP, DOWN, PAGEABLE_UP, CLASSES };
enum { HOST = 0x10000, DEVICE = 0x50000, OTHER = 0x90000 };

struct run {
    struct xfa_analysis analysis;
    struct xfa_trace trace;
    struct xfa_process process;
    struct xfa_run of_machine;
    struct xfp_profile profile;
    struct xfp_overlap overlap;
    struct xfp_scalar costs[2];
    uint64_t given[POINTERS];
    uint32_t given_count;
    struct xfw_op ops[MOST];
    size_t count;
};

static void start(struct run *run)
{
    static const uint8_t kinds[CLASSES][3] = {
        [UP] = {XFT_DIR_H2D, XFT_MEM_PINNED, XFT_MEM_DEVICE},
        [DOWN] = {XFT_DIR_D2H, XFT_MEM_DEVICE, XFT_MEM_PINNED},
        [PAGEABLE_UP] = {XFT_DIR_H2D, XFT_MEM_PAGEABLE, XFT_MEM_DEVICE},
    };
    *run = (struct run){.count = 0};
    run->process.trace = &run->trace;
    run->overlap = (struct xfp_overlap){.copy_engines = 2};
    run->costs[0] = (struct xfp_scalar){.name = "event/record/gpu0", .cost = {.median = 2}};
    run->costs[1] = (struct xfp_scalar){.name = "event/wait/gpu0", .cost = {.median = 1}};
    run->profile = (struct xfp_profile){
        .overlap = &run->overlap, .overlap_count = 1, .scalars = run->costs, .scalar_count = 2};
    run->analysis.profile = run->analysis.achievable.profile = &run->profile;
    run->analysis.achievable.run = &run->of_machine;
    xfa_table_init(&run->trace.names.arguments, sizeof(uint32_t), sizeof(struct xfa_arguments));
    xfa_classes_init(&run->analysis.classes, NULL, NULL);
    for (size_t i = 0; i < CLASSES; i++) {
        struct xfa_class_key key = {
            .row = {.direction = kinds[i][0], .src_mem = kinds[i][1], .dst_mem = kinds[i][2]}};
        xfa_class_put(&run->analysis.classes, &key);
    }
}

static void finish(struct run *run)
{
    xfa_table_free(&run->trace.names.arguments);
    xfa_classes_free(&run->analysis.classes);
}

static struct xfw_op *add(struct run *run, struct xfw_op op)
{
    run->ops[run->count] = op;
    return &run->ops[run->count++];
}

static struct xfw_op *copy(struct run *run, uint32_t class, uint64_t src, uint64_t dst)
{
    struct xfw_op *op = add(run, hand_work(XFW_COPY, 0, 0, 0, NS));
    op->engine = class == DOWN ? XFW_TO_HOST : XFW_TO_DEVICE;
    op->class = class;
    op->src = src;
    op->dst = dst;
    op->bytes = BYTES;
    return op;
}

static struct xfw_op *up(struct run *run, uint64_t src, uint64_t dst)
{
    return copy(run, UP, src, dst);
}

static struct xfw_op *down(struct run *run, uint64_t src, uint64_t dst)
{
    return copy(run, DOWN, src, dst);
}

/* Given this pointer alone; 0: not known what. */
static struct xfw_op *kernel(struct run *run, uint64_t pointer)
{
    struct xfw_op *op = add(run, hand_work(XFW_KERNEL, 0, 0, 0, NS));
    if (pointer) {
        uint32_t id = run->given_count + 1;
        struct xfa_arguments *arguments = xfa_table_put(&run->trace.names.arguments, &id);
        run->given[run->given_count] = pointer;
        arguments->count = 1;
        arguments->pointers = (const unsigned char *)&run->given[run->given_count++];
        op->arguments = id;
    }
    return op;
}

static void sync(struct run *run)
{
    add(run, hand_wait(0));
}

static void allocate(struct run *run, uint64_t address, uint64_t bytes)
{
    struct xfw_op *op = add(run, hand_op(XFW_CALL, XFT_EVENT_ALLOC, 0));
    op->dst = address;
    op->bytes = bytes;
}

static double before(struct run *run)
{
    return hand_play_in(&run->process, run->ops, run->count, NULL, XFW_LIKELY);
}

static double flow(struct run *run, unsigned buffers, bool to_device, enum xfw_certainty certainty)
{
    struct xfw_change *change = xfw_change_dataflow(
        &run->analysis, &(struct xfw_dataflow_terms){.buffers = buffers, .to_device = to_device});
    double end = hand_play_in(&run->process, run->ops, run->count, change, certainty);
    xfw_change_free(change);
    return end;
}

static double with(struct run *run, unsigned buffers)
{
    return flow(run, buffers, true, XFW_LIKELY);
}

static double one_way(struct run *run)
{
    return flow(run, 2, false, XFW_LIKELY);
}

/* Up, kernel, down, of parts that lie apart (`apart` bytes) on host and device. */
static void parts(struct run *run, unsigned count, uint64_t host_apart, uint64_t device_apart)
{
    for (unsigned i = 0; i < count; i++) {
        up(run, HOST + i * host_apart, DEVICE + i * device_apart);
        kernel(run, DEVICE + i * device_apart);
        down(run, DEVICE + i * device_apart, HOST + i * host_apart);
    }
}

static void test_parts(void **state)
{
    struct run run;
    start(&run);
    allocate(&run, DEVICE, 4 * BYTES);
    parts(&run, 4, BYTES, BYTES);
    sync(&run);
    assert_true(before(&run) == 4 * 3 * NS);
    assert_true(with(&run, 4) == (4 + 2) * NS);
    assert_true(with(&run, 3) == (4 + 2) * NS);
    /* The third begins when the first is done, the fourth when the second is. */
    assert_true(with(&run, 2) == (3 + 4) * NS);
    /* Downs leave, ups and kernels go on taking turns. */
    assert_true(one_way(&run) == (2 * 4 + 1) * NS);
    finish(&run);
}

/* One buffer on the device: as many as there are parts under way take its place. */
static void test_buffers(void **state)
{
    struct run run;
    start(&run);
    parts(&run, 4, BYTES, 0);
    sync(&run);
    assert_true(with(&run, 4) == (4 + 2) * NS);
    /* At worst the kernel writes what is still being fetched, and each copy costs two calls. */
    assert_true(flow(&run, 4, true, XFW_LOW) == (4 + 4 + 1) * NS);
    run.count--; /* nobody waits */
    assert_true(flow(&run, 4, true, XFW_LOW) == 2 * 4 * (2 + 1));
    assert_true(with(&run, 4) == 0);
    finish(&run);
}

/* Each step takes the result of the one before from the host. */
static void test_needs_the_result(void **state)
{
    struct run run;
    start(&run);
    parts(&run, 4, 0, BYTES);
    sync(&run);
    assert_true(with(&run, 8) == before(&run));
    finish(&run);
}

/* What a kernel was given in pieces it has to wait for; what was not known, for all. */
static void test_pieces(void **state)
{
    for (int known = 0; known < 2; known++) {
        struct run run;
        start(&run);
        allocate(&run, DEVICE, 4 * BYTES);
        kernel(&run, OTHER);
        for (unsigned i = 0; i < 4; i++)
            up(&run, HOST + i * BYTES, DEVICE + i * BYTES);
        kernel(&run, known ? DEVICE : 0);
        sync(&run);
        assert_true(before(&run) == 6 * NS);
        assert_true(with(&run, 4) == 5 * NS); /* the first kernel beside the copies */
        kernel(&run, known ? OTHER : 0);      /* is of the same part, and had what it needs */
        sync(&run);
        assert_true(with(&run, 4) == 6 * NS);
        finish(&run);
    }
}

/* By a pointer that filled it in pieces a kernel uses them again: what is fetched of them comes
 * behind the last such kernel. */
static void test_pieces_again(void **state)
{
    struct run run;
    start(&run);
    allocate(&run, DEVICE, 2 * BYTES);
    up(&run, HOST, DEVICE);
    up(&run, HOST + BYTES, DEVICE + BYTES);
    kernel(&run, DEVICE);
    kernel(&run, DEVICE);
    kernel(&run, OTHER);
    down(&run, DEVICE + BYTES, HOST + BYTES)->duration_ns = 3 * NS;
    sync(&run);
    assert_true(before(&run) == 8 * NS);
    assert_true(with(&run, 4) == 7 * NS); /* beside the last kernel, behind the one before */
    finish(&run);
}

/* A kernel that is given something else does not wait, one of unknown arguments does. */
static void test_given_something_else(void **state)
{
    for (int known = 0; known < 2; known++) {
        struct run run;
        start(&run);
        up(&run, HOST, DEVICE);
        kernel(&run, known ? OTHER : 0);
        sync(&run);
        assert_true(with(&run, 2) == (known ? 1 : 2) * NS);
        finish(&run);
    }
}

static void test_directions(void **state)
{
    struct run run;
    start(&run);
    for (unsigned i = 0; i < 3; i++) {
        up(&run, HOST, DEVICE);
        down(&run, OTHER, HOST + 2 * BYTES);
        sync(&run);
    }
    assert_true(before(&run) == 6 * NS);
    assert_true(one_way(&run) == 3 * NS);
    /* At best each wait is for the step before. */
    assert_true(flow(&run, 2, false, XFW_HIGH) <= 3 * NS);
    finish(&run);
}

/* The same bytes up and down again: no way around. */
static void test_there_and_back(void **state)
{
    struct run run;
    start(&run);
    for (unsigned i = 0; i < 3; i++) {
        up(&run, HOST, DEVICE);
        down(&run, DEVICE, HOST + 2 * BYTES);
        sync(&run);
    }
    assert_true(one_way(&run) == before(&run));
    finish(&run);
}

static void test_one_engine(void **state)
{
    struct run run;
    start(&run);
    run.overlap.copy_engines = 1;
    up(&run, HOST, DEVICE);
    down(&run, OTHER, HOST + 2 * BYTES);
    sync(&run);
    assert_true(one_way(&run) == before(&run));
    finish(&run);
}

/* A copy waits until the kernels launched before it have begun. */
static void test_implicit_sync(void **state)
{
    struct run run;
    start(&run);
    run.overlap.implicit_sync = true;
    kernel(&run, OTHER);
    kernel(&run, OTHER);
    up(&run, HOST, DEVICE);
    sync(&run);
    assert_true(before(&run) == 3 * NS);
    assert_true(with(&run, 2) == 2 * NS); /* beside the second kernel */
    kernel(&run, OTHER);
    kernel(&run, OTHER);
    up(&run, HOST, DEVICE)->duration_ns = 2 * NS;
    sync(&run);
    assert_true(with(&run, 2) == (2 + 1 + 2) * NS);
    finish(&run);
}

/* Copies that block: the host does not wait, unless it had the time to use the data. */
static void test_blocking(void **state)
{
    const double submitted = 2000; /* of what the profile does not know */
    for (int used = 0; used < 2; used++) {
        struct run run;
        start(&run);
        for (unsigned i = 0; i < 3; i++) {
            struct xfw_op *op = down(&run, OTHER, HOST);
            op->awaits = XFW_AWAITS_ITSELF;
            op->bytes = 1000000;
            op->duration_ns = 20000;
            add(&run, hand_op(XFW_CALL, XFT_EVENT_NONE, 0))->gap_ns = used ? 50000 : 10;
        }
        double gaps = 3 * (used ? 50000 : 10);
        assert_true(before(&run) == 3 * 20000 + gaps);
        assert_true(with(&run, 2) == (used ? 3 * 20000 : 3 * submitted) + gaps);
        assert_true(flow(&run, 2, true, XFW_LOW) == before(&run));
        finish(&run);
    }
}

/* With one buffer nothing leaves its stream, for comparison: copies do not block, no more. */
static void test_for_comparison(void **state)
{
    const double submitted = 2000;
    struct run run;
    start(&run);
    parts(&run, 4, BYTES, BYTES);
    sync(&run);
    assert_true(with(&run, 1) == before(&run));
    run.count = 0;
    up(&run, HOST, DEVICE)->awaits = XFW_AWAITS_ITSELF;
    run.ops[0].duration_ns = 20000;
    run.ops[0].bytes = 1000000;
    add(&run, hand_op(XFW_CALL, XFT_EVENT_NONE, 0))->gap_ns = 10;
    assert_true(before(&run) == 20010);
    assert_true(with(&run, 1) == submitted + 10);
    run.ops[1].gap_ns = 50000; /* in which it may be written */
    assert_true(with(&run, 1) == 20000 + 50000);
    struct xfw_change *change =
        xfw_change_dataflow(&run.analysis, &(struct xfw_dataflow_terms){.buffers = 1});
    assert_true(change->for_comparison);
    assert_false(change->idle); /* there are copies that block */
    xfw_change_free(change);
    for (size_t i = 0; i < CLASSES; i++)
        xfa_class_at(&run.analysis.classes, i)->key.row.async = i != PAGEABLE_UP;
    for (unsigned buffers = 1; buffers <= 2; buffers++) {
        change =
            xfw_change_dataflow(&run.analysis, &(struct xfw_dataflow_terms){.buffers = buffers});
        assert_int_equal(change->idle, buffers == 1);
        xfw_change_free(change);
    }
    finish(&run);
}

/* The host runs ahead of copies that made it wait, but not forever: a program that ends without a
 * wait has the results that it waited for. */
static void test_runs_ahead(void **state)
{
    enum { COPIES = 20, LONG = 20000 };
    struct run run;
    start(&run);
    for (unsigned i = 0; i < COPIES; i++) {
        struct xfw_op *op = down(&run, OTHER, HOST);
        op->awaits = XFW_AWAITS_ITSELF;
        op->duration_ns = LONG;
        op->bytes = 1000000;
    }
    assert_true(before(&run) == COPIES * LONG);
    assert_true(with(&run, 1) == (COPIES - 4) * LONG + 2000);
    assert_true(with(&run, 2) == (COPIES - 8) * LONG + 2000);
    finish(&run);
}

/* Another change that is made first: copies of pageable memory take half as long, and there is an
 * event behind each. */
static void lock_op(const struct xfw_change *change, void *self, struct xfw_player *player,
                    struct xfw_op *op)
{
    unsigned *count = self;
    (void)change;
    if (op->what != XFW_COPY || op->class != PAGEABLE_UP)
        return;
    op->duration_ns = NS / 2;
    op->awaits = XFW_AWAITS_NOTHING;
    struct xfw_op event = xfw_op_like(op);
    event.what = XFW_RECORD;
    event.event = ++*count;
    xfw_player_play_behind(player, &event);
}

static struct xfw_change *lock_first(const struct run *run)
{
    static const struct xfw_change_type type = {
        .name = "lock", .state_bytes = sizeof(unsigned), .op = lock_op};
    struct xfw_change *change = calloc(1, sizeof *change);
    *change = (struct xfw_change){.type = &type, .analysis = &run->analysis};
    return change;
}

static void test_locked_first(void **state)
{
    struct run run;
    start(&run);
    for (unsigned i = 0; i < 4; i++) {
        copy(&run, PAGEABLE_UP, HOST + i * BYTES, DEVICE)->awaits = XFW_AWAITS_ITSELF;
        kernel(&run, DEVICE);
    }
    size_t of_work = run.count;
    sync(&run);
    struct xfw_dataflow_terms terms = {.buffers = 4, .to_device = true, .first = lock_first(&run)};
    struct xfw_change *change = xfw_change_dataflow(&run.analysis, &terms);
    double end = hand_play_in(&run.process, run.ops, run.count, change, XFW_LIKELY);
    assert_true(end == NS / 2 + 4 * NS); /* kernels all the time, but for the first copy */
    /* The event behind the third copy is on the stream that this went to. */
    run.count = of_work;
    struct xfw_op *wait = add(&run, hand_op(XFW_CALL, XFT_EVENT_NONE, 0));
    wait->awaits = XFW_AWAITS_EVENT;
    wait->event = 3;
    end = hand_play_in(&run.process, run.ops, run.count, change, XFW_LIKELY);
    assert_true(end == 3 * NS / 2);
    xfw_change_free(change); /* and the one that is made first */
    finish(&run);
}

/* Pageable memory: a copy that blocks, and stays. */
static void test_pageable(void **state)
{
    struct run run;
    start(&run);
    for (unsigned i = 0; i < 3; i++) {
        copy(&run, PAGEABLE_UP, HOST, DEVICE)->awaits = XFW_AWAITS_ITSELF;
        kernel(&run, DEVICE);
    }
    sync(&run);
    assert_true(before(&run) == 6 * NS);
    assert_true(with(&run, 2) == before(&run));
    finish(&run);
}

/* An event recorded behind a copy that left its stream, and a stream that waits for an event. */
static void test_events(void **state)
{
    struct run run;
    start(&run);
    kernel(&run, OTHER);
    up(&run, HOST, DEVICE)->duration_ns = 3 * NS;
    add(&run, hand_op(XFW_RECORD, XFT_EVENT_RECORD, 0))->event = 0;
    run.ops[run.count - 1].stream = 0;
    add(&run, hand_op(XFW_CALL, XFT_EVENT_SYNC, 0))->awaits = XFW_AWAITS_EVENT;
    run.ops[run.count - 1].event = 0;
    assert_true(before(&run) == 4 * NS);
    assert_true(with(&run, 2) == 3 * NS);
    finish(&run);

    start(&run);
    add(&run, hand_work(XFW_KERNEL, 1, 0, 0, 5 * NS));
    add(&run, hand_op(XFW_RECORD, XFT_EVENT_RECORD, 0))->event = 0;
    run.ops[run.count - 1].stream = 1;
    add(&run, hand_op(XFW_WAIT, XFT_EVENT_WAIT, 0))->event = 0;
    run.ops[run.count - 1].stream = 0;
    up(&run, HOST, DEVICE);
    sync(&run);
    assert_true(with(&run, 2) == 6 * NS); /* the change asked for it */
    finish(&run);
}

/* A stream that is waited for is waited for with what left it. */
static void test_stream_waits(void **state)
{
    struct run run;
    start(&run);
    kernel(&run, OTHER);
    up(&run, HOST, DEVICE)->duration_ns = 4 * NS;
    struct xfw_op *wait = add(&run, hand_op(XFW_CALL, XFT_EVENT_SYNC, 0));
    wait->awaits = XFW_AWAITS_STREAM;
    wait->stream = 0;
    assert_true(with(&run, 2) == 4 * NS);
    finish(&run);
}

/* More memory than is kept apart: then everything waits for everything before. */
static void test_many_spans(void **state)
{
    enum { COPIES = 3000 };
    struct run run;
    start(&run);
    struct xfw_op *ops = calloc(COPIES + 2, sizeof *ops);
    for (unsigned i = 0; i < COPIES; i++) {
        run.count = 0;
        ops[i] = *up(&run, HOST + 2 * BYTES * i, 0x10000000 + 2 * BYTES * i);
    }
    run.count = 0;
    ops[COPIES] = *kernel(&run, 0x10000000);
    ops[COPIES + 1] = hand_wait(0);
    struct xfw_change *change = xfw_change_dataflow(
        &run.analysis, &(struct xfw_dataflow_terms){.buffers = 2, .to_device = true});
    double end = hand_play_in(&run.process, ops, COPIES + 2, change, XFW_LIKELY);
    assert_true(end == COPIES * NS); /* it waited for those that were forgotten, not for the last */
    xfw_change_free(change);
    free(ops);
    finish(&run);
}

/* Copies in both directions slow each other. */
static void test_both_ways(void **state)
{
    struct xfw_op ops[4];
    size_t count = 0;
    ops[count++] = hand_work(XFW_COPY, 0, 0, 0, NS);
    ops[count] = hand_work(XFW_COPY, 1, 0, 0, NS);
    ops[count].engine = XFW_TO_HOST;
    ops[count++].slowdown = 2;
    ops[count++] = hand_wait(0);
    assert_true(hand_play(ops, count, NULL, XFW_LIKELY) == NS + NS / 2);
    ops[1].duration_ns = 20; /* all of it beside the other: ends with that */
    ops[1].latency_ns = 60;
    assert_true(hand_play(ops, count, NULL, XFW_LIKELY) == NS);
    ops[1].duration_ns = 30; /* 60 to 100: 20 of it, 10 are left */
    assert_true(hand_play(ops, count, NULL, XFW_LIKELY) == NS + 10);
    ops[1].latency_ns = 100;
    assert_true(hand_play(ops, count, NULL, XFW_LIKELY) == NS + 30);
    ops[1].latency_ns = 0;
    ops[0].latency_ns = 10; /* 10 of it, then the rest beside the other */
    assert_true(hand_play(ops, count, NULL, XFW_LIKELY) == 10 + NS);
    ops[0].latency_ns = 0;
    ops[0].slowdown = 2;
    ops[1].duration_ns = NS; /* each slows the other, whichever came first */
    double end = hand_play(ops, count, NULL, XFW_LIKELY);
    assert_true(end > 1.9 * NS && end <= 2 * NS);
}

/* Graphs that copy there, compute and copy back: parts as if their copies were calls. */
static void test_graphs(void **state)
{
    enum { ROUNDS = 4 };
    struct run run;
    (void)state;
    start(&run);
    for (int i = 0; i < ROUNDS; i++) {
        struct xfw_op *op = add(&run, hand_work(XFW_GRAPH, 0, 0, 0, 3 * NS));
        op->up_ns = op->down_ns = NS;
        op->gap_ns = 10;
        sync(&run);
    }
    assert_true(before(&run) == ROUNDS * (3 * NS + 10));
    assert_true(flow(&run, 2, true, XFW_LOW) == ROUNDS * (3 * NS + 10));
    assert_true(with(&run, 4) == 10 + (ROUNDS + 2) * NS); /* one behind the other */
    assert_true(with(&run, 2) > with(&run, 4) && with(&run, 2) < ROUNDS * 2 * NS);
    for (int i = 0; i < ROUNDS; i++)
        run.ops[(size_t)2 * (size_t)i].up_ns = run.ops[(size_t)2 * (size_t)i].down_ns = 0;
    assert_true(with(&run, 2) == ROUNDS * (3 * NS + 10)); /* one that copies nothing is no part */
    finish(&run);
}

/* Graphs of two streams: their copies have one engine each way, the first one's lead passes while
 * the one before it runs. */
static void test_graphs_share_engines(void **state)
{
    struct run run;
    (void)state;
    start(&run);
    for (uint32_t i = 0; i < 2; i++) {
        struct xfw_op *op = add(&run, hand_work(XFW_GRAPH, i, 0, 0, 3 * NS));
        op->up_ns = op->down_ns = NS;
    }
    sync(&run);
    assert_true(before(&run) == 4 * NS);
    run.ops[0].lead_ns = run.ops[1].lead_ns = 20;
    assert_true(before(&run) == 4 * NS); /* those to the host have none */
    run.ops[0].down_ns = run.ops[1].down_ns = 0;
    assert_true(before(&run) == 4 * NS - 20);
    run.ops[0].up_ns = 0; /* kernels alone: nothing is shared */
    assert_true(before(&run) == 3 * NS);
    finish(&run);
}

/* What a profile has for buffers of BYTES: they are allocated in 30 and freed in 20. */
static void with_prices(struct run *run)
{
    static struct xfp_row taken = {.at = BYTES, .cost = {.median = 30}};
    static struct xfp_row given = {.at = BYTES, .cost = {.median = 20}};
    static struct xfp_table prices[] = {
        {.name = "alloc/pinned/gpu0", .by = "bytes", .unit = "ns", .row_count = 1, .rows = &taken},
        {.name = "free/pinned/gpu0", .by = "bytes", .unit = "ns", .row_count = 1, .rows = &given},
    };
    run->profile.tables = prices;
    run->profile.table_count = 2;
}

/* Parts in flight that use one buffer need several, which are there before the first part begins:
 * page-locked. */
static void test_buffers_cost(void **state)
{
    enum { PRICE = 50 };
    struct run run;
    (void)state;
    start(&run);
    for (unsigned i = 0; i < 4; i++) {
        up(&run, HOST, DEVICE + i * BYTES);
        kernel(&run, DEVICE + i * BYTES);
        sync(&run);
    }
    double free_of_charge = with(&run, 2), of_three = with(&run, 3);
    assert_true(free_of_charge == (4 + 1) * NS);
    with_prices(&run);
    assert_true(with(&run, 2) == free_of_charge + PRICE);
    assert_true(with(&run, 3) == of_three + 2 * PRICE);
    assert_true(flow(&run, 2, false, XFW_LIKELY) == before(&run)); /* nothing leaves */
    for (unsigned i = 0; i < 4; i++)
        run.ops[(size_t)3 * i].src = HOST + (uint64_t)2 * i * BYTES; /* the program has several */
    assert_true(with(&run, 2) == free_of_charge);
    finish(&run);
}

/* A thread that works in two streams by turns has two parts in flight itself. */
static void test_streams_by_turns(void **state)
{
    enum { PRICE = 50 };
    struct run run;
    (void)state;
    start(&run);
    for (unsigned i = 0; i < 8; i++) {
        uint32_t stream = i % 2;
        struct xfw_op *wait = i < 2 ? NULL : add(&run, hand_op(XFW_CALL, XFT_EVENT_SYNC, 0));
        if (wait) {
            wait->awaits = XFW_AWAITS_STREAM;
            wait->stream = stream;
        }
        up(&run, HOST + (uint64_t)2 * stream * BYTES, DEVICE + i * BYTES)->stream = stream;
        kernel(&run, DEVICE + i * BYTES)->stream = stream;
        run.ops[run.count - 1].duration_ns = 3 * NS;
    }
    sync(&run);
    assert_true(with(&run, 2) == before(&run));
    assert_true(with(&run, 4) < before(&run) - NS);
    double free_of_charge = with(&run, 4);
    with_prices(&run);
    assert_true(with(&run, 4) == free_of_charge + 2 * PRICE); /* a further one for each */
    finish(&run);
}

/* The same of graphs, whose copies have no addresses. */
static void test_graphs_cost(void **state)
{
    enum { PRICE = 50 };
    struct run run;
    (void)state;
    start(&run);
    for (int i = 0; i < 4; i++) {
        struct xfw_op *op = add(&run, hand_work(XFW_GRAPH, 0, 0, 0, 2 * NS));
        op->up_ns = NS;
        op->up_bytes = BYTES;
        sync(&run);
    }
    double free_of_charge = with(&run, 2);
    assert_true(free_of_charge == (4 + 1) * NS);
    with_prices(&run);
    assert_true(with(&run, 2) == free_of_charge + PRICE);
    finish(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_buffers),
        cmocka_unit_test(test_needs_the_result),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_pieces_again),
        cmocka_unit_test(test_given_something_else),
        cmocka_unit_test(test_directions),
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_one_engine),
        cmocka_unit_test(test_implicit_sync),
        cmocka_unit_test(test_blocking),
        cmocka_unit_test(test_for_comparison),
        cmocka_unit_test(test_runs_ahead),
        cmocka_unit_test(test_locked_first),
        cmocka_unit_test(test_pageable),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_stream_waits),
        cmocka_unit_test(test_many_spans),
        cmocka_unit_test(test_both_ways),
        cmocka_unit_test(test_graphs),
        cmocka_unit_test(test_graphs_share_engines),
        cmocka_unit_test(test_buffers_cost),
        cmocka_unit_test(test_streams_by_turns),
        cmocka_unit_test(test_graphs_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
