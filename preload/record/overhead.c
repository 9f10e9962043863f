#include "preload/record/cost.h"

#include <errno.h>

#include "preload/base/sandbox.h"
#include "preload/record/clock.h"
#include "preload/record/hot.h"
#include "preload/record/recorder.h"

#define NONSENSE_NS UINT64_C(1000000000) /* longer than that: the clock was exchanged meanwhile */

/* Long enough to be an event, and not across an exchange of the clock. */
static bool is_worth_an_event(uint64_t from_ns, uint64_t until_ns)
{
    return until_ns >= from_ns + XFS_OVERHEAD_LEAST_NS && until_ns - from_ns < 10 * NONSENSE_NS;
}

static struct xft_event overhead(unsigned why, uint8_t behind, uint64_t from_ns, uint64_t until_ns)
{
    return (struct xft_event){.kind = XFT_EVENT_OVERHEAD,
                              .start_ns = from_ns,
                              .end_ns = until_ns,
                              .aux = why,
                              .count = behind,
                              .device = XFT_PLACE_UNKNOWN,
                              .src_place = XFT_PLACE_UNKNOWN,
                              .dst_place = XFT_PLACE_UNKNOWN};
}

/* Writes an OVERHEAD event. Also where the clock is coarse: there are few of these. */
static void tell(unsigned why, uint8_t behind, uint64_t from_ns, uint64_t until_ns)
{
    struct xft_event event = overhead(why, behind, from_ns, until_ns);
    if (is_worth_an_event(from_ns, until_ns))
        xfs_event_write(&event);
}

/* How long the thread had been at work is written in any case, before its first call: where a clock
 * stands still meanwhile, 1 ns before. */
static void tell_attached(const struct xfs_lane *lane)
{
    uint64_t from_ns = lane->attached_from_ns, until_ns = lane->attached_until_ns;
    if (!lane->worked_ns || until_ns < from_ns || until_ns - from_ns >= 10 * NONSENSE_NS) {
        tell(XFT_OVERHEAD_THREAD, 0, from_ns, until_ns);
    } else {
        struct xft_event event =
            overhead(XFT_OVERHEAD_THREAD, 0, from_ns - (from_ns == until_ns), until_ns);
        event.dst = lane->worked_ns;
        xfs_event_write(&event);
    }
}

void xfs_event_write_aside(const struct xft_event *event)
{
    int saved = errno;
    bool in_call = xfs_self && xfs_call_is_timed(xfs_self), calling = xfs_self && xfs_self->calling;
    if (xfs_aside_begins())
        xfs_event_write(event);
    if (!calling && xfs_self)
        xfs_call_over(xfs_self);
    if (!in_call && xfs_self && xfs_call_is_timed(xfs_self)) {
        xfs_self->until_timed = xfs_self->counted; /* a slab for this event was no part of a call */
        xfs_self->counted = xfs_self->unusual = 0;
    }
    errno = saved;
}

void xfs_cost_took(unsigned why, uint64_t from_ns)
{
    int saved = errno;
    uint64_t until_ns = xfs_now_apart_ns();
    struct xft_event event = overhead(why, 0, from_ns, until_ns);
    if (is_worth_an_event(from_ns, until_ns))
        xfs_event_write_aside(&event);
    errno = saved;
}

/* The new slab makes the call a timed one, which it was not part of. */
void xfs_cost_make_room(uint64_t from_ns)
{
    struct xfs_lane *lane = xfs_self;
    if (lane == NULL || lane->next < lane->room)
        return;
    int saved = errno;
    uint32_t until_timed = lane->until_timed, counted = lane->counted;
    uint16_t unusual = lane->unusual;
    bool room = xfs_thread_prepare();
    if (lane == xfs_self) {
        lane->until_timed = until_timed;
        lane->counted = counted;
        lane->unusual = unusual;
    }
    if (room)
        xfs_cost_took(XFT_OVERHEAD_SLAB, from_ns);
    errno = saved;
}

/* Calls until the next timed one. */
static uint32_t next_count(struct xfs_lane *lane)
{
    static const uint8_t counts[] = {17, 31, 61, 127, XFS_COST_EVERY};
    if (lane->timed == sizeof counts)
        return XFS_COST_EVERY;
    return counts[lane->timed++];
}

/* Keeps errno, which xfs_cost_ends() must. */
static void tell_unusual(struct xfs_lane *lane, uint8_t kind, uint64_t end_ns, uint64_t now)
{
    int saved = errno;
    if (lane->attached_until_ns)
        tell_attached(lane);
    lane->attached_until_ns = 0;
    tell(lane->unusual, kind, end_ns, now);
    errno = saved;
}

void xfs_cost_ends(struct xfs_lane *lane, uint8_t kind, uint64_t start_ns, uint64_t end_ns)
{
    uint64_t now = xfs_now_apart_ns(), from = lane->timed_from_ns;
    bool sample = lane->counted == 0; /* its turn, not only for what was unusual */
    bool is_event = lane->unusual && is_worth_an_event(end_ns, now); /* that event has its time */
    if (lane->unusual)
        tell_unusual(lane, kind, end_ns, now);
    if (sample && is_event) { /* the next call in its place */
        sample = false;
        lane->counted = 1;
    }
    lane->until_timed = sample ? next_count(lane) : lane->counted;
    if (sample && kind < XFS_COST_KINDS) /* those up to the next one are taken to be like it */
        atomic_fetch_add_explicit(&lane->recorder->costs.calls[kind], lane->until_timed,
                                  memory_order_relaxed);
    lane->counted = lane->unusual = 0;
    if (!sample || kind >= XFS_COST_KINDS || xfs_no_counter || from > start_ns || end_ns > now)
        return; /* the clock is too coarse, or has gone backwards */
    uint64_t ns = (start_ns - from) + (now - end_ns);
    if (ns < NONSENSE_NS)
        xfs_cost_add(&lane->recorder->costs, kind, ns);
}
