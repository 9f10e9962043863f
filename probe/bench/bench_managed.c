/*
 * Managed memory: migration on demand and by prefetch, between host and device and between
 * devices, one way and both at once (Comm|Scope's Table 1, "cudaMallocManaged"; NUMA-aware
 * measurements for Power/NVLink, algorithm 1: each repetition first moves the pages back, untimed).
 */
#include "probe/bench/bench.h"
#include "probe/device/buffer.h"
#include "probe/device/launch.h"
#include "probe/device/managed.h"
#include "probe/measure/budget.h"
#include "probe/measure/results.h"
#include "probe/progress.h"
#include "probe/measure/sample.h"
#include "probe/measure/sizes.h"
#include "probe/measure/timed.h"

#include <stdio.h>
#include <stdlib.h>

enum { LEAST = 4096, SINK_BYTES = 16 };
#define MOST ((size_t)64 << 20)

struct migration {
    const char *name;
    struct xfp_device *device; /* where the timed work is queued */
    struct xfp_device *peer;   /* both ways between devices: where the other kernel runs */
    struct xfp_managed memory; /* goes from `from` to `to` */
    struct xfp_managed back;   /* both ways at once: the other way */
    struct xfp_buffer sink, peer_sink;
    int from, to; /* device ordinals, XFP_HOST */
    int node;     /* of the host's pages, -1: not bound */
    uint64_t bytes;
};

static int prepare(struct xfp_session *s, void *state)
{
    const struct migration *m = state;

    return xfp_managed_move(&s->sys, &m->memory, m->bytes, m->from) ||
                   (m->back.bytes && xfp_managed_move(&s->sys, &m->back, m->bytes, m->to))
               ? -1
               : 0;
}

static xcu_result queue_touch(struct xfp_session *s, void *state, xcu_stream stream)
{
    const struct migration *m = state;

    return xfp_launch_read(&s->sys, m->device, stream, m->memory.address, m->bytes,
                           m->sink.address);
}

static xcu_result queue_prefetch(struct xfp_session *s, void *state, xcu_stream stream)
{
    const struct migration *m = state;

    return s->sys.cu->cuMemPrefetchAsync(m->memory.address, m->bytes, m->to, stream);
}

static xcu_result queue_back(struct xfp_session *s, void *state, xcu_stream stream)
{
    const struct migration *m = state;

    return s->sys.cu->cuMemPrefetchAsync(m->back.address, m->bytes, m->from, stream);
}

/* The device's time, and that of the call, which may move pages itself. */
static int once_prefetch(struct xfp_session *s, void *timed, double *ns)
{
    struct xfp_timed *t = timed;
    int bad = xfp_once_timed(s, t, ns);

    ns[1] = t->call_ns;
    return bad;
}

/* One host thread touches every page: host clock. */
static int once_host_touch(struct xfp_session *s, void *state, double *ns)
{
    struct migration *m = state;
    uint64_t before;

    if (prepare(s, m))
        return -1;
    before = xfp_driver_now_ns(s->sys.cu);
    xfp_managed_touch(&s->sys, &m->memory, m->bytes);
    *ns = (double)(xfp_driver_now_ns(s->sys.cu) - before);
    return 0;
}

static xcu_result touch_on_peer(struct xfp_session *s, const struct migration *m)
{
    xcu_result result = s->sys.cu->cuCtxSetCurrent(m->peer->context);

    return result ? result
                  : xfp_launch_read(&s->sys, m->peer, m->peer->stream, m->back.address, m->bytes,
                                    m->peer_sink.address);
}

static xcu_result wait_for_peer(struct xfp_session *s, const struct migration *m)
{
    xcu_result result = s->sys.cu->cuStreamSynchronize(m->peer->stream);

    return result ? result : s->sys.cu->cuCtxSetCurrent(m->device->context);
}

/* A kernel touches one buffer while the host, or another device's kernel, touches the other. Host
 * clock, until both are done. */
static int once_both_touch(struct xfp_session *s, void *state, double *ns)
{
    struct migration *m = state;
    uint64_t before;
    xcu_result result;

    if (prepare(s, m))
        return -1;
    before = xfp_driver_now_ns(s->sys.cu);
    result = queue_touch(s, m, m->device->stream);
    if (!result && m->peer)
        result = touch_on_peer(s, m);
    else if (!result)
        xfp_managed_touch(&s->sys, &m->back, m->bytes);
    if (!result && m->peer)
        result = wait_for_peer(s, m);
    if (!result)
        result = s->sys.cu->cuStreamSynchronize(m->device->stream);
    *ns = (double)(xfp_driver_now_ns(s->sys.cu) - before);
    return xfp_check(&s->sys, result, "migrating");
}

