/*
 * Explicit copies in both directions, started together, from start to the last end (Comm|Scope's
 * "both").
 */
#include "probe/bench/bench.h"
#include "probe/measure/budget.h"
#include "probe/measure/results.h"
#include "probe/measure/measure.h"
#include "probe/measure/sample.h"
#include "probe/measure/sizes.h"
#include "probe/measure/timed.h"
#include "probe/progress.h"

#include <pthread.h>
#include <stdio.h>

enum { LEAST = 4096 };
#define MOST ((uint64_t)64 << 20)

struct pair {
    struct xfp_device *device;
    struct xfp_buffer up_host, up, down_host, down; /* to the device, from it */
    xcu_stream other;
    uint64_t bytes;
    int node;
    /* pageable copies block their caller: the second direction has its own thread */
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
    struct xfp_copy up = {.src = &p->up_host, .dst = &p->up};

    return xfp_submit_part(s->sys.cu, &up, 0, p->bytes, stream);
}

static xcu_result queue_down(struct xfp_session *s, void *state, xcu_stream stream)
{
    struct pair *p = state;
    struct xfp_copy down = {.src = &p->down, .dst = &p->down_host};

    return xfp_submit_part(s->sys.cu, &down, 0, p->bytes, stream);
}

static xcu_result lead_up(struct xfp_session *s, void *state, xcu_stream stream)
{
    struct pair *p = state;
    struct xfp_copy up = {.src = &p->up_host, .dst = &p->up};

    return xfp_submit_lead(s->sys.cu, &up, p->bytes, stream);
}

static int flush_pair(struct xfp_session *s, void *state)
{
    const struct pair *p = state;

    xfp_flush_buffer(&s->sys, &p->up_host, p->bytes);
    xfp_flush_buffer(&s->sys, &p->down_host, p->bytes);
    return 0;
}

static void *copy_down(void *state)
{
    struct pair *p = state;
    const struct xfp_driver *cu = p->session->sys.cu;

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
    before = xfp_driver_now_ns(s->sys.cu);
    result = queue_up(s, p, p->device->stream);
    if (!result)
        result = s->sys.cu->cuStreamSynchronize(p->device->stream);
    after = xfp_driver_now_ns(s->sys.cu);
    pthread_barrier_wait(&p->end);
    before = p->began_ns < before ? p->began_ns : before;
    after = p->ended_ns > after ? p->ended_ns : after;
    *ns = (double)(after - before);
    return xfp_check(&s->sys, result ? result : p->result, "copying");
}

static int make_pair(struct xfp_session *s, struct pair *p, struct xfp_place host)
{
    struct xfp_place device = {XFT_MEM_DEVICE, p->device->ordinal, -1};
    size_t most = xfp_coarse_most(s, MOST), least = LEAST;

    return xfp_buffer_make_fitting(&s->sys, p->device, device, least, &most, &p->up) ||
                   xfp_buffer_make_fitting(&s->sys, p->device, device, least, &most, &p->down) ||
                   xfp_buffer_make_fitting(&s->sys, p->device, host, least, &most, &p->up_host) ||
                   xfp_buffer_make_fitting(&s->sys, p->device, host, least, &most, &p->down_host) ||
                   xfp_buffer_fill(&s->sys, &p->up_host, p->down_host.bytes) ||
                   xfp_buffer_fill(&s->sys, &p->down, p->down_host.bytes) ||
                   xfp_check(&s->sys, s->sys.cu->cuStreamCreate(&p->other, 1), "cuStreamCreate")
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
        if (s->sys.verify && (xfp_buffer_clear(&s->sys, &p->up, p->bytes) ||
                              xfp_buffer_clear(&s->sys, &p->down_host, p->bytes)))
            return -1;
        if (xfp_sample(s, once, state, xfp_share_ns(s, count - i), &stats, 1))
            return -1;
        if (s->sys.verify && (xfp_buffer_verify(&s->sys, &p->up, &p->up, p->bytes) ||
                              xfp_buffer_verify(&s->sys, &p->down_host, &p->down, p->bytes)))
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
    bad = pthread_create(&thread, NULL, copy_down, p) ? xfp_fail(&s->sys, "cannot start a thread")
                                                      : 0;
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
    struct pair p = {.device = &s->sys.devices[bench->dst.device],
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
    int bad = xfp_device_open(&s->sys, p.device);

    if (!bad)
        bad = make_pair(s, &p, bench->src);
    t.other = p.other;
    if (!bad)
        bad = bench->src.memory == XFT_MEM_PAGEABLE ? sweep_threads(s, &p, &rows)
                                                    : sweep_pair(s, &p, xfp_once_timed, &t, &rows);
    xfp_buffer_free(&s->sys, &p.up);
    xfp_buffer_free(&s->sys, &p.down);
    xfp_buffer_free(&s->sys, &p.up_host);
    xfp_buffer_free(&s->sys, &p.down_host);
    if (p.other)
        s->sys.cu->cuStreamDestroy(p.other);
    xfp_unbind(&s->sys);
    return xfp_add_table(s, &rows, bench->family->by, 0, "%s", path->name) || bad ? -1 : 0;
}

static void enumerate_both(struct xfp_session *s, const struct xfp_family *family,
                           struct xfp_bench_list *list)
{
    static const enum xft_memory kinds[] = {XFT_MEM_PINNED, XFT_MEM_PAGEABLE};

    int nodes[XFP_MOST_NODES];
    size_t count = xfp_host_nodes(s, nodes, XFP_MOST_NODES);

    for (size_t d = 0; d < s->sys.device_count && xfp_has_sizes(s, LEAST, MOST); d++)
        for (int k = 0; k < 2; k++)
            for (size_t n = 0; n < count; n++) {
                struct xfp_bench bench = {.family = family,
                                          .direction = XFT_DIR_H2D,
                                          .src = {kinds[k], -1, nodes[n]},
                                          .dst = {XFT_MEM_DEVICE, s->sys.devices[d].ordinal, -1}};
                char node[XFP_NODE_TEXT];

                xfp_node_text(s, bench.src.numa, node);
                snprintf(bench.name, sizeof(bench.name), "both-ways/copy/%s/%sgpu%d",
                         xft_memory_word(kinds[k]), node, bench.dst.device);
                xfp_bench_add(list, &bench);
            }
}

const struct xfp_family xfp_family_both_copy = {
    .name = "both-copy",
    .summary = "explicit copies to and from a device, started together",
    .names =
        {
            {"both-ways/copy/{pinned,pageable}/[nodeN-]gpuN",
             "a copy to and one from the device, started together: until both have ended"},
        },
    .part = XFP_PART_TABLES,
    .by = XFP_BY_BYTES_EACH_WAY,
    .method = XFP_COPY,
    .budget_s = 0.6,
    .quick_budget_s = 0.1,
    .enumerate = enumerate_both,
    .run = run_both,
};
