/*
 * The libraries that recording needs beyond libc, loaded privately (RTLD_LOCAL) and not before it
 * starts: zstd, and at the end the symbols module. They are searched by soname, then in this
 * library's directory and in deps/ there. A missing one is reported once, and recording goes on
 * without it. The process may already have a library of that name that works differently, so each
 * is tested before use.
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
