/*
 * A library that calls itself libzstd.so.1 and does other things under the same names: it reports
 * success and writes nothing.
 */
#include <stddef.h>

#define EXPORTED __attribute__((visibility("default")))
#define FAKE(type, name, parameters, value)                                                        \
    EXPORTED type name parameters;                                                                 \
    EXPORTED type name parameters                                                                  \
    {                                                                                              \
        return value;                                                                              \
    }

FAKE(size_t, ZSTD_compressBound, (size_t bytes), bytes + 64)
FAKE(size_t, ZSTD_estimateCCtxSize, (int level), 65536)
FAKE(void *, ZSTD_initStaticCCtx, (void *workspace, size_t bytes), workspace)
FAKE(size_t, ZSTD_compressCCtx,
     (void *context, void *out, size_t room, const void *raw, size_t bytes, int level), 1)
FAKE(unsigned, ZSTD_isError, (size_t code), 0)
FAKE(size_t, ZSTD_decompress, (void *out, size_t room, const void *packed, size_t bytes), room)
