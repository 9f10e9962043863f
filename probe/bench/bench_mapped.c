/*
 * Zero-copy: a kernel reads or writes memory of the other side over the link, in one direction and
 * in both at once; between host and device, and between devices with peer access (Comm|Scope's
 * Table 1, "implicit (zero-copy) mapped").
 */
#include "probe/bench/bench.h"
#include "probe/bench/bench_peer.h"
#include "probe/device/buffer.h"
#include "probe/device/launch.h"
#include "probe/measure/budget.h"
#include "probe/measure/results.h"
#include "probe/progress.h"
#include "probe/measure/sample.h"
#include "probe/measure/sizes.h"
#include "probe/measure/timed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST = 64, SINK_BYTES = 16 };
#define MOST ((uint64_t)64 << 20)

/* What a kernel works on. */
struct mapped {
    struct xfp_device *device;
    xcu_deviceptr src, dst, sink;
    const struct xfp_buffer *ends[2]; /* both may be host memory */
    uint64_t bytes;
    uint32_t value;
    bool copies; /* what is read is written */
};

static struct xfp_place device_place(int ordinal)
{
    return (struct xfp_place){XFT_MEM_DEVICE, ordinal, -1};
}

static struct xfp_place host_place(int node)
{
    return (struct xfp_place){XFT_MEM_MAPPED, -1, node};
}

static bool applies(struct xfp_session *s, int ordinal)
{
    return xfp_has_sizes(s, LEAST, MOST) && xfp_kernels_built(&s->sys) &&
           xfp_attribute(&s->sys, ordinal, XFP_ATTR_MAPS_HOST_MEMORY) == 1;
}

/* One benchmark for every GPU and every node, made by `form`. */
static void enumerate_host(struct xfp_session *s, const struct xfp_family *family,
                           struct xfp_bench_list *list, const char *prefix, bool read)
{
    int nodes[XFP_MOST_NODES];
    size_t count = xfp_host_nodes(s, nodes, XFP_MOST_NODES);

    for (size_t d = 0; d < s->sys.device_count; d++)
        for (size_t n = 0; n < count && applies(s, s->sys.devices[d].ordinal); n++) {
            struct xfp_place host = host_place(nodes[n]);
            struct xfp_place device = device_place(s->sys.devices[d].ordinal);
            struct xfp_bench bench = {.family = family,
                                      .direction = read ? XFT_DIR_H2D : XFT_DIR_D2H,
                                      .src = read ? host : device,
                                      .dst = read ? device : host};
            char node[XFP_NODE_TEXT];

            xfp_node_text(s, host.numa, node);
            snprintf(bench.name, sizeof(bench.name), "%s/%sgpu%d", prefix, node, device.device);
            xfp_bench_add(list, &bench);
        }
}

static void enumerate_peers(struct xfp_session *s, const struct xfp_family *family,
                            struct xfp_bench_list *list, const char *prefix, bool each_way)
{
    for (size_t i = 0; i < s->sys.device_count; i++)
        for (size_t j = each_way ? 0 : i + 1; j < s->sys.device_count; j++) {
            struct xfp_bench bench = {.family = family,
                                      .direction = XFT_DIR_P2P,
                                      .src = device_place(s->sys.devices[i].ordinal),
                                      .dst = device_place(s->sys.devices[j].ordinal),
                                      .peer_access = true};

            if (!applies(s, bench.src.device) || !applies(s, bench.dst.device) ||
                !xfp_can_access(&s->sys, bench.src.device, bench.dst.device))
                continue;
            snprintf(bench.name, sizeof(bench.name), "%s/gpu%d-gpu%d", prefix, bench.src.device,
                     bench.dst.device);
            xfp_bench_add(list, &bench);
        }
}

static void enumerate_read(struct xfp_session *s, const struct xfp_family *family,
                           struct xfp_bench_list *list)
{
    enumerate_host(s, family, list, "mapped-read/mapped/h2d", true);
    enumerate_peers(s, family, list, "mapped-read/device/p2p", true);
}

static void enumerate_write(struct xfp_session *s, const struct xfp_family *family,
                            struct xfp_bench_list *list)
{
    enumerate_host(s, family, list, "mapped-write/mapped/d2h", false);
    enumerate_peers(s, family, list, "mapped-write/device/p2p", true);
}

