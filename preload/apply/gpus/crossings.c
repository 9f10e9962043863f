#include "preload/apply/gpus/crossings.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "preload/apply/calls/ends.h"
#include "preload/apply/state/driver.h"
#include "preload/apply/gpus/pairs.h"
#include "preload/apply/state/state.h"
#include "preload/base/brief_lock.h"
#include "preload/base/sandbox.h"

#define MOST 256 /* of streams that copy at one time */
#define SPINS 200000
#define EVENT_WITHOUT_TIME 2

static struct noted {
    struct xfs_crossing of; /* its stream NULL: it ended, or may be another thread's */
    unsigned long long id;  /* of its context: events end with that */
    xcu_event event;        /* behind the last work; NULL: the place is free */
    unsigned waiters;       /* threads that wait for it: the event stays */
} places[MOST];
static atomic_flag taken = ATOMIC_FLAG_INIT;

/* ---- places: with the lock held -------------------------------------------------------------- */

static bool is_over(const struct noted *one)
{
    return xfs_apply_context_id(one->of.by) != one->id ||
           xfs_apply_driver()->event_query(one->event) != XCU_ERROR_NOT_READY;
}

/* The event behind both is one behind the first as well. */
static bool is_same(const struct noted *one, const struct noted *wanted)
{
    return one->event && wanted->of.stream && one->of.stream == wanted->of.stream &&
           one->of.by == wanted->of.by && one->id == wanted->id &&
           one->of.with[0] == wanted->of.with[0] && one->of.with[1] == wanted->of.with[1] &&
           one->of.any == wanted->of.any && one->waiters == 0;
}

/* Of this stream, free, or over. NULL: all are under way. */
static struct noted *place_of(const struct noted *wanted)
{
    struct noted *place = NULL;
    for (unsigned i = 0; i < MOST; i++) {
        if (is_same(&places[i], wanted))
            return &places[i];
        if (!place && places[i].event == NULL)
            place = &places[i];
    }
    for (unsigned i = 0; i < MOST && !place; i++)
        if (places[i].waiters == 0 && is_over(&places[i]))
            place = &places[i];
    return place;
}

/* The event that nobody needs any more: of what was there before, or this one if there is no place.
 * Events of a context that ended went with it. */
static xcu_event put(const struct noted *one)
{
    struct noted *place = place_of(one);
    if (place == NULL)
        return one->event;
    xcu_event before = xfs_apply_context_id(place->of.by) == place->id ? place->event : NULL;
    *place = *one;
    return before;
}

/* ---- what is noted --------------------------------------------------------------------------- */

/* Without a place for it, it is waited for here. */
static void note(struct noted *one, xcu_stream stream)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    if (driver->event_create(&one->event, EVENT_WITHOUT_TIME) != XCU_SUCCESS)
        return;
    xcu_event unused = one->event;
    bool there = driver->event_record(one->event, stream) == XCU_SUCCESS;
    if (there && xfs_brief_take(&taken, SPINS)) {
        unused = put(one);
        xfs_brief_give_back(&taken);
    }
    if (there && unused == one->event)
        driver->event_wait(unused);
    if (unused)
        driver->event_destroy(unused);
}

/* An event belongs to the context that was current when it was made. */
void xfs_crossings_note(const struct xfs_crossing *crossing)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    int mode = XCU_CAPTURE_MODE_RELAXED;
    struct noted one = {.of = *crossing, .id = xfs_apply_context_id(crossing->by)};
    xcu_context current = NULL, popped;
    if (one.of.stream == XCU_STREAM_PER_THREAD)
        one.of.stream = NULL;
    driver->exchange(&mode); /* another thread's capture is not disturbed */
    bool away = driver->current(&current) == XCU_SUCCESS && current != crossing->by;
    if (!away || driver->push(crossing->by) == XCU_SUCCESS) {
        note(&one, crossing->stream);
        if (away)
            driver->pop(&popped);
    }
    driver->exchange(&mode);
}

/* ---- what is awaited ------------------------------------------------------------------------- */

static bool uses(const struct noted *one, xcu_context context)
{
    const struct xfs_crossing *of = &one->of;
    return one->event && of->by != context &&
           (of->with[0] == context || of->with[1] == context ||
            (of->any && xfs_pairs_have_ours(context)));
}

/* The next one that another context has with this one, which stays until it is let go. */
static struct noted *hold(unsigned *next, xcu_context context)
{
    struct noted *held = NULL;
    if (!xfs_brief_take(&taken, SPINS))
        return NULL;
    for (; *next < MOST && !held; ++*next) {
        struct noted *one = &places[*next];
        if (!uses(one, context) || xfs_apply_context_id(one->of.by) != one->id)
            continue;
        held = one;
        held->waiters++;
    }
    xfs_brief_give_back(&taken);
    return held;
}

static void take(void)
{
    while (!xfs_brief_take(&taken, SPINS))
        ;
}

static void let_go(struct noted *held)
{
    xcu_event unused = NULL;
    take();
    if (--held->waiters == 0) {
        unused = held->event;
        *held = (struct noted){.event = NULL};
    }
    xfs_brief_give_back(&taken);
    if (unused)
        xfs_apply_driver()->event_destroy(unused);
}

static void await_all(xcu_context context)
{
    int mode = XCU_CAPTURE_MODE_RELAXED;
    struct noted *held;
    xfs_apply_driver()->exchange(&mode);
    for (unsigned next = 0; (held = hold(&next, context)) != NULL;) {
        xfs_apply_driver()->event_wait(held->event);
        let_go(held);
    }
    xfs_apply_driver()->exchange(&mode);
}

void xfs_crossings_wait(xcu_context context)
{
    int saved = errno;
    if (xfs_pairs_ours() && xfs_apply_driver() && xfs_may_call_kernel() &&
        (context || (xfs_apply_driver()->current(&context) == XCU_SUCCESS && context)))
        await_all(context);
    errno = saved;
}

void xfs_crossings_free(xcu_deviceptr memory)
{
    int saved = errno;
    struct xfs_end end;
    if (memory && xfs_may_call_kernel() && xfs_end_ask(memory, 1, &end) && end.context)
        await_all(end.context);
    errno = saved;
}

/* ---- the ends -------------------------------------------------------------------------------- */

void xfs_crossings_forget(xcu_stream stream)
{
    if (!xfs_pairs_ours() || !xfs_brief_take(&taken, SPINS))
        return;
    for (unsigned i = 0; i < MOST; i++)
        if (places[i].of.stream == stream)
            places[i].of.stream = NULL;
    xfs_brief_give_back(&taken);
}

/* False: other threads wait for some of this context. */
static bool forget_all(xcu_context context)
{
    bool all = true;
    take();
    for (unsigned i = 0; i < MOST; i++)
        if (places[i].event && places[i].of.by == context) {
            all &= places[i].waiters == 0;
            if (places[i].waiters == 0)
                places[i] = (struct noted){.event = NULL};
        }
    xfs_brief_give_back(&taken);
    return all;
}

/* Events of a context end with it: who waits for one has it until then. */
void xfs_crossings_leave(xcu_context context)
{
    if (context == NULL || !xfs_pairs_ours() || xfs_apply_driver() == NULL)
        return;
    xfs_crossings_wait(context);
    while (!forget_all(context))
        sched_yield();
}

void xfs_crossings_after_fork(void)
{
    memset(places, 0, sizeof places);
    atomic_flag_clear(&taken);
}
