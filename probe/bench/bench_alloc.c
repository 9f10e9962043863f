/*
 * The cost of memory: allocating and freeing every kind, registering and unregistering
 * touched pageable memory, by size; host clock.
 */
#include "probe/bench/bench.h"
#include "probe/device/buffer.h"
#include "probe/measure/budget.h"
#include "probe/measure/results.h"
#include "probe/progress.h"
#include "probe/measure/sample.h"
#include "probe/measure/sizes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LEAST = 4096, RELEASE_THRESHOLD = 4 }; /* CU_MEMPOOL_ATTR_RELEASE_THRESHOLD */
#define MOST ((uint64_t)64 << 20)

struct allocation {
    struct xfp_device *device;
    uint64_t bytes;
    unsigned char *pages; /* to register */
};

/* A kind of memory: how it is allocated and freed. take stores in *held what give needs. */
struct kind {
    const char *word;       /* in the benchmark's name */
    bool on_host;           /* has pages of a NUMA node */
    bool large;             /* in large sizes, too, when quick: others cost what this one does */
    const char *get, *back; /* the tables' first words */
    xcu_result (*take)(struct xfp_session *s, const struct allocation *a, uintptr_t *held);
    xcu_result (*give)(struct xfp_session *s, const struct allocation *a, uintptr_t held);
};

static xcu_result take_device(struct xfp_session *s, const struct allocation *a, uintptr_t *held)
{
    xcu_deviceptr address = 0;
    xcu_result result = s->sys.cu->cuMemAlloc(&address, a->bytes);

    *held = (uintptr_t)address;
    return result;
}

static xcu_result give_device(struct xfp_session *s, const struct allocation *a, uintptr_t held)
{
    return s->sys.cu->cuMemFree((xcu_deviceptr)held);
}

/* From the stream's pool: time until it can be used, and until it is freed. */
static xcu_result take_pool(struct xfp_session *s, const struct allocation *a, uintptr_t *held)
{
    xcu_deviceptr address = 0;
    xcu_result result = s->sys.cu->cuMemAllocAsync(&address, a->bytes, a->device->stream);

    *held = (uintptr_t)address;
    return result ? result : s->sys.cu->cuStreamSynchronize(a->device->stream);
}

static xcu_result give_pool(struct xfp_session *s, const struct allocation *a, uintptr_t held)
{
    xcu_result result = s->sys.cu->cuMemFreeAsync((xcu_deviceptr)held, a->device->stream);

    return result ? result : s->sys.cu->cuStreamSynchronize(a->device->stream);
}

/* From a pool that has it: the calls alone, as a program makes them. */
static xcu_result take_kept(struct xfp_session *s, const struct allocation *a, uintptr_t *held)
{
    xcu_deviceptr address = 0;
    xcu_result result = s->sys.cu->cuMemAllocAsync(&address, a->bytes, a->device->stream);

    *held = (uintptr_t)address;
    return result;
}

static xcu_result give_kept(struct xfp_session *s, const struct allocation *a, uintptr_t held)
{
    return s->sys.cu->cuMemFreeAsync((xcu_deviceptr)held, a->device->stream);
}

static xcu_result take_managed(struct xfp_session *s, const struct allocation *a, uintptr_t *held)
{
    xcu_deviceptr address = 0;
    xcu_result result = s->sys.cu->cuMemAllocManaged(&address, a->bytes, 1);

    *held = (uintptr_t)address;
    return result;
}

static xcu_result take_host(struct xfp_session *s, const struct allocation *a, unsigned flags,
                            uintptr_t *held)
{
    void *p = NULL;
    xcu_result result = s->sys.cu->cuMemHostAlloc(&p, a->bytes, flags);

    *held = (uintptr_t)p;
    return result;
}

static xcu_result take_pinned(struct xfp_session *s, const struct allocation *a, uintptr_t *held)
{
    return take_host(s, a, XCU_HOST_PORTABLE, held);
}

static xcu_result take_mapped(struct xfp_session *s, const struct allocation *a, uintptr_t *held)
{
    return take_host(s, a, XCU_HOST_PORTABLE | XCU_HOST_DEVICEMAP, held);
}

static xcu_result take_combined(struct xfp_session *s, const struct allocation *a, uintptr_t *held)
{
    return take_host(s, a, XCU_HOST_PORTABLE | XCU_HOST_WRITECOMBINED, held);
}

static xcu_result give_host(struct xfp_session *s, const struct allocation *a, uintptr_t held)
{
    return s->sys.cu->cuMemFreeHost((void *)held);
}

