/*
 * The modules (program, libraries) that stack addresses belong to, as MODULES segments.
 *
 * Written before the first stack that needs them. The loader's list is walked again only after it
 * has changed.
 */
#ifndef XFS_MODULES_H
#define XFS_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xfs_recorder;

struct xfs_modules {
    unsigned long long adds, subs; /* the loader's counts at the last walk */
    struct xfs_module_key {
        uint64_t start, bias;
    } * known;
    size_t count, room;
    unsigned char *piece; /* where a segment is put together */
};

/* Writes the modules that are new since the last call. Serialised by the caller. False when they
 * could not be written. */
bool xfs_modules_refresh(struct xfs_recorder *recorder, struct xfs_modules *modules);

#endif
