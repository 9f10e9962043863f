/*
 * Building complete segments, compressed where zstd is at hand.
 *
 * The recorder loads libzstd privately and may not find it, so zstd comes as a small table of
 * functions; without it segments are stored as they are. All memory is mapped once, at init; a
 * packer belongs to one thread at a time.
 */
#ifndef XFT_PACK_H
#define XFT_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/format/encode.h"
#include "xferscope/trace.h"

struct xft_zstd {
    size_t (*bound)(size_t raw);                  /* ZSTD_compressBound */
    size_t (*workspace)(int level);               /* ZSTD_estimateCCtxSize */
    void *(*init)(void *workspace, size_t bytes); /* ZSTD_initStaticCCtx */
    size_t (*compress)(void *context, void *out, size_t capacity, const void *raw, size_t bytes,
                       int level);     /* ZSTD_compressCCtx */
    unsigned (*is_error)(size_t code); /* ZSTD_isError */
};

/* The functions of the libzstd linked with the program (library xfs_encode only). */
extern const struct xft_zstd xft_linked_zstd;

struct xft_packer {
    const struct xft_zstd *zstd; /* NULL: store */
    void *context;
    void *workspace;
    size_t workspace_bytes;
    unsigned char *columns; /* encoded, not yet compressed events */
    size_t columns_bytes;
    struct xft_encode_workspace *encoder;
};

/* False when memory is short. zstd may be NULL. */
bool xft_packer_init(struct xft_packer *packer, const struct xft_zstd *zstd);
void xft_packer_free(struct xft_packer *packer);

/* Bytes that a whole segment of any type with this raw payload may take. */
size_t xft_pack_bound(const struct xft_packer *packer, size_t raw_bytes);

/*
 * Header, payload and padding to 8 bytes, into `out` (at least xft_pack_bound bytes). Returns the
 * length. Compressed only when that is smaller, and within XFT_UNFOLD_MOST.
 */
size_t xft_pack(struct xft_packer *packer, enum xft_segment_type type, const void *raw,
                size_t raw_bytes, unsigned char *out, size_t capacity);

/* Enough for any call of xft_pack_events. */
size_t xft_pack_events_bound(const struct xft_packer *packer);

/* An EVENTS segment of chunk->rows (at most XFT_SLAB_EVENTS) events, each piece of it (encode.h)
 * compressed by itself; 0 when capacity is short. */
size_t xft_pack_events(struct xft_packer *packer, const struct xft_chunk *chunk,
                       const struct xft_event *events, unsigned char *out, size_t capacity);

#endif
