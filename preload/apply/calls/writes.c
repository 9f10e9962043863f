#include "preload/apply/calls/writes.h"

#include <stddef.h>
#include <string.h>

/* As many as writes_counted.S has: first those that count launches. */
#define LAUNCHES 16
#define OTHERS 112
#define STEP 32 /* bytes of each */

_Atomic uint64_t xfs_writes_unplaced, xfs_writes_launched;
extern const char xfs_writes_counted_code[];
__attribute__((visibility("hidden"))) xfs_function xfs_writes_real[LAUNCHES + OTHERS];
static const char *symbols[LAUNCHES + OTHERS];

/* Functions that write no device memory but what they allocate, by how their names begin: those of
 * the table (preload/intercept/calls.def) that were looked at. Memory that is freed and allocated
 * again is another buffer to uploads.h. */
static const char *const harmless[] = {
    "cuInit",
    "cuDevicePrimaryCtxRetain",
    "cuCtxCreate",
    "cuModuleUnload",
    "cuLibraryUnload",
    "cuEvent",
    "cuStreamCreate",
    "cuStreamWait",
    "cuStreamQuery",
    "cuStreamSynchronize",
    "cuStreamBegin",
    "cuStreamEnd",
    "cuCtxSynchronize",
    "cuMemAlloc",
    "cuMemFree",
    "cuMemHost",
    "cuMemAdvise",
    "cuGraphInstantiate",
    "cuGraphExecUpdate",
    "cuGraphExecDestroy",
    "cuGraphNodeSetEnabled",
    "cuGraphExecNodeSetParams",
    "cuGraphExecMemcpyNodeSetParams",
    "cuGraphExecChildGraphNodeSetParams",
    "cuArray",
    "cuMemcpyDtoH",
    "cuLaunchHostFunc",
    "cuGreenCtxStreamCreate",
    "cuCtxEnablePeerAccess",
    "cuCtxDisablePeerAccess",
};

static bool begins_with(const char *text, const char *head)
{
    return strncmp(text, head, strlen(head)) == 0;
}

static bool is_harmless(const char *symbol)
{
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (begins_with(symbol, harmless[i]))
            return true;
    return false;
}

xfs_function xfs_writes_counted(const char *symbol, xfs_function real)
{
    if (is_harmless(symbol))
        return real;
    bool launch = begins_with(symbol, "cuLaunch");
    size_t first = launch ? 0 : LAUNCHES, end = launch ? LAUNCHES : LAUNCHES + OTHERS;
    for (size_t i = first; i < end; i++) {
        if (symbols[i] && strcmp(symbols[i], symbol) != 0)
            continue;
        symbols[i] = symbol;
        xfs_writes_real[i] = real;
        return (xfs_function)(uintptr_t)(xfs_writes_counted_code + i * STEP);
    }
    return NULL;
}
