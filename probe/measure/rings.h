/*
 * The rings of pinned buffers that staged copies are tried with: the grid of rCUDA's version 4B
 * (Reano and Silla, section 4.4), 2 to 64 buffers of 64 KiB to 8 MiB.
 */
#ifndef XFP_RINGS_H
#define XFP_RINGS_H

#include "xferscope/profile.h"

enum { XFP_MOST_BUFFERS = 64, XFP_MOST_CELLS = 48 /* of one size */ };

/* The rings that make a difference for this size: no buffer larger than needed, none unused. Steps
 * of two, of four when quick. Returns how many; cells has room for XFP_MOST_CELLS. */
size_t xfp_list_rings(bool quick, size_t bytes, struct xfp_staged_cell *cells);

/* What the largest of them needs for copies of up to `most` bytes, or 2B (one buffer as large as
 * the copy), or 3B's fixed ring. */
size_t xfp_ring_bytes(bool quick, size_t most);

#endif
