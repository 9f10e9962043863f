#include "preload/intercept/functions.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "preload/base/attributes.h"
#include "preload/base/own_stack.h"
#include "preload/record/cost.h"
#include "preload/record/record.h"
#include "preload/lookup/driver.h"
#include "xferscope/cuda_abi.h"

/* Zero pages until used. At most three quarters of the slots are used, so probing stays short. */
struct xfs_function xfs_functions[XFS_FUNCTION_SLOTS] __attribute__((aligned(64)));
_Static_assert(sizeof(struct xfs_function) == 32, "two to a cache line, none across");
_Atomic uint32_t xfs_function_generation = 1; /* never one of these two: */
enum generation { NEVER_FILLED = 0, BEING_FILLED = UINT32_MAX };
static _Atomic uint32_t used;

/* ---- what the driver says ------------------------------------------------------------------- */

typedef xcu_result name_question(const char **, const void *);

/* From CUDA 12.3 on. The text is valid as long as the function exists. */
static const char *name_of(const void *handle)
{
    static name_question *_Atomic of_function, *_Atomic of_kernel;
    static atomic_bool looked_up;
    const char *name = NULL;
    if (!atomic_load_explicit(&looked_up, memory_order_acquire)) {
        atomic_store(&of_function, (name_question *)xfs_driver_symbol("cuFuncGetName"));
        atomic_store(&of_kernel, (name_question *)xfs_driver_symbol("cuKernelGetName"));
        atomic_store_explicit(&looked_up, true, memory_order_release);
    }
    name_question *function = atomic_load(&of_function), *kernel = atomic_load(&of_kernel);
    if (function && function(&name, handle) == XCU_SUCCESS && name)
        return name;
    if (kernel && kernel(&name, handle) == XCU_SUCCESS && name)
        return name;
    return NULL;
}

/* By one thread at a time. */
static void fill(void *entry)
{
    struct xfs_function *f = entry;
    uint32_t now = atomic_load(&xfs_function_generation);
    const char *text = name_of((const void *)(uintptr_t)atomic_load(&f->handle));
    uint32_t name = text ? xfs_name(text, strnlen(text, XFT_NAME_MOST + 1)) : 0;
    atomic_store_explicit(&f->name, name, memory_order_relaxed);
    atomic_store_explicit(&f->parameters, NULL, memory_order_relaxed);
    if (text && name == 0)
        now = NEVER_FILLED; /* the name could not be stored; the next launch tries again */
    atomic_store_explicit(&f->generation, now, memory_order_release);
}

/* True: it is for this thread to fill. */
static bool take(struct xfs_function *f)
{
    uint32_t there = atomic_load_explicit(&f->generation, memory_order_acquire);
    while (there != BEING_FILLED && there != atomic_load(&xfs_function_generation))
        if (atomic_compare_exchange_weak(&f->generation, &there, BEING_FILLED))
            return true;
    return false;
}

static bool is_filled(const struct xfs_function *f)
{
    return atomic_load(&f->generation) == atomic_load(&xfs_function_generation);
}

/* ---- entries --------------------------------------------------------------------------------- */

/* The entry of a handle; takes a free one if it has none. */
static struct xfs_function *entry_of(uint64_t handle)
{
    for (uint32_t i = 0, slot = xfs_function_slot(handle); i < XFS_FUNCTION_SLOTS; i++, slot++) {
        struct xfs_function *f = &xfs_functions[slot % XFS_FUNCTION_SLOTS];
        uint64_t there = atomic_load_explicit(&f->handle, memory_order_relaxed);
        if (there == 0) {
            if (atomic_load(&used) >= XFS_FUNCTION_SLOTS / 4 * 3)
                return NULL;
            if (atomic_compare_exchange_strong(&f->handle, &there, handle)) {
                atomic_fetch_add(&used, 1);
                return f;
            }
        }
        if (there == handle)
            return f;
    }
    return NULL;
}

/* For a launch while another thread, or the code that a signal handler interrupted, fills the
 * entry: a second, thread-local copy. No thread waits. */
static XFS_TLS struct xfs_function own;

__attribute__((noinline)) struct xfs_function *xfs_function_search(uint64_t handle)
{
    struct xfs_function *f = handle ? entry_of(handle) : NULL;
    if (f == NULL || is_filled(f))
        return f;
    int saved = errno;
    bool taken = take(f);
    if (!taken && !is_filled(f)) {
        f = &own;
        atomic_store_explicit(&f->handle, handle, memory_order_relaxed);
        taken = true;
    }
    if (taken) {
        xfs_cost_unusual(XFT_OVERHEAD_FUNCTION);
        xfs_on_any_stack(fill, f);
    }
    errno = saved;
    return is_filled(f) ? f : NULL;
}

void xfs_functions_forget(void)
{
    uint32_t now = atomic_load(&xfs_function_generation);
    while (!atomic_compare_exchange_weak(&xfs_function_generation, &now,
                                         now + 1 == BEING_FILLED ? 1 : now + 1))
        ;
}
