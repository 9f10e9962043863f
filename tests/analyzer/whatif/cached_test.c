/* The host's own time behind copies of pageable memory that a change makes shorter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/whatif/schedule/cached.h"
#include "analyzer/whatif/schedule/change.h"

enum { CALL_NS = 9000, LOCKED_NS = 4000, LONG_NS = 1000000, SHORT_NS = 6000, BYTES = 65536 };

static uint32_t class_of(struct xfa_classes *classes, enum xft_memory from)
{
    struct xfa_class_key key;
    memset(&key, 0, sizeof key);
    key.row.direction = XFT_DIR_H2D;
    key.row.src_mem = (uint8_t)from;
    key.row.dst_mem = XFT_MEM_DEVICE;
    return (uint32_t)xfa_class_put(classes, &key)->number;
}

static struct xfw_op op_of(enum xfw_what what, uint32_t thread, uint32_t class, double gap,
                           double own)
{
    struct xfw_op op = xfw_op_none();
    op.what = (uint8_t)what;
    op.thread = thread;
    op.class = class;
    op.gap_ns = gap;
    op.own_ns = own;
    op.bytes = what == XFW_COPY ? BYTES : 0;
    return op;
}

/* A copy from that memory becomes shorter; what is left of the next call's own time, in a thread.
 */
static double left_of(enum xft_memory from, uint32_t thread, double gap)
{
    struct xfw_cached cached = {0};
    struct xfa_classes classes;
    xfa_classes_init(&classes, NULL, NULL);
    struct xfw_op was = op_of(XFW_COPY, 1, class_of(&classes, from), 0, CALL_NS), op = was;
    op.own_ns = LOCKED_NS;
    xfw_cached_op(&cached, &classes, &was, &op);
    assert_true(op.gap_ns == 0);
    was = op_of(XFW_KERNEL, thread, XFW_NONE, gap, 0);
    op = was;
    xfw_cached_op(&cached, &classes, &was, &op);
    xfw_cached_free(&cached);
    xfa_classes_free(&classes);
    return op.gap_ns;
}

static void test_shorter(void **state)
{
    (void)state;
    assert_true(left_of(XFT_MEM_PAGEABLE, 1, LONG_NS) == LONG_NS - (CALL_NS - LOCKED_NS));
    assert_true(left_of(XFT_MEM_PAGEABLE, 1, SHORT_NS) == SHORT_NS / 2.0); /* half of it at most */
}

static void test_others_stay(void **state)
{
    (void)state;
    assert_true(left_of(XFT_MEM_PINNED, 1, LONG_NS) == LONG_NS); /* the processor copied nothing */
    assert_true(left_of(XFT_MEM_PAGEABLE, 2, LONG_NS) == LONG_NS); /* another thread's */
}

/* Nor by more than the bytes take to come back; beyond a cache's size there are no more of them. */
static void test_bytes_count(void **state)
{
    (void)state;
    static const struct {
        double bytes, goes_ns;
    } cases[] = {{64, 64 * XFW_CACHED_NS_PER_BYTE},
                 {XFW_CACHE_BYTES, XFW_CACHE_BYTES * XFW_CACHED_NS_PER_BYTE},
                 {8 * XFW_CACHE_BYTES, XFW_CACHE_BYTES * XFW_CACHED_NS_PER_BYTE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct xfw_cached cached = {0};
        struct xfa_classes classes;
        xfa_classes_init(&classes, NULL, NULL);
        struct xfw_op was = op_of(XFW_COPY, 1, class_of(&classes, XFT_MEM_PAGEABLE), 0, LONG_NS);
        was.bytes = (uint64_t)cases[i].bytes;
        struct xfw_op op = was;
        op.own_ns = LOCKED_NS;
        xfw_cached_op(&cached, &classes, &was, &op);
        was = op_of(XFW_KERNEL, 1, XFW_NONE, LONG_NS, 0);
        op = was;
        xfw_cached_op(&cached, &classes, &was, &op);
        assert_float_equal(LONG_NS - op.gap_ns, cases[i].goes_ns, 0.001);
        xfw_cached_free(&cached);
        xfa_classes_free(&classes);
    }
}

/* What half of one own time was too short for comes off the next. */
static void test_goes_on(void **state)
{
    (void)state;
    struct xfw_cached cached = {0};
    struct xfa_classes classes;
    xfa_classes_init(&classes, NULL, NULL);
    struct xfw_op was = op_of(XFW_COPY, 1, class_of(&classes, XFT_MEM_PAGEABLE), 0, CALL_NS),
                  op = was;
    op.own_ns = LOCKED_NS;
    xfw_cached_op(&cached, &classes, &was, &op);
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        was = op_of(XFW_KERNEL, 1, XFW_NONE, SHORT_NS, 0);
        op = was;
        xfw_cached_op(&cached, &classes, &was, &op);
        sum += SHORT_NS - op.gap_ns;
    }
    assert_true(sum == CALL_NS - LOCKED_NS);
    xfw_cached_free(&cached);
    xfa_classes_free(&classes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shorter), cmocka_unit_test(test_others_stay),
        cmocka_unit_test(test_bytes_count), cmocka_unit_test(test_goes_on)};
    return cmocka_run_group_tests_name("cached", tests, NULL, NULL);
}
