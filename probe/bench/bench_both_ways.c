/*
 * Explicit copies while the link is busy in the other direction: the transfer model's G when both
 * directions run, and when mapped traffic collides (van Werkhoven et al., section V.B, table II);
 * and both directions started together, from start to the last end (Comm|Scope's "both").
 */
#include "bench.h"
#include "../device/buffer.h"
#include "../device/launch.h"
#include "../progress.h"
#include "../measure/sample.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST = 4096,
    LEAD_BYTES = 4096,
    LOAD_BYTES = 4 << 20,
    LOAD_ROOM = 128 << 20,
    MOST_GOES = 512
};
#define MOST ((uint64_t)64 << 20)

/* One copy, and what keeps the other direction busy meanwhile. */
struct collision {
    struct xfp_device *device;
    bool to_device;                     /* of the copy that is measured */
    bool mapped;                        /* the load is a kernel's */
    struct xfp_buffer host, there;      /* the copy */
    struct xfp_buffer load, load_there; /* the load */
    xcu_deviceptr load_mapped;          /* load as the device sees it */
    size_t load_bytes, load_at;         /* of one go of the load; where the next one begins */
    xcu_stream other;
    uint64_t bytes;
    size_t goes; /* of the load: at least until the copy has ended */
};

static xcu_result copy_one_way(struct xfp_session *s, bool to_device, const struct xfp_buffer *host,
                               const struct xfp_buffer *device, size_t bytes, xcu_stream stream)
{
    return to_device ? s->cu->cuMemcpyHtoDAsync(device->address, host->host, bytes, stream)
                     : s->cu->cuMemcpyDtoHAsync(host->host, device->address, bytes, stream);
}

/* Before what is measured: long enough to need the copy engine; from the source's start to the
 * destination's end, so that it leaves no right data behind. */
static xcu_result lead_in(struct xfp_session *s, bool to_device, const struct xfp_buffer *host,
                          const struct xfp_buffer *device, xcu_stream stream)
{
    struct xfp_buffer from = *host, to = *device;

    if (to_device)
        to.address += to.bytes - LEAD_BYTES;
    else
        from.host += from.bytes - LEAD_BYTES;
    return copy_one_way(s, to_device, &from, &to, LEAD_BYTES, stream);
}

/*
 * The load goes the other way: a kernel reading is traffic to the device. It goes round in its
 * buffer, so that it meets the memory and not what an earlier go left in the processor's caches:
 * against a load that stays in them, copies to an H200 are 4 % faster.
 */
static xcu_result load_once(struct xfp_session *s, struct collision *c)
{
    struct xfp_buffer load = c->load, there = c->load_there;
    xcu_deviceptr mapped = c->load_mapped + c->load_at;

    load.host += c->load_at;
    there.address += c->load_at;
    c->load_at = (c->load_at + c->load_bytes) % c->load.bytes;
    if (!c->mapped)
        return copy_one_way(s, !c->to_device, &load, &there, c->load_bytes, c->other);
    if (c->to_device)
        return xfp_launch_write(s, c->device, c->other, mapped, c->load_bytes, 1);
    return xfp_launch_read(s, c->device, c->other, mapped, c->load_bytes, there.address);
}

/* Events: 0 the load has begun, 1 and 2 around the copy, 3 the load has ended. The copy starts
 * when the load's first go is over and its second runs. */
static xcu_result queue_collision(struct xfp_session *s, struct collision *c)
{
    const struct xfp_driver *cu = s->cu;
    struct xfp_device *d = c->device;
    xcu_result result = cu->cuEventRecord(d->events[4], d->stream);

    if (!result)
        result = cu->cuStreamWaitEvent(c->other, d->events[4], 0);
    for (size_t i = 0; i < c->goes && !result; i++) {
        result = load_once(s, c);
        if (!result && !i)
            result = cu->cuEventRecord(d->events[0], c->other);
    }
    if (!result)
        result = cu->cuEventRecord(d->events[3], c->other);
    if (!result)
        result = cu->cuStreamWaitEvent(d->stream, d->events[0], 0);
    if (!result)
        result = lead_in(s, c->to_device, &c->host, &c->there, d->stream);
    if (!result)
        result = cu->cuEventRecord(d->events[1], d->stream);
    if (!result)
        result = copy_one_way(s, c->to_device, &c->host, &c->there, c->bytes, d->stream);
    if (!result)
        result = cu->cuEventRecord(d->events[2], d->stream);
    return result;
}

