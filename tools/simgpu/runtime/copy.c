/*
 * Copies and memsets.
 */
#include <string.h>

#include "tools/simgpu/runtime/rt.h"

#define AT(pointer) ((xcu_deviceptr)(pointer))

static bool good_kind(int kind)
{
    return kind >= XRT_COPY_H2H && kind <= XRT_COPY_DEFAULT;
}

static xrt_error linear(void *dst, const void *src, size_t bytes, int kind)
{
    if (!good_kind(kind))
        return XRT_ERROR_INVALID_COPY_DIRECTION;
    if (!bytes)
        return XCU_SUCCESS;
    switch (kind) {
    case XRT_COPY_H2D:
        return rt_driver()->cuMemcpyHtoD(AT(dst), src, bytes);
    case XRT_COPY_D2H:
        return rt_driver()->cuMemcpyDtoH(dst, AT(src), bytes);
    case XRT_COPY_D2D:
        return rt_driver()->cuMemcpyDtoD(AT(dst), AT(src), bytes);
    }
    return rt_driver()->cuMemcpy(AT(dst), AT(src), bytes);
}

static xrt_error linear_async(void *dst, const void *src, size_t bytes, int kind, xcu_stream stream)
{
    if (!good_kind(kind))
        return XRT_ERROR_INVALID_COPY_DIRECTION;
    if (!bytes)
        return XCU_SUCCESS;
    switch (kind) {
    case XRT_COPY_H2D:
        return rt_driver()->cuMemcpyHtoDAsync(AT(dst), src, bytes, stream);
    case XRT_COPY_D2H:
        return rt_driver()->cuMemcpyDtoHAsync(dst, AT(src), bytes, stream);
    case XRT_COPY_D2D:
        return rt_driver()->cuMemcpyDtoDAsync(AT(dst), AT(src), bytes, stream);
    }
    return rt_driver()->cuMemcpyAsync(AT(dst), AT(src), bytes, stream);
}

RT_API_PT(cudaMemcpy, cudaMemcpy_ptds, (void *dst, const void *src, size_t bytes, int kind),
          (dst, src, bytes, kind))
{
    return linear(dst, src, bytes, kind);
}

RT_API_PT(cudaMemcpyAsync, cudaMemcpyAsync_ptsz,
          (void *dst, const void *src, size_t bytes, int kind, xcu_stream stream),
          (dst, src, bytes, kind, stream))
{
    return linear_async(dst, src, bytes, kind, stream);
}

/* ---- symbols ------------------------------------------------------------------------------ */

static xrt_error in_symbol(const void *symbol, size_t offset, size_t bytes, xcu_deviceptr *out)
{
    size_t size;
    xrt_error error = rt_symbol(symbol, out, &size);

    if (error)
        return error;
    if (offset > size || bytes > size - offset)
        return XCU_ERROR_INVALID_VALUE;
    *out += offset;
    return XCU_SUCCESS;
}

RT_API_PT(cudaMemcpyToSymbol, cudaMemcpyToSymbol_ptds,
          (const void *symbol, const void *src, size_t bytes, size_t offset, int kind),
          (symbol, src, bytes, offset, kind))
{
    xcu_deviceptr dst;
    xrt_error error = in_symbol(symbol, offset, bytes, &dst);

    if (!error && kind == XRT_COPY_D2H)
        error = XRT_ERROR_INVALID_COPY_DIRECTION;
    return error ? error : linear((void *)dst, src, bytes, kind);
}

RT_API_PT(cudaMemcpyFromSymbol, cudaMemcpyFromSymbol_ptds,
          (void *dst, const void *symbol, size_t bytes, size_t offset, int kind),
          (dst, symbol, bytes, offset, kind))
{
    xcu_deviceptr src;
    xrt_error error = in_symbol(symbol, offset, bytes, &src);

    if (!error && kind == XRT_COPY_H2D)
        error = XRT_ERROR_INVALID_COPY_DIRECTION;
    return error ? error : linear(dst, (void *)src, bytes, kind);
}

RT_API_PT(cudaMemcpyToSymbolAsync, cudaMemcpyToSymbolAsync_ptsz,
          (const void *symbol, const void *src, size_t bytes, size_t offset, int kind,
           xcu_stream stream),
          (symbol, src, bytes, offset, kind, stream))
{
    xcu_deviceptr dst;
    xrt_error error = in_symbol(symbol, offset, bytes, &dst);

    return error ? error : linear_async((void *)dst, src, bytes, kind, stream);
}

RT_API_PT(cudaMemcpyFromSymbolAsync, cudaMemcpyFromSymbolAsync_ptsz,
          (void *dst, const void *symbol, size_t bytes, size_t offset, int kind, xcu_stream stream),
          (dst, symbol, bytes, offset, kind, stream))
{
    xcu_deviceptr src;
    xrt_error error = in_symbol(symbol, offset, bytes, &src);

    return error ? error : linear_async(dst, (void *)src, bytes, kind, stream);
}

RT_API(cudaGetSymbolAddress, RT_CONTEXT, (void **out, const void *symbol), (out, symbol))
{
    size_t bytes;

    return out ? rt_symbol(symbol, (xcu_deviceptr *)out, &bytes) : XCU_ERROR_INVALID_VALUE;
}

RT_API(cudaGetSymbolSize, RT_CONTEXT, (size_t * bytes, const void *symbol), (bytes, symbol))
{
    xcu_deviceptr address;

    return bytes ? rt_symbol(symbol, &address, bytes) : XCU_ERROR_INVALID_VALUE;
}

/* ---- peers -------------------------------------------------------------------------------- */

static xrt_error contexts(int to, int from, xcu_context *a, xcu_context *b)
{
    xrt_error error = rt_primary(to, a);

    return error ? error : rt_primary(from, b);
}

RT_API(cudaMemcpyPeer, RT_CONTEXT, (void *dst, int to, const void *src, int from, size_t bytes),
       (dst, to, src, from, bytes))
{
    xcu_context a, b;
    xrt_error error = contexts(to, from, &a, &b);

    return error ? error : rt_driver()->cuMemcpyPeer(AT(dst), a, AT(src), b, bytes);
}

RT_API(cudaMemcpyPeerAsync, RT_CONTEXT,
       (void *dst, int to, const void *src, int from, size_t bytes, xcu_stream stream),
       (dst, to, src, from, bytes, stream))
{
    xcu_context a, b;
    xrt_error error = contexts(to, from, &a, &b);

    return error ? error : rt_driver()->cuMemcpyPeerAsync(AT(dst), a, AT(src), b, bytes, stream);
}

/* ---- memsets ------------------------------------------------------------------------------ */

RT_API_PT(cudaMemset, cudaMemset_ptds, (void *dst, int value, size_t bytes), (dst, value, bytes))
{
    return bytes ? rt_driver()->cuMemsetD8(AT(dst), (unsigned char)value, bytes) : XCU_SUCCESS;
}

RT_API_PT(cudaMemsetAsync, cudaMemsetAsync_ptsz,
          (void *dst, int value, size_t bytes, xcu_stream stream), (dst, value, bytes, stream))
{
    return bytes ? rt_driver()->cuMemsetD8Async(AT(dst), (unsigned char)value, bytes, stream)
                 : XCU_SUCCESS;
}
