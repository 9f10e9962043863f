#include "preload/apply/streams/streams.h"

#include <stddef.h>

#include "preload/apply/calls/ends.h"
#include "preload/apply/calls/check.h"
#include "preload/apply/state/driver.h"
#include "preload/apply/streams/launched.h"
#include "preload/apply/streams/own.h"
#include "preload/apply/site/pace.h"
#include "preload/apply/site/plan.h"
#include "preload/apply/streams/reach.h"
#include "preload/apply/site/site.h"
#include "preload/apply/state/state.h"
#include "preload/base/guard.h"
#include "preload/base/own_stack.h"
#include "preload/base/settings.h"

bool xfs_streams_on(void)
{
    return xfs_class_on(XFS_CLASS_STREAMS) && xfs_plan_has(XFT_PLAN_STREAMS);
}

bool xfs_streams_want(uint64_t bytes)
{
    return xfs_streams_on() && (bytes >= XFS_STREAMS_LEAST || !xfs_flights_are_over());
}

/* ---- what ends it ---------------------------------------------------------------------------- */

void xfs_streams_end(void)
{
    if (!xfs_streams_on())
        return;
    xfs_flights_end();
    xfs_own_end();
}

void xfs_streams_used(xcu_stream stream)
{
    if (stream != XCU_STREAM_LEGACY)
        xfs_streams_end();
}

void xfs_streams_within(uint64_t dst, uint64_t src)
{
    struct xfs_end to, from;
    if (!xfs_streams_on() || xfs_flights_are_over() || !xfs_has_several_devices())
        return;
    if (xfs_apply_driver() == NULL || !xfs_end_ask(dst, 1, &to) || !xfs_end_ask(src, 1, &from) ||
        to.type != XCU_MEMORY_DEVICE || from.type != XCU_MEMORY_DEVICE || to.device != from.device)
        xfs_streams_end();
}

/* ---- what is followed ------------------------------------------------------------------------ */

/* By a function that leaves the direction to the pointers. */
static bool is_within(const struct xfs_move *move)
{
    struct xfs_end to, from;
    return move->form >= XFS_MOVE_ANY && xfs_apply_driver() && xfs_end_ask(move->dst, 1, &to) &&
           xfs_end_ask(move->src, 1, &from) && to.type == XCU_MEMORY_DEVICE &&
           from.type == XCU_MEMORY_DEVICE;
}

bool xfs_streams_follow(const struct xfs_move *move, struct xfs_flight *flight)
{
    if (!xfs_streams_on())
        return false;
    xfs_streams_used(move->stream);
    *flight = (struct xfs_flight){.dst = move->dst, .src = move->src, .bytes = move->bytes};
    if (!xfs_flights_are_over() && is_within(move)) {
        xfs_streams_within(move->dst, move->src);
        return false;
    }
    flight->alone = xfs_launched_alone();
    bool follows = move->bytes > 0 && !xfs_flights_are_over() && xfs_flight_begins(flight);
    if (!follows && move->blocking && move->bytes >= XFS_STREAMS_LEAST)
        xfs_report_left(XFS_LEFT_ORDER);
    if (!follows && flight->alone)
        xfs_launched_together();
    return follows;
}

void xfs_streams_followed(const struct xfs_flight *flight)
{
    xfs_flight_ends(flight);
    if (flight->alone)
        xfs_launched_together();
}

/* ---- whether it may -------------------------------------------------------------------------- */

struct turn {
    const struct xfs_move *move;
    const struct xfs_flight *flight;
    xcu_context current;
    struct xfs_site *site; /* planned; NULL: it is not */
    enum xfs_way way;
    bool up;
    struct xfs_use use; /* of memory of the device */
    struct xfs_own own;
    bool done, failed;
};

static const struct xfs_apply_driver *whole_driver(void)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    return driver && driver->stream_create && driver->stream_sync ? driver : NULL;
}

static bool is_tried(void)
{
    return xfs_settings()->apply_trials && !xfs_settings()->apply_check;
}

/* Without a look at its memory. */
static bool may_be_one(const struct xfs_move *move)
{
    if (!move->blocking || move->bytes < XFS_STREAMS_LEAST || !xfs_own_several_threads(true))
        return false;
    if (!is_tried() || !xfs_pace_rests())
        return true;
    xfs_pace_passed();
    return false;
}

static bool look(struct turn *turn)
{
    const struct xfs_move *move = turn->move;
    struct xfs_end dst, src;
    if (!whole_driver() || xfs_apply_driver()->current(&turn->current) != XCU_SUCCESS ||
        turn->current == NULL || !xfs_end_ask(move->dst, move->bytes, &dst) ||
        !xfs_end_ask(move->src, move->bytes, &src))
        return false;
    turn->up = dst.type == XCU_MEMORY_DEVICE;
    const struct xfs_end *device = turn->up ? &dst : &src, *host = turn->up ? &src : &dst;
    turn->use = (struct xfs_use){device->buffer, device->start, device->bytes, turn->up};
    return device->type == XCU_MEMORY_DEVICE && device->plain && device->context == turn->current &&
           device->buffer && host->type == XCU_MEMORY_HOST && xfs_own_is_here(turn->current, true);
}

