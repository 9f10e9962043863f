/*
 * Page-fault latency by pointer chasing through managed memory: the slope of a traversal's time
 * over the number of strides, each of which accesses a page that is not resident (NUMA-aware
 * measurements for Power/NVLink, section 3.1).
 */
#include "probe/bench/bench.h"
#include "probe/device/buffer.h"
#include "probe/device/launch.h"
#include "probe/device/managed.h"
#include "probe/measure/budget.h"
#include "probe/measure/results.h"
#include "probe/progress.h"
#include "probe/measure/sample.h"
#include "probe/measure/timed.h"

#include <stdio.h>

/* A stride is the driver's block of managed memory, beyond which it prefetches nothing. */
#define STRIDE ((size_t)2 << 20)
enum { MOST_STRIDES = 32, SINK_BYTES = 16 };

struct chase {
    struct xfp_device *device; /* runs the kernel, or has the pages when the host reads them */
    struct xfp_managed memory;
    struct xfp_buffer last;
    int from, to;
    uint64_t strides;
    uint64_t end; /* where the last traversal ended */
};

static unsigned char *cell(const struct chase *c, size_t index)
{
    return (unsigned char *)(uintptr_t)c->memory.address + index * STRIDE;
}

/* Cell i holds the distance of cell i + 1 from the first. */
static void write_cells(const struct chase *c, size_t count)
{
    for (size_t i = 0; i < count; i++)
        *(volatile uint64_t *)cell(c, i) = (i + 1) % count * STRIDE;
}

static int prepare(struct xfp_session *s, void *state)
{
    const struct chase *c = state;

    return xfp_managed_move(&s->sys, &c->memory, c->memory.bytes, c->from);
}

static xcu_result queue_chase(struct xfp_session *s, void *state, xcu_stream stream)
{
    const struct chase *c = state;

    return xfp_launch_chase(&s->sys, c->device, stream, c->memory.address, c->strides,
                            c->last.address);
}

static int once_host(struct xfp_session *s, void *state, double *ns)
{
    struct chase *c = state;
    const unsigned char *first = cell(c, 0);
    uint64_t before, at = 0;

    if (prepare(s, c))
        return -1;
    before = xfp_driver_now_ns(s->sys.cu);
    for (uint64_t i = 0; i < c->strides; i++) {
        if (s->sys.cu->simulated_touch)
            s->sys.cu->simulated_touch(first + at, sizeof(at), 0);
        at = *(const volatile uint64_t *)(first + at);
    }
    *ns = (double)(xfp_driver_now_ns(s->sys.cu) - before);
    c->end = at;
    return 0;
}

static int verify(struct xfp_session *s, struct chase *c)
{
    uint64_t expected = c->strides % (c->memory.bytes / STRIDE) * STRIDE;

    if (c->to >= 0 &&
        xfp_check(&s->sys, s->sys.cu->cuMemcpyDtoH(&c->end, c->last.address, sizeof(c->end)),
                  "verifying"))
        return -1;
    return c->end == expected ? 0
                              : xfp_fail(&s->sys, "the chase through managed memory went astray");
}

