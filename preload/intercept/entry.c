/*
 * The functions that hand out addresses of driver functions. They record nothing: they ask the real
 * function first, unchanged, and then replace the address if it is one of ours, so that version,
 * flags and symbol status stay the driver's business.
 */
#include <dlfcn.h>
#include <errno.h>

#include "preload/intercept/hook.h"
#include "preload/lookup/driver.h"
#include "preload/lookup/resolve.h"
#include "preload/lookup/runtime.h"
#include "preload/intercept/table.h"
#include "preload/timing/other_profiler.h"

#define EXPORTED __attribute__((visibility("default")))

static void replace(void **function, int status)
{
    if (status == 0 && function != NULL)
        *function = xfs_substitute(*function);
}

EXPORTED xcu_result cuGetProcAddress(const char *symbol, void **function, int version,
                                     uint64_t flags);
EXPORTED xcu_result cuGetProcAddress(const char *symbol, void **function, int version,
                                     uint64_t flags)
{
    xcu_result (*real)(const char *, void **, int, uint64_t) =
        (__typeof__(real))xfs_driver_symbol("cuGetProcAddress");
    if (real == NULL)
        return XCU_ERROR_NOT_FOUND;
    xcu_result status = real(symbol, function, version, flags);
    if (!xfs_is_driver_code(__builtin_return_address(0)))
        replace(function, status);
    return status;
}

EXPORTED xcu_result cuGetProcAddress_v2(const char *symbol, void **function, int version,
                                        uint64_t flags, int *symbol_status);
EXPORTED xcu_result cuGetProcAddress_v2(const char *symbol, void **function, int version,
                                        uint64_t flags, int *symbol_status)
{
    xcu_result (*real)(const char *, void **, int, uint64_t, int *) =
        (__typeof__(real))xfs_driver_symbol("cuGetProcAddress_v2");
    if (real == NULL)
        return XCU_ERROR_NOT_FOUND;
    xcu_result status = real(symbol, function, version, flags, symbol_status);
    if (!xfs_is_driver_code(__builtin_return_address(0)))
        replace(function, status);
    return status;
}

/* cudart asks the driver through the look-ups above, so the address is replaced already; a cudart
 * that has other ways is caught here. */
#define ENTRY_POINT(name)                                                                          \
    EXPORTED xrt_error name(const char *symbol, void **function, unsigned long long flags,         \
                            int *found);                                                           \
    EXPORTED xrt_error name(const char *symbol, void **function, unsigned long long flags,         \
                            int *found)                                                            \
    {                                                                                              \
        xrt_error (*real)(const char *, void **, unsigned long long, int *) =                      \
            (__typeof__(real))xfs_real_runtime_special(#name, (const void *)name,                  \
                                                       __builtin_return_address(0));               \
        if (real == NULL)                                                                          \
            return XCU_ERROR_NOT_FOUND;                                                            \
        xrt_error status = real(symbol, function, flags, found);                                   \
        replace(function, status);                                                                 \
        return status;                                                                             \
    }
#define ENTRY_POINT_BY_VERSION(name)                                                               \
    EXPORTED xrt_error name(const char *symbol, void **function, unsigned version,                 \
                            unsigned long long flags, int *found);                                 \
    EXPORTED xrt_error name(const char *symbol, void **function, unsigned version,                 \
                            unsigned long long flags, int *found)                                  \
    {                                                                                              \
        xrt_error (*real)(const char *, void **, unsigned, unsigned long long, int *) =            \
            (__typeof__(real))xfs_real_runtime_special(#name, (const void *)name,                  \
                                                       __builtin_return_address(0));               \
        if (real == NULL)                                                                          \
            return XCU_ERROR_NOT_FOUND;                                                            \
        xrt_error status = real(symbol, function, version, flags, found);                          \
        replace(function, status);                                                                 \
        return status;                                                                             \
    }
ENTRY_POINT(cudaGetDriverEntryPoint)
ENTRY_POINT(cudaGetDriverEntryPoint_ptsz)
ENTRY_POINT_BY_VERSION(cudaGetDriverEntryPointByVersion)
ENTRY_POINT_BY_VERSION(cudaGetDriverEntryPointByVersion_ptsz)

#define SPECIAL(symbol, driver, learn)                                                             \
    {                                                                                              \
#symbol, driver, (void (*)(void))symbol, learn                                             \
    }
const struct xfs_special xfs_specials[] = {
    SPECIAL(cuGetProcAddress, true, NULL),
    SPECIAL(cuGetProcAddress_v2, true, NULL),
    SPECIAL(cudaGetDriverEntryPoint, false, NULL),
    SPECIAL(cudaGetDriverEntryPoint_ptsz, false, NULL),
    SPECIAL(cudaGetDriverEntryPointByVersion, false, NULL),
    SPECIAL(cudaGetDriverEntryPointByVersion_ptsz, false, NULL),
    SPECIAL(cuptiSubscribe, false, xfs_found_cuptiSubscribe),
    SPECIAL(cuptiSubscribe_v2, false, xfs_found_cuptiSubscribe_v2),
};
const size_t xfs_special_count = sizeof xfs_specials / sizeof *xfs_specials;
