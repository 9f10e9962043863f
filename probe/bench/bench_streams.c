/*
 * One transfer cut into equal parts on 1 to 256 streams, compared with the transfer model:
 * van Werkhoven et al., section V.A, which validates the model from 16 MB to 1 GB. And section
 * IV's three categories of GPUs: how many copy engines work at once, and whether copies wait for
 * launched kernels (implicit synchronisation).
 */
#include "probe/bench/bench.h"
#include "probe/measure/budget.h"
#include "probe/measure/measure.h"
#include "probe/profile/profile_sections.h"
#include "probe/progress.h"
#include "probe/measure/sample.h"
#include "probe/profile/profile_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_STREAMS = 256,
    LEAST_BYTES = 16 << 20,
    SHORT_BYTES = 64,
    MOST_POINTS = 16 * 9,
    OVERLAP_BYTES = 16 << 20,
    POLL_NS = 50000000, /* a copy of 64 bytes behind a finished kernel takes a thousandth of it */
};

struct lanes {
    struct xfp_copy copy;
    xcu_stream streams[MOST_STREAMS]; /* the first is the device's own, behind the gate */
    xcu_event start, ends[MOST_STREAMS];
    size_t opened;
    size_t whole; /* bytes of both buffers */
    /* what is measured now */
    size_t bytes, count;
    size_t turns; /* samples taken of it */
};

static int open_lanes(struct xfp_session *s, struct lanes *l, size_t count)
{
    const unsigned int non_blocking = 1;

    l->streams[0] = l->copy.device->stream;
    if (xfp_check(&s->sys, s->sys.cu->cuEventCreate(&l->start, 0), "cuEventCreate"))
        return -1;
    for (; l->opened < count; l->opened++) {
        size_t i = l->opened;

        if (i && xfp_check(&s->sys, s->sys.cu->cuStreamCreate(&l->streams[i], non_blocking),
                           "cuStreamCreate"))
            return -1;
        if (xfp_check(&s->sys, s->sys.cu->cuEventCreate(&l->ends[i], 0), "cuEventCreate")) {
            if (i)
                s->sys.cu->cuStreamDestroy(l->streams[i]);
            return -1;
        }
    }
    return 0;
}

static void close_lanes(struct xfp_session *s, struct lanes *l)
{
    if (l->start)
        s->sys.cu->cuEventDestroy(l->start);
    for (size_t i = 0; i < l->opened; i++) {
        s->sys.cu->cuEventDestroy(l->ends[i]);
        if (i)
            s->sys.cu->cuStreamDestroy(l->streams[i]);
    }
    l->opened = 0;
}

/* Each sample moves another part of the buffers: the same 16 or 32 MiB again and again would be
 * read from the GPU's cache, and faster. */
static size_t next_place(struct lanes *l)
{
    return l->turns++ % (l->whole / l->bytes) * l->bytes;
}

/* Queues the parts, each in its stream after the start event; the last part takes the remainder. */
static xcu_result queue_parts(struct xfp_session *s, struct lanes *l)
{
    const struct xfp_driver *cu = s->sys.cu;
    size_t part = l->bytes / l->count, at = next_place(l);
    xcu_result result = xfp_submit_lead(cu, &l->copy, LEAST_BYTES, l->streams[0]);

    if (!result)
        result = cu->cuEventRecord(l->start, l->streams[0]);
    for (size_t i = 0; i < l->count && !result; i++) {
        size_t bytes = i + 1 < l->count ? part : l->bytes - i * part;

        if (i)
            result = cu->cuStreamWaitEvent(l->streams[i], l->start, 0);
        if (!result)
            result = xfp_submit_part(cu, &l->copy, at + i * part, bytes, l->streams[i]);
        if (!result)
            result = cu->cuEventRecord(l->ends[i], l->streams[i]);
    }
    return result;
}

/* From the start to the last end: the streams need not end in order. */
static int last_end(struct xfp_session *s, const struct lanes *l, double *ns)
{
    float ms, most = 0;

    for (size_t i = 0; i < l->count; i++) {
        if (xfp_check(&s->sys, s->sys.cu->cuEventElapsedTime(&ms, l->start, l->ends[i]),
                      "reading events"))
            return -1;
        most = ms > most ? ms : most;
    }
    *ns = (double)most * 1e6;
    return 0;
}

