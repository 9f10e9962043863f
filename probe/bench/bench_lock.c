/*
 * The cost of page-locked memory that the program makes itself: new pages are mapped (huge ones,
 * where the system has them), touched by threads and page-locked, in place of an allocation by the
 * driver, which finds, clears and locks the pages in one thread; by size and threads; host clock.
 * Starting the threads and ending them counts.
 *
 * And as xferscope apply makes it (preload/apply/memory/locking.h): memory that children of a fork
 * share, as they share the driver's. Most kernels have ordinary pages alone for that, so that it
 * takes several times as long. What it keeps it clears by threads.
 */
#include "probe/bench/bench.h"
#include "probe/device/buffer.h"
#include "probe/device/team.h"
#include "probe/measure/budget.h"
#include "probe/measure/results.h"
#include "probe/measure/sample.h"
#include "probe/measure/sizes.h"
#include "probe/progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, POPULATE_WRITE = 23 }; /* MADV_POPULATE_WRITE, Linux 5.14 */
#define LEAST ((uint64_t)1 << 20)
#define MOST ((uint64_t)256 << 20)

static const int thread_counts[] = {1, 4, 8, 16};

struct lock {
    unsigned char *pages;
    size_t bytes, threads;
    bool shared;
    int node;
    const char *name;
    char clear[XFP_NAME_BYTES]; /* the table of that */
};

static void touch_part(void *state, size_t index, size_t count)
{
    const struct lock *lock = state;
    size_t from, to;

    xfp_team_part(lock->bytes, index, count, &from, &to);
    if (lock->shared && madvise(lock->pages + from, to - from, POPULATE_WRITE) == 0)
        return;
    for (size_t at = from; at < to; at += PAGE)
        *(volatile unsigned char *)&lock->pages[at] = 1;
}

static void clear_part(void *state, size_t index, size_t count)
{
    const struct lock *lock = state;
    size_t from, to;

    xfp_team_part(lock->bytes, index, count, &from, &to);
    memset(lock->pages + from, 0, to - from);
}

