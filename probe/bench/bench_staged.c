/*
 * Copies between two GPUs without peer access, through pinned host buffers, as rCUDA does them
 * between nodes (Reano and Silla, section 4): version 2B (one buffer as large as the copy, first
 * all of it out, then all of it in), 3B (chunks through a ring of buffers, reading and writing
 * overlapped), the grid of rings, 4B (the best ring for each size) and the hybrid rule; against
 * cuMemcpyPeerAsync. Between two GPUs of one host a buffer is the intermediate buffer of both
 * sides: there is no network step, and the limit is the slower of the two PCIe links.
 *
 * Chunks leave the source on one stream and enter the destination on another, so that both copy
 * engines work at go; an event per buffer says when it is full, another when it is empty again.
 * All times are a blocking caller's, since submitting is a part of the method's cost.
 */
#include "probe/bench/bench.h"
#include "probe/device/buffer.h"
#include "probe/measure/budget.h"
#include "probe/profile/profile_sections.h"
#include "probe/progress.h"
#include "probe/measure/sample.h"
#include "probe/measure/sizes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_BUFFERS = XFP_MOST_BUFFERS,
    STREAMS = 2, /* on each side, alternating: events of one are processed while the other copies */
    MOST_CHECKED_BYTES = 4 << 20,
    MOST_CELLS = XFP_MOST_CELLS,
};

struct stage {
    struct xfp_device *from, *to;
    struct xfp_buffer src, dst, ring;     /* ring: pinned, cut into buffers, or used whole by 2B */
    xcu_stream out[STREAMS], in[STREAMS]; /* of from, of to */
    xcu_event full[MOST_BUFFERS], empty[MOST_BUFFERS];
    /* what is measured now */
    size_t bytes, buffer_bytes, buffers, streams;
    size_t most; /* what src and dst hold */
};

static xcu_result make_current(struct xfp_session *s, const struct xfp_device *d)
{
    return s->sys.cu->cuCtxSetCurrent(d->context);
}

/* Queues one chunk from the source into its buffer, once that is empty, and from there to the
 * destination. */
static xcu_result queue_chunk(struct xfp_session *s, struct stage *g, size_t chunk, size_t bytes)
{
    const struct xfp_driver *cu = s->sys.cu;
    size_t offset = chunk * g->buffer_bytes, slot = chunk % g->buffers;
    unsigned char *buffer = g->ring.host + slot * g->buffer_bytes;
    xcu_stream out = g->out[chunk % g->streams], in = g->in[chunk % g->streams];
    xcu_result result = make_current(s, g->from);

    if (!result && chunk >= g->buffers)
        result = cu->cuStreamWaitEvent(out, g->empty[slot], 0);
    if (!result)
        result = cu->cuMemcpyDtoHAsync(buffer, g->src.address + offset, bytes, out);
    if (!result)
        result = cu->cuEventRecord(g->full[slot], out);
    if (!result)
        result = make_current(s, g->to);
    if (!result)
        result = cu->cuStreamWaitEvent(in, g->full[slot], 0);
    if (!result)
        result = cu->cuMemcpyHtoDAsync(g->dst.address + offset, buffer, bytes, in);
    if (!result)
        result = cu->cuEventRecord(g->empty[slot], in);
    return result;
}

/* 2B is the ring of one buffer as large as the copy. */
static int copy_staged(struct xfp_session *s, void *what, double *ns)
{
    struct stage *g = what;
    uint64_t before = xfp_driver_now_ns(s->sys.cu);
    xcu_result result = XCU_SUCCESS, done = XCU_SUCCESS;

    for (size_t chunk = 0, at = 0; at < g->bytes && !result; chunk++, at += g->buffer_bytes)
        result = queue_chunk(s, g, chunk,
                             g->bytes - at < g->buffer_bytes ? g->bytes - at : g->buffer_bytes);
    for (size_t i = 0; i < g->streams && !done; i++)
        done = s->sys.cu->cuStreamSynchronize(g->in[i]);
    *ns = (double)(xfp_driver_now_ns(s->sys.cu) - before);
    for (size_t i = 0; i < g->streams && !done; i++)
        done = s->sys.cu->cuStreamSynchronize(g->out[i]);
    return xfp_check(&s->sys, result ? result : done, "copying through the host");
}

