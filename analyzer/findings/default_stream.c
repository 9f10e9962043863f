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
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/signature.h"
#include "analyzer/findings/divided.h"
#include "analyzer/whatif/changes/changes.h"

#define MOST_SITES 16384
#define MOST_STREAMS 65536 /* non-blocking ones of a process; others count as blocking */
#define MOST_MEMORY 65536  /* addresses that work of the default stream uses, of a process */
#define MOST_KERNELS 4096
#define LEAST_TURNS 8 /* between default stream and others, of a process */

#define LEGACY_HANDLE 1u /* cudaStreamLegacy, cudaStreamPerThread */
#define PER_THREAD_HANDLE 2u

struct site_work {
    uint32_t site; /* key: number */
    struct xfa_met met;
    uint32_t last, function; /* the last process, and what it called last */
    uint64_t times, bytes;
};

struct memory {
    uint64_t address; /* key */
    int32_t tid;      /* whose work wrote it last; before that, used it first */
    bool written;     /* by that, since another thread's work read it */
    uint32_t turns;   /* that another thread's work used it next */
};

/* What a kernel does with the k-th pointer that it is given. */
struct kernel {
    uint64_t name; /* key: id */
    struct xfa_signature signature;
};

struct default_stream {
    struct xfa_table sites;
    struct xfa_table memory;  /* of the process, that its default stream's work uses */
    struct xfa_table kernels; /* of the process, by name */
    struct xfa_stream_reader *readers;
    size_t reader_count;
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
    struct site_work *site = xfa_table_put(&self->sites, &number);
    if (site->times++ == 0)
        site->met.process = event->process->number;
    site->last = event->process->number;
    site->function = xfa_function_of(event)->number;
    site->bytes = xfa_add(site->bytes, bytes);
}

/* ---- whose memory ---------------------------------------------------------------------------- */

/* Does work of a thread use what another one's wrote, or write what that uses? */
static bool is_turn(const struct memory *known, int32_t tid, bool writes)
{
    return known->tid != tid && (writes || known->written);
}

static void use(struct default_stream *self, const struct xfa_event *event, uint64_t address,
                bool writes)
{
    struct memory *known = xfa_table_get(&self->memory, &address);
    bool first = !known, full = first && self->memory.count >= MOST_MEMORY;
    self->unknown = self->unknown || full;
    if (first && !full)
        known = xfa_table_put(&self->memory, &address);
    if (!known)
        return;
    bool turn = !first && is_turn(known, event->tid, writes);
    known->turns += turn;
    known->tid = first || writes ? event->tid : known->tid;
    known->written = writes || (known->written && !turn);
    self->shared = self->shared || known->turns >= LEAST_TURNS / 2;
}

static void add_reader(struct default_stream *self, const char *name, uint64_t arguments)
{
    if (arguments == 0 || strlen(name) >= XFA_STREAM_READER_CHARS)
        return;
    for (size_t i = 0; i < self->reader_count; i++)
        if (strcmp(self->readers[i].kernel, name) == 0)
            return;
    if (self->reader_count == XFA_STREAM_READERS)
        return;
    if (!self->readers)
        self->readers = xfa_alloc(XFA_STREAM_READERS * sizeof *self->readers);
    struct xfa_stream_reader *reader = &self->readers[self->reader_count++];
    memcpy(reader->kernel, name, strlen(name) + 1);
    reader->arguments = arguments;
}

/* Where there are pointers to pointers, or classes that may hold some, nothing is said of any. */
static struct xfa_signature signature_of(struct default_stream *self, const struct xfa_event *event)
{
    uint64_t name = event->launch.name;
    const struct kernel *known = xfa_table_get(&self->kernels, &name);
    const struct xfa_text *text = xfa_trace_text(event->process->trace, name);
    struct xfa_signature signature = {0};
    if (known || !text)
        return known ? known->signature : signature;
    char *kept = xfa_kept(text->text, text->bytes);
    signature = xfa_signature_of(kept);
    if (signature.deep || signature.others)
        signature = (struct xfa_signature){0};
    add_reader(self, kept, signature.known ? signature.reads : 0);
    free(kept);
    if (self->kernels.count < MOST_KERNELS)
        ((struct kernel *)xfa_table_put(&self->kernels, &name))->signature = signature;
    return signature;
}

static void use_given(struct default_stream *self, const struct xfa_event *event)
{
    const struct xfa_arguments *given =
        xfa_trace_arguments(event->process->trace, event->launch.arguments);
    struct xfa_signature signature = signature_of(self, event);
    self->unknown = self->unknown || !given || given->count >= XFT_ARGUMENTS_MOST;
    for (uint32_t i = 0; given && i < given->count; i++)
        use(self, event, xfa_arguments_pointer(given, i),
            !signature.known || signature.pointers != given->count || signature.writes >> i & 1);
}

