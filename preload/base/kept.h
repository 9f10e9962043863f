/*
 * Copies of entries of the environment that the process began with, for use at its first CUDA call:
 * by then a program may have cleared its environment, or written over it.
 *
 * Each copy is filled by a constructor, and afterwards only read.
 */
#ifndef XFS_KEPT_H
#define XFS_KEPT_H

#include <stdbool.h>
#include <stddef.h>

struct xfs_kept {
    char *text; /* NAME=VALUE strings, one after the other */
    size_t room, used;
};

/* Copies the entries that are wanted, as far as there is room. Keeps errno. */
void xfs_keep(struct xfs_kept *kept, bool (*wanted)(const char *entry));

/* As getenv. */
const char *xfs_kept_value(const struct xfs_kept *kept, const char *name);

/* The value in NAME=VALUE if it has this name, else NULL. */
const char *xfs_value_in(const char *entry, const char *name);

#endif
