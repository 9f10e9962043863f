/*
 * Kernels that were launched, by the handle that they were launched with (CUfunction or CUkernel).
 *
 * A function is looked into at its first launch: its name is asked of the driver and kept in NAMES.
 * From then on its entry is found by a look-up that takes no lock and writes nothing. Entries never
 * move and are never freed; a handle keeps its entry for ever. When modules may be about to go, all
 * entries become stale, and each is filled again at the next launch: its handle may then stand for
 * another function. Where an entry is just being filled by another thread, this one finds out for
 * itself, in an entry of its own that holds until its next look-up. Who holds an entry while it
 * launches the function reads what is right, since nobody may unload a module and launch a function
 * of it at once.
 *
 * No allocation; as many functions as there are slots, and the others are not known.
 */
#ifndef XFS_FUNCTIONS_H
#define XFS_FUNCTIONS_H

#include <stdatomic.h>
#include <stdint.h>

struct xfs_parameters;

struct xfs_function {
    _Atomic uint64_t handle;     /* 0: free */
    _Atomic uint32_t generation; /* of what follows: valid when it is the current one */
    _Atomic uint32_t name;       /* id in NAMES; 0 = not known */
    /* Where its parameters lie (parameters.h); NULL until somebody has found out, and again when
     * the entry is filled anew. */
    const struct xfs_parameters *_Atomic parameters;
    const struct xfs_parameters *_Atomic parameters_before; /* of any filling */
};

#define XFS_FUNCTION_SLOTS (1u << 15)
extern struct xfs_function xfs_functions[XFS_FUNCTION_SLOTS];
extern _Atomic uint32_t xfs_function_generation;

/* Fills the entry if need be; NULL when the handle is 0, there is no room, or nothing could be
 * found out now. Keeps errno. */
struct xfs_function *xfs_function_search(uint64_t handle);

static inline uint32_t xfs_function_slot(uint64_t handle)
{
    return (uint32_t)((handle >> 4) * 0x9e3779b97f4a7c15u >> 40) % XFS_FUNCTION_SLOTS;
}

/* After a launch that succeeded. NULL when nothing can be known. */
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

/* Before modules, libraries or contexts go, and in a forked child, whose names have other ids: all
 * entries become stale. */
void xfs_functions_forget(void);

#endif
