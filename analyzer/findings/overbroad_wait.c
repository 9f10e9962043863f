/*
 * overbroad-wait: the host waits for all of a device, though the program waits for each stream of
 * it later anyway, before it gives that stream more work. Lost: not known, since the waits that
 * stay may take the time instead; only replaying the run tells.
 *
 * A wait for the device is needed where one of the streams with work in flight
 * - is given further work before its thread waits for the stream, for an event behind that work, or
 *   for a stream that was made to wait for such an event; or is never waited for so;
 * - has work that uses the same memory as work of another stream, which is given first and not made
 *   to wait for it: the wait for the device is what orders the two, or lets the host write the
 *   memory in between (copies, and what kernels were given, as far as that is known);
 * - has fetched what the thread could have read before its next call.
 * A query that finds work done is not such a wait: the program may go on without it.
 *
 * Work counts for the first wait for the device behind it, so that a call site's waits can go
 * together. What falls out of a table counts as needed, but for memory: of a stream the last
 * MOST_SPANS stretches are known.
 */
#include "analyzer/findings/finding.h"

#include <math.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"

#define MOST_SITES 16384
#define MOST_EVENTS 65536 /* of a process; further ones are not known */
#define MOST_STREAMS 64   /* of a process, with work that nobody has waited for */
#define MOST_WAITS 64     /* that are not decided: bits of a word */
#define MOST_BEHIND 8     /* waits of a stream for events: the last */
#define MOST_SPANS 32
#define MOST_POINTERS 32 /* of a kernel's; further ones are not looked at */

#define LEAST_SHARE 0.95 /* of a site's waits */
#define LEAST_TIMES 2

#define LEGACY_HANDLE 1u /* cudaStreamLegacy, cudaStreamPerThread */
#define PER_THREAD_HANDLE 2u

struct site_waits {
    uint32_t site; /* key: number */
    uint32_t function;
    uint64_t times, needed; /* waits that are not needed, and others */
    uint64_t bytes;         /* copies that those were behind of */
    double ns;              /* in those */
};

struct stream_key {
    uint64_t handle;  /* 0: a default stream */
    int32_t gpu, tid; /* of that; tid -1: the GPU's */
};

struct span {
    uint64_t first, end;
    bool given; /* a pointer that a kernel was given; else a copy's */
};

/* Positions count what a stream was given: work, and waits for events. They go on when another
 * stream takes the place, so that what was noted of the one before says nothing of it. */
struct stream {
    struct stream_key key;
    int32_t gpu;             /* -1: not known */
    uint64_t at;             /* the last position */
    uint64_t work;           /* the last one of work */
    uint64_t settled;        /* the host has waited up to here, by whatever wait */
    uint64_t reached;        /* during a wait of the host for streams and events: up to here */
    uint64_t waits;          /* waits for the device that were for its work: a bit each */
    uint64_t bytes, fetched; /* by copies, since it was settled */
    struct behind {          /* at `at` it waits for that position of another */
        uint64_t at, source_at;
        unsigned source;
    } behind[MOST_BEHIND];
    unsigned behind_count;
    struct span spans[MOST_SPANS];
    unsigned span_count;
};

struct recorded {
    uint64_t event; /* key: handle */
    unsigned stream;
    uint64_t at;
};

struct device_wait { /* not decided */
    uint32_t site;   /* number */
    int32_t tid;
    uint64_t end_ns, bytes, fetched;
    unsigned streams; /* that are still to be waited for */
    double ns;
};

struct overbroad {
    struct xfa_table sites;
    struct xfa_table events; /* of the process, as all that follows */
    struct stream streams[MOST_STREAMS];
    unsigned stream_count;
    struct device_wait waits[MOST_WAITS];
    uint64_t open, fresh; /* of waits: not decided; their thread has made no call since */
    unsigned next;
    bool lost; /* a stream has fallen out: every wait may be for its work */
};

/* ---- waits for the device ---------------------------------------------------------------------
 */

static struct site_waits *site_of(struct overbroad *self, uint32_t site)
{
    bool full = self->sites.count >= MOST_SITES;
    return full ? xfa_table_get(&self->sites, &site) : xfa_table_put(&self->sites, &site);
}

