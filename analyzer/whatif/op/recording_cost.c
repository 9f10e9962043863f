#include "analyzer/whatif/op/recording_cost.h"

#include <math.h>
#include <stdio.h>

#define ROUNDING_NS 500 /* of times that were recorded */

static double scalar(const struct xfp_profile *profile, const char *what, int gpu, bool *known)
{
    char name[64];
    snprintf(name, sizeof name, "records/%s/gpu%d", what, gpu);
    const struct xfp_scalar *scalar = xfp_find_scalar(profile, name);
    *known = *known || scalar;
    return scalar ? scalar->cost.median : 0;
}

/* By the processes that were compared with those with records, if it is known of them. */
static double bare_launch(const struct xfp_profile *profile, int gpu)
{
    char name[64];
    snprintf(name, sizeof name, "launch/by-process/gpu%d", gpu);
    const struct xfp_scalar *scalar = xfp_find_scalar(profile, name);
    return scalar ? scalar->cost.median : 0;
}

static struct xfw_records_copy copy_cost(const struct xfp_profile *profile, const char *direction,
                                         int gpu, bool *known)
{
    char call[32], blocking[32], device[32];
    snprintf(call, sizeof call, "copy/%s", direction);
    snprintf(blocking, sizeof blocking, "copy-blocking/%s", direction);
    snprintf(device, sizeof device, "copy-device/%s", direction);
    return (struct xfw_records_copy){
        .call = scalar(profile, call, gpu, known),
        .blocking = scalar(profile, blocking, gpu, known),
        .device = scalar(profile, device, gpu, known),
    };
}

static struct xfw_records_graph graph_cost(const struct xfp_profile *profile, const char *call,
                                           int gpu, bool *known)
{
    char graph[32], node[32], alone[48];
    snprintf(graph, sizeof graph, "graph/%s", call);
    snprintf(node, sizeof node, "graph/%s-node", call);
    snprintf(alone, sizeof alone, "graph/%s/gpu%d", call, gpu);
    return (struct xfw_records_graph){.graph = scalar(profile, graph, gpu, known),
                                      .node = scalar(profile, node, gpu, known),
                                      .alone = xfp_find_table(profile, alone)};
}

static void add_graphs(struct xfw_records_cost *cost, const struct xfp_profile *profile, int gpu)
{
    cost->captured = scalar(profile, "capture/launch", gpu, &cost->graphs_known);
    cost->instantiate = graph_cost(profile, "instantiate", gpu, &cost->graphs_known);
    cost->update = graph_cost(profile, "update", gpu, &cost->graphs_known);
    cost->destroy = graph_cost(profile, "destroy", gpu, &cost->graphs_known);
    cost->go = graph_cost(profile, "launch", gpu, &cost->graphs_known);
    cost->graph_device = scalar(profile, "graph/device", gpu, &cost->graphs_known);
}

struct xfw_records_cost xfw_records_cost_of(const struct xfa_achievable *achievable, int gpu)
{
    struct xfw_records_cost cost = {0};
    const struct xfp_profile *profile = achievable->profile;
    if (!profile)
        return cost;
    int number = xfa_achievable_gpu(achievable, gpu < 0 ? 0 : gpu);
    cost.launch = scalar(profile, "launch", number, &cost.known);
    cost.bare_launch = bare_launch(profile, number);
    cost.launch_device = scalar(profile, "launch-device", number, &cost.known);
    cost.copies[0] = copy_cost(profile, "h2d", number, &cost.known);
    cost.copies[1] = copy_cost(profile, "d2h", number, &cost.known);
    cost.set = scalar(profile, "memset", number, &cost.known);
    cost.sync = scalar(profile, "sync/stream", number, &cost.known);
    cost.record = scalar(profile, "event/record", number, &cost.known);
    /* Measured with one GPU: what CUPTI does once is the process's. */
    cost.first_copy = scalar(profile, "first/copy", 0, &cost.known);
    cost.first_launch = scalar(profile, "first/launch", 0, &cost.known);
    bool behind_known = false; /* says nothing of the others */
    cost.after_wait = scalar(profile, "launch-after-wait", number, &behind_known);
    cost.after_launch = scalar(profile, "copy-after-launch/d2h", number, &behind_known);
    add_graphs(&cost, profile, number);
    cost.demanded = scalar(profile, "migration/h2d", number, &cost.moves_known);
    cost.fetched = scalar(profile, "migration/d2h", number, &cost.moves_known);
    return cost;
}

