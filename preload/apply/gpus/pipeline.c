#include "preload/apply/gpus/pipeline.h"

#include <errno.h>
#include <stddef.h>

#include "preload/apply/calls/check.h"
#include "preload/apply/state/classes.h"
#include "preload/apply/state/driver.h"
#include "preload/apply/memory/memory.h"
#include "preload/apply/state/state.h"
#include "preload/base/guard.h"
#include "preload/base/own_stack.h"
#include "preload/base/settings.h"

bool xfs_pipeline_on(void)
{
    return xfs_class_on(XFS_CLASS_PIPELINE);
}

static bool can_be_done(void)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    return driver->event_elapsed && driver->stream_create && driver->stream_destroy &&
           driver->stream_sync && driver->stream_wait;
}

/* ---- ours ------------------------------------------------------------------------------------ */

static void make(void *argument)
{
    struct xfs_piped_copy *copy = argument;
    copy->failed = !xfs_pipe_make(copy->pipe, copy->asked);
}

/* What is waited for here has nothing to wait for. */
static bool may_begin(struct xfs_piped_copy *copy)
{
    const struct xfs_between *asked = copy->asked;
    bool waits = !asked->blocking && !xfs_settings()->apply_check;
    return xfs_pipe_has_room(copy->pipe, asked, waits) &&
           (!asked->blocking || xfs_pipe_is_still(copy->pipe));
}

static bool queue(void *of)
{
    struct xfs_piped_copy *copy = of;
    return xfs_pipe_queue(copy->pipe, copy->asked);
}

static bool await(void *of)
{
    return xfs_pipe_wait(((struct xfs_piped_copy *)of)->pipe);
}

static bool is_right(void *of)
{
    struct xfs_piped_copy *copy = of;
    const struct xfs_between *asked = copy->asked;
    struct xfs_site *site = copy->tried.site;
    bool right =
        !xfs_settings()->apply_check || xfs_check_peer(asked->dst, asked->src, asked->bytes,
                                                       asked->stream, site ? site->report : NULL);
    if (!right)
        xfs_tried_wrong(&copy->tried);
    return right;
}

static void carry_out(void *argument)
{
    struct xfs_piped_copy *copy = argument;
    if (!may_begin(copy)) {
        xfs_report_left(XFS_LEFT_BUSY);
        return;
    }
    copy->done =
        xfs_tried_carry_out(&copy->tried, &(struct xfs_tried_steps){queue, await, is_right}, copy,
                            copy->asked->blocking, &copy->failed);
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

bool xfs_pipeline_begin(struct xfs_piped_copy *copy)
{
    if (!can_be_done() || (copy->pipe = xfs_pipe_take(copy->asked)) == NULL)
        return false;
    copy->tried = (struct xfs_tried){.class = XFS_CLASS_PIPELINE,
                                     .direction = XFT_DIR_P2P,
                                     .bytes = copy->asked->bytes,
                                     .stream = copy->asked->stream,
                                     .tries = &copy->pipe->tries};
    if (!xfs_tried_plan(&copy->tried)) {
        xfs_pipe_give_back(copy->pipe);
        copy->pipe = NULL;
        return false;
    }
    if (copy->tried.way == XFS_WAY_OURS)
        try_ours(copy);
    if (copy->failed)
        xfs_tried_give_up(&copy->tried);
    if (copy->done)
        xfs_pipe_give_back(copy->pipe);
    else
        xfs_tried_before_call(&copy->tried);
    return copy->done;
}

void xfs_pipeline_end(struct xfs_piped_copy *copy, int status)
{
    if (copy->pipe == NULL)
        return;
    xfs_tried_after_call(&copy->tried, status);
    xfs_pipe_give_back(copy->pipe);
}