static void forget(struct overbroad *self, unsigned wait)
{
    uint64_t bit = (uint64_t)1 << wait;
    for (unsigned i = 0; i < self->stream_count; i++)
        self->streams[i].waits &= ~bit;
    self->open &= ~bit;
    self->fresh &= ~bit;
}

static void needed(struct overbroad *self, uint64_t waits)
{
    for (unsigned i = 0; waits != 0; i++, waits >>= 1) {
        struct site_waits *site = waits & 1 ? site_of(self, self->waits[i].site) : NULL;
        if (site)
            site->needed++;
        if (waits & 1)
            forget(self, i);
    }
}

/* One more stream that the wait was for has been waited for by itself. */
static void spared(struct overbroad *self, unsigned number)
{
    const struct device_wait *wait = &self->waits[number];
    struct site_waits *site = --self->waits[number].streams == 0 ? site_of(self, wait->site) : NULL;
    if (site) {
        site->times++;
        site->bytes = xfa_add(site->bytes, wait->bytes);
        site->ns += wait->ns;
    }
    if (wait->streams == 0)
        forget(self, number);
}

static void settle(struct stream *stream, uint64_t at)
{
    if (at > stream->settled)
        stream->settled = at;
    if (stream->settled >= stream->work)
        stream->bytes = stream->fetched = 0;
}

static unsigned free_wait(struct overbroad *self)
{
    unsigned number = self->next;
    self->next = (self->next + 1) % MOST_WAITS;
    needed(self, self->open & (uint64_t)1 << number);
    return number;
}

/* The device has work in flight, for which this wait is. */
static void open_wait(struct overbroad *self, const struct xfa_event *event,
                      struct device_wait *wait, const bool *in_flight)
{
    struct site_waits *site = site_of(self, wait->site);
    if (!site)
        return;
    site->function = xfa_function_of(event)->number;
    if (self->lost) {
        site->needed++;
        return;
    }
    unsigned number = free_wait(self);
    uint64_t bit = (uint64_t)1 << number;
    self->waits[number] = *wait;
    self->open |= bit;
    self->fresh |= bit;
    for (unsigned i = 0; i < self->stream_count; i++)
        self->streams[i].waits |= in_flight[i] ? bit : 0;
}

static void wait_for_device(struct overbroad *self, const struct xfa_event *event)
{
    struct device_wait wait = {
        .tid = event->tid, .end_ns = event->end_ns, .ns = xfa_event_ns(event)};
    bool in_flight[MOST_STREAMS] = {false};
    for (unsigned i = 0; i < self->stream_count; i++) {
        struct stream *stream = &self->streams[i];
        if (event->gpu >= 0 && stream->gpu >= 0 && stream->gpu != event->gpu)
            continue;
        if (stream->work > stream->settled) {
            in_flight[i] = true;
            wait.streams++;
            wait.bytes = xfa_add(wait.bytes, stream->bytes);
            wait.fetched = xfa_add(wait.fetched, stream->fetched);
        }
        settle(stream, stream->at);
    }
    if (wait.streams == 0 || !event->stack)
        return;
    wait.site = xfa_site_of(event)->number;
    open_wait(self, event, &wait, in_flight);
}

/* A thread's call: before it, the thread may have read what its wait for the device was for. */
static void called(struct overbroad *self, const struct xfa_event *event)
{
    for (unsigned i = 0; self->fresh >> i != 0 && i < MOST_WAITS; i++) {
        const struct device_wait *wait = &self->waits[i];
        uint64_t bit = (uint64_t)1 << i;
        if (!(self->fresh & bit) || wait->tid != event->tid)
            continue;
        double own_ns =
            event->start_ns > wait->end_ns ? (double)(event->start_ns - wait->end_ns) : 0;
        bool read = wait->fetched > 0 && own_ns >= XFW_READ_NS_PER_BYTE * (double)wait->fetched;
        self->fresh &= ~bit;
        if (read)
            needed(self, bit);
        if (self->fresh == 0)
            return;
    }
}

/* ---- streams ----------------------------------------------------------------------------------
 */

static struct stream_key key_of(const struct xfa_event *event)
{
    uint64_t handle = event->flags & XFT_STREAM_KNOWN ? event->stream : 0;
    bool per_thread = handle == PER_THREAD_HANDLE || (!handle && event->flags & XFT_PER_THREAD);
    struct stream_key key = {.handle = handle > PER_THREAD_HANDLE ? handle : 0};
    if (key.handle == 0) {
        key.gpu = event->gpu < 0 ? xfa_process_gpu(event->process, 0) : event->gpu;
        key.tid = per_thread ? event->tid : -1;
    }
    return key;
}

