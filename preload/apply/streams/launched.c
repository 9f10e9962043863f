#include "preload/apply/streams/launched.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "preload/apply/streams/beside.h"
#include "preload/apply/state/classes.h"
#include "preload/apply/state/driver.h"
#include "preload/apply/streams/flights.h"
#include "preload/apply/streams/own.h"
#include "preload/apply/site/pace.h"
#include "preload/apply/site/plan.h"
#include "preload/apply/streams/reach.h"
#include "preload/apply/state/report.h"
#include "preload/apply/state/state.h"
#include "preload/base/attributes.h"
#include "preload/base/guard.h"
#include "preload/base/log.h"
#include "preload/base/own_stack.h"
#include "preload/base/sandbox.h"
#include "preload/base/settings.h"

#define MOST_WAIT_S 60
#define LOOKED_AT_FIRST 4 /* launches of a kernel; then every power of two */

static atomic_bool stays; /* a kernel changed what it was not given to write */

bool xfs_launched_on(void)
{
    return xfs_class_on(XFS_CLASS_STREAMS) &&
           xfs_plan_grants(XFT_PLAN_STREAMS, XFT_PLAN_KERNELS_APART);
}

bool xfs_launched_checked(void)
{
    return xfs_launched_on() && xfs_settings()->apply_check;
}

/* ---- one thread at a time (--check) ---------------------------------------------------------- */

static pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER;
static XFS_TLS unsigned depth; /* a copy may be made of copies, and a signal handler come upon it */

bool xfs_launched_alone(void)
{
    struct timespec until;
    if (!xfs_launched_checked() || !xfs_may_call_kernel())
        return false;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += MOST_WAIT_S;
    if (depth == 0 && pthread_mutex_timedlock(&alone, &until) != 0)
        return false;
    depth++;
    return true;
}

void xfs_launched_together(void)
{
    if (--depth == 0)
        pthread_mutex_unlock(&alone);
}

/* ---- whether it may -------------------------------------------------------------------------- */

struct turn {
    const struct xfs_launch *launch;
    const struct xfs_fill *fill;
    struct xfs_use uses[XFS_REACH_MOST];
    xfs_reach_arguments arguments[XFS_REACH_MOST];
    unsigned count;
    uint32_t times;
    struct xfs_own own;
    bool may;          /* it goes into our stream */
    bool looked, same; /* beside it */
    uint32_t changed;  /* bit i: uses[i] */
    int status;
};

static bool is_our_way(void)
{
    bool tried = xfs_settings()->apply_trials && !xfs_settings()->apply_check;
    return !tried || (!xfs_pace_rests() && xfs_pace_way() == XFS_WAY_OURS);
}

static bool may(xcu_stream stream)
{
    return stream == XCU_STREAM_LEGACY && xfs_own_several_threads(false) && !atomic_load(&stays) &&
           !xfs_flights_are_over() && is_our_way() && xfs_apply_started() &&
           xfs_may_call_kernel() && !xfs_apply_captures();
}

static bool is_known(struct turn *turn, xcu_context current)
{
    const struct xfs_fill *fill = turn->fill;
    if (fill == NULL)
        return xfs_reach_of(turn->launch->function, turn->launch->values, current, turn->uses,
                            turn->arguments, &turn->count, &turn->times);
    turn->count = 1;
    return fill->n && fill->n <= UINT64_MAX / fill->width &&
           xfs_reach_memory(fill->address, fill->n * fill->width, current, turn->uses);
}

/* A copy of the program's that is under way may be made in parts. */
static bool is_being_copied(const struct turn *turn)
{
    for (unsigned i = 0; i < turn->count; i++)
        if (xfs_flights_meet(turn->uses[i].start, turn->uses[i].bytes))
            return true;
    return false;
}

static void look_beside(struct turn *turn)
{
    bool due = turn->times < LOOKED_AT_FIRST || (turn->times & (turn->times - 1)) == 0;
    turn->looked = turn->launch && due && xfs_settings()->apply_check && depth > 0 &&
                   xfs_beside_begin(turn->uses, turn->count);
}