double xfw_speed_error(const struct xfp_profile *profile)
{
    const struct xfp_scalar *launch =
        profile ? xfp_find_scalar(profile, "launch/by-process/gpu0") : NULL;
    if (!launch || !(launch->cost.median > 0))
        return 0;
    double range = launch->cost.max - launch->cost.min;
    return fmin(XFW_MOST_SPEED_ERROR, fmax(0, range / launch->cost.median / 2));
}

static const struct xfw_records_cost *cost_of(struct xfw_records_costs *costs, int gpu)
{
    size_t i = xfw_place_of_gpu(gpu);
    if (!costs->asked[i]) {
        costs->asked[i] = true;
        costs->of_gpus[i] = xfw_records_cost_of(costs->achievable, gpu);
    }
    return &costs->of_gpus[i];
}

/* What the first of them takes; it is the first no more. */
static double once(bool *done, double ns)
{
    double cost = *done ? 0 : ns;
    *done = true;
    return cost;
}

static enum xfw_behind next_behind(const struct xfw_op *op, bool blocks, enum xfw_behind behind)
{
    if (op->kind == XFT_EVENT_SYNC || (op->what == XFW_COPY && blocks))
        return XFW_BEHIND_WAIT;
    if (xfw_op_is_work(op))
        return op->what == XFW_KERNEL ? XFW_BEHIND_LAUNCH : XFW_BEHIND_OTHER;
    return behind;
}

static double launch_ns(const struct xfw_records_cost *cost, enum xfw_behind behind)
{
    return behind != XFW_BEHIND_LAUNCH && cost->after_wait > 0 ? cost->after_wait : cost->launch;
}

static double copy_ns(const struct xfw_records_cost *cost, bool from_device, bool blocks,
                      enum xfw_behind behind)
{
    const struct xfw_records_copy *copy = &cost->copies[from_device];
    if (blocks)
        return copy->blocking;
    bool after_launch = from_device && behind == XFW_BEHIND_LAUNCH && cost->after_launch > 0;
    return after_launch ? cost->after_launch : copy->call;
}

/* A call that waits for its copy has CUPTI's time on the device, too: the copy is done so much
 * later. */
static double lag_ns(const struct xfw_records_copy *copy)
{
    return copy->call > 0 ? xfw_max(0, copy->blocking - copy->call) : 0;
}

/* The profile's bare launches are of one kernel with few parameters, one behind the other. Those of
 * programs that do nothing else between two of them took 1.04 times as long, by the median of 31 on
 * three machines (docs/results/replayed-h200-2026-11-29.md); others, which find colder caches, 1.12
 * and 1.19 times on two more (docs/results/foreign-h200-2026-11-29.md). */
static double bare_launch_ns(const struct xfw_records_cost *cost, double own_ns,
                             enum xfw_behind behind)
{
    const double of_row = 1.04, of_others = 1.1, nothing_else_ns = 500; /* the last a guess */
    bool in_a_row = behind == XFW_BEHIND_LAUNCH && own_ns < nothing_else_ns;
    return (in_a_row ? of_row : of_others) * cost->bare_launch;
}

/* Where the profile has no such call without records, their share is taken to be that of a launch.
 */
static void set_records(struct xfw_op *op, const struct xfw_records_cost *cost, double ns,
                        double once_ns)
{
    op->records_ns = ns + once_ns;
    op->bare_known = op->bare_known && ns > 0 && !(once_ns > 0);
    if (!op->bare_known)
        op->bare_ns =
            cost->launch > 0 && !(once_ns > 0) ? ns * cost->bare_launch / cost->launch : 0;
}

/* The tables of what takes a graph beyond its launch have that launch, too. */
static double alone_ns(const struct xfw_records_cost *cost, const struct xfw_records_graph *call,
                       uint64_t nodes)
{
    if (!call->alone)
        return 0;
    double ns = xfp_table_at(call->alone, nodes).ns;
    bool launched = call != &cost->go && cost->go.alone;
    return xfw_max(0, ns - (launched ? xfp_table_at(cost->go.alone, nodes).ns : 0));
}

