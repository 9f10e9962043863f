/* Copies that leave their stream's order: what engines, graphs and buffers they share. */
#include "tests/analyzer/lab/dataflow_run.h"

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
    tables_anew(&run->analysis.achievable);
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

/* What was freed is no buffer in use, though another one has its address. */
static void test_freed_buffers(void **state)
{
    enum { PRICE = 50 };
    struct run run;
    (void)state;
    for (int freed = 0; freed < 2; freed++) {
        start(&run);
        with_prices(&run);
        for (unsigned i = 0; i < 2; i++) {
            up(&run, HOST, DEVICE + i * BYTES);
            kernel(&run, DEVICE + i * BYTES);
            sync(&run);
            struct xfw_op *op = add(&run, hand_op(XFW_CALL, XFT_EVENT_FREE, 0));
            op->dst = freed ? HOST : OTHER;
        }
        assert_true(with(&run, 2) == (2 + 1) * NS + (freed ? 0 : PRICE));
        finish(&run);
    }
}

/* Rows lie apart: a buffer of them is the allocation that they begin. */
static void test_buffers_of_rows(void **state)
{
    enum { PRICE = 50 };
    static struct xfp_row taken[] = {{.at = BYTES / 2, .cost = {.median = 10}},
                                     {.at = BYTES, .cost = {.median = 30}}};
    struct run run;
    (void)state;
    for (int known = 0; known < 2; known++) {
        start(&run);
        with_prices(&run);
        run.profile.tables[0].rows = taken;
        run.profile.tables[0].row_count = 2;
        allocate(&run, known ? HOST : OTHER, BYTES);
        for (unsigned i = 0; i < 2; i++) {
            struct xfw_op *rows = up(&run, HOST, DEVICE + i * BYTES);
            rows->bytes = BYTES / 2;
            rows->row_bytes = BYTES / 10;
            kernel(&run, DEVICE + i * BYTES);
            sync(&run);
        }
        assert_true(with(&run, 2) == (2 + 1) * NS + PRICE - (known ? 0 : 20));
        finish(&run);
    }
}

/* Kernels that read mapped memory: the host fills another buffer meanwhile, which is page-locked,
 * too, once it need not wait. Whether they write there is not known: that is at best. */
static void test_mapped_parts(void **state)
{
    enum { STEPS = 4, PRICE = 50 };
    struct run run;
    (void)state;
    for (int mapped = 0; mapped < 2; mapped++) {
        start(&run);
        with_prices(&run);
        allocate(&run, HOST, BYTES);
        run.ops[0].memory = mapped ? XFT_MEM_MAPPED : XFT_MEM_DEVICE;
        for (unsigned i = 0; i < STEPS; i++) {
            kernel(&run, HOST)->gap_ns = NS;
            sync(&run);
        }
        double alone = before(&run), best = flow(&run, 2, true, XFW_HIGH);
        assert_true(alone == STEPS * 2 * NS);
        assert_true(mapped ? best < alone - NS : best == alone);
        assert_true(with(&run, 2) == alone + (mapped ? PRICE : 0));
        finish(&run);
    }
}

/* The same of graphs, by where their copies are from. */
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
    for (size_t i = 0; i < run.count; i += 2)
        run.ops[i].src = HOST;
    assert_true(with(&run, 2) == free_of_charge + PRICE);
    for (size_t i = 0; i < run.count; i += 2)
        run.ops[i].src = HOST + i * BYTES; /* by turns */
    assert_true(with(&run, 2) == free_of_charge);
    finish(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_directions),
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_one_engine),
        cmocka_unit_test(test_implicit_sync),
        cmocka_unit_test(test_both_ways),
        cmocka_unit_test(test_graphs),
        cmocka_unit_test(test_graphs_share_engines),
        cmocka_unit_test(test_buffers_cost),
        cmocka_unit_test(test_freed_buffers),
        cmocka_unit_test(test_buffers_of_rows),
        cmocka_unit_test(test_mapped_parts),
        cmocka_unit_test(test_streams_by_turns),
        cmocka_unit_test(test_graphs_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
