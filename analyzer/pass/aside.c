#include "analyzer/pass/aside.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/crew.h"
#include "analyzer/pass/ahead.h"

#define IN_BATCH 512 /* events */
#define BATCHES 8
#define AT_A_TIME 4 /* batches that threads which wait are woken for */
#define AT_ONCE 32  /* batches whose events observers get in the walk's own thread */

enum what { TRANSFER, EVENT, COPY, UNENDED };

struct notice {
    uint8_t what;           /* enum above */
    uint8_t why;            /* UNENDED: enum xfa_unended */
    struct xfa_event event; /* UNENDED: end_ns; its range is the one below, or NULL */
    struct xfa_range range;
};

struct batch {
    struct notice *notices;
    size_t count;
};

/* A thread, and the observers that it calls. */
struct listener {
    struct xfa_aside *aside;
    struct xfa_audience audience;
    pthread_t thread;
    uint64_t heard; /* with the mutex: batches that it is through with */
};

struct xfa_aside {
    struct listener listeners[XFA_ASIDE_THREADS];
    struct xfa_audience all; /* of all of them */
    unsigned apart;          /* observers in a thread of their own, so far */
    unsigned wanted;         /* threads; 0: all are called in the walk's own */
    unsigned threads;        /* that there are: none, or all */
    struct batch batches[BATCHES];
    uint64_t walked;  /* batches that the walk has filled: the next one is being filled */
    unsigned at_once; /* batches of this walk so far, up to AT_ONCE */
    pthread_mutex_t mutex;
    pthread_cond_t filled, emptied;
    uint64_t given; /* with the mutex: batches for the threads */
    bool over;      /* the same */
};

/* ---- telling --------------------------------------------------------------------------------- */

static struct batch *batch_at(struct xfa_aside *aside, uint64_t number)
{
    return &aside->batches[number % BATCHES];
}

static void tell(const struct xfa_audience *audience, const struct notice *notice)
{
    switch ((enum what)notice->what) {
    case TRANSFER:
        xfa_tell_transfer(audience, &notice->event);
        break;
    case EVENT:
        xfa_tell_event(audience, &notice->event);
        break;
    case COPY:
        xfa_tell_copy(audience, &notice->event);
        break;
    case UNENDED:
        xfa_tell_unended(audience, &notice->range, (enum xfa_unended)notice->why,
                         notice->event.end_ns);
        break;
    }
}

static void tell_batch(const struct xfa_audience *audience, const struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        tell(audience, &batch->notices[i]);
}

/* In the walk's own thread. */
static void tell_all(struct xfa_aside *aside)
{
    struct batch *batch = batch_at(aside, aside->walked);
    tell_batch(&aside->all, batch);
    batch->count = 0;
}

