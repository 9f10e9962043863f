/* Streams, and work on them other than copies and kernels. */
#include <stddef.h>

#include "preload/content/content.h"
#include "preload/content/verify.h"
#include "preload/intercept/captures.h"
#include "preload/intercept/classify.h"
#include "preload/intercept/describe.h"
#include "preload/intercept/session.h"

/* Only where the stream does not determine it. */
static void set_device(struct xft_event *e)
{
    e->device =
        (int16_t)(xfs_stream_is_default(e->stream) ? xfs_default_device() : XFT_PLACE_UNKNOWN);
}

void xfs_set(struct xfs_frame *f, uint64_t dst, uint64_t pitch, uint64_t width, uint64_t rows)
{
    struct xft_event *e = &f->event;
    if (e->status != 0 || !xfs_moving_begun())
        return;
    struct xfs_place place = xfs_classify(dst);
    e->kind = XFT_EVENT_SET;
    e->dst = dst;
    e->dst_mem = place.memory;
    e->dst_place = place.place;
    e->src_place = XFT_PLACE_UNKNOWN;
    e->bytes = width * rows;
    e->width = width;
    e->count = 1;
    set_device(e);
    if (xfs_verify_on() && e->bytes > 0)
        xfs_verify_filled(e, dst + (rows - 1) * pitch + width);
}

void xfs_host_function(struct xfs_frame *f, xcu_stream stream, uint64_t function)
{
    struct xft_event *e = &f->event;
    if (e->status != 0 || !xfs_moving_begun())
        return;
    xfs_on_stream(f, stream);
    e->kind = XFT_EVENT_HOST_FUNCTION;
    e->src = function;
    set_device(e);
}

void xfs_stream_made(struct xfs_frame *f, uint64_t stream, unsigned flags, int priority)
{
    struct xft_event *e = &f->event;
    struct xfs_stream_answer answer = {.priority = priority, .device = XFT_PLACE_UNKNOWN};
    if (e->status != 0)
        return;
    xfs_stream_look((void *)(uintptr_t)stream, &answer);
    e->kind = XFT_EVENT_STREAM;
    e->stream = stream;
    e->flags |= XFT_STREAM_KNOWN;
    e->src = answer.number;
    e->aux = flags & XCU_STREAM_NON_BLOCKING ? XFT_STREAM_NONBLOCKING : 0;
    e->width = (uint64_t)(int64_t)answer.priority;
    e->device = (int16_t)answer.device;
}

void xfs_stream_ended(struct xfs_frame *f, xcu_stream stream)
{
    struct xft_event *e = &f->event;
    if (e->status != 0)
        return;
    e->kind = XFT_EVENT_STREAM_END;
    e->stream = XFS_ADDR(stream);
    e->flags |= XFT_STREAM_KNOWN;
    e->device = XFT_PLACE_UNKNOWN;
    xfs_capture_stream_gone(stream);
    if (xfs_content_on())
        xfs_content_stream_gone(XFS_ADDR(stream));
}