static int copy_peer(struct xfp_session *s, void *what, double *ns)
{
    struct stage *g = what;
    uint64_t before = xfp_driver_now_ns(s->sys.cu);
    xcu_result result = make_current(s, g->from), done;

    if (!result)
        result = s->sys.cu->cuMemcpyPeerAsync(g->dst.address, g->to->context, g->src.address,
                                              g->from->context, g->bytes, g->out[0]);
    done = s->sys.cu->cuStreamSynchronize(g->out[0]);
    *ns = (double)(xfp_driver_now_ns(s->sys.cu) - before);
    return xfp_check(&s->sys, result ? result : done, "copying between the GPUs");
}

/* Times one way of copying g->bytes, the median is 0 when interrupted; checks the data if asked. */
static int measure(struct xfp_session *s, struct stage *g, xfp_once *go, uint64_t slice, bool check,
                   double *ns, struct xfp_spread *spread)
{
    struct xfp_point point = {0};

    check = check && s->sys.verify;
    if (check && xfp_buffer_clear(&s->sys, &g->dst, g->bytes))
        return -1;
    if (xfp_repeat(s, go, g, slice, &point))
        return -1;
    *ns = point.n ? point.median_ns : 0;
    *spread = xfp_spread_of(&point);
    return check ? xfp_buffer_verify(&s->sys, &g->dst, &g->src, g->bytes) : 0;
}

/* Checking takes longer than copying: for large copies only the data of the chosen ring is checked.
 */
static int check_chosen(struct xfp_session *s, struct stage *g, const struct xfp_staged_point *p)
{
    double ns;

    if (!s->sys.verify || p->bytes <= MOST_CHECKED_BYTES || !(p->adaptive_ns > 0))
        return 0;
    g->streams = p->streams;
    g->buffer_bytes = p->buffer_bytes;
    g->buffers = p->buffers;
    if (xfp_buffer_clear(&s->sys, &g->dst, g->bytes) || copy_staged(s, g, &ns))
        return -1;
    return xfp_buffer_verify(&s->sys, &g->dst, &g->src, g->bytes);
}

static void use_ring(struct stage *g, size_t bytes, size_t buffer_bytes, size_t buffers)
{
    g->bytes = bytes;
    g->buffer_bytes = buffer_bytes;
    g->buffers = buffers;
    g->streams = 1;
}

/* The chosen ring again, with the chunks on two streams alternately. */
static int try_two_streams(struct xfp_session *s, struct stage *g, uint64_t slice,
                           struct xfp_staged_point *p)
{
    struct xfp_spread spread;
    double ns = 0;

    if (p->buffer_bytes >= p->bytes)
        return 0;
    use_ring(g, p->bytes, p->buffer_bytes, p->buffers);
    g->streams = STREAMS;
    if (measure(s, g, copy_staged, slice, p->bytes <= MOST_CHECKED_BYTES, &ns, &spread))
        return -1;
    if (ns > 0 && ns < p->adaptive_ns) {
        p->adaptive_ns = ns;
        p->adaptive = spread;
        p->streams = STREAMS;
    }
    return 0;
}

