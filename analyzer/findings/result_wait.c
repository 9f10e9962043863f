/*
 * wait-beyond-result: the host waits for all of a device, of a stream, or of what an event was
 * recorded behind, though what it needs of that is done earlier: copies to its memory, whose bytes
 * it may read, copies from there, whose bytes it may write again, and what kernels, graphs,
 * prefetches and host functions do to its memory. Behind these, or in other streams, there is work
 * that the host does not see. Lost: not known, only replaying the run tells.
 *
 * A kernel does something to memory of the host if it is given page-locked or managed memory, or it
 * is not known what it is given; a graph, a prefetch and a host function always do. A wait behind
 * which there is nothing of all that is left out: what it is for is not known.
 *
 * Such a wait is needed where it orders two streams: one is given work that uses the same memory as
 * work of the other that was in flight, and is not made to wait for it (stream_work.h); or where a
 * message of MPI sends memory of a device. Of kernels that were given the same pointer one has to
 * be known to write to it. What falls out of a table counts as needed, but for memory, of which
 * stream_work.h knows the last stretches.
 *
 * Waits that order streams, and those behind which the host needs nothing at all, are counted for
 * wait-for-order (order_wait.c) and unneeded-wait (unneeded_wait.c).
 */
#include <math.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/findings/finding.h"
#include "analyzer/findings/stream_work.h"
#include "analyzer/findings/wait_sites.h"
#include "analyzer/whatif/changes/changes.h"

#define MOST_WAITS 64 /* that may yet be needed: bits of a word */

struct open_wait { /* may yet be needed */
    uint32_t site; /* number */
    bool for_host; /* the host needs a part of what it waits for */
    uint64_t bytes;
    double ns;
};

enum purpose { BEYOND, ORDERS, NEEDED, ENDED };

struct beyond {
    struct xfa_table sites;
    struct xfa_streams streams; /* of the process, as all that follows; their marks are waits behind
                                   which they went on */
    uint64_t for_host[XFA_MOST_STREAMS];   /* the last position of what the host needs */
    uint64_t for_thread[XFA_MOST_STREAMS]; /* the same without functions, and copies to the host */
    uint64_t fetched[XFA_MOST_STREAMS]; /* a copy to the host, behind which there is no function */
    uint64_t order[XFA_MOST_STREAMS]; /* waits that may be for what follows in other streams alone,
                                         until the stream is given more */
    struct xfw_signatures signatures;
    struct xfw_memories memories; /* of the host, and managed */
    struct open_wait waits[MOST_WAITS];
    uint64_t open;
    unsigned next;
    bool lost; /* a stream has fallen out */
};

/* ---- waits that are open --------------------------------------------------------------------- */

static void close_wait(struct beyond *self, const struct open_wait *wait, enum purpose purpose)
{
    struct xfa_wait_site *site = xfa_wait_site_at(&self->sites, wait->site);
    if (purpose == ORDERS)
        xfa_wait_count_add(&site->orders, wait->bytes, wait->ns);
    if (purpose == ORDERS || (wait->for_host && purpose == NEEDED))
        site->needed++;
    else if (wait->for_host)
        xfa_wait_site_add(site, wait->bytes, wait->ns);
    else if (purpose != ENDED)
        xfa_wait_count_add(&site->idle, wait->bytes, wait->ns);
}

static void close_waits(struct beyond *self, uint64_t waits, enum purpose purpose)
{
    waits &= self->open;
    for (unsigned i = 0; i < MOST_WAITS && waits >> i != 0; i++)
        if (waits >> i & 1)
            close_wait(self, &self->waits[i], purpose);
    for (unsigned i = 0; i < self->streams.count; i++) {
        self->streams.at[i].marks &= ~waits;
        self->order[i] &= ~waits;
    }
    self->open &= ~waits;
}

/* The host has waited for what is reached. */
static void take_reached(struct beyond *self)
{
    for (unsigned i = 0; i < self->streams.count; i++) {
        struct xfa_stream *stream = &self->streams.at[i];
        xfa_stream_waited(stream, stream->reached);
        stream->reached = 0;
        if (stream->waited >= stream->work)
            stream->marks = 0;
    }
}