static void enumerate_both(struct xfp_session *s, const struct xfp_family *family,
                           struct xfp_bench_list *list)
{
    enumerate_host(s, family, list, "both-ways/mapped/mapped", true);
    enumerate_peers(s, family, list, "both-ways/mapped/device", false);
}

static void enumerate_copy(struct xfp_session *s, const struct xfp_family *family,
                           struct xfp_bench_list *list)
{
    enumerate_host(s, family, list, "both-ways/one-kernel/mapped", true);
}

static int flush_ends(struct xfp_session *s, void *state)
{
    const struct mapped *m = state;

    for (int i = 0; i < 2; i++)
        xfp_flush_buffer(&s->sys, m->ends[i], m->bytes);
    return 0;
}

static xcu_result queue_read(struct xfp_session *s, void *state, xcu_stream stream)
{
    const struct mapped *m = state;

    return xfp_launch_read(&s->sys, m->device, stream, m->src, m->bytes, m->sink);
}

static xcu_result queue_write(struct xfp_session *s, void *state, xcu_stream stream)
{
    const struct mapped *m = state;

    return xfp_launch_write(&s->sys, m->device, stream, m->dst, m->bytes, m->value);
}

static xcu_result queue_copy(struct xfp_session *s, void *state, xcu_stream stream)
{
    const struct mapped *m = state;

    return xfp_launch_copy(&s->sys, m->device, stream, m->src, m->bytes, m->dst);
}

/* The buffer's address for kernels of the device. */
static int see(struct xfp_session *s, const struct xfp_buffer *b, xcu_deviceptr *address)
{
    *address = b->address;
    return b->host ? xfp_check(&s->sys, s->sys.cu->cuMemHostGetDevicePointer(address, b->host, 0),
                               "mapping host memory")
                   : 0;
}

/* Everything a benchmark holds. */
struct setup {
    const char *name;
    struct xfp_device *device; /* whose kernels run */
    struct xfp_buffer src, dst, sink;
    uint64_t most;
    bool peers;
};

static void tear_down(struct xfp_session *s, const struct xfp_bench *bench, struct setup *u)
{
    xfp_buffer_free(&s->sys, &u->src);
    xfp_buffer_free(&s->sys, &u->dst);
    xfp_buffer_free(&s->sys, &u->sink);
    if (u->peers)
        xfp_set_peer_access(s, &s->sys.devices[bench->src.device],
                            &s->sys.devices[bench->dst.device], false);
    xfp_unbind(&s->sys);
}

/* The kernel runs on `device`, reads at src and writes at dst (either may be missing:
 * XFT_MEM_UNKNOWN). */
static int set_up(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_place src,
                  struct xfp_place dst, struct setup *u, struct mapped *m)
{
    size_t most = xfp_coarse_most(s, MOST);
    struct xfp_device *d = u->device;
    struct xfp_device *from = src.device >= 0 ? &s->sys.devices[src.device] : d;
    struct xfp_device *to = dst.device >= 0 ? &s->sys.devices[dst.device] : d;
    int bad = xfp_device_open_kernels(&s->sys, d);

    u->peers = bench->peer_access;
    if (!bad && u->peers)
        bad = xfp_set_peer_access(s, &s->sys.devices[bench->src.device],
                                  &s->sys.devices[bench->dst.device], true);
    if (!bad)
        bad = xfp_buffer_make(&s->sys, d, device_place(d->ordinal), SINK_BYTES, &u->sink);
    if (!bad && src.memory)
        bad = xfp_buffer_make_fitting(&s->sys, from, src, LEAST, &most, &u->src);
    if (!bad && dst.memory)
        bad = xfp_buffer_make_fitting(&s->sys, to, dst, LEAST, &most, &u->dst);
    u->most = most;
    if (!bad && src.memory)
        bad = xfp_buffer_fill(&s->sys, &u->src, most);
    *m = (struct mapped){
        .device = d, .sink = u->sink.address, .ends = {&u->src, &u->dst}, .value = 0x5afe0001};
    if (!bad && src.memory)
        bad = see(s, &u->src, &m->src);
    if (!bad && dst.memory)
        bad = see(s, &u->dst, &m->dst);
    return bad || xfp_device_open(&s->sys, d) ? -1 : 0;
}