/* Fills the cells of one size and picks 4B from them. */
static int measure_grid(struct xfp_session *s, struct stage *g, struct xfp_staged_cell *cells,
                        size_t count, uint64_t slice, struct xfp_staged_point *p)
{
    for (size_t i = 0; i < count; i++) {
        struct xfp_staged_cell *cell = &cells[i];

        use_ring(g, cell->bytes, cell->buffer_bytes, cell->buffers);
        if (measure(s, g, copy_staged, slice, cell->bytes <= MOST_CHECKED_BYTES, &cell->median_ns,
                    &cell->spread))
            return -1;
        if (!(cell->median_ns > 0))
            return 0; /* interrupted */
        if (!i || cell->median_ns < p->adaptive_ns) {
            p->adaptive_ns = cell->median_ns;
            p->adaptive = cell->spread;
            p->buffers = cell->buffers;
            p->buffer_bytes = cell->buffer_bytes;
        }
    }
    p->streams = 1;
    return try_two_streams(s, g, slice, p);
}

/* One size, all versions. cells: room for MOST_CELLS; how many were measured comes back. */
static int measure_size(struct xfp_session *s, struct stage *g, size_t bytes, uint64_t slice,
                        struct xfp_staged_cell *cells, size_t *count, struct xfp_staged_point *p)
{
    int bad;

    *p = (struct xfp_staged_point){.bytes = bytes};
    *count = xfp_list_rings(s->options->quick, bytes, cells);
    use_ring(g, bytes, bytes, 1);
    bad = measure(s, g, copy_peer, slice / 8, true, &p->peer_ns, &p->peer);
    if (!bad)
        bad = measure(s, g, copy_staged, slice / 8, true, &p->unpipelined_ns, &p->unpipelined);
    use_ring(g, bytes, XFP_STAGED_BUFFER_BYTES, XFP_STAGED_BUFFERS);
    if (!bad)
        bad = measure(s, g, copy_staged, slice / 8, true, &p->pipelined_ns, &p->pipelined);
    if (!bad)
        bad = measure_grid(s, g, cells, *count, slice / 2 / (*count + 1), p);
    return bad ? bad : check_chosen(s, g, p);
}

static bool complete(const struct xfp_staged_point *p)
{
    return p->peer_ns > 0 && p->unpipelined_ns > 0 && p->pipelined_ns > 0 && p->adaptive_ns > 0;
}

static int sweep(struct xfp_session *s, struct stage *g, struct xfp_staged *result)
{
    uint64_t sizes[64];
    size_t count = xfp_sweep_sizes(s->options, sizes, 64), cells;
    int bad = 0;

    result->points = calloc(count, sizeof(*result->points));
    result->cells = calloc(count * MOST_CELLS, sizeof(*result->cells));
    if (!result->points || !result->cells)
        return xfp_fail(&s->sys, "out of memory");
    for (size_t i = 0; i < count && sizes[i] <= g->most && !bad; i++) {
        struct xfp_staged_point *p = &result->points[result->point_count];

        if (xfp_interrupted())
            break;
        xfp_progress(s, result->name, sizes[i]);
        bad = measure_size(s, g, sizes[i], xfp_share_ns(s, count - i),
                           &result->cells[result->cell_count], &cells, p);
        if (bad || !complete(p))
            break;
        result->point_count++;
        result->cell_count += cells;
    }
    result->hybrid_bytes = xfp_hybrid_bytes(result->points, result->point_count);
    return bad;
}

static int open_streams(struct xfp_session *s, struct xfp_device *d, xcu_stream *streams,
                        xcu_event *events)
{
    const unsigned int non_blocking = 1, no_timing = 2;

    if (xfp_device_open(&s->sys, d))
        return -1;
    for (size_t i = 0; i < STREAMS; i++)
        if (xfp_check(&s->sys, s->sys.cu->cuStreamCreate(&streams[i], non_blocking),
                      "cuStreamCreate"))
            return -1;
    for (size_t i = 0; i < MOST_BUFFERS; i++)
        if (xfp_check(&s->sys, s->sys.cu->cuEventCreate(&events[i], no_timing), "cuEventCreate"))
            return -1;
    return 0;
}