static void reach(struct beyond *self, struct xfa_stream *stream, uint64_t at)
{
    if (stream->reached < at)
        xfa_streams_reach(&self->streams, stream, at);
}

/* ---- the wait -------------------------------------------------------------------------------- */

static bool is_in_flight(const struct xfa_stream *stream)
{
    return stream->work > stream->waited;
}

static bool is_covered(const struct beyond *self, const struct xfa_event *event, unsigned i)
{
    const struct xfa_stream *stream = &self->streams.at[i];
    const struct xfa_stream_key key = xfa_stream_key_of(event);
    if (event->wait.what == XFT_SYNC_STREAM)
        return xfa_streams_find((struct xfa_streams *)&self->streams, &key) == stream;
    return event->gpu < 0 || stream->gpu < 0 || stream->gpu == event->gpu;
}

/* Functions: that streams call, and copies to the host that these read. */
enum part { NOTHING, FUNCTIONS, A_PART, NOT_KNOWN };

/* What of the awaited streams the host needs. A stream that waits for another one behind that
 * stands for the other, too. */
static enum part reach_needed(struct beyond *self, const struct xfa_event *event)
{
    enum part part = NOTHING;
    for (unsigned i = 0; i < self->streams.count; i++) {
        struct xfa_stream *stream = &self->streams.at[i];
        uint64_t at = self->for_host[i];
        if (!is_covered(self, event, i))
            continue;
        for (unsigned k = 0; k < XFA_MOST_BEHIND && k < stream->behind_count; k++)
            if (event->wait.what == XFT_SYNC_STREAM && stream->behind[k].at > at)
                return NOT_KNOWN;
        if (!is_in_flight(stream) || at <= stream->waited)
            continue;
        reach(self, stream, at);
        if (self->for_thread[i] > stream->waited || self->fetched[i] > stream->waited)
            part = A_PART;
        else if (part == NOTHING)
            part = FUNCTIONS;
    }
    return part;
}

static void reach_all(struct beyond *self, const struct xfa_event *event)
{
    for (unsigned i = 0; i < self->streams.count; i++)
        if (is_covered(self, event, i))
            reach(self, &self->streams.at[i], self->streams.at[i].at);
    take_reached(self);
}

static uint64_t in_flight(const struct beyond *self, const struct xfa_event *event)
{
    uint64_t streams = 0;
    for (unsigned i = 0; i < self->streams.count; i++)
        if (is_covered(self, event, i) && is_in_flight(&self->streams.at[i]))
            streams |= (uint64_t)1 << i;
    return streams;
}

/* What the host would not wait for, or (not for_host) need not wait for, is marked. */
static void open_wait(struct beyond *self, const struct open_wait *wait, uint64_t streams)
{
    uint64_t bit = (uint64_t)1 << self->next;
    close_waits(self, bit, BEYOND);
    for (unsigned i = 0; i < self->streams.count; i++) {
        struct xfa_stream *stream = &self->streams.at[i];
        if (!(streams >> i & 1))
            continue;
        *(wait->for_host ? &stream->marks : &self->order[i]) |= bit;
        stream->bytes = 0;
    }
    self->waits[self->next] = *wait;
    self->next = (self->next + 1) % MOST_WAITS;
    self->open |= bit;
}

/* The host waits for less, or for nothing that is known. */
static void wait_for_part(struct beyond *self, const struct xfa_event *event, enum part part)
{
    struct open_wait wait = {.for_host = part != NOTHING, .ns = xfa_event_ns(event)};
    uint64_t streams = in_flight(self, event);
    for (unsigned i = 0; i < self->streams.count; i++)
        if (streams >> i & 1)
            wait.bytes = xfa_add(wait.bytes, self->streams.at[i].bytes);
    take_reached(self);
    uint64_t beyond = in_flight(self, event);
    if (streams == 0)
        return;
    struct xfa_wait_site *site = xfa_wait_site_of(&self->sites, event);
    wait.site = site->site;
    if (wait.for_host && beyond == 0 && part == FUNCTIONS)
        wait.for_host = false;
    else if (wait.for_host)
        streams = beyond;
    if (streams != 0)
        open_wait(self, &wait, streams);
    else
        site->whole++;
}