static int run_lanes(struct xfp_session *s, void *what, double *ns)
{
    struct lanes *l = what;
    struct xfp_device *d = l->copy.device;
    bool gated = d->gate != NULL;
    xcu_result result, done = XCU_SUCCESS;

    if (gated && xfp_gate_close(&s->sys, d))
        return -1;
    result = queue_parts(s, l);
    if (gated)
        xfp_gate_open(d);
    for (size_t i = 0; i < l->count && !done; i++)
        done = s->sys.cu->cuStreamSynchronize(l->streams[i]);
    if (xfp_check(&s->sys, result ? result : done, "copying on several streams"))
        return -1;
    *ns = 0;
    return gated && !xfp_gate_held(d) ? 0 : last_end(s, l, ns);
}

/* One point, and the data of all parts. */
static int measure_point(struct xfp_session *s, struct lanes *l, uint64_t slice,
                         struct xfp_stream_point *p)
{
    struct xfp_point point = {0};
    bool check = s->sys.verify && p->streams == MOST_STREAMS;

    l->bytes = p->bytes;
    l->count = p->streams;
    l->turns = 0;
    if (check && xfp_buffer_clear(&s->sys, l->copy.dst, l->bytes))
        return -1;
    if (xfp_repeat(s, run_lanes, l, slice, &point))
        return -1;
    p->n = point.n;
    p->median_ns = point.median_ns;
    p->min_ns = point.min_ns;
    p->max_ns = point.max_ns;
    p->ci_low_ns = point.ci_low_ns;
    p->ci_high_ns = point.ci_high_ns;
    return check ? xfp_buffer_verify(&s->sys, l->copy.dst,
                                     l->copy.src->host ? l->copy.dst : l->copy.src, l->bytes)
                 : 0;
}

/* The points to measure: sizes from 16 MiB by powers of two, streams from 1 to 256. */
static size_t plan(const struct xfp_session *s, size_t most, struct xfp_stream_point *points)
{
    uint32_t sizes = s->options->quick ? 4 : 2, streams = s->options->quick ? 16 : 2;
    size_t count = 0;

    for (uint64_t bytes = LEAST_BYTES; bytes <= most && count + 9 <= MOST_POINTS; bytes *= sizes)
        for (uint32_t n = 1; n <= MOST_STREAMS; n *= streams)
            points[count++] = (struct xfp_stream_point){.bytes = bytes, .streams = n};
    return count;
}

static int sweep(struct xfp_session *s, struct lanes *l, size_t most, struct xfp_streams *result)
{
    struct xfp_stream_point first = {.bytes = SHORT_BYTES, .streams = 1};
    size_t count;
    int bad;

    result->points = calloc(MOST_POINTS, sizeof(*result->points));
    if (!result->points)
        return xfp_fail(&s->sys, "out of memory");
    count = plan(s, most, result->points);
    bad = measure_point(s, l, xfp_share_ns(s, count + 1), &first);
    for (size_t i = 0; i < count && !bad && first.n && !xfp_interrupted(); i++) {
        xfp_progress(s, result->name, result->points[i].bytes);
        bad = measure_point(s, l, xfp_share_ns(s, count - i), &result->points[i]);
        if (bad || !result->points[i].n)
            break;
        result->point_count++;
    }
    if (result->point_count == count)
        result->fit = xfp_fit_streams(result->points, count, first.bytes, first.median_ns);
    return bad;
}

/* Without all points the model cannot be checked: then nothing is kept. */
static int keep(struct xfp_session *s, struct xfp_streams *result)
{
    if (!result->fit.valid) {
        free(result->name);
        free(result->points);
        return 0;
    }
    if (xfp_add_streams(s->profile, result))
        return xfp_fail(&s->sys, "out of memory");
    s->results++;
    return 0;
}

