/* Completes one trace, with names or without. Returns and errors as xfs_finish_file() has them. */
#ifndef FINISH_H
#define FINISH_H

#include <stdbool.h>

#include "preload/format/finish_file.h"
#include "symbols/symbols.h"

static inline int finish_file(const char *path, bool symbols, char *error, size_t error_bytes)
{
    struct xfs_known *known = symbols ? xfs_known_new() : NULL;
    int status = xfs_finish_file(path, known, error, error_bytes);
    xfs_known_free(known);
    return status;
}

#endif
