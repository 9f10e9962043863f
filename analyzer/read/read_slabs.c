/* Slabs that the recorder had not compressed yet: where they lie, and what their rows are. */
#include "analyzer/read/read.h"

#include <string.h>

#include "analyzer/base/alloc.h"

void xfa_slab_rows(const struct xfa_trace *trace, const unsigned char *raw, size_t rows,
                   struct xft_event *events)
{
    size_t stride = trace->header.event_bytes;
    size_t common = stride < sizeof *events ? stride : sizeof *events;
    memset(events, 0, rows * sizeof *events);
    for (size_t i = 0; i < rows; i++)
        memcpy(&events[i], raw + i * stride, common);
}

uint64_t xfa_slabs_begin(const struct xfa_segment *lanes)
{
    return (lanes->at + 4095) & ~(uint64_t)4095;
}

uint64_t xfa_slabs_next(const struct xfa_trace *trace, uint64_t at, uint64_t end)
{
    uint64_t data = xfa_source_data(&trace->source, at, end);
    return data < end ? at + (data - at) / XFT_SLAB_BYTES * XFT_SLAB_BYTES : end;
}

static uint64_t slab_capacity(const struct xfa_trace *trace)
{
    return (XFT_SLAB_BYTES - sizeof(struct xft_slab)) / trace->header.event_bytes;
}

enum xfa_slab_worth xfa_slab_worth(const struct xfa_trace *trace, const struct xft_slab *slab)
{
    static const struct xft_slab untouched;
    if (memcmp(slab, &untouched, sizeof untouched) == 0)
        return XFA_SLAB_EMPTY;
    if (slab->magic != XFT_SLAB_MAGIC || slab->state > XFT_SLAB_FULL)
        return XFA_SLAB_BROKEN;
    if (slab->state == XFT_SLAB_FREE)
        return XFA_SLAB_EMPTY;
    if (slab->committed > slab_capacity(trace) || slab->first_seq > UINT64_MAX - slab->committed)
        return XFA_SLAB_BROKEN;
    return slab->committed ? XFA_SLAB_SOUND : XFA_SLAB_EMPTY;
}

struct xfa_slab_place *xfa_slabs_find(struct xfa_trace *trace, size_t *count)
{
    struct xfa_slab_place *places = NULL;
    size_t capacity = 0;
    *count = 0;
    for (size_t i = 0; i < trace->segment_count; i++) {
        const struct xfa_segment *segment = &trace->segments[i];
        if (segment->type != XFT_SEG_LANES)
            continue;
        uint64_t end = segment->at + segment->stored;
        uint64_t at = xfa_slabs_begin(segment);
        for (; (at = xfa_slabs_next(trace, at, end)) < end; at += XFT_SLAB_BYTES) {
            struct xft_slab slab;
            if (xfa_source_read(&trace->source, at, &slab, sizeof slab) < sizeof slab)
                break;
            if (xfa_slab_worth(trace, &slab) != XFA_SLAB_SOUND)
                continue;
            places = xfa_room(places, &capacity, *count + 1, sizeof *places);
            uint64_t bytes = end - at < XFT_SLAB_BYTES ? end - at : XFT_SLAB_BYTES;
            places[(*count)++] = (struct xfa_slab_place){at, slab.first_seq, bytes};
        }
    }
    return places;
}
