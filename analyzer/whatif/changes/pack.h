/*
 * Runs of small copies become one copy of all their bytes each, in place of the last of a run.
 * Packed: the host puts the pieces one behind the other into a buffer of the same kind of memory,
 * where the calls were (or takes them apart once the data is there), which costs it a copy of the
 * bytes. What lies one behind the other at both ends is copied at once as it lies. As a batch: one
 * call is given all of them.
 *
 * What is not known is what packing costs: at worst as much as copying what is in no cache (which
 * is what profiles have), likely half of it, as small pieces that were just written are in a cache,
 * at best nothing: the program has them there in the first place.
 */
#ifndef XFW_CHANGE_PACK_H
#define XFW_CHANGE_PACK_H

#include "analyzer/whatif/change.h"

enum xfw_pack_way { XFW_PACK, XFW_PACK_BATCH };

/* Transfers in runs of at least two: all but the last, and the last. */
struct xfw_runs {
    struct xfw_marks pieces, lasts;
};
void xfw_runs_free(struct xfw_runs *runs);

/* How the pieces of a run lie, so far. */
struct xfw_layout {
    uint64_t src_end, dst_end; /* of the last one */
    bool scattered;            /* not each begins where the one before it ends, at both ends */
};

static inline void xfw_layout_add(struct xfw_layout *layout, bool first, uint64_t src, uint64_t dst,
                                  uint64_t bytes)
{
    layout->scattered =
        !first && (layout->scattered || src != layout->src_end || dst != layout->dst_end);
    layout->src_end = src + bytes;
    layout->dst_end = dst + bytes;
}

/* Host time of putting so many pieces together, or apart. */
double xfw_pack_ns(const struct xfa_achievable *achievable, uint64_t pieces, uint64_t bytes,
                   enum xfw_certainty certainty);

/* Time of one call with so many copies, until the data is there; NAN: not measured. */
double xfw_batch_ns(const struct xfa_achievable *achievable, enum xft_direction direction, int gpu,
                    uint64_t pieces, uint64_t bytes, enum xfw_certainty certainty);

/* runs: borrowed; rows: numbers of rows, which become the change's. */
struct xfw_change *xfw_change_pack(const struct xfa_analysis *analysis, const struct xfw_runs *runs,
                                   struct xfw_set *rows, enum xfw_pack_way way);

#endif