/* One more repetition with cleared sink and destination, then checks both. */
static int verify(struct xfp_session *s, struct xfp_timed *t, struct setup *u, struct mapped *m)
{
    unsigned char *written = u->dst.host ? u->dst.host : s->sys.check;
    uint32_t seen = 0;
    double ns;

    if (!s->sys.verify)
        return 0;
    m->value++;
    if (xfp_buffer_clear(&s->sys, &u->sink, SINK_BYTES) ||
        (m->dst && xfp_buffer_clear(&s->sys, &u->dst, m->bytes)) ||
        xfp_device_open(&s->sys, m->device) || xfp_once_timed(s, t, &ns) ||
        xfp_check(&s->sys, s->sys.cu->cuMemcpyDtoH(&seen, m->sink, sizeof(seen)), "verifying"))
        return -1;
    if (m->dst && !u->dst.host &&
        (xfp_device_open(&s->sys, u->dst.device) ||
         xfp_check(&s->sys, s->sys.cu->cuMemcpyDtoH(written, m->dst, m->bytes), "verifying") ||
         xfp_device_open(&s->sys, m->device)))
        return -1;
    if (m->copies)
        return memcmp(written, s->sys.pattern, m->bytes) == 0
                   ? 0
                   : xfp_fail(&s->sys, "wrong data after a kernel's copy of %llu mapped bytes",
                              (unsigned long long)m->bytes);
    if (m->src && seen != xfp_fold(s->sys.pattern, m->bytes))
        return xfp_fail(&s->sys, "wrong data after a mapped read of %llu bytes",
                        (unsigned long long)m->bytes);
    if (m->dst && !xfp_all_words(written, m->bytes, m->value))
        return xfp_fail(&s->sys, "wrong data after a mapped write of %llu bytes",
                        (unsigned long long)m->bytes);
    return 0;
}

/* Times `t` for every size; adds points to path, or rows. */
static int sweep(struct xfp_session *s, struct xfp_timed *t, struct setup *u, struct mapped *m,
                 struct xfp_path *path, struct xfp_rows *rows)
{
    uint64_t sizes[XFP_COARSE_ROOM];
    size_t count = xfp_coarse_sizes(s, LEAST, u->most, sizes, XFP_COARSE_ROOM);

    for (size_t i = 0; i < count && !xfp_interrupted(); i++) {
        struct xfp_stats stats;

        xfp_progress(s, u->name, sizes[i]);
        m->bytes = sizes[i];
        if (xfp_sample(s, xfp_once_timed, t, xfp_share_ns(s, count - i), &stats, 1) ||
            verify(s, t, u, m))
            return -1;
        if (path)
            xfp_add_point(path, sizes[i], &stats);
        else
            xfp_add_row(rows, sizes[i], &stats);
    }
    return 0;
}

static int run_one_way(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    bool read = bench->family->method == XFP_MAPPED_READ;
    struct xfp_place none = {XFT_MEM_UNKNOWN, -1, -1};
    struct setup u = {.name = path->name,
                      .device = &s->sys.devices[read ? bench->dst.device : bench->src.device]};
    struct mapped m;
    struct xfp_timed t = {.device = u.device,
                          .prepare = flush_ends,
                          .first = read ? queue_read : queue_write,
                          .state = &m,
                          .gated = true};
    int bad = set_up(s, bench, read ? bench->src : none, read ? none : bench->dst, &u, &m);

    path->points = calloc(XFP_COARSE_ROOM, sizeof(*path->points));
    path->device_timed = true;
    if (!bad && !path->points)
        bad = xfp_fail(&s->sys, "out of memory");
    if (!bad)
        bad = sweep(s, &t, &u, &m, path, NULL);
    if (path->point_count)
        path->fit = xfp_fit_points(path->points, path->point_count, 0);
    tear_down(s, bench, &u);
    return bad;
}

/* One kernel that reads and writes. */
static int run_copy(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    struct setup u = {.name = path->name, .device = &s->sys.devices[bench->dst.device]};
    struct xfp_rows rows = {0};
    struct mapped m;
    struct xfp_timed t = {
        .device = u.device, .prepare = flush_ends, .first = queue_copy, .state = &m, .gated = true};
    int bad = set_up(s, bench, bench->src, bench->src, &u, &m);

    m.copies = true;
    if (!bad)
        bad = sweep(s, &t, &u, &m, NULL, &rows);
    tear_down(s, bench, &u);
    return xfp_add_table(s, &rows, bench->family->by, 0, "%s", path->name) || bad ? -1 : 0;
}

