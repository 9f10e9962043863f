/*
 * Copies within the host, between every two NUMA nodes: the driver's (cudaMemcpy from a pageable
 * buffer to a pinned one, and back; the thesis chapter's "CPU / CPU Transfers", algorithm 1), and
 * the program's own memcpy by number of threads, which is the cost of staging through pinned memory
 * by hand.
 */
#include "probe/bench/bench.h"
#include "probe/device/buffer.h"
#include "probe/progress.h"
#include "probe/measure/sample.h"
#include "probe/device/team.h"
#include "probe/measure/budget.h"
#include "probe/measure/results.h"
#include "probe/measure/sizes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST = 4096 };
#define MOST ((uint64_t)256 << 20)
#define THREADS_BYTES ((size_t)64 << 20)

struct host_copy {
    struct xfp_buffer src, dst;
    size_t bytes, threads;
    struct xfp_team *team;
    const char *name;
};

static void copy_part(void *state, size_t index, size_t count)
{
    const struct host_copy *c = state;
    size_t from, to;

    xfp_team_part(c->bytes, index, count, &from, &to);
    memcpy(c->dst.host + from, c->src.host + from, to - from);
}

static xcu_deviceptr address_of(const struct xfp_buffer *b)
{
    return (xcu_deviceptr)(uintptr_t)b->host;
}

static int once_driver(struct xfp_session *s, void *state, double *ns)
{
    const struct host_copy *c = state;
    uint64_t before;
    xcu_result result;

    xfp_flush_buffer(&s->sys, &c->src, c->bytes);
    xfp_flush_buffer(&s->sys, &c->dst, c->bytes);
    before = xfp_driver_now_ns(s->sys.cu);
    result = s->sys.cu->cuMemcpy(address_of(&c->dst), address_of(&c->src), c->bytes);
    *ns = (double)(xfp_driver_now_ns(s->sys.cu) - before);
    return xfp_check(&s->sys, result, "copying within the host");
}

static int once_team(struct xfp_session *s, void *state, double *ns)
{
    struct host_copy *c = state;
    uint64_t before;

    xfp_flush_buffer(&s->sys, &c->src, c->bytes);
    xfp_flush_buffer(&s->sys, &c->dst, c->bytes);
    before = xfp_driver_now_ns(s->sys.cu);
    xfp_team_work(c->team, copy_part, c);
    if (s->sys.cu->simulated_host_copy)
        s->sys.cu->simulated_host_copy(c->name, c->bytes, (unsigned)c->threads);
    *ns = (double)(xfp_driver_now_ns(s->sys.cu) - before);
    return 0;
}

/* As in the thesis, the thread runs on the destination's node. The simulated GPU cannot see pages,
 * so it is given the node of the pageable end. */
static void bind_copy(struct xfp_session *s, const struct xfp_bench *bench)
{
    bool from_pageable = bench->src.memory == XFT_MEM_PAGEABLE;

    xfp_bind(&s->sys, bench->dst.numa);
    if (s->sys.cu->simulated_bind_numa)
        s->sys.cu->simulated_bind_numa(from_pageable ? bench->src.numa : bench->dst.numa);
}

static int make_ends(struct xfp_session *s, const struct xfp_bench *bench, size_t most,
                     struct host_copy *c)
{
    struct xfp_device *d = &s->sys.devices[0]; /* the driver's call is made in its context */

    most = xfp_coarse_most(s, most);
    if (xfp_device_open(&s->sys, d) ||
        xfp_buffer_make_fitting(&s->sys, d, bench->src, LEAST, &most, &c->src) ||
        xfp_buffer_make_fitting(&s->sys, d, bench->dst, LEAST, &most, &c->dst) ||
        xfp_buffer_fill(&s->sys, &c->src, most))
        return -1;
    c->bytes = most;
    bind_copy(s, bench);
    return 0;
}

static void free_ends(struct xfp_session *s, struct host_copy *c)
{
    xfp_buffer_free(&s->sys, &c->src);
    xfp_buffer_free(&s->sys, &c->dst);
    xfp_unbind(&s->sys);
}

/* One size, or one number of threads. */
static int measure(struct xfp_session *s, struct host_copy *c, xfp_once *once, size_t left,
                   struct xfp_stats *stats)
{
    if (s->sys.verify && xfp_buffer_clear(&s->sys, &c->dst, c->bytes))
        return -1;
    if (xfp_sample(s, once, c, xfp_share_ns(s, left), stats, 1))
        return -1;
    return s->sys.verify ? xfp_buffer_verify(&s->sys, &c->dst, &c->dst, c->bytes) : 0;
}

