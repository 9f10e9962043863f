#include "preload/format/pack.h"

#include <string.h>
#include <sys/mman.h>

#include "preload/format/segments.h"

/* Of levels 1 to 9 on recorded traces, 3 is where size stops falling and time starts rising. */
#define LEVEL 3

static void *map_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

bool xft_packer_init(struct xft_packer *packer, const struct xft_zstd *zstd)
{
    *packer = (struct xft_packer){.columns_bytes = xft_encode_bound(XFT_SLAB_EVENTS)};
    packer->columns = map_memory(packer->columns_bytes);
    packer->encoder = map_memory(xft_encode_workspace_bytes());
    if (packer->columns == NULL || packer->encoder == NULL) {
        xft_packer_free(packer);
        return false;
    }
    if (zstd == NULL)
        return true;
    packer->workspace_bytes = zstd->workspace(LEVEL);
    packer->workspace = map_memory(packer->workspace_bytes);
    if (packer->workspace)
        packer->context = zstd->init(packer->workspace, packer->workspace_bytes);
    if (packer->context)
        packer->zstd = zstd;
    return true;
}

void xft_packer_free(struct xft_packer *packer)
{
    if (packer->columns)
        munmap(packer->columns, packer->columns_bytes);
    if (packer->encoder)
        munmap(packer->encoder, xft_encode_workspace_bytes());
    if (packer->workspace)
        munmap(packer->workspace, packer->workspace_bytes);
    *packer = (struct xft_packer){0};
}

size_t xft_pack_bound(const struct xft_packer *packer, size_t raw_bytes)
{
    size_t payload = packer->zstd ? packer->zstd->bound(raw_bytes) : raw_bytes;
    return xft_segment_span(payload > raw_bytes ? payload : raw_bytes);
}

/* Each piece a frame of its own: one table of frequencies would not fit all. 0 when that is not
 * smaller, or so small that no reader would believe it. */
static size_t compress(struct xft_packer *packer, const unsigned char *raw,
                       const struct xft_cuts *cuts, unsigned char *out, size_t capacity)
{
    size_t from = 0, total = 0, raw_bytes = cuts->at[cuts->count - 1];
    for (uint32_t i = 0; packer->zstd && i < cuts->count; i++) {
        size_t n = packer->zstd->compress(packer->context, out + total, capacity - total,
                                          raw + from, cuts->at[i] - from, LEVEL);
        if (packer->zstd->is_error(n) || n > capacity - total)
            return 0;
        total += n;
        from = cuts->at[i];
    }
    return total < raw_bytes && raw_bytes <= xft_unfold_most(total) ? total : 0;
}

static size_t pack(struct xft_packer *packer, enum xft_segment_type type, const void *raw,
                   const struct xft_cuts *cuts, unsigned char *out, size_t capacity)
{
    size_t raw_bytes = cuts->at[cuts->count - 1];
    unsigned char *payload = out + sizeof(struct xft_segment);
    size_t stored = compress(packer, raw, cuts, payload, capacity - sizeof(struct xft_segment));
    unsigned flags = stored ? XFT_SEG_ZSTD : 0;
    if (stored == 0) {
        memcpy(payload, raw, raw_bytes);
        stored = raw_bytes;
    }
    struct xft_segment head = xft_segment_make(type, flags, payload, stored, raw_bytes);
    memcpy(out, &head, sizeof head);
    size_t span = xft_segment_span(stored);
    memset(payload + stored, 0, span - stored - sizeof head);
    return span;
}

size_t xft_pack(struct xft_packer *packer, enum xft_segment_type type, const void *raw,
                size_t raw_bytes, unsigned char *out, size_t capacity)
{
    struct xft_cuts whole = {1, {(uint32_t)raw_bytes}};
    if (raw_bytes > UINT32_MAX || capacity < xft_pack_bound(packer, raw_bytes))
        return 0;
    return pack(packer, type, raw, &whole, out, capacity);
}

size_t xft_pack_events_bound(const struct xft_packer *packer)
{
    size_t frames = packer->zstd ? XFT_ENCODE_CUTS * packer->zstd->bound(0) : 0;
    return xft_pack_bound(packer, packer->columns_bytes) + frames;
}

size_t xft_pack_events(struct xft_packer *packer, const struct xft_chunk *chunk,
                       const struct xft_event *events, unsigned char *out, size_t capacity)
{
    struct xft_cuts cuts;
    if (capacity < xft_pack_events_bound(packer) ||
        xft_encode_events(packer->encoder, chunk, events, packer->columns, packer->columns_bytes,
                          &cuts) == 0)
        return 0;
    return pack(packer, XFT_SEG_EVENTS, packer->columns, &cuts, out, capacity);
}
