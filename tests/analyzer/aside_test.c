/* Observers in a thread of their own see the same events as those that the walk calls at once
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
#include "tests/analyzer/lab/one_processor.h"

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

static void hear_copy(void *self, const struct xfa_event *event)
{
    note(self, 'c', event, event->range);
}

static struct xfa_observer observer_of(struct log *log)
{
    log->heard = calloc((size_t)PROCESSES * EVENTS, sizeof *log->heard);
    log->own = pthread_self();
    return (struct xfa_observer){
        .kinds = XFA_KIND(XFT_EVENT_SYNC) | XFA_KIND(XFT_EVENT_RANGE_END),
        .self = log,
        .event = hear_event,
        .transfer = hear_transfer,
        .copy = hear_copy,
        .unended = hear_unended,
    };
}

/* The event that is passed is gone when the call returns. */
static void walk(struct xfa_aside *aside, const struct xfa_audience *audience)
{
    for (uint64_t i = 0; i < EVENTS; i++) {
        struct xfa_range range = {.number = i};
        struct xfa_event event = {
            .kind = XFT_EVENT_SYNC, .start_ns = i * 3, .end_ns = i, .range = i % 3 ? NULL : &range};
        switch (i % 4) {
        case 0:
            aside ? xfa_aside_event(aside, &event) : xfa_tell_event(audience, &event);
            break;
        case 1:
            aside ? xfa_aside_transfer(aside, &event) : xfa_tell_transfer(audience, &event);
            break;
        case 2:
            aside ? xfa_aside_copy(aside, &event) : xfa_tell_copy(audience, &event);
            break;
        default:
            aside ? xfa_aside_unended(aside, &range, XFA_BEGUN_AGAIN, i)
                  : xfa_tell_unended(audience, &range, XFA_BEGUN_AGAIN, i);
        }
        memset(&event, 0xff, sizeof event);
        memset(&range, 0xff, sizeof range);
    }
}

static void hear_all(struct xfa_audience *audience, const struct xfa_observer *observer)
{
    xfa_audience_empty(audience);
    xfa_audience_add(audience, observer, observer->kinds);
}

/* Returns how much was heard in another thread. */
static size_t same_as_at_once(void)
{
    struct log at_once = {0}, aside = {0};
    const struct xfa_observer one = observer_of(&at_once), other = observer_of(&aside);
    struct xfa_aside *thread = xfa_aside_new(1);
    struct xfa_audience audience;
    xfa_audience_init(&audience, 1);
    for (size_t p = 0; p < PROCESSES; p++) {
        hear_all(&audience, &one);
        hear_all(xfa_aside_audience(thread), &other);
        walk(NULL, &audience);
        walk(thread, NULL);
        xfa_aside_catch_up(thread);
        assert_int_equal(at_once.count, (p + 1) * EVENTS);
        assert_int_equal(aside.count, at_once.count);
    }
    assert_memory_equal(aside.heard, at_once.heard, aside.count * sizeof *aside.heard);
    xfa_aside_free(thread);
    xfa_audience_free(&audience);
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
