#include "preload/intercept/sleeps.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "preload/base/sandbox.h"
#include "preload/record/hot.h"
#include "preload/record/others.h"
#include "preload/record/processor.h"

XFS_TLS struct xfs_sleeps xfs_sleeps;

static atomic_bool too_dear; /* to ask for the processor time of the process */

/* ---- a reading ------------------------------------------------------------------------------- */

static uint64_t given_up(int who)
{
    struct rusage usage;
    return getrusage(who, &usage) == 0 ? (uint64_t)usage.ru_nvcsw : 0;
}

/* Whoever reads may be interrupted meanwhile: only the second time shows that it takes so long. */
static uint64_t process_ns(void)
{
    if (!xfs_thread_is_timed_by_kernel())
        return xfs_process_ns();
    if (atomic_load_explicit(&too_dear, memory_order_relaxed))
        return 0;
    for (int i = 0; i < 2; i++) {
        uint64_t from_ns = xfs_monotonic_ns(), ns = xfs_process_ns();
        if (ns == 0 || xfs_monotonic_ns() - from_ns <= XFS_SLEEPS_DEAR_NS)
            return ns;
    }
    atomic_store_explicit(&too_dear, true, memory_order_relaxed);
    return 0;
}

/* False: the thread may not ask, or there is no answer. */
static bool take_reading(struct xfs_sleeps *at, uint64_t now)
{
    *at = (struct xfs_sleeps){.last_ns = now, .least_ns = XFS_SLEEPS_SELDOM_NS};
    if (!xfs_may_call_kernel())
        return false;
    at->worked_ns = xfs_thread_ns();
    if (at->worked_ns == 0)
        return false;
    at->gave_up = xfs_thread_is_timed_by_kernel() ? given_up(RUSAGE_THREAD) : 0;
    at->lane = xfs_self;
    at->seq = xfs_self->next_seq + xfs_self->next;
    return true;
}

/* ---- sleep ----------------------------------------------------------------------------------- */

/* Some kernels do not count it, of no thread (gVisor): then who had no processor slept. */
static bool by_itself(const struct xfs_sleeps *from, const struct xfs_sleeps *to)
{
    return to->gave_up > from->gave_up || !xfs_thread_is_timed_by_kernel() ||
           (to->gave_up == 0 && given_up(RUSAGE_SELF) == 0);
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Since `from_ns` in a call, a polled wait, or the recorder: how long, as its event says. */
static uint64_t lasted(const struct xft_event *row, uint64_t from_ns)
{
    uint64_t start_ns = row->start_ns;
    if (row->kind == XFT_EVENT_PROCESSOR)
        return 0;
    if (row->kind == XFT_EVENT_QUERY && row->count > 0 && row->width < start_ns)
        start_ns -= row->width;
    start_ns = later(start_ns, from_ns);
    return row->end_ns > start_ns ? row->end_ns - start_ns : 0;
}

/* The time since that reading in which the thread was not on its own, as its lane's events say:
 * steps too. What lies before those that are looked at counts in whole. */
static uint64_t called_ns(const struct xfs_sleeps *from, const struct xfs_sleeps *to)
{
    const struct xfs_lane *lane = to->lane;
    uint64_t count = to->seq - from->seq, ns = 0;
    uint32_t first = lane->next > XFS_SLEEPS_ROWS ? lane->next - XFS_SLEEPS_ROWS : 0;
    bool all = count <= lane->next - first;
    if (all)
        first = lane->next - (uint32_t)count;
    for (uint32_t i = first; i < lane->next; i++)
        ns += lasted(&lane->rows[i], from->last_ns);
    if (!all)
        ns += later(lane->next ? lane->rows[first].start_ns : to->last_ns, from->last_ns) -
              from->last_ns;
    return ns;
}

static bool has_slept(const struct xfs_sleeps *from, const struct xfs_sleeps *to)
{
    uint64_t passed = to->last_ns - from->last_ns, worked = to->worked_ns - from->worked_ns;
    return passed >= worked + XFS_SLEEPS_LEAST_NS && by_itself(from, to) &&
           passed - worked >= called_ns(from, to) + XFS_SLEEPS_LEAST_NS;
}

/* ---- the event ------------------------------------------------------------------------------- */

static uint64_t worked_by_others(const struct xfs_sleeps *from, const struct xfs_sleeps *to)
{
    uint64_t all = to->process_ns - from->process_ns, own = to->worked_ns - from->worked_ns;
    if (from->process_ns == 0 || to->process_ns < from->process_ns)
        return 0;
    return (all > own ? all - own : 0) + 1;
}

static void write(enum xft_processor until, const struct xfs_sleeps *from,
                  const struct xfs_sleeps *to)
{
    const struct xft_event figures = {.start_ns = from->last_ns,
                                      .end_ns = to->last_ns,
                                      .src = until,
                                      .aux = to->worked_ns - from->worked_ns,
                                      .width = worked_by_others(from, to)};
    xfs_processor_write(&figures, until == XFT_PROCESSOR_UNTIL_CALL);
}

/* Not on top of the recorder's own work, or in a thread that is writing an event. */
static bool is_at_rest(void)
{
    return xfs_self && !xfs_self->busy && !xfs_entered;
}

/* Until the next reading, after one that began at from_ns: so that they take no more than that part
 * of the thread's time. One that was interrupted may seem to take any. */
static uint64_t next_ns(uint64_t from_ns)
{
    uint64_t ns = XFS_SLEEPS_PART * (xfs_monotonic_ns() - from_ns);
    return ns > XFS_SLEEPS_SELDOM_NS ? XFS_SLEEPS_SELDOM_NS : later(ns, XFS_SLEEPS_OFTEN_NS);
}

static void look(enum xft_processor until, uint64_t now)
{
    bool real = xfs_thread_is_timed_by_kernel();
    uint64_t from_ns = real ? xfs_monotonic_ns() : 0;
    struct xfs_sleeps from = xfs_sleeps, to;
    bool reads = take_reading(&to, now);
    bool known =
        reads && from.lane == to.lane && from.last_ns <= now && from.worked_ns <= to.worked_ns;
    if (known) {
        bool slept = until == XFT_PROCESSOR_UNTIL_CALL && has_slept(&from, &to);
        to.slept = from.slept || slept;
        to.awake = slept ? 0 : from.awake + (from.awake < XFS_SLEEPS_MANY);
    }
    if (reads && to.awake < XFS_SLEEPS_MANY)
        to.least_ns = XFS_SLEEPS_OFTEN_NS;
    if (to.slept)
        to.process_ns = process_ns();
    xfs_sleeps = to;
    if (to.slept)
        write(until, &from, &to);
    if (real && to.least_ns == XFS_SLEEPS_OFTEN_NS)
        xfs_sleeps.least_ns = next_ns(from_ns);
}

uint64_t xfs_sleeps_until_call(uint64_t now, uint8_t early)
{
    int saved = errno;
    if (!early && is_at_rest()) {
        look(XFT_PROCESSOR_UNTIL_CALL, now);
        xfs_others_look(now, true);
    }
    errno = saved;
    return xfs_now_apart_ns();
}

void xfs_sleeps_until_return(uint64_t now, uint8_t early)
{
    int saved = errno;
    if (!early && is_at_rest()) {
        look(XFT_PROCESSOR_UNTIL_RETURN, now);
        xfs_others_look(now, false);
    }
    errno = saved;
}

void xfs_sleeps_forget(void)
{
    xfs_sleeps = (struct xfs_sleeps){0};
}

void xfs_sleeps_after_fork(void)
{
    xfs_sleeps_forget();
    atomic_store(&too_dear, false);
}
