/*
 * Areas of a GPU's memory that a program fetches from and sends to by small pieces: what one
 * copy to the host before them, and one to the GPU behind them, would bring. For the finding
 * (findings/element_by_element.c) and its change (elements.c), which so see the same ones.
 *
 * A piece belongs to an area of the same allocation that is not much longer with it than its
 * pieces together: up to XFW_AREA_TIMES as long, or XFW_AREA_BYTES. Where no allocation is
 * known, all memory that is in none counts as one.
 */
#ifndef XFW_AREAS_H
#define XFW_AREAS_H

#include "analyzer/whatif/changes/memories.h"

#define XFW_AREAS 16
#define XFW_AREA_BYTES ((uint64_t)1 << 20)
#define XFW_AREA_TIMES 16 /* a guess: what is copied in vain costs less than the calls */

struct xfw_area {
    uint64_t memory;     /* where its allocation begins; 0: in none */
    uint64_t first, end; /* addresses */
    uint64_t bytes;      /* of its pieces, those of one place as often as there are */
    uint64_t sent_end;   /* of the last piece that was sent */
    bool fetched, sent;  /* a piece of it was */
    bool gaps;           /* what was sent does not lie piece behind piece */
};

/* Zeroed: no piece yet. */
struct xfw_areas {
    struct xfw_area items[XFW_AREAS];
    unsigned count;
};

/* The area of the piece, which is in it from now on; NULL, and nothing changes: there are too
 * many, it begins another run. */
struct xfw_area *xfw_areas_take(struct xfw_areas *areas, const struct xfw_memories *memories,
                                uint64_t address, uint64_t bytes, bool to_host);

/* Must the area be fetched? Also where only parts of it are sent: one copy sends all of it. */
static inline bool xfw_area_fetches(const struct xfw_area *area)
{
    return area->fetched || area->gaps;
}

/* How many copies are in the place of all pieces. */
unsigned xfw_areas_copies(const struct xfw_areas *areas);

#endif
