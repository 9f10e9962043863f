/*
 * Errors, versions, devices.
 */
#include <stdio.h>
#include <string.h>

#include "tools/simgpu/runtime/device_props.h"
#include "tools/simgpu/runtime/rt.h"

/* ---- errors: these neither set nor depend on the last error ------------------------------- */

RT_EXPORT xrt_error cudaGetLastError(void);
xrt_error cudaGetLastError(void)
{
    xrt_error last = rt_thread.last;

    rt_thread.last = XCU_SUCCESS;
    return last;
}

RT_EXPORT xrt_error cudaPeekAtLastError(void);
xrt_error cudaPeekAtLastError(void)
{
    return rt_thread.last;
}

static const struct {
    int number;
    const char *name, *words;
} errors[] = {
    {0, "cudaSuccess", "no error"},
    {1, "cudaErrorInvalidValue", "invalid argument"},
    {2, "cudaErrorMemoryAllocation", "out of memory"},
    {3, "cudaErrorInitializationError", "initialization error"},
    {4, "cudaErrorCudartUnloading", "driver shutting down"},
    {9, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {12, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {13, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {21, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {35, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {98, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {100, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {101, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {200, "cudaErrorInvalidKernelImage", "device kernel image is invalid"},
    {201, "cudaErrorDeviceUninitialized", "invalid device context"},
    {217, "cudaErrorPeerAccessUnsupported",
     "peer access is not supported between these two devices"},
    {304, "cudaErrorOperatingSystem", "OS call failed or operation not supported on this OS"},
    {400, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {500, "cudaErrorSymbolNotFound", "named symbol not found"},
    {600, "cudaErrorNotReady", "device not ready"},
    {700, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {704, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {705, "cudaErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    {709, "cudaErrorContextIsDestroyed", "context is destroyed"},
    {711, "cudaErrorTooManyPeers", "peer mapping resources exhausted"},
    {712, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {713, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {800, "cudaErrorNotPermitted", "operation not permitted"},
    {801, "cudaErrorNotSupported", "operation not supported"},
    {900, "cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"},
    {901, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {903, "cudaErrorStreamCaptureUnmatched",
     "capture was not ended in the same stream as it began"},
    {904, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {905, "cudaErrorStreamCaptureIsolation",
     "dependency created on uncaptured work in another stream"},
    {906, "cudaErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {907, "cudaErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"},
    {908, "cudaErrorStreamCaptureWrongThread",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {999, "cudaErrorUnknown", "unknown error"},
};

static int find(xrt_error error)
{
    for (int i = 0; i < (int)(sizeof(errors) / sizeof(errors[0])); i++)
        if (errors[i].number == error)
            return i;
    return -1;
}

RT_EXPORT const char *cudaGetErrorName(xrt_error error);
const char *cudaGetErrorName(xrt_error error)
{
    int i = find(error);

    return i < 0 ? "unrecognized error code" : errors[i].name;
}

RT_EXPORT const char *cudaGetErrorString(xrt_error error);
const char *cudaGetErrorString(xrt_error error)
{
    int i = find(error);

    return i < 0 ? "unrecognized error code" : errors[i].words;
}

/* ---- versions and entry points ------------------------------------------------------------ */

RT_API(cudaRuntimeGetVersion, RT_NOTHING, (int *version), (version))
{
    if (!version)
        return XCU_ERROR_INVALID_VALUE;
    *version = 13000;
    return XCU_SUCCESS;
}

RT_API(cudaDriverGetVersion, RT_DRIVER, (int *version), (version))
{
    return version ? rt_driver()->cuDriverGetVersion(version) : XCU_ERROR_INVALID_VALUE;
}

/* Of the flags the default means: as the calling program was built. */
static xrt_error entry_point(const char *name, void **out, int version, uint64_t flags, int *status)
{
    if (flags == XCU_ENTRY_DEFAULT && rt_thread.per_thread)
        flags = XCU_ENTRY_PER_THREAD_STREAM;
    return rt_driver()->cuGetProcAddress(name, out, version, flags, status);
}

#define ENTRY_POINT(symbol, per_thread)                                                            \
    RT_WRAPPER(entry_point, symbol, RT_DRIVER, per_thread,                                         \
               (const char *name, void **out, uint64_t flags, int *status),                        \
               (name, out, 13000, flags, status))
ENTRY_POINT(cudaGetDriverEntryPoint, false)
ENTRY_POINT(cudaGetDriverEntryPoint_ptsz, true)

#define ENTRY_POINT_BY_VERSION(symbol, per_thread)                                                 \
    RT_WRAPPER(entry_point, symbol, RT_DRIVER, per_thread,                                         \
               (const char *name, void **out, unsigned version, uint64_t flags, int *status),      \
               (name, out, (int)version, flags, status))
ENTRY_POINT_BY_VERSION(cudaGetDriverEntryPointByVersion, false)
ENTRY_POINT_BY_VERSION(cudaGetDriverEntryPointByVersion_ptsz, true)

RT_API(cudaGetExportTable, RT_NOTHING, (const void **out, const void *id), (out, id))
{
    if (!out || !id)
        return XCU_ERROR_INVALID_VALUE;
    *out = NULL;
    return XCU_ERROR_NOT_FOUND;
}

/* ---- devices ------------------------------------------------------------------------------ */

RT_API(cudaGetDeviceCount, RT_DRIVER, (int *count), (count))
{
    return count ? rt_driver()->cuDeviceGetCount(count) : XCU_ERROR_INVALID_VALUE;
}

static xrt_error check_device(int device)
{
    int count = 0;
    xrt_error error = rt_driver()->cuDeviceGetCount(&count);

    return error ? error : device < 0 || device >= count ? XCU_ERROR_INVALID_DEVICE : XCU_SUCCESS;
}

RT_API(cudaSetDevice, RT_DRIVER, (int device), (device))
{
    xcu_context context;
    xrt_error error = check_device(device);

    if (error)
        return error;
    rt_thread.device = device;
    error = rt_primary(device, &context);
    return error ? error : rt_driver()->cuCtxSetCurrent(context);
}

RT_API(cudaInitDevice, RT_DRIVER, (int device, unsigned device_flags, unsigned flags),
       (device, device_flags, flags))
{
    xcu_context context;
    xrt_error error = check_device(device);

    return error ? error : rt_primary(device, &context);
}

RT_API(cudaGetDevice, RT_DRIVER, (int *device), (device))
{
    xcu_context context = NULL;

    if (!device)
        return XCU_ERROR_INVALID_VALUE;
    if (!rt_driver()->cuCtxGetCurrent(&context) && context)
        return rt_driver()->cuCtxGetDevice(device);
    *device = rt_thread.device;
    return XCU_SUCCESS;
}

RT_API(cudaGetDeviceFlags, RT_DRIVER, (unsigned *flags), (flags))
{
    int active;

    if (!flags)
        return XCU_ERROR_INVALID_VALUE;
    return rt_driver()->cuDevicePrimaryCtxGetState(rt_thread.device, flags, &active);
}

/* ---- properties --------------------------------------------------------------------------- */

static int attribute(int number, int device)
{
    int value = 0;

    rt_driver()->cuDeviceGetAttribute(&value, number, device);
    return value;
}

/* attribute number, field of the properties */
#define PROPERTY_LIST(X)                                                                           \
    X(1, max_threads_per_block)                                                                    \
    X(2, max_threads_dim[0])                                                                       \
    X(3, max_threads_dim[1])                                                                       \
    X(4, max_threads_dim[2])                                                                       \
    X(5, max_grid[0])                                                                              \
    X(6, max_grid[1])                                                                              \
    X(7, max_grid[2])                                                                              \
    X(10, warp)                                                                                    \
    X(12, registers_per_block)                                                                     \
    X(16, multiprocessors)                                                                         \
    X(19, maps_host_memory)                                                                        \
    X(31, concurrent_kernels)                                                                      \
    X(32, ecc)                                                                                     \
    X(33, pci_bus)                                                                                 \
    X(34, pci_device)                                                                              \
    X(37, memory_bus)                                                                              \
    X(38, l2)                                                                                      \
    X(39, max_threads_per_multiprocessor)                                                          \
    X(40, async_engines)                                                                           \
    X(41, unified_addressing)                                                                      \
    X(50, pci_domain)                                                                              \
    X(75, major)                                                                                   \
    X(76, minor)                                                                                   \
    X(78, stream_priorities)                                                                       \
    X(82, registers_per_multiprocessor)                                                            \
    X(83, managed)                                                                                 \
    X(89, concurrent_managed)                                                                      \
    X(90, preemption)                                                                              \
    X(91, registered_host_pointer)                                                                 \
    X(95, cooperative_launch)                                                                      \
    X(99, host_register)                                                                           \
    X(106, max_blocks_per_multiprocessor)                                                          \
    X(115, memory_pools)                                                                           \
    X(134, host_numa)

RT_API(cudaGetDeviceProperties, RT_DRIVER, (struct rt_device_props * p, int device), (p, device))
{
    xrt_error error = check_device(device);

    if (error || !p)
        return error ? error : XCU_ERROR_INVALID_VALUE;
    memset(p, 0, sizeof(*p));
    rt_driver()->cuDeviceGetName(p->name, sizeof(p->name), device);
    rt_driver()->cuDeviceGetUuid(&p->uuid, device);
    rt_driver()->cuDeviceTotalMem(&p->memory_bytes, device);
#define PROPERTY(number, field) p->field = attribute(number, device);
    PROPERTY_LIST(PROPERTY)
    p->shared_per_block = (size_t)attribute(8, device);
    p->constant_bytes = (size_t)attribute(9, device);
    p->pitch = (size_t)attribute(11, device);
    p->texture_alignment = (size_t)attribute(14, device);
    p->texture_pitch_alignment = (size_t)attribute(51, device);
    p->surface_alignment = (size_t)attribute(30, device);
    p->shared_per_multiprocessor = (size_t)attribute(81, device);
    p->shared_per_block_optin = (size_t)attribute(97, device);
    return XCU_SUCCESS;
}

/* ---- peers -------------------------------------------------------------------------------- */

RT_API(cudaDeviceEnablePeerAccess, RT_CONTEXT, (int peer, unsigned flags), (peer, flags))
{
    xcu_context context;
    xrt_error error = check_device(peer);

    if (!error)
        error = rt_primary(peer, &context);
    return error ? error : rt_driver()->cuCtxEnablePeerAccess(context, flags);
}

RT_API(cudaDeviceDisablePeerAccess, RT_CONTEXT, (int peer), (peer))
{
    xcu_context context;
    xrt_error error = check_device(peer);

    if (!error)
        error = rt_primary(peer, &context);
    return error ? error : rt_driver()->cuCtxDisablePeerAccess(context);
}

RT_API(cudaProfilerStart, RT_CONTEXT, (void), ())
{
    return XCU_SUCCESS;
}

RT_API(cudaProfilerStop, RT_CONTEXT, (void), ())
{
    return XCU_SUCCESS;
}