/* Does what the host needs, up to `noted`, leave a part of what the stream was given up to `at`? */
static bool needs_a_part(const struct beyond *self, const struct xfa_stream *stream, uint64_t at,
                         uint64_t noted)
{
    size_t i = (size_t)(stream - self->streams.at);
    for (unsigned k = 0; k < XFA_MOST_BEHIND && k < stream->behind_count; k++)
        if (stream->behind[k].at > noted && stream->behind[k].at <= at)
            return false;
    return noted > stream->waited && noted < at &&
           (self->for_thread[i] > stream->waited || self->fetched[i] > stream->waited);
}

/* For an event: what was needed by when it was recorded is known. */
static void waited_for_event(struct beyond *self, const struct xfa_event *event, bool may)
{
    uint64_t at = 0, noted = xfa_streams_noted(&self->streams, event->wait.event);
    struct xfa_stream *stream = xfa_streams_recorded(&self->streams, event->wait.event, &at);
    if (!stream)
        return;
    bool part = may && needs_a_part(self, stream, at, noted), waits = at > stream->waited;
    reach(self, stream, part ? noted : at);
    take_reached(self);
    if (!may || !waits)
        return;
    struct xfa_wait_site *site = xfa_wait_site_of(&self->sites, event);
    const struct open_wait wait = {site->site, true, stream->bytes, xfa_event_ns(event)};
    if (part)
        open_wait(self, &wait, (uint64_t)1 << (stream - self->streams.at));
    else
        site->whole++;
}

static void waited(struct beyond *self, const struct xfa_event *event)
{
    bool is = event->wait.what == XFT_SYNC_CONTEXT || event->wait.what == XFT_SYNC_STREAM;
    bool may = event->kind != XFT_EVENT_QUERY && event->stack && !self->lost;
    if (event->wait.what == XFT_SYNC_EVENT) {
        waited_for_event(self, event, may);
    } else if (is) {
        enum part part = may ? reach_needed(self, event) : NOT_KNOWN;
        if (part != NOT_KNOWN)
            wait_for_part(self, event, part);
        if (part == NOTHING || part == NOT_KNOWN)
            reach_all(self, event);
    }
}

/* ---- what streams are given ------------------------------------------------------------------ */

/* NULL: there are too many. */
static struct xfa_stream *with_key(struct beyond *self, const struct xfa_stream_key *key)
{
    struct xfa_stream *stream = xfa_streams_put(&self->streams, key);
    if (!stream) {
        self->lost = true;
        close_waits(self, self->open, NEEDED);
    }
    return stream;
}

static struct xfa_stream *stream_of(struct beyond *self, const struct xfa_event *event)
{
    const struct xfa_stream_key key = xfa_stream_key_of(event);
    return event->flags & XFT_CAPTURED ? NULL : with_key(self, &key);
}

/* A stream is given more: what it uses is known of its last work alone. */
static void forget_order(struct beyond *self, size_t at)
{
    uint64_t waits = self->order[at];
    self->order[at] = 0;
    for (unsigned i = 0; i < self->streams.count && waits; i++)
        waits &= ~self->order[i];
    close_waits(self, waits, BEYOND);
}

enum needs { NONE, BY_FUNCTION, FETCHED, BY_THREAD }; /* of the host */

/* Work that uses this memory. */
static void work(struct beyond *self, struct xfa_stream *stream, const struct xfa_span *spans,
                 unsigned count, enum needs needs)
{
    size_t at = (size_t)(stream - self->streams.at);
    for (unsigned i = 0; i < self->streams.count && self->open; i++) {
        struct xfa_stream *other = &self->streams.at[i];
        if (other != stream && other->marks &&
            xfa_stream_meets(&self->streams, stream, other, spans, count))
            close_waits(self, other->marks, ORDERS);
        if (other != stream && self->order[i] &&
            xfa_stream_follows(&self->streams, stream, other, spans, count))
            close_waits(self, self->order[i], ORDERS);
    }
    forget_order(self, at);
    xfa_stream_given(stream, spans, count);
    if (needs == NONE)
        return;
    self->for_host[at] = stream->noted = stream->at;
    if (needs == BY_THREAD)
        self->for_thread[at] = stream->at;
    else
        self->fetched[at] = needs == FETCHED ? stream->at : 0;
}

