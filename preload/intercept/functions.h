/*
 * Kernels that were launched, by the handle that they were launched with (CUfunction or CUkernel).
 *
 * At its first launch a function's name is requested from the driver and stored in NAMES. From then
 * on its entry is found by a look-up that takes no lock and writes nothing. Entries never move and
 * are never freed; a handle keeps its entry. When a module may be unloaded, all entries become
 * stale, and each is filled again at its next launch, since its handle may then be another
 * function's. While another thread fills an entry, this one fills a thread-local copy that is valid
 * until its next look-up. An entry that is used during a launch is right, since a program must not
 * unload a module while it launches a function of it.
 *
 * Nothing is allocated; functions beyond the number of slots are not known.
 */
#ifndef XFS_FUNCTIONS_H
#define XFS_FUNCTIONS_H

#include <stdatomic.h>
#include <stdint.h>

struct xfs_parameters;

struct xfs_function {
    _Atomic uint64_t handle;     /* 0: free */
    _Atomic uint32_t generation; /* the fields below are valid when it is the current one */
    _Atomic uint32_t name;       /* id in NAMES; 0 = not known */
    /* Layout of its parameters (parameters.h); NULL until it is requested, and again when the entry
     * is refilled. */
    const struct xfs_parameters *_Atomic parameters;
    const struct xfs_parameters *_Atomic parameters_before; /* of any filling */
};

#define XFS_FUNCTION_SLOTS (1u << 15)
extern struct xfs_function xfs_functions[XFS_FUNCTION_SLOTS];
extern _Atomic uint32_t xfs_function_generation;

/* Fills the entry if necessary; NULL when the handle is 0, there is no free slot, or the driver
 * gave no answer. Keeps errno. */
struct xfs_function *xfs_function_search(uint64_t handle);

static inline uint32_t xfs_function_slot(uint64_t handle)
{
    return (uint32_t)((handle >> 4) * 0x9e3779b97f4a7c15u >> 40) % XFS_FUNCTION_SLOTS;
}

/* After a launch that succeeded. NULL when the function is not known. */
static inline struct xfs_function *xfs_function_of(const void *launched)
{
    uint64_t handle = (uint64_t)(uintptr_t)launched;
    struct xfs_function *f = &xfs_functions[xfs_function_slot(handle)];
    if (__builtin_expect(
            atomic_load_explicit(&f->generation, memory_order_acquire) ==
                    atomic_load_explicit(&xfs_function_generation, memory_order_relaxed) &&
                atomic_load_explicit(&f->handle, memory_order_relaxed) == handle,
            1))
        return f;
    return xfs_function_search(handle);
}

/* Before modules, libraries or contexts are unloaded, and in a forked child, whose names have other
 * ids: all entries become stale. */
void xfs_functions_forget(void);

#endif
