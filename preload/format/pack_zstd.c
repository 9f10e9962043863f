#define ZSTD_STATIC_LINKING_ONLY
#include "preload/format/pack.h"

#include <zstd.h>

static void *init(void *workspace, size_t bytes)
{
    return ZSTD_initStaticCCtx(workspace, bytes);
}

static size_t compress(void *context, void *out, size_t capacity, const void *raw, size_t bytes,
                       int level)
{
    return ZSTD_compressCCtx(context, out, capacity, raw, bytes, level);
}

const struct xft_zstd xft_linked_zstd = {
    .bound = ZSTD_compressBound,
    .workspace = ZSTD_estimateCCtxSize,
    .init = init,
    .compress = compress,
    .is_error = ZSTD_isError,
};