/* Checks the data that a kernel read: all words are equal. */
static int check_view(struct xfp_session *s, const struct migration *m,
                      const struct xfp_buffer *sink)
{
    uint32_t seen = 0;

    if (xfp_check(&s->sys, s->sys.cu->cuMemcpyDtoH(&seen, sink->address, sizeof(seen)),
                  "verifying"))
        return -1;
    if (seen == xfp_fold(s->sys.pattern, m->bytes))
        return 0;
    return xfp_fail(&s->sys, "wrong data in a kernel's view of %llu bytes of managed memory",
                    (unsigned long long)m->bytes);
}

/* One repetition that checks what the kernels read, by their sinks; then checks the data itself. */
static int verify(struct xfp_session *s, struct migration *m, xfp_once *once, void *state,
                  bool kernel)
{
    double ns;

    if (!s->sys.verify)
        return 0;
    if (kernel && m->peer && xfp_buffer_clear(&s->sys, &m->peer_sink, SINK_BYTES))
        return -1;
    if (kernel && (xfp_buffer_clear(&s->sys, &m->sink, SINK_BYTES) || once(s, state, &ns) ||
                   check_view(s, m, &m->sink)))
        return -1;
    if (kernel && m->peer && check_view(s, m, &m->peer_sink))
        return -1;
    if (xfp_managed_verify(&s->sys, &m->memory, m->bytes))
        return -1;
    return m->back.bytes ? xfp_managed_verify(&s->sys, &m->back, m->bytes) : 0;
}

struct way {
    xfp_once *once;
    void *state;
    bool kernel;
    bool call; /* the second figure is the call's host time */
};

static void add_point(struct xfp_path *path, uint64_t bytes, const struct xfp_stats stats[2])
{
    size_t before = path->point_count;

    xfp_add_point(path, bytes, &stats[0]);
    if (path->point_count > before && stats[1].n)
        path->points[before].host_ns = stats[1].median;
}

static int sweep(struct xfp_session *s, struct migration *m, const struct way *way,
                 struct xfp_path *path, struct xfp_rows *rows)
{
    uint64_t sizes[XFP_COARSE_ROOM];
    size_t count = xfp_coarse_sizes(s, LEAST, m->memory.bytes, sizes, XFP_COARSE_ROOM);

    if (!count)
        return xfp_fail(&s->sys, "too little free memory on GPU %d for managed memory",
                        m->device->ordinal);
    for (size_t i = 0; i < count && !xfp_interrupted(); i++) {
        struct xfp_stats stats[2] = {0};

        xfp_progress(s, m->name, sizes[i]);
        m->bytes = sizes[i];
        if (xfp_sample(s, way->once, way->state, xfp_share_ns(s, count - i), stats,
                       way->call ? 2 : 1) ||
            verify(s, m, way->once, way->state, way->kernel))
            return -1;
        if (path)
            add_point(path, m->bytes, stats);
        else
            xfp_add_row(rows, m->bytes, stats);
    }
    return 0;
}

/* Host pages are allocated on the thread's node: it stays bound until tear_down(). */
static int set_up(struct xfp_session *s, struct migration *m, bool both)
{
    struct xfp_place device = {XFT_MEM_DEVICE, m->device->ordinal, -1};
    size_t most = xfp_coarse_most(s, MOST);
    struct xfp_device *from = m->from >= 0 ? &s->sys.devices[m->from] : m->device;

    if (xfp_device_open(&s->sys, from) || xfp_device_open_kernels(&s->sys, m->device))
        return -1;
    xfp_bind(&s->sys, m->node);
    /* both buffers together stay within the quarter */
    most = xfp_managed_room(&s->sys, m->device, most * (both ? 2 : 1), 1) / (both ? 2 : 1) &
           ~(size_t)15;
    if (xfp_managed_make(&s->sys, m->device, most, &m->memory) ||
        (both && xfp_managed_make(&s->sys, m->device, most, &m->back)) ||
        xfp_buffer_make(&s->sys, m->device, device, SINK_BYTES, &m->sink))
        return -1;
    if (!both || m->from < 0)
        return 0;
    m->peer = from;
    device.device = m->from;
    if (xfp_device_open_kernels(&s->sys, m->peer) ||
        xfp_buffer_make(&s->sys, m->peer, device, SINK_BYTES, &m->peer_sink))
        return -1;
    return xfp_device_open(&s->sys, m->device);
}

