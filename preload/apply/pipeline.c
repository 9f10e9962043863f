#include "preload/apply/pipeline.h"

#include <errno.h>
#include <stddef.h>

#include "preload/apply/check.h"
#include "preload/apply/classes.h"
#include "preload/apply/driver.h"
#include "preload/apply/memory.h"
#include "preload/apply/state.h"
#include "preload/base/guard.h"
#include "preload/base/own_stack.h"
#include "preload/base/settings.h"

#define WORTH_NS UINT64_C(30000000) /* spent in copies as asked, before apply starts for them */
#define NON_BLOCKING 1u

/* The program made a stream that does not wait for the default stream. */
static atomic_bool has_apart;

bool xfs_pipeline_on(void)
{
    return xfs_class_on(XFS_CLASS_PIPELINE);
}

void xfs_pipeline_stream_made(unsigned flags)
{
    if (flags & NON_BLOCKING)
        atomic_store(&has_apart, true);
}

static bool can_be_done(void)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    return driver->event_elapsed && driver->stream_create && driver->stream_destroy &&
           driver->stream_sync && driver->stream_wait;
}

/* ---- what is known --------------------------------------------------------------------------- */

/* took_ns 0: not timed. */
static void tell(struct xfs_site *site, enum xfs_way way, uint64_t bytes, uint64_t took_ns)
{
    if (site == NULL || !xfs_site_hold(site))
        return;
    struct xfs_proof *proof = xfs_site_proof(site, bytes);
    if (took_ns > 0)
        xfs_proof_took(proof, way, bytes, took_ns);
    if (site->report)
        __atomic_fetch_add(&site->report->asked, 1, __ATOMIC_RELAXED);
    xfs_site_report(site, proof, way, bytes, took_ns);
    xfs_site_release(site);
}

/* Of the last copy that was timed, if it is over. */
static void read_time(struct xfs_pipe *pipe)
{
    struct xfs_timed timed = pipe->timed;
    uint64_t ns = xfs_timed_read(&pipe->timed);
    if (ns > 0 && timed.site == NULL)
        xfs_proof_took(&pipe->proof, timed.way, timed.bytes, ns);
    else if (ns > 0)
        tell(timed.site, timed.way, timed.bytes, ns);
}

/* ---- the start ------------------------------------------------------------------------------- */

/* Before it is worth to start, nobody asks who copies. */
static bool is_worth(struct xfs_pipe *pipe)
{
    if (!xfs_settings()->apply_trials)
        return true;
    return xfs_apply_started() ||
           xfs_proof_expects(&pipe->proof, XFS_WAY_AS_ASKED, pipe->spent_bytes) >= WORTH_NS;
}

/* The way that the site's trials want next. */
static void choose(struct xfs_piped_copy *copy)
{
    copy->site = xfs_site_here(XFS_CLASS_PIPELINE, XFT_DIR_P2P);
    if (copy->site == NULL)
        return;
    if (!xfs_settings()->apply_trials)
        copy->way = copy->site->off ? XFS_WAY_AS_ASKED : XFS_WAY_OURS;
    else if (!copy->site->off)
        copy->way =
            xfs_proof_choose(xfs_site_proof(copy->site, copy->asked->bytes), &copy->is_timed);
    xfs_site_release(copy->site);
}

static void begin_time(struct xfs_piped_copy *copy)
{
    copy->timed =
        (struct xfs_timed){.bytes = copy->asked->bytes, .way = copy->way, .site = copy->site};
    copy->is_timed = copy->is_timed && copy->pipe->timed.ended == NULL &&
                     xfs_timed_mark(&copy->timed.begun, copy->asked->stream);
    if (!copy->is_timed)
        xfs_timed_drop(&copy->timed);
}

static void end_time(struct xfs_piped_copy *copy)
{
    if (copy->is_timed && xfs_timed_mark(&copy->timed.ended, copy->asked->stream)) {
        copy->pipe->timed = copy->timed;
        return; /* reported once its time is known */
    }
    xfs_timed_drop(&copy->timed);
    tell(copy->site, copy->way, copy->asked->bytes, 0);
}

/* ---- ours ------------------------------------------------------------------------------------ */

static void make(void *argument)
{
    struct xfs_piped_copy *copy = argument;
    copy->failed = !xfs_pipe_make(copy->pipe, copy->asked);
}

