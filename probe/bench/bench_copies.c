/*
 * Many small copies, by their number: one call each, all in one batch call, as nodes of a graph,
 * packed into one copy. Host clock, from the first call until all data has arrived.
 */
#include "probe/bench/bench.h"
#include "probe/device/buffer.h"
#include "probe/measure/budget.h"
#include "probe/measure/results.h"
#include "probe/progress.h"
#include "probe/measure/sample.h"

#include <stdio.h>
#include <stdlib.h>

enum { EACH = 4096, APART = 2 * EACH, MOST_COPIES = 1024 };

struct batch {
    struct xfp_device *device;
    struct xfp_buffer src, dst; /* copy i lies at i * APART */
    bool to_device;
    size_t count;
    xcu_deviceptr *sources, *destinations;
    size_t *sizes;
    xcu_graph_exec graph;
};

static xcu_result copy_at(struct xfp_session *s, const struct batch *b, size_t at, size_t bytes)
{
    xcu_stream stream = b->device->stream;

    return b->to_device
               ? s->sys.cu->cuMemcpyHtoDAsync(b->dst.address + at, b->src.host + at, bytes, stream)
               : s->sys.cu->cuMemcpyDtoHAsync(b->dst.host + at, b->src.address + at, bytes, stream);
}

static xcu_result submit_single(struct xfp_session *s, const struct batch *b)
{
    xcu_result result = XCU_SUCCESS;

    for (size_t i = 0; i < b->count && !result; i++)
        result = copy_at(s, b, i * APART, EACH);
    return result;
}

static xcu_result submit_batch(struct xfp_session *s, const struct batch *b)
{
    struct xcu_copy_attributes in_order = {.access_order = 1};
    size_t first = 0, failed = 0;

    return s->sys.cu->cuMemcpyBatchAsync(b->destinations, b->sources, b->sizes, b->count, &in_order,
                                         &first, 1, &failed, b->device->stream);
}

static xcu_result submit_graph(struct xfp_session *s, const struct batch *b)
{
    return s->sys.cu->cuGraphLaunch(b->graph, b->device->stream);
}

static xcu_result submit_packed(struct xfp_session *s, const struct batch *b)
{
    return copy_at(s, b, 0, b->count * EACH);
}