static int run_driver(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    struct host_copy c = {.name = path->name};
    uint64_t sizes[XFP_COARSE_ROOM];
    size_t count;
    int bad = make_ends(s, bench, MOST, &c);

    path->points = calloc(XFP_COARSE_ROOM, sizeof(*path->points));
    path->blocking = true;
    if (!bad && !path->points)
        bad = xfp_fail(&s->sys, "out of memory");
    count = bad ? 0 : xfp_coarse_sizes(s, LEAST, c.bytes, sizes, XFP_COARSE_ROOM);
    for (size_t i = 0; i < count && !bad && !xfp_interrupted(); i++) {
        struct xfp_stats stats;

        xfp_progress(s, path->name, sizes[i]);
        c.bytes = sizes[i];
        bad = measure(s, &c, once_driver, count - i, &stats);
        if (!bad)
            xfp_add_point(path, sizes[i], &stats);
    }
    if (path->point_count)
        path->fit = xfp_fit_points(path->points, path->point_count, 0);
    free_ends(s, &c);
    return bad;
}

static int run_threads(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    struct host_copy c = {.name = path->name};
    struct xfp_rows rows = {0};
    size_t sizes[XFP_TEAM_SIZES], count = xfp_team_sizes(&s->sys, s->options->quick, sizes);
    int bad = make_ends(s, bench, THREADS_BYTES, &c);

    for (size_t i = 0; i < count && !bad && !xfp_interrupted(); i++) {
        struct xfp_stats stats;

        xfp_progress(s, path->name, c.bytes);
        c.threads = sizes[i];
        c.team = xfp_team_start(&s->sys, sizes[i], bench->dst.numa);
        bad = !c.team || measure(s, &c, once_team, count - i, &stats);
        xfp_team_end(c.team);
        if (!bad)
            xfp_add_row(&rows, sizes[i], &stats);
    }
    bad = xfp_add_table(s, &rows, bench->family->by, c.bytes, "%s", path->name) || bad ? -1 : 0;
    free_ends(s, &c);
    return bad;
}

/* Every node to every node, also to itself; "host" if there is only one. */
static void enumerate_kind(struct xfp_session *s, const struct xfp_family *family,
                           struct xfp_bench_list *list, const char *word, enum xft_memory from)
{
    enum xft_memory to = from == XFT_MEM_PAGEABLE ? XFT_MEM_PINNED : XFT_MEM_PAGEABLE;

    for (int a = 0; a < s->sys.numa_count; a++)
        for (int b = 0; b < s->sys.numa_count; b++) {
            struct xfp_bench bench = {.family = family,
                                      .direction = XFT_DIR_H2H,
                                      .src = {from, -1, s->sys.numa_nodes[a]},
                                      .dst = {to, -1, s->sys.numa_nodes[b]}};
            char nodes[48] = "host";

            if (s->sys.numa_count > 1)
                snprintf(nodes, sizeof(nodes), "node%d-node%d", bench.src.numa, bench.dst.numa);
            snprintf(bench.name, sizeof(bench.name), "%s/%s/h2h/%s", word, xft_memory_word(from),
                     nodes);
            xfp_bench_add(list, &bench);
        }
}

static void enumerate_driver(struct xfp_session *s, const struct xfp_family *family,
                             struct xfp_bench_list *list)
{
    if (!s->sys.cu->cuMemcpy || !xfp_has_sizes(s, LEAST, MOST))
        return;
    enumerate_kind(s, family, list, "copy", XFT_MEM_PAGEABLE);
    enumerate_kind(s, family, list, "copy", XFT_MEM_PINNED);
}

static void enumerate_threads(struct xfp_session *s, const struct xfp_family *family,
                              struct xfp_bench_list *list)
{
    enumerate_kind(s, family, list, "host-copy", XFT_MEM_PAGEABLE);
    enumerate_kind(s, family, list, "host-copy", XFT_MEM_PINNED);
}

const struct xfp_family xfp_family_host_host = {
    .name = "host-host",
    .summary = "the driver's blocking copies within the host, pageable to pinned and back",
    .names =
        {
            {"copy/{pageable,pinned}/h2h/{host,nodeN-nodeM}", NULL},
        },
    .part = XFP_PART_PATHS,
    .method = XFP_COPY,
    .budget_s = 0.8,
    .quick_budget_s = 0.1,
    .enumerate = enumerate_driver,
    .run = run_driver,
};

const struct xfp_family xfp_family_host_copy = {
    .name = "host-copy",
    .summary = "the program's own memcpy within the host, by number of threads: what staging costs",
    .names =
        {
            {"host-copy/{pageable,pinned}/h2h/{host,nodeN-nodeM}",
             "copying `bytes` within the host, pageable to pinned or back, by that many threads"},
        },
    .part = XFP_PART_TABLES,
    .by = XFP_BY_THREADS,
    .bytes = THREADS_BYTES,
    .from_bytes = THREADS_BYTES,
    .method = XFP_COPY,
    .budget_s = 0.8,
    .quick_budget_s = 0.1,
    .enumerate = enumerate_threads,
    .run = run_threads,
};
