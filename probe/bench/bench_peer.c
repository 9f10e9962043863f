/*
 * Transfers of several GPUs at the same time: both directions between two of them, with and
 * without peer access (Comm|Scope's Table 1, "both ways"), and pinned copies from one host to, and
 * to one host from, several of them.
 *
 * All flows wait for an event behind the first one's gate, and the first stream waits for the
 * others' ends, so that the time runs from the first start to the last end on one GPU's clock.
 * Without peer access the driver takes part in the copy and may wait while submitting: then the
 * host's clock is read from the first submission until all have ended.
 */
#include "probe/bench/bench_peer.h"
#include "probe/bench/bench.h"
#include "probe/device/launch.h"
#include "probe/measure/budget.h"
#include "probe/measure/measure.h"
#include "probe/profile/profile_sections.h"
#include "probe/progress.h"
#include "probe/measure/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FLOWS = 16, LEAST_BYTES = 64 << 10, STEP = 4 };

struct flow {
    struct xfp_copy copy;
    struct xfp_buffer src, dst;
    xcu_stream stream; /* of copy.device */
    xcu_event end;
};

struct group {
    struct flow flows[MOST_FLOWS];
    size_t count, bytes, most;
    xcu_event start, finish; /* of the first flow's device */
    bool gated;
};

static xcu_result queue_flow(struct xfp_session *s, struct group *g, size_t i)
{
    struct flow *f = &g->flows[i];
    xcu_result result = s->sys.cu->cuCtxSetCurrent(f->copy.device->context);

    if (!result && i)
        result = s->sys.cu->cuStreamWaitEvent(f->stream, g->start, 0);
    if (!result)
        result = xfp_submit_part(s->sys.cu, &f->copy, 0, g->bytes, f->stream);
    return result ? result : s->sys.cu->cuEventRecord(f->end, f->stream);
}

static xcu_result queue_group(struct xfp_session *s, struct group *g)
{
    const struct xfp_driver *cu = s->sys.cu;
    struct flow *first = &g->flows[0];
    xcu_result result = cu->cuCtxSetCurrent(first->copy.device->context);

    if (!result && g->gated)
        result = xfp_submit_lead(cu, &first->copy, g->bytes, first->stream);
    if (!result)
        result = cu->cuEventRecord(g->start, first->stream);
    for (size_t i = 0; i < g->count && !result; i++)
        result = queue_flow(s, g, i);
    if (!result)
        result = cu->cuCtxSetCurrent(first->copy.device->context);
    for (size_t i = 1; i < g->count && !result; i++)
        result = cu->cuStreamWaitEvent(first->stream, g->flows[i].end, 0);
    return result ? result : cu->cuEventRecord(g->finish, first->stream);
}

static int run_group(struct xfp_session *s, void *what, double *ns)
{
    struct group *g = what;
    struct xfp_device *d = g->flows[0].copy.device;
    xcu_result result, done = XCU_SUCCESS;
    uint64_t before;
    float ms = 0;

    for (size_t i = 0; i < g->count; i++)
        xfp_flush_copy(s, &g->flows[i].copy, g->bytes);
    before = xfp_driver_now_ns(s->sys.cu);
    s->sys.cu->cuCtxSetCurrent(d->context);
    if (g->gated && xfp_gate_close(&s->sys, d))
        return -1;
    result = queue_group(s, g);
    if (g->gated)
        xfp_gate_open(d);
    for (size_t i = 0; i < g->count && !done; i++)
        done = s->sys.cu->cuStreamSynchronize(g->flows[i].stream);
    *ns = (double)(xfp_driver_now_ns(s->sys.cu) - before);
    if (!result && !done && g->gated) {
        done = s->sys.cu->cuEventElapsedTime(&ms, g->start, g->finish);
        *ns = xfp_gate_held(d) ? (double)ms * 1e6 : 0;
    }
    return xfp_check(&s->sys, result ? result : done, "copying at the same time");
}

static int verify_group(struct xfp_session *s, struct group *g)
{
    int bad = 0;

    for (size_t i = 0; i < g->count && !bad && s->sys.verify; i++) {
        struct flow *f = &g->flows[i];

        bad = xfp_buffer_verify(&s->sys, &f->dst, f->src.host ? &f->dst : &f->src, g->bytes);
    }
    return bad;
}

static int measure_size(struct xfp_session *s, struct group *g, struct xfp_point *point)
{
    g->bytes = point->bytes;
    for (size_t i = 0; i < g->count && s->sys.verify; i++)
        if (xfp_buffer_clear(&s->sys, &g->flows[i].dst, g->bytes))
            return -1;
    if (xfp_repeat(s, run_group, g, xfp_share_ns(s, 4), point))
        return -1;
    return verify_group(s, g);
}