static xcu_result take_registered(struct xfp_session *s, const struct allocation *a,
                                  uintptr_t *held)
{
    *held = (uintptr_t)a->pages;
    return s->sys.cu->cuMemHostRegister(a->pages, a->bytes, XCU_HOST_PORTABLE);
}

static xcu_result give_registered(struct xfp_session *s, const struct allocation *a, uintptr_t held)
{
    return s->sys.cu->cuMemHostUnregister((void *)held);
}

static const struct kind kinds[] = {
    {"device", false, false, "alloc", "free", take_device, give_device},
    {"pool", false, false, "alloc", "free", take_pool, give_pool},
    {"kept", false, false, "alloc", "free", take_kept, give_kept},
    {"managed", false, false, "alloc", "free", take_managed, give_device},
    {"pinned", true, true, "alloc", "free", take_pinned, give_host},
    {"mapped", true, false, "alloc", "free", take_mapped, give_host},
    {"write-combined", true, false, "alloc", "free", take_combined, give_host},
    {"pageable", true, true, "register", "unregister", take_registered, give_registered},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static bool applies(const struct xfp_session *s, const struct kind *kind)
{
    if (kind->take == take_pool || kind->take == take_kept)
        return s->sys.cu->cuMemAllocAsync && s->sys.cu->cuMemFreeAsync &&
               (kind->take == take_pool ||
                (s->sys.cu->cuDeviceGetMemPool && s->sys.cu->cuMemPoolGetAttribute &&
                 s->sys.cu->cuMemPoolSetAttribute && s->sys.cu->cuMemPoolTrimTo));
    return kind->take != take_managed || s->sys.cu->cuMemAllocManaged;
}

static void add(struct xfp_session *s, const struct xfp_family *family, struct xfp_bench_list *list,
                int kind, int ordinal, int numa)
{
    struct xfp_bench bench = {.family = family,
                              .direction = XFT_DIR_UNKNOWN,
                              .variant = kind,
                              .src = {XFT_MEM_UNKNOWN, -1, numa},
                              .dst = {XFT_MEM_DEVICE, ordinal, -1}};
    char node[XFP_NODE_TEXT];

    snprintf(bench.name, sizeof(bench.name), "%s/%s/%sgpu%d", kinds[kind].get, kinds[kind].word,
             xfp_node_text(s, numa, node), ordinal);
    xfp_bench_add(list, &bench);
}

static void enumerate(struct xfp_session *s, const struct xfp_family *family,
                      struct xfp_bench_list *list)
{
    int nodes[XFP_MOST_NODES];
    size_t count = xfp_host_nodes(s, nodes, XFP_MOST_NODES);

    for (size_t d = 0; d < s->sys.device_count && xfp_has_sizes(s, LEAST, MOST); d++)
        for (int k = 0; k < KINDS; k++)
            for (size_t n = kinds[k].on_host ? 0 : count - 1; n < count && applies(s, &kinds[k]);
                 n++)
                add(s, family, list, k, s->sys.devices[d].ordinal, nodes[n]);
}

struct go {
    const struct kind *kind;
    struct allocation a;
};

static int once(struct xfp_session *s, void *state, double *ns)
{
    const struct go *go = state;
    uint64_t before = xfp_driver_now_ns(s->sys.cu), between, after;
    uintptr_t held = 0;
    xcu_result result = go->kind->take(s, &go->a, &held);

    between = xfp_driver_now_ns(s->sys.cu);
    if (xfp_check(&s->sys, result, go->kind->get))
        return -1;
    result = go->kind->give(s, &go->a, held);
    after = xfp_driver_now_ns(s->sys.cu);
    ns[0] = (double)(between - before);
    ns[1] = (double)(after - between);
    return xfp_check(&s->sys, result, go->kind->back);
}

/* New pages for every size, touched, as memory that programs register is. */
static int make_pages(struct xfp_session *s, struct allocation *a)
{
    void *p = mmap(NULL, a->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        return xfp_fail(&s->sys, "out of memory");
    memset(p, 1, a->bytes);
    a->pages = p;
    return 0;
}

static int measure_size(struct xfp_session *s, struct go *go, uint64_t budget_ns,
                        struct xfp_stats stats[2])
{
    int bad = 0;

    if (go->kind->take == take_registered)
        bad = make_pages(s, &go->a);
    if (!bad)
        bad = xfp_sample(s, once, go, budget_ns, stats, 2);
    if (go->a.pages)
        munmap(go->a.pages, go->a.bytes);
    go->a.pages = NULL;
    return bad;
}

/* The device's pool keeps what is freed, as long as that is measured. */
struct keeping {
    xcu_pool pool;
    uint64_t threshold; /* what it was */
};

static int begin_keeping(struct xfp_session *s, const struct go *go, struct keeping *keeping)
{
    const struct xfp_driver *cu = s->sys.cu;
    uint64_t all = UINT64_MAX;
    xcu_result result = go->kind->take == take_kept
                            ? cu->cuDeviceGetMemPool(&keeping->pool, go->a.device->handle)
                            : XCU_SUCCESS;

    if (!result && keeping->pool)
        result = cu->cuMemPoolGetAttribute(keeping->pool, RELEASE_THRESHOLD, &keeping->threshold);
    if (!result && keeping->pool)
        result = cu->cuMemPoolSetAttribute(keeping->pool, RELEASE_THRESHOLD, &all);
    return xfp_check(&s->sys, result, "keeping a pool's memory");
}

static void end_keeping(struct xfp_session *s, const struct go *go, struct keeping *keeping)
{
    if (!keeping->pool)
        return;
    s->sys.cu->cuMemPoolSetAttribute(keeping->pool, RELEASE_THRESHOLD, &keeping->threshold);
    s->sys.cu->cuStreamSynchronize(go->a.device->stream);
    s->sys.cu->cuMemPoolTrimTo(keeping->pool, 0);
}

/* Which sizes; *usual: of how many the budget is, the others are left out where time is short. */
static size_t list_sizes(struct xfp_session *s, const struct kind *kind, uint64_t *sizes,
                         size_t *usual)
{
    *usual = xfp_coarse_sizes(s, LEAST, xfp_coarse_most(s, MOST), sizes, XFP_COARSE_ROOM);
    if (!kind->on_host || (s->options->quick && !kind->large))
        return *usual;
    return xfp_add_large_sizes(s, sizes, *usual, XFP_COARSE_ROOM);
}

static int run(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    struct go go = {.kind = &kinds[bench->variant],
                    .a = {.device = &s->sys.devices[bench->dst.device]}};
    char node[XFP_NODE_TEXT];
    struct xfp_rows get = {0}, back = {0};
    uint64_t sizes[XFP_COARSE_ROOM];
    size_t usual, count = list_sizes(s, go.kind, sizes, &usual);
    double each_ns = 0; /* of the size before, by the byte */
    struct keeping keeping = {0};
    int bad = xfp_device_open(&s->sys, go.a.device);

    if (!bad)
        bad = begin_keeping(s, &go, &keeping);
    xfp_bind(&s->sys, bench->src.numa);
    for (size_t i = 0; i < count && !bad && !xfp_interrupted(); i++) {
        struct xfp_stats stats[2];

        if (i >= usual && !xfp_has_time_for(s, each_ns * (double)sizes[i]))
            break;
        xfp_progress(s, path->name, sizes[i]);
        go.a.bytes = sizes[i];
        bad = measure_size(s, &go, i < usual ? xfp_share_ns(s, usual - i) : 0, stats);
        if (bad) {
            bad = i < usual ? bad : 0; /* so much may not be locked here */
            break;
        }
        each_ns = (stats[0].median + stats[1].median) / (double)sizes[i];
        xfp_add_row(&get, sizes[i], &stats[0]);
        xfp_add_row(&back, sizes[i], &stats[1]);
    }
    xfp_unbind(&s->sys);
    end_keeping(s, &go, &keeping);
    /* the table with the benchmark's name comes last: --resume looks for it */
    if (xfp_add_table(s, &back, bench->family->by, 0, "%s/%s/%sgpu%d", go.kind->back, go.kind->word,
                      xfp_node_text(s, bench->src.numa, node), bench->dst.device) ||
        xfp_add_table(s, &get, bench->family->by, 0, "%s", path->name))
        return -1;
    return bad;
}

const struct xfp_family xfp_family_alloc = {
    .name = "alloc",
    .summary =
        "allocating and freeing every kind of memory, registering and unregistering, by size",
    .names =
        {
            {"{alloc,free}/{device,pool,managed}/gpuN", "allocating, freeing memory of the device"},
            {"{alloc,free}/kept/gpuN",
             "the calls that allocate and free memory that the device's pool has kept"},
            {"{alloc,free}/{pinned,mapped,write-combined}/[nodeN-]gpuN",
             "allocating, freeing page-locked memory of the host"},
            {"{register,unregister}/pageable/[nodeN-]gpuN",
             "page-locking memory of the host that was touched, and undoing it"},
        },
    .part = XFP_PART_TABLES,
    .by = XFP_BY_BYTES,
    .method = XFP_COPY,
    .budget_s = 0.4,
    .quick_budget_s = 0.06,
    .enumerate = enumerate,
    .run = run,
};
