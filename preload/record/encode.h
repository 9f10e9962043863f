/*
 * Events to the columns of an EVENTS segment (include/xferscope/trace.h).
 *
 * Each column gets the smallest of the encodings that fit it; columns that are 0 in every row are
 * left out. Nothing is allocated: the caller brings the buffer.
 */
#ifndef XFT_ENCODE_H
#define XFT_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "xferscope/trace.h"

/* Bytes that suffice for any `rows` events. */
size_t xft_encode_bound(uint32_t rows);

/*
 * Writes the raw payload of an EVENTS segment: `chunk` (its lane, tid, first_seq and rows; columns
 * is set here), the directory and the columns of events[0 .. chunk->rows). Returns the bytes
 * written, 0 when `capacity` is under xft_encode_bound(rows).
 */
size_t xft_encode_events(const struct xft_chunk *chunk, const struct xft_event *events, void *out,
                         size_t capacity);

#endif
