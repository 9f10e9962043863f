/* What is done before and behind the real call, and in the child of a fork. */
#include <errno.h>
#include <pthread.h>

#include "preload/base/own_stack.h"
#include "preload/messages/around.h"
#include "preload/messages/communicators.h"
#include "preload/messages/groups.h"
#include "preload/messages/requests.h"
#include "preload/nvtx/nvtx.h"
#include "preload/record/hot.h"
#include "preload/record/periods.h"

#define NCCL_IN_PROGRESS 7 /* its communicators need not block: what was asked is under way */

XFS_TLS uintptr_t xfs_message_outermost;

/* In the first calls of a process, and where recording is limited to periods. */
static XFS_COLD bool is_in_period(void)
{
    int saved = errno;
    bool in =
        !atomic_load_explicit(&xfs_periods_limited, memory_order_relaxed) || xfs_periods_look();
    errno = saved;
    return in;
}

/* A call from the same place or from further up shows that the one before was left by a jump
 * (hook.h); on an alternate signal stack it shows nothing. */
static bool is_inner(uintptr_t called_at)
{
    return xfs_message_outermost != 0 &&
           (called_at < xfs_message_outermost || xfs_is_on_alternate_stack(called_at));
}

/* ---- its event ------------------------------------------------------------------------------- */

static inline uint32_t stack_of(const struct xfs_message *m)
{
    uintptr_t called_from = (uintptr_t)m->called_from;
    if (!xfs_stacks_wanted())
        return 0;
    return m->from_known ? xfs_stack_capture_from(&m->from, called_from)
                         : xfs_stack_capture(called_from);
}

void xfs_message_stack(struct xfs_message *m)
{
    m->event.stack = stack_of(m);
}

static inline __attribute__((always_inline)) void write_now(struct xfs_message *m)
{
    m->written = true;
    if (m->event.kind == XFT_EVENT_NONE)
        return;
    xfs_nvtx_catch_up();
    uint32_t stack = m->event.stack ? m->event.stack : stack_of(m);
    struct xfs_lane *lane = xfs_event_write_with_stack(&m->event, stack);
    m->event.stack = stack;
    if (lane && xfs_call_is_timed(lane))
        xfs_cost_ends(lane, m->event.kind, m->event.start_ns, m->event.end_ns);
}

void xfs_message_write(struct xfs_message *m)
{
    write_now(m);
}

/* ---- around the real call -------------------------------------------------------------------- */

static inline __attribute__((always_inline)) bool
begin(struct xfs_message *m, const struct xfs_mpi *mpi, const struct xfs_lane *lane,
      uintptr_t called_at, const void *called_from)
{
    xfs_message_outermost = called_at;
    m->mpi = mpi;
    m->called_from = called_from;
    if (mpi == NULL)
        m->first_row = lane ? lane->next : 0;
    m->taken = 0;
    m->from_known = m->written = false;
    m->start_ns = xfs_now_ns();
    return true;
}

/* NCCL's kernels are to have their times, also in a process that copies nothing itself. */
static void before_nccl(void)
{
    int saved = errno;
    xfs_before_moving_data();
    errno = saved;
}

/* A call of which not all is known that those before it had to ask. */
static XFS_COLD bool begins_slowly(struct xfs_message *m, enum xft_level level, uintptr_t called_at,
                                   const void *called_from)
{
    m->from_ns = xfs_self && xfs_self->until_timed == 1 ? xfs_now_apart_ns() : 0;
    if (is_inner(called_at) || !xfs_messages_wanted() ||
        (atomic_load_explicit(&xfs_session, memory_order_relaxed) != XFS_SESSION_ON &&
         !is_in_period()))
        return false;
    if (level == XFT_LEVEL_NCCL)
        before_nccl();
    const struct xfs_mpi *mpi = level == XFT_LEVEL_MPI ? xfs_mpi_here(called_from) : NULL;
    return (level != XFT_LEVEL_MPI || mpi) && begin(m, mpi, xfs_self, called_at, called_from);
}

static inline __attribute__((always_inline)) bool
begins(struct xfs_message *m, enum xft_level level, uintptr_t called_at, const void *called_from)
{
    const struct xfs_lane *lane = xfs_self;
    const struct xfs_mpi *mpi = level == XFT_LEVEL_MPI ? xfs_mpi_known() : NULL;
    bool wanted = level == XFT_LEVEL_MPI ? mpi != NULL : xfs_messages_wanted();
    if (__builtin_expect(
            !wanted || lane == NULL || lane->until_timed == 1 || xfs_message_outermost != 0 ||
                atomic_load_explicit(&xfs_session, memory_order_relaxed) != XFS_SESSION_ON,
            0))
        return begins_slowly(m, level, called_at, called_from);
    m->from_ns = 0;
    return begin(m, mpi, lane, called_at, called_from);
}

bool xfs_message_begins_mpi(struct xfs_message *m, uintptr_t called_at, const void *called_from)
{
    return begins(m, XFT_LEVEL_MPI, called_at, called_from);
}

bool xfs_message_begins_nccl(struct xfs_message *m, uintptr_t called_at, const void *called_from)
{
    return begins(m, XFT_LEVEL_NCCL, called_at, called_from);
}

bool xfs_message_returned_at(struct xfs_message *m, int status, uint16_t call, unsigned op,
                             uint64_t end_ns)
{
    m->saved_errno = errno;
    xfs_message_outermost = 0; /* what is asked below is not called by the program */
    xfs_event_clear(&m->event);
    m->event.start_ns = m->start_ns;
    m->event.end_ns = end_ns;
    m->event.call = call;
    m->event.status = status;
    m->event.count = op;
    m->event.src_place = m->event.dst_place = m->event.device = XFT_PLACE_UNKNOWN;
    m->event.kind = op == XFS_MESSAGE_KEPT ? XFT_EVENT_NONE : XFT_EVENT_MESSAGE;
    if (!xfs_call_ready_now()) {
        m->written = true;
        return false;
    }
    if (xfs_self && xfs_call_is_timed(xfs_self))
        xfs_self->timed_from_ns = m->from_ns ? m->from_ns : m->event.start_ns;
    if (status == 0 || (status == NCCL_IN_PROGRESS && m->mpi == NULL))
        return true;
    m->event.flags = XFT_FAILED;
    m->event.aux = xft_message_peers(XFT_RANK_NONE, XFT_RANK_NONE);
    if (m->taken > 0) {
        write_now(m);
        xfs_requests_failed(m);
    }
    return false;
}

void xfs_message_over(struct xfs_message *m)
{
    if (__builtin_expect(!m->written, 1))
        write_now(m);
    if (xfs_self)
        xfs_call_over(xfs_self);
    if (m->taken > XFS_REQUESTS_FEW)
        xfs_requests_give_back(m);
    errno = m->saved_errno;
}

/* ---- fork ------------------------------------------------------------------------------------ */

/* Neither MPI nor NCCL goes on in the child. */
static void in_child(void)
{
    xfs_message_outermost = 0;
    xfs_requests_after_fork();
    xfs_communicators_after_fork();
    xfs_groups_after_fork();
}

__attribute__((constructor)) static void watch_fork(void)
{
    pthread_atfork(NULL, NULL, in_child);
}