static void begin(void *argument)
{
    struct turn *turn = argument;
    xcu_context current = NULL;
    int mode = XCU_CAPTURE_MODE_RELAXED;
    if (xfs_apply_driver()->current(&current) != XCU_SUCCESS || !xfs_own_is_here(current, false) ||
        !is_known(turn, current) || is_being_copied(turn))
        return;
    xfs_apply_driver()->exchange(&mode);
    look_beside(turn);
    turn->may = xfs_own_begin(&turn->own, turn->uses, turn->count);
    xfs_apply_driver()->exchange(&mode);
}

/* ---- our way --------------------------------------------------------------------------------- */

static int submit_fill(const struct xfs_fill *fill, xcu_stream stream)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    if (fill->width == 1 && driver->fill8)
        return driver->fill8(fill->address, (unsigned char)fill->value, fill->n, stream);
    if (fill->width == 2 && driver->fill16)
        return driver->fill16(fill->address, (unsigned short)fill->value, fill->n, stream);
    if (fill->width == 4 && driver->fill32)
        return driver->fill32(fill->address, fill->value, fill->n, stream);
    return XCU_ERROR_NOT_SUPPORTED;
}

static void compare(void *argument)
{
    struct turn *turn = argument;
    int mode = XCU_CAPTURE_MODE_RELAXED;
    xfs_apply_driver()->exchange(&mode);
    turn->same = xfs_own_wait(&turn->own) != XCU_SUCCESS || xfs_beside_is_same(&turn->changed);
    xfs_apply_driver()->exchange(&mode);
}

/* By which arguments the kernel may write, and by which it did. */
static void note_arguments(const struct turn *turn)
{
    const char *name = xfs_reach_name(turn->launch->function);
    uint64_t given = 0, changed = 0;
    for (unsigned i = 0; i < turn->count; i++) {
        given |= turn->uses[i].writes ? turn->arguments[i] : 0;
        changed |= turn->changed >> i & 1 ? turn->arguments[i] : 0;
    }
    if (name)
        xfs_report_kernel(name, given, changed);
}

static void note_comparison(const struct turn *turn)
{
    xfs_report_own(XFS_OWN_CHECKED, 1);
    note_arguments(turn);
    if (turn->same)
        return;
    xfs_report_own(XFS_OWN_DIFFERENT, 1);
    atomic_store(&stays, true);
    xfs_log("apply: a kernel changes memory that its parameters do not name, or that it is said to "
            "only read; kernels stay in the legacy default stream");
}

/* The kernel's parameters are read on the program's stack. */
static bool move(struct turn *turn)
{
    struct xfs_guard guard = xfs_guard_enter();
    xfs_apply_enter();
    if (!xfs_on_own_stack(begin, turn))
        turn->may = false;
    if (turn->may) {
        turn->status = turn->fill ? submit_fill(turn->fill, turn->own.stream)
                                  : xfs_launch_in(turn->launch, turn->own.stream);
        xfs_own_submitted(&turn->own);
        turn->may = turn->status == XCU_SUCCESS;
    }
    if (turn->may) {
        xfs_report_own(turn->fill ? XFS_OWN_FILLS : XFS_OWN_KERNELS, 1);
        if (turn->looked && xfs_on_own_stack(compare, turn))
            note_comparison(turn);
    }
    xfs_guard_leave(guard);
    return turn->may;
}

bool xfs_launched_move(const struct xfs_launch *launch, int *status)
{
    if (!xfs_launch_is_plain(launch) || !may(xfs_launch_stream(launch)))
        return false;
    struct turn turn = {.launch = launch};
    bool is_alone = xfs_launched_alone(), made = move(&turn);
    *status = turn.status;
    if (is_alone && !made) {
        *status = xfs_launch_as_asked(launch);
        made = true;
    }
    if (is_alone)
        xfs_launched_together();
    return made;
}

bool xfs_filled_move(const struct xfs_fill *fill, int *status)
{
    if (!may(fill->stream))
        return false;
    struct turn turn = {.fill = fill};
    bool is_alone = xfs_launched_alone(), moved = move(&turn);
    *status = turn.status;
    if (is_alone)
        xfs_launched_together();
    return moved;
}

void xfs_launched_after_fork(void)
{
    pthread_mutex_init(&alone, NULL);
    depth = 0;
    xfs_beside_after_fork();
}
