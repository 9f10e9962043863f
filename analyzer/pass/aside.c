#include "analyzer/pass/aside.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/crew.h"

#define IN_BATCH 512 /* events */
#define BATCHES 8
#define AT_ONCE 32 /* batches whose events observers get in the walk's own thread */

enum what { TRANSFER, EVENT, COPY, UNENDED };

struct notice {
    uint8_t what;   /* enum above */
    uint8_t why;    /* UNENDED: enum xfa_unended */
    bool has_range; /* `range` is of use */
    struct xfa_range range;
    struct xfa_event event; /* UNENDED: end_ns */
};

struct batch {
    struct notice *notices;
    size_t count;
};

struct xfa_aside {
    struct xfa_audience audience;
    struct batch batches[BATCHES];
    uint64_t walked;      /* batches that the walk has filled: the next one is being filled */
    unsigned at_once;     /* batches of this walk so far, up to AT_ONCE */
    bool alone, threaded; /* no thread is to be made; there is one */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t filled, emptied;
    uint64_t given, heard; /* with the mutex: batches for the thread; that it is through with */
    bool over;             /* the same */
};

/* ---- telling --------------------------------------------------------------------------------- */

static struct batch *batch_at(struct xfa_aside *aside, uint64_t number)
{
    return &aside->batches[number % BATCHES];
}

static void tell(const struct xfa_audience *audience, struct notice *notice)
{
    if (notice->has_range)
        notice->event.range = &notice->range;
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

static void tell_all(struct xfa_aside *aside, struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        tell(&aside->audience, &batch->notices[i]);
    batch->count = 0;
}

static void *live(void *self)
{
    struct xfa_aside *aside = self;
    pthread_mutex_lock(&aside->mutex);
    for (;;) {
        while (aside->heard == aside->given && !aside->over)
            pthread_cond_wait(&aside->filled, &aside->mutex);
        if (aside->heard == aside->given)
            break;
        struct batch *batch = batch_at(aside, aside->heard);
        pthread_mutex_unlock(&aside->mutex);
        tell_all(aside, batch);
        pthread_mutex_lock(&aside->mutex);
        aside->heard++;
        pthread_cond_signal(&aside->emptied);
    }
    pthread_mutex_unlock(&aside->mutex);
    return NULL;
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* Waits until no more than so many batches are left to the thread. */
static void wait_for(struct xfa_aside *aside, uint64_t most)
{
    pthread_mutex_lock(&aside->mutex);
    while (aside->given - aside->heard > most)
        pthread_cond_wait(&aside->emptied, &aside->mutex);
    pthread_mutex_unlock(&aside->mutex);
}

static void give_batch(struct xfa_aside *aside)
{
    if (!aside->threaded && !aside->alone && aside->at_once == AT_ONCE) {
        aside->threaded = xfa_thread_new(&aside->thread, live, aside);
        aside->alone = !aside->threaded;
    }
    if (!aside->threaded || aside->at_once < AT_ONCE) {
        aside->at_once += aside->at_once < AT_ONCE;
        tell_all(aside, batch_at(aside, aside->walked));
        return;
    }
    pthread_mutex_lock(&aside->mutex);
    aside->given++;
    pthread_cond_signal(&aside->filled);
    pthread_mutex_unlock(&aside->mutex);
    aside->walked++;
    wait_for(aside, BATCHES - 1);
}

static struct notice *room(struct xfa_aside *aside, enum what what)
{
    struct batch *batch = batch_at(aside, aside->walked);
    if (!batch->notices)
        batch->notices = xfa_alloc(IN_BATCH * sizeof *batch->notices);
    struct notice *notice = &batch->notices[batch->count];
    notice->what = (uint8_t)what;
    notice->has_range = false;
    return notice;
}

static void fill(struct xfa_aside *aside)
{
    if (++batch_at(aside, aside->walked)->count == IN_BATCH)
        give_batch(aside);
}

static void observe(struct xfa_aside *aside, const struct xfa_event *event, enum what what)
{
    struct notice *notice = room(aside, what);
    notice->event = *event;
    notice->has_range = event->range != NULL;
    if (event->range)
        notice->range = *event->range;
    fill(aside);
}

void xfa_aside_transfer(struct xfa_aside *aside, const struct xfa_event *event)
{
    if (*aside->audience.transfers.members)
        observe(aside, event, TRANSFER);
}

void xfa_aside_event(struct xfa_aside *aside, const struct xfa_event *event)
{
    if (*aside->audience.by_kind[event->kind].members)
        observe(aside, event, EVENT);
}

void xfa_aside_copy(struct xfa_aside *aside, const struct xfa_event *event)
{
    if (*aside->audience.copies.members)
        observe(aside, event, COPY);
}

void xfa_aside_unended(struct xfa_aside *aside, const struct xfa_range *range, enum xfa_unended why,
                       uint64_t end_ns)
{
    if (!*aside->audience.unended.members)
        return;
    struct notice *notice = room(aside, UNENDED);
    notice->why = (uint8_t)why;
    notice->event.end_ns = end_ns;
    notice->range = *range;
    fill(aside);
}

void xfa_aside_catch_up(struct xfa_aside *aside)
{
    if (aside->threaded)
        wait_for(aside, 0);
    tell_all(aside, batch_at(aside, aside->walked));
    aside->at_once = 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

struct xfa_aside *xfa_aside_new(size_t count)
{
    struct xfa_aside *aside = xfa_alloc(sizeof *aside);
    xfa_audience_init(&aside->audience, count);
    aside->alone = xfa_processors() == 1;
    pthread_mutex_init(&aside->mutex, NULL);
    pthread_cond_init(&aside->filled, NULL);
    pthread_cond_init(&aside->emptied, NULL);
    return aside;
}

void xfa_aside_free(struct xfa_aside *aside)
{
    if (!aside)
        return;
    if (aside->threaded) {
        pthread_mutex_lock(&aside->mutex);
        aside->over = true;
        pthread_cond_signal(&aside->filled);
        pthread_mutex_unlock(&aside->mutex);
        pthread_join(aside->thread, NULL);
    }
    for (size_t i = 0; i < BATCHES; i++)
        free(aside->batches[i].notices);
    xfa_audience_free(&aside->audience);
    pthread_cond_destroy(&aside->emptied);
    pthread_cond_destroy(&aside->filled);
    pthread_mutex_destroy(&aside->mutex);
    free(aside);
}

struct xfa_audience *xfa_aside_audience(struct xfa_aside *aside)
{
    return &aside->audience;
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
