/*
 * What it takes one thread of the host to read what a copy from a GPU has just brought to
 * page-locked memory, by size, between every two NUMA nodes; host clock. Write-combined memory is
 * not cached, and each read of it goes to memory (virtual machines may cache it all the same).
 */
#include "probe/bench/bench.h"
#include "probe/device/buffer.h"
#include "probe/measure/budget.h"
#include "probe/measure/results.h"
#include "probe/measure/sample.h"
#include "probe/measure/sizes.h"
#include "probe/progress.h"

#include <stdio.h>

enum { LEAST = 4096 };
#define MOST ((uint64_t)16 << 20)

struct host_read {
    struct xfp_buffer memory, source;
    size_t bytes;
    const char *name;
};

/* The sum, so that each word is read. */
static uint64_t read_words(const uint64_t *words, size_t count)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += words[i];
    return sum;
}

static int once(struct xfp_session *s, void *state, double *ns)
{
    static volatile uint64_t kept;
    const struct host_read *r = state;
    xcu_deviceptr address = (xcu_deviceptr)(uintptr_t)r->memory.host;
    uint64_t before;

    if (xfp_check(&s->sys, s->sys.cu->cuMemcpy(address, r->source.address, r->bytes),
                  "bringing what is read"))
        return -1;
    before = xfp_driver_now_ns(s->sys.cu);
    kept = read_words((const uint64_t *)r->memory.host, r->bytes / sizeof(uint64_t));
    if (s->sys.cu->simulated_host_copy)
        s->sys.cu->simulated_host_copy(r->name, r->bytes, 1);
    *ns = (double)(xfp_driver_now_ns(s->sys.cu) - before);
    (void)kept;
    return 0;
}

static int run(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    struct host_read r = {.name = path->name};
    struct xfp_device *d = &s->sys.devices[0]; /* in whose context it is allocated */
    struct xfp_rows rows = {0};
    uint64_t sizes[XFP_COARSE_ROOM];
    size_t most = xfp_coarse_most(s, MOST);
    size_t count = xfp_coarse_sizes(s, LEAST, most, sizes, XFP_COARSE_ROOM);
    int bad = xfp_device_open(&s->sys, d) ||
              xfp_buffer_make(&s->sys, d, bench->src, most, &r.memory) ||
              xfp_buffer_make(&s->sys, d, bench->dst, most, &r.source) ||
              xfp_buffer_fill(&s->sys, &r.source, most);

    xfp_bind(&s->sys, bench->variant);
    for (size_t i = 0; i < count && !bad && !xfp_interrupted(); i++) {
        struct xfp_stats stats;

        xfp_progress(s, path->name, sizes[i]);
        r.bytes = sizes[i];
        bad = xfp_sample(s, once, &r, xfp_share_ns(s, count - i), &stats, 1);
        if (!bad)
            xfp_add_row(&rows, sizes[i], &stats);
    }
    bad = xfp_add_table(s, &rows, bench->family->by, 0, "%s", path->name) || bad ? -1 : 0;
    xfp_buffer_free(&s->sys, &r.memory);
    xfp_buffer_free(&s->sys, &r.source);
    xfp_unbind(&s->sys);
    return bad;
}

static void enumerate(struct xfp_session *s, const struct xfp_family *family,
                      struct xfp_bench_list *list)
{
    static const enum xft_memory kinds[] = {XFT_MEM_PINNED, XFT_MEM_WRITE_COMBINED};
    const size_t nodes = (size_t)s->sys.numa_count;

    if (!s->sys.cu->cuMemcpy || !xfp_has_sizes(s, LEAST, MOST))
        return;
    for (size_t i = 0; i < 2 * nodes * nodes; i++) {
        int from = s->sys.numa_nodes[i / 2 / nodes], to = s->sys.numa_nodes[i / 2 % nodes];
        struct xfp_bench bench = {.family = family,
                                  .direction = XFT_DIR_UNKNOWN,
                                  .src = {kinds[i % 2], -1, from},
                                  .dst = {XFT_MEM_DEVICE, 0, -1},
                                  .variant = to};
        char places[48] = "host";

        if (nodes > 1)
            snprintf(places, sizeof(places), "node%d-node%d", from, to);
        snprintf(bench.name, sizeof(bench.name), "host-read/%s/%s", xft_memory_word(kinds[i % 2]),
                 places);
        xfp_bench_add(list, &bench);
    }
}

const struct xfp_family xfp_family_host_read = {
    .name = "host-read",
    .summary = "one thread of the host reading what a copy has brought to page-locked memory, "
               "write-combined memory too",
    .names =
        {
            {"host-read/{pinned,write-combined}/{host,nodeN-nodeM}",
             "reading what a copy has brought to page-locked memory of node N, by one thread on "
             "node M"},
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
