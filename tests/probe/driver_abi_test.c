/*
 * The numbers and shapes of driver.h and driver.def against NVIDIA's own headers: most
 * of it is checked by compiling.
 */
#include <cuda.h>
#include <cudaTypedefs.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "probe/device/driver.h"

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)

SAME(XFP_ATTR_COPY_ENGINES, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
SAME(XFP_ATTR_MULTIPROCESSORS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(XFP_ATTR_MAPS_HOST_MEMORY, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
SAME(XFP_ATTR_CONCURRENT_MANAGED, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
SAME(XFP_ERROR_STUB_LIBRARY, CUDA_ERROR_STUB_LIBRARY);
SAME(XFP_ERROR_DEVICE_UNAVAILABLE, CUDA_ERROR_DEVICE_UNAVAILABLE);
SAME(XFP_ERROR_SYSTEM_NOT_READY, CUDA_ERROR_SYSTEM_NOT_READY);
SAME(XFP_ERROR_SYSTEM_DRIVER_MISMATCH, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
#if CUDA_VERSION >= 12020
SAME(XFP_ATTR_HOST_NUMA_ID, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID);
#endif
_Static_assert(CU_STREAM_NON_BLOCKING == 1, "device.c creates its stream with 1");

#if CUDA_VERSION < 12080
typedef void *PFN_cuMemcpyBatchAsync_v12080;
#define XFP_STUB_IS_OLDER "cuMemcpyBatchAsync"
#else
#define XFP_STUB_IS_OLDER ""
#endif

/* Every name has a binary interface of that version: the toolkit's typedefs say so. */
#define X(name, symbol, version, parameters)                                                       \
    _Static_assert(sizeof(PFN_##name##_v##version) == sizeof(void *), #name);
#include "probe/device/driver.def"
#include "probe/device/driver_more.def"
#undef X

/* And every symbol is one that drivers export: the toolkit's stub of the driver, argv[1]. */
int main(int argc, char **argv)
{
    static const char *const symbols[] = {
#define X(name, symbol, version, parameters) symbol,
#include "probe/device/driver.def"
#include "probe/device/driver_more.def"
#undef X
    };
    void *stub = argc == 2 ? dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL) : NULL;
    int missing = !stub;

    for (size_t i = 0; stub && i < sizeof(symbols) / sizeof(symbols[0]); i++)
        if (strcmp(symbols[i], XFP_STUB_IS_OLDER) && !dlsym(stub, symbols[i])) {
            fprintf(stderr, "no driver exports %s\n", symbols[i]);
            missing = 1;
        }
    return missing;
}
