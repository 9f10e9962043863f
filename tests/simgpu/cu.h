/*
 * The driver functions that these tests call, declared by ourselves, and a few shorthands.
 */
#ifndef SIMGPU_TESTS_CU_H
#define SIMGPU_TESTS_CU_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "xferscope/cuda_abi.h"

xcu_result cuInit(unsigned flags);
xcu_result cuDriverGetVersion(int *version);
xcu_result cuDeviceGetCount(int *count);
xcu_result cuDeviceGet(xcu_device *device, int ordinal);
xcu_result cuDeviceGetName(char *name, int bytes, xcu_device device);
xcu_result cuDeviceGetUuid_v2(struct xcu_uuid *uuid, xcu_device device);
xcu_result cuDeviceGetAttribute(int *value, int attribute, xcu_device device);
xcu_result cuDeviceGetPCIBusId(char *text, int bytes, xcu_device device);
xcu_result cuDeviceGetByPCIBusId(xcu_device *device, const char *text);
xcu_result cuDeviceTotalMem_v2(size_t *bytes, xcu_device device);
xcu_result cuDeviceCanAccessPeer(int *can, xcu_device device, xcu_device peer);
xcu_result cuDevicePrimaryCtxRetain(xcu_context *out, xcu_device device);
xcu_result cuDevicePrimaryCtxRelease_v2(xcu_device device);
xcu_result cuDevicePrimaryCtxReset_v2(xcu_device device);
xcu_result cuCtxCreate_v2(xcu_context *out, unsigned flags, xcu_device device);
xcu_result cuCtxDestroy_v2(xcu_context context);
xcu_result cuCtxSetCurrent(xcu_context context);
xcu_result cuCtxGetCurrent(xcu_context *out);
xcu_result cuCtxPushCurrent_v2(xcu_context context);
xcu_result cuCtxPopCurrent_v2(xcu_context *out);
xcu_result cuCtxGetDevice(xcu_device *out);
xcu_result cuCtxSynchronize(void);
xcu_result cuCtxEnablePeerAccess(xcu_context peer, unsigned flags);
xcu_result cuCtxDisablePeerAccess(xcu_context peer);
xcu_result cuStreamCreate(xcu_stream *out, unsigned flags);
xcu_result cuStreamDestroy_v2(xcu_stream stream);
xcu_result cuStreamSynchronize(xcu_stream stream);
xcu_result cuStreamQuery(xcu_stream stream);
xcu_result cuStreamWaitEvent(xcu_stream stream, xcu_event event, unsigned flags);
xcu_result cuStreamBeginCapture_v2(xcu_stream stream, int mode);
xcu_result cuStreamEndCapture(xcu_stream stream, xcu_graph *out);
xcu_result cuStreamIsCapturing(xcu_stream stream, int *status);
xcu_result cuEventCreate(xcu_event *out, unsigned flags);
xcu_result cuEventDestroy_v2(xcu_event event);
xcu_result cuEventRecord(xcu_event event, xcu_stream stream);
xcu_result cuEventQuery(xcu_event event);
xcu_result cuEventSynchronize(xcu_event event);
xcu_result cuEventElapsedTime(float *ms, xcu_event start, xcu_event end);
xcu_result cuMemAlloc_v2(xcu_deviceptr *out, size_t bytes);
xcu_result cuMemAllocPitch_v2(xcu_deviceptr *out, size_t *pitch, size_t width, size_t height,
                              unsigned element);
xcu_result cuMemFree_v2(xcu_deviceptr address);
xcu_result cuMemGetInfo_v2(size_t *left, size_t *total);
xcu_result cuMemHostAlloc(void **out, size_t bytes, unsigned flags);
xcu_result cuMemAllocHost_v2(void **out, size_t bytes);
xcu_result cuMemFreeHost(void *address);
xcu_result cuMemHostGetFlags(unsigned *flags, void *address);
xcu_result cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags);
xcu_result cuMemHostUnregister(void *address);
xcu_result cuMemAllocManaged(xcu_deviceptr *out, size_t bytes, unsigned flags);
xcu_result cuMemPrefetchAsync(xcu_deviceptr address, size_t bytes, xcu_device device,
                              xcu_stream stream);
xcu_result cuMemAdvise(xcu_deviceptr address, size_t bytes, int advice, xcu_device device);
xcu_result cuMemRangeGetAttribute(void *data, size_t bytes, int attribute, xcu_deviceptr address,
                                  size_t count);
xcu_result cuMemAllocAsync(xcu_deviceptr *out, size_t bytes, xcu_stream stream);
xcu_result cuMemFreeAsync(xcu_deviceptr address, xcu_stream stream);
xcu_result cuDeviceGetDefaultMemPool(xcu_pool *out, xcu_device device);
xcu_result cuMemPoolGetAttribute(xcu_pool pool, int attribute, void *value);
xcu_result cuMemCreate(xcu_vmm_handle *out, size_t bytes, const struct xcu_alloc_prop *prop,
                       unsigned long long flags);
