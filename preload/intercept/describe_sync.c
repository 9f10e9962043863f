/* Waits of the host: for a stream, an event, a context. */
#include <errno.h>
#include <stddef.h>

#include "preload/content/content.h"
#include "preload/timing/event_pairs.h"
#include "preload/intercept/classify.h"
#include "preload/intercept/describe.h"

/* Most fields stay 0: a wait is a few bytes in the trace. */
static void waited(struct xfs_frame *f, enum xft_sync what)
{
    struct xft_event *e = &f->event;
    if (e->status != 0)
        return;
    e->kind = XFT_EVENT_SYNC;
    e->aux = what;
    e->device = XFT_PLACE_UNKNOWN;
    if (__builtin_expect(xfs_pairs_is_on(), 0))
        xfs_pairs_collect();
}

void xfs_sync_stream(struct xfs_frame *f, xcu_stream stream)
{
    f->event.stream = XFS_ADDR(stream);
    f->event.flags |= XFT_STREAM_KNOWN;
    waited(f, XFT_SYNC_STREAM);
    if (xfs_content_on() && f->event.kind == XFT_EVENT_SYNC)
        xfs_content_stream_done(XFS_ADDR(stream), (f->event.flags & XFT_PER_THREAD) != 0,
                                xfs_default_device(), f->event.start_ns);
}

void xfs_sync_event(struct xfs_frame *f, xcu_event event)
{
    f->event.src = XFS_ADDR(event);
    waited(f, XFT_SYNC_EVENT);
    if (xfs_content_on() && f->event.kind == XFT_EVENT_SYNC)
        xfs_content_event_done(XFS_ADDR(event), f->event.start_ns);
}

void xfs_sync_context(struct xfs_frame *f, xcu_context context)
{
    waited(f, XFT_SYNC_CONTEXT);
    if (f->event.kind == XFT_EVENT_SYNC)
        f->event.device = (int16_t)(context ? xfs_context_device(context) : xfs_default_device());
    if (xfs_content_on() && f->event.kind == XFT_EVENT_SYNC)
        xfs_content_device_done(f->event.device, f->event.start_ns);
}

void xfs_cuda_event_recorded(xcu_event event, xcu_stream stream, bool per_thread)
{
    if (__builtin_expect(!xfs_content_on(), 1))
        return;
    int saved = errno;
    xfs_content_event_recorded(XFS_ADDR(event), XFS_ADDR(stream), per_thread, xfs_default_device());
    errno = saved;
}

void xfs_cuda_event_gone(xcu_event event)
{
    if (xfs_content_on())
        xfs_content_event_gone(XFS_ADDR(event));
}
