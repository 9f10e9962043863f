/*
 * Explicit copies while the link is busy in the other direction: the transfer model's G when both
 * directions run, and when mapped traffic collides (van Werkhoven et al., section V.B, table II).
 * And the bandwidth of a kernel's writes during copies to the device: the two things that the
 * paper's hybrid method does at once.
 */
#include "probe/bench/bench.h"
#include "probe/device/launch.h"
#include "probe/measure/budget.h"
#include "probe/measure/results.h"
#include "probe/measure/measure.h"
#include "probe/measure/sample.h"
#include "probe/measure/sizes.h"
#include "probe/measure/timed.h"
#include "probe/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST = 4096, LOAD_BYTES = 4 << 20, LOAD_ROOM = 128 << 20, MOST_GOES = 512 };
#define MOST ((uint64_t)64 << 20)
#define WRITTEN 0x5afe0002u

/* One copy, or a kernel's writes, and the load in the other direction. */
struct collision {
    struct xfp_device *device;
    bool to_device;                     /* of what is measured */
    bool mapped;                        /* the load is a kernel's */
    bool writes;                        /* what is measured is a kernel's */
    struct xfp_buffer host, there;      /* the copy; a kernel writes to host */
    xcu_deviceptr host_mapped;          /* host as the device sees it */
    struct xfp_buffer load, load_there; /* the load */
    xcu_deviceptr load_mapped;          /* load as the device sees it */
    size_t load_bytes, load_at; /* bytes of one part of the load; where the next one begins */
    xcu_stream other;
    uint64_t bytes;
    size_t goes; /* of the load: at least until the copy has ended */
};

static struct xfp_copy one_way(bool to_device, struct xfp_buffer *host, struct xfp_buffer *device)
{
    return (struct xfp_copy){.src = to_device ? host : device, .dst = to_device ? device : host};
}

/*
 * Queues the load, in the other direction: a kernel that reads is traffic to the device. It moves
 * through its buffer in a circle, so that it reads memory and not the processor's caches: against a
 * load from the caches, copies to an H200 are 4 % faster.
 */
static xcu_result load_once(struct xfp_session *s, struct collision *c)
{
    struct xfp_copy load = one_way(!c->to_device, &c->load, &c->load_there);
    size_t at = c->load_at;

    c->load_at = (at + c->load_bytes) % c->load.bytes;
    if (!c->mapped)
        return xfp_submit_part(s->sys.cu, &load, at, c->load_bytes, c->other);
    if (c->to_device)
        return xfp_launch_write(&s->sys, c->device, c->other, c->load_mapped + at, c->load_bytes,
                                1);
    return xfp_launch_read(&s->sys, c->device, c->other, c->load_mapped + at, c->load_bytes,
                           c->load_there.address + at);
}

static xcu_result queue_measured(struct xfp_session *s, struct collision *c)
{
    const struct xfp_copy copy = one_way(c->to_device, &c->host, &c->there);
    const struct xfp_driver *cu = s->sys.cu;
    struct xfp_device *d = c->device;
    xcu_result result = c->writes ? XCU_SUCCESS : xfp_submit_lead(cu, &copy, c->bytes, d->stream);

    if (!result)
        result = cu->cuEventRecord(d->events[1], d->stream);
    if (!result && c->writes)
        result = xfp_launch_write(&s->sys, d, d->stream, c->host_mapped, c->bytes, WRITTEN);
    else if (!result)
        result = xfp_submit_part(cu, &copy, 0, c->bytes, d->stream);
    return result ? result : cu->cuEventRecord(d->events[2], d->stream);
}

/* Events: 0 the load has begun, 1 and 2 around the measured work, 3 the load has ended. The
 * measured work starts when the load's first part is over and its second runs. */
static xcu_result queue_collision(struct xfp_session *s, void *state)
{
    struct collision *c = state;
    const struct xfp_driver *cu = s->sys.cu;
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
    return result ? result : queue_measured(s, c);
}

/* The load must last longer than the measured work: if not, repeats with more of it. */
static int once_collided(struct xfp_session *s, void *state, double *ns)
{
    struct collision *c = state;
    xcu_event *events = c->device->events;
    const struct xfp_queued queued = {.device = c->device,
                                      .gated = true,
                                      .queue = queue_collision,
                                      .state = c,
                                      .other = c->other,
                                      .what = "copying"};

    for (;;) {
        double after = 0;
        int again;

        xfp_flush_buffer(&s->sys, &c->host, c->bytes);
        again = xfp_run_queued(s, &queued);

        if (again < 0 || xfp_elapsed(s, events[1], events[2], ns) ||
            xfp_elapsed(s, events[2], events[3], &after))
            return -1;
        if (!again && after >= 0)
            return 0;
        if (!again && c->goes > MOST_GOES)
            return xfp_fail(&s->sys, "the other direction could not be kept busy");
        c->goes += again ? 0 : c->goes;
    }
}