static void tear_down(struct xfp_session *s, struct migration *m)
{
    xfp_managed_free(&s->sys, &m->memory);
    xfp_managed_free(&s->sys, &m->back);
    xfp_buffer_free(&s->sys, &m->sink);
    xfp_buffer_free(&s->sys, &m->peer_sink);
    xfp_unbind(&s->sys);
}

static int run_one_way(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    bool demand = bench->family->method == XFP_DEMAND, to_host = bench->dst.device < 0;
    struct migration m = {.name = path->name,
                          .device =
                              &s->sys.devices[to_host ? bench->src.device : bench->dst.device],
                          .from = bench->src.device,
                          .to = bench->dst.device,
                          .node = to_host ? bench->dst.numa : bench->src.numa};
    struct xfp_timed t = {.device = m.device,
                          .prepare = prepare,
                          .first = demand ? queue_touch : queue_prefetch,
                          .state = &m,
                          .gated = demand}; /* prefetching may wait for work queued before it */
    struct way way = {demand ? xfp_once_timed : once_prefetch, &t, demand && !to_host, !demand};
    int bad = set_up(s, &m, false);

    if (demand && to_host)
        way = (struct way){.once = once_host_touch, .state = &m};
    path->points = calloc(XFP_COARSE_ROOM, sizeof(*path->points));
    path->device_timed = !(demand && to_host);
    if (!bad && !path->points)
        bad = xfp_fail(&s->sys, "out of memory");
    if (!bad)
        bad = sweep(s, &m, &way, path, NULL);
    if (path->point_count)
        path->fit = xfp_fit_points(path->points, path->point_count, 0);
    tear_down(s, &m);
    return bad;
}

static int run_both(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    bool demand = bench->family->method == XFP_DEMAND;
    struct migration m = {.name = path->name,
                          .device = &s->sys.devices[bench->dst.device],
                          .from = bench->src.device,
                          .to = bench->dst.device,
                          .node = bench->src.numa};
    struct xfp_timed t = {.device = m.device,
                          .prepare = prepare,
                          .first = queue_prefetch,
                          .second = queue_back,
                          .state = &m};
    struct way way = {.once = xfp_once_timed, .state = &t};
    struct xfp_rows rows = {0};
    int bad = set_up(s, &m, true);

    if (demand)
        way = (struct way){.once = once_both_touch, .state = &m, .kernel = true};
    if (!bad)
        bad = xfp_check(&s->sys, s->sys.cu->cuStreamCreate(&t.other, 1), "cuStreamCreate");
    if (!bad)
        bad = sweep(s, &m, &way, NULL, &rows);
    if (t.other)
        s->sys.cu->cuStreamDestroy(t.other);
    tear_down(s, &m);
    return xfp_add_table(s, &rows, bench->family->by, 0, "%s", path->name) || bad ? -1 : 0;
}

/* Between devices: node is -1. */
static void add(struct xfp_session *s, struct xfp_bench_list *list, const struct xfp_family *family,
                int from, int to, int node)
{
    struct xfp_bench bench = {.family = family,
                              .direction = from < 0 ? XFT_DIR_H2D
                                           : to < 0 ? XFT_DIR_D2H
                                                    : XFT_DIR_P2P,
                              .src = {XFT_MEM_MANAGED, from, from < 0 ? node : -1},
                              .dst = {XFT_MEM_MANAGED, to, to < 0 ? node : -1}};
    const char *method = xfp_method_word(family->method);
    char where[XFP_NODE_TEXT];

    if (from >= 0 && to >= 0)
        snprintf(bench.name, sizeof(bench.name), "%s/managed/p2p/gpu%d-gpu%d", method, from, to);
    else
        snprintf(bench.name, sizeof(bench.name), "%s/managed/%s/%sgpu%d", method,
                 from < 0 ? "h2d" : "d2h", xfp_node_text(s, node, where), from < 0 ? to : from);
    xfp_bench_add(list, &bench);
}

static void enumerate(struct xfp_session *s, const struct xfp_family *family,
                      struct xfp_bench_list *list)
{
    int nodes[XFP_MOST_NODES];
    size_t count = xfp_host_nodes(s, nodes, XFP_MOST_NODES);

    for (size_t i = 0; i < s->sys.device_count; i++) {
        int device = s->sys.devices[i].ordinal;

        if (!xfp_has_sizes(s, LEAST, MOST) || !xfp_managed_applies(&s->sys, device))
            continue;
        for (size_t n = 0; n < count; n++) {
            add(s, list, family, XFP_HOST, device, s->sys.numa_count > 1 ? nodes[n] : -1);
            add(s, list, family, device, XFP_HOST, s->sys.numa_count > 1 ? nodes[n] : -1);
        }
        for (size_t j = 0; j < s->sys.device_count; j++)
            if (j != i && xfp_managed_applies(&s->sys, s->sys.devices[j].ordinal))
                add(s, list, family, device, s->sys.devices[j].ordinal, -1);
    }
}

