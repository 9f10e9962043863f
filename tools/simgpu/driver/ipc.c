/* Memory and events of other processes. A simulated GPU belongs to one process: its memory is that
 * process's own, and there are no handles to it, as on drivers without them. */
#include "tools/simgpu/driver/call.h"

struct handle { /* CUipcMemHandle, CUipcEventHandle: passed by value */
    char reserved[64];
};

SIM_API(cuIpcGetMemHandle, SIM_CTX, (struct handle * handle, xcu_deviceptr address),
        (handle, address))
{
    (void)address;
    return handle ? XCU_ERROR_NOT_SUPPORTED : XCU_ERROR_INVALID_VALUE;
}

SIM_API(cuIpcOpenMemHandle_v2, SIM_CTX,
        (xcu_deviceptr * address, struct handle handle, unsigned flags), (address, handle, flags))
{
    (void)handle, (void)flags;
    return address ? XCU_ERROR_NOT_SUPPORTED : XCU_ERROR_INVALID_VALUE;
}

SIM_API(cuIpcCloseMemHandle, SIM_CTX, (xcu_deviceptr address), (address))
{
    (void)address;
    return XCU_ERROR_INVALID_VALUE; /* none was opened */
}

SIM_API(cuIpcGetEventHandle, SIM_CTX, (struct handle * handle, xcu_event event), (handle, event))
{
    (void)event;
    return handle ? XCU_ERROR_NOT_SUPPORTED : XCU_ERROR_INVALID_VALUE;
}

SIM_API(cuIpcOpenEventHandle, SIM_CTX, (xcu_event * event, struct handle handle), (event, handle))
{
    (void)handle;
    return event ? XCU_ERROR_NOT_SUPPORTED : XCU_ERROR_INVALID_VALUE;
}
