/* Copies that leave their stream's order: what still waits for what. */
#include "tests/analyzer/lab/dataflow_run.h"

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
        ((struct xfa_kept_class *)xfa_table_at(&run.analysis.classes.classes, i))->key.row.async =
            i != PAGEABLE_UP;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_buffers),
        cmocka_unit_test(test_needs_the_result),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_pieces_again),
        cmocka_unit_test(test_given_something_else),
        cmocka_unit_test(test_blocking),
        cmocka_unit_test(test_for_comparison),
        cmocka_unit_test(test_runs_ahead),
        cmocka_unit_test(test_locked_first),
        cmocka_unit_test(test_pageable),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_stream_waits),
        cmocka_unit_test(test_many_spans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
