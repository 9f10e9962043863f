/* Observers in a thread of their own see the same events as those that the walk calls at once
 * (analyzer/pass/aside.h). */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/crew.h"
#include "analyzer/pass/aside.h"

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

enum { OBSERVERS = 4 };

/* The first two are `apart`. */
static void hear_all(struct xfa_aside *aside, const struct xfa_observer *observers)
{
    xfa_aside_empty(aside);
    for (size_t i = 0; i < OBSERVERS; i++)
        xfa_aside_add(aside, &observers[i], observers[i].kinds);
}

/* Returns how much each observer heard in another thread than the walk's. */
static size_t same_as_at_once(unsigned threads)
{
    struct log at_once = {0}, aside[OBSERVERS] = {{0}};
    struct xfa_observer one = observer_of(&at_once), others[OBSERVERS];
    struct xfa_aside *thread = xfa_aside_new(OBSERVERS, threads);
    struct xfa_audience audience;
    size_t elsewhere = 0;
    xfa_audience_init(&audience, 1);
    xfa_audience_add(&audience, &one, one.kinds);
    for (size_t i = 0; i < OBSERVERS; i++) {
        others[i] = observer_of(&aside[i]);
        others[i].apart = i < 2;
    }
    for (size_t p = 0; p < PROCESSES; p++) {
        hear_all(thread, others);
        walk(NULL, &audience);
        walk(thread, NULL);
        xfa_aside_catch_up(thread);
        assert_int_equal(at_once.count, (p + 1) * EVENTS);
        for (size_t i = 0; i < OBSERVERS; i++)
            assert_int_equal(aside[i].count, at_once.count);
    }
    for (size_t i = 0; i < OBSERVERS; i++) {
        assert_memory_equal(aside[i].heard, at_once.heard, at_once.count * sizeof *at_once.heard);
        elsewhere = i == 0 || aside[i].elsewhere < elsewhere ? aside[i].elsewhere : elsewhere;
        free(aside[i].heard);
    }
    xfa_aside_free(thread);
    xfa_audience_free(&audience);
    free(at_once.heard);
    return elsewhere;
}

static void test_the_same(void **state)
{
    (void)state;
    assert_int_equal(same_as_at_once(0), 0);
    for (unsigned threads = 1; threads <= XFA_ASIDE_THREADS; threads++)
        assert_true(same_as_at_once(threads) > EVENTS);
}

/* One that is not added again for the next process hears no more of it. */
static void test_not_of_this_process(void **state)
{
    (void)state;
    struct log log = {0};
    const struct xfa_observer observer = observer_of(&log);
    struct xfa_aside *aside = xfa_aside_new(1, 1);
    assert_false(xfa_aside_wants(aside, XFT_EVENT_SYNC));
    xfa_aside_add(aside, &observer, observer.kinds);
    assert_true(xfa_aside_wants(aside, XFT_EVENT_SYNC));
    walk(aside, NULL);
    xfa_aside_catch_up(aside);
    xfa_aside_empty(aside);
    assert_false(xfa_aside_wants(aside, XFT_EVENT_SYNC));
    walk(aside, NULL);
    xfa_aside_free(aside);
    assert_int_equal(log.count, EVENTS);
    free(log.heard);
}

static void test_as_many_as_there_are_processors_for(void **state)
{
    (void)state;
    assert_int_equal(xfa_aside_threads(1), 0);
    assert_int_equal(xfa_aside_threads(2), 1);
    assert_int_equal(xfa_aside_threads(3), 2);
    assert_int_equal(xfa_aside_threads(4), 2); /* one reads ahead */
    assert_int_equal(xfa_aside_threads(5), 3);
    assert_int_equal(xfa_aside_threads(XFA_CREW_MOST), XFA_ASIDE_THREADS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same),
        cmocka_unit_test(test_not_of_this_process),
        cmocka_unit_test(test_as_many_as_there_are_processors_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
