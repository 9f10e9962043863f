/*
 * CUPTI's subscribe functions as other profilers call them. A profiler that starts after the
 * recorder (torch.profiler, for example) must find CUPTI free: device timing unsubscribes before
 * the call is passed on to CUPTI unchanged, unless both are among several clients. The recorder's
 * own subscription does not use these.
 */
#include "preload/timing/other_profiler.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "preload/lookup/runtime.h"
#include "preload/base/log.h"
#include "preload/timing/timing.h"
#include "xferscope/cupti_abi.h"

#define EXPORTED __attribute__((visibility("default")))
#define NOT_INITIALIZED 15 /* CUPTI_ERROR_NOT_INITIALIZED: there is no CUPTI to call */

/* True when the caller wants others beside it. The structure may be an older, shorter one. */
static bool welcomes_others(const struct xcp_subscriber_params *p)
{
    return p && p->struct_size > offsetof(struct xcp_subscriber_params, several) && p->several == 1;
}

/* Both versions of the function. */
#define SUBSCRIBE(name, params, args, shares)                                                      \
    static void *_Atomic found_##name; /* by dlsym: then no library's dependency leads there */    \
    void xfs_found_##name(void *real)                                                              \
    {                                                                                              \
        atomic_store(&found_##name, real);                                                         \
    }                                                                                              \
    EXPORTED int name params                                                                       \
    {                                                                                              \
        void *found = atomic_load(&found_##name);                                                  \
        if (found == NULL)                                                                         \
            found =                                                                                \
                xfs_real_runtime_special(#name, (const void *)name, __builtin_return_address(0));  \
        if (found == NULL)                                                                         \
            return NOT_INITIALIZED;                                                                \
        xfs_verbose("another profiler calls " #name);                                              \
        xfs_timing_yield(shares);                                                                  \
        return ((int(*) params)found)args;                                                         \
    }
SUBSCRIBE(cuptiSubscribe, (void **subscriber, void (*callback)(void), void *user),
          (subscriber, callback, user), false)
SUBSCRIBE(cuptiSubscribe_v2,
          (void **subscriber, void (*callback)(void), void *user, void *parameters),
          (subscriber, callback, user, parameters), welcomes_others(parameters))