static int sweep(struct xfp_session *s, struct group *g, struct xfp_concurrent *result)
{
    uint64_t bytes = LEAST_BYTES;
    int bad = 0;

    result->points = calloc(32, sizeof(*result->points));
    if (!result->points)
        return xfp_fail(&s->sys, "out of memory");
    while (bytes < s->options->min_bytes)
        bytes *= STEP;
    for (; bytes <= g->most && !bad && !xfp_interrupted(); bytes *= STEP) {
        struct xfp_point *point = &result->points[result->point_count];

        xfp_progress(s, result->name, bytes);
        point->bytes = bytes;
        bad = measure_size(s, g, point);
        result->point_count += !bad && point->n;
    }
    return bad;
}

static int open_flow(struct xfp_session *s, struct group *g, const struct xfp_flow *way,
                     struct flow *f)
{
    const unsigned int non_blocking = 1, no_timing = 2;
    int ordinal = way->src.device >= 0 ? way->src.device : way->dst.device;
    struct xfp_device *d = &s->sys.devices[ordinal];
    struct xfp_device *other = way->dst.device >= 0 ? &s->sys.devices[way->dst.device] : d;

    f->copy = (struct xfp_copy){.src = &f->src, .dst = &f->dst, .device = d};
    f->copy.peer = way->direction == XFT_DIR_P2P;
    if (xfp_device_open(&s->sys, other) || xfp_device_open(&s->sys, d) ||
        xfp_buffer_make_fitting(&s->sys, d, way->src, LEAST_BYTES, &g->most, &f->src) ||
        xfp_buffer_make_fitting(&s->sys, other, way->dst, LEAST_BYTES, &g->most, &f->dst))
        return -1;
    s->sys.cu->cuCtxSetCurrent(d->context);
    if (f == g->flows)
        f->stream = d->stream;
    else if (xfp_check(&s->sys, s->sys.cu->cuStreamCreate(&f->stream, non_blocking),
                       "cuStreamCreate"))
        return -1;
    return xfp_check(&s->sys, s->sys.cu->cuEventCreate(&f->end, no_timing), "cuEventCreate");
}

static int open_group(struct xfp_session *s, struct group *g, const struct xfp_concurrent *what)
{
    struct xfp_device *first;
    int bad = 0;

    g->most = s->sys.most_bytes;
    for (; g->count < what->flow_count && !bad; g->count++)
        bad = open_flow(s, g, &what->flows[g->count], &g->flows[g->count]);
    for (size_t i = 0; i < g->count && !bad; i++)
        bad = xfp_buffer_fill(&s->sys, &g->flows[i].src, g->most);
    if (bad || !g->count)
        return -1;
    first = g->flows[0].copy.device;
    s->sys.cu->cuCtxSetCurrent(first->context);
    g->gated = g->gated && first->gate;
    return xfp_check(&s->sys, s->sys.cu->cuEventCreate(&g->start, 0), "cuEventCreate") ||
           xfp_check(&s->sys, s->sys.cu->cuEventCreate(&g->finish, 0), "cuEventCreate");
}

static void close_group(struct xfp_session *s, struct group *g)
{
    for (size_t i = 0; i < g->count; i++) {
        struct flow *f = &g->flows[i];

        if (f->copy.device && f->copy.device->context)
            s->sys.cu->cuCtxSetCurrent(f->copy.device->context);
        if (f->end)
            s->sys.cu->cuEventDestroy(f->end);
        if (i && f->stream)
            s->sys.cu->cuStreamDestroy(f->stream);
        xfp_buffer_free(&s->sys, &f->src);
        xfp_buffer_free(&s->sys, &f->dst);
    }
    if (g->start)
        s->sys.cu->cuEventDestroy(g->start);
    if (g->finish)
        s->sys.cu->cuEventDestroy(g->finish);
    xfp_unbind(&s->sys);
}

/* ---- which groups there are ----------------------------------------------------------------- */

static struct xfp_place on_device(const struct xfp_device *d)
{
    return (struct xfp_place){XFT_MEM_DEVICE, d->ordinal, -1};
}

/* The pinned memory next to that GPU. */
static struct xfp_place near_host(const struct xfp_session *s, int device)
{
    int node = s->sys.numa_count > 1 ? s->profile->machine.gpus[device].numa : s->sys.numa_nodes[0];

    return (struct xfp_place){XFT_MEM_PINNED, -1, node};
}

/* Two GPUs, both ways; or host copies of those two, or of all when the second is the first. */
static size_t list_flows(const struct xfp_session *s, const struct xfp_bench *bench,
                         struct xfp_flow *flows)
{
    int a = bench->src.device, b = bench->dst.device;
    bool all = a == b;
    size_t count = 0;

