/* A copy, a kernel and a copy back cut into parts, played by hand. In one piece each takes 80 us.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/whatif/changes/changes.h"
#include "tests/analyzer/lab/hand_ops.h"

enum { PINNED, PAGEABLE, CLASSES, NS = 80000, PART = NS / 4, MOST = 32 };

struct run {
    struct xfa_analysis analysis;
    struct xfw_op ops[MOST];
    size_t count;
};

static void start(struct run *run)
{
    *run = (struct run){.count = 0};
    xfa_classes_init(&run->analysis.classes, NULL, NULL);
    for (size_t i = 0; i < CLASSES; i++) {
        struct xfa_class_key key = {
            .row = {.src_mem = i == PINNED ? XFT_MEM_PINNED : XFT_MEM_PAGEABLE}};
        xfa_class_put(&run->analysis.classes, &key);
    }
}

static void finish(struct run *run)
{
    xfa_classes_free(&run->analysis.classes);
}

static struct xfw_op *add(struct run *run, struct xfw_op op)
{
    run->ops[run->count] = op;
    return &run->ops[run->count++];
}

static struct xfw_op *copy(struct run *run, enum xfw_engine engine)
{
    struct xfw_op *op = add(run, hand_work(XFW_COPY, 0, 0, 0, NS));
    op->engine = (uint8_t)engine;
    op->class = PINNED;
    op->bytes = 4 << 20;
    return op;
}

static struct xfw_op *kernel(struct run *run)
{
    struct xfw_op *op = add(run, hand_work(XFW_KERNEL, 0, 0, 0, NS));
    op->threads = 1 << 20;
    return op;
}

static void group(struct run *run)
{
    copy(run, XFW_TO_DEVICE);
    kernel(run);
    copy(run, XFW_TO_HOST);
}

static double played(const struct run *run, unsigned parts, enum xfw_certainty certainty)
{
    struct xfw_change *change = parts ? xfw_change_split(&run->analysis, parts) : NULL;
    double end = hand_play(run->ops, run->count, change, certainty);
    xfw_change_free(change);
    return end;
}

static void test_four_parts(void **state)
{
    struct run run;
    start(&run);
    group(&run);
    add(&run, hand_wait(0));
    assert_true(played(&run, 0, XFW_LIKELY) == 3 * NS);
    assert_true(played(&run, 4, XFW_LOW) == 3 * NS);
    /* Kernels take the longest: the first copy, four of them, the last copy. */
    double one = PART + 4 * (PART + XFW_LAUNCHED_NS) + PART;
    assert_true(played(&run, 4, XFW_LIKELY) == one);
    group(&run); /* another one begins when that is over */
    add(&run, hand_wait(0));
    assert_true(played(&run, 4, XFW_LIKELY) == 2 * one);
    run.count = 0;
    group(&run);
    group(&run); /* as it does without a wait in between */
    add(&run, hand_wait(0));
    assert_true(played(&run, 4, XFW_LIKELY) == 2 * one);
    finish(&run);
}

/* The kernel's call loads it, once however many parts it has: the others are calls as they are. */
static void test_loads_once(void **state)
{
    enum { LOAD = 1000000, CALLS = 4 * 2 * 2000 };
    struct run run;
    (void)state;
    start(&run);
    group(&run);
    run.ops[1].own_ns = LOAD;
    add(&run, hand_wait(0));
    assert_true(played(&run, 4, XFW_LIKELY) < LOAD + 3 * NS + CALLS);
    finish(&run);
}

/* Kernels of few threads, small copies and such of pageable memory stay in one piece. */
static void test_in_one_piece(void **state)
{
    for (int what = 0; what < 4; what++) {
        struct run run;
        start(&run);
        group(&run);
        add(&run, hand_wait(0));
        if (what == 0)
            run.ops[1].threads = 256;
        for (int i = 0; i < 3; i += 2) {
            if (what == 1)
                run.ops[i].bytes = 4096;
            if (what == 2)
                run.ops[i].class = PAGEABLE;
            if (what == 3)
                run.ops[i].awaits = XFW_AWAITS_ITSELF;
        }
        assert_true(played(&run, 4, XFW_LIKELY) == 3 * NS);
        finish(&run);
    }
}

/* A kernel in one piece between two that are cut: waits for all, and is waited for. */
static void test_one_whole_kernel(void **state)
{
    struct run run;
    start(&run);
    copy(&run, XFW_TO_DEVICE);
    kernel(&run);
    kernel(&run)->threads = 256;
    copy(&run, XFW_TO_HOST);
    add(&run, hand_wait(0));
    assert_true(played(&run, 4, XFW_LIKELY) == PART + 4 * (PART + XFW_LAUNCHED_NS) + NS + NS);
    finish(&run);
}

/* Events and streams that are waited for are so with all parts. */
static void test_waits(void **state)
{
    for (int by_event = 0; by_event < 2; by_event++) {
        struct run run;
        start(&run);
        group(&run);
        if (by_event) {
            add(&run, hand_op(XFW_RECORD, XFT_EVENT_RECORD, 0))->event = 0;
            run.ops[run.count - 1].stream = 0;
        }
        struct xfw_op *wait = add(&run, hand_op(XFW_CALL, XFT_EVENT_SYNC, 0));
        wait->awaits = by_event ? XFW_AWAITS_EVENT : XFW_AWAITS_STREAM;
        wait->event = by_event ? 0 : XFW_NONE;
        wait->stream = by_event ? XFW_NONE : 0;
        assert_true(played(&run, 4, XFW_LIKELY) == PART + 4 * (PART + XFW_LAUNCHED_NS) + PART);
        finish(&run);
    }
}

/* Remedies are idle where no copy is large enough, however many others there are. */
static void test_too_small(void **state)
{
    struct run run;
    start(&run);
    struct xfa_figures figures[CLASSES] = {
        [PINNED] = {.smallest = 1, .largest = 4 << 20}, [PAGEABLE] = {.largest = 1 << 30}};
    run.analysis.of_classes = (struct xfa_rows){.classes = figures, .count = CLASSES};
    for (unsigned parts = 2; parts <= XFW_MOST_PARTS; parts *= 2) {
        for (int less = 0; less < 2; less++) {
            figures[PINNED].largest = parts * XFW_LEAST_PART - (uint64_t)less;
            struct xfw_change *change = xfw_change_split(&run.analysis, parts);
            assert_int_equal(change->idle, less);
            xfw_change_free(change);
        }
    }
    finish(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_four_parts),       cmocka_unit_test(test_in_one_piece),
        cmocka_unit_test(test_one_whole_kernel), cmocka_unit_test(test_waits),
        cmocka_unit_test(test_too_small),        cmocka_unit_test(test_loads_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
