/*
 * Encodes events as the columns of an EVENTS segment (include/xferscope/trace.h).
 *
 * The size of a column depends on its relation to others. A column with few different values
 * becomes a dictionary; one whose value follows from another's (call, size and kinds of memory
 * usually follow from the stack) is a table and takes nothing per row. The others, above all times,
 * are stored as small differences, split into planes of bytes of equal significance: low bytes are
 * noise, high bytes nearly constant, and zstd compresses them well only when they lie apart. Hence
 * the cuts: each piece between two of them is best compressed by itself.
 *
 * Columns that are 0 in every row are left out. Nothing is allocated: the caller brings the
 * workspace and the buffer.
 */
#ifndef XFT_ENCODE_H
#define XFT_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "xferscope/trace.h"

#define XFT_ENCODE_ROWS XFT_SLAB_EVENTS /* most rows of a chunk */
#define XFT_ENCODE_CUTS 96

/* Ends of the pieces of a payload; the last is its length. */
struct xft_cuts {
    uint32_t count;
    uint32_t at[XFT_ENCODE_CUTS];
};

/* Private to encode.c; its bytes may hold anything. */
struct xft_encode_workspace;
size_t xft_encode_workspace_bytes(void);

/* Bytes that suffice for any `rows` events. */
size_t xft_encode_bound(uint32_t rows);

/*
 * Writes the raw payload of an EVENTS segment: `chunk` (its lane, tid, first_seq and rows; columns
 * is set here), the directory and the columns of events[0 .. chunk->rows). Returns the bytes
 * written, 0 when `capacity` is under xft_encode_bound(rows) or there are more than
 * XFT_ENCODE_ROWS.
 */
size_t xft_encode_events(struct xft_encode_workspace *workspace, const struct xft_chunk *chunk,
                         const struct xft_event *events, void *out, size_t capacity,
                         struct xft_cuts *cuts);

#endif
