/* A plugin of plugins.c: COPIES copies of 64 bytes to the device. */
#include "runtime_api.h"

int PLUGIN_CALL(void *device, void *host);

int PLUGIN_CALL(void *device, void *host)
{
    int failed = 0;
    for (int i = 0; i < COPIES; i++)
        failed |= cudaMemcpy(device, host, 64, XRT_COPY_H2D);
    return failed;
}