/* 1: the gate gave up; 0; -1. */
static int run_collision(struct xfp_session *s, struct collision *c)
{
    struct xfp_device *d = c->device;
    bool gated = xfp_gate_usable(d);
    xcu_result queued, done;

    xfp_flush_buffer(s, &c->host, c->bytes);
    if (gated && xfp_gate_close(s, d))
        return -1;
    queued = queue_collision(s, c);
    if (gated)
        xfp_gate_open(d);
    done = s->cu->cuStreamSynchronize(d->stream);
    if (!done)
        done = s->cu->cuStreamSynchronize(c->other);
    if (xfp_check(s, queued ? queued : done, "copying"))
        return -1;
    return gated && !xfp_gate_held(d);
}

/* The load must have outlasted the copy: if not, more of it, and again. */
static int once_collided(struct xfp_session *s, void *state, double *ns)
{
    struct collision *c = state;
    xcu_event *events = c->device->events;

    for (;;) {
        int again = run_collision(s, c);
        double after = 0;

        if (again < 0 || xfp_elapsed(s, events[1], events[2], ns) ||
            xfp_elapsed(s, events[2], events[3], &after))
            return -1;
        if (!again && after >= 0)
            return 0;
        if (!again && c->goes > MOST_GOES)
            return xfp_fail(s, "the other direction could not be kept busy");
        c->goes += again ? 0 : c->goes;
    }
}

/* A load that goes round in less memory makes no smaller measurement: the notice is left alone. The
 * simulated GPU has no caches to outdo. */
static int make_load(struct xfp_session *s, struct collision *c, struct xfp_place host, size_t most)
{
    struct xfp_place device = {XFT_MEM_DEVICE, c->device->ordinal, -1};
    size_t room = s->cu->simulated_now_ns ? LOAD_BYTES
                  : 2 * most > LOAD_ROOM  ? 2 * most
                                          : LOAD_ROOM;
    char notice[sizeof(s->notice)];
    int bad;

    memcpy(notice, s->notice, sizeof(notice));
    host.memory = c->mapped ? XFT_MEM_MAPPED : host.memory;
    bad = xfp_buffer_make_fitting(s, c->device, device, LOAD_BYTES, &room, &c->load_there) ||
          xfp_buffer_make_fitting(s, c->device, host, LOAD_BYTES, &room, &c->load);
    memcpy(s->notice, notice, sizeof(notice));
    if (bad || !c->mapped)
        return bad ? -1 : 0;
    return xfp_check(s, s->cu->cuMemHostGetDevicePointer(&c->load_mapped, c->load.host, 0),
                     "mapping host memory");
}

static int make_ends(struct xfp_session *s, struct collision *c, struct xfp_place host)
{
    struct xfp_place device = {XFT_MEM_DEVICE, c->device->ordinal, -1};
    size_t most = xfp_coarse_most(s, MOST), least = LEAST;

    c->load_bytes = LOAD_BYTES;
    if (xfp_buffer_make_fitting(s, c->device, device, least, &most, &c->there) ||
        xfp_buffer_make_fitting(s, c->device, host, least, &most, &c->host) ||
        make_load(s, c, host, most))
        return -1;
    return xfp_check(s, s->cu->cuStreamCreate(&c->other, 1), "cuStreamCreate");
}

static void free_ends(struct xfp_session *s, struct collision *c)
{
    xfp_buffer_free(s, &c->there);
    xfp_buffer_free(s, &c->host);
    xfp_buffer_free(s, &c->load);
    xfp_buffer_free(s, &c->load_there);
    if (c->other)
        s->cu->cuStreamDestroy(c->other);
    xfp_unbind(s);
}

static int measure_size(struct xfp_session *s, struct collision *c, uint64_t budget_ns,
                        struct xfp_path *path)
{
    struct xfp_buffer *src = c->to_device ? &c->host : &c->there;
    struct xfp_buffer *dst = c->to_device ? &c->there : &c->host;
    struct xfp_stats stats;

