/*
 * Rewrites the file of a process that has stopped recording into its final form: slabs become
 * EVENTS, the many small segments become one of each type, LANES and PAD are left out, EVENTS keep
 * their INDEX entry or get one, the state is CLOSED.
 *
 * Damaged parts are left out. They are counted in the new file's header (damaged_places and so on),
 * in addition to what is counted there already.
 *
 * Memory stays within 70 MiB plus a ten-thousandth of the file's size, and time is proportional to
 * that size.
 *
 * The new file is written beside the old one and renamed over it, so that at every moment the path
 * has a complete file. The old file is not changed.
 */
#ifndef XFT_REWRITE_H
#define XFT_REWRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/format/pack.h"
#include "preload/format/segments.h"

struct xft_rewrite {
    const unsigned char *file; /* the old file, mapped (NULL: nothing is left of it); without
                                  `header` xft_header_check has passed */
    size_t size;
    const int *holes; /* the old file's descriptor, where it may have holes to step over; or NULL */
    /* The header to use instead of the file's, which may be damaged, with the present counts; NULL:
     * the file's. */
    const struct xft_file_header *header;
    struct xft_packer *packer;
    const void *symbols; /* payload of a SYMBOLS segment to add, or NULL */
    size_t symbols_bytes;
    const void *sources; /* payload of a SOURCES segment to add, or NULL */
    size_t sources_bytes;
    const char *exit;     /* META "exit"; NULL: leave it as it is */
    uint64_t end_mono_ns; /* 0: the end of the last event found in a slab */
    /* Where slabs may already have been written as EVENTS: ZSTD_decompress. NULL when the caller
     * knows that none were. */
    size_t (*decompress)(void *out, size_t capacity, const void *in, size_t bytes);

    uint64_t slab_events;     /* out: events taken from slabs */
    uint64_t chunks;          /* out: EVENTS segments in the new file */
    struct xft_damage damage; /* out: what was left behind, also counted in the new header */
    int fd;                   /* out: the new file, open; the caller closes it */
};

/* False with errno set; the old file is then still in its place. */
bool xft_rewrite(struct xft_rewrite *rewrite, const char *path);

/* After a rewriting that was broken off: closes and removes the new file, rewrite->fd. */
void xft_rewrite_abandon(struct xft_rewrite *rewrite, const char *path);

#endif
