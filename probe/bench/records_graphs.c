/*
 * A graph of a few kernels and one of many, one behind the other: a call takes a part for the graph
 * and a part for each node.
 */
#include "probe/bench/records_graphs.h"
#include "probe/device/launch.h"
#include "probe/measure/timed.h"

enum { FEW = 2, MANY = 34, AGAIN = 4, RELAXED = 2 };
#define SINK_BYTES ((size_t)16)

/* Of one graph, ns: each launch that is captured; the calls. */
struct took {
    double launch, instantiate, update, go, destroy;
};

struct graph {
    struct xfp_session *s;
    struct xfp_device *device;
    xcu_deviceptr memory;
    size_t nodes;
    xcu_graph graphs[2]; /* alike but for what their kernels are given */
    xcu_graph_exec exec;
    struct took took;
};

bool xfp_records_graphs_apply(const struct xfp_session *s, const struct xfp_device *d)
{
    const struct xfp_driver *cu = s->sys.cu;

    return d->gate && cu->cuStreamBeginCapture && cu->cuStreamEndCapture &&
           cu->cuGraphInstantiateWithFlags && cu->cuGraphLaunch && cu->cuGraphDestroy &&
           cu->cuGraphExecDestroy && cu->cuGraphExecUpdate;
}

static double now(const struct graph *g)
{
    return (double)xfp_driver_now_ns(g->s->sys.cu);
}

static xcu_result capture(struct graph *g, unsigned which)
{
    const struct xfp_driver *cu = g->s->sys.cu;
    xcu_stream stream = g->device->stream;
    xcu_deviceptr sink = g->memory + which * SINK_BYTES;
    double first;
    xcu_result result = cu->cuStreamBeginCapture(stream, RELAXED), ended;

    if (result)
        return result;
    first = now(g);
    for (size_t i = 0; i < g->nodes && !result; i++)
        result = xfp_launch_chase(&g->s->sys, g->device, stream, sink, 0, sink);
    g->took.launch = (now(g) - first) / (double)g->nodes;
    ended = cu->cuStreamEndCapture(stream, &g->graphs[which]);
    return result ? result : ended;
}

/* Launched again and again, each time when nothing is in flight. */
static xcu_result go(struct graph *g)
{
    const struct xfp_driver *cu = g->s->sys.cu;
    xcu_result result = cu->cuGraphLaunch(g->exec, g->device->stream); /* uploads it */

    if (!result)
        result = cu->cuStreamSynchronize(g->device->stream);
    for (int i = 0; i < AGAIN && !result; i++) {
        double before = now(g);

        result = cu->cuGraphLaunch(g->exec, g->device->stream);
        g->took.go += (now(g) - before) / AGAIN;
        if (!result)
            result = cu->cuStreamSynchronize(g->device->stream);
    }
    return result;
}

static xcu_result instantiate(struct graph *g)
{
    double before = now(g);
    xcu_result result = g->s->sys.cu->cuGraphInstantiateWithFlags(&g->exec, g->graphs[0], 0);

    g->took.instantiate = now(g) - before;
    return result;
}

static xcu_result update(struct graph *g)
{
    uint64_t info[4]; /* CUgraphExecUpdateResultInfo */
    double before = now(g);
    xcu_result result = g->s->sys.cu->cuGraphExecUpdate(g->exec, g->graphs[1], info);

    g->took.update = now(g) - before;
    return result;
}

static xcu_result destroy(struct graph *g)
{
    const struct xfp_driver *cu = g->s->sys.cu;
    double before = now(g);
    xcu_result result = g->exec ? cu->cuGraphExecDestroy(g->exec) : XCU_SUCCESS;

    g->took.destroy = now(g) - before;
    for (unsigned i = 0; i < 2; i++)
        if (g->graphs[i])
            cu->cuGraphDestroy(g->graphs[i]);
    return result;
}

