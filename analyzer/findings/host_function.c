/*
 * host-function-in-stream: a stream calls functions of the host (cudaLaunchHostFunc(),
 * cudaStreamAddCallback()) that work for long: it goes on when they are done, and so do all others
 * that have functions to be called, since the driver calls them in one thread. Lost: not known, no
 * record says how long they take; the replay finds it from what waited for them.
 *
 * Left out are call sites where one is behind a copy to the host, and a copy of the same memory to
 * the device is behind it in its stream: the stream needs what it does.
 */
#include "analyzer/findings/finding.h"

#include <math.h>

#include "analyzer/base/alloc.h"
#include "analyzer/findings/wait_sites.h"
#include "analyzer/whatif/changes/changes.h"

#define LEAST_TIMES 2
#define MOST_STREAMS 1024 /* of a process; of further ones nothing is known */
#define FETCHED 16        /* copies to the host that are remembered, of a stream */

struct stream {
    uint64_t handle; /* key */
    struct {
        uint64_t first, end;
    } fetched[FETCHED];
    unsigned next;
    uint32_t site; /* of the last function, + 1; 0: none yet */
};

struct functions {
    struct xfa_table sites;   /* struct xfa_wait_site */
    struct xfa_table streams; /* of the process */
};

static struct stream *stream_of(struct functions *self, const struct xfa_event *event)
{
    struct stream *stream = xfa_table_get(&self->streams, &event->stream);
    if (!stream && self->streams.count < MOST_STREAMS)
        stream = xfa_table_put(&self->streams, &event->stream);
    return stream;
}

static uint64_t process(void *of, struct xfa_process *process)
{
    struct functions *self = of;
    (void)process;
    xfa_table_free(&self->streams);
    xfa_table_init(&self->streams, sizeof(uint64_t), sizeof(struct stream));
    return XFA_KIND(XFT_EVENT_HOST_FUNCTION) | XFA_KIND(XFT_EVENT_TRANSFER);
}

static void event(void *of, const struct xfa_event *event)
{
    struct functions *self = of;
    if (event->kind != XFT_EVENT_HOST_FUNCTION || event->flags & XFT_CAPTURED || !event->stack)
        return;
    struct xfa_wait_site *site = xfa_wait_site_of(&self->sites, event);
    struct stream *stream = stream_of(self, event);
    xfa_wait_site_add(site, 0, 0);
    if (stream)
        stream->site = site->site + 1;
}

static void transfer(void *of, const struct xfa_event *event)
{
    struct functions *self = of;
    const struct xfa_transfer *transfer = &event->transfer;
    enum xft_direction direction = (enum xft_direction)transfer->class->key.row.direction;
    struct stream *stream = event->flags & XFT_GRAPH ? NULL : stream_of(self, event);
    if (stream && direction == XFT_DIR_D2H) {
        unsigned place = stream->next++ % FETCHED;
        stream->fetched[place].first = transfer->dst;
        stream->fetched[place].end = xfa_add(transfer->dst, event->bytes);
    }
    if (!stream || direction != XFT_DIR_H2D || !stream->site)
        return;
    for (unsigned i = 0; i < FETCHED; i++)
        if (transfer->src < stream->fetched[i].end &&
            stream->fetched[i].first < xfa_add(transfer->src, event->bytes))
            xfa_wait_site_at(&self->sites, stream->site - 1)->needed++;
}

static struct xfa_observer observe(void *of)
{
    struct functions *self = of;
    xfa_wait_sites_init(&self->sites);
    xfa_table_init(&self->streams, sizeof(uint64_t), sizeof(struct stream));
    return (struct xfa_observer){
        .name = "host functions",
        .divided = true,
        .kinds = XFA_KINDS_OF_CALLS,
        .self = self,
        .process = process,
        .event = event,
        .transfer = transfer,
    };
}

static void release(void *of)
{
    struct functions *self = of;
    xfa_table_free(&self->sites);
    xfa_table_free(&self->streams);
}

/* On trial, since without a replay it says nothing. */
static void try(const struct xfa_analysis *analysis, const void *sums,
                struct xfa_findings *findings)
{
    const struct functions *self = sums;
    const struct xfa_finding like = {
        .id = XFA_FINDING_HOST_FUNCTION,
        .remedy = {.kind = XFA_REMEDY_OWN_THREAD, .to_host = true, .node = -1},
        .lost_ns = NAN,
        .assumed = "a processor is idle, and the stream needs nothing that the function does",
    };
    for (size_t i = 0; i < self->sites.count; i++) {
        const struct xfa_wait_site *calls = xfa_table_at(&self->sites, i);
        const struct xfa_finding_site site =
            xfa_wait_site_found(analysis, calls, XFA_RECKONED_CALLED);
        if (calls->times >= LEAST_TIMES && calls->needed == 0)
            xfa_findings_add_site(findings, &like, &site);
    }
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    struct xfw_set sites = xfa_finding_sites(finding);
    (void)sums;
    return xfw_change_own_thread(analysis, &sites);
}

const struct xfa_finding_kind xfa_kind_host_function = {
    .try = try,
    .change = change,
    .self_bytes = sizeof(struct functions),
    .observe = observe,
    .free = release,
    .met_of = &xfa_wait_sites,
    .met_table = offsetof(struct functions, sites),
};
