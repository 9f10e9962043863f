/* An observer that is told in a thread of its own hears the same as one that is told at once
 * (analyzer/pass/aside.h). */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/crew.h"
#include "analyzer/pass/aside.h"
#include "tests/analyzer/one_processor.h"

enum { EVENTS = 60000, PROCESSES = 3 };

struct heard {
    char what;
    uint64_t start_ns, end_ns, range;
};

struct log {
    struct heard *heard;
    size_t count;
    size_t elsewhere; /* heard in another thread than the test's */
    pthread_t own;
};

static void note(struct log *log, char what, const struct xfa_event *event,
                 const struct xfa_range *range)
{
    log->elsewhere += !pthread_equal(pthread_self(), log->own);
    log->heard[log->count++] = (struct heard){
        .what = what,
        .start_ns = event ? event->start_ns : 0,
        .end_ns = event ? event->end_ns : 0,
        .range = range ? range->number + 1 : 0,
    };
}

static uint32_t begin(void *self, struct xfa_process *process)
{
    (void)process;
    note(self, 'p', NULL, NULL);
    return XFA_KIND(XFT_EVENT_SYNC);
}

static void hear_event(void *self, const struct xfa_event *event)
{
    note(self, 'e', event, event->range);
}

static void hear_transfer(void *self, const struct xfa_event *event)
{
    note(self, 't', event, event->range);
}

static void hear_unended(void *self, const struct xfa_range *range, enum xfa_unended why,
                         uint64_t end_ns)
{
    const struct xfa_event event = {.start_ns = why, .end_ns = end_ns};
    note(self, 'u', &event, range);
}

static void over(void *self, struct xfa_process *process)
{
    (void)process;
    note(self, 'o', NULL, NULL);
}

static struct xfa_observer observer_of(struct log *log)
{
    log->heard = calloc((size_t)PROCESSES * (EVENTS + 2), sizeof *log->heard);
    log->own = pthread_self();
    return (struct xfa_observer){
        .kinds = XFA_KIND(XFT_EVENT_SYNC),
        .self = log,
        .process = begin,
        .event = hear_event,
        .transfer = hear_transfer,
        .unended = hear_unended,
        .end = over,
    };
}

/* What is handed over is gone when the call returns. */
static void walk(const struct xfa_observer *observer)
{
    for (uint64_t p = 0; p < PROCESSES; p++) {
        assert_int_equal(observer->process(observer->self, NULL), XFA_KIND(XFT_EVENT_SYNC));
        for (uint64_t i = 0; i < EVENTS; i++) {
            struct xfa_range range = {.number = i};
            struct xfa_event event = {
                .start_ns = p * EVENTS + i, .end_ns = i, .range = i % 3 ? NULL : &range};
            if (i % 5 == 4)
                observer->unended(observer->self, &range, XFA_BEGUN_AGAIN, i);
            else if (i % 2)
                observer->event(observer->self, &event);
            else
                observer->transfer(observer->self, &event);
            memset(&event, 0xff, sizeof event);
            memset(&range, 0xff, sizeof range);
        }
        observer->end(observer->self, NULL);
    }
}

static size_t same_as_at_once(void)
{
    struct log at_once = {0}, aside = {0};
    const struct xfa_observer one = observer_of(&at_once), other = observer_of(&aside);
    struct xfa_aside *told = xfa_aside_new(&other);
    const struct xfa_observer beside = xfa_aside_observer(told);
    walk(&one);
    walk(&beside);
    xfa_aside_free(told);
    assert_int_equal(at_once.count, (size_t)PROCESSES * (EVENTS + 2));
    assert_int_equal(aside.count, at_once.count);
    assert_memory_equal(aside.heard, at_once.heard, aside.count * sizeof *aside.heard);
    free(at_once.heard);
    free(aside.heard);
    return aside.elsewhere;
}

static void test_the_same(void **state)
{
    (void)state;
    size_t elsewhere = same_as_at_once();
    assert_true(xfa_processors() == 1 ? elsewhere == 0 : elsewhere > EVENTS);
}

static void test_one_processor(void **state)
{
    cpu_set_t all;
    (void)state;
    keep_to_one_processor(&all);
    assert_int_equal(same_as_at_once(), 0);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same),
        cmocka_unit_test(test_one_processor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
