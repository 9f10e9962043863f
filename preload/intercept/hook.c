#include "preload/intercept/hook.h"

#include <errno.h>
#include <stdatomic.h>

#include "preload/intercept/graph.h"
#include "preload/intercept/session.h"
#include "preload/intercept/sleeps.h"
#include "preload/base/own_stack.h"
#include "preload/content/access.h"
#include "preload/nvtx/nvtx.h"
#include "preload/record/hot.h"
#include "preload/record/periods.h"
#include "preload/record/record.h"
#include "preload/timing/event_pairs.h"
#include "preload/timing/timing.h"

/* ---- around the real call ------------------------------------------------------------------ */

/* The first calls of a process, and all calls where recording is limited to periods. */
static XFS_COLD void enter_slowly(struct xfs_frame *f, uint16_t call)
{
    int saved = errno;
    xfs_before_moving(call);
    if (!f->early && atomic_load_explicit(&xfs_periods_limited, memory_order_relaxed) &&
        !xfs_periods_look())
        f->early = XFS_OUTSIDE;
    errno = saved;
}

/* An alternate signal stack may lie anywhere, and the call that the handler interrupted continues.
 */
bool xfs_outermost_left(uintptr_t called_at)
{
    if (xfs_outermost == XFS_NOT_LEFT || xfs_is_on_alternate_stack(called_at))
        return false;
    xfs_depth = 0;
    xfs_sleeps_forget();
    xfs_record_left();
    return true;
}

bool xfs_enter_outermost(struct xfs_frame *f, uint16_t call, uint16_t flags, uintptr_t called_at)
{
    unsigned char state = atomic_load_explicit(&xfs_session, memory_order_relaxed);
    f->early = state == XFS_SESSION_NONE;
    if (__builtin_expect(state != XFS_SESSION_ON, 0))
        enter_slowly(f, call);
    if (__builtin_expect(!f->early, 1) && !xfs_call_ready_now())
        return false;
    xfs_depth = 1;
    xfs_outermost = called_at;
    xfs_event_clear(&f->event);
    f->event.call = call;
    f->event.flags = flags;
    xfs_timing_call_begin();
    f->event.start_ns = xfs_now_ns();
    if (xfs_sleeps_due(f->event.start_ns))
        f->event.start_ns = xfs_sleeps_until_call(f->event.start_ns, f->early);
    return true;
}

/* The first call of a process: cuInit ran in it, or ran unseen. */
static XFS_COLD void first_call(struct xfs_frame *f)
{
    xfs_session_start(XFS_CUDA_IN_USE);
    if (xfs_session_simulated) /* the times so far are of another clock */
        f->event.start_ns = f->event.end_ns = xfs_now_ns();
}

void xfs_returned(struct xfs_frame *f, int status)
{
    f->event.end_ns = xfs_now_ns();
    if (xfs_sleeps_due(f->event.end_ns))
        xfs_sleeps_until_return(f->event.end_ns, f->early);
    f->event.status = status;
    f->event.correlation = xfs_timing_correlation();
}

/* The return address of the outermost call: it lies below the caller's frame. A call of our own has
 * none that counts. */
static inline uintptr_t called_from(void)
{
    return xfs_outermost == XFS_NOT_LEFT ? 0 : *((const uintptr_t *)xfs_outermost - 1);
}

static XFS_COLD void cost_ends(struct xfs_lane *lane, const struct xft_event *event)
{
    xfs_cost_ends(lane, event->kind, event->start_ns, event->end_ns);
}

/* Outside periods only events that describe state are kept. */
static bool is_kept(const struct xfs_frame *f)
{
    if (!f->early || !atomic_load_explicit(&xfs_periods_limited, memory_order_relaxed) ||
        (f->early == XFS_FIRST && atomic_load(&xfs_periods_open)))
        return true;
    return xfs_periods_keep_state((enum xft_event_kind)f->event.kind);
}

static void graph_copied(struct xfs_frame *f)
{
    xfs_graph_transfers(f, xfs_event_write);
    if (xfs_access_on())
        xfs_access_unseen();
}

/* The first call of a process, calls with more than one event, and calls outside periods. */
static XFS_COLD void publish_slowly(struct xfs_frame *f)
{
    int saved = errno;
    if (f->early == XFS_FIRST)
        first_call(f);
    if ((!f->early || xfs_record_ready()) && is_kept(f)) {
        xfs_nvtx_catch_up();
        f->event.stack = xfs_stack_capture(called_from());
        xfs_event_write(&f->event);
        if (f->event.kind == XFT_EVENT_GRAPH_LAUNCH && f->event.count > 0)
            graph_copied(f);
        if (f->event.kind == XFT_EVENT_PREFETCH && f->event.count > 1)
            xfs_prefetch_ranges(f, xfs_event_write);
        bool counted = !f->early || (xfs_self && xfs_self->unusual);
        if (counted && xfs_self && xfs_call_is_timed(xfs_self))
            cost_ends(xfs_self, &f->event);
    }
    errno = saved;
}

/* A call that can be several events. */
static inline bool may_be_several(const struct xft_event *event)
{
    return event->kind == XFT_EVENT_GRAPH_LAUNCH || event->kind == XFT_EVENT_PREFETCH;
}

/* The functions it calls keep errno. */
void xfs_publish(struct xfs_frame *f)
{
    xfs_pairs_copy_ends(&f->event);
    if (f->event.kind != XFT_EVENT_NONE) {
        if (__builtin_expect(f->early || may_be_several(&f->event), 0)) {
            publish_slowly(f);
        } else {
            xfs_nvtx_catch_up();
            if (xfs_stacks_wanted())
                f->event.stack = xfs_stack_capture(called_from());
            struct xfs_lane *lane = xfs_event_write_now(&f->event);
            if (lane && xfs_call_is_timed(lane))
                cost_ends(lane, &f->event);
        }
    }
    if (xfs_self)
        xfs_call_over(xfs_self);
    xfs_depth = 0;
}
