/*
 * dlclose, as the program sees it: what libc's does, and this library knows that code has gone.
 * It is not caller-dependent as dlopen is: a call from here is as good as a jump.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

#include "preload/base/unloads.h"
#include "preload/lookup/resolve.h"

#define EXPORTED __attribute__((visibility("default")))

/* Their callers or the functions may have gone, and what lies there next must be looked up anew. */
static void forget_callers(void)
{
    for (size_t i = 0; i < XFS_CALLER_SLOTS; i++)
        atomic_store_explicit(&xfs_callers[i].key, 0, memory_order_release);
}

EXPORTED int dlclose(void *handle)
{
    bool gone;
    int result = xfs_unload(handle, &gone);
    if (gone)
        forget_callers();
    return result;
}
