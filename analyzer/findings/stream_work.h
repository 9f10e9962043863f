/*
 * The streams of a process, as the walk meets their work: what each was given, how far the host has
 * waited for it, which other streams it waits for, and the memory that its work uses. For kinds of
 * finding that ask what a wait is for.
 *
 * A position counts what a stream was given: work, and waits for events. Positions go on when
 * another stream takes the place, so that what was noted of the one before says nothing of it.
 * Everything is bounded: events that do not fit are not known; of memory and of waits for events
 * the last are known.
 */
#ifndef XFA_STREAM_WORK_H
#define XFA_STREAM_WORK_H

#include "analyzer/base/table.h"
#include "analyzer/pass/event.h"

#define XFA_MOST_STREAMS 64 /* of a process, with work that was not waited for */
#define XFA_MOST_BEHIND 8   /* waits of a stream for events */
#define XFA_MOST_SPANS 32

#define XFA_PER_THREAD_HANDLE 2u /* cudaStreamPerThread; 1: cudaStreamLegacy */

struct xfa_stream_key {
    uint64_t handle;  /* 0: a default stream */
    int32_t gpu, tid; /* of that; tid -1: the GPU's */
};

struct xfa_span {
    uint64_t first, end;
    bool given;  /* a pointer that a kernel was given; else a copy's */
    bool writes; /* given: the kernel is known to write to it; its user's, else false */
};

struct xfa_stream {
    struct xfa_stream_key key;
    int32_t gpu;             /* -1: not known */
    uint64_t at;             /* the last position */
    uint64_t work;           /* the last one of work */
    uint64_t waited;         /* the host has waited up to here, by whatever wait */
    uint64_t reached;        /* by xfa_streams_reach(); its caller sets it back to 0 */
    uint64_t marks;          /* its user's; a stream with marks keeps its place */
    uint64_t bytes, fetched; /* its user's: by copies; 0 when the host has waited for all */
    uint64_t noted;          /* its user's: a position, kept with the events that are recorded */
    struct xfa_behind {      /* at `at` it waits for that position of another */
        uint64_t at, source_at;
        unsigned source;
    } behind[XFA_MOST_BEHIND];
    unsigned behind_count;
    struct xfa_span spans[XFA_MOST_SPANS];
    uint64_t used_at[XFA_MOST_SPANS]; /* of each: the last position of work that uses it */
    unsigned span_count;
};

struct xfa_streams {
    struct xfa_stream at[XFA_MOST_STREAMS];
    unsigned count;
    struct xfa_table events; /* recorded, by handle */
};

void xfa_streams_init(struct xfa_streams *streams);
void xfa_streams_free(struct xfa_streams *streams);

struct xfa_stream_key xfa_stream_key_of(const struct xfa_event *event);
struct xfa_stream *xfa_streams_find(struct xfa_streams *streams, const struct xfa_stream_key *key);
/* A new one takes the place of one with nothing in flight, if need be. NULL: there are too many. */
struct xfa_stream *xfa_streams_put(struct xfa_streams *streams, const struct xfa_stream_key *key);

/* The pointers that a launched kernel was given, as far as it is known; how many. */
#define XFA_MOST_POINTERS 32 /* further ones are not looked at */
unsigned xfa_launch_spans(const struct xfa_event *launch, struct xfa_span spans[XFA_MOST_POINTERS]);

/* Work that uses this memory. */
void xfa_stream_given(struct xfa_stream *stream, const struct xfa_span *spans, unsigned count);
/* Does work of the stream use any of this memory? Two kernels that were given the same pointer are
 * not known to, unless one `writes`. */
bool xfa_stream_uses(const struct xfa_stream *stream, const struct xfa_span *spans, unsigned count);
/* The same of work that the host has not waited for, and that `stream` is not made to wait for. */
bool xfa_stream_meets(const struct xfa_streams *streams, const struct xfa_stream *stream,
                      const struct xfa_stream *other, const struct xfa_span *spans, unsigned count);
/* The same of all work that is remembered, whether the host has waited for it or not. */
bool xfa_stream_follows(const struct xfa_streams *streams, const struct xfa_stream *stream,
                        const struct xfa_stream *other, const struct xfa_span *spans,
                        unsigned count);

/* The stream records an event, or waits for one: XFT_EVENT_RECORD, XFT_EVENT_WAIT. */
void xfa_stream_ordered(struct xfa_streams *streams, struct xfa_stream *stream,
                        const struct xfa_event *event);
/* The stream and the position where the event was recorded. NULL: not known. */
struct xfa_stream *xfa_streams_recorded(struct xfa_streams *streams, uint64_t event, uint64_t *at);
/* `noted` of that stream by then; 0: not known. */
uint64_t xfa_streams_noted(const struct xfa_streams *streams, uint64_t event);
/* Is the stream made to wait for all that the other was given? */
bool xfa_stream_is_behind(const struct xfa_streams *streams, const struct xfa_stream *stream,
                          const struct xfa_stream *other);

/* The host has waited for the stream up to there. */
void xfa_stream_waited(struct xfa_stream *stream, uint64_t at);
/* What the host has waited for when the stream is at this position, of this and of those that it
 * waited for: sets `reached` of each. */
void xfa_streams_reach(struct xfa_streams *streams, struct xfa_stream *stream, uint64_t at);

#endif