static int run(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    struct xfp_host_ends ends = xfp_host_ends(s, bench);
    struct xfp_buffer host = {0}, device = {0};
    struct lanes l = {.copy = {.device = ends.d}};
    struct xfp_streams result = {.name = strdup(bench->name),
                                 .direction = bench->direction,
                                 .src = bench->src,
                                 .dst = bench->dst};
    size_t most = s->sys.most_bytes;
    int bad = !result.name || xfp_device_open(&s->sys, ends.d);

    l.copy.src = ends.to_device ? &host : &device;
    l.copy.dst = ends.to_device ? &device : &host;
    if (!bad)
        bad = xfp_buffer_make_fitting(&s->sys, ends.d, ends.device, LEAST_BYTES, &most, &device) ||
              xfp_buffer_make_fitting(&s->sys, ends.d, ends.host, LEAST_BYTES, &most, &host) ||
              xfp_buffer_fill(&s->sys, l.copy.src, most) || open_lanes(s, &l, MOST_STREAMS);
    l.whole = most;
    if (!bad)
        bad = sweep(s, &l, most, &result);
    close_lanes(s, &l);
    xfp_buffer_free(&s->sys, &host);
    xfp_buffer_free(&s->sys, &device);
    xfp_unbind(&s->sys);
    return keep(s, &result) || bad ? -1 : 0;
}

static struct xfp_place near_host(const struct xfp_session *s, int device)
{
    int node = s->sys.numa_count > 1 ? s->profile->machine.gpus[device].numa : s->sys.numa_nodes[0];

    return (struct xfp_place){XFT_MEM_PINNED, -1, node};
}

static void enumerate(struct xfp_session *s, const struct xfp_family *family,
                      struct xfp_bench_list *list)
{
    for (size_t i = 0; i < s->sys.device_count; i++)
        for (int back = 0; back < 2; back++) {
            int ordinal = s->sys.devices[i].ordinal;
            struct xfp_place host = near_host(s, ordinal), there = {XFT_MEM_DEVICE, ordinal, -1};
            struct xfp_bench bench = {.family = family,
                                      .direction = back ? XFT_DIR_D2H : XFT_DIR_H2D,
                                      .src = back ? there : host,
                                      .dst = back ? host : there};

            snprintf(bench.name, sizeof(bench.name), "streams/pinned/%s/gpu%d",
                     back ? "d2h" : "h2d", ordinal);
            xfp_bench_add(list, &bench);
        }
}

const struct xfp_family xfp_family_streams = {
    .name = "streams",
    .summary =
        "one transfer cut into parts on 1 to 256 streams, and the error of the transfer model",
    .names =
        {
            {"streams/pinned/{h2d,d2h}/gpuN", NULL},
        },
    .part = XFP_PART_STREAMS,
    .from_bytes = LEAST_BYTES,
    .method = XFP_COPY,
    .budget_s = 3,
    .quick_budget_s = 0.3,
    .enumerate = enumerate,
    .run = run,
};

/* ---- section IV's categories ---------------------------------------------------------------- */

struct overlap {
    struct xfp_device *device;
    struct xfp_buffer in, out, to, from; /* in -> to, from -> out */
    xcu_stream streams[2];
    xcu_event start, ends[2];
    bool h2d, d2h; /* what is measured now */
    size_t bytes;
};

/* Each direction in a stream of its own, both after the start event. */
static xcu_result queue_overlap(struct xfp_session *s, struct overlap *o)
{
    const struct xfp_driver *cu = s->sys.cu;
    xcu_result result = cu->cuEventRecord(o->start, o->device->stream);

    for (int i = 0; i < 2 && !result; i++)
        result = cu->cuStreamWaitEvent(o->streams[i], o->start, 0);
    if (o->h2d && !result)
        result = cu->cuMemcpyHtoDAsync(o->to.address, o->in.host, o->bytes, o->streams[0]);
    if (o->d2h && !result)
        result = cu->cuMemcpyDtoHAsync(o->out.host, o->from.address, o->bytes, o->streams[1]);
    for (int i = 0; i < 2 && !result; i++)
        result = cu->cuEventRecord(o->ends[i], o->streams[i]);
    return result;
}

