/*
 * The slices of a track in few bytes, so that a page holds single events of long runs.
 *
 * Numbers are seven bits a byte, the lowest ones first; all bytes but a number's last have the top
 * bit. Of each slice, in the order of start:
 * - its start, less that of the one before it (the first: its start);
 * - end - start;
 * - 2 x kind, and 1 more where `busy` is not end - start: it follows behind all else;
 * - of kind 0: count, bytes and the name's number + 1 (0: none). The first 65,536 of these are the
 *   kinds from 1 on, for the slices behind it that have the same.
 */
#ifndef XFA_TIMELINE_PACK_H
#define XFA_TIMELINE_PACK_H

#include "analyzer/timeline/tracks.h"

struct xfa_packed {
    unsigned char *bytes; /* for free() */
    size_t count, capacity;
};

/* Behind xfa_tracks_finish(). begun: ns, added to all starts; names: by slice.name, the number + 1
 * that it is to have; NULL: as they are. */
void xfa_pack_track(struct xfa_packed *packed, const struct xfa_track *track, uint64_t begun,
                    const uint32_t *names);

/* Merges slices until all tracks together take at most so many bytes. */
void xfa_tracks_fit(struct xfa_tracks *tracks, size_t bytes);

#endif
