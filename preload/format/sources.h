/*
 * The lines of source around the frames of a trace, for the SOURCES segment of a file that is being
 * completed (trace.h).
 *
 * A file is read only when it is a regular one of at most 4 MiB and text, and is as it was when the
 * program was made of it: of code, not changed after the module's file; of Python, not after
 * recording began. Lines of other files are left out, and so is what exceeds XFS_SOURCES_MOST: of
 * files below /usr and of installed Python packages first.
 */
#ifndef XFS_SOURCES_H
#define XFS_SOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include "preload/format/trace_symbols.h"

#define XFS_SOURCES_MOST (256u << 10) /* bytes of the payload */
#define XFS_SOURCES_AROUND 2          /* lines kept before and after one that a frame is in */

struct xfs_sources_of {
    const void *file; /* the mapped trace file, whose header is sound: Python's SYMBOLS, META */
    size_t size;
    const int *holes; /* its descriptor, where it may have holes to step over; or NULL */
    xfs_decompress_function *decompress;
    const void *symbols; /* payload of a SYMBOLS segment that the file does not have yet, or NULL */
    size_t symbols_bytes;
};

/* *payload, which the caller frees with free(), of *bytes. False, with nothing to free, when there
 * is nothing to keep: the user switched it off (META "sources"), or nothing could be read. */
bool xfs_sources_read(const struct xfs_sources_of *of, void **payload, size_t *bytes);

#endif