static int run_overlap(struct xfp_session *s, void *what, double *ns)
{
    struct overlap *o = what;
    struct xfp_device *d = o->device;
    xcu_result result, done = XCU_SUCCESS;
    float first = 0, second = 0;

    if (xfp_gate_close(&s->sys, d))
        return -1;
    result = queue_overlap(s, o);
    xfp_gate_open(d);
    for (int i = 0; i < 2 && !done; i++)
        done = s->sys.cu->cuStreamSynchronize(o->streams[i]);
    if (!result && !done)
        done = s->sys.cu->cuEventElapsedTime(&first, o->start, o->ends[0]);
    if (!result && !done)
        done = s->sys.cu->cuEventElapsedTime(&second, o->start, o->ends[1]);
    *ns = xfp_gate_held(d) ? (double)(first > second ? first : second) * 1e6 : 0;
    return xfp_check(&s->sys, result ? result : done, "copying in both directions");
}

static int time_overlap(struct xfp_session *s, struct overlap *o, bool h2d, bool d2h, double *ns,
                        struct xfp_spread *spread)
{
    struct xfp_point point = {0};

    o->h2d = h2d;
    o->d2h = d2h;
    if (xfp_repeat(s, run_overlap, o, xfp_share_ns(s, 3), &point))
        return -1;
    *ns = point.n ? point.median_ns : 0;
    *spread = xfp_spread_of(&point);
    return 0;
}

/*
 * A finished kernel and a copy behind it in one stream, while in another stream a kernel waits
 * behind one that does not end: on GPUs with implicit synchronisation the copy's check of its
 * kernel waits until all kernels launched before have started, which these have not.
 */
static xcu_result queue_implicit(struct xfp_session *s, struct overlap *o, int lane)
{
    struct xfp_device *d = o->device;
    uint64_t limit = 20ull * POLL_NS, bytes = SHORT_BYTES;
    uint32_t value = 0;
    void *write[] = {&o->to.address, &bytes, &value}, *wait[] = {&d->gate_address, &limit};
    xcu_result result = s->sys.cu->cuLaunchKernel(d->kernels[XFP_KERNEL_WRITE], 1, 1, 1, 32, 1, 1,
                                                  0, o->streams[lane], write, NULL);

    if (!result) /* a second one behind the gate */
        result = s->sys.cu->cuLaunchKernel(d->kernels[XFP_KERNEL_GATE], 1, 1, 1, 1, 1, 1, 0,
                                           d->stream, wait, NULL);
    if (!result)
        result =
            s->sys.cu->cuMemcpyDtoHAsync(o->out.host, o->to.address, SHORT_BYTES, o->streams[lane]);
    return result ? result : s->sys.cu->cuEventRecord(o->ends[lane], o->streams[lane]);
}

static int find_implicit_in(struct xfp_session *s, struct overlap *o, int lane, bool *implicit)
{
    struct xfp_device *d = o->device;
    uint64_t until = xfp_wall_ns() + POLL_NS;
    xcu_result result, ended = XCU_ERROR_NOT_READY, done;

    if (xfp_gate_close(&s->sys, d))
        return -1;
    result = queue_implicit(s, o, lane);
    while (!result && ended == XCU_ERROR_NOT_READY && xfp_wall_ns() < until)
        ended = s->sys.cu->cuEventQuery(o->ends[lane]);
    xfp_gate_open(d);
    done = s->sys.cu->cuStreamSynchronize(d->stream);
    if (!done)
        done = s->sys.cu->cuStreamSynchronize(o->streams[lane]);
    *implicit = ended == XCU_ERROR_NOT_READY;
    return xfp_check(&s->sys, result ? result : done, "looking for implicit synchronisation");
}

/* A stream may wait only because it shares one of the few hardware queues with the gate's stream:
 * of two streams created in sequence at most one does. */
static int find_implicit(struct xfp_session *s, struct overlap *o, bool *implicit)
{
    if (find_implicit_in(s, o, 0, implicit))
        return -1;
    return *implicit ? find_implicit_in(s, o, 1, implicit) : 0;
}

