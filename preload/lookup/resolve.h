/*
 * Finds the real functions behind the intercepted names.
 *
 * Driver functions have one real address each, taken from libcuda.so.1 when it is first needed.
 * Runtime functions may exist several times in a process (two cudarts of different versions), so
 * theirs is looked up per caller: first among the dependencies of the library that called, as the
 * loader would have bound it, then after this library in the global scope, then in any library
 * (runtime.h). The answer is kept in a small table keyed by return address; a hit costs two loads.
 *
 * All of it is thread-safe, allocates nothing of its own and keeps errno.
 */
#ifndef XFS_RESOLVE_H
#define XFS_RESOLVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/lookup/driver.h"
#include "preload/lookup/rows.h"

/*
 * The real function of a row of the tables (rows.h). Never NULL: a function that does not exist is
 * one that returns 500, CUDA's "named symbol not found".
 */
xfs_function xfs_real(unsigned call, const void *caller);

/* Checked first by the inline functions below. */
extern xfs_function _Atomic xfs_driver_real[]; /* by row; NULL: not looked up yet */
#define XFS_CALLER_SLOTS 1024
struct xfs_caller {
    _Atomic uintptr_t key; /* of a return address and a row; the same before and after function */
    _Atomic uintptr_t function;
};
extern struct xfs_caller xfs_callers[XFS_CALLER_SLOTS];

static inline uintptr_t xfs_caller_key(unsigned call, const void *caller)
{
    return ((uintptr_t)caller << 11) ^ call ^ 0x8000000000000000u;
}

static inline struct xfs_caller *xfs_caller_of(uintptr_t key)
{
    return &xfs_callers[(key ^ (key >> 13) ^ (key >> 23)) % XFS_CALLER_SLOTS];
}

/* xfs_real() of a row that is known to be the driver's, or the runtime's. */
static inline xfs_function xfs_real_DRIVER(unsigned call, const void *caller)
{
    xfs_function known = atomic_load_explicit(&xfs_driver_real[call], memory_order_acquire);
    return __builtin_expect(known != NULL, 1) ? known : xfs_real(call, caller);
}

static inline xfs_function xfs_real_RUNTIME(unsigned call, const void *caller)
{
    uintptr_t key = xfs_caller_key(call, caller);
    struct xfs_caller *slot = xfs_caller_of(key);
    if (__builtin_expect(atomic_load_explicit(&slot->key, memory_order_acquire) == key, 1)) {
        uintptr_t hit = atomic_load_explicit(&slot->function, memory_order_acquire);
        if (__builtin_expect(atomic_load_explicit(&slot->key, memory_order_acquire) == key, 1))
            return (xfs_function)hit;
    }
    return xfs_real(call, caller);
}

/* xfs_real() of MPI's and NCCL's functions. MPI's is the next one after this library in the global
 * scope, for all callers, so that other tools that stand between a program and MPI keep their
 * place; where there is none, and of NCCL, it is found as a runtime function is. */
extern xfs_function _Atomic xfs_next_real[]; /* by row from XFS_ROWS_MOST on; NULL: not known */
static inline xfs_function xfs_real_message(unsigned call, const void *caller)
{
    xfs_function known =
        atomic_load_explicit(&xfs_next_real[call - XFS_ROWS_MOST], memory_order_acquire);
    return __builtin_expect(known != NULL, 1) ? known : xfs_real_RUNTIME(call, caller);
}

/*
 * The replacement for an address that the driver returned: the wrapper of the same variant, or the
 * address itself when there is none.
 */
void *xfs_substitute(void *address);

#endif