/* As xfp_queued wants it: the first launch takes the stream from the gate's engine. */
static xcu_result queue_graphs(struct xfp_session *s, void *state)
{
    const struct graph *g = state;
    const struct xfp_driver *cu = s->sys.cu;
    xcu_stream stream = g->device->stream;
    xcu_result result = cu->cuGraphLaunch(g->exec, stream);

    if (!result)
        result = cu->cuEventRecord(g->device->events[0], stream);
    for (int i = 0; i < AGAIN && !result; i++)
        result = cu->cuGraphLaunch(g->exec, stream);
    return result ? result : cu->cuEventRecord(g->device->events[1], stream);
}

/* The device's time for all launches. */
static int on_device(struct graph *g, double *ns)
{
    struct xfp_queued queued = {.device = g->device,
                                .gated = true,
                                .queue = queue_graphs,
                                .state = g,
                                .what = "launching graphs"};
    int state;

    do
        state = xfp_run_queued(g->s, &queued);
    while (state > 0 && xfp_gate_usable(g->device));
    if (state)
        return state > 0 ? 0 : -1;
    return xfp_elapsed(g->s, g->device->events[0], g->device->events[1], ns);
}

/* device_ns: NULL: is not asked for. */
static int measure(struct graph *g, double *device_ns)
{
    int bad = 0;
    xcu_result result = capture(g, 0), ended;

    if (!result)
        result = capture(g, 1);
    if (!result)
        result = instantiate(g);
    if (!result)
        result = go(g);
    if (!result)
        result = update(g);
    if (!result && device_ns && xfp_gate_usable(g->device)) {
        bad = on_device(g, device_ns);
        *device_ns /= AGAIN * (double)g->nodes;
    }
    ended = destroy(g);
    return bad ? bad : xfp_check(&g->s->sys, result ? result : ended, "measuring graphs");
}

/* Only launched. */
static int measure_launches(struct graph *g, double *ns)
{
    int bad = 0;
    xcu_result result = capture(g, 0), ended;

    if (!result)
        result = instantiate(g);
    if (!result)
        bad = on_device(g, ns);
    ended = destroy(g);
    return bad ? bad : xfp_check(&g->s->sys, result ? result : ended, "measuring graphs");
}

int xfp_records_graph_pitch(struct xfp_session *s, struct xfp_device *d, xcu_deviceptr memory,
                            double *ns)
{
    struct graph few = {.s = s, .device = d, .memory = memory, .nodes = FEW}, many = few;
    double few_ns = 0, many_ns = 0;

    many.nodes = MANY;
    if (measure_launches(&few, &few_ns) || measure_launches(&many, &many_ns))
        return -1;
    *ns = (many_ns - few_ns) / (AGAIN * (MANY - FEW));
    return 0;
}

/* The parts of a call: for each node, and for the graph. */
static void divide(double few, double many, double *graph, double *node)
{
    *node = (many - few) / (MANY - FEW);
    *graph = few - FEW * *node;
}

int xfp_records_graphs(struct xfp_session *s, struct xfp_device *d, xcu_deviceptr memory,
                       double ns[XFP_RECORDS_COUNT])
{
    struct graph few = {.s = s, .device = d, .memory = memory, .nodes = FEW}, many = few;

    many.nodes = MANY;
    if (measure(&few, NULL) || measure(&many, &ns[XFP_RECORDS_GRAPH_DEVICE]))
        return -1;
    ns[XFP_RECORDS_CAPTURE_LAUNCH] = many.took.launch;
    divide(few.took.instantiate, many.took.instantiate, &ns[XFP_RECORDS_GRAPH_INSTANTIATE],
           &ns[XFP_RECORDS_GRAPH_INSTANTIATE_NODE]);
    divide(few.took.update, many.took.update, &ns[XFP_RECORDS_GRAPH_UPDATE],
           &ns[XFP_RECORDS_GRAPH_UPDATE_NODE]);
    divide(few.took.go, many.took.go, &ns[XFP_RECORDS_GRAPH_LAUNCH],
           &ns[XFP_RECORDS_GRAPH_LAUNCH_NODE]);
    divide(few.took.destroy, many.took.destroy, &ns[XFP_RECORDS_GRAPH_DESTROY],
           &ns[XFP_RECORDS_GRAPH_DESTROY_NODE]);
    return 0;
}
