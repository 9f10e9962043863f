#include "analyzer/pass/samples.h"

#include <math.h>

struct set_key {
    uint32_t class, length;
};

struct moments {
    uint64_t count;
    double mean, squares; /* of the differences to it */
};

struct set {
    struct set_key key;
    struct moments by_cupti, by_events;
};

void xfa_samples_init(struct xfa_samples *samples)
{
    xfa_table_init(&samples->sets, sizeof(struct set_key), sizeof(struct set));
}

void xfa_samples_free(struct xfa_samples *samples)
{
    xfa_table_free(&samples->sets);
}

static struct set_key key_of(uint32_t class, uint64_t bytes)
{
    return (struct set_key){class, bytes ? 64 - (uint32_t)__builtin_clzll(bytes) : 0};
}

void xfa_samples_add(struct xfa_samples *samples, uint32_t class, const struct xfa_event *transfer)
{
    const struct set_key key = key_of(class, transfer->bytes);
    struct set *set = xfa_table_put(&samples->sets, &key);
    struct moments *of = transfer->transfer.device.by_events ? &set->by_events : &set->by_cupti;
    double ns = transfer->transfer.achieved_ns, before = ns - of->mean;
    of->count++;
    of->mean += before / (double)of->count;
    of->squares += before * (ns - of->mean);
}

struct xfa_sampled_time xfa_samples_of(const struct xfa_samples *samples, uint32_t class,
                                       uint64_t bytes)
{
    const struct set_key key = key_of(class, bytes);
    const struct set *set = xfa_table_get(&samples->sets, &key);
    const struct moments *of = !set ? NULL : set->by_cupti.count ? &set->by_cupti : &set->by_events;
    if (!of)
        return (struct xfa_sampled_time){0};
    double n = (double)of->count;
    struct xfa_sampled_time sample = {.count = of->count, .mean_ns = of->mean};
    sample.deviation_ns = of->count > 1 ? sqrt(of->squares / (n - 1)) : NAN;
    sample.error = of->mean > 0 ? sample.deviation_ns / sqrt(n) / of->mean : NAN;
    return sample;
}
