/*
 * Framing of a trace file: its header, its segments, and a walk over them. Shared by the recorder,
 * by the rewriting of finished files and by tests; the analyzer has a reader of its own.
 *
 * No function here allocates; views point into the caller's memory.
 */
#ifndef XFT_SEGMENTS_H
#define XFT_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xferscope/trace.h"

#define XFT_ALIGN(n, to) (((n) + ((to)-1)) & ~((uint64_t)(to)-1))

/* Fills all fields up to the checksum; the caller has set the times, pid and ppid. */
void xft_header_seal(struct xft_file_header *header);

/* NULL when the first `size` bytes begin a trace that this version can rewrite, else why not. */
const char *xft_header_check(const void *file, size_t size);

/* A segment header for a payload as it will lie in the file. In LANES and PAD `payload` is NULL and
 * payload_sum 0. */
struct xft_segment xft_segment_make(enum xft_segment_type type, unsigned flags, const void *payload,
                                    uint64_t stored_bytes, uint64_t raw_bytes);

/* Bytes that a segment with this payload takes in the file, rounded up to 8. */
uint64_t xft_segment_span(uint64_t stored_bytes);

/*
 * One sound segment after the other. Start with a cursor at header_bytes; damage is stepped over
 * as trace.h says and sets `damaged`.
 */
struct xft_walk {
    const unsigned char *file;
    size_t size;
    size_t at;
    bool damaged;
};
struct xft_view {
    struct xft_segment head;
    const unsigned char *payload;
    size_t offset; /* of the segment header in the file */
};
bool xft_walk_next(struct xft_walk *walk, struct xft_view *view);

/* The slabs of a LANES segment: how many lie wholly in the file, and the first of them. */
size_t xft_lanes(const struct xft_view *view, const unsigned char *file,
                 const struct xft_slab **first);

static inline const struct xft_slab *xft_slab_at(const struct xft_slab *first, size_t i)
{
    return (const struct xft_slab *)((const unsigned char *)first + i * XFT_SLAB_BYTES);
}

static inline struct xft_event *xft_slab_events(const struct xft_slab *slab)
{
    return (struct xft_event *)(uintptr_t)(slab + 1);
}

#endif