static void close_streams(struct xfp_session *s, struct xfp_device *d, xcu_stream *streams,
                          xcu_event *events)
{
    if (!d->context || make_current(s, d))
        return;
    for (size_t i = 0; i < MOST_BUFFERS; i++)
        if (events[i])
            s->sys.cu->cuEventDestroy(events[i]);
    for (size_t i = 0; i < STREAMS; i++)
        if (streams[i])
            s->sys.cu->cuStreamDestroy(streams[i]);
}

/* The ring is on the node of the source GPU, which writes it; 2B needs it as large as the copy. */
static int open_buffers(struct xfp_session *s, struct stage *g, const struct xfp_bench *bench)
{
    struct xfp_place host = {XFT_MEM_PINNED, -1, -1};
    size_t most = s->sys.most_bytes, least = s->options->min_bytes;
    size_t ring;

    if (s->sys.numa_count > 1)
        host.numa = s->profile->machine.gpus[g->from->ordinal].numa;
    if (xfp_buffer_make_fitting(&s->sys, g->from, bench->src, least, &most, &g->src) ||
        xfp_buffer_make_fitting(&s->sys, g->to, bench->dst, least, &most, &g->dst))
        return -1;
    g->most = most;
    ring = xfp_ring_bytes(s->options->quick, most);
    return xfp_buffer_make(&s->sys, g->from, host, ring, &g->ring) ||
           xfp_buffer_fill(&s->sys, &g->src, most);
}

static int run(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    struct stage g = {.from = &s->sys.devices[bench->src.device],
                      .to = &s->sys.devices[bench->dst.device]};
    struct xfp_staged result = {.name = strdup(bench->name),
                                .src_device = bench->src.device,
                                .dst_device = bench->dst.device};
    int bad = open_streams(s, g.to, g.in, g.empty) || open_streams(s, g.from, g.out, g.full) ||
              open_buffers(s, &g, bench);

    if (!bad && result.name)
        bad = sweep(s, &g, &result);
    close_streams(s, g.from, g.out, g.full);
    close_streams(s, g.to, g.in, g.empty);
    xfp_buffer_free(&s->sys, &g.src);
    xfp_buffer_free(&s->sys, &g.dst);
    xfp_buffer_free(&s->sys, &g.ring);
    xfp_unbind(&s->sys);
    if (result.name && result.point_count) {
        if (xfp_add_staged(s->profile, &result))
            return xfp_fail(&s->sys, "out of memory");
        s->results++;
        return bad ? -1 : 0;
    }
    free(result.name);
    free(result.points);
    free(result.cells);
    return bad ? -1 : 0;
}

static void enumerate(struct xfp_session *s, const struct xfp_family *family,
                      struct xfp_bench_list *list)
{
    for (size_t i = 0; i < s->sys.device_count; i++)
        for (size_t j = 0; j < s->sys.device_count; j++) {
            struct xfp_bench bench = {.family = family,
                                      .direction = XFT_DIR_P2P,
                                      .src = {XFT_MEM_DEVICE, s->sys.devices[i].ordinal, -1},
                                      .dst = {XFT_MEM_DEVICE, s->sys.devices[j].ordinal, -1}};

            if (i == j)
                continue;
            snprintf(bench.name, sizeof(bench.name), "staged/p2p/gpu%d-gpu%d", bench.src.device,
                     bench.dst.device);
            xfp_bench_add(list, &bench);
        }
}

const struct xfp_family xfp_family_staged_copy = {
    .name = "staged-copy",
    .summary = "copies between devices through pinned host buffers: rCUDA's versions 2B, 3B and 4B",
    .names =
        {
            {"staged/p2p/gpuN-gpuM", NULL},
        },
    .part = XFP_PART_STAGED,
    .needs = XFP_NEED_TWO_GPUS,
    .method = XFP_COPY,
    .budget_s = 4,
    .quick_budget_s = 0.6,
    .enumerate = enumerate,
    .run = run,
};
