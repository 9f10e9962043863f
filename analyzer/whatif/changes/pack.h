/*
 * A change: runs of small copies become one.
 *
 * Of each run one copy of all bytes is made in place of the last; of copies to the host that it has
 * one by one (they block, or it waits for them), in place of the first. What the host waited for
 * behind the pieces that go, goes. Packed: the host puts the pieces one behind the other into a
 * buffer, where the calls were, or takes them apart once the data is there; that costs a copy of
 * the bytes. The buffer is of the same kind of memory; for pageable pieces that go to a device it
 * is page-locked, but at worst. Pieces that are contiguous at both ends are copied at once
 * as they lie. As a batch: one call is given all of them. Within a device: one copy of rows, or one
 * kernel, takes all of them; what the host does from call to call goes. At worst the device takes
 * as long for them as it did. Rows, of 2D and 3D copies: one copy has all of them as they lie
 * (rows.h); at worst the device takes as long for them as it did. Gathered: a kernel places them
 * one behind the other on the device, and one contiguous copy brings them; where they end scattered
 * the host takes them apart.
 *
 * The cost of packing is not known. At worst it is that of copying what is in no cache (which
 * profiles have), as likely half of it, since small pieces that were just written are in a cache,
 * at best nothing: the program has them there in the first place.
 */
#ifndef XFW_PACK_H
#define XFW_PACK_H

#include "analyzer/whatif/changes/changes.h"

enum xfw_packing { XFW_PACK, XFW_PACK_BATCH, XFW_PACK_WITHIN, XFW_PACK_ROWS, XFW_PACK_GATHER };

/* Transfers in runs of at least two: all but the last, and the last; the first of those that the
 * host has one by one. */
struct xfw_runs {
    struct xfw_marks pieces, lasts, firsts;
};
void xfw_runs_free(struct xfw_runs *runs);

/* runs: borrowed; rows: numbers of rows. */
struct xfw_change *xfw_change_pack(const struct xfa_analysis *analysis, const struct xfw_runs *runs,
                                   struct xfw_set *rows, enum xfw_packing packing);

/* How the pieces of a run lie, so far. */
struct xfw_layout {
    uint64_t src_end, dst_end; /* of the last one */
    bool scattered;            /* not contiguous at both ends */
};
static inline void xfw_layout_add(struct xfw_layout *layout, bool first, uint64_t src, uint64_t dst,
                                  uint64_t bytes)
{
    layout->scattered =
        !first && (layout->scattered || src != layout->src_end || dst != layout->dst_end);
    layout->src_end = src + bytes;
    layout->dst_end = dst + bytes;
}

/* Host time to put so many pieces together, or apart. */
double xfw_pack_ns(const struct xfa_achievable *achievable, uint64_t pieces, uint64_t bytes,
                   enum xfw_certainty certainty);
/* Time of one call with so many copies, until the data is there; NAN: not measured. */
double xfw_batch_ns(const struct xfa_achievable *achievable, enum xft_direction direction, int gpu,
                    uint64_t pieces, uint64_t bytes, enum xfw_certainty certainty);

#endif