static void set_records_of_graph(struct xfw_op *op, const struct xfw_records_cost *cost,
                                 const struct xfw_records_graph *call, uint64_t nodes)
{
    op->records_ns = call->graph + (double)nodes * call->node;
    op->bare_ns = alone_ns(cost, call, nodes);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* What instantiating a graph takes without records, or uploading it, which its first launch does:
 * the profile has both together. Half each, as of graphs of 7 and 34 kernels on an H200. */
static double made_ns(const struct xfw_records_cost *cost, uint64_t nodes)
{
    return alone_ns(cost, &cost->instantiate, nodes) / 2;
}

/* The place of an executable graph: its own, or another one's, which has to give way. */
static struct xfw_graph_met *graph_at(struct xfw_records_met *met, uint64_t exec)
{
    return &met->graphs[exec * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (XFW_GRAPHS_MET - 1)];
}

/* A graph's first launch uploads it, as does in part the one behind an update: only of the others
 * is the driver's own part that of the profile's launches. */
static void note_launch(struct xfw_records_met *met, struct xfw_op *op,
                        const struct xfw_records_cost *cost)
{
    struct xfw_graph_met *graph = graph_at(met, op->threads);
    if (graph->exec != op->threads)
        *graph = (struct xfw_graph_met){.exec = op->threads};
    op->bare_known = op->threads && graph->uploaded;
    op->bare_ns = graph->made && cost->graphs_known ? made_ns(cost, graph->nodes) : 0;
    graph->uploaded = true;
    graph->made = false;
}

/* How many nodes the call is about: of one that destroys the graph that is not recorded. */
static uint64_t note_graph_call(struct xfw_records_met *met, const struct xfw_op *op)
{
    struct xfw_graph_met *graph = graph_at(met, op->dst);
    uint64_t nodes = op->threads;
    if (op->memory == XFT_GRAPH_DESTROYED) {
        nodes = graph->exec == op->dst ? graph->nodes : nodes;
        *graph = (struct xfw_graph_met){0};
    } else if (op->memory) {
        *graph = (struct xfw_graph_met){
            .exec = op->dst, .nodes = nodes, .made = op->memory == XFT_GRAPH_INSTANTIATED};
    }
    return nodes;
}

static void about_graph(struct xfw_records_met *met, struct xfw_op *op,
                        const struct xfw_records_cost *cost)
{
    const struct xfw_records_graph *call = op->memory == XFT_GRAPH_INSTANTIATED ? &cost->instantiate
                                           : op->memory == XFT_GRAPH_UPDATED    ? &cost->update
                                           : op->memory == XFT_GRAPH_DESTROYED  ? &cost->destroy
                                                                                : NULL;
    uint64_t nodes = note_graph_call(met, op);
    if (!call)
        return;
    set_records_of_graph(op, cost, call, nodes);
    if (call == &cost->instantiate && op->bare_ns > 0) {
        op->bare_ns = made_ns(cost, nodes);
        op->bare_known = true;
    }
}

void xfw_records_costs_add(struct xfw_records_costs *costs, struct xfw_op *op, bool blocks,
                           uint32_t records, enum xfw_behind *behind)
{
    const struct xfw_records_cost *cost = cost_of(costs, op->gpu);
    bool copies = records & XFT_RECORDS_COPIES;
    if (op->what == XFW_KERNEL && records & XFT_RECORDS_KERNELS) {
        op->bare_ns = bare_launch_ns(cost, costs->own_ns, *behind);
        op->bare_known = op->bare_ns > 0;
        set_records(op, cost, launch_ns(cost, *behind),
                    once(&costs->met.launched, cost->first_launch));
        op->records_device_ns = cost->launch_device;
    } else if (op->what == XFW_COPY && copies) {
        /* A copy in pieces goes through the host: the slower of its two halves sets the pace. */
        bool from_device = op->engine == XFW_TO_HOST || op->last_piece;
        op->bare_known = op->bare_ns > 0;
        op->records_lag_ns = blocks || op->last_piece ? 0 : lag_ns(&cost->copies[from_device]);
        set_records(op, cost, copy_ns(cost, from_device, blocks, *behind),
                    once(&costs->met.copied, cost->first_copy));
        op->records_device_ns = cost->copies[from_device].device;
    } else if (op->what == XFW_SET && copies) {
        set_records(op, cost, cost->set, 0);
    } else if (op->kind == XFT_EVENT_LAUNCH && records & XFT_RECORDS_KERNELS) {
        op->records_ns = cost->captured;
    } else if (op->kind == XFT_EVENT_GRAPH_CALL) {
        about_graph(&costs->met, op, cost);
    } else if (op->what == XFW_GRAPH) {
        note_launch(&costs->met, op, cost);
    } else if (op->kind == XFT_EVENT_SYNC) {
        op->records_ns = cost->sync;
    } else if (op->what == XFW_RECORD) {
        op->records_ns = cost->record;
    }
    *behind = next_behind(op, blocks, *behind);
}

void xfw_records_costs_staged(struct xfw_records_costs *costs, struct xfw_op *op)
{
    const struct xfw_records_copy *copies = cost_of(costs, op->gpu)->copies;
    if (op->records_device_ns > 0)
        op->records_device_ns = (copies[0].device + copies[1].device) / 2;
}

double xfw_records_of_part(struct xfw_records_costs *costs, int gpu, double duration_ns,
                           double space_ns)
{
    const double empty_ns = 900; /* an empty kernel takes less by its record (as measured) */
    double figure = cost_of(costs, gpu)->graph_device;
    return duration_ns < empty_ns ? figure : xfw_min(figure, xfw_max(0, space_ns));
}

/* The driver submits a graph's kernels together, but each of its copies and memsets. */
static double of_others_ns(const struct xfw_records_cost *cost, const struct xfw_graph_parts *parts)
{
    const double of_launch = 0.5; /* docs/results/replayed-h200-2026-11-30.md */
    return of_launch * cost->bare_launch * (parts->records - parts->kernels);
}

void xfw_records_costs_add_parts(struct xfw_records_costs *costs, struct xfw_op *op,
                                 const struct xfw_graph_parts *parts)
{
    if (!parts->records)
        return;
    const struct xfw_records_cost *cost = cost_of(costs, op->gpu);
    if (!cost->graphs_known) {
        op->records_ns = parts->records * cost->launch;
        op->bare_known = false;
        return;
    }
    double upload_ns = op->bare_ns;
    set_records_of_graph(op, cost, &cost->go, parts->records);
    if (op->bare_ns > 0)
        op->bare_ns += upload_ns + of_others_ns(cost, parts);
    op->bare_known = op->bare_known && op->bare_ns > 0 && parts->kernels == parts->records;
    op->records_pieces_ns = parts->device_ns;
}

/* The profile has the cost of touching 4 MiB page after page, for each record of a migration: one
 * of the page and one of what the driver adds to it. */
#define WHOLE_PIECE (4.0 * 1024 * 1024 / 12)
#define OF_FAULT 0.3

/* A fault's records cost something, and what it brings: of one that brings little less than the
 * profile has, of a page alone that part. */
static double fetched_records_ns(const struct xfw_records_cost *cost, const struct xfw_moved *moved)
{
    if (!moved->faults)
        return moved->records * cost->fetched;
    double whole = (double)moved->bytes / WHOLE_PIECE;
    return 2 * cost->fetched * (OF_FAULT * moved->faults + (1 - OF_FAULT) * whole);
}

void xfw_records_costs_add_moves(struct xfw_records_costs *costs, struct xfw_op *op,
                                 double demanded_ns, double fetched_ns)
{
    struct xfw_moved *demanded = &op->demanded, *fetched = &op->fetched;
    if (demanded->records) {
        double ns = demanded->records * cost_of(costs, demanded->gpu)->demanded;
        demanded->records_ns = (float)xfw_max(0, xfw_min(ns, op->duration_ns - demanded_ns));
    }
    if (fetched->records) {
        double ns = fetched_records_ns(cost_of(costs, fetched->gpu), fetched);
        fetched->records_ns = (float)xfw_max(0, xfw_min(ns, op->gap_ns - fetched_ns));
    }
}

/* ---- an op without it ------------------------------------------------------------------------ */

/* The time from the first page to the last without it, that was ns long. */
static void span_alone(struct xfw_moved *fetched, double ns)
{
    fetched->span_us = (uint16_t)xfw_max(0, fetched->span_us - ns / 1e3);
}

/* The time without what records of moves added to it. */
static double moved_alone(struct xfw_moved *moved, double ns)
{
    const double least = 0.1; /* of the time: a guess */
    double alone = xfw_max(least * ns, ns - moved->records_ns);
    moved->stalled_ns = xfw_max(0, moved->stalled_ns - (ns - alone));
    moved->records_ns = 0;
    return alone;
}

/* Records that are missing cost what those that are there did. */
static double demanded_alone(struct xfw_moved *moved, double ns)
{
    double stalled = moved->stalled_ns, alone = moved_alone(moved, ns);
    if (moved->unseen_ns > 0 && stalled > 0)
        moved->unseen_ns *= (float)(moved->stalled_ns / stalled);
    return alone;
}

static bool is_about_graph(const struct xfw_op *op)
{
    return op->what == XFW_GRAPH || op->kind == XFT_EVENT_GRAPH_CALL;
}

/* A call that waits, or one about a graph. Where calls are slower than the profile's (the process
 * is, or they find cold caches), CUPTI's part is as much slower. Calls about graphs take what their
 * nodes need: CUPTI's part is less in proportion, and no more where the driver itself does more (a
 * graph's first launch uploads it). call_ns: what the call took by itself. */
static double share_of(const struct xfw_op *op, double call_ns, double most)
{
    const double most_of_destroying = 0.4; /* of the call: replayed-h200-2026-11-29.md */
    if (op->kind == XFT_EVENT_GRAPH_CALL && op->memory == XFT_GRAPH_DESTROYED)
        return xfw_min(most_of_destroying * call_ns, op->records_ns);
    const double least = is_about_graph(op) ? 0 : 0.5; /* times the usual: a guess */
    most = is_about_graph(op) ? 1 : most;
    double usual_ns = op->records_ns + op->bare_ns;
    double times = op->bare_ns > 0 ? call_ns / usual_ns : 1;
    return xfw_min(most, xfw_max(least, times)) * op->records_ns;
}

/* A call that submits work takes much the same in every process; CUPTI's part differs, by thirty
 * times: what is beyond the call without belongs to it. Where caches are cold, the driver takes
 * longer, too, and of what is more than usual half is CUPTI's. All as measured:
 * docs/results/foreign-h200-2026-11-29.md. */
static double beyond_bare(const struct xfw_op *op, double call_ns, double usual_ns)
{
    const double share = 0.5;
    const double most = 10; /* times the bare call: there is another reason */
    double beyond = xfw_max(0, xfw_min(call_ns, most * op->bare_ns) - op->bare_ns);
    double warm = xfw_min(beyond, xfw_max(op->records_ns, usual_ns));
    return warm + share * (beyond - warm);
}

/* The launch of a graph that is on the device takes the same however many nodes it has, the first
 * one of a graph that was instantiated beyond that what uploading it takes by the profile. What
 * CUPTI does for each of them differs from process to process, 1.0 to 1.9 times the profile's
 * figure: of launches that upload their graph, too, a third of what is beyond that is CUPTI's. All
 * as measured: docs/results/replayed-h200-2026-11-29.md. */
static double records_of_graph(const struct xfw_op *op)
{
    const double most = 3; /* times the usual: there is another reason */
    const double share = 1.0 / 3;
    double beyond = xfw_max(0, op->own_ns - op->bare_ns), usual = op->records_ns;
    if (!op->bare_known)
        beyond = xfw_min(beyond, usual) + share * xfw_max(0, beyond - usual);
    return xfw_min(most * usual, beyond);
}

static double records_of_submitted(const struct xfw_op *op)
{
    const double most = 6; /* as measured: docs/results/foreign-h100-2026-11-28.md */
    bool instantiates = op->kind == XFT_EVENT_GRAPH_CALL && op->bare_known;
    if ((op->what == XFW_GRAPH || instantiates) && op->bare_ns > 0)
        return records_of_graph(op);
    const double usual = 0.5; /* of the bare call */
    return op->bare_known ? beyond_bare(op, op->own_ns, usual * op->bare_ns)
                          : share_of(op, op->own_ns, most);
}

/* Did the call find nothing to wait for but its own copy? */
static bool waits_for_itself_alone(const struct xfw_op *op)
{
    return op->device_start_ns - op->start_ns <= op->latency_ns + ROUNDING_NS;
}

/* Where the call without is known, and the call took it all by itself, what is beyond is CUPTI's,
 * as of calls that submit, as far as its part differs (beyond_bare()): a copy to memory that nobody
 * has touched takes longer by itself. Where earlier work kept it, its length says nothing of that.
 */
static double records_of_blocking(const struct xfw_op *op)
{
    const double most = 1;    /* as measured: docs/results/foreign-h200-2026-11-29.md */
    const double least = 0.5; /* a guess, as in share_of() */
    const double most_differs = 30;
    if (!op->bare_known)
        return share_of(op, op->latency_ns + op->wake_ns, most);
    if (!waits_for_itself_alone(op))
        return op->records_ns;
    double call_ns = op->latency_ns + op->duration_ns + op->wake_ns;
    double beyond = xfw_min(most_differs * op->records_ns, beyond_bare(op, call_ns, 0));
    return xfw_max(least * op->records_ns, beyond);
}

/* What stays of a call, whatever CUPTI is said to add: of one about a graph, half of what does not
 * belong to CUPTI by the profile. */
static double least_of(const struct xfw_op *op, double least)
{
    double alone = op->bare_ns > 0 ? op->bare_ns / (op->bare_ns + op->records_ns) : 1;
    return is_about_graph(op) ? xfw_min(least, alone / 2) : least;
}

/* CUPTI works before the driver submits, and when the call returns. */
static void blocking_alone(struct xfw_op *op, double least)
{
    double records_ns = records_of_blocking(op);
    double latency = xfw_max(least * op->latency_ns, op->latency_ns - records_ns);
    double left = records_ns - (op->latency_ns - latency);
    op->latency_ns = latency;
    if (op->wake_ns > 0)
        op->wake_ns = xfw_max(least * op->wake_ns, op->wake_ns - left);
}

/* Nearly all of it is done before the driver submits: the work begins as much earlier. */
static void submitted_alone(struct xfw_op *op, double least)
{
    double records_ns = records_of_submitted(op);
    double own_ns = xfw_max(least * op->own_ns, op->own_ns - records_ns);
    if (op->what == XFW_GRAPH)
        xfw_op_launch_sooner(op, op->own_ns - own_ns);
    op->own_ns = own_ns;
    double lag = op->what == XFW_COPY && !op->last_piece ? op->records_lag_ns : 0;
    op->latency_ns = xfw_max(least * op->latency_ns, op->latency_ns - records_ns - lag);
}

void xfw_op_alone(struct xfw_op *op)
{
    const double least = 0.3; /* of a call stays, whatever CUPTI is said to add: a guess */
    const double least_of_copy =
        0.8;       /* of a copy whose pieces are computed, not counted: a guess */
    if (op->first) /* where its thread begins */
        op->start_ns = xfw_max(0, op->start_ns - op->overhead_ns);
    op->gap_ns = xfw_max(0, op->gap_ns - xfw_max(0, op->hook_ns));
    op->woken_after_ns = xfw_max(xfw_min(0, op->woken_after_ns), op->woken_after_ns - op->hook_ns);
    double before_ns = op->gap_ns;
    op->gap_ns = moved_alone(&op->fetched, before_ns);
    span_alone(&op->fetched, before_ns - op->gap_ns);
    op->duration_ns = demanded_alone(&op->demanded, op->duration_ns);
    double kept = op->what == XFW_GRAPH ? 0.5 : least_of_copy;
    if (op->what == XFW_GRAPH || op->last_piece)
        op->duration_ns = xfw_max(kept * op->duration_ns, op->duration_ns - op->records_pieces_ns);
    if (op->awaits == XFW_AWAITS_ITSELF || op->awaits == XFW_AWAITS_ITS_START)
        blocking_alone(op, least);
    else
        submitted_alone(op, least_of(op, least));
    op->space_ns = xfw_max(0, op->space_ns - op->records_device_ns);
    if (op->paced_ns > 0 && op->records_device_ns > 0 && op->space_ns < XFW_QUEUED_NS)
        op->space_ns =
            xfw_min(op->space_ns, xfw_max(0, op->paced_ns - (op->duration_ns - op->lead_ns)));
    op->hook_ns = op->overhead_ns = op->records_ns = op->records_device_ns = 0;
    op->records_pieces_ns = op->bare_ns = 0;
}