static void add_both(struct xfp_session *s, struct xfp_bench_list *list,
                     const struct xfp_family *family, int from, int to, int node)
{
    struct xfp_bench bench = {.family = family,
                              .direction = from < 0 ? XFT_DIR_H2D : XFT_DIR_P2P,
                              .src = {XFT_MEM_MANAGED, from, node},
                              .dst = {XFT_MEM_MANAGED, to, -1}};
    char first[XFP_NODE_TEXT];

    if (from >= 0)
        snprintf(first, sizeof(first), "gpu%d-", from);
    else
        xfp_node_text(s, node, first);
    snprintf(bench.name, sizeof(bench.name), "both-ways/%s/managed/%sgpu%d",
             xfp_method_word(family->method), first, to);
    xfp_bench_add(list, &bench);
}

static void enumerate_both(struct xfp_session *s, const struct xfp_family *family,
                           struct xfp_bench_list *list)
{
    int nodes[XFP_MOST_NODES];
    size_t count = xfp_host_nodes(s, nodes, XFP_MOST_NODES);

    for (size_t i = 0; i < s->sys.device_count; i++) {
        int device = s->sys.devices[i].ordinal;

        if (!xfp_has_sizes(s, LEAST, MOST) || !xfp_managed_applies(&s->sys, device))
            continue;
        for (size_t n = 0; n < count; n++)
            add_both(s, list, family, XFP_HOST, device, s->sys.numa_count > 1 ? nodes[n] : -1);
        for (size_t j = i + 1; j < s->sys.device_count; j++)
            if (xfp_managed_applies(&s->sys, s->sys.devices[j].ordinal))
                add_both(s, list, family, device, s->sys.devices[j].ordinal, -1);
    }
}

#define NEEDS (XFP_NEED_KERNELS | XFP_NEED_MIGRATION)

const struct xfp_family xfp_family_demand = {
    .name = "demand",
    .summary = "managed memory migrating on access by a kernel or by one thread of the host",
    .names =
        {
            {"demand/managed/{h2d,d2h}/[nodeN-]gpuN", NULL},
            {"demand/managed/p2p/gpuN-gpuM", NULL},
        },
    .part = XFP_PART_PATHS,
    .needs = NEEDS,
    .method = XFP_DEMAND,
    .budget_s = 1.0,
    .quick_budget_s = 0.12,
    .enumerate = enumerate,
    .run = run_one_way,
};

const struct xfp_family xfp_family_prefetch = {
    .name = "prefetch",
    .summary = "managed memory migrating by prefetch",
    .names =
        {
            {"prefetch/managed/{h2d,d2h}/[nodeN-]gpuN", NULL},
            {"prefetch/managed/p2p/gpuN-gpuM", NULL},
        },
    .part = XFP_PART_PATHS,
    .needs = NEEDS,
    .method = XFP_PREFETCH,
    .budget_s = 1.0,
    .quick_budget_s = 0.12,
    .enumerate = enumerate,
    .run = run_one_way,
};

const struct xfp_family xfp_family_demand_both = {
    .name = "demand-both",
    .summary = "managed memory migrating on access in both directions at the same time",
    .names =
        {
            {"both-ways/demand/managed/[nodeN-]gpuN", "a kernel touches managed memory of the host "
                                                      "while the host touches some of the device"},
            {"both-ways/demand/managed/gpuN-gpuM",
             "kernels of both devices, each touching managed memory of the other"},
        },
    .part = XFP_PART_TABLES,
    .by = XFP_BY_BYTES_EACH_WAY,
    .needs = NEEDS,
    .method = XFP_DEMAND,
    .budget_s = 1.0,
    .quick_budget_s = 0.12,
    .enumerate = enumerate_both,
    .run = run_both,
};

const struct xfp_family xfp_family_prefetch_both = {
    .name = "prefetch-both",
    .summary = "managed memory migrating by prefetch in both directions at the same time",
    .names =
        {
            {"both-ways/prefetch/managed/[nodeN-]gpuN",
             "prefetching in both directions between host and device"},
            {"both-ways/prefetch/managed/gpuN-gpuM",
             "prefetching in both directions between two devices"},
        },
    .part = XFP_PART_TABLES,
    .by = XFP_BY_BYTES_EACH_WAY,
    .needs = NEEDS,
    .method = XFP_PREFETCH,
    .budget_s = 1.0,
    .quick_budget_s = 0.12,
    .enumerate = enumerate_both,
    .run = run_both,
};