    c->goes = 3 + 2 * c->bytes / c->load_bytes;
    if (s->options->verify && xfp_buffer_clear(s, dst, c->bytes))
        return -1;
    if (xfp_buffer_fill(s, src, c->bytes) || xfp_device_open(s, c->device) ||
        xfp_sample(s, once_collided, c, budget_ns, &stats, 1))
        return -1;
    if (s->options->verify && xfp_buffer_verify(s, dst, &c->there, c->bytes))
        return -1;
    xfp_add_point(path, c->bytes, &stats);
    return 0;
}

static int run_loaded(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    bool to_device = bench->direction == XFT_DIR_H2D;
    int ordinal = to_device ? bench->dst.device : bench->src.device;
    struct collision c = {.device = &s->devices[ordinal],
                          .to_device = to_device,
                          .mapped = bench->load == XFP_MAPPED_TRAFFIC};
    uint64_t sizes[XFP_COARSE_ROOM];
    int bad = c.mapped ? xfp_device_open_kernels(s, c.device) : xfp_device_open(s, c.device);
    size_t count;

    path->points = calloc(XFP_COARSE_ROOM, sizeof(*path->points));
    path->device_timed = true;
    path->load = bench->load;
    if (!bad && !path->points)
        bad = xfp_fail(s, "out of memory");
    if (!bad)
        bad = make_ends(s, &c, to_device ? bench->src : bench->dst);
    count = xfp_coarse_sizes(s, LEAST, c.host.bytes, sizes, XFP_COARSE_ROOM);
    for (size_t i = 0; i < count && !bad && !xfp_interrupted(); i++) {
        xfp_progress(s, path->name, sizes[i]);
        c.bytes = sizes[i];
        bad = measure_size(s, &c, xfp_step_ns(s, count - i), path);
    }
    if (path->point_count)
        path->fit = xfp_fit_points(path->points, path->point_count, 0);
    free_ends(s, &c);
    return bad;
}

static void add_loaded(struct xfp_session *s, const struct xfp_family *family,
                       struct xfp_bench_list *list, int ordinal, enum xfp_load load,
                       const char *word)
{
    for (int n = 0; n < s->numa_count; n++)
        for (int back = 0; back < 2; back++) {
            struct xfp_place host = {XFT_MEM_PINNED, -1, s->numa_nodes[n]};
            struct xfp_place device = {XFT_MEM_DEVICE, ordinal, -1};
            struct xfp_bench bench = {.family = family,
                                      .direction = back ? XFT_DIR_D2H : XFT_DIR_H2D,
                                      .src = back ? device : host,
                                      .dst = back ? host : device,
                                      .load = load};
            char node[XFP_NODE_TEXT];

            xfp_node_text(s, host.numa, node);
            snprintf(bench.name, sizeof(bench.name), "%s/pinned/%s/%sgpu%d", word,
                     back ? "d2h" : "h2d", node, ordinal);
            xfp_bench_add(list, &bench);
        }
}

static void enumerate_loaded(struct xfp_session *s, const struct xfp_family *family,
                             struct xfp_bench_list *list)
{
    for (size_t d = 0; d < s->device_count && xfp_has_sizes(s, LEAST, MOST); d++) {
        int device = s->devices[d].ordinal;

        /* one copy engine serves one direction after the other */
        if (xfp_attribute(s, device, XFP_ATTR_COPY_ENGINES) >= 2)
            add_loaded(s, family, list, device, XFP_BOTH_WAYS, "copy-both-ways");
        if (xfp_kernels_built(s) && xfp_attribute(s, device, XFP_ATTR_MAPS_HOST_MEMORY) == 1)
            add_loaded(s, family, list, device, XFP_MAPPED_TRAFFIC, "copy-under-mapped");
    }
}

/* ---- both directions started together ------------------------------------------------------ */

struct pair {
    struct xfp_device *device;
    struct xfp_buffer up_host, up, down_host, down; /* to the device, from it */
    xcu_stream other;
    uint64_t bytes;
    int node;
    /* pageable copies keep their caller: the second direction has a thread */
    pthread_barrier_t start, end;
    const struct xfp_session *session;
    const char *name;
    bool stop;
    xcu_result result;
    uint64_t began_ns, ended_ns; /* of the thread */
};

