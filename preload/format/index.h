/* Entries of an INDEX segment (trace.h). */
#ifndef XFT_INDEX_H
#define XFT_INDEX_H

#include <stdbool.h>
#include <stddef.h>

#include "xferscope/trace.h"

/* Of the EVENTS segment that these rows become; its offset is for the caller to say. */
struct xft_index_entry xft_index_of(const struct xft_chunk *chunk, const struct xft_event *events);

/* The same from the payload of an EVENTS segment; false when it is damaged, or holds the times in
 * an encoding that no recorder ever used for them. */
bool xft_index_read(const void *payload, size_t bytes, struct xft_index_entry *entry);

/* A whole INDEX segment with this one entry. */
#define XFT_INDEX_SPAN (sizeof(struct xft_segment) + sizeof(struct xft_index_entry))
void xft_index_pack(const struct xft_index_entry *entry, unsigned char out[XFT_INDEX_SPAN]);

#endif
