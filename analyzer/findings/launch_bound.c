/*
 * launch-bound: a thread launches short work one by one, in an order that comes again
 * (sequences.h), and the GPU waits for the calls. One CUDA graph, captured once, launches all of a
 * sequence with one call; so does one larger kernel. Lost: the host's time in these calls, and
 * between them, but for the first one of each graph. Whether the GPU waits for that only the replay
 * shows: where kernels are long enough launching is hidden, and nothing is saved.
 *
 * Where launches are for one piece of the data after the other (pieces.h), one launch does for all
 * of them: a remedy of its own, of which the calls for further pieces are lost.
 *
 * That the host decides nothing between two calls is taken for granted where it has little time
 * for that, and so are parameters that are no pointers.
 */
#include "analyzer/findings/finding.h"
#include "analyzer/findings/launch_sites.h"
#include "analyzer/whatif/changes/batch_launches.h"
#include "analyzer/whatif/changes/launch_graphs.h"
#include "analyzer/whatif/changes/launch_runs.h"
#include "analyzer/whatif/changes/sequences.h"

struct launches {
    struct xfa_table sites; /* struct xfa_wait_site: calls that go */
    struct xfw_sequences sequences;
    struct xfw_pieces pieces;
    struct xfa_launcher callers[XFW_SEQUENCE_THREADS]; /* of graphs, and of pieces */
};

static struct xfa_launcher *caller_of(struct launches *self, const struct xfa_event *event)
{
    return &self->callers[event->lane < XFW_SEQUENCE_THREADS ? event->lane : 0];
}

static void called(struct launches *self, const struct xfa_event *event)
{
    xfa_launcher_called(caller_of(self, event), &self->sites, event);
}

static void submitted(struct launches *self, const struct xfa_event *event, uint64_t what,
                      uint64_t with)
{
    struct xfa_launcher *caller = caller_of(self, event);
    const struct xfw_submission call = {
        .what = xfw_sequence_mix(xfw_sequence_mix(what, event->kind), event->stream),
        .with = with,
        .stream = event->stream,
        .gpu = -1,
        .launches = event->kind == XFT_EVENT_LAUNCH || event->kind == XFT_EVENT_SET,
    };
    double gap_ns = xfa_launcher_gap_ns(caller, event);
    if (gap_ns > xfw_run_gap_ns(XFW_LIKELY))
        xfw_sequences_break(&self->sequences, event->lane);
    struct xfw_place_in_graph place = xfw_sequences_next(&self->sequences, event->lane, &call);
    if (place.is && !place.begins)
        xfa_launches_add(&caller->calls, gap_ns, event);
    called(self, event);
}

/* Before it is counted as submitted. */
static void launched(struct launches *self, const struct xfa_event *event)
{
    struct xfa_launcher *caller = caller_of(self, event);
    const struct xfw_piece_launch launch = xfa_launch_of(event);
    double gap_ns = xfa_launcher_gap_ns(caller, event);
    if (gap_ns > xfw_run_gap_ns(XFW_LIKELY))
        xfw_pieces_break(&self->pieces, event->lane);
    if (xfw_pieces_next(&self->pieces, event->process, event->lane, &launch).is)
        xfa_launches_add(&caller->pieces, gap_ns, event);
}

static void event(void *of, const struct xfa_event *event)
{
    struct launches *self = of;
    if (event->flags & (XFT_FAILED | XFT_CAPTURED) || xfa_is_range(event->kind) ||
        event->lane >= XFW_SEQUENCE_THREADS)
        return;
    if (event->kind != XFT_EVENT_LAUNCH)
        xfw_pieces_break(&self->pieces, event->lane);
    switch (event->kind) {
    case XFT_EVENT_LAUNCH:
        launched(self, event);
        submitted(self, event, xfw_sequence_mix(event->launch.name, event->launch.threads),
                  event->launch.arguments);
        break;
    case XFT_EVENT_SET:
        submitted(self, event, event->bytes, event->memory.address);
        break;
    case XFT_EVENT_RECORD:
    case XFT_EVENT_WAIT:
        submitted(self, event, 0, 0);
        break;
    default:
        xfw_sequences_break(&self->sequences, event->lane);
        called(self, event);
    }
}

