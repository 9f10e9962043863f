/*
 * What a thread of the host is spared by a prefetch to the host: the time of reading, and of
 * writing, each word of managed memory that is on the device, minus that of memory that was
 * prefetched. It is less than what touching its pages on demand takes: what a fault has just
 * brought is in the processor's caches, and the first write to a page takes a fault of its own
 * either way.
 */
#include "probe/bench/bench.h"
#include "probe/device/managed.h"
#include "probe/measure/budget.h"
#include "probe/measure/results.h"
#include "probe/measure/sample.h"
#include "probe/progress.h"

#define BYTES ((size_t)XFP_SPARED_BYTES)
enum { READ, WRITTEN, FIGURES };

struct spared {
    struct xfp_managed memory;
};

/* Values stay as they are. */
static void work(struct xfp_session *s, const struct spared *of, bool write)
{
    volatile uint64_t *words = (volatile uint64_t *)(uintptr_t)of->memory.address;
    uint64_t all = 0;

    if (s->sys.cu->simulated_touch)
        s->sys.cu->simulated_touch((const void *)words, BYTES, write);
    for (size_t i = 0; i < BYTES / sizeof(*words); i++) {
        uint64_t word = words[i];

        all ^= word;
        if (write)
            words[i] = word;
    }
    (void)all;
}

static int once_way(struct xfp_session *s, const struct spared *of, bool write, bool ahead,
                    double *ns)
{
    uint64_t before;

    if (xfp_managed_move(&s->sys, &of->memory, BYTES, of->memory.device->ordinal) ||
        (ahead && xfp_managed_move(&s->sys, &of->memory, BYTES, XFP_HOST)))
        return -1;
    before = xfp_driver_now_ns(s->sys.cu);
    work(s, of, write);
    *ns = (double)(xfp_driver_now_ns(s->sys.cu) - before);
    return 0;
}

static int once(struct xfp_session *s, void *state, double *ns)
{
    for (int figure = 0; figure < FIGURES; figure++) {
        double demanded, ahead;

        if (once_way(s, state, figure == WRITTEN, false, &demanded) ||
            once_way(s, state, figure == WRITTEN, true, &ahead))
            return -1;
        ns[figure] = demanded > ahead ? demanded - ahead : 0;
    }
    return 0;
}

static int run(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    struct xfp_device *d = &s->sys.devices[bench->src.device];
    struct xfp_stats stats[FIGURES] = {0};
    struct spared of = {0};
    int bad = xfp_device_open(&s->sys, d);

    xfp_progress(s, path->name, BYTES);
    if (!bad && xfp_managed_room(&s->sys, d, BYTES, 1) < BYTES)
        return xfp_fail(&s->sys, "too little free memory on GPU %d for managed memory", d->ordinal);
    bad = bad || xfp_managed_make(&s->sys, d, BYTES, &of.memory) ||
          xfp_sample(s, once, &of, xfp_share_ns(s, 1), stats, FIGURES) ||
          xfp_managed_verify(&s->sys, &of.memory, BYTES);
    xfp_managed_free(&s->sys, &of.memory);
    for (int i = 0; i < FIGURES && !bad; i++)
        bad = xfp_add_scalar(s, &stats[i], "spared/managed/%s/gpu%d", i == READ ? "read" : "write",
                             d->ordinal);
    return bad ? -1 : 0;
}

static void enumerate(struct xfp_session *s, const struct xfp_family *family,
                      struct xfp_bench_list *list)
{
    xfp_bench_add_managed(s, family, "spared/managed", list);
}

const struct xfp_family xfp_family_spared = {
    .name = "spared",
    .summary = "what a prefetch of managed memory to the host spares a thread that works on it",
    .names =
        {
            {"spared/managed/read/gpuN", "faults that a thread of the host is spared which reads "
                                         "each word of 4 MiB, prefetched from the device"},
            {"spared/managed/write/gpuN", "faults that a thread of the host is spared which writes "
                                          "each word of 4 MiB, prefetched from the device"},
        },
    .bench_names = "spared/managed/gpuN",
    .part = XFP_PART_SCALARS,
    .needs = XFP_NEED_KERNELS | XFP_NEED_MIGRATION,
    .from_bytes = BYTES,
    .method = XFP_DEMAND,
    .budget_s = 0.6,
    .quick_budget_s = 0.12,
    .enumerate = enumerate,
    .run = run,
};