static bool is_key(const struct stream_key *a, const struct stream_key *b)
{
    return a->handle == b->handle && a->gpu == b->gpu && a->tid == b->tid;
}

static struct stream *find_stream(struct overbroad *self, const struct stream_key *key)
{
    for (unsigned i = 0; i < self->stream_count; i++)
        if (is_key(&self->streams[i].key, key))
            return &self->streams[i];
    return NULL;
}

/* A place for one more: a new one, or that of a stream with nothing in flight. */
static struct stream *free_stream(struct overbroad *self)
{
    if (self->stream_count < MOST_STREAMS)
        return &self->streams[self->stream_count++];
    for (unsigned i = 0; i < self->stream_count; i++)
        if (!self->streams[i].waits && self->streams[i].work <= self->streams[i].settled)
            return &self->streams[i];
    return NULL;
}

/* NULL: there are too many. */
static struct stream *with_key(struct overbroad *self, const struct stream_key *key)
{
    struct stream *stream = find_stream(self, key);
    if (stream)
        return stream;
    stream = free_stream(self);
    if (!stream) {
        self->lost = true;
        needed(self, self->open);
        return NULL;
    }
    uint64_t at = stream->at;
    *stream = (struct stream){
        .key = *key, .gpu = key->handle ? -1 : key->gpu, .at = at, .work = at, .settled = at};
    return stream;
}

static struct stream *stream_of(struct overbroad *self, const struct xfa_event *event)
{
    const struct stream_key key = key_of(event);
    return with_key(self, &key);
}

/* Made: the handle may have been another's. Gone: nobody will wait for it. */
static void renew(struct overbroad *self, const struct xfa_event *event)
{
    const struct stream_key key = {.handle = event->stream};
    struct stream *stream = event->stream > PER_THREAD_HANDLE ? with_key(self, &key) : NULL;
    if (!stream)
        return;
    needed(self, stream->waits);
    if (event->kind == XFT_EVENT_STREAM)
        stream->gpu = event->gpu < 0 ? -1 : event->gpu;
}

/* ---- memory -----------------------------------------------------------------------------------
 */

static bool is_shared(const struct stream *stream, const struct span *spans, unsigned count)
{
    for (unsigned i = 0; i < stream->span_count; i++) {
        const struct span *has = &stream->spans[i];
        for (unsigned k = 0; k < count; k++)
            if (has->first < spans[k].end && spans[k].first < has->end &&
                !(has->given && spans[k].given))
                return true;
    }
    return false;
}

/* Is the stream made to wait for all that the other was given? */
static bool is_behind(const struct overbroad *self, const struct stream *stream,
                      const struct stream *other)
{
    for (unsigned i = 0; i < MOST_BEHIND && i < stream->behind_count; i++)
        if (&self->streams[stream->behind[i].source] == other &&
            stream->behind[i].source_at >= other->work)
            return true;
    return false;
}

static void keep_span(struct stream *stream, const struct span *span)
{
    for (unsigned i = 0; i < stream->span_count; i++) {
        struct span *before = &stream->spans[i];
        if (before->given != span->given)
            continue;
        if (before->first <= span->first && span->end <= before->end)
            return;
        if (before->end == span->first && !span->given) {
            before->end = span->end; /* a copy in parts */
            return;
        }
    }
    if (stream->span_count == MOST_SPANS) {
        for (unsigned i = 1; i < MOST_SPANS; i++)
            stream->spans[i - 1] = stream->spans[i];
        stream->span_count--;
    }
    stream->spans[stream->span_count++] = *span;
}

/* ---- what streams are given -------------------------------------------------------------------
 */

/* Work that uses this memory. */
static void work(struct overbroad *self, struct stream *stream, const struct span *spans,
                 unsigned count)
{
    needed(self, stream->waits);
    if (stream->settled >= stream->work)
        stream->span_count = 0;
    for (unsigned i = 0; i < self->stream_count && self->open; i++) {
        struct stream *other = &self->streams[i];
        if (other != stream && other->waits && is_shared(other, spans, count) &&
            !is_behind(self, stream, other))
            needed(self, other->waits);
    }
    for (unsigned i = 0; i < count; i++)
        keep_span(stream, &spans[i]);
    stream->work = ++stream->at;
}

