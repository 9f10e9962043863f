#include "analyzer/findings/stream_work.h"

#include "analyzer/base/alloc.h"
#include "analyzer/run/run.h"

#define MOST_EVENTS 65536 /* of a process; further ones are not known */

struct recorded {
    uint64_t event; /* key: handle */
    unsigned stream;
    uint64_t at, noted;
};

void xfa_streams_init(struct xfa_streams *streams)
{
    streams->count = 0;
    xfa_table_init(&streams->events, sizeof(uint64_t), sizeof(struct recorded));
}

void xfa_streams_free(struct xfa_streams *streams)
{
    xfa_table_free(&streams->events);
}

/* ---- their places ---------------------------------------------------------------------------- */

struct xfa_stream_key xfa_stream_key_of(const struct xfa_event *event)
{
    uint64_t handle = event->flags & XFT_STREAM_KNOWN ? event->stream : 0;
    bool per_thread = handle == XFA_PER_THREAD_HANDLE || (!handle && event->flags & XFT_PER_THREAD);
    struct xfa_stream_key key = {.handle = handle > XFA_PER_THREAD_HANDLE ? handle : 0};
    if (key.handle == 0) {
        key.gpu = event->gpu < 0 ? xfa_process_gpu(event->process, 0) : event->gpu;
        key.tid = per_thread ? event->tid : -1;
    }
    return key;
}

static bool is_key(const struct xfa_stream_key *a, const struct xfa_stream_key *b)
{
    return a->handle == b->handle && a->gpu == b->gpu && a->tid == b->tid;
}

struct xfa_stream *xfa_streams_find(struct xfa_streams *streams, const struct xfa_stream_key *key)
{
    for (unsigned i = 0; i < streams->count; i++)
        if (is_key(&streams->at[i].key, key))
            return &streams->at[i];
    return NULL;
}

/* A place for one more: a new one, or that of a stream with nothing in flight. */
static struct xfa_stream *free_place(struct xfa_streams *streams)
{
    if (streams->count < XFA_MOST_STREAMS)
        return &streams->at[streams->count++];
    for (unsigned i = 0; i < streams->count; i++)
        if (!streams->at[i].marks && streams->at[i].work <= streams->at[i].waited)
            return &streams->at[i];
    return NULL;
}

struct xfa_stream *xfa_streams_put(struct xfa_streams *streams, const struct xfa_stream_key *key)
{
    struct xfa_stream *stream = xfa_streams_find(streams, key);
    if (stream)
        return stream;
    stream = free_place(streams);
    if (!stream)
        return NULL;
    uint64_t at = stream->at;
    *stream = (struct xfa_stream){
        .key = *key, .gpu = key->handle ? -1 : key->gpu, .at = at, .work = at, .waited = at};
    return stream;
}

/* ---- work and memory ------------------------------------------------------------------------- */

/* The stream waits for this position of the other. */
static bool is_behind(const struct xfa_streams *streams, const struct xfa_stream *stream,
                      const struct xfa_stream *other, uint64_t at)
{
    for (unsigned i = 0; i < XFA_MOST_BEHIND && i < stream->behind_count; i++)
        if (&streams->at[stream->behind[i].source] == other && stream->behind[i].source_at >= at)
            return true;
    return false;
}

static bool is_among(const struct xfa_span *has, const struct xfa_span *spans, unsigned count)
{
    for (unsigned k = 0; k < count; k++)
        if (has->first < spans[k].end && spans[k].first < has->end &&
            (!(has->given && spans[k].given) || has->writes || spans[k].writes))
            return true;
    return false;
}

bool xfa_stream_uses(const struct xfa_stream *stream, const struct xfa_span *spans, unsigned count)
{
    for (unsigned i = 0; i < stream->span_count; i++)
        if (is_among(&stream->spans[i], spans, count))
            return true;
    return false;
}

static bool meets(const struct xfa_streams *streams, const struct xfa_stream *stream,
                  const struct xfa_stream *other, uint64_t from, const struct xfa_span *spans,
                  unsigned count)
{
    for (unsigned i = 0; i < other->span_count; i++) {
        uint64_t at = other->used_at[i];
        if (at > from && is_among(&other->spans[i], spans, count) &&
            !is_behind(streams, stream, other, at))
            return true;
    }
    return false;
}

bool xfa_stream_meets(const struct xfa_streams *streams, const struct xfa_stream *stream,
                      const struct xfa_stream *other, const struct xfa_span *spans, unsigned count)
{
    return meets(streams, stream, other, other->waited, spans, count);
}

bool xfa_stream_follows(const struct xfa_streams *streams, const struct xfa_stream *stream,
                        const struct xfa_stream *other, const struct xfa_span *spans,
                        unsigned count)
{
    return meets(streams, stream, other, 0, spans, count);
}

