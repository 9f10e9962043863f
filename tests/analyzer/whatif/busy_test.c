#include "analyzer/whatif/schedule/busy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define WORKS 500

static double drawn(unsigned most)
{
    return (double)(rand() % (int)most);
}

static void expect_same(const struct xfw_busy *a, const struct xfw_busy *b)
{
    assert_int_equal(a->count, b->count);
    assert_true(a->forgotten == b->forgotten);
    for (unsigned i = 0; i < a->count; i++) {
        assert_true(a->busy[i].start == b->busy[i].start);
        assert_true(a->busy[i].end == b->busy[i].end);
        assert_int_equal(a->busy[i].stream, b->busy[i].stream);
    }
}

/* Work comes to the same place from wherever it is looked for; equal ones stay in their order. */
static void any_place_will_do(void **state)
{
    struct xfw_busy from_end = {.count = 0}, from_idle = from_end, from_front = from_end;
    (void)state;
    xfw_busy_begin(&from_end);
    xfw_busy_begin(&from_idle);
    xfw_busy_begin(&from_front);
    for (uint32_t i = 0; i < WORKS; i++) {
        double ns = drawn(5), ready = 0.5 * i + drawn(30); /* none, too */
        struct xfw_idle idle = xfw_busy_idle_from(&from_idle, ready, ns, 1);
        const struct xfw_interval work = {
            .start = idle.start, .end = idle.start + ns, .ns = ns, .stream = i};
        xfw_busy_take(&from_end, from_end.count, work);
        xfw_busy_take(&from_idle, idle.at, work);
        xfw_busy_take(&from_front, 0, work);
        expect_same(&from_end, &from_idle);
        expect_same(&from_end, &from_front);
    }
    assert_int_equal(from_end.count, XFW_INTERVALS);
}

/* What is in the way does not depend on how long the work takes. */
static void found_once_for_any_time(void **state)
{
    struct xfw_busy engine = {.count = 0};
    (void)state;
    xfw_busy_begin(&engine);
    for (uint32_t i = 0; i < WORKS; i++) {
        double ready = 0.5 * i + drawn(30), space = drawn(3);
        const unsigned first = xfw_busy_first(&engine, ready, space);
        for (unsigned half = 1; half < 20; half *= 2) {
            const double ns = 0.5 * half;
            struct xfw_idle idle = xfw_busy_idle_from(&engine, ready, ns, space);
            struct xfw_idle again = xfw_busy_idle_behind(&engine, first, ready, ns, space);
            assert_true(idle.start == again.start && idle.start >= ready);
            assert_int_equal(idle.at, again.at);
        }
        struct xfw_idle idle = xfw_busy_idle_behind(&engine, first, ready, 2, space);
        xfw_busy_take(&engine, idle.at, (struct xfw_interval){idle.start, idle.start + 2, .ns = 2});
    }
    for (unsigned i = 1; i < engine.count; i++)
        assert_true(engine.busy[i].start >= engine.busy[i - 1].start);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_place_will_do),
        cmocka_unit_test(found_once_for_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
