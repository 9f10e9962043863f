/*
 * The cost of page-locked memory that the program makes itself: new pages are mapped (huge ones,
 * where the system has them), touched by threads and page-locked, in place of an allocation by the
 * driver, which finds, clears and locks the pages in one thread; by size and threads; host clock.
 * Starting the threads and ending them counts.
 */
#include "probe/bench/bench.h"
#include "probe/device/buffer.h"
#include "probe/device/team.h"
#include "probe/measure/budget.h"
#include "probe/measure/results.h"
#include "probe/measure/sample.h"
#include "probe/measure/sizes.h"
#include "probe/progress.h"

#include <stdio.h>
#include <sys/mman.h>

enum { PAGE = 4096 };
#define LEAST ((uint64_t)1 << 20)
#define MOST ((uint64_t)256 << 20)

static const int thread_counts[] = {1, 4, 8, 16};

struct lock {
    unsigned char *pages;
    size_t bytes, threads;
    int node;
    const char *name;
};

static void touch_part(void *state, size_t index, size_t count)
{
    const struct lock *lock = state;
    size_t from, to;

    xfp_team_part(lock->bytes, index, count, &from, &to);
    for (size_t at = from; at < to; at += PAGE)
        *(volatile unsigned char *)&lock->pages[at] = 1;
}

static int map(struct xfp_session *s, struct lock *lock)
{
    void *p = mmap(NULL, lock->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        return xfp_fail(&s->sys, "out of memory");
    madvise(p, lock->bytes, MADV_HUGEPAGE); /* without: ordinary pages */
    lock->pages = p;
    return 0;
}

static int touch(struct xfp_session *s, struct lock *lock)
{
    struct xfp_team *team = xfp_team_start(&s->sys, lock->threads, lock->node);

    if (!team)
        return -1;
    xfp_team_work(team, touch_part, lock);
    xfp_team_end(team);
    if (s->sys.cu->simulated_host_copy)
        s->sys.cu->simulated_host_copy(lock->name, lock->bytes, (unsigned)lock->threads);
    return 0;
}

static int once(struct xfp_session *s, void *state, double *ns)
{
    struct lock *lock = state;
    uint64_t before = xfp_driver_now_ns(s->sys.cu), between, after;
    int bad = map(s, lock);

    if (bad)
        return -1;
    bad = touch(s, lock) ||
          xfp_check(&s->sys,
                    s->sys.cu->cuMemHostRegister(lock->pages, lock->bytes, XCU_HOST_PORTABLE),
                    "page-locking");
    between = xfp_driver_now_ns(s->sys.cu);
    if (!bad)
        bad =
            xfp_check(&s->sys, s->sys.cu->cuMemHostUnregister(lock->pages), "undoing page-locking");
    munmap(lock->pages, lock->bytes);
    after = xfp_driver_now_ns(s->sys.cu);
    ns[0] = (double)(between - before);
    ns[1] = (double)(after - between);
    return bad ? -1 : 0;
}

static int run(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    struct lock lock = {
        .threads = (size_t)bench->variant, .node = bench->src.numa, .name = path->name};
    char node[XFP_NODE_TEXT];
    struct xfp_rows take = {0}, give = {0};
    uint64_t sizes[XFP_COARSE_ROOM];
    size_t usual = xfp_coarse_sizes(s, LEAST, xfp_coarse_most(s, MOST), sizes, XFP_COARSE_ROOM);
    size_t count = xfp_add_large_sizes(s, sizes, usual, XFP_COARSE_ROOM);
    double each_ns = 0; /* of the size before, by the byte */
    int bad = xfp_device_open(&s->sys, &s->sys.devices[bench->dst.device]);

    xfp_bind(&s->sys, bench->src.numa);
    for (size_t i = 0; i < count && !bad && !xfp_interrupted(); i++) {
        struct xfp_stats stats[2];

        if (i >= usual && !xfp_has_time_for(s, each_ns * (double)sizes[i]))
            break;
        xfp_progress(s, path->name, sizes[i]);
        lock.bytes = sizes[i];
        bad = xfp_sample(s, once, &lock, i < usual ? xfp_share_ns(s, usual - i) : 0, stats, 2);
        if (bad) {
            bad = i < usual ? bad : 0; /* so much may not be locked here */
            break;
        }
        each_ns = (stats[0].median + stats[1].median) / (double)sizes[i];
        xfp_add_row(&take, sizes[i], &stats[0]);
        xfp_add_row(&give, sizes[i], &stats[1]);
    }
    xfp_unbind(&s->sys);
    /* the table with the benchmark's name comes last: --resume looks for it */
    if (xfp_add_table(s, &give, bench->family->by, 0, "unlock/threads%zu/%sgpu%d", lock.threads,
                      xfp_node_text(s, bench->src.numa, node), bench->dst.device) ||
        xfp_add_table(s, &take, bench->family->by, 0, "%s", path->name))
        return -1;
    return bad;
}

static void enumerate(struct xfp_session *s, const struct xfp_family *family,
                      struct xfp_bench_list *list)
{
    int nodes[XFP_MOST_NODES];
    size_t count = xfp_host_nodes(s, nodes, XFP_MOST_NODES), cpus[XFP_TEAM_SIZES];
    size_t most = cpus[xfp_team_sizes(&s->sys, true, cpus) - 1];

    for (size_t d = 0; d < s->sys.device_count && xfp_has_sizes(s, LEAST, MOST); d++)
        for (size_t t = 0; t < sizeof(thread_counts) / sizeof(*thread_counts); t++)
            for (size_t n = 0; n < count && (size_t)thread_counts[t] <= most; n++) {
                struct xfp_bench bench = {.family = family,
                                          .direction = XFT_DIR_UNKNOWN,
                                          .variant = thread_counts[t],
                                          .src = {XFT_MEM_UNKNOWN, -1, nodes[n]},
                                          .dst = {XFT_MEM_DEVICE, s->sys.devices[d].ordinal, -1}};
                char node[XFP_NODE_TEXT];

                snprintf(bench.name, sizeof(bench.name), "lock/threads%d/%sgpu%d", thread_counts[t],
                         xfp_node_text(s, nodes[n], node), s->sys.devices[d].ordinal);
                xfp_bench_add(list, &bench);
            }
}

const struct xfp_family xfp_family_lock = {
    .name = "lock",
    .summary = "mapping new memory, touching it by threads and page-locking it, and undoing it, by "
               "size and threads",
    .names =
        {
            {"{lock,unlock}/threadsN/[nodeN-]gpuN",
             "mapping new memory of the host, touching it by N threads and page-locking it, and "
             "undoing all of it"},
        },
    .part = XFP_PART_TABLES,
    .by = XFP_BY_BYTES,
    .from_bytes = LEAST,
    .method = XFP_COPY,
    .budget_s = 0.4,
    .quick_budget_s = 0.06,
    .enumerate = enumerate,
    .run = run,
};
