/*
 * The calls of the CUDA runtime that the C programs here make, declared by ourselves so that they
 * build without a toolkit. Types: include/xferscope/cuda_abi.h.
 */
#ifndef XFERSCOPE_PROGRAMS_RUNTIME_API_H
#define XFERSCOPE_PROGRAMS_RUNTIME_API_H

#include <stddef.h>

#include "xferscope/cuda_abi.h"

xrt_error cudaSetDevice(int device);
xrt_error cudaDeviceSynchronize(void);
xrt_error cudaDeviceReset(void);
xrt_error cudaMalloc(void **pointer, size_t bytes);
xrt_error cudaFree(void *pointer);
xrt_error cudaMallocHost(void **pointer, size_t bytes);
xrt_error cudaFreeHost(void *pointer);
xrt_error cudaHostRegister(void *pointer, size_t bytes, unsigned int flags);
xrt_error cudaHostUnregister(void *pointer);
xrt_error cudaMemcpy(void *dst, const void *src, size_t bytes, int kind);
xrt_error cudaMemcpyAsync(void *dst, const void *src, size_t bytes, int kind, xcu_stream stream);
xrt_error cudaMemcpy2D(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
                       size_t height, int kind);
xrt_error cudaStreamCreate(xcu_stream *stream);
xrt_error cudaStreamSynchronize(xcu_stream stream);
xrt_error cudaStreamDestroy(xcu_stream stream);
xrt_error cudaEventCreate(xcu_event *event);
xrt_error cudaEventRecord(xcu_event event, xcu_stream stream);
xrt_error cudaEventSynchronize(xcu_event event);
xrt_error cudaEventDestroy(xcu_event event);
xrt_error cudaGetLastError(void);
xrt_error cudaPeekAtLastError(void);
const char *cudaGetErrorName(xrt_error error);

#endif
