#include "analyzer/run/stream.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"

/* One process's events, the next of them at hand. */
struct source {
    struct xfa_process *process;
    struct xfa_merge *merge;
    const struct xfa_merged *next; /* what is left of the batch at hand */
    size_t left;
    uint64_t due_ns;          /* of its first event, by the run's clock */
    struct xft_event *events; /* with the process's times, where it has periods: of a batch */
    struct xfa_merged *merged;
    size_t event_capacity, merged_capacity;
};

struct xfa_stream {
    struct source *sources; /* a heap by due_ns, then process */
    size_t count, begun;    /* that have events left; at first */
    size_t given;           /* events of the first source that were handed out, to be skipped */
};

static bool before(const struct source *a, const struct source *b)
{
    if (a->due_ns != b->due_ns)
        return a->due_ns < b->due_ns;
    return a->process->number < b->process->number;
}

static void sink(struct xfa_stream *stream, size_t i)
{
    struct source *heap = stream->sources;
    for (size_t child = 2 * i + 1; child < stream->count; i = child, child = 2 * i + 1) {
        if (child + 1 < stream->count && before(&heap[child + 1], &heap[child]))
            child++;
        if (!before(&heap[child], &heap[i]))
            return;
        struct source other = heap[i];
        heap[i] = heap[child];
        heap[child] = other;
    }
}

/* Events without a time come as early as the merge gives them. */
static uint64_t due(const struct source *source, const struct xft_event *event)
{
    return event->start_ns ? xfa_process_wall_ns(source->process, event->start_ns) : 0;
}

/* Without the time that lies outside of its periods. */
static void leave_out(struct source *source)
{
    const struct xfa_periods *periods = source->process->periods;
    source->events =
        xfa_room(source->events, &source->event_capacity, source->left, sizeof *source->events);
    source->merged =
        xfa_room(source->merged, &source->merged_capacity, source->left, sizeof *source->merged);
    for (size_t i = 0; i < source->left; i++) {
        struct xft_event *event = &source->events[i];
        *event = *source->next[i].event;
        event->start_ns = xfa_periods_ns(periods, event->start_ns);
        event->end_ns = xfa_periods_ns(periods, event->end_ns);
        source->merged[i] = source->next[i];
        source->merged[i].event = event;
    }
    source->next = source->merged;
}

static void forget(struct source *source)
{
    xfa_merge_free(source->merge);
    free(source->events);
    free(source->merged);
}

/* The next batch; 0: there is none. */
static size_t read_on(struct source *source)
{
    source->left = xfa_merge_next_batch(source->merge, &source->next);
    if (source->left && source->process->periods)
        leave_out(source);
    return source->left;
}

static bool advance(struct source *source, size_t given)
{
    source->left -= given;
    if (source->left > 0)
        source->next += given;
    else
        read_on(source);
    if (source->left == 0)
        return false;
    source->due_ns = due(source, source->next->event);
    return true;
}

struct xfa_stream *xfa_stream_new(struct xfa_process *const *processes, size_t count)
{
    struct xfa_stream *stream = xfa_alloc(sizeof *stream);
    stream->sources = xfa_alloc((count + 1) * sizeof *stream->sources);
    for (size_t i = 0; i < count; i++) {
        struct source source = {.process = processes[i]};
        source.merge = xfa_merge_new(processes[i]->trace);
        if (advance(&source, 0))
            stream->sources[stream->count++] = source;
        else
            forget(&source);
    }
    stream->begun = stream->count;
    for (size_t i = stream->count / 2; i-- > 0;)
        sink(stream, i);
    return stream;
}

/* How many of the first source's events come before any of another. */
static size_t ahead(const struct xfa_stream *stream)
{
    const struct source *first = &stream->sources[0];
    uint64_t limit = UINT64_MAX;
    for (size_t i = 1; i < stream->count && i < 3; i++)
        if (stream->sources[i].due_ns < limit)
            limit = stream->sources[i].due_ns;
    size_t n = 1;
    while (n < first->left && due(first, first->next[n].event) < limit)
        n++;
    return n;
}

bool xfa_stream_next(struct xfa_stream *stream, struct xfa_events *events)
{
    if (stream->given > 0) {
        struct source *first = &stream->sources[0];
        if (!advance(first, stream->given)) {
            forget(first);
            *first = stream->sources[--stream->count];
        }
        stream->given = 0;
        sink(stream, 0);
    }
    if (stream->count == 0)
        return false;
    const struct source *first = &stream->sources[0];
    stream->given = stream->count == 1 ? first->left : ahead(stream);
    *events = (struct xfa_events){
        .process = first->process,
        .events = first->next,
        .count = stream->given,
    };
    return true;
}

double xfa_stream_part(const struct xfa_stream *stream)
{
    double done = (double)(stream->begun - stream->count);
    for (size_t i = 0; i < stream->count; i++)
        done += xfa_merge_part(stream->sources[i].merge);
    return stream->begun ? done / (double)stream->begun : 1;
}

void xfa_stream_free(struct xfa_stream *stream)
{
    for (size_t i = 0; i < stream->count; i++)
        forget(&stream->sources[i]);
    free(stream->sources);
    free(stream);
}
