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
 * together. What falls out of a table counts as needed, but for memory, of which stream_work.h
 * knows the last stretches.
 */
#include <math.h>

#include "analyzer/base/alloc.h"
#include "analyzer/findings/finding.h"
#include "analyzer/findings/stream_work.h"
#include "analyzer/findings/wait_sites.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"

#define MOST_WAITS 64 /* that are not decided: bits of a word */

struct device_wait { /* not decided */
    uint32_t site;   /* number */
    int32_t tid;
    uint64_t end_ns, bytes, fetched;
    unsigned streams; /* that are still to be waited for */
    double ns;
};

struct overbroad {
    struct xfa_table sites;
    struct xfa_streams streams; /* of the process, as all that follows; their marks are waits */
    struct device_wait waits[MOST_WAITS];
    uint64_t open, fresh; /* of waits: not decided; their thread has made no call since */
    unsigned next;
    bool lost; /* a stream has fallen out: every wait may be for its work */
};

/* ---- waits for the device -------------------------------------------------------------------- */

static void forget(struct overbroad *self, unsigned wait)
{
    uint64_t bit = (uint64_t)1 << wait;
    for (unsigned i = 0; i < self->streams.count; i++)
        self->streams.at[i].marks &= ~bit;
    self->open &= ~bit;
    self->fresh &= ~bit;
}

static void needed(struct overbroad *self, uint64_t waits)
{
    for (unsigned i = 0; waits != 0; i++, waits >>= 1) {
        if (!(waits & 1))
            continue;
        xfa_wait_site_at(&self->sites, self->waits[i].site)->needed++;
        forget(self, i);
    }
}

/* One more stream that the wait was for has been waited for by itself. */
static void spared(struct overbroad *self, unsigned number)
{
    const struct device_wait *wait = &self->waits[number];
    if (--self->waits[number].streams > 0)
        return;
    xfa_wait_site_add(xfa_wait_site_at(&self->sites, wait->site), wait->bytes, wait->ns);
    forget(self, number);
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
    struct xfa_wait_site *site = xfa_wait_site_of(&self->sites, event);
    if (self->lost) {
        site->needed++;
        return;
    }
    unsigned number = free_wait(self);
    uint64_t bit = (uint64_t)1 << number;
    self->waits[number] = *wait;
    self->open |= bit;
    self->fresh |= bit;
    for (unsigned i = 0; i < self->streams.count; i++)
        self->streams.at[i].marks |= in_flight[i] ? bit : 0;
}

static void wait_for_device(struct overbroad *self, const struct xfa_event *event)
{
    struct device_wait wait = {
        .tid = event->tid, .end_ns = event->end_ns, .ns = xfa_event_ns(event)};
    bool in_flight[XFA_MOST_STREAMS] = {false};
    for (unsigned i = 0; i < self->streams.count; i++) {
        struct xfa_stream *stream = &self->streams.at[i];
        if (event->gpu >= 0 && stream->gpu >= 0 && stream->gpu != event->gpu)
            continue;
        if (stream->work > stream->waited) {
            in_flight[i] = true;
            wait.streams++;
            wait.bytes = xfa_add(wait.bytes, stream->bytes);
            wait.fetched = xfa_add(wait.fetched, stream->fetched);
        }
        xfa_stream_waited(stream, stream->at);
    }
    if (wait.streams == 0 || !event->stack)
        return;
    wait.site = xfa_site_of(event)->number;
    open_wait(self, event, &wait, in_flight);
}