static unsigned given(const struct xfa_event *event, struct span spans[MOST_POINTERS])
{
    const struct xfa_arguments *arguments =
        xfa_trace_arguments(event->process->trace, event->launch.arguments);
    unsigned count = 0;
    for (uint32_t i = 0; arguments && i < arguments->count && count < MOST_POINTERS; i++) {
        uint64_t pointer = xfa_arguments_pointer(arguments, i);
        if (pointer != 0 && pointer != UINT64_MAX)
            spans[count++] = (struct span){pointer, pointer + 1, true};
    }
    return count;
}

static void launched(struct overbroad *self, const struct xfa_event *event)
{
    struct stream *stream = event->flags & XFT_CAPTURED ? NULL : stream_of(self, event);
    struct span spans[MOST_POINTERS];
    unsigned count = 0;
    if (event->kind == XFT_EVENT_LAUNCH)
        count = given(event, spans);
    else if (event->kind == XFT_EVENT_SET)
        spans[count++] = (struct span){event->memory.address,
                                       xfa_add(event->memory.address, event->bytes), false};
    if (stream)
        work(self, stream, spans, count);
}

static void ordered(struct overbroad *self, const struct xfa_event *event)
{
    struct stream *stream = event->flags & XFT_CAPTURED ? NULL : stream_of(self, event);
    uint64_t handle = event->wait.event;
    if (!stream)
        return;
    if (event->kind == XFT_EVENT_RECORD) {
        bool full = self->events.count >= MOST_EVENTS;
        struct recorded *recorded =
            full ? xfa_table_get(&self->events, &handle) : xfa_table_put(&self->events, &handle);
        if (recorded) {
            recorded->stream = (unsigned)(stream - self->streams);
            recorded->at = stream->at;
        }
        return;
    }
    const struct recorded *recorded = xfa_table_get(&self->events, &handle);
    if (recorded && &self->streams[recorded->stream] != stream)
        stream->behind[stream->behind_count++ % MOST_BEHIND] =
            (struct behind){++stream->at, recorded->at, recorded->stream};
}

/* ---- waits for streams and events -------------------------------------------------------------
 */

/* What a stream waited for is reached with it. False: nothing more. */
static bool reach_behind(struct overbroad *self)
{
    bool more = false;
    for (unsigned i = 0; i < self->stream_count; i++) {
        const struct stream *stream = &self->streams[i];
        for (unsigned k = 0; k < MOST_BEHIND && k < stream->behind_count && stream->reached; k++) {
            const struct behind *behind = &stream->behind[k];
            uint64_t *reached = &self->streams[behind->source].reached;
            if (behind->at > stream->reached || behind->source_at <= *reached)
                continue;
            *reached = behind->source_at;
            more = true;
        }
    }
    return more;
}

/* The host has waited for the stream up to there. */
static void reach(struct overbroad *self, struct stream *stream, uint64_t at,
                  const struct xfa_event *event)
{
    bool waits = event->kind != XFT_EVENT_QUERY;
    stream->reached = at;
    for (unsigned chain = 0; chain < MOST_BEHIND && reach_behind(self); chain++)
        ;
    for (unsigned i = 0; i < self->stream_count; i++) {
        struct stream *other = &self->streams[i];
        bool all = other->reached >= other->work;
        settle(other, other->reached);
        other->reached = 0;
        for (unsigned k = 0; waits && all && k < MOST_WAITS && other->waits >> k != 0; k++) {
            uint64_t bit = (uint64_t)1 << k;
            if (!(other->waits & bit) || self->waits[k].tid != event->tid)
                continue;
            other->waits &= ~bit;
            spared(self, k);
        }
    }
}

static void waited(struct overbroad *self, const struct xfa_event *event)
{
    if (event->wait.what == XFT_SYNC_CONTEXT) {
        wait_for_device(self, event);
    } else if (event->wait.what == XFT_SYNC_STREAM) {
        struct stream_key key = key_of(event);
        struct stream *stream = find_stream(self, &key);
        if (stream)
            reach(self, stream, stream->at, event);
    } else if (event->wait.what == XFT_SYNC_EVENT) {
        const struct recorded *recorded = xfa_table_get(&self->events, &event->wait.event);
        if (recorded)
            reach(self, &self->streams[recorded->stream], recorded->at, event);
    }
}

