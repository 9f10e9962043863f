#include "analyzer/remeasure/play_memory.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "common/search.h"

/* memory is page-locked by pages, so each address keeps its place in its page */
#define PAGE 4096u

struct span {
    uint64_t first, end;
};

struct kind {
    struct xfa_play_kind key;
    int device;
    struct span *spans; /* once merged: ascending, without overlap */
    size_t count, capacity;
    size_t apart;     /* how many of them are merged */
    uint64_t largest; /* bytes used at once */
    uint64_t wraps;   /* bytes of its one region; 0: a region for each span */
    uint32_t region;  /* the first */
};

static struct kind *kind_at(const struct xfa_play_memory *memory, size_t i)
{
    return xfa_table_at(&memory->kinds, i);
}

void xfa_play_memory_init(struct xfa_play_memory *memory)
{
    *memory = (struct xfa_play_memory){.host_bytes = XFA_PLAY_HOST_BYTES,
                                       .gpu_bytes = XFA_PLAY_GPU_BYTES};
    xfa_table_init(&memory->kinds, sizeof(struct xfa_play_kind), sizeof(struct kind));
}

void xfa_play_memory_free(struct xfa_play_memory *memory)
{
    for (size_t i = 0; i < memory->kinds.count; i++)
        free(kind_at(memory, i)->spans);
    xfa_table_free(&memory->kinds);
}

static int by_first(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

/* Spans that touch become one. */
static void merge_spans(struct kind *kind)
{
    size_t kept = 0;
    qsort(kind->spans, kind->count, sizeof *kind->spans, by_first);
    for (size_t i = 0; i < kind->count; i++) {
        struct span *last = kept ? &kind->spans[kept - 1] : NULL;
        if (last && kind->spans[i].first <= last->end)
            last->end = kind->spans[i].end > last->end ? kind->spans[i].end : last->end;
        else
            kind->spans[kept++] = kind->spans[i];
    }
    kind->count = kind->apart = kept;
}

static bool ends_before(const void *item, const void *key)
{
    return ((const struct span *)item)->end <= *(const uint64_t *)key;
}

/* The merged span with this address; NULL: none. */
static const struct span *span_of(const struct kind *kind, uint64_t address)
{
    size_t at = xfc_partition(kind->spans, kind->apart, sizeof *kind->spans, ends_before, &address);
    return at < kind->apart && kind->spans[at].first <= address ? &kind->spans[at] : NULL;
}

uint32_t xfa_play_memory_use(struct xfa_play_memory *memory, const struct xfa_play_kind *key,
                             int device, uint64_t address, uint64_t bytes)
{
    size_t before = memory->kinds.count;
    struct kind *kind = xfa_table_put(&memory->kinds, key);
    if (memory->kinds.count > before)
        kind->device = device;
    uint32_t number = (uint32_t)((const struct kind *)(const void *)kind - kind_at(memory, 0));
    uint64_t end = xfa_add(xfa_add(address, bytes), PAGE - 1) / PAGE * PAGE;
    const struct span *there = span_of(kind, address);
    kind->largest = bytes > kind->largest ? bytes : kind->largest;
    if (there && end <= there->end)
        return number;
    if (kind->count == kind->capacity && kind->count > 2 * kind->apart)
        merge_spans(kind);
    kind->spans = xfa_room(kind->spans, &kind->capacity, kind->count + 1, sizeof *kind->spans);
    kind->spans[kind->count++] = (struct span){address / PAGE * PAGE, end};
    return number;
}

static size_t add_regions(struct kind *kind, uint64_t most, uint32_t region)
{
    uint64_t bytes = 0;
    merge_spans(kind);
    kind->region = region;
    for (size_t i = 0; i < kind->count; i++)
        bytes = xfa_add(bytes, kind->spans[i].end - kind->spans[i].first);
    if (bytes <= most)
        return kind->count;
    kind->wraps = (kind->largest > most ? kind->largest : most) / PAGE * PAGE + 2 * (uint64_t)PAGE;
    return 1;
}

struct xfp_play_region *xfa_play_memory_regions(struct xfa_play_memory *memory, size_t *count)
{
    struct xfp_play_region *regions = NULL;
    size_t capacity = 0;
    *count = 0;
    for (size_t k = 0; k < memory->kinds.count; k++) {
        struct kind *kind = kind_at(memory, k);
        bool device = kind->key.memory == XFT_MEM_DEVICE;
        size_t more =
            add_regions(kind, device ? memory->gpu_bytes : memory->host_bytes, (uint32_t)*count);
        regions = xfa_room(regions, &capacity, *count + more + 1, sizeof *regions);
        for (size_t i = 0; i < more; i++)
            regions[(*count)++] = (struct xfp_play_region){
                .place = {(enum xft_memory)kind->key.memory, kind->key.gpu, kind->key.node},
                .device = device ? kind->key.gpu : kind->device,
                .bytes = kind->wraps ? kind->wraps : kind->spans[i].end - kind->spans[i].first,
            };
    }
    return regions;
}

void xfa_play_memory_find(const struct xfa_play_memory *memory, uint32_t number, uint64_t address,
                          uint64_t bytes, uint32_t *region, uint64_t *at)
{
    const struct kind *kind = kind_at(memory, number);
    *region = kind->region;
    if (kind->wraps) {
        *at = address % (kind->wraps - bytes - PAGE) / PAGE * PAGE + address % PAGE;
        return;
    }
    const struct span *span = span_of(kind, address);
    if (!span) /* never, for what was used */
        return;
    *region += (uint32_t)(span - kind->spans);
    *at = address - span->first;
}