/* A thread's call: before it, the thread may have read what its wait for the device was for. */
static void called(struct overbroad *self, const struct xfa_event *event)
{
    for (unsigned i = 0; i < MOST_WAITS && self->fresh >> i != 0; i++) {
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

/* ---- what streams are given ------------------------------------------------------------------ */

/* NULL: there are too many. */
static struct xfa_stream *with_key(struct overbroad *self, const struct xfa_stream_key *key)
{
    struct xfa_stream *stream = xfa_streams_put(&self->streams, key);
    if (!stream) {
        self->lost = true;
        needed(self, self->open);
    }
    return stream;
}

static struct xfa_stream *stream_of(struct overbroad *self, const struct xfa_event *event)
{
    const struct xfa_stream_key key = xfa_stream_key_of(event);
    return with_key(self, &key);
}

/* Made: the handle may have been another stream's. Gone: no wait for it will come. */
static void renew(struct overbroad *self, const struct xfa_event *event)
{
    const struct xfa_stream_key key = {.handle = event->stream};
    struct xfa_stream *stream = event->stream > XFA_PER_THREAD_HANDLE ? with_key(self, &key) : NULL;
    if (!stream)
        return;
    needed(self, stream->marks);
    if (event->kind == XFT_EVENT_STREAM)
        stream->gpu = event->gpu < 0 ? -1 : event->gpu;
}

/* Work that uses this memory. */
static void work(struct overbroad *self, struct xfa_stream *stream, const struct xfa_span *spans,
                 unsigned count)
{
    needed(self, stream->marks);
    for (unsigned i = 0; i < self->streams.count && self->open; i++) {
        struct xfa_stream *other = &self->streams.at[i];
        if (other != stream && other->marks && xfa_stream_uses(other, spans, count) &&
            !xfa_stream_is_behind(&self->streams, stream, other))
            needed(self, other->marks);
    }
    xfa_stream_given(stream, spans, count);
}

static void launched(struct overbroad *self, const struct xfa_event *event)
{
    struct xfa_stream *stream = event->flags & XFT_CAPTURED ? NULL : stream_of(self, event);
    struct xfa_span spans[XFA_MOST_POINTERS];
    unsigned count = 0;
    if (event->kind == XFT_EVENT_LAUNCH)
        count = xfa_launch_spans(event, spans);
    else if (event->kind == XFT_EVENT_SET)
        spans[count++] = (struct xfa_span){.first = event->memory.address,
                                           .end = xfa_add(event->memory.address, event->bytes)};
    if (stream)
        work(self, stream, spans, count);
}

static void ordered(struct overbroad *self, const struct xfa_event *event)
{
    struct xfa_stream *stream = event->flags & XFT_CAPTURED ? NULL : stream_of(self, event);
    if (stream)
        xfa_stream_ordered(&self->streams, stream, event);
}

/* ---- waits for streams and events ------------------------------------------------------------ */

/* The host has waited for the stream up to there. */
static void reach(struct overbroad *self, struct xfa_stream *stream, uint64_t at,
                  const struct xfa_event *event)
{
    bool waits = event->kind != XFT_EVENT_QUERY;
    xfa_streams_reach(&self->streams, stream, at);
    for (unsigned i = 0; i < self->streams.count; i++) {
        struct xfa_stream *other = &self->streams.at[i];
        bool all = other->reached >= other->work;
        xfa_stream_waited(other, other->reached);
        other->reached = 0;
        for (unsigned k = 0; waits && all && k < MOST_WAITS && other->marks >> k != 0; k++) {
            uint64_t bit = (uint64_t)1 << k;
            if (!(other->marks & bit) || self->waits[k].tid != event->tid)
                continue;
            other->marks &= ~bit;
            spared(self, k);
        }
    }
}

static void waited(struct overbroad *self, const struct xfa_event *event)
{
    if (event->wait.what == XFT_SYNC_CONTEXT) {
        wait_for_device(self, event);
    } else if (event->wait.what == XFT_SYNC_STREAM) {
        struct xfa_stream_key key = xfa_stream_key_of(event);
        struct xfa_stream *stream = xfa_streams_find(&self->streams, &key);
        if (stream)
            reach(self, stream, stream->at, event);
    } else if (event->wait.what == XFT_SYNC_EVENT) {
        uint64_t at = 0;
        struct xfa_stream *stream = xfa_streams_recorded(&self->streams, event->wait.event, &at);
        if (stream)
            reach(self, stream, at, event);
    }
}

/* ---- the walk -------------------------------------------------------------------------------- */

static void end(void *of, struct xfa_process *process)
{
    struct overbroad *self = of;
    needed(self, self->open);
    xfa_streams_free(&self->streams);
    xfa_streams_init(&self->streams);
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
    struct xfa_stream *stream = stream_of(self, event);
    if (!stream)
        return;
    if (transfer->blocks && to_host) /* until the stream is done with all */
        reach(self, stream, stream->at, event);
    const struct xfa_span spans[] = {
        {.first = transfer->src, .end = xfa_add(transfer->src, event->bytes)},
        {.first = transfer->dst, .end = xfa_add(transfer->dst, event->bytes)},
    };
    work(self, stream, spans, 2);
    stream->bytes = xfa_add(stream->bytes, event->bytes);
    if (transfer->blocks && to_host)
        xfa_stream_waited(stream, stream->at);
    else if (to_host)
        stream->fetched = xfa_add(stream->fetched, event->bytes);
}

static struct xfa_observer observe(void *of)
{
    struct overbroad *self = of;
    xfa_wait_sites_init(&self->sites);
    xfa_streams_init(&self->streams);
    return (struct xfa_observer){
        .name = "waits for a device",
        .shared = true,
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
    xfa_streams_free(&self->streams);
}

/* ---- the finding ----------------------------------------------------------------------------- */

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
    xfa_wait_sites_find(analysis, &self->sites, &like, XFA_RECKONED_WAITED_ANYWAY, findings);
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    struct xfw_set sites = xfa_finding_sites(finding);
    return xfw_change_no_device_wait(analysis, &sites);
}

const struct xfa_finding_kind xfa_kind_overbroad_wait = {
    .find = find,
    .change = change,
    .self_bytes = sizeof(struct overbroad),
    .observe = observe,
    .free = release,
    .met_of = &xfa_wait_sites,
    .met_table = offsetof(struct overbroad, sites),
};