static int see(struct xfp_session *s, const struct xfp_buffer *host, xcu_deviceptr *address)
{
    return xfp_check(&s->sys, s->sys.cu->cuMemHostGetDevicePointer(address, host->host, 0),
                     "mapping host memory");
}

/* A load with less memory does not change the measurement: there is no notice. The simulated GPU
 * has no caches. */
static int make_load(struct xfp_session *s, struct collision *c, struct xfp_place host, size_t most)
{
    struct xfp_place device = {XFT_MEM_DEVICE, c->device->ordinal, -1};
    size_t room = s->sys.cu->simulated_now_ns ? LOAD_BYTES
                  : 2 * most > LOAD_ROOM      ? 2 * most
                                              : LOAD_ROOM;
    char notice[sizeof(s->sys.notice)];
    int bad;

    memcpy(notice, s->sys.notice, sizeof(notice));
    host.memory = c->mapped ? XFT_MEM_MAPPED : XFT_MEM_PINNED;
    bad = xfp_buffer_make_fitting(&s->sys, c->device, device, LOAD_BYTES, &room, &c->load_there) ||
          xfp_buffer_make_fitting(&s->sys, c->device, host, LOAD_BYTES, &room, &c->load);
    memcpy(s->sys.notice, notice, sizeof(notice));
    if (bad)
        return -1;
    return c->mapped ? see(s, &c->load, &c->load_mapped) : 0;
}

static int make_ends(struct xfp_session *s, struct collision *c, struct xfp_place host)
{
    struct xfp_place device = {XFT_MEM_DEVICE, c->device->ordinal, -1};
    size_t most = xfp_coarse_most(s, MOST), least = LEAST;

    c->load_bytes = LOAD_BYTES;
    if (xfp_buffer_make_fitting(&s->sys, c->device, device, least, &most, &c->there) ||
        xfp_buffer_make_fitting(&s->sys, c->device, host, least, &most, &c->host) ||
        make_load(s, c, host, most) || (c->writes && see(s, &c->host, &c->host_mapped)))
        return -1;
    return xfp_check(&s->sys, s->sys.cu->cuStreamCreate(&c->other, 1), "cuStreamCreate");
}

static void free_ends(struct xfp_session *s, struct collision *c)
{
    xfp_buffer_free(&s->sys, &c->there);
    xfp_buffer_free(&s->sys, &c->host);
    xfp_buffer_free(&s->sys, &c->load);
    xfp_buffer_free(&s->sys, &c->load_there);
    if (c->other)
        s->sys.cu->cuStreamDestroy(c->other);
    xfp_unbind(&s->sys);
}

static int verify(struct xfp_session *s, const struct collision *c, struct xfp_buffer *dst)
{
    if (!c->writes)
        return xfp_buffer_verify(&s->sys, dst, &c->there, c->bytes);
    if (!xfp_all_words(dst->host, c->bytes, WRITTEN))
        return xfp_fail(&s->sys, "wrong data after a mapped write of %llu bytes",
                        (unsigned long long)c->bytes);
    return 0;
}

static int measure_size(struct xfp_session *s, struct collision *c, uint64_t budget_ns,
                        struct xfp_path *path)
{
    struct xfp_buffer *src = c->to_device ? &c->host : &c->there;
    struct xfp_buffer *dst = c->to_device ? &c->there : &c->host;
    struct xfp_stats stats;

    c->goes = 3 + 2 * c->bytes / c->load_bytes;
    if (s->sys.verify && xfp_buffer_clear(&s->sys, dst, c->bytes))
        return -1;
    if (xfp_buffer_fill(&s->sys, src, c->bytes) || xfp_device_open(&s->sys, c->device) ||
        xfp_sample(s, once_collided, c, budget_ns, &stats, 1))
        return -1;
    if (s->sys.verify && verify(s, c, dst))
        return -1;
    xfp_add_point(path, c->bytes, &stats);
    return 0;
}