/* Of memory of the device alone: that of the host is used when no call is under way. */
static void note_memory(struct default_stream *self, const struct xfa_event *event)
{
    if (event->kind == XFT_EVENT_LAUNCH)
        use_given(self, event);
    else if (event->kind == XFT_EVENT_SET)
        use(self, event, event->memory.address, true);
    else if (event->kind != XFT_EVENT_TRANSFER)
        self->unknown = true;
    else if (event->direction != XFT_DIR_D2H)
        use(self, event, event->transfer.dst, true);
    if (event->kind == XFT_EVENT_TRANSFER && event->direction != XFT_DIR_H2D)
        use(self, event, event->transfer.src, false);
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
    xfa_table_free(&self->kernels);
    xfa_table_init(&self->memory, sizeof(uint64_t), sizeof(struct memory));
    xfa_table_init(&self->kernels, sizeof(uint64_t), sizeof(struct kernel));
}

static struct xfa_observer observe(void *of)
{
    struct default_stream *self = of;
    xfa_table_init(&self->sites, sizeof(uint32_t), sizeof(struct site_work));
    xfa_table_init(&self->nonblocking, sizeof(uint64_t), sizeof(struct handle));
    xfa_table_init(&self->memory, sizeof(uint64_t), sizeof(struct memory));
    xfa_table_init(&self->kernels, sizeof(uint64_t), sizeof(struct kernel));
    return (struct xfa_observer){
        .name = "default stream",
        .kinds = XFA_KIND(XFT_EVENT_LAUNCH) | XFA_KIND(XFT_EVENT_GRAPH_LAUNCH) |
                 XFA_KIND(XFT_EVENT_SET) | XFA_KIND(XFT_EVENT_STREAM),
        .divided = true,
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
    xfa_table_free(&self->kernels);
    free(self->readers);
}

bool xfa_default_stream_threads_apart(const void *of)
{
    const struct default_stream *self = of;
    return self->threads && !self->unknown && !self->shared;
}

const struct xfa_stream_reader *xfa_default_stream_readers(const void *of, size_t *count)
{
    const struct default_stream *self = of;
    *count = self->reader_count;
    return self->readers;
}

/* ---- members of a team ----------------------------------------------------------------------- */

static bool is_good(const void *analysis, const void *item)
{
    const struct site_work *site = item;
    return xfa_divided_site(analysis, site->site) && xfa_divided_function(analysis, site->function);
}

static void add(void *item, const void *more)
{
    struct site_work *into = item;
    const struct site_work *from = more;
    if (into->times == 0 || from->last > into->last) {
        into->last = from->last;
        into->function = from->function;
    }
    into->times += from->times;
    into->bytes = xfa_add(into->bytes, from->bytes);
}

static const struct xfa_met_table of_sites = {offsetof(struct site_work, met), is_good, add};

static void give(const void *of, struct xfa_parcel *parcel)
{
    const struct default_stream *self = of;
    xfa_parcel_number(parcel, self->most_turns);
    xfa_parcel_number(parcel, self->threads);
    xfa_parcel_number(parcel, self->unknown);
    xfa_parcel_number(parcel, self->shared);
    xfa_parcel_number(parcel, self->reader_count);
    xfa_parcel_put(parcel, self->readers, self->reader_count * sizeof *self->readers);
}

static void take(void *of, const struct xfa_analysis *analysis, struct xfa_unpacking *from)
{
    struct default_stream *self = of;
    uint64_t turns = xfa_unpack_number(from);
    (void)analysis;
    self->most_turns = turns > self->most_turns ? turns : self->most_turns;
    self->threads = xfa_unpack_number(from) || self->threads;
    self->unknown = xfa_unpack_number(from) || self->unknown;
    self->shared = xfa_unpack_number(from) || self->shared;
    size_t count = xfa_unpack_count(from, sizeof(struct xfa_stream_reader));
    for (size_t i = 0; i < count && !from->bad; i++) {
        struct xfa_stream_reader more;
        xfa_unpack_bytes(from, &more, sizeof more);
        from->bad = from->bad || !memchr(more.kernel, 0, sizeof more.kernel);
        if (!from->bad)
            add_reader(self, more.kernel, more.arguments);
    }
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
    for (size_t i = 0; i < self->sites.count && i < MOST_SITES; i++) {
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

static struct xfw_change *by_apply(const struct xfa_analysis *analysis, const void *sums,
                                   const struct xfa_finding *finding)
{
    return finding->remedy.kind == XFA_REMEDY_STREAM_PER_THREAD
               ? xfw_change_streams_by_apply(analysis, xfa_default_stream_threads_apart(sums))
               : NULL;
}

const struct xfa_finding_kind xfa_kind_default_stream = {
    .try = try,
    .change = change,
    .by_apply = by_apply,
    .self_bytes = sizeof(struct default_stream),
    .observe = observe,
    .free = release,
    .met_of = &of_sites,
    .met_table = offsetof(struct default_stream, sites),
    .give = give,
    .take = take,
};