/* Least squares: ns per stride. */
static double slope(const double *x, const double *y, size_t n)
{
    double mean_x = 0, mean_y = 0, above = 0, below = 0;

    for (size_t i = 0; i < n; i++) {
        mean_x += x[i] / (double)n;
        mean_y += y[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        above += (x[i] - mean_x) * (y[i] - mean_y);
        below += (x[i] - mean_x) * (x[i] - mean_x);
    }
    return below > 0 ? above / below : 0;
}

/* One sample of the latency: a traversal of every length, and their slope. */
struct slope_state {
    struct chase *chase;
    xfp_once *once;
    void *state;
    size_t room; /* cells */
};

static int once_slope(struct xfp_session *s, void *state, double *ns)
{
    const struct slope_state *p = state;
    double x[8], y[8];
    size_t n = 0;

    for (uint64_t strides = 2; strides <= p->room && n < 8; strides *= 2) {
        p->chase->strides = strides;
        x[n] = (double)strides;
        if (p->once(s, p->state, &y[n++]) || (s->sys.verify && verify(s, p->chase)))
            return -1;
    }
    *ns = slope(x, y, n);
    return 0;
}

static int set_up(struct xfp_session *s, struct chase *c)
{
    struct xfp_place device = {XFT_MEM_DEVICE, c->device->ordinal, -1};
    size_t bytes;

    if (c->from >= 0 && xfp_device_open(&s->sys, &s->sys.devices[c->from]))
        return -1;
    if (xfp_device_open_kernels(&s->sys, c->device))
        return -1;
    bytes = xfp_managed_room(&s->sys, c->device, MOST_STRIDES * STRIDE, STRIDE);
    if (bytes < 4 * STRIDE)
        return xfp_fail(&s->sys,
                        "too little free memory on GPU %d for chasing through managed memory",
                        c->device->ordinal);
    if (xfp_managed_make(&s->sys, c->device, bytes, &c->memory) ||
        xfp_buffer_make(&s->sys, c->device, device, SINK_BYTES, &c->last))
        return -1;
    write_cells(c, bytes / STRIDE);
    return 0;
}

static int run(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    bool to_host = bench->dst.device < 0;
    struct chase c = {.device = &s->sys.devices[to_host ? bench->src.device : bench->dst.device],
                      .from = bench->src.device,
                      .to = bench->dst.device};
    struct xfp_timed t = {
        .device = c.device, .prepare = prepare, .first = queue_chase, .state = &c, .gated = true};
    struct slope_state state = {&c, xfp_once_timed, &t, 0};
    struct xfp_stats stats = {0};
    int bad = set_up(s, &c);

    if (to_host) {
        state.once = once_host;
        state.state = &c;
    }
    state.room = c.memory.bytes / STRIDE;
    xfp_progress(s, path->name, 0);
    if (!bad)
        bad = xfp_sample(s, once_slope, &state, xfp_share_ns(s, 1), &stats, 1);
    xfp_managed_free(&s->sys, &c.memory);
    xfp_buffer_free(&s->sys, &c.last);
    return xfp_add_scalar(s, &stats, "%s", path->name) || bad ? -1 : 0;
}

static void add(struct xfp_bench_list *list, const struct xfp_family *family, int from, int to)
{
    struct xfp_bench bench = {.family = family,
                              .direction = from < 0 ? XFT_DIR_H2D
                                           : to < 0 ? XFT_DIR_D2H
                                                    : XFT_DIR_P2P,
                              .src = {XFT_MEM_MANAGED, from, -1},
                              .dst = {XFT_MEM_MANAGED, to, -1}};

    if (from >= 0 && to >= 0)
        snprintf(bench.name, sizeof(bench.name), "fault/managed/p2p/gpu%d-gpu%d", from, to);
    else
        snprintf(bench.name, sizeof(bench.name), "fault/managed/%s/gpu%d", from < 0 ? "h2d" : "d2h",
                 from < 0 ? to : from);
    xfp_bench_add(list, &bench);
}

static void enumerate(struct xfp_session *s, const struct xfp_family *family,
                      struct xfp_bench_list *list)
{
    for (size_t i = 0; i < s->sys.device_count; i++) {
        int device = s->sys.devices[i].ordinal;

        if (!xfp_managed_applies(&s->sys, device))
            continue;
        add(list, family, XFP_HOST, device);
        add(list, family, device, XFP_HOST);
        for (size_t j = 0; j < s->sys.device_count; j++)
            if (j != i && xfp_managed_applies(&s->sys, s->sys.devices[j].ordinal))
                add(list, family, device, s->sys.devices[j].ordinal);
    }
}

const struct xfp_family xfp_family_fault = {
    .name = "fault",
    .summary = "latency of one page fault on managed memory",
    .names =
        {
            {"fault/managed/h2d/gpuN", "a page fault of the device on a page of the host"},
            {"fault/managed/d2h/gpuN", "a page fault of the host on a page of the device"},
            {"fault/managed/p2p/gpuN-gpuM", "a page fault of GPU M on a page of GPU N"},
        },
    .part = XFP_PART_SCALARS,
    .needs = XFP_NEED_KERNELS | XFP_NEED_MIGRATION,
    .method = XFP_DEMAND,
    .budget_s = 1.0,
    .quick_budget_s = 0.15,
    .enumerate = enumerate,
    .run = run,
};