/* Nothing that is under way can hold it up. */
static bool may_begin(struct xfs_piped_copy *copy)
{
    const struct xfs_between *asked = copy->asked;
    if (asked->blocking)
        return !atomic_load(&has_apart) && xfs_pipe_is_still(copy->pipe);
    return xfs_apply_driver()->stream_query(asked->stream) == XCU_SUCCESS;
}

static bool is_right(const struct xfs_piped_copy *copy)
{
    const struct xfs_between *asked = copy->asked;
    if (!xfs_settings()->apply_check ||
        xfs_check_peer(asked->dst, asked->src, asked->bytes, asked->stream,
                       copy->site ? copy->site->report : NULL))
        return true;
    if (copy->site && xfs_site_hold(copy->site)) {
        copy->site->off = true;
        xfs_site_release(copy->site);
    }
    return false;
}

static void carry_out(void *argument)
{
    struct xfs_piped_copy *copy = argument;
    int mode = XCU_CAPTURE_MODE_RELAXED;
    if (!may_begin(copy)) {
        xfs_report_left(XFS_LEFT_BUSY);
        return;
    }
    xfs_apply_driver()->exchange(&mode);
    begin_time(copy);
    copy->done = xfs_pipe_queue(copy->pipe, copy->asked);
    if (copy->done)
        end_time(copy);
    else
        xfs_timed_drop(&copy->timed);
    if (copy->done && copy->asked->blocking)
        copy->done = xfs_pipe_wait(copy->pipe);
    copy->failed = !copy->done;
    if (copy->done && !is_right(copy))
        copy->done = false;
    xfs_apply_driver()->exchange(&mode);
    xfs_report_started(0, xfs_locked_bytes());
}

/* A thread that is cancelled leaves no copy half queued. */
static void try_ours(struct xfs_piped_copy *copy)
{
    struct xfs_guard guard = xfs_guard_enter();
    if (copy->pipe->memory == NULL && !xfs_on_large_stack(make, copy))
        copy->failed = true;
    if (copy->pipe->memory == NULL)
        xfs_report_left(XFS_LEFT_NO_MEMORY);
    else if (!copy->failed && xfs_on_own_stack(carry_out, copy) && copy->failed)
        xfs_report_left(XFS_LEFT_FAILED);
    xfs_guard_leave(guard);
}

/* ---- one copy -------------------------------------------------------------------------------- */

static void plan(void *argument)
{
    struct xfs_piped_copy *copy = argument;
    read_time(copy->pipe);
    copy->way = XFS_WAY_AS_ASKED;
    if (is_worth(copy->pipe) && xfs_apply_begin())
        choose(copy);
    else
        copy->is_timed = true;
}

/* As asked: the time begins. */
static void plan_call(void *argument)
{
    struct xfs_piped_copy *copy = argument;
    copy->is_timed = copy->is_timed && copy->way == XFS_WAY_AS_ASKED;
    copy->way = XFS_WAY_AS_ASKED;
    begin_time(copy);
}

static void note_failure(struct xfs_piped_copy *copy)
{
    if (copy->site == NULL || !xfs_site_hold(copy->site))
        return;
    xfs_proof_give_up(xfs_site_proof(copy->site, copy->asked->bytes));
    xfs_site_release(copy->site);
}

bool xfs_pipeline_begin(struct xfs_piped_copy *copy)
{
    if (!can_be_done() || (copy->pipe = xfs_pipe_take(copy->asked)) == NULL)
        return false;
    if (!xfs_on_own_stack(plan, copy)) {
        xfs_pipe_give_back(copy->pipe);
        copy->pipe = NULL;
        return false;
    }
    if (copy->way == XFS_WAY_OURS)
        try_ours(copy);
    if (copy->failed)
        note_failure(copy);
    if (copy->done) {
        xfs_pipe_give_back(copy->pipe);
        return true;
    }
    (void)xfs_on_own_stack(plan_call, copy);
    return false;
}

static void end(void *argument)
{
    end_time(argument);
}

void xfs_pipeline_end(struct xfs_piped_copy *copy, int status)
{
    if (copy->pipe == NULL)
        return;
    if (status != XCU_SUCCESS)
        copy->is_timed = false;
    (void)xfs_on_own_stack(end, copy);
    copy->pipe->spent_bytes += copy->asked->bytes;
    xfs_pipe_give_back(copy->pipe);
}
