/*
 * The sizes that are measured: those of each benchmark that --sizes and --quick allow.
 */
#ifndef XFP_SIZES_H
#define XFP_SIZES_H

#include "probe/session.h"
#include "xferscope/profile.h"

/* Enough for xfp_coarse_sizes() and the points of a path with these sizes. */
#define XFP_COARSE_ROOM 32

/* Of a sweep of copies: powers of two, of four when quick. */
size_t xfp_sweep_sizes(const struct xfp_probe_options *options, uint64_t *sizes, size_t room);

/* Powers of four from the smallest to the largest size, of sixteen when quick; only those that
 * --sizes allows. If that names a single size of at least `least`, only this one, even above
 * `most`. */
size_t xfp_coarse_sizes(const struct xfp_session *s, uint64_t least, uint64_t most, uint64_t *sizes,
                        size_t room);

/* The largest of them at most: for making buffers. */
size_t xfp_coarse_most(const struct xfp_session *s, uint64_t most);

/* Page-locking is measured beyond what copies need, since by the byte more of it may be several
 * times as dear: appends 64 and 256 MiB to these sizes as far as they are larger, and no --sizes
 * was given. Returns the new count; xfp_has_time_for() says whether there is time for each. */
size_t xfp_add_large_sizes(const struct xfp_session *s, uint64_t *sizes, size_t count, size_t room);

/* Whether there are any. A benchmark without sizes does not apply. */
bool xfp_has_sizes(const struct xfp_session *s, uint64_t least, uint64_t most);

/* ---- rings of staged copies ------------------------------------------------------------------ */

/*
 * The rings of pinned buffers that staged copies are tried with: the grid of rCUDA's version 4B
 * (Reano and Silla, section 4.4), 2 to 64 buffers of 64 KiB to 8 MiB.
 */

enum { XFP_MOST_BUFFERS = 64, XFP_MOST_CELLS = 48 /* of one size */ };

/* The rings that make a difference for this size: no buffer larger than needed, none unused. Steps
 * of two, of four when quick. Returns how many; cells has room for XFP_MOST_CELLS. */
size_t xfp_list_rings(bool quick, size_t bytes, struct xfp_staged_cell *cells);

/* What the largest of them needs for copies of up to `most` bytes, or 2B (one buffer as large as
 * the copy), or 3B's fixed ring. */
size_t xfp_ring_bytes(bool quick, size_t most);

#endif