static void *live(void *self)
{
    struct listener *listener = self;
    struct xfa_aside *aside = listener->aside;
    pthread_mutex_lock(&aside->mutex);
    for (;;) {
        while (listener->heard == aside->given && !aside->over)
            pthread_cond_wait(&aside->filled, &aside->mutex);
        if (listener->heard == aside->given)
            break;
        const struct batch *batch = batch_at(aside, listener->heard);
        pthread_mutex_unlock(&aside->mutex);
        tell_batch(&listener->audience, batch);
        pthread_mutex_lock(&aside->mutex);
        listener->heard++;
        pthread_cond_signal(&aside->emptied);
    }
    pthread_mutex_unlock(&aside->mutex);
    return NULL;
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* How many batches are left to the thread that is behind the most. The mutex is held. */
static uint64_t left(const struct xfa_aside *aside)
{
    uint64_t most = 0;
    for (size_t i = 0; i < aside->threads; i++) {
        uint64_t own = aside->given - aside->listeners[i].heard;
        most = own > most ? own : most;
    }
    return most;
}

/* Waits until no more than so many batches are left to any of the threads. */
static void wait_for(struct xfa_aside *aside, uint64_t most)
{
    pthread_mutex_lock(&aside->mutex);
    if (left(aside) > most)
        pthread_cond_broadcast(&aside->filled);
    while (left(aside) > most)
        pthread_cond_wait(&aside->emptied, &aside->mutex);
    pthread_mutex_unlock(&aside->mutex);
}

/* Ends those that are there. */
static void end_threads(struct xfa_aside *aside)
{
    pthread_mutex_lock(&aside->mutex);
    aside->over = true;
    pthread_cond_broadcast(&aside->filled);
    pthread_mutex_unlock(&aside->mutex);
    for (unsigned i = 0; i < aside->threads; i++)
        pthread_join(aside->listeners[i].thread, NULL);
    aside->threads = 0;
}

/* All of them, or none. */
static void make_threads(struct xfa_aside *aside)
{
    while (aside->threads < aside->wanted) {
        struct listener *listener = &aside->listeners[aside->threads];
        if (!xfa_thread_new(&listener->thread, live, listener)) {
            aside->wanted = 0;
            end_threads(aside);
            return;
        }
        aside->threads++;
    }
}

static void give_batch(struct xfa_aside *aside)
{
    if (aside->threads < aside->wanted && aside->at_once == AT_ONCE)
        make_threads(aside);
    if (!aside->threads || aside->at_once < AT_ONCE) {
        aside->at_once += aside->at_once < AT_ONCE;
        tell_all(aside);
        return;
    }
    pthread_mutex_lock(&aside->mutex);
    if (++aside->given % AT_A_TIME == 0)
        pthread_cond_broadcast(&aside->filled);
    pthread_mutex_unlock(&aside->mutex);
    aside->walked++;
    wait_for(aside, BATCHES - 1);
    batch_at(aside, aside->walked)->count = 0;
}

static struct notice *room(struct xfa_aside *aside, enum what what)
{
    struct batch *batch = batch_at(aside, aside->walked);
    if (!batch->notices)
        batch->notices = xfa_alloc(IN_BATCH * sizeof *batch->notices);
    struct notice *notice = &batch->notices[batch->count];
    notice->what = (uint8_t)what;
    return notice;
}

static void fill(struct xfa_aside *aside)
{
    if (++batch_at(aside, aside->walked)->count == IN_BATCH)
        give_batch(aside);
}

/* Transfers have the most of their own, and threads get what is copied from each other's caches. */
#define HEAD offsetof(struct xfa_event, transfer)
#define MOST_OWN sizeof(struct xfa_message)
_Static_assert(sizeof(struct xfa_memory_call) <= MOST_OWN, "events are copied whole");
_Static_assert(sizeof(struct xfa_managed_part) <= MOST_OWN, "events are copied whole");
_Static_assert(sizeof(struct xfa_work) <= MOST_OWN, "events are copied whole");
_Static_assert(sizeof(struct xfa_launch) <= MOST_OWN, "events are copied whole");
_Static_assert(sizeof(struct xfa_wait_call) <= MOST_OWN, "events are copied whole");
_Static_assert(sizeof(struct xfa_range_call) <= MOST_OWN, "events are copied whole");
_Static_assert(sizeof(struct xfa_content_hash) <= MOST_OWN, "events are copied whole");
_Static_assert(sizeof(struct xfa_host_access) <= MOST_OWN, "events are copied whole");
_Static_assert(sizeof(struct xfa_message_end) <= MOST_OWN, "events are copied whole");
_Static_assert(sizeof(struct xfa_communicator) <= MOST_OWN, "events are copied whole");
_Static_assert(sizeof(struct xfa_graph_call) <= MOST_OWN, "events are copied whole");
_Static_assert(sizeof(struct xfa_graph_launch) <= MOST_OWN, "events are copied whole");
_Static_assert(sizeof(struct xfa_processor) <= MOST_OWN, "events are copied whole");

static void observe(struct xfa_aside *aside, const struct xfa_event *event, enum what what)
{
    struct notice *notice = room(aside, what);
    if (event->kind == XFT_EVENT_TRANSFER)
        notice->event = *event;
    else
        memcpy(&notice->event, event, HEAD + MOST_OWN);
    if (event->range) {
        notice->range = *event->range;
        notice->event.range = &notice->range;
    }
    fill(aside);
}

void xfa_aside_transfer(struct xfa_aside *aside, const struct xfa_event *event)
{
    if (*aside->all.transfers.members)
        observe(aside, event, TRANSFER);
}

void xfa_aside_event(struct xfa_aside *aside, const struct xfa_event *event)
{
    if (*aside->all.by_kind[event->kind].members)
        observe(aside, event, EVENT);
}

void xfa_aside_copy(struct xfa_aside *aside, const struct xfa_event *event)
{
    if (*aside->all.copies.members)
        observe(aside, event, COPY);
}

void xfa_aside_unended(struct xfa_aside *aside, const struct xfa_range *range, enum xfa_unended why,
                       uint64_t end_ns)
{
    if (!*aside->all.unended.members)
        return;
    struct notice *notice = room(aside, UNENDED);
    notice->why = (uint8_t)why;
    notice->event.end_ns = end_ns;
    notice->range = *range;
    fill(aside);
}

void xfa_aside_catch_up(struct xfa_aside *aside)
{
    if (aside->threads)
        wait_for(aside, 0);
    tell_all(aside);
    aside->at_once = 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

unsigned xfa_aside_threads(unsigned processors)
{
    unsigned others = processors < XFA_AHEAD_PROCESSORS ? 1 : 2;
    return processors - others < XFA_ASIDE_THREADS ? processors - others : XFA_ASIDE_THREADS;
}

struct xfa_aside *xfa_aside_new(size_t count, unsigned threads)
{
    struct xfa_aside *aside = xfa_alloc(sizeof *aside);
    xfa_audience_init(&aside->all, count);
    for (size_t i = 0; i < XFA_ASIDE_THREADS; i++) {
        aside->listeners[i].aside = aside;
        xfa_audience_init(&aside->listeners[i].audience, count);
    }
    aside->wanted = threads;
    pthread_mutex_init(&aside->mutex, NULL);
    pthread_cond_init(&aside->filled, NULL);
    pthread_cond_init(&aside->emptied, NULL);
    return aside;
}

void xfa_aside_free(struct xfa_aside *aside)
{
    if (!aside)
        return;
    end_threads(aside);
    for (size_t i = 0; i < BATCHES; i++)
        free(aside->batches[i].notices);
    for (size_t i = 0; i < XFA_ASIDE_THREADS; i++)
        xfa_audience_free(&aside->listeners[i].audience);
    xfa_audience_free(&aside->all);
    pthread_cond_destroy(&aside->emptied);
    pthread_cond_destroy(&aside->filled);
    pthread_mutex_destroy(&aside->mutex);
    free(aside);
}

void xfa_aside_empty(struct xfa_aside *aside)
{
    xfa_audience_empty(&aside->all);
    for (size_t i = 0; i < XFA_ASIDE_THREADS; i++)
        xfa_audience_empty(&aside->listeners[i].audience);
    aside->apart = 0;
}

void xfa_aside_add(struct xfa_aside *aside, const struct xfa_observer *observer, uint64_t kinds)
{
    const bool apart = observer->apart && aside->apart + 1 < aside->wanted;
    aside->apart += apart;
    xfa_audience_add(&aside->listeners[apart ? aside->apart : 0].audience, observer, kinds);
    xfa_audience_add(&aside->all, observer, kinds);
}

bool xfa_aside_wants(const struct xfa_aside *aside, unsigned kind)
{
    return *aside->all.by_kind[kind].members;
}

/* ---- who gets the events --------------------------------------------------------------------- */

static void make(struct xfa_listeners *listeners, size_t count)
{
    listeners->members = xfa_alloc((count + 1) * sizeof(const struct xfa_observer *));
}

void xfa_audience_init(struct xfa_audience *audience, size_t count)
{
    for (size_t k = 0; k < XFA_EVENT_KINDS; k++)
        make(&audience->by_kind[k], count);
    make(&audience->transfers, count);
    make(&audience->copies, count);
    make(&audience->unended, count);
}

void xfa_audience_free(struct xfa_audience *audience)
{
    for (size_t k = 0; k < XFA_EVENT_KINDS; k++)
        free(audience->by_kind[k].members);
    free(audience->transfers.members);
    free(audience->copies.members);
    free(audience->unended.members);
}

void xfa_audience_empty(struct xfa_audience *audience)
{
    for (size_t k = 0; k < XFA_EVENT_KINDS; k++)
        audience->by_kind[k].members[0] = NULL;
    audience->transfers.members[0] = audience->copies.members[0] = NULL;
    audience->unended.members[0] = NULL;
}

static void join(struct xfa_listeners *listeners, const struct xfa_observer *observer)
{
    size_t n = 0;
    while (listeners->members[n])
        n++;
    listeners->members[n] = observer;
    listeners->members[n + 1] = NULL;
}

void xfa_audience_add(struct xfa_audience *audience, const struct xfa_observer *observer,
                      uint64_t kinds)
{
    for (size_t k = 0; observer->event && k < XFA_EVENT_KINDS; k++)
        if (kinds & XFA_KIND(k))
            join(&audience->by_kind[k], observer);
    if (observer->transfer)
        join(&audience->transfers, observer);
    if (observer->copy)
        join(&audience->copies, observer);
    if (observer->unended && kinds & XFA_KIND(XFT_EVENT_RANGE_END))
        join(&audience->unended, observer);
}