static int open_overlap(struct xfp_session *s, struct overlap *o, const struct xfp_bench *bench)
{
    const unsigned int non_blocking = 1;
    struct xfp_device *d = o->device;
    int bad = xfp_device_open(&s->sys, d);

    if (!bad && !d->gate)
        return xfp_fail(&s->sys, "needs the probe's kernels, which this GPU did not load");
    bad = bad || xfp_buffer_make(&s->sys, d, bench->src, o->bytes, &o->in) ||
          xfp_buffer_make(&s->sys, d, bench->src, o->bytes, &o->out) ||
          xfp_buffer_make(&s->sys, d, bench->dst, o->bytes, &o->to) ||
          xfp_buffer_make(&s->sys, d, bench->dst, o->bytes, &o->from) ||
          xfp_check(&s->sys, s->sys.cu->cuEventCreate(&o->start, 0), "cuEventCreate");
    for (int i = 0; i < 2 && !bad; i++)
        bad = xfp_check(&s->sys, s->sys.cu->cuStreamCreate(&o->streams[i], non_blocking),
                        "cuStreamCreate") ||
              xfp_check(&s->sys, s->sys.cu->cuEventCreate(&o->ends[i], 0), "cuEventCreate");
    return bad ? -1 : 0;
}

static void close_overlap(struct xfp_session *s, struct overlap *o)
{
    for (int i = 0; i < 2; i++) {
        if (o->streams[i])
            s->sys.cu->cuStreamDestroy(o->streams[i]);
        if (o->ends[i])
            s->sys.cu->cuEventDestroy(o->ends[i]);
    }
    if (o->start)
        s->sys.cu->cuEventDestroy(o->start);
    xfp_buffer_free(&s->sys, &o->in);
    xfp_buffer_free(&s->sys, &o->out);
    xfp_buffer_free(&s->sys, &o->to);
    xfp_buffer_free(&s->sys, &o->from);
    xfp_unbind(&s->sys);
}

static int run_categories(struct xfp_session *s, const struct xfp_bench *bench,
                          struct xfp_path *path)
{
    size_t most = s->options->max_bytes;
    struct overlap o = {.device = &s->sys.devices[bench->dst.device],
                        .bytes = most < OVERLAP_BYTES ? most : OVERLAP_BYTES};
    struct xfp_overlap r = {.device = bench->dst.device, .bytes = o.bytes};
    double sum, longer;
    int bad = open_overlap(s, &o, bench) || time_overlap(s, &o, true, false, &r.h2d_ns, &r.h2d) ||
              time_overlap(s, &o, false, true, &r.d2h_ns, &r.d2h) ||
              time_overlap(s, &o, true, true, &r.both_ns, &r.both) ||
              find_implicit(s, &o, &r.implicit_sync);

    close_overlap(s, &o);
    if (bad || !(r.h2d_ns > 0 && r.d2h_ns > 0 && r.both_ns > 0))
        return bad ? -1 : 0;
    sum = r.h2d_ns + r.d2h_ns;
    longer = r.h2d_ns > r.d2h_ns ? r.h2d_ns : r.d2h_ns;
    r.copy_engines = r.both_ns < (sum + longer) / 2 ? 2 : 1;
    r.category = xfp_overlap_category(r.implicit_sync, r.copy_engines);
    r.name = strdup(bench->name);
    if (!r.name || xfp_add_overlap(s->profile, &r))
        return xfp_fail(&s->sys, "out of memory");
    s->results++;
    return 0;
}

static void enumerate_categories(struct xfp_session *s, const struct xfp_family *family,
                                 struct xfp_bench_list *list)
{
    for (size_t i = 0; i < s->sys.device_count; i++) {
        int ordinal = s->sys.devices[i].ordinal;
        struct xfp_bench bench = {.family = family,
                                  .direction = XFT_DIR_H2D,
                                  .src = near_host(s, ordinal),
                                  .dst = {XFT_MEM_DEVICE, ordinal, -1}};

        if (s->options->max_bytes < SHORT_BYTES)
            continue;
        snprintf(bench.name, sizeof(bench.name), "overlap/gpu%d", ordinal);
        xfp_bench_add(list, &bench);
    }
}

const struct xfp_family xfp_family_overlap = {
    .name = "overlap",
    .summary = "copy engines that work at once, implicit synchronisation",
    .names =
        {
            {"overlap/gpuN", NULL},
        },
    .part = XFP_PART_OVERLAP,
    .method = XFP_COPY,
    .budget_s = 0.5,
    .quick_budget_s = 0.15,
    .enumerate = enumerate_categories,
    .run = run_categories,
};
