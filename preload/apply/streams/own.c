#include "preload/apply/streams/own.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "preload/apply/state/driver.h"
#include "preload/apply/state/report.h"
#include "preload/apply/state/state.h"
#include "preload/base/attributes.h"
#include "preload/base/guard.h"
#include "preload/base/own_stack.h"
#include "preload/base/sandbox.h"

#define WAITS_FOR_LEGACY 0u   /* CU_STREAM_DEFAULT */
#define EVENT_WITHOUT_TIME 2u /* CU_EVENT_DISABLE_TIMING */
#define MOST_WAIT_NS 1000000000u

enum { NOT_MADE, BEING_MADE, MADE, CANNOT };

static struct {
    atomic_int state;
    xcu_stream stream;
    xcu_event event;
} ours[XFS_USES_PLACES];
static _Atomic xcu_context context; /* of ours; NULL: not known yet */
static atomic_ullong context_number;
static atomic_bool over;

bool xfs_own_is_here(xcu_context current, bool first)
{
    unsigned long long none = 0, id = current ? xfs_apply_context_id(current) : 0;
    if (id == 0)
        return false;
    if (first && atomic_compare_exchange_strong(&context_number, &none, id)) {
        atomic_store(&context, current);
        return true;
    }
    return atomic_load(&context_number) == id;
}

bool xfs_own_several_threads(bool note)
{
    static _Atomic uintptr_t first; /* 1: several */
    uintptr_t self = (uintptr_t)pthread_self(), known = 0;
    if (atomic_load(&first) == 1 || !note)
        return atomic_load(&first) == 1;
    if (atomic_load(&first) != self && !atomic_compare_exchange_strong(&first, &known, self))
        atomic_store(&first, 1);
    return atomic_load(&first) == 1;
}

/* ---- a stream of a thread -------------------------------------------------------------------- */

static unsigned place_of_thread(void)
{
    static XFS_TLS unsigned place; /* + 1 */
    static atomic_uint next;
    if (place == 0)
        place = atomic_fetch_add(&next, 1) % XFS_USES_PLACES + 1;
    return place - 1;
}

static void make(void *argument)
{
    unsigned place = *(const unsigned *)argument;
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    int mode = XCU_CAPTURE_MODE_RELAXED;
    driver->exchange(&mode);
    bool made = driver->stream_create(&ours[place].stream, WAITS_FOR_LEGACY) == XCU_SUCCESS &&
                driver->event_create(&ours[place].event, EVENT_WITHOUT_TIME) == XCU_SUCCESS;
    driver->exchange(&mode);
    atomic_store(&ours[place].state, made ? MADE : CANNOT);
}

/* False: it cannot be made, or another thread is at it. */
static bool is_made(unsigned place)
{
    int state = NOT_MADE;
    if (atomic_compare_exchange_strong(&ours[place].state, &state, BEING_MADE) &&
        !xfs_on_large_stack(make, &place))
        atomic_store(&ours[place].state, NOT_MADE);
    return atomic_load(&ours[place].state) == MADE;
}

/* ---- work ------------------------------------------------------------------------------------ */

/* Work that another thread gives to one of ours meanwhile is not waited for. */
static void join(void)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    for (unsigned place = 0; place < XFS_USES_PLACES; place++) {
        uint64_t so_far = xfs_uses_so_far(place);
        if (so_far && driver->event_record(ours[place].event, ours[place].stream) == XCU_SUCCESS &&
            driver->stream_wait(XCU_STREAM_LEGACY, ours[place].event, 0) == XCU_SUCCESS)
            xfs_uses_over(place, so_far);
    }
    xfs_report_own(XFS_OWN_JOINED, 1);
}

bool xfs_own_begin(struct xfs_own *own, const struct xfs_use *uses, unsigned count)
{
    own->place = place_of_thread();
    own->failed = !is_made(own->place);
    if (own->failed || atomic_load(&over))
        return false;
    own->stream = ours[own->place].stream;
    bool may = xfs_uses_begin(own->place, uses, count);
    if (!may) {
        join();
        may = xfs_uses_begin(own->place, uses, count);
    }
    if (may && atomic_load(&over)) { /* who ends it waits for what is being submitted */
        xfs_uses_submitted(own->place);
        may = false;
    }
    return may;
}

void xfs_own_submitted(const struct xfs_own *own)
{
    xfs_uses_submitted(own->place);
}

xcu_result xfs_own_wait(const struct xfs_own *own)
{
    uint64_t so_far = xfs_uses_so_far(own->place);
    xcu_result result = xfs_apply_driver()->stream_sync(ours[own->place].stream);
    if (result == XCU_SUCCESS)
        xfs_uses_over(own->place, so_far);
    return result;
}

bool xfs_own_pending(void)
{
    for (unsigned place = 0; place < XFS_USES_PLACES; place++)
        if (xfs_uses_pending(place))
            return true;
    return false;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool is_current(void)
{
    xcu_context current = NULL;
    return xfs_apply_driver()->current(&current) == XCU_SUCCESS && current &&
           xfs_own_is_here(current, false);
}

static void wait_all(void *unused)
{
    (void)unused;
    for (unsigned place = 0; place < XFS_USES_PLACES && is_current(); place++)
        if (xfs_uses_pending(place))
            (void)xfs_own_wait(&(struct xfs_own){.place = place});
}

static void join_here(void *unused)
{
    int mode = XCU_CAPTURE_MODE_RELAXED;
    (void)unused;
    if (!is_current())
        return;
    xfs_apply_driver()->exchange(&mode);
    join();
    xfs_apply_driver()->exchange(&mode);
}

static void in_guard(void (*work)(void *))
{
    struct xfs_guard guard = xfs_guard_enter();
    xfs_on_any_stack(work, NULL);
    xfs_guard_leave(guard);
}

void xfs_own_wait_all(void)
{
    if (xfs_own_pending())
        in_guard(wait_all);
}

void xfs_own_join(void)
{
    if (xfs_own_pending())
        in_guard(join_here);
}

/* In whatever context the thread is. A legacy default stream that must not be used, since a stream
 * is being captured, is not: then the host waits. */
static void join_anywhere(void *unused)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    xcu_context of = atomic_load(&context), before;
    if (of == NULL || driver->push(of) != XCU_SUCCESS)
        return;
    if (xfs_apply_captures())
        wait_all(unused);
    else
        join_here(unused);
    driver->pop(&before);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Bounded: the program may have stopped a thread for ever. */
static void await_submissions(void)
{
    const struct timespec moment = {.tv_nsec = 5000};
    uint64_t begun = now_ns();
    while (xfs_uses_submitting() && now_ns() - begun < MOST_WAIT_NS)
        if (xfs_may_call_kernel())
            nanosleep(&moment, NULL);
}

void xfs_own_end(void)
{
    if (atomic_load(&over) && !xfs_own_pending())
        return;
    atomic_store(&over, true);
    await_submissions();
    if (xfs_own_pending())
        in_guard(join_anywhere);
}

void xfs_own_leave(void)
{
    xfs_uses_forget();
}

/* Streams of the parent are not the child's. */
void xfs_own_after_fork(void)
{
    memset(ours, 0, sizeof ours);
    atomic_store(&context, NULL);
    atomic_store(&context_number, 0);
    atomic_store(&over, false);
    xfs_uses_forget();
}