static void plan(void *argument)
{
    struct turn *turn = argument;
    struct xfs_site *site = xfs_site_here(XFS_CLASS_STREAMS, turn->up ? XFT_DIR_H2D : XFT_DIR_D2H);
    if (site == NULL)
        return;
    if (site->planned) {
        turn->site = site;
        turn->way = is_tried() ? xfs_pace_way() : XFS_WAY_OURS;
        if (site->off)
            turn->way = XFS_WAY_AS_ASKED;
    }
    xfs_site_release(site);
}

/* ---- our way --------------------------------------------------------------------------------- */

static bool is_right(const struct turn *turn)
{
    const struct xfs_move *move = turn->move;
    const struct xfs_compared copy = {.stream = move->stream,
                                      .device = turn->up ? move->dst : move->src,
                                      .host = turn->up ? move->src : move->dst,
                                      .bytes = move->bytes,
                                      .up = turn->up};
    bool right = !xfs_settings()->apply_check || xfs_check_copy(&copy, turn->site->report);
    if (!right && xfs_site_hold(turn->site)) {
        turn->site->off = true;
        xfs_site_release(turn->site);
    }
    return right;
}

static bool submit(const struct turn *turn)
{
    const struct xfs_move *move = turn->move;
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    xcu_stream stream = turn->own.stream;
    return (turn->up ? driver->to_device(move->dst, (const void *)(uintptr_t)move->src, move->bytes,
                                         stream)
                     : driver->to_host((void *)(uintptr_t)move->dst, move->src, move->bytes,
                                       stream)) == XCU_SUCCESS;
}

static void carry_out(void *argument)
{
    struct turn *turn = argument;
    int mode = XCU_CAPTURE_MODE_RELAXED;
    if (!xfs_flight_may_submit(turn->flight)) {
        xfs_report_left(XFS_LEFT_BUSY);
        return;
    }
    xfs_apply_driver()->exchange(&mode);
    bool begun = xfs_own_begin(&turn->own, &turn->use, 1), submitted = begun && submit(turn);
    if (begun)
        xfs_own_submitted(&turn->own);
    xfs_flight_submitted(turn->flight);
    turn->done = submitted && xfs_own_wait(&turn->own) == XCU_SUCCESS;
    turn->failed = begun ? !turn->done : turn->own.failed;
    turn->done = turn->done && is_right(turn);
    xfs_apply_driver()->exchange(&mode);
}

/* A thread that is cancelled leaves no copy under way. */
static void try_ours(struct turn *turn)
{
    struct xfs_guard guard = xfs_guard_enter();
    xfs_on_own_stack(carry_out, turn);
    if (turn->failed)
        xfs_report_left(XFS_LEFT_FAILED);
    xfs_guard_leave(guard);
}

/* ---- the copy -------------------------------------------------------------------------------- */

static void note(struct turn *turn)
{
    if (turn->failed)
        xfs_pace_give_up();
    struct xfs_proof proof = {0};
    if (is_tried())
        proof = xfs_pace_copied(turn->move->bytes, xfs_apply_now_ns());
    struct xfs_report_site *line = turn->site->report;
    if (proof.samples[XFS_WAY_OURS] == 0) /* not compared yet */
        proof.samples[XFS_WAY_AS_ASKED] = 0;
    xfs_site_report(turn->site, &proof, turn->way, turn->move->bytes, 0);
    if (line)
        __atomic_fetch_add(&line->asked, 1, __ATOMIC_RELAXED);
}

static int make(struct turn *turn)
{
    int status = XCU_SUCCESS;
    if (turn->way == XFS_WAY_OURS)
        try_ours(turn);
    if (!turn->done) {
        turn->way = XFS_WAY_AS_ASKED;
        status = xfs_move_as_asked(turn->move, 0, turn->move->bytes);
    }
    note(turn);
    return status;
}

bool xfs_streams_move(const struct xfs_move *move, const struct xfs_flight *flight, int *status)
{
    struct turn turn = {.move = move, .flight = flight, .way = XFS_WAY_AS_ASKED};
    if (!may_be_one(move) || !look(&turn) || !xfs_apply_begin() || !xfs_on_own_stack(plan, &turn) ||
        turn.site == NULL)
        return false;
    *status = make(&turn);
    return true;
}

void xfs_streams_leave(void)
{
    xfs_streams_end();
    if (xfs_streams_on())
        xfs_own_leave();
}

void xfs_streams_after_fork(void)
{
    xfs_own_after_fork();
    xfs_reach_after_fork();
    xfs_launched_after_fork();
    xfs_pace_after_fork();
    xfs_flights_after_fork();
}
