#include "preload/base/real_dlsym.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

typedef void *dlsym_function(void *, const char *);

/* Sanitizers look up what they intercept through our dlsym, before they can watch anything. */
#define BEFORE_SANITIZERS __attribute__((no_sanitize("thread", "address")))

void *_Atomic xfs_dlsym_address __attribute__((used)); /* by assembly, unseen by the optimiser */

BEFORE_SANITIZERS void xfs_find_real_dlsym(void)
{
    /* dlvsym is not hooked. The first is libc.so's since 2.34; the others are libdl's, before. */
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    void *found = NULL;
    for (size_t i = 0; found == NULL && i < sizeof versions / sizeof *versions; i++)
        found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    if (found == NULL)
        abort(); /* no libc that could have loaded this library */
    atomic_store(&xfs_dlsym_address, found);
}

BEFORE_SANITIZERS void *xfs_real_dlsym(void *handle, const char *name)
{
    if (atomic_load(&xfs_dlsym_address) == NULL)
        xfs_find_real_dlsym();
    return ((dlsym_function *)atomic_load(&xfs_dlsym_address))(handle, name);
}

BEFORE_SANITIZERS void *xfs_try_dlsym(void *handle, const char *name)
{
    void *found = xfs_real_dlsym(handle, name);
    if (found == NULL)
        dlerror();
    return found;
}
