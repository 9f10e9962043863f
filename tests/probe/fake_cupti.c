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
    const char *setting = getenv("FAKE_CUPTI");

    return setting && !strcmp(setting, how);
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

static xcp_buffer_requested request;
static xcp_buffer_completed complete;

API(ActivityRegisterCallbacks, (xcp_buffer_requested requested, xcp_buffer_completed completed))
{
    request = requested;
    complete = completed;
    return XCP_SUCCESS;
}

API(ActivityConfigureUnifiedMemoryCounter, (struct xcp_counter_config * config, uint32_t count))
{
    if (is("dies of counters"))
        raise(SIGKILL);
    return XCP_ERROR_NOT_SUPPORTED;
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

/* Some record comes, where that is asked for. */
API(ActivityFlushAll, (uint32_t flag))
{
    uint8_t *buffer = NULL;
    size_t bytes, most;

    if (!is("dies of counters") && !is("has no counters"))
        return XCP_SUCCESS;
    request(&buffer, &bytes, &most);
    complete(NULL, 0, buffer, bytes, sizeof(struct xcp_activity));
    return XCP_SUCCESS;
}

API(GetTimestamp, (uint64_t * out))
{
    *out = 1;
    return XCP_SUCCESS;
}
