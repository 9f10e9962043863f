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

/* Parts of a file that cannot be read: their number, their bytes, and events known to have been
 * there. */
struct xft_damage {
    uint64_t places, bytes, events;
};
void xft_damage_add(struct xft_damage *damage, uint64_t places, uint64_t bytes);

/*
 * A walk over the sound segments of the types in `wanted` (bits xft_wants(); 0: all), including
 * those inside a ROOM, but not the ROOM itself. Damage is stepped over as trace.h says, and
 * counted; payloads of other types are not read. Bytes at the end of an unfinished file, beyond
 * header.file_bytes, were being written when the process ended, and are no damage; nor are zeros at
 * its end where file_bytes is not known.
 */
struct xft_walk {
    const unsigned char *file;
    size_t size;
    size_t at;
    uint32_t wanted;
    bool closed;           /* the file is: zeros at its end do not belong there */
    uint64_t stated_bytes; /* the header says that they were written; 0: it does not say */
    bool cut;              /* out: the file ends inside a segment */
    struct xft_damage damage;
    const int *holes; /* descriptor of the file, to step over its holes; NULL: there are none */
    size_t outer_size, outer_at; /* within a ROOM: of the file, and where it goes on behind it */
};
struct xft_view {
    struct xft_segment head;
    const unsigned char *payload;
    size_t offset; /* of the segment header in the file */
};
struct xft_walk xft_walk_begin(const void *file, size_t size, const struct xft_file_header *header,
                               uint32_t wanted);
bool xft_walk_next(struct xft_walk *walk, struct xft_view *view);

/* The first offset from `at` on that is not in a hole, at most `end`; `at` itself when the file
 * system cannot tell. */
size_t xft_data_from(const int *holes, size_t at, size_t end);

/* Types that this version does not know share a bit. */
static inline uint32_t xft_wants(unsigned type)
{
    return UINT32_C(1) << (type <= XFT_SEG_KNOWN ? type : 31);
}

/* Slab i of a LANES segment, of which *bytes lie in the file, its header at least; NULL: there is
 * none. */
const struct xft_slab *xft_lanes_slab(const struct xft_view *view, const unsigned char *file,
                                      size_t i, size_t *bytes);

enum xft_slab_worth {
    XFT_SLAB_EMPTY,  /* free, never used, or without events */
    XFT_SLAB_SOUND,  /* its header makes sense */
    XFT_SLAB_BROKEN, /* it does not: the slab cannot be read */
};
/* Of a copy of a slab's header. */
enum xft_slab_worth xft_slab_worth(const struct xft_slab *slab);

static inline struct xft_event *xft_slab_events(const struct xft_slab *slab)
{
    return (struct xft_event *)(uintptr_t)(slab + 1);
}

#endif