static int run_loaded(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    bool to_device = bench->direction == XFT_DIR_H2D;
    int ordinal = to_device ? bench->dst.device : bench->src.device;
    struct collision c = {.device = &s->sys.devices[ordinal],
                          .to_device = to_device,
                          .mapped = bench->load == XFP_MAPPED_TRAFFIC,
                          .writes = bench->family->method == XFP_MAPPED_WRITE};
    uint64_t sizes[XFP_COARSE_ROOM];
    int bad = c.mapped || c.writes ? xfp_device_open_kernels(&s->sys, c.device)
                                   : xfp_device_open(&s->sys, c.device);
    size_t count;

    path->points = calloc(XFP_COARSE_ROOM, sizeof(*path->points));
    path->device_timed = true;
    path->load = bench->load;
    if (!bad && !path->points)
        bad = xfp_fail(&s->sys, "out of memory");
    if (!bad)
        bad = make_ends(s, &c, to_device ? bench->src : bench->dst);
    count = xfp_coarse_sizes(s, LEAST, c.host.bytes, sizes, XFP_COARSE_ROOM);
    for (size_t i = 0; i < count && !bad && !xfp_interrupted(); i++) {
        xfp_progress(s, path->name, sizes[i]);
        c.bytes = sizes[i];
        bad = measure_size(s, &c, xfp_share_ns(s, count - i), path);
    }
    if (path->point_count)
        path->fit = xfp_fit_points(path->points, path->point_count, 0);
    free_ends(s, &c);
    return bad;
}

/* For every node: both directions of a copy; or a kernel's writes, which have one. */
static void add_loaded(struct xfp_session *s, const struct xfp_family *family,
                       struct xfp_bench_list *list, int ordinal, enum xfp_load load,
                       const char *word)
{
    bool writes = family->method == XFP_MAPPED_WRITE;

    for (int n = 0; n < s->sys.numa_count; n++)
        for (int back = writes; back < 2; back++) {
            struct xfp_place host = {writes ? XFT_MEM_MAPPED : XFT_MEM_PINNED, -1,
                                     s->sys.numa_nodes[n]};
            struct xfp_place device = {XFT_MEM_DEVICE, ordinal, -1};
            struct xfp_bench bench = {.family = family,
                                      .direction = back ? XFT_DIR_D2H : XFT_DIR_H2D,
                                      .src = back ? device : host,
                                      .dst = back ? host : device,
                                      .load = load};
            char node[XFP_NODE_TEXT];

            xfp_node_text(s, host.numa, node);
            snprintf(bench.name, sizeof(bench.name), "%s/%s/%sgpu%d", word, back ? "d2h" : "h2d",
                     node, ordinal);
            xfp_bench_add(list, &bench);
        }
}

static bool has_kernels(struct xfp_session *s, int device)
{
    return xfp_kernels_built(&s->sys) &&
           xfp_attribute(&s->sys, device, XFP_ATTR_MAPS_HOST_MEMORY) == 1;
}

static void enumerate_loaded(struct xfp_session *s, const struct xfp_family *family,
                             struct xfp_bench_list *list)
{
    for (size_t d = 0; d < s->sys.device_count && xfp_has_sizes(s, LEAST, MOST); d++) {
        int device = s->sys.devices[d].ordinal;

        /* one copy engine runs one direction at a time */
        if (xfp_attribute(&s->sys, device, XFP_ATTR_COPY_ENGINES) >= 2)
            add_loaded(s, family, list, device, XFP_BOTH_WAYS, "copy-both-ways/pinned");
        if (has_kernels(s, device))
            add_loaded(s, family, list, device, XFP_MAPPED_TRAFFIC, "copy-under-mapped/pinned");
    }
}

static void enumerate_writes(struct xfp_session *s, const struct xfp_family *family,
                             struct xfp_bench_list *list)
{
    for (size_t d = 0; d < s->sys.device_count && xfp_has_sizes(s, LEAST, MOST); d++)
        if (has_kernels(s, s->sys.devices[d].ordinal))
            add_loaded(s, family, list, s->sys.devices[d].ordinal, XFP_BOTH_WAYS,
                       "mapped-write-under-copy/mapped");
}

const struct xfp_family xfp_family_loaded_copy = {
    .name = "loaded-copy",
    .summary = "explicit copies while copies (two copy engines), or a kernel's zero-copy traffic, "
               "go the other way",
    .names =
        {
            {"copy-both-ways/pinned/{h2d,d2h}/[nodeN-]gpuN", NULL},
            {"copy-under-mapped/pinned/{h2d,d2h}/[nodeN-]gpuN", NULL},
        },
    .part = XFP_PART_PATHS,
    .method = XFP_COPY,
    .budget_s = 0.5,
    .quick_budget_s = 0.1,
    .enumerate = enumerate_loaded,
    .run = run_loaded,
};

const struct xfp_family xfp_family_loaded_write = {
    .name = "loaded-write",
    .summary = "zero-copy: a kernel writes the host's memory while copies go to the device",
    .names =
        {
            {"mapped-write-under-copy/mapped/d2h/[nodeN-]gpuN", NULL},
        },
    .part = XFP_PART_PATHS,
    .needs = XFP_NEED_KERNELS | XFP_NEED_MAPPED,
    .method = XFP_MAPPED_WRITE,
    .budget_s = 0.5,
    .quick_budget_s = 0.1,
    .enumerate = enumerate_writes,
    .run = run_loaded,
};
