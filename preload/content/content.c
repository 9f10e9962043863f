#include "preload/content/parts.h"

#include "preload/content/access.h"
#include "preload/content/verify.h"
#include "preload/base/attributes.h"
#include "preload/base/guard.h"
#include "preload/base/own_stack.h"
#include "preload/record/record.h"
#include "preload/base/settings.h"

static XFS_TLS bool busy; /* a signal handler on top of a hash does not start another */

/* ---- which end, and when ------------------------------------------------------------------- */

static bool is_readable(unsigned memory)
{
    return memory == XFT_MEM_PAGEABLE || memory == XFT_MEM_PINNED || memory == XFT_MEM_REGISTERED ||
           memory == XFT_MEM_MAPPED || memory == XFT_MEM_WRITE_COMBINED;
}

/* The source may not change before the copy is done, and not before this call returns. */
static void sent(const struct xft_event *event, const struct xfs_rows *src)
{
    if (xfs_content_on() && xfs_waiting_drop(src->address, xfs_rows_end(src)))
        xfs_content_skip(XFS_SKIP_UNSETTLED, 1);
    else
        xfs_content_hash(event, src, event->src_mem == XFT_MEM_WRITE_COMBINED);
    if (xfs_access_on())
        xfs_access_sent(event, src);
}

/* An Async copy to pageable memory returns when the data is there. */
static void fetched(const struct xft_event *event, const struct xfs_rows *dst)
{
    bool done = !(event->flags & XFT_ASYNC) || event->dst_mem == XFT_MEM_PAGEABLE;
    xfs_waiting_drop(dst->address, xfs_rows_end(dst)); /* overwritten by this one */
    if (done)
        xfs_content_arrived(event, dst);
    else
        xfs_waiting_add(event, dst);
}

struct copy {
    const struct xft_event *event;
    const struct xfs_rows *dst, *src;
};

static void copied(void *arguments)
{
    const struct copy *copy = arguments;
    const struct xft_event *event = copy->event;
    const struct xfs_rows *dst = copy->dst, *src = copy->src;
    bool to_device = event->direction == XFT_DIR_H2D;
    if (!to_device && event->direction != XFT_DIR_D2H)
        return;
    if (!is_readable(to_device ? event->src_mem : event->dst_mem))
        xfs_content_skip(XFS_SKIP_MEMORY, 1);
    else if (to_device)
        sent(event, src);
    else
        fetched(event, dst);
}

void xfs_content_copied(const struct xft_event *event, const struct xfs_rows *dst,
                        const struct xfs_rows *src)
{
    bool all = xfs_content_on();
    /* A graph's node has no times of its own; before recording begins there is no lane. */
    if (busy || event->bytes == 0 || event->start_ns == 0 || (event->flags & XFT_CAPTURED) ||
        !xfs_recording() ||
        (!all &&
         (event->src_mem == XFT_MEM_WRITE_COMBINED || !xfs_places_ask(event->dst, event->bytes))))
        return;
    struct xfs_guard guard = xfs_guard_enter();
    busy = true;
    if (!xfs_on_own_stack(copied, &(struct copy){event, dst, src}))
        xfs_content_skip(XFS_SKIP_UNREADABLE, 1);
    busy = false;
    xfs_guard_leave(guard);
    if (xfs_verify_on())
        xfs_verify_copied(event, xfs_rows_bytes(src) == xfs_rows_end(src) - src->address &&
                                     xfs_rows_bytes(dst) == xfs_rows_end(dst) - dst->address);
}

void xfs_content_not_copied(void)
{
    xfs_content_skip(XFS_SKIP_SHAPE, 1);
    if (xfs_access_on())
        xfs_access_unseen();
    if (xfs_verify_on())
        xfs_verify_unseen();
}

/* ---- life ---------------------------------------------------------------------------------- */

static const char *const mode_words[] = {"off", "auto", "sampled", "whole"};

/* By the setting's words; auto is the first of them. */
static enum xfs_content_mode mode_asked(const struct xfs_settings *settings)
{
    static const enum xfs_content_mode modes[] = {XFS_CONTENT_AUTO, XFS_CONTENT_OFF,
                                                  XFS_CONTENT_SAMPLED, XFS_CONTENT_WHOLE};
    enum xfs_content_mode mode = modes[settings->content];
    bool looks = settings->host_access || settings->verify;
    return looks && mode < XFS_CONTENT_SAMPLED ? XFS_CONTENT_SAMPLED : mode;
}

void xfs_content_session_start(void)
{
    const struct xfs_settings *settings = xfs_settings();
    enum xfs_content_mode mode = mode_asked(settings);
    bool less = mode == XFS_CONTENT_AUTO && settings->content_share > XFS_CONTENT_AUTO_SHARE;
    xfs_budget_start(less ? XFS_CONTENT_AUTO_SHARE : settings->content_share);
    if (mode != XFS_CONTENT_OFF && !(xfs_hash_works() && xfs_waiting_start())) {
        mode = XFS_CONTENT_OFF;
        xfs_meta_set("content.why", "this machine does not let a process read itself");
    }
    xfs_meta_set("content", mode_words[mode]);
    atomic_store(&xfs_content_mode, mode);
    xfs_access_session_start(mode > XFS_CONTENT_AUTO);
    xfs_verify_session_start(mode > XFS_CONTENT_AUTO);
}

void xfs_content_finish(void)
{
    if (atomic_load(&xfs_content_mode) == XFS_CONTENT_OFF)
        return;
    xfs_waiting_drop_all();
    xfs_budget_note();
    xfs_access_finish();
    xfs_verify_finish();
}

void xfs_content_after_fork(void)
{
    atomic_store(&xfs_content_mode, XFS_CONTENT_OFF);
    xfs_budget_after_fork();
    xfs_places_forget();
    busy = false;
    xfs_waiting_after_fork();
    xfs_access_after_fork();
    xfs_verify_after_fork();
}