static void keep_span(struct xfa_stream *stream, const struct xfa_span *span)
{
    for (unsigned i = 0; i < stream->span_count; i++) {
        struct xfa_span *before = &stream->spans[i];
        if (before->given != span->given)
            continue;
        bool within = before->first <= span->first && span->end <= before->end;
        if (!within && (before->end != span->first || span->given))
            continue;
        if (!within)
            before->end = span->end; /* a copy in parts */
        before->writes = before->writes || span->writes;
        stream->used_at[i] = stream->at + 1;
        return;
    }
    if (stream->span_count == XFA_MOST_SPANS) {
        for (unsigned i = 1; i < XFA_MOST_SPANS; i++) {
            stream->spans[i - 1] = stream->spans[i];
            stream->used_at[i - 1] = stream->used_at[i];
        }
        stream->span_count--;
    }
    stream->spans[stream->span_count] = *span;
    stream->used_at[stream->span_count++] = stream->at + 1;
}

void xfa_stream_given(struct xfa_stream *stream, const struct xfa_span *spans, unsigned count)
{
    if (stream->waited >= stream->work)
        stream->span_count = 0;
    for (unsigned i = 0; i < count; i++)
        keep_span(stream, &spans[i]);
    stream->work = ++stream->at;
}

unsigned xfa_launch_spans(const struct xfa_event *launch, struct xfa_span spans[XFA_MOST_POINTERS])
{
    const struct xfa_arguments *arguments =
        xfa_trace_arguments(launch->process->trace, launch->launch.arguments);
    unsigned count = 0;
    for (uint32_t i = 0; arguments && i < arguments->count && count < XFA_MOST_POINTERS; i++) {
        uint64_t pointer = xfa_arguments_pointer(arguments, i);
        if (pointer != 0 && pointer != UINT64_MAX)
            spans[count++] = (struct xfa_span){pointer, pointer + 1, .given = true};
    }
    return count;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void record(struct xfa_streams *streams, const struct xfa_stream *stream, uint64_t event)
{
    bool full = streams->events.count >= MOST_EVENTS;
    struct recorded *recorded =
        full ? xfa_table_get(&streams->events, &event) : xfa_table_put(&streams->events, &event);
    if (recorded) {
        recorded->stream = (unsigned)(stream - streams->at);
        recorded->at = stream->at;
        recorded->noted = stream->noted;
    }
}

struct xfa_stream *xfa_streams_recorded(struct xfa_streams *streams, uint64_t event, uint64_t *at)
{
    const struct recorded *recorded = xfa_table_get(&streams->events, &event);
    if (!recorded)
        return NULL;
    *at = recorded->at;
    return &streams->at[recorded->stream];
}

uint64_t xfa_streams_noted(const struct xfa_streams *streams, uint64_t event)
{
    const struct recorded *recorded = xfa_table_get(&streams->events, &event);
    return recorded ? recorded->noted : 0;
}

static void wait_behind(struct xfa_streams *streams, struct xfa_stream *stream, uint64_t event)
{
    uint64_t at = 0;
    const struct xfa_stream *source = xfa_streams_recorded(streams, event, &at);
    if (source && source != stream)
        stream->behind[stream->behind_count++ % XFA_MOST_BEHIND] =
            (struct xfa_behind){++stream->at, at, (unsigned)(source - streams->at)};
}

void xfa_stream_ordered(struct xfa_streams *streams, struct xfa_stream *stream,
                        const struct xfa_event *event)
{
    if (event->kind == XFT_EVENT_RECORD)
        record(streams, stream, event->wait.event);
    else
        wait_behind(streams, stream, event->wait.event);
}

bool xfa_stream_is_behind(const struct xfa_streams *streams, const struct xfa_stream *stream,
                          const struct xfa_stream *other)
{
    return is_behind(streams, stream, other, other->work);
}

/* ---- waits of the host ----------------------------------------------------------------------- */

void xfa_stream_waited(struct xfa_stream *stream, uint64_t at)
{
    if (at > stream->waited)
        stream->waited = at;
    if (stream->waited >= stream->work)
        stream->bytes = stream->fetched = 0;
}

/* What a stream waited for is reached with it. False: nothing more. */
static bool reach_behind(struct xfa_streams *streams)
{
    bool more = false;
    for (unsigned i = 0; i < streams->count; i++) {
        const struct xfa_stream *stream = &streams->at[i];
        for (unsigned k = 0; k < XFA_MOST_BEHIND && k < stream->behind_count && stream->reached;
             k++) {
            const struct xfa_behind *behind = &stream->behind[k];
            uint64_t *reached = &streams->at[behind->source].reached;
            if (behind->at > stream->reached || behind->source_at <= *reached)
                continue;
            *reached = behind->source_at;
            more = true;
        }
    }
    return more;
}

void xfa_streams_reach(struct xfa_streams *streams, struct xfa_stream *stream, uint64_t at)
{
    stream->reached = at;
    for (unsigned chain = 0; chain < XFA_MOST_BEHIND && reach_behind(streams); chain++)
        ;
}