static const struct {
    const char *word;
    xcu_result (*submit)(struct xfp_session *s, const struct batch *b);
} ways[] = {
    {"single", submit_single},
    {"batch", submit_batch},
    {"graph", submit_graph},
    {"packed", submit_packed},
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

struct batch_go {
    struct batch *batch;
    int way;
};

static int once(struct xfp_session *s, void *state, double *ns)
{
    const struct batch_go *go = state;
    const struct batch *b = go->batch;
    uint64_t before;
    xcu_result result;

    xfp_flush_buffer(&s->sys, b->to_device ? &b->src : &b->dst, b->count * APART);
    before = xfp_driver_now_ns(s->sys.cu);
    result = ways[go->way].submit(s, b);
    if (!result)
        result = s->sys.cu->cuStreamSynchronize(go->batch->device->stream);
    *ns = (double)(xfp_driver_now_ns(s->sys.cu) - before);
    return xfp_check(&s->sys, result, "copying");
}

/* Captures the copies, queued in one stream, as a graph. */
static int make_graph(struct xfp_session *s, struct batch *b)
{
    const int relaxed = 2;
    xcu_graph graph = NULL;
    xcu_result result = s->sys.cu->cuStreamBeginCapture(b->device->stream, relaxed), ended;

    if (xfp_check(&s->sys, result, "capturing a graph"))
        return -1;
    result = submit_single(s, b);
    ended = s->sys.cu->cuStreamEndCapture(b->device->stream, &graph);
    if (!result)
        result = ended;
    if (!result)
        result = s->sys.cu->cuGraphInstantiateWithFlags(&b->graph, graph, 0);
    if (graph)
        s->sys.cu->cuGraphDestroy(graph);
    return xfp_check(&s->sys, result, "making a graph");
}

static int verify(struct xfp_session *s, const struct batch *b, int way)
{
    size_t apart = ways[way].submit == submit_packed ? EACH : APART;
    const unsigned char *got = b->to_device ? s->sys.check : b->dst.host;

    if (b->to_device &&
        xfp_check(&s->sys, s->sys.cu->cuMemcpyDtoH(s->sys.check, b->dst.address, b->count * APART),
                  "verifying"))
        return -1;
    for (size_t i = 0; i < b->count; i++)
        for (size_t j = 0; j < EACH; j++)
            if (got[i * apart + j] != s->sys.pattern[i * apart + j])
                return xfp_fail(&s->sys, "wrong data after %zu copies: copy %zu, byte %zu",
                                b->count, i, j);
    return 0;
}

static int measure_count(struct xfp_session *s, struct batch *b, int way, uint64_t budget_ns,
                         struct xfp_stats *stats)
{
    struct batch_go go = {b, way};
    int bad = 0;

    if (s->sys.verify)
        bad = xfp_buffer_clear(&s->sys, &b->dst, b->count * APART);
    if (!bad)
        bad = xfp_device_open(&s->sys, b->device);
    if (!bad && ways[way].submit == submit_graph)
        bad = make_graph(s, b);
    if (!bad)
        bad = xfp_sample(s, once, &go, budget_ns, stats, 1);
    if (b->graph)
        s->sys.cu->cuGraphExecDestroy(b->graph);
    b->graph = NULL;
    return bad || (s->sys.verify && verify(s, b, way)) ? -1 : 0;
}

static xcu_deviceptr address_of(const struct xfp_buffer *b)
{
    return b->host ? (xcu_deviceptr)(uintptr_t)b->host : b->address;
}

static int set_up(struct xfp_session *s, const struct xfp_bench *bench, struct batch *b)
{
    const size_t bytes = (size_t)MOST_COPIES * APART;

    b->sources = calloc(MOST_COPIES, sizeof(*b->sources));
    b->destinations = calloc(MOST_COPIES, sizeof(*b->destinations));
    b->sizes = calloc(MOST_COPIES, sizeof(*b->sizes));
    if (!b->sources || !b->destinations || !b->sizes)
        return xfp_fail(&s->sys, "out of memory");
    if (xfp_device_open(&s->sys, b->device) ||
        xfp_buffer_make(&s->sys, b->device, bench->src, bytes, &b->src) ||
        xfp_buffer_make(&s->sys, b->device, bench->dst, bytes, &b->dst) ||
        xfp_buffer_fill(&s->sys, &b->src, bytes))
        return -1;
    for (size_t i = 0; i < MOST_COPIES; i++) {
        b->sources[i] = address_of(&b->src) + i * APART;
        b->destinations[i] = address_of(&b->dst) + i * APART;
        b->sizes[i] = EACH;
    }
    return 0;
}

static int run(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    bool to_device = bench->direction == XFT_DIR_H2D;
    struct batch b = {.device = &s->sys.devices[to_device ? bench->dst.device : bench->src.device],
                      .to_device = to_device};
    struct xfp_rows rows = {0};
    int shift = s->options->quick ? 4 : 2, bad = set_up(s, bench, &b);

    for (b.count = 1; b.count <= MOST_COPIES && !bad && !xfp_interrupted(); b.count <<= shift) {
        struct xfp_stats stats;
        size_t left = 0;

        for (size_t count = b.count; count <= MOST_COPIES; count <<= shift)
            left++;
        xfp_progress(s, path->name, b.count * EACH);
        bad = measure_count(s, &b, bench->variant, xfp_share_ns(s, left), &stats);
        if (!bad)
            xfp_add_row(&rows, b.count, &stats);
    }
    xfp_buffer_free(&s->sys, &b.src);
    xfp_buffer_free(&s->sys, &b.dst);
    free(b.sources);
    free(b.destinations);
    free(b.sizes);
    xfp_unbind(&s->sys);
    return xfp_add_table(s, &rows, bench->family->by, EACH, "%s", path->name) || bad ? -1 : 0;
}

static bool applies(const struct xfp_session *s, int way)
{
    const struct xfp_driver *cu = s->sys.cu;

    if (ways[way].submit == submit_batch)
        return cu->cuMemcpyBatchAsync;
    if (ways[way].submit == submit_graph)
        return cu->cuStreamBeginCapture && cu->cuStreamEndCapture &&
               cu->cuGraphInstantiateWithFlags && cu->cuGraphLaunch && cu->cuGraphDestroy &&
               cu->cuGraphExecDestroy;
    return true;
}

static void enumerate(struct xfp_session *s, const struct xfp_family *family,
                      struct xfp_bench_list *list)
{
    for (size_t d = 0; d < s->sys.device_count; d++)
        for (int way = 0; way < WAYS; way++)
            for (int back = 0; back < 2; back++) {
                struct xfp_place host = {XFT_MEM_PINNED, -1, -1};
                struct xfp_place device = {XFT_MEM_DEVICE, s->sys.devices[d].ordinal, -1};
                struct xfp_bench bench = {.family = family,
                                          .direction = back ? XFT_DIR_D2H : XFT_DIR_H2D,
                                          .variant = way,
                                          .src = back ? device : host,
                                          .dst = back ? host : device};

                snprintf(bench.name, sizeof(bench.name), "copies/%s/%s/gpu%d", ways[way].word,
                         back ? "d2h" : "h2d", device.device);
                if (applies(s, way))
                    xfp_bench_add(list, &bench);
            }
}

const struct xfp_family xfp_family_copies = {
    .name = "copies",
    .summary = "1 to 1024 copies of 4 KiB: a call each, one batch call (CUDA 12.8), a graph, "
               "packed into one copy",
    .names =
        {
            {"copies/{single,batch,graph,packed}/{h2d,d2h}/gpuN",
             "that many copies of `bytes` each, until all data is there: a call each, one `batch` "
             "call, one launch of a `graph`, `packed` into one copy"},
        },
    .part = XFP_PART_TABLES,
    .by = XFP_BY_COPIES,
    .bytes = EACH,
    .from_bytes = (uint64_t)MOST_COPIES * APART,
    .method = XFP_COPY,
    .budget_s = 0.25,
    .quick_budget_s = 0.05,
    .enumerate = enumerate,
    .run = run,
};
