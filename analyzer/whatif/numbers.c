#include "analyzer/whatif/numbers.h"

#include <string.h>

#define LEGACY_HANDLE 1u /* cudaStreamLegacy, cudaStreamPerThread */
#define PER_THREAD_HANDLE 2u

struct event_item {
    uint64_t handle; /* key */
    uint32_t number;
};
struct range_item {
    uint64_t text; /* key */
    uint32_t number;
};

void xfw_numbers_begin(struct xfw_numbers *numbers, struct xfa_process *process)
{
    xfw_numbers_free(numbers);
    numbers->process = process;
    numbers->stream_numbers = 0;
    xfa_table_init(&numbers->threads, sizeof(int32_t), sizeof(struct xfw_thread));
    xfa_table_init(&numbers->streams, sizeof(struct xfw_stream_key), sizeof(struct xfw_stream));
    xfa_table_init(&numbers->events, sizeof(uint64_t), sizeof(struct event_item));
    xfa_table_init(&numbers->ranges, sizeof(uint64_t), sizeof(struct range_item));
}

void xfw_numbers_free(struct xfw_numbers *numbers)
{
    if (!numbers->process)
        return;
    numbers->process = NULL;
    xfa_table_free(&numbers->threads);
    xfa_table_free(&numbers->streams);
    xfa_table_free(&numbers->events);
    xfa_table_free(&numbers->ranges);
}

struct xfw_thread *xfw_thread_of(struct xfw_numbers *numbers, int32_t tid)
{
    size_t before = numbers->threads.count;
    struct xfw_thread *thread = xfa_table_put(&numbers->threads, &tid);
    if (numbers->threads.count > before)
        thread->number = (uint32_t)before;
    return thread;
}

uint32_t xfw_event_of(struct xfw_numbers *numbers, uint64_t handle)
{
    size_t before = numbers->events.count;
    struct event_item *item = xfa_table_put(&numbers->events, &handle);
    if (numbers->events.count > before)
        item->number = (uint32_t)before;
    return item->number;
}

/* ---- streams --------------------------------------------------------------------------------- */

/* A default stream is the GPU's, or the thread's. */
const struct xfw_stream *xfw_stream_of(struct xfw_numbers *numbers, const struct xft_event *event,
                                       int32_t tid)
{
    uint64_t handle = event->flags & XFT_STREAM_KNOWN ? event->stream : 0;
    bool per_thread = handle == PER_THREAD_HANDLE || (!handle && event->flags & XFT_PER_THREAD);
    struct xfw_stream_key key = {0};
    key.handle = handle > PER_THREAD_HANDLE ? handle : 0;
    if (key.handle == 0) {
        key.gpu = xfa_process_gpu(numbers->process, event->device < 0 ? 0 : event->device);
        key.tid = per_thread ? tid : -1;
    }
    size_t before = numbers->streams.count;
    struct xfw_stream *stream = xfa_table_put(&numbers->streams, &key);
    if (numbers->streams.count > before) {
        stream->number = numbers->stream_numbers++;
        stream->gpu = key.handle ? -1 : key.gpu;
        stream->kind = key.handle || per_thread ? XFW_BLOCKING : XFW_LEGACY;
    }
    return stream;
}

void xfw_make_stream(struct xfw_numbers *numbers, const struct xft_event *event)
{
    struct xfw_stream_key key = {.handle = event->stream};
    if (event->stream <= PER_THREAD_HANDLE)
        return;
    struct xfw_stream *stream = xfa_table_put(&numbers->streams, &key);
    stream->number = numbers->stream_numbers++;
    stream->gpu = event->device < 0 ? -1 : xfa_process_gpu(numbers->process, event->device);
    stream->kind = event->aux & XFT_STREAM_NONBLOCKING ? XFW_NONBLOCKING : XFW_BLOCKING;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static uint32_t range_of(struct xfw_numbers *numbers, uint64_t text)
{
    size_t before = numbers->ranges.count;
    struct range_item *item = xfa_table_put(&numbers->ranges, &text);
    if (numbers->ranges.count > before)
        item->number = (uint32_t)before;
    return item->number;
}

uint32_t xfw_open_range(struct xfw_numbers *numbers, const struct xfa_step *step)
{
    struct xfw_thread *thread = xfw_thread_of(numbers, step->tid);
    uint32_t range = range_of(numbers, step->event->aux);
    if (thread->depth < XFW_OPEN_RANGES)
        thread->open[thread->depth++] =
            (struct xfw_open_range){step->event->src, step->event->dst, range};
    return range;
}

/* The innermost that it can be the end of. One of the process may have begun in another thread:
 * then it is not known which. */
uint32_t xfw_close_range(struct xfw_numbers *numbers, const struct xfa_step *step)
{
    struct xfw_thread *thread = xfw_thread_of(numbers, step->tid);
    for (uint32_t i = thread->depth; i-- > 0;) {
        struct xfw_open_range *open = &thread->open[i];
        uint32_t range = open->range;
        if (open->domain != step->event->src || open->id != step->event->dst)
            continue;
        memmove(open, open + 1, (thread->depth - i - 1) * sizeof *open);
        thread->depth--;
        return range;
    }
    return XFW_NONE;
}

uint64_t xfw_range_text(const struct xfw_numbers *numbers, uint32_t range)
{
    const struct range_item *item =
        range < numbers->ranges.count ? xfa_table_at(&numbers->ranges, range) : NULL;
    return item ? item->text : 0;
}
