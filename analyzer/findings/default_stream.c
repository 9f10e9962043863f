/*
 * default-stream-serialization: work of the legacy default stream between work of blocking streams.
 * It waits for all that these were given before, and what they are given after waits for it (CUDA
 * programming guide, default streams), whether or not they use the same memory: the streams wait
 * for each other. So do several threads that use it by turns. Lost: not known, only replaying the
 * run without that rule tells; so it is tried where such work comes between theirs, or between that
 * of other threads, LEAST_TURNS times.
 *
 * Named are the call sites of copies and memsets in the default stream; launches are recorded
 * without theirs.
 */
#include "analyzer/findings/default_stream.h"

#include <math.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/changes.h"

#define MOST_SITES 16384
#define MOST_STREAMS 65536 /* non-blocking ones of a process; others count as blocking */
#define MOST_MEMORY 65536  /* addresses that work of the default stream uses, of a process */
#define LEAST_TURNS 8      /* between default stream and others, of a process */

#define LEGACY_HANDLE 1u /* cudaStreamLegacy, cudaStreamPerThread */
#define PER_THREAD_HANDLE 2u

struct site_work {
    uint32_t site; /* key: number */
    uint32_t function;
    uint64_t times, bytes;
};

struct memory {
    uint64_t address; /* key */
    int32_t tid;      /* whose work used it last */
    uint32_t turns;   /* that another thread's did */
};

struct default_stream {
    struct xfa_table sites;
    struct xfa_table memory;      /* of the process, that its default stream's work uses */
    bool unknown, shared;         /* work uses what is not known, or what another thread's does */
    struct xfa_table nonblocking; /* handles of the process's streams */
    bool legacy;                  /* the last work was the default stream's */
    uint64_t turns, most_turns;   /* between streams and threads, of the process; of any */
    bool begun, threads;          /* several threads use it: in any process */
    int32_t tid;
};

struct handle {
    uint64_t handle; /* key */
    bool is;
};

/* ---- the walk -------------------------------------------------------------------------------- */

enum order { ALONE, BLOCKING, LEGACY }; /* which of the rules holds for the stream */

static enum order order_of(const struct default_stream *self, const struct xfa_event *event)
{
    uint64_t handle = event->flags & XFT_STREAM_KNOWN ? event->stream : 0;
    if (handle == PER_THREAD_HANDLE || (handle == 0 && event->flags & XFT_PER_THREAD))
        return BLOCKING;
    if (handle <= LEGACY_HANDLE)
        return LEGACY;
    const struct handle *made = xfa_table_get(&self->nonblocking, &handle);
    return made && made->is ? ALONE : BLOCKING;
}

static void stream_made(struct default_stream *self, const struct xfa_event *event)
{
    bool nonblocking = event->made & XFT_STREAM_NONBLOCKING;
    struct handle *known = xfa_table_get(&self->nonblocking, &event->stream);
    if (!known && nonblocking && self->nonblocking.count < MOST_STREAMS)
        known = xfa_table_put(&self->nonblocking, &event->stream);
    if (known)
        known->is = nonblocking;
}

static void add_site(struct default_stream *self, const struct xfa_event *event, uint64_t bytes)
{
    uint32_t number = xfa_site_of(event)->number;
    bool full = self->sites.count >= MOST_SITES;
    struct site_work *site =
        full ? xfa_table_get(&self->sites, &number) : xfa_table_put(&self->sites, &number);
    if (!site)
        return;
    site->function = xfa_function_of(event)->number;
    site->times++;
    site->bytes = xfa_add(site->bytes, bytes);
}

/* ---- whose memory ---------------------------------------------------------------------------- */

static void use(struct default_stream *self, const struct xfa_event *event, uint64_t address)
{
    struct memory *known = xfa_table_get(&self->memory, &address);
    bool first = !known, full = first && self->memory.count >= MOST_MEMORY;
    self->unknown = self->unknown || full;
    if (first && !full)
        known = xfa_table_put(&self->memory, &address);
    if (!known)
        return;
    known->turns += !first && known->tid != event->tid;
    known->tid = event->tid;
    self->shared = self->shared || known->turns >= LEAST_TURNS / 2;
}

static void use_given(struct default_stream *self, const struct xfa_event *event)
{
    const struct xfa_arguments *given =
        xfa_trace_arguments(event->process->trace, event->launch.arguments);
    self->unknown = self->unknown || !given || given->count >= XFT_ARGUMENTS_MOST;
    for (uint32_t i = 0; given && i < given->count; i++)
        use(self, event, xfa_arguments_pointer(given, i));
}