xcu_result cuMemRelease(xcu_vmm_handle handle);
xcu_result cuMemAddressReserve(xcu_deviceptr *out, size_t bytes, size_t alignment,
                               xcu_deviceptr wish, unsigned long long flags);
xcu_result cuMemAddressFree(xcu_deviceptr address, size_t bytes);
xcu_result cuMemMap(xcu_deviceptr address, size_t bytes, size_t offset, xcu_vmm_handle handle,
                    unsigned long long flags);
xcu_result cuMemUnmap(xcu_deviceptr address, size_t bytes);
xcu_result cuPointerGetAttribute(void *data, int attribute, xcu_deviceptr address);
xcu_result cuPointerGetAttributes(unsigned count, int *attributes, void **data,
                                  xcu_deviceptr address);
xcu_result cuMemcpy(xcu_deviceptr dst, xcu_deviceptr src, size_t bytes);
xcu_result cuMemcpyHtoD_v2(xcu_deviceptr dst, const void *src, size_t bytes);
xcu_result cuMemcpyDtoH_v2(void *dst, xcu_deviceptr src, size_t bytes);
xcu_result cuMemcpyDtoD_v2(xcu_deviceptr dst, xcu_deviceptr src, size_t bytes);
xcu_result cuMemcpyHtoDAsync_v2(xcu_deviceptr dst, const void *src, size_t bytes,
                                xcu_stream stream);
xcu_result cuMemcpyHtoDAsync_v2_ptsz(xcu_deviceptr dst, const void *src, size_t bytes,
                                     xcu_stream stream);
xcu_result cuMemcpyDtoHAsync_v2(void *dst, xcu_deviceptr src, size_t bytes, xcu_stream stream);
xcu_result cuMemcpyPeerAsync(xcu_deviceptr dst, xcu_context to, xcu_deviceptr src, xcu_context from,
                             size_t bytes, xcu_stream stream);
xcu_result cuMemcpy2D_v2(const struct xcu_memcpy2d *copy);
xcu_result cuMemcpy2DAsync_v2(const struct xcu_memcpy2d *copy, xcu_stream stream);
xcu_result cuMemcpy3D_v2(const struct xcu_memcpy3d *copy);
xcu_result cuMemcpyBatchAsync_v2(xcu_deviceptr *dsts, xcu_deviceptr *srcs, size_t *sizes,
                                 size_t count, struct xcu_copy_attributes *attributes,
                                 size_t *first, size_t kinds, xcu_stream stream);
xcu_result cuMemsetD8_v2(xcu_deviceptr dst, unsigned char value, size_t count);
xcu_result cuMemsetD32_v2(xcu_deviceptr dst, unsigned value, size_t count);
xcu_result cuMemsetD2D8_v2(xcu_deviceptr dst, size_t pitch, unsigned char value, size_t width,
                           size_t height);
xcu_result cuArray3DCreate_v2(xcu_array *out, const struct xcu_array_descriptor *desc);
xcu_result cuArrayDestroy(xcu_array array);
xcu_result cuMemcpyHtoA_v2(xcu_array dst, size_t offset, const void *src, size_t bytes);
xcu_result cuModuleLoadData(void **out, const void *image);
xcu_result cuModuleGetFunction(void **out, void *module, const char *name);
xcu_result cuModuleUnload(void *module);
xcu_result cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, xcu_stream stream,
                          void **params, void **extra);
xcu_result cuLaunchHostFunc(xcu_stream stream, void (*function)(void *), void *user);
xcu_result cuGraphInstantiateWithFlags(xcu_graph_exec *out, xcu_graph graph,
                                       unsigned long long flags);
xcu_result cuGraphLaunch(xcu_graph_exec exec, xcu_stream stream);
xcu_result cuGraphGetNodes(xcu_graph graph, xcu_graph_node *nodes, size_t *count);
xcu_result cuGraphNodeGetType(xcu_graph_node node, int *type);
xcu_result cuGraphMemcpyNodeGetParams(xcu_graph_node node, struct xcu_memcpy3d *what);
xcu_result cuGraphExecDestroy(xcu_graph_exec exec);
xcu_result cuGraphDestroy(xcu_graph graph);
xcu_result cuGetProcAddress(const char *name, void **out, int version, uint64_t flags);
xcu_result cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags,
                               int *status);
xcu_result cuGetErrorName(xcu_result number, const char **out);
xcu_result cuGetExportTable(const void **out, const struct xcu_uuid *id);

#define OK(call) assert_int_equal(call, XCU_SUCCESS)
#define IS(error, call) assert_int_equal(call, error)

static inline xcu_deviceptr device_memory(size_t bytes)
{
    xcu_deviceptr address = 0;

    OK(cuMemAlloc_v2(&address, bytes));
    return address;
}

static inline void *pinned_memory(size_t bytes)
{
    void *address = NULL;

    OK(cuMemHostAlloc(&address, bytes, 0));
    return address;
}

#endif