static xcu_result queue_up(struct xfp_session *s, void *state, xcu_stream stream)
{
    struct pair *p = state;

    return copy_one_way(s, true, &p->up_host, &p->up, p->bytes, stream);
}

static xcu_result queue_down(struct xfp_session *s, void *state, xcu_stream stream)
{
    struct pair *p = state;

    return copy_one_way(s, false, &p->down_host, &p->down, p->bytes, stream);
}

static xcu_result lead_up(struct xfp_session *s, void *state, xcu_stream stream)
{
    const struct pair *p = state;

    return lead_in(s, true, &p->up_host, &p->up, stream);
}

static int flush_pair(struct xfp_session *s, void *state)
{
    const struct pair *p = state;

    xfp_flush_buffer(s, &p->up_host, p->bytes);
    xfp_flush_buffer(s, &p->down_host, p->bytes);
    return 0;
}

static void *copy_down(void *state)
{
    struct pair *p = state;
    const struct xfp_driver *cu = p->session->cu;

    cu->cuCtxSetCurrent(p->device->context);
    if (cu->simulated_bind_numa)
        cu->simulated_bind_numa(p->node);
    for (;;) {
        pthread_barrier_wait(&p->start);
        if (p->stop)
            return NULL;
        p->began_ns = xfp_driver_now_ns(cu);
        p->result = cu->cuMemcpyDtoHAsync(p->down_host.host, p->down.address, p->bytes, p->other);
        if (!p->result)
            p->result = cu->cuStreamSynchronize(p->other);
        p->ended_ns = xfp_driver_now_ns(cu);
        pthread_barrier_wait(&p->end);
    }
}

/* Host clock, from the first thread's start until both have their data. */
static int once_threads(struct xfp_session *s, void *state, double *ns)
{
    struct pair *p = state;
    uint64_t before, after;
    xcu_result result;

    flush_pair(s, p);
    pthread_barrier_wait(&p->start);
    before = xfp_driver_now_ns(s->cu);
    result = queue_up(s, p, p->device->stream);
    if (!result)
        result = s->cu->cuStreamSynchronize(p->device->stream);
    after = xfp_driver_now_ns(s->cu);
    pthread_barrier_wait(&p->end);
    before = p->began_ns < before ? p->began_ns : before;
    after = p->ended_ns > after ? p->ended_ns : after;
    *ns = (double)(after - before);
    return xfp_check(s, result ? result : p->result, "copying");
}

static int make_pair(struct xfp_session *s, struct pair *p, struct xfp_place host)
{
    struct xfp_place device = {XFT_MEM_DEVICE, p->device->ordinal, -1};
    size_t most = xfp_coarse_most(s, MOST), least = LEAST;

    return xfp_buffer_make_fitting(s, p->device, device, least, &most, &p->up) ||
                   xfp_buffer_make_fitting(s, p->device, device, least, &most, &p->down) ||
                   xfp_buffer_make_fitting(s, p->device, host, least, &most, &p->up_host) ||
                   xfp_buffer_make_fitting(s, p->device, host, least, &most, &p->down_host) ||
                   xfp_buffer_fill(s, &p->up_host, p->down_host.bytes) ||
                   xfp_buffer_fill(s, &p->down, p->down_host.bytes) ||
                   xfp_check(s, s->cu->cuStreamCreate(&p->other, 1), "cuStreamCreate")
               ? -1
               : 0;
}

static int sweep_pair(struct xfp_session *s, struct pair *p, xfp_once *once, void *state,
                      struct xfp_rows *rows)
{
    uint64_t sizes[XFP_COARSE_ROOM];
    size_t count = xfp_coarse_sizes(s, LEAST, p->down_host.bytes, sizes, XFP_COARSE_ROOM);

