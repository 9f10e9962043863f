#include "preload/timing/managed.h"

#include <stdbool.h>

/* Bytes between devices came with CUDA 9, and not every platform has them: the others are asked for
 * without. */
static const int counters[] = {
    XCP_COUNTER_HTOD,      XCP_COUNTER_DTOH, XCP_COUNTER_CPU_FAULT,
    XCP_COUNTER_GPU_FAULT, XCP_COUNTER_DTOD,
};
#define COUNTERS (sizeof counters / sizeof *counters)

static xcp_result configure(const struct xcp_library *cupti, uint32_t count)
{
    struct xcp_counter_config config[COUNTERS];
    for (uint32_t i = 0; i < count; i++)
        config[i] = (struct xcp_counter_config){XCP_COUNTER_SCOPE_ALL, counters[i], 0, 1};
    return cupti->ActivityConfigureUnifiedMemoryCounter(config, count);
}

xcp_result xfs_managed_enable(const struct xcp_library *cupti, const char **what)
{
    *what = "ActivityConfigureUnifiedMemoryCounter";
    if (cupti->ActivityConfigureUnifiedMemoryCounter == NULL)
        return XCP_ERROR_NOT_SUPPORTED;
    xcp_result result = configure(cupti, COUNTERS);
    if (result != XCP_SUCCESS)
        result = configure(cupti, COUNTERS - 1);
    if (result != XCP_SUCCESS)
        return result;
    *what = "ActivityEnable";
    return cupti->ActivityEnable(XCP_ACTIVITY_COUNTER);
}
