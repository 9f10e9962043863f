/* The payload of one segment: checked, unpacked. */
#include "analyzer/read/read.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyzer/base/alloc.h"

bool xfa_segment_sound(struct xfa_trace *trace, const struct xfa_segment *segment)
{
    size_t bytes = segment->stored;
    trace->stored = xfa_room(trace->stored, &trace->stored_capacity, bytes + 1, 1);
    return xfa_source_read(&trace->source, segment->at, trace->stored, bytes) == bytes &&
           XXH3_64bits(trace->stored, bytes) == segment->sum;
}

bool xfa_segment_readable(const struct xfa_segment *segment)
{
    bool chunk = segment->type == XFT_SEG_EVENTS || segment->type == XFT_SEG_INDEX;
    uint64_t most = chunk ? XFA_MAX_CHUNK : XFA_MAX_SEGMENT;
    if (segment->stored > most || segment->raw > most)
        return false;
    if (segment->flags & XFT_SEG_ZSTD)
        return segment->flags == XFT_SEG_ZSTD && segment->raw <= xft_unfold_most(segment->stored);
    return segment->flags == 0 && segment->raw == segment->stored;
}

/* What the frames say they hold together; UINT64_MAX when one does not, or is damaged. */
static uint64_t frames_bytes(const unsigned char *at, size_t bytes)
{
    uint64_t total = 0;
    for (unsigned frames = 0; bytes > 0; frames++) {
        size_t frame = ZSTD_findFrameCompressedSize(at, bytes);
        unsigned long long content = ZSTD_getFrameContentSize(at, bytes);
        if (ZSTD_isError(frame) || content > XFA_MAX_SEGMENT || frames == XFA_MAX_PIECES)
            return UINT64_MAX;
        total += content;
        at += frame;
        bytes -= frame;
    }
    return total;
}

bool xfa_segment_unpack(struct xfa_trace *trace, const struct xfa_segment *segment,
                        unsigned char *raw)
{
    if (!xfa_segment_readable(segment) || !xfa_segment_sound(trace, segment))
        return false;
    if (!(segment->flags & XFT_SEG_ZSTD)) {
        memcpy(raw, trace->stored, segment->raw);
        return true;
    }
    if (frames_bytes(trace->stored, segment->stored) != segment->raw)
        return false;
    trace->unpacker = trace->unpacker ? trace->unpacker : ZSTD_createDCtx();
    size_t got =
        ZSTD_decompressDCtx(trace->unpacker, raw, segment->raw, trace->stored, segment->stored);
    return !ZSTD_isError(got) && got == segment->raw;
}

unsigned char *xfa_segment_load(struct xfa_trace *trace, const struct xfa_segment *segment)
{
    if (!xfa_segment_readable(segment))
        return NULL;
    unsigned char *raw = xfa_alloc_unset(segment->raw + 1);
    if (xfa_segment_unpack(trace, segment, raw))
        return raw;
    free(raw);
    return NULL;
}

void xfa_trace_rest(struct xfa_trace *trace)
{
    ZSTD_freeDCtx(trace->unpacker);
    free(trace->stored);
    trace->unpacker = NULL;
    trace->stored = NULL;
    trace->stored_capacity = 0;
}
