/*
 * What graphs cost the host, by their nodes (empty kernels, one behind the other): to instantiate
 * one and launch it for the first time, to update an executable graph from one of the same topology
 * and launch that, and to launch one again. Host clock around the calls; then, untimed, the GPU
 * gets done and what was instantiated is destroyed.
 */
#include <stdio.h>

#include "probe/bench/bench.h"
#include "probe/device/launch.h"
#include "probe/measure/budget.h"
#include "probe/measure/results.h"
#include "probe/measure/sample.h"
#include "probe/progress.h"

enum { RELAXED = 2 };
#define SINK_BYTES ((size_t)16)
static const size_t counts[] = {2, 8, 32, 128};
enum { COUNTS = sizeof counts / sizeof *counts };

enum way { INSTANTIATE, UPDATE, LAUNCH, WAYS };
static const char *const words[WAYS] = {"instantiate", "update", "launch"};

struct graph_go {
    struct xfp_device *device;
    xcu_deviceptr sinks;
    xcu_graph graphs[2]; /* alike but for what their kernels are given */
    xcu_graph_exec exec;
    enum way way;
    unsigned turn;
};

static int capture(struct xfp_session *s, struct graph_go *go, unsigned which, size_t nodes)
{
    const struct xfp_driver *cu = s->sys.cu;
    xcu_deviceptr sink = go->sinks + which * SINK_BYTES;
    xcu_result result = cu->cuStreamBeginCapture(go->device->stream, RELAXED), ended;
    if (xfp_check(&s->sys, result, "capturing a graph"))
        return -1;
    for (size_t i = 0; i < nodes && !result; i++)
        result = xfp_launch_chase(&s->sys, go->device, go->device->stream, sink, 0, sink);
    ended = cu->cuStreamEndCapture(go->device->stream, &go->graphs[which]);
    return xfp_check(&s->sys, result ? result : ended, "capturing a graph");
}

static xcu_result prepare(const struct xfp_driver *cu, struct graph_go *go)
{
    uint64_t info[4]; /* CUgraphExecUpdateResultInfo */
    xcu_graph next = go->graphs[++go->turn % 2];
    if (go->way == INSTANTIATE)
        return cu->cuGraphInstantiateWithFlags(&go->exec, next, 0);
    return go->way == UPDATE ? cu->cuGraphExecUpdate(go->exec, next, info) : XCU_SUCCESS;
}

static int once(struct xfp_session *s, void *state, double *ns)
{
    struct graph_go *go = state;
    const struct xfp_driver *cu = s->sys.cu;
    uint64_t before = xfp_driver_now_ns(cu);
    xcu_result result = prepare(cu, go);
    if (!result)
        result = cu->cuGraphLaunch(go->exec, go->device->stream);
    *ns = (double)(xfp_driver_now_ns(cu) - before);
    if (!result)
        result = cu->cuStreamSynchronize(go->device->stream);
    if (go->way == INSTANTIATE && go->exec) {
        cu->cuGraphExecDestroy(go->exec);
        go->exec = NULL;
    }
    return xfp_check(&s->sys, result, "launching a graph");
}

static int measure_count(struct xfp_session *s, struct graph_go *go, size_t nodes,
                         uint64_t budget_ns, struct xfp_stats *stats)
{
    const struct xfp_driver *cu = s->sys.cu;
    int bad = capture(s, go, 0, nodes) || capture(s, go, 1, nodes) ? -1 : 0;
    if (!bad && go->way != INSTANTIATE)
        bad = xfp_check(&s->sys, cu->cuGraphInstantiateWithFlags(&go->exec, go->graphs[0], 0),
                        "making a graph");
    if (!bad)
        bad = xfp_sample(s, once, go, budget_ns, stats, 1);
    if (go->exec)
        cu->cuGraphExecDestroy(go->exec);
    for (unsigned i = 0; i < 2; i++)
        if (go->graphs[i])
            cu->cuGraphDestroy(go->graphs[i]);
    go->exec = NULL;
    go->graphs[0] = go->graphs[1] = NULL;
    return bad;
}

static int run(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    struct graph_go go = {.device = &s->sys.devices[bench->dst.device],
                          .way = (enum way)bench->variant};
    struct xfp_rows rows = {0};
    int bad = xfp_device_open_kernels(&s->sys, go.device);
    if (!bad)
        bad = xfp_check(&s->sys, s->sys.cu->cuMemAlloc(&go.sinks, 2 * SINK_BYTES), "allocating");
    for (size_t i = 0; i < COUNTS && !bad && !xfp_interrupted(); i++) {
        struct xfp_stats stats;
        xfp_progress(s, path->name, 0);
        bad = measure_count(s, &go, counts[i], xfp_share_ns(s, COUNTS - i), &stats);
        if (!bad)
            xfp_add_row(&rows, counts[i], &stats);
    }
    if (go.sinks)
        s->sys.cu->cuMemFree(go.sinks);
    return xfp_add_table(s, &rows, bench->family->by, 0, "%s", path->name) || bad ? -1 : 0;
}

static bool applies(const struct xfp_driver *cu, enum way way)
{
    return cu->cuStreamBeginCapture && cu->cuStreamEndCapture && cu->cuGraphInstantiateWithFlags &&
           cu->cuGraphLaunch && cu->cuGraphDestroy && cu->cuGraphExecDestroy &&
           (way != UPDATE || cu->cuGraphExecUpdate);
}

static void enumerate(struct xfp_session *s, const struct xfp_family *family,
                      struct xfp_bench_list *list)
{
    for (size_t d = 0; d < s->sys.device_count; d++)
        for (int way = 0; way < WAYS; way++) {
            struct xfp_bench bench = {.family = family,
                                      .variant = way,
                                      .src = {XFT_MEM_UNKNOWN, -1, -1},
                                      .dst = {XFT_MEM_DEVICE, s->sys.devices[d].ordinal, -1}};
            if (!xfp_kernels_built(&s->sys) || !applies(s->sys.cu, (enum way)way))
                continue;
            snprintf(bench.name, sizeof(bench.name), "graph/%s/gpu%d", words[way],
                     bench.dst.device);
            xfp_bench_add(list, &bench);
        }
}

const struct xfp_family xfp_family_graph = {
    .name = "graph",
    .summary = "the host's time to instantiate, to update and to launch graphs of 2 to 128 kernels",
    .names =
        {
            {"graph/{instantiate,update,launch}/gpuN",
             "the host's time for a graph of that many empty kernels: to instantiate it and launch "
             "it for the first time, to update an executable graph from it and launch that, to "
             "launch one again"},
        },
    .part = XFP_PART_TABLES,
    .by = XFP_BY_NODES,
    .needs = XFP_NEED_KERNELS,
    .method = XFP_COPY,
    .budget_s = 0.1,
    .quick_budget_s = 0.02,
    .enumerate = enumerate,
    .run = run,
};
