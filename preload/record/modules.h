/*
 * The modules (program, libraries) that stack addresses belong to, as MODULES segments.
 *
 * A module is written before the first stack that needs it: all modules when recording starts;
 * later the loader's list is walked again when a stack has an address in an unknown module, and
 * when code may have been unloaded since the last walk (unloads.h).
 *
 * When a module is loaded where another one lay before, the two are distinguished by a number, the
 * turn: their addresses are recorded with the turn in bits 48 to 62 (trace.h), in stacks and in
 * MODULES. A module that is loaded again at its old place, with the same name, build id and layout,
 * keeps its turn.
 */
#ifndef XFS_MODULES_H
#define XFS_MODULES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/base/unloads.h"

struct xfs_recorder;

struct dl_find_object;
typedef int xfs_find_object(void *, struct dl_find_object *);

/* Fields that do not change are written before the module's number is published. */
struct xfs_module_key {
    uint64_t start, end, bias; /* where it lies; start at a page */
    uint64_t name, unwinding;  /* hash of its name; address of its unwind table */
    uint64_t identity;         /* hash of the loader's data on it, and its build id */
    uint64_t walk;             /* the last one that met it */
    uint32_t turn;             /* at its place; 0: the first */
    atomic_bool there;         /* as the last walk found it */
};

struct xfs_modules {
    xfs_find_object *find; /* NULL: an older glibc */
    struct xfs_module_key *known;
    atomic_size_t count;
    atomic_bool walked;            /* held by the thread that uses what follows */
    unsigned long long adds, subs; /* the loader's counts at the last walk */
    uint64_t walks;
    unsigned char *piece; /* where a segment is put together */

    _Atomic uint64_t walked_at; /* unloads as of the last walk */
    /* Modules that are loaded and whose turn is not 0: index in known + 1; 0: free. */
    _Atomic uint32_t *again;
    _Atomic uint32_t again_most; /* none is used from here on */
};

/* Writes all modules there are; false when memory is short. */
bool xfs_modules_init(struct xfs_recorder *recorder, struct xfs_modules *modules);

/* Writes the modules that are new, if these addresses lie in one. False when they could not be
 * written. */
bool xfs_modules_refresh(struct xfs_recorder *recorder, struct xfs_modules *modules,
                         const uint64_t *addresses, uint32_t depth);

/* Replaces addresses of the calling thread's stack by those that are recorded; false when their
 * module cannot be determined. */
bool xfs_modules_place_slowly(struct xfs_recorder *recorder, struct xfs_modules *modules,
                              uint64_t *addresses, uint32_t depth);

/* The same, with a fast path for addresses that stay as they are. */
static inline bool xfs_modules_place(struct xfs_recorder *recorder, struct xfs_modules *modules,
                                     uint64_t *addresses, uint32_t depth)
{
    uint64_t walked_at = atomic_load_explicit(&modules->walked_at, memory_order_relaxed);
    bool plain = !xfs_unloads_since(walked_at) &&
                 atomic_load_explicit(&modules->again_most, memory_order_acquire) == 0;
    return __builtin_expect(plain, 1) ||
           xfs_modules_place_slowly(recorder, modules, addresses, depth);
}

#endif