static void transfer(void *of, const struct xfa_event *event)
{
    struct launches *self = of;
    const struct xfa_transfer *transfer = &event->transfer;
    bool sends = transfer->class->key.row.direction == XFT_DIR_H2D;
    if (event->flags & XFT_GRAPH || event->lane >= XFW_SEQUENCE_THREADS)
        return;
    xfw_pieces_break(&self->pieces, event->lane);
    if (!transfer->blocks && !sends) {
        submitted(self, event, event->bytes, xfw_sequence_mix(transfer->src, transfer->dst));
        return;
    }
    xfw_sequences_break(&self->sequences, event->lane);
    called(self, event);
}

static uint64_t process(void *of, struct xfa_process *process)
{
    struct launches *self = of;
    (void)process;
    self->sequences = (struct xfw_sequences){0};
    xfw_pieces_free(&self->pieces);
    self->pieces.at_best = true;
    for (size_t i = 0; i < XFW_SEQUENCE_THREADS; i++)
        self->callers[i] = (struct xfa_launcher){0};
    return XFA_KINDS_OF_CALLS | XFA_KIND(XFT_EVENT_MESSAGE);
}

static struct xfa_observer observe(void *of)
{
    struct launches *self = of;
    xfa_wait_sites_init(&self->sites);
    return (struct xfa_observer){
        .name = "launches",
        .divided = true,
        .kinds = XFA_KINDS_OF_CALLS | XFA_KIND(XFT_EVENT_MESSAGE),
        .self = self,
        .process = process,
        .event = event,
        .transfer = transfer,
    };
}

static void release(void *of)
{
    struct launches *self = of;
    xfa_table_free(&self->sites);
    xfw_pieces_free(&self->pieces);
}

static void find_calls(const struct xfa_analysis *analysis, const struct xfa_wait_site *calls,
                       const struct xfa_finding *like, enum xfa_reckoning reckoning, uint64_t times,
                       const struct xfa_exact *ns, struct xfa_findings *findings)
{
    struct xfa_finding_site site = xfa_wait_site_found(analysis, calls, reckoning);
    site.transfers = times;
    site.lost_ns = xfa_exact_value(ns);
    if (site.lost_ns > xfa_findings_least_ns(analysis))
        xfa_findings_add_site(findings, like, &site);
}

static void find(const struct xfa_analysis *analysis, const void *sums,
                 struct xfa_findings *findings)
{
    const struct launches *self = sums;
    const struct xfa_finding graphs = {
        .id = XFA_FINDING_LAUNCH_BOUND,
        .remedy = {.kind = XFA_REMEDY_LAUNCH_GRAPH, .to_host = true, .node = -1},
        .assumed = "the host decides nothing between the launches, and what they are given beside "
                   "pointers stays the same",
    };
    const struct xfa_finding pieces = {
        .id = XFA_FINDING_LAUNCH_BOUND,
        .remedy = {.kind = XFA_REMEDY_BATCH_LAUNCHES, .to_host = true, .node = -1},
        .assumed = "the host decides nothing between the launches, and none of them uses what "
                   "another one leaves beyond the pointers that both are given",
    };
    for (size_t i = 0; i < self->sites.count; i++) {
        const struct xfa_wait_site *calls = xfa_table_at(&self->sites, i);
        find_calls(analysis, calls, &graphs, XFA_RECKONED_LAUNCHES, calls->times, &calls->ns,
                   findings);
        find_calls(analysis, calls, &pieces, XFA_RECKONED_PIECES, calls->pieces.times,
                   &calls->pieces.ns, findings);
    }
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    (void)sums;
    return finding->remedy.kind == XFA_REMEDY_BATCH_LAUNCHES ? xfw_change_batch_launches(analysis)
                                                             : xfw_change_launch_graphs(analysis);
}

const struct xfa_finding_kind xfa_kind_launch_bound = {
    .find = find,
    .change = change,
    .self_bytes = sizeof(struct launches),
    .observe = observe,
    .free = release,
    .met_of = &xfa_wait_sites,
    .met_table = offsetof(struct launches, sites),
};
