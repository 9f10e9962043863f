#include "preload/base/unloads.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>

#include "preload/base/attributes.h"
#include "preload/base/loading.h"
#include "preload/base/real_dlsym.h"

_Atomic uint64_t xfs_unload_calls;
static XFS_TLS uint64_t own; /* nested calls of this thread */

/* Sanitizers take dlclose too, and look up what they intercept before they can watch anything. */
#define BEFORE_SANITIZERS __attribute__((no_sanitize("thread", "address")))

typedef int dlclose_function(void *);

static BEFORE_SANITIZERS dlclose_function *real_dlclose(void)
{
    static _Atomic(dlclose_function *) known;
    dlclose_function *real = atomic_load_explicit(&known, memory_order_relaxed);
    if (real == NULL) {
        real = (dlclose_function *)xfs_real_dlsym(RTLD_NEXT, "dlclose");
        atomic_store_explicit(&known, real, memory_order_relaxed);
    }
    return real;
}

/* The loader's count of unloaded modules, from the first entry of its list. */
static int take_count(struct dl_phdr_info *info, size_t size, void *out)
{
    *(unsigned long long *)out = info->dlpi_subs;
    return 1;
}

BEFORE_SANITIZERS int xfs_unload(void *handle, bool *gone)
{
    static _Atomic unsigned long long counted;
    unsigned long long now = 0;
    own++;
    atomic_fetch_add(&xfs_unload_calls, 1);
    int result = real_dlclose()(handle);
    if (gone) {
        xfs_walk_loaded(take_count, &now);
        *gone = atomic_exchange(&counted, now) != now;
    }
    atomic_fetch_add(&xfs_unload_calls, (UINT64_C(1) << XFS_UNLOADS_ENDED) - 1);
    own--;
    return result;
}

static void in_child(void)
{
    uint64_t ended = atomic_load(&xfs_unload_calls) >> XFS_UNLOADS_ENDED;
    atomic_store(&xfs_unload_calls, (ended + 1) << XFS_UNLOADS_ENDED | own);
}

void xfs_unloads_watch_forks(void)
{
    pthread_atfork(NULL, NULL, in_child);
}