/* Of memory of the device alone: that of the host is used when no call is under way. */
static void note_memory(struct default_stream *self, const struct xfa_event *event)
{
    if (event->kind == XFT_EVENT_LAUNCH)
        use_given(self, event);
    else if (event->kind == XFT_EVENT_SET)
        use(self, event, event->memory.address);
    else if (event->kind != XFT_EVENT_TRANSFER)
        self->unknown = true;
    else if (event->direction != XFT_DIR_D2H)
        use(self, event, event->transfer.dst);
    if (event->kind == XFT_EVENT_TRANSFER && event->direction != XFT_DIR_H2D)
        use(self, event, event->transfer.src);
}

static void work(struct default_stream *self, const struct xfa_event *event)
{
    enum order order = event->flags & XFT_CAPTURED ? ALONE : order_of(self, event);
    if (order == ALONE)
        return;
    bool legacy = order == LEGACY, another = legacy && self->begun && self->tid != event->tid;
    self->turns += legacy != self->legacy || another;
    self->legacy = legacy;
    if (!legacy)
        return;
    self->threads = self->threads || another;
    self->begun = true;
    note_memory(self, event);
    self->tid = event->tid;
    if (event->stack)
        add_site(self, event, event->bytes);
}

static void event(void *of, const struct xfa_event *event)
{
    struct default_stream *self = of;
    if (event->kind == XFT_EVENT_STREAM)
        stream_made(self, event);
    else
        work(self, event);
}

static void transfer(void *of, const struct xfa_event *event)
{
    work(of, event);
}

static void end(void *of, struct xfa_process *process)
{
    struct default_stream *self = of;
    self->most_turns = self->turns > self->most_turns ? self->turns : self->most_turns;
    self->turns = 0;
    self->legacy = self->begun = false;
    xfa_table_free(&self->nonblocking);
    xfa_table_init(&self->nonblocking, sizeof(uint64_t), sizeof(struct handle));
    xfa_table_free(&self->memory);
    xfa_table_init(&self->memory, sizeof(uint64_t), sizeof(struct memory));
}

static struct xfa_observer observe(void *of)
{
    struct default_stream *self = of;
    xfa_table_init(&self->sites, sizeof(uint32_t), sizeof(struct site_work));
    xfa_table_init(&self->nonblocking, sizeof(uint64_t), sizeof(struct handle));
    xfa_table_init(&self->memory, sizeof(uint64_t), sizeof(struct memory));
    return (struct xfa_observer){
        .name = "default stream",
        .kinds = XFA_KIND(XFT_EVENT_LAUNCH) | XFA_KIND(XFT_EVENT_GRAPH_LAUNCH) |
                 XFA_KIND(XFT_EVENT_SET) | XFA_KIND(XFT_EVENT_STREAM),
        .self = self,
        .event = event,
        .transfer = transfer,
        .end = end,
    };
}

static void release(void *of)
{
    struct default_stream *self = of;
    xfa_table_free(&self->sites);
    xfa_table_free(&self->nonblocking);
    xfa_table_free(&self->memory);
}

bool xfa_default_stream_threads_apart(const void *of)
{
    const struct default_stream *self = of;
    return self->threads && !self->unknown && !self->shared;
}

/* ---- the finding ----------------------------------------------------------------------------- */

static void try(const struct xfa_analysis *analysis, const void *sums,
                struct xfa_findings *findings)
{
    const struct default_stream *self = sums;
    const struct xfa_finding like = {
        .id = XFA_FINDING_DEFAULT_STREAM,
        .remedy = {.kind = self->threads ? XFA_REMEDY_STREAM_PER_THREAD : XFA_REMEDY_OWN_STREAM,
                   .node = -1},
        .lost_ns = NAN,
        .assumed =
            "work of other streams that needs what the default stream does, or the other way "
            "round, uses the same memory by its address",
    };
    if (self->most_turns < LEAST_TURNS)
        return;
    for (size_t i = 0; i < self->sites.count; i++) {
        const struct site_work *work = xfa_table_at(&self->sites, i);
        const struct xfa_finding_site site = {
            .site = xfa_run_site(analysis->run, work->site),
            .function = xfa_run_function(analysis->run, work->function),
            .transfers = work->times,
            .bytes = work->bytes,
            .lost_ns = NAN,
            .reckoning = XFA_RECKONED_ORDERED,
        };
        if (work->times >= LEAST_TURNS / 2)
            xfa_findings_add_site(findings, &like, &site);
    }
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    return xfw_change_own_streams(analysis, finding->remedy.kind == XFA_REMEDY_STREAM_PER_THREAD);
}

const struct xfa_finding_kind xfa_kind_default_stream = {
    .try = try,
    .change = change,
    .self_bytes = sizeof(struct default_stream),
    .observe = observe,
    .free = release,
};