    for (size_t i = 0; i < count && !xfp_interrupted(); i++) {
        struct xfp_stats stats;

        xfp_progress(s, p->name, sizes[i]);
        p->bytes = sizes[i];
        if (s->options->verify &&
            (xfp_buffer_clear(s, &p->up, p->bytes) || xfp_buffer_clear(s, &p->down_host, p->bytes)))
            return -1;
        if (xfp_sample(s, once, state, xfp_step_ns(s, count - i), &stats, 1))
            return -1;
        if (s->options->verify && (xfp_buffer_verify(s, &p->up, &p->up, p->bytes) ||
                                   xfp_buffer_verify(s, &p->down_host, &p->down, p->bytes)))
            return -1;
        xfp_add_row(rows, p->bytes, &stats);
    }
    return 0;
}

static int sweep_threads(struct xfp_session *s, struct pair *p, struct xfp_rows *rows)
{
    pthread_t thread;
    int bad;

    pthread_barrier_init(&p->start, NULL, 2);
    pthread_barrier_init(&p->end, NULL, 2);
    bad = pthread_create(&thread, NULL, copy_down, p) ? xfp_fail(s, "cannot start a thread") : 0;
    if (!bad) {
        bad = sweep_pair(s, p, once_threads, p, rows);
        p->stop = true;
        pthread_barrier_wait(&p->start);
        pthread_join(thread, NULL);
    }
    pthread_barrier_destroy(&p->start);
    pthread_barrier_destroy(&p->end);
    return bad;
}

static int run_both(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    struct pair p = {.device = &s->devices[bench->dst.device],
                     .node = bench->src.numa,
                     .session = s,
                     .name = path->name};
    struct xfp_rows rows = {0};
    struct xfp_timed t = {.device = p.device,
                          .prepare = flush_pair,
                          .lead = lead_up,
                          .first = queue_up,
                          .second = queue_down,
                          .state = &p,
                          .gated = true};
    int bad = xfp_device_open(s, p.device);

    if (!bad)
        bad = make_pair(s, &p, bench->src);
    t.other = p.other;
    if (!bad)
        bad = bench->src.memory == XFT_MEM_PAGEABLE ? sweep_threads(s, &p, &rows)
                                                    : sweep_pair(s, &p, xfp_once_timed, &t, &rows);
    xfp_buffer_free(s, &p.up);
    xfp_buffer_free(s, &p.down);
    xfp_buffer_free(s, &p.up_host);
    xfp_buffer_free(s, &p.down_host);
    if (p.other)
        s->cu->cuStreamDestroy(p.other);
    xfp_unbind(s);
    return xfp_add_table(s, &rows, "bytes each way", "ns", 0, "%s", path->name) || bad ? -1 : 0;
}

static void enumerate_both(struct xfp_session *s, const struct xfp_family *family,
                           struct xfp_bench_list *list)
{
    static const enum xft_memory kinds[] = {XFT_MEM_PINNED, XFT_MEM_PAGEABLE};

    int nodes[XFP_MOST_NODES];
    size_t count = xfp_host_nodes(s, nodes, XFP_MOST_NODES);

    for (size_t d = 0; d < s->device_count && xfp_has_sizes(s, LEAST, MOST); d++)
        for (int k = 0; k < 2; k++)
            for (size_t n = 0; n < count; n++) {
                struct xfp_bench bench = {.family = family,
                                          .direction = XFT_DIR_H2D,
                                          .src = {kinds[k], -1, nodes[n]},
                                          .dst = {XFT_MEM_DEVICE, s->devices[d].ordinal, -1}};
                char node[XFP_NODE_TEXT];

                xfp_node_text(s, bench.src.numa, node);
                snprintf(bench.name, sizeof(bench.name), "both-ways/copy/%s/%sgpu%d",
                         xft_memory_word(kinds[k]), node, bench.dst.device);
                xfp_bench_add(list, &bench);
            }
}

const struct xfp_family xfp_family_loaded_copy = {
    .name = "loaded-copy",
    .summary = "explicit copies while the other direction is busy",
    .method = XFP_COPY,
    .budget_s = 0.5,
    .quick_budget_s = 0.1,
    .enumerate = enumerate_loaded,
    .run = run_loaded,
};

const struct xfp_family xfp_family_both_copy = {
    .name = "both-copy",
    .summary = "explicit copies to and from a device, started together",
    .method = XFP_COPY,
    .budget_s = 0.6,
    .quick_budget_s = 0.1,
    .enumerate = enumerate_both,
    .run = run_both,
};
