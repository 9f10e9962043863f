/*
 * A CUPTI beside the simulated driver that serves nobody, in the way that FAKE_CUPTI says.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xferscope/cupti_abi.h"

#define API(name, params)                                                                          \
    __attribute__((visibility("default"))) xcp_result cupti##name params;                          \
    xcp_result cupti##name params

static bool is(const char *how)
{
    const char *told = getenv("FAKE_CUPTI");

    return told && !strcmp(told, how);
}

API(Subscribe, (xcp_subscriber * out, xcp_callback_function function, void *user))
{
    static int nobody;

    if (is("dies"))
        raise(SIGKILL);
    if (is("leaves"))
        _exit(0);
    *out = &nobody;
    return is("taken") ? XCP_ERROR_MULTIPLE_SUBSCRIBERS : XCP_SUCCESS;
}

API(EnableCallback, (uint32_t enable, xcp_subscriber subscriber, int domain, uint32_t call))
{
    return XCP_SUCCESS;
}

API(ActivityEnable, (int kind))
{
    return is("refuses") ? XCP_ERROR_NOT_SUPPORTED : XCP_SUCCESS;
}

API(ActivityDisable, (int kind))
{
    return XCP_SUCCESS;
}

API(ActivityRegisterCallbacks, (xcp_buffer_requested requested, xcp_buffer_completed completed))
{
    return XCP_SUCCESS;
}

API(ActivityGetNextRecord, (uint8_t * at, size_t valid, struct xcp_activity **record))
{
    return XCP_ERROR_NOT_SUPPORTED;
}

API(ActivityGetNumDroppedRecords, (void *context, uint32_t stream, size_t *out))
{
    *out = 0;
    return XCP_SUCCESS;
}

API(ActivityFlushAll, (uint32_t flag))
{
    return XCP_SUCCESS;
}

API(GetTimestamp, (uint64_t * out))
{
    *out = 1;
    return XCP_SUCCESS;
}
