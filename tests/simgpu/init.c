/* Prints what cuInit says, and the last byte of the UUID of each GPU that is there: house_test.py
 * runs it with good and bad settings. */
#include <stdio.h>

#include "xferscope/cuda_abi.h"

xcu_result cuInit(unsigned flags);
xcu_result cuDeviceGetCount(int *count);
xcu_result cuDeviceGetUuid_v2(struct xcu_uuid *uuid, xcu_device device);

int main(void)
{
    struct xcu_uuid uuid;
    int count = 0;

    printf("%d", cuInit(0));
    cuDeviceGetCount(&count);
    for (int i = 0; i < count; i++)
        if (cuDeviceGetUuid_v2(&uuid, i) == XCU_SUCCESS)
            printf(" %d", uuid.bytes[15]);
    printf("\n");
    return 0;
}
