#include "preload/apply/crossings.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "preload/apply/driver.h"
#include "preload/apply/peer_access.h"
#include "preload/apply/state.h"
#include "preload/base/brief_lock.h"

#define MOST 256 /* of streams that copy at one time */
#define SPINS 200000
#define EVENT_WITHOUT_TIME 2

static struct crossing {
    xcu_context by, with; /* whose stream it is in, and whose memory it uses, too */
    xcu_stream stream;    /* NULL: it ended, or may be another thread's */
    xcu_event event;      /* behind the last copy; NULL: the place is free */
    unsigned waiters;     /* threads that wait for it: the event stays */
} crossings[MOST];
static atomic_flag taken = ATOMIC_FLAG_INIT;

/* ---- places: with the lock held -------------------------------------------------------------- */

static bool is_over(const struct crossing *crossing)
{
    return xfs_apply_driver()->event_query(crossing->event) != XCU_ERROR_NOT_READY;
}

/* Of this stream, free, or over. NULL: all are under way. */
static struct crossing *place_of(const struct crossing *wanted)
{
    struct crossing *place = NULL;
    for (unsigned i = 0; i < MOST; i++) {
        struct crossing *one = &crossings[i];
        bool same = one->event && wanted->stream && one->stream == wanted->stream &&
                    one->by == wanted->by && one->with == wanted->with && one->waiters == 0;
        if (same)
            return one;
        if (!place && one->event == NULL)
            place = one;
    }
    for (unsigned i = 0; i < MOST && !place; i++)
        if (crossings[i].waiters == 0 && is_over(&crossings[i]))
            place = &crossings[i];
    return place;
}

static xcu_event put(const struct crossing *crossing)
{
    struct crossing *place = place_of(crossing);
    xcu_event before = place ? place->event : crossing->event;
    if (place)
        *place = *crossing;
    return before;
}

/* ---- what is noted and awaited --------------------------------------------------------------- */

/* Without a place for it, it is waited for here. */
void xfs_crossings_note(const struct xfs_between *copy)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    int mode = XCU_CAPTURE_MODE_RELAXED;
    struct crossing crossing = {
        .by = copy->context[copy->side],
        .with = copy->context[!copy->side],
        .stream = copy->stream == XCU_STREAM_PER_THREAD ? NULL : copy->stream,
    };
    if (!xfs_pair_is_ours(crossing.by, crossing.with))
        return;
    driver->exchange(&mode); /* another thread's capture is not disturbed */
    if (driver->event_create(&crossing.event, EVENT_WITHOUT_TIME) == XCU_SUCCESS) {
        xcu_event unused = crossing.event;
        bool there = driver->event_record(crossing.event, copy->stream) == XCU_SUCCESS;
        if (there && xfs_brief_take(&taken, SPINS)) {
            unused = put(&crossing);
            xfs_brief_give_back(&taken);
        }
        if (there && unused == crossing.event)
            driver->event_wait(unused);
        if (unused)
            driver->event_destroy(unused);
    }
    driver->exchange(&mode);
}

/* The next one that another context has with this one, which stays until it is let go. */
static struct crossing *hold(unsigned *next, xcu_context context)
{
    struct crossing *held = NULL;
    if (!xfs_brief_take(&taken, SPINS))
        return NULL;
    for (; *next < MOST && !held; ++*next) {
        struct crossing *one = &crossings[*next];
        if (one->event == NULL || one->with != context)
            continue;
        held = one;
        held->waiters++;
    }
    xfs_brief_give_back(&taken);
    return held;
}

static void let_go(struct crossing *held)
{
    xcu_event unused = NULL;
    while (!xfs_brief_take(&taken, SPINS))
        ;
    if (--held->waiters == 0) {
        unused = held->event;
        *held = (struct crossing){.event = NULL};
    }
    xfs_brief_give_back(&taken);
    if (unused)
        xfs_apply_driver()->event_destroy(unused);
}

static void await_all(xcu_context context)
{
    int mode = XCU_CAPTURE_MODE_RELAXED;
    struct crossing *held;
    xfs_apply_driver()->exchange(&mode);
    for (unsigned next = 0; (held = hold(&next, context)) != NULL;) {
        xfs_apply_driver()->event_wait(held->event);
        let_go(held);
    }
    xfs_apply_driver()->exchange(&mode);
}

void xfs_crossings_free(xcu_deviceptr memory)
{
    int saved = errno;
    struct xfs_end end;
    if (memory && xfs_end_ask(memory, 1, &end) && end.context)
        await_all(end.context);
    errno = saved;
}

/* ---- the ends -------------------------------------------------------------------------------- */

void xfs_crossings_forget(xcu_stream stream)
{
    if (!xfs_pairs_ours() || !xfs_brief_take(&taken, SPINS))
        return;
    for (unsigned i = 0; i < MOST; i++)
        if (crossings[i].stream == stream)
            crossings[i].stream = NULL;
    xfs_brief_give_back(&taken);
}

/* Events of a context end with it. */
void xfs_crossings_leave(xcu_context context)
{
    if (context && xfs_apply_driver() && xfs_pairs_ours())
        await_all(context);
    if (!xfs_brief_take(&taken, SPINS))
        return;
    for (unsigned i = 0; i < MOST; i++)
        if (context == NULL || crossings[i].by == context)
            crossings[i] = (struct crossing){.event = NULL};
    xfs_brief_give_back(&taken);
}

void xfs_crossings_after_fork(void)
{
    memset(crossings, 0, sizeof crossings);
    atomic_flag_clear(&taken);
}
