/*
 * Names and lines for the addresses in a trace's stacks (symbols/symbols.h). For the recorder it is
 * a module of its own, so that elfutils is loaded only when recording ends.
 */
#ifndef XFS_TRACE_SYMBOLS_H
#define XFS_TRACE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>

#include "symbols/symbols.h"

#define XFS_SYMBOLS_MODULE "libxferscope-symbols.so"

/* ZSTD_decompress. */
typedef size_t xfs_decompress_function(void *out, size_t capacity, const void *in, size_t bytes);

/*
 * Resolves every address in STACKS of the mapped trace file into the payload of a SYMBOLS segment
 * (struct xft_symbol ...): *payload, which the caller frees with free(), of *bytes. True when it
 * got through; false when *stop became non-zero or memory ran out, with nothing to free. Packed
 * segments are read only with `decompress`; a recorder's own file has none, and passes NULL.
 */
typedef bool xfs_symbols_function(const void *file, size_t size,
                                  xfs_decompress_function *decompress, const int *stop,
                                  void **payload, size_t *bytes);
#ifndef XFS_SYMBOLS_EXPORT
#define XFS_SYMBOLS_EXPORT /* the module exports it */
#endif
XFS_SYMBOLS_EXPORT xfs_symbols_function xfs_symbols_resolve;

/* xfs_symbols_resolve() with a shared cache of modules; known NULL: with its own. `holes`: the
 * file's descriptor, where it may have holes to step over, or NULL. */
bool xfs_symbols_resolve_known(struct xfs_known *known, const void *file, size_t size,
                               const int *holes, xfs_decompress_function *decompress,
                               const int *stop, void **payload, size_t *bytes);

#endif
