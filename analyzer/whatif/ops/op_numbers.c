#include "analyzer/whatif/ops/op_numbers.h"

#include <stdlib.h>
#include <string.h>

#define LEGACY_HANDLE 1u /* cudaStreamLegacy, cudaStreamPerThread */
#define PER_THREAD_HANDLE 2u

struct event_item {
    uint64_t handle; /* key */
    uint32_t number;
};
struct range_item {
    uint64_t name; /* key */
    uint32_t number;
};

void xfw_numbers_begin(struct xfw_numbers *numbers, struct xfa_process *process)
{
    xfw_numbers_free(numbers);
    numbers->process = process;
    numbers->stream_numbers = 0;
    memset(numbers->asked_threads, 0, sizeof numbers->asked_threads);
    memset(numbers->asked_streams, 0, sizeof numbers->asked_streams);
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
    free(numbers->windows.all);
    numbers->windows = (struct xfw_windows){0};
}

static struct xfw_asked *asked_at(struct xfw_asked asked[XFW_ASKED], uint64_t key)
{
    return &asked[(key * 0x9e3779b97f4a7c15u >> 32) % XFW_ASKED];
}

struct xfw_thread *xfw_thread_of(struct xfw_numbers *numbers, int32_t tid)
{
    struct xfw_asked *asked = asked_at(numbers->asked_threads, (uint32_t)tid);
    if (asked->at && asked->key == (uint32_t)tid)
        return xfa_table_at(&numbers->threads, asked->at - 1);
    size_t before = numbers->threads.count;
    struct xfw_thread *thread = xfa_table_put(&numbers->threads, &tid);
    if (numbers->threads.count > before)
        thread->number = (uint32_t)before;
    *asked = (struct xfw_asked){(uint32_t)tid, thread->number + 1};
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
const struct xfw_stream *xfw_stream_of(struct xfw_numbers *numbers, const struct xfa_event *event)
{
    uint64_t handle = event->flags & XFT_STREAM_KNOWN ? event->stream : 0;
    bool per_thread = handle == PER_THREAD_HANDLE || (!handle && event->flags & XFT_PER_THREAD);
    struct xfw_stream_key key = {0};
    key.handle = handle > PER_THREAD_HANDLE ? handle : 0;
    if (key.handle == 0) {
        key.gpu = event->gpu < 0 ? xfa_process_gpu(numbers->process, 0) : event->gpu;
        key.tid = per_thread ? event->tid : -1;
    }
    struct xfw_asked *asked = asked_at(numbers->asked_streams, key.handle);
    if (key.handle && asked->at && asked->key == key.handle)
        return xfa_table_at(&numbers->streams, asked->at - 1);
    size_t before = numbers->streams.count;
    struct xfw_stream *stream = xfa_table_put(&numbers->streams, &key);
    if (numbers->streams.count > before) {
        stream->number = XFW_STREAM_STEP * numbers->stream_numbers++;
        stream->gpu = key.handle ? -1 : key.gpu;
        stream->kind = key.handle || per_thread ? XFW_BLOCKING : XFW_LEGACY;
    }
    if (key.handle)
        *asked = (struct xfw_asked){key.handle, xfa_table_place(&numbers->streams, stream) + 1};
    return stream;
}

void xfw_make_stream(struct xfw_numbers *numbers, const struct xfa_event *event)
{
    struct xfw_stream_key key = {.handle = event->stream};
    if (event->stream <= PER_THREAD_HANDLE)
        return;
    struct xfw_stream *stream = xfa_table_put(&numbers->streams, &key);
    stream->number = XFW_STREAM_STEP * numbers->stream_numbers++;
    stream->gpu = event->gpu < 0 ? -1 : event->gpu;
    stream->kind = event->made & XFT_STREAM_NONBLOCKING ? XFW_NONBLOCKING : XFW_BLOCKING;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

uint32_t xfw_range_of(struct xfw_numbers *numbers, const struct xfa_range *range)
{
    if (!range)
        return XFW_NONE;
    size_t before = numbers->ranges.count;
    struct range_item *item = xfa_table_put(&numbers->ranges, &range->name);
    if (numbers->ranges.count > before)
        item->number = (uint32_t)before;
    return item->number;
}

bool xfw_range_name(const struct xfw_numbers *numbers, uint32_t number, uint64_t *name)
{
    if (number >= numbers->ranges.count)
        return false;
    *name = ((const struct range_item *)xfa_table_at(&numbers->ranges, number))->name;
    return true;
}
