/*
 * Uploads of page-locked memory that use the links of two GPUs: one half goes straight to its GPU,
 * the other one, in pieces, to a ring of buffers on another GPU, by that GPU's own link, and from
 * there to the first by peer access. Host clock, from the first submission until all has arrived.
 */
#include "probe/bench/bench.h"
#include "probe/bench/bench_peer.h"
#include "probe/device/buffer.h"
#include "probe/device/launch.h"
#include "probe/measure/budget.h"
#include "probe/measure/results.h"
#include "probe/measure/sample.h"
#include "probe/measure/sizes.h"
#include "probe/progress.h"

#include <stdio.h>

enum { SLOTS = 4, LEAST_PIECE = 256 << 10, MOST_PIECE = 4 << 20 };
#define LEAST ((uint64_t)1 << 20)
#define MOST ((uint64_t)256 << 20)

struct relay {
    struct xfp_device *to, *by;
    struct xfp_buffer src, dst, ring; /* the ring on `by` */
    xcu_stream hop;                   /* of `by`: what its own stream has brought goes on */
    xcu_event full[SLOTS], empty[SLOTS];
    size_t bytes, piece_bytes;
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* From the host into a slot that is empty, and from there to its destination. */
static xcu_result queue_piece(const struct xfp_driver *cu, struct relay *r, size_t piece, size_t at)
{
    size_t slot = piece % SLOTS, bytes = smaller(r->piece_bytes, r->bytes - at);
    xcu_deviceptr ring = r->ring.address + slot * MOST_PIECE;
    xcu_result result = XCU_SUCCESS;

    if (piece >= SLOTS)
        result = cu->cuStreamWaitEvent(r->by->stream, r->empty[slot], 0);
    if (!result)
        result = cu->cuMemcpyHtoDAsync(ring, r->src.host + at, bytes, r->by->stream);
    if (!result)
        result = cu->cuEventRecord(r->full[slot], r->by->stream);
    if (!result)
        result = cu->cuStreamWaitEvent(r->hop, r->full[slot], 0);
    if (!result)
        result = cu->cuMemcpyPeerAsync(r->dst.address + at, r->to->context, ring, r->by->context,
                                       bytes, r->hop);
    return result ? result : cu->cuEventRecord(r->empty[slot], r->hop);
}

static int upload(struct xfp_session *s, void *what, double *ns)
{
    const struct xfp_driver *cu = s->sys.cu;
    struct relay *r = what;
    size_t straight = r->bytes / 2;
    xcu_result result, done, there;
    uint64_t before;

    xfp_flush_buffer(&s->sys, &r->src, r->bytes);
    before = xfp_driver_now_ns(cu);
    result = cu->cuCtxSetCurrent(r->to->context);
    if (!result)
        result = cu->cuMemcpyHtoDAsync(r->dst.address, r->src.host, straight, r->to->stream);
    if (!result)
        result = cu->cuCtxSetCurrent(r->by->context);
    for (size_t piece = 0, at = straight; at < r->bytes && !result; piece++, at += r->piece_bytes)
        result = queue_piece(cu, r, piece, at);
    done = cu->cuStreamSynchronize(r->hop);
    there = cu->cuStreamSynchronize(r->to->stream);
    *ns = (double)(xfp_driver_now_ns(cu) - before);
    return xfp_check(&s->sys, result ? result : done ? done : there, "copying by two links");
}

static int measure_size(struct xfp_session *s, struct relay *r, uint64_t bytes, uint64_t budget_ns,
                        struct xfp_rows *rows)
{
    struct xfp_stats stats;
    size_t piece = bytes / 2 / SLOTS / 2;