/* Which of the pointers that it was given the kernel is known to write to. */
static void note_writes(struct beyond *self, const struct xfa_event *launch, struct xfa_span *spans,
                        unsigned count)
{
    const struct xfa_arguments *arguments =
        xfa_trace_arguments(launch->process->trace, launch->launch.arguments);
    unsigned at = 0;
    for (uint32_t k = 0; arguments && k < arguments->count && at < count; k++) {
        if (xfa_arguments_pointer(arguments, k) != spans[at].first)
            continue;
        spans[at++].writes =
            xfw_signatures_ask(&self->signatures, launch->process, launch->launch.name,
                               arguments->count, k) == XFW_WRITES;
    }
}

static void launched(struct beyond *self, const struct xfa_event *event)
{
    struct xfa_stream *stream = stream_of(self, event);
    struct xfa_span spans[XFA_MOST_POINTERS];
    if (!stream)
        return;
    unsigned count = xfa_launch_spans(event, spans);
    if (self->streams.count > 1)
        note_writes(self, event, spans, count);
    enum xfw_given_host given =
        xfw_given_host(&self->memories, event->process, event->launch.arguments);
    work(self, stream, spans, count, given != XFW_GIVEN_NONE ? BY_THREAD : NONE);
}

static void set(struct beyond *self, const struct xfa_event *event)
{
    struct xfa_stream *stream = stream_of(self, event);
    const struct xfa_span span = {.first = event->memory.address,
                                  .end = xfa_add(event->memory.address, event->bytes)};
    if (stream)
        work(self, stream, &span, 1, xfa_is_of_device(event->dst_mem) ? NONE : BY_THREAD);
}

static void other_work(struct beyond *self, const struct xfa_event *event)
{
    struct xfa_stream *stream = stream_of(self, event);
    if (stream)
        work(self, stream, NULL, 0,
             event->kind == XFT_EVENT_HOST_FUNCTION ? BY_FUNCTION : BY_THREAD);
}

static void ordered(struct beyond *self, const struct xfa_event *event)
{
    struct xfa_stream *stream = stream_of(self, event);
    if (stream)
        xfa_stream_ordered(&self->streams, stream, event);
}

/* Made: the handle may have been another stream's. */
static void renew(struct beyond *self, const struct xfa_event *event)
{
    const struct xfa_stream_key key = {.handle = event->stream};
    struct xfa_stream *stream = event->stream > XFA_PER_THREAD_HANDLE ? with_key(self, &key) : NULL;
    if (!stream)
        return;
    close_waits(self, stream->marks | self->order[stream - self->streams.at], NEEDED);
    stream->gpu = event->gpu < 0 ? -1 : event->gpu;
}

/* Device memory that a kernel may have written is sent. */
static void sent(struct beyond *self, const struct xfa_event *event)
{
    bool device = xfa_is_of_device(event->src_mem) || event->src_mem == XFT_MEM_MANAGED;
    if (event->bytes > 0 && device && event->message.level != XFT_LEVEL_NCCL)
        close_waits(self, self->open, NEEDED);
}

/* Memory of devices alone is no matter. */
static void memory(struct beyond *self, const struct xfa_event *event)
{
    if (event->kind != XFT_EVENT_ALLOC || !xfa_is_of_device(event->dst_mem))
        xfw_memories_event(&self->memories, event);
}

/* ---- the walk -------------------------------------------------------------------------------- */

static void event(void *of, const struct xfa_event *event)
{
    struct beyond *self = of;
    switch (event->kind) {
    case XFT_EVENT_LAUNCH:
        launched(self, event);
        break;
    case XFT_EVENT_SET:
        set(self, event);
        break;
    case XFT_EVENT_GRAPH_LAUNCH:
    case XFT_EVENT_HOST_FUNCTION:
    case XFT_EVENT_PREFETCH:
        other_work(self, event);
        break;
    case XFT_EVENT_RECORD:
    case XFT_EVENT_WAIT:
        ordered(self, event);
        break;
    case XFT_EVENT_SYNC:
    case XFT_EVENT_QUERY:
        waited(self, event);
        break;
    case XFT_EVENT_STREAM:
        renew(self, event);
        break;
    case XFT_EVENT_MESSAGE:
        sent(self, event);
        break;
    case XFT_EVENT_ALLOC:
    case XFT_EVENT_REGISTER:
    case XFT_EVENT_FREE:
    case XFT_EVENT_UNREGISTER:
        memory(self, event);
        break;
    default:
        break;
    }
}