/* ---- the walk ---------------------------------------------------------------------------------
 */

static void end(void *of, struct xfa_process *process)
{
    struct overbroad *self = of;
    (void)process;
    needed(self, self->open);
    xfa_table_free(&self->events);
    xfa_table_init(&self->events, sizeof(uint64_t), sizeof(struct recorded));
    self->stream_count = 0;
    self->lost = false;
}

static void event(void *of, const struct xfa_event *event)
{
    struct overbroad *self = of;
    called(self, event);
    switch (event->kind) {
    case XFT_EVENT_LAUNCH:
    case XFT_EVENT_GRAPH_LAUNCH:
    case XFT_EVENT_HOST_FUNCTION:
    case XFT_EVENT_SET:
    case XFT_EVENT_PREFETCH:
        launched(self, event);
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
    case XFT_EVENT_STREAM_END:
        renew(self, event);
        break;
    default:
        break;
    }
}

static void transfer(void *of, const struct xfa_event *event)
{
    struct overbroad *self = of;
    const struct xfa_transfer *transfer = &event->transfer;
    bool to_host = transfer->class->key.row.direction == XFT_DIR_D2H;
    if (event->flags & XFT_GRAPH) /* a part of its launch, which is work of the stream */
        return;
    called(self, event);
    struct stream *stream = stream_of(self, event);
    if (!stream)
        return;
    if (transfer->blocks && to_host) /* until the stream is done with all */
        reach(self, stream, stream->at, event);
    const struct span spans[] = {
        {transfer->src, xfa_add(transfer->src, event->bytes), false},
        {transfer->dst, xfa_add(transfer->dst, event->bytes), false},
    };
    work(self, stream, spans, 2);
    stream->bytes = xfa_add(stream->bytes, event->bytes);
    if (transfer->blocks && to_host)
        settle(stream, stream->at);
    else if (to_host)
        stream->fetched = xfa_add(stream->fetched, event->bytes);
}

static struct xfa_observer observe(void *of)
{
    struct overbroad *self = of;
    xfa_table_init(&self->sites, sizeof(uint32_t), sizeof(struct site_waits));
    xfa_table_init(&self->events, sizeof(uint64_t), sizeof(struct recorded));
    return (struct xfa_observer){
        .name = "waits for a device",
        .kinds = XFA_KINDS_OF_CALLS,
        .self = self,
        .event = event,
        .transfer = transfer,
        .end = end,
    };
}

static void release(void *of)
{
    struct overbroad *self = of;
    xfa_table_free(&self->sites);
    xfa_table_free(&self->events);
}

/* ---- the finding ------------------------------------------------------------------------------
 */

static void find(const struct xfa_analysis *analysis, const void *sums,
                 struct xfa_findings *findings)
{
    const struct xfa_finding like = {
        .id = XFA_FINDING_OVERBROAD_WAIT,
        .remedy = {.kind = XFA_REMEDY_WAIT_NARROWLY, .to_host = true, .node = -1},
        .lost_ns = NAN,
        .assumed = "the host uses nothing that the device works on before it waits for that stream "
                   "or event",
    };
    const struct overbroad *self = sums;
    for (size_t i = 0; i < self->sites.count; i++) {
        const struct site_waits *waits = xfa_table_at(&self->sites, i);
        const struct xfa_finding_site site = {
            .site = xfa_run_site(analysis->run, waits->site),
            .function = xfa_run_function(analysis->run, waits->function),
            .transfers = waits->times,
            .bytes = waits->bytes,
            .lost_ns = NAN,
            .reckoning = XFA_RECKONED_WAITED_ANYWAY,
        };
        double all = (double)waits->times + (double)waits->needed;
        if (waits->times >= LEAST_TIMES && (double)waits->times >= LEAST_SHARE * all &&
            waits->ns > xfa_findings_least_ns(analysis))
            xfa_findings_add_site(findings, &like, &site);
    }
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    struct xfw_set sites = xfa_finding_sites(finding);
    (void)sums;
    return xfw_change_no_device_wait(analysis, &sites);
}

const struct xfa_finding_kind xfa_kind_overbroad_wait = {
    .find = find,
    .change = change,
    .self_bytes = sizeof(struct overbroad),
    .observe = observe,
    .free = release,
};