    r->bytes = bytes;
    r->piece_bytes = smaller(piece < LEAST_PIECE ? LEAST_PIECE : piece, MOST_PIECE);
    if (s->sys.verify && xfp_buffer_clear(&s->sys, &r->dst, bytes))
        return -1;
    if (xfp_sample(s, upload, r, budget_ns, &stats, 1))
        return -1;
    if (s->sys.verify && stats.n && xfp_buffer_verify(&s->sys, &r->dst, &r->dst, bytes))
        return -1;
    xfp_add_row(rows, bytes, &stats);
    return 0;
}

static int open_relay(struct xfp_session *s, struct relay *r, const struct xfp_bench *bench,
                      size_t *most)
{
    const unsigned int non_blocking = 1, no_timing = 2;
    struct xfp_place host = {XFT_MEM_PINNED, -1, -1};

    if (s->sys.numa_count > 1)
        host.numa = s->profile->machine.gpus[r->to->ordinal].numa;
    if (xfp_set_peer_access(s, r->by, r->to, true) ||
        xfp_buffer_make_fitting(&s->sys, r->to, host, LEAST, most, &r->src) ||
        xfp_buffer_make_fitting(&s->sys, r->to, bench->dst, LEAST, most, &r->dst) ||
        xfp_buffer_make(&s->sys, r->by, bench->src, (size_t)SLOTS * MOST_PIECE, &r->ring) ||
        xfp_buffer_fill(&s->sys, &r->src, *most) || xfp_device_open(&s->sys, r->by))
        return -1;
    if (xfp_check(&s->sys, s->sys.cu->cuStreamCreate(&r->hop, non_blocking), "cuStreamCreate"))
        return -1;
    for (size_t i = 0; i < SLOTS; i++)
        if (xfp_check(&s->sys, s->sys.cu->cuEventCreate(&r->full[i], no_timing), "cuEventCreate") ||
            xfp_check(&s->sys, s->sys.cu->cuEventCreate(&r->empty[i], no_timing), "cuEventCreate"))
            return -1;
    return 0;
}

static void close_relay(struct xfp_session *s, struct relay *r)
{
    if (r->by->context && r->to->context) {
        s->sys.cu->cuCtxSetCurrent(r->by->context);
        for (size_t i = 0; i < SLOTS; i++) {
            if (r->full[i])
                s->sys.cu->cuEventDestroy(r->full[i]);
            if (r->empty[i])
                s->sys.cu->cuEventDestroy(r->empty[i]);
        }
        if (r->hop)
            s->sys.cu->cuStreamDestroy(r->hop);
        xfp_set_peer_access(s, r->by, r->to, false);
    }
    xfp_buffer_free(&s->sys, &r->src);
    xfp_buffer_free(&s->sys, &r->dst);
    xfp_buffer_free(&s->sys, &r->ring);
    xfp_unbind(&s->sys);
}

static int run(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    struct relay r = {.to = &s->sys.devices[bench->dst.device],
                      .by = &s->sys.devices[bench->src.device]};
    struct xfp_rows rows = {0};
    uint64_t sizes[XFP_COARSE_ROOM];
    size_t most = xfp_coarse_most(s, MOST);
    size_t count = xfp_coarse_sizes(s, LEAST, most, sizes, XFP_COARSE_ROOM);
    int bad = xfp_device_open(&s->sys, r.by) || open_relay(s, &r, bench, &most);

    for (size_t i = 0; i < count && sizes[i] <= most && !bad && !xfp_interrupted(); i++) {
        xfp_progress(s, path->name, sizes[i]);
        bad = measure_size(s, &r, sizes[i], xfp_share_ns(s, count - i), &rows);
    }
    close_relay(s, &r);
    if (xfp_add_table(s, &rows, bench->family->by, 0, "%s", path->name))
        return -1;
    return bad;
}

static void enumerate(struct xfp_session *s, const struct xfp_family *family,
                      struct xfp_bench_list *list)
{
    for (size_t i = 0; i < s->sys.device_count; i++)
        for (size_t j = 0; j < s->sys.device_count && xfp_has_sizes(s, LEAST, MOST); j++) {
            int by = s->sys.devices[i].ordinal, to = s->sys.devices[j].ordinal;
            struct xfp_bench bench = {.family = family,
                                      .direction = XFT_DIR_H2D,
                                      .src = {XFT_MEM_DEVICE, by, -1},
                                      .dst = {XFT_MEM_DEVICE, to, -1}};

            if (i == j || !xfp_can_access(&s->sys, by, to) || !xfp_can_access(&s->sys, to, by))
                continue;
            snprintf(bench.name, sizeof(bench.name), "relayed/pinned/h2d/gpu%d-gpu%d", by, to);
            xfp_bench_add(list, &bench);
        }
}

const struct xfp_family xfp_family_relayed = {
    .name = "relayed",
    .summary =
        "one upload by the links of two GPUs: half of it straight, half of it by way of a peer",
    .names =
        {
            {"relayed/pinned/h2d/gpuN-gpuM",
             "an upload of page-locked memory to GPU M, half of it by way of GPU N"},
        },
    .part = XFP_PART_TABLES,
    .by = XFP_BY_BYTES,
    .needs = XFP_NEED_TWO_GPUS,
    .from_bytes = LEAST,
    .method = XFP_COPY,
    .budget_s = 0.5,
    .quick_budget_s = 0.08,
    .enumerate = enumerate,
    .run = run,
};