static int map(struct xfp_session *s, struct lock *lock)
{
    int sharing = lock->shared ? MAP_SHARED : MAP_PRIVATE;
    void *p = mmap(NULL, lock->bytes, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        return xfp_fail(&s->sys, "out of memory");
    madvise(p, lock->bytes, MADV_HUGEPAGE); /* without: ordinary pages */
    lock->pages = p;
    return 0;
}

static int by_team(struct xfp_session *s, struct lock *lock, xfp_work *part, const char *name)
{
    struct xfp_team *team = xfp_team_start(&s->sys, lock->threads, lock->node);

    if (!team)
        return -1;
    xfp_team_work(team, part, lock);
    xfp_team_end(team);
    if (s->sys.cu->simulated_host_copy)
        s->sys.cu->simulated_host_copy(name, lock->bytes, (unsigned)lock->threads);
    return 0;
}

enum { TAKE, GIVE, CLEAR, FIGURES };
_Static_assert(FIGURES <= XFP_MOST_VALUES, "of one sample");

static int once(struct xfp_session *s, void *state, double ns[FIGURES])
{
    struct lock *lock = state;
    uint64_t before = xfp_driver_now_ns(s->sys.cu), locked, cleared, after;
    int bad = map(s, lock);

    if (bad)
        return -1;
    bad = by_team(s, lock, touch_part, lock->name) ||
          xfp_check(&s->sys,
                    s->sys.cu->cuMemHostRegister(lock->pages, lock->bytes, XCU_HOST_PORTABLE),
                    "page-locking");
    locked = xfp_driver_now_ns(s->sys.cu);
    if (!bad && lock->shared)
        bad = by_team(s, lock, clear_part, lock->clear);
    cleared = xfp_driver_now_ns(s->sys.cu);
    if (!bad)
        bad =
            xfp_check(&s->sys, s->sys.cu->cuMemHostUnregister(lock->pages), "undoing page-locking");
    munmap(lock->pages, lock->bytes);
    after = xfp_driver_now_ns(s->sys.cu);
    ns[TAKE] = (double)(locked - before);
    ns[CLEAR] = (double)(cleared - locked);
    ns[GIVE] = (double)(after - cleared);
    return bad ? -1 : 0;
}

/* The table with the benchmark's name comes last: --resume looks for it. */
static int add_tables(struct xfp_session *s, const struct xfp_bench *bench, const struct lock *lock,
                      struct xfp_rows rows[FIGURES])
{
    if (xfp_add_table(s, &rows[GIVE], bench->family->by, 0, "un%s", lock->name) ||
        (lock->shared && xfp_add_table(s, &rows[CLEAR], bench->family->by, 0, "%s", lock->clear)))
        return -1;
    return xfp_add_table(s, &rows[TAKE], bench->family->by, 0, "%s", lock->name);
}

static int run(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    struct lock lock = {.threads = (size_t)abs(bench->variant),
                        .shared = bench->variant < 0,
                        .node = bench->src.numa,
                        .name = path->name};
    struct xfp_rows rows[FIGURES] = {0};
    uint64_t sizes[XFP_COARSE_ROOM];
    size_t usual = xfp_coarse_sizes(s, LEAST, xfp_coarse_most(s, MOST), sizes, XFP_COARSE_ROOM);
    size_t count = xfp_add_large_sizes(s, sizes, usual, XFP_COARSE_ROOM);
    double each_ns = 0; /* of the size before, by the byte */
    int bad = xfp_device_open(&s->sys, &s->sys.devices[bench->dst.device]);

    snprintf(lock.clear, sizeof(lock.clear), "clear%s", strchr(path->name, '/'));
    xfp_bind(&s->sys, bench->src.numa);
    for (size_t i = 0; i < count && !bad && !xfp_interrupted(); i++) {
        struct xfp_stats stats[FIGURES];

        if (i >= usual && !xfp_has_time_for(s, each_ns * (double)sizes[i]))
            break;
        xfp_progress(s, path->name, sizes[i]);
        lock.bytes = sizes[i];
        bad = xfp_sample(s, once, &lock, i < usual ? xfp_share_ns(s, usual - i) : 0, stats,
                         lock.shared ? FIGURES : CLEAR);
        if (bad) {
            bad = i < usual ? bad : 0; /* so much may not be locked here */
            break;
        }
        each_ns = (stats[TAKE].median + stats[GIVE].median) / (double)sizes[i];
        for (int figure = 0; figure < (lock.shared ? FIGURES : CLEAR); figure++)
            xfp_add_row(&rows[figure], sizes[i], &stats[figure]);
    }
    xfp_unbind(&s->sys);
    return add_tables(s, bench, &lock, rows) ? -1 : bad;
}

static void add(struct xfp_session *s, const struct xfp_family *family, struct xfp_bench_list *list,
                size_t device, int node, int variant)
{
    struct xfp_bench bench = {.family = family,
                              .direction = XFT_DIR_UNKNOWN,
                              .variant = variant,
                              .src = {XFT_MEM_UNKNOWN, -1, node},
                              .dst = {XFT_MEM_DEVICE, s->sys.devices[device].ordinal, -1}};
    char text[XFP_NODE_TEXT];

    snprintf(bench.name, sizeof(bench.name), "lock/%s%d/%sgpu%d",
             variant < 0 ? "shared" : "threads", abs(variant), xfp_node_text(s, node, text),
             bench.dst.device);
    xfp_bench_add(list, &bench);
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
                add(s, family, list, d, nodes[n], thread_counts[t]);
                add(s, family, list, d, nodes[n], -thread_counts[t]);
            }
}

const struct xfp_family xfp_family_lock = {
    .name = "lock",
    .summary = "mapping new memory, touching it by threads and page-locking it, and undoing it, by "
               "size and threads; also memory that is shared with forked children",
    .names =
        {
            {"{lock,unlock}/threadsN/[nodeN-]gpuN",
             "mapping new memory of the host, touching it by N threads and page-locking it, and "
             "undoing all of it"},
            {"{lock,clear,unlock}/sharedN/[nodeN-]gpuN",
             "the same of memory that is shared with forked children; and clearing it once more "
             "by N threads"},
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