/* A kernel that reads and one that writes; with a device at both ends, both run on the first. */
static int run_both(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    struct xfp_place there = bench->peer_access ? bench->dst : bench->src;
    struct setup u = {
        .name = path->name,
        .device = &s->sys.devices[bench->peer_access ? bench->src.device : bench->dst.device]};
    struct xfp_rows rows = {0};
    struct mapped m;
    struct xfp_timed t = {.device = u.device,
                          .prepare = flush_ends,
                          .first = queue_read,
                          .second = queue_write,
                          .state = &m,
                          .gated = true};
    int bad = set_up(s, bench, there, there, &u, &m);

    if (!bad)
        bad = xfp_check(&s->sys, s->sys.cu->cuStreamCreate(&t.other, 1), "cuStreamCreate");
    if (!bad)
        bad = sweep(s, &t, &u, &m, NULL, &rows);
    if (t.other)
        s->sys.cu->cuStreamDestroy(t.other);
    tear_down(s, bench, &u);
    return xfp_add_table(s, &rows, bench->family->by, 0, "%s", path->name) || bad ? -1 : 0;
}

const struct xfp_family xfp_family_mapped_read = {
    .name = "mapped-read",
    .summary = "zero-copy: a kernel reads the other side's memory",
    .names =
        {
            {"mapped-read/mapped/h2d/[nodeN-]gpuN", NULL},
            {"mapped-read/device/p2p/gpuN-gpuM", NULL},
        },
    .part = XFP_PART_PATHS,
    .needs = XFP_NEED_KERNELS | XFP_NEED_MAPPED,
    .method = XFP_MAPPED_READ,
    .budget_s = 0.7,
    .quick_budget_s = 0.1,
    .enumerate = enumerate_read,
    .run = run_one_way,
};

const struct xfp_family xfp_family_mapped_write = {
    .name = "mapped-write",
    .summary = "zero-copy: a kernel writes the other side's memory",
    .names =
        {
            {"mapped-write/mapped/d2h/[nodeN-]gpuN", NULL},
            {"mapped-write/device/p2p/gpuN-gpuM", NULL},
        },
    .part = XFP_PART_PATHS,
    .needs = XFP_NEED_KERNELS | XFP_NEED_MAPPED,
    .method = XFP_MAPPED_WRITE,
    .budget_s = 0.7,
    .quick_budget_s = 0.1,
    .enumerate = enumerate_write,
    .run = run_one_way,
};

const struct xfp_family xfp_family_mapped_both = {
    .name = "mapped-both",
    .summary =
        "zero-copy: one kernel reads and another writes the other side's memory at the same time",
    .names =
        {
            {"both-ways/mapped/mapped/[nodeN-]gpuN",
             "a kernel reads memory of the host while another writes it"},
            {"both-ways/mapped/device/gpuN-gpuM",
             "a kernel reads memory of another device while another writes it"},
        },
    .part = XFP_PART_TABLES,
    .by = XFP_BY_BYTES_EACH_WAY,
    .needs = XFP_NEED_KERNELS | XFP_NEED_MAPPED,
    .method = XFP_MAPPED_READ,
    .budget_s = 0.7,
    .quick_budget_s = 0.1,
    .enumerate = enumerate_both,
    .run = run_both,
};

const struct xfp_family xfp_family_mapped_copy = {
    .name = "mapped-copy",
    .summary = "zero-copy: one kernel reads host memory and writes host memory",
    .names =
        {
            {"both-ways/one-kernel/mapped/[nodeN-]gpuN",
             "one kernel reads mapped memory of the host and writes what it read to mapped memory"},
        },
    .part = XFP_PART_TABLES,
    .by = XFP_BY_BYTES_EACH_WAY,
    .needs = XFP_NEED_KERNELS | XFP_NEED_MAPPED,
    .method = XFP_MAPPED_READ,
    .budget_s = 0.7,
    .quick_budget_s = 0.1,
    .enumerate = enumerate_copy,
    .run = run_copy,
};
