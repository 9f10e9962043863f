/*
 * What recording needs beyond libc, loaded privately (RTLD_LOCAL) when it starts, never before:
 * zstd, and at the end the symbols module. Looked for by soname, then beside this
 * library and in deps/ beside it. What is missing is said once, and done without. The program may
 * have brought libraries of those names that are not what they seem: they are tried first.
 *
 * Loaded once and kept, also by forked children.
 */
#ifndef XFS_LIBRARIES_H
#define XFS_LIBRARIES_H

#include <stddef.h>

#include "preload/format/pack.h"
#include "preload/format/trace_symbols.h"

struct xfs_libraries {
    const struct xft_zstd *zstd; /* NULL: events are stored uncompressed */
};

/* Loads what is not loaded yet. One thread at a time. */
const struct xfs_libraries *xfs_libraries_load(void);

/* xfs_symbols_resolve of libxferscope-symbols.so; NULL when it cannot be loaded. */
xfs_symbols_function *xfs_libraries_symbols(void);

#endif
