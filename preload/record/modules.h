/*
 * The modules (program, libraries) that stack addresses belong to, as MODULES segments.
 *
 * Written before the first stack that needs them. All of them when recording starts; later the
 * loader's list is walked again when a stack has an address in a module that is not known.
 */
#ifndef XFS_MODULES_H
#define XFS_MODULES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xfs_recorder;

struct dl_find_object;
typedef int xfs_find_object(void *, struct dl_find_object *);

struct xfs_modules {
    xfs_find_object *find; /* NULL: an older glibc */
    struct xfs_module_key {
        uint64_t start, bias;
    } * known;
    atomic_size_t count;
    atomic_bool walked;            /* by some thread, now: what follows is its own */
    unsigned long long adds, subs; /* the loader's counts at the last walk */
    unsigned char *piece;          /* where a segment is put together */
};

/* Writes all modules there are; false when memory is short. */
bool xfs_modules_init(struct xfs_recorder *recorder, struct xfs_modules *modules);

/* Writes the modules that are new, if these addresses lie in one. False when they could not be
 * written. */
bool xfs_modules_refresh(struct xfs_recorder *recorder, struct xfs_modules *modules,
                         const uint64_t *addresses, uint32_t depth);

#endif