static void transfer(void *of, const struct xfa_event *event)
{
    struct beyond *self = of;
    const struct xfa_transfer *transfer = &event->transfer;
    const struct xfa_row_key *row = &transfer->class->key.row;
    bool host = !xfa_is_of_device(row->src_mem) || !xfa_is_of_device(row->dst_mem);
    if (event->flags & XFT_GRAPH) /* a part of its launch, which is work of the stream */
        return;
    struct xfa_stream *stream = stream_of(self, event);
    if (!stream)
        return;
    const struct xfa_span spans[] = {
        {.first = transfer->src, .end = xfa_add(transfer->src, event->bytes)},
        {.first = transfer->dst, .end = xfa_add(transfer->dst, event->bytes)},
    };
    enum needs needs = row->direction == XFT_DIR_D2H ? FETCHED : BY_THREAD;
    work(self, stream, spans, 2, host && !transfer->blocks ? needs : NONE);
    stream->bytes = xfa_add(stream->bytes, event->bytes);
    if (transfer->blocks && row->direction == XFT_DIR_D2H) { /* until the stream is done with all */
        reach(self, stream, stream->at);
        take_reached(self);
    }
}

static void forget_process(struct beyond *self)
{
    xfa_streams_free(&self->streams);
    xfa_streams_init(&self->streams);
    xfw_memories_free(&self->memories);
    memset(self->for_host, 0, sizeof self->for_host);
    memset(self->for_thread, 0, sizeof self->for_thread);
    memset(self->fetched, 0, sizeof self->fetched);
    memset(self->order, 0, sizeof self->order);
    memset(&self->signatures, 0, sizeof self->signatures);
    self->lost = false;
}

static void end(void *of, struct xfa_process *process)
{
    struct beyond *self = of;
    (void)process;
    close_waits(self, self->open, ENDED);
    forget_process(self);
}

static struct xfa_observer observe(void *of)
{
    struct beyond *self = of;
    xfa_wait_sites_init(&self->sites);
    xfa_streams_init(&self->streams);
    return (struct xfa_observer){
        .name = "what waits are for",
        .shared = true,
        .kinds = XFA_KINDS_OF_CALLS | XFA_KIND(XFT_EVENT_MESSAGE),
        .self = self,
        .event = event,
        .transfer = transfer,
        .end = end,
    };
}

static void release(void *of)
{
    struct beyond *self = of;
    xfa_table_free(&self->sites);
    xfa_streams_free(&self->streams);
    xfw_memories_free(&self->memories);
}

const struct xfa_table *xfa_result_wait_sites(const void *sums)
{
    const struct beyond *self = sums;
    return &self->sites;
}

/* ---- the finding ----------------------------------------------------------------------------- */

static void find(const struct xfa_analysis *analysis, const void *sums,
                 struct xfa_findings *findings)
{
    const struct beyond *self = sums;
    const struct xfa_finding like = {
        .id = XFA_FINDING_RESULT_WAIT,
        .remedy = {.kind = XFA_REMEDY_WAIT_FOR_RESULT, .to_host = true, .node = -1},
        .lost_ns = NAN,
        .assumed = "the host needs no more of what it waits for than the copies from and to its "
                   "memory, and kernels work on what they are given",
    };
    xfa_wait_sites_find(analysis, &self->sites, &like, XFA_RECKONED_BEYOND, findings);
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    struct xfw_set sites = xfa_finding_sites(finding);
    (void)sums;
    return xfw_change_result_wait(analysis, &sites);
}

const struct xfa_finding_kind xfa_kind_result_wait = {
    .find = find,
    .change = change,
    .self_bytes = sizeof(struct beyond),
    .observe = observe,
    .free = release,
    .met_of = &xfa_wait_sites,
    .met_table = offsetof(struct beyond, sites),
};