    if (bench->direction == XFT_DIR_P2P) {
        flows[0] = (struct xfp_flow){XFT_DIR_P2P, bench->src, bench->dst};
        flows[1] = (struct xfp_flow){XFT_DIR_P2P, bench->dst, bench->src};
        return 2;
    }
    for (size_t i = 0; i < s->sys.device_count && count < MOST_FLOWS; i++) {
        int ordinal = s->sys.devices[i].ordinal;
        struct xfp_place host = near_host(s, ordinal), device = on_device(&s->sys.devices[i]);
        bool in = bench->direction == XFT_DIR_H2D;

        if (all || ordinal == a || ordinal == b)
            flows[count++] =
                (struct xfp_flow){bench->direction, in ? host : device, in ? device : host};
    }
    return count;
}

static int run(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    struct xfp_device *a = &s->sys.devices[bench->src.device],
                      *b = &s->sys.devices[bench->dst.device];
    bool between = bench->direction == XFT_DIR_P2P;
    struct group g = {.gated = !between || bench->peer_access};
    struct xfp_concurrent result = {.name = strdup(bench->name),
                                    .flows = calloc(MOST_FLOWS, sizeof(*result.flows))};
    int bad = !result.name || !result.flows ||
              (between && xfp_set_peer_access(s, a, b, bench->peer_access));

    if (!bad) {
        result.flow_count = list_flows(s, bench, result.flows);
        bad = open_group(s, &g, &result) || sweep(s, &g, &result);
        close_group(s, &g);
    }
    if (between && a->context && b->context)
        xfp_set_peer_access(s, a, b, false);
    if (result.point_count) {
        if (xfp_add_concurrent(s->profile, &result))
            return xfp_fail(&s->sys, "out of memory");
        s->results++;
        return bad ? -1 : 0;
    }
    free(result.name);
    free(result.flows);
    free(result.points);
    return bad ? -1 : 0;
}

static void add_between(struct xfp_session *s, struct xfp_bench bench, struct xfp_bench_list *list,
                        const struct xfp_device *a, const struct xfp_device *b)
{
    bench.direction = XFT_DIR_P2P;
    bench.src = on_device(a);
    bench.dst = on_device(b);
    for (int peer = xfp_can_access(&s->sys, a->ordinal, b->ordinal) &&
                    xfp_can_access(&s->sys, b->ordinal, a->ordinal);
         peer >= 0; peer--) {
        bench.peer_access = peer;
        snprintf(bench.name, sizeof(bench.name), "concurrent/%s/both/gpu%d-gpu%d",
                 peer ? "peer" : "no-peer", a->ordinal, b->ordinal);
        xfp_bench_add(list, &bench);
    }
}

/* First and second NULL: all GPUs. */
static void add_host(struct xfp_session *s, struct xfp_bench bench, struct xfp_bench_list *list,
                     const struct xfp_device *a, const struct xfp_device *b)
{
    char places[32] = "all";

    if (a)
        snprintf(places, sizeof(places), "gpu%d-gpu%d", a->ordinal, b->ordinal);
    bench.src = on_device(a ? a : &s->sys.devices[0]);
    bench.dst = on_device(b ? b : &s->sys.devices[0]);
    for (int back = 0; back < 2; back++) {
        bench.direction = back ? XFT_DIR_D2H : XFT_DIR_H2D;
        snprintf(bench.name, sizeof(bench.name), "concurrent/pinned/%s/%s", back ? "d2h" : "h2d",
                 places);
        xfp_bench_add(list, &bench);
    }
}

/* Pairs show which GPUs share a link; with two GPUs the pair is all GPUs. */
static void enumerate(struct xfp_session *s, const struct xfp_family *family,
                      struct xfp_bench_list *list)
{
    struct xfp_bench bench = {.family = family};

    for (size_t i = 0; i < s->sys.device_count; i++)
        for (size_t j = i + 1; j < s->sys.device_count; j++)
            add_between(s, bench, list, &s->sys.devices[i], &s->sys.devices[j]);
    add_host(s, bench, list, NULL, NULL);
    for (size_t i = 0; i < s->sys.device_count && s->sys.device_count > 2; i++)
        for (size_t j = i + 1; j < s->sys.device_count; j++)
            add_host(s, bench, list, &s->sys.devices[i], &s->sys.devices[j]);
}

const struct xfp_family xfp_family_concurrent = {
    .name = "concurrent",
    .summary = "copies of several GPUs at the same time: two in both directions; all, and every "
               "two, with the host",
    .names =
        {
            {"concurrent/{peer,no-peer}/both/gpuN-gpuM", NULL},
            {"concurrent/pinned/{h2d,d2h}/{all,gpuN-gpuM}", NULL},
        },
    .part = XFP_PART_CONCURRENT,
    .needs = XFP_NEED_TWO_GPUS,
    .from_bytes = LEAST_BYTES,
    .method = XFP_COPY,
    .budget_s = 1.5,
    .quick_budget_s = 0.2,
    .enumerate = enumerate,
    .run = run,
};
