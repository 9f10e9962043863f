/*
 * Copies of rows and layers, to and from arrays; graph nodes that copy and set.
 */
#include <string.h>

#include "tools/simgpu/runtime/rt.h"

/* Which memory a kind of copy expects on its two sides. */
static xrt_error sides(int kind, int *src, int *dst)
{
    static const int types[][2] = {
        [XRT_COPY_H2H] = {XCU_MEMORY_HOST, XCU_MEMORY_HOST},
        [XRT_COPY_H2D] = {XCU_MEMORY_HOST, XCU_MEMORY_DEVICE},
        [XRT_COPY_D2H] = {XCU_MEMORY_DEVICE, XCU_MEMORY_HOST},
        [XRT_COPY_D2D] = {XCU_MEMORY_DEVICE, XCU_MEMORY_DEVICE},
        [XRT_COPY_DEFAULT] = {XCU_MEMORY_UNIFIED, XCU_MEMORY_UNIFIED},
    };

    if (kind < XRT_COPY_H2H || kind > XRT_COPY_DEFAULT)
        return XRT_ERROR_INVALID_COPY_DIRECTION;
    *src = types[kind][0];
    *dst = types[kind][1];
    return XCU_SUCCESS;
}

static void set_src(struct xcu_memcpy2d *c, const void *src, size_t pitch)
{
    c->src_host = src;
    c->src_device = (xcu_deviceptr)src;
    c->src_pitch = pitch;
}

static void set_dst(struct xcu_memcpy2d *c, void *dst, size_t pitch)
{
    c->dst_host = dst;
    c->dst_device = (xcu_deviceptr)dst;
    c->dst_pitch = pitch;
}

static void src_array(struct xcu_memcpy2d *c, xcu_array array, size_t x, size_t y)
{
    c->src_type = XCU_MEMORY_ARRAY;
    c->src_array = array;
    c->src_x = x;
    c->src_y = y;
}

static void dst_array(struct xcu_memcpy2d *c, xcu_array array, size_t x, size_t y)
{
    c->dst_type = XCU_MEMORY_ARRAY;
    c->dst_array = array;
    c->dst_x = x;
    c->dst_y = y;
}

/* stream: NULL pointer for a synchronous copy. */
static xrt_error submit(const struct xcu_memcpy2d *c, const xcu_stream *stream)
{
    if (!c->width || !c->height)
        return XCU_SUCCESS;
    return stream ? rt_driver()->cuMemcpy2DAsync(c, *stream) : rt_driver()->cuMemcpy2DUnaligned(c);
}

static xrt_error flat(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
                      size_t height, int kind, const xcu_stream *stream)
{
    struct xcu_memcpy2d c = {.width = width, .height = height};
    xrt_error error = sides(kind, &c.src_type, &c.dst_type);

    if (error)
        return error;
    if (width > dst_pitch || width > src_pitch)
        return XRT_ERROR_INVALID_PITCH;
    set_src(&c, src, src_pitch);
    set_dst(&c, dst, dst_pitch);
    return submit(&c, stream);
}

RT_API_PT(cudaMemcpy2D, cudaMemcpy2D_ptds,
          (void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
           size_t height, int kind),
          (dst, dst_pitch, src, src_pitch, width, height, kind))
{
    return flat(dst, dst_pitch, src, src_pitch, width, height, kind, NULL);
}

RT_API_PT(cudaMemcpy2DAsync, cudaMemcpy2DAsync_ptsz,
          (void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
           size_t height, int kind, xcu_stream stream),
          (dst, dst_pitch, src, src_pitch, width, height, kind, stream))
{
    return flat(dst, dst_pitch, src, src_pitch, width, height, kind, &stream);
}

static xrt_error to_array(xcu_array dst, size_t x, size_t y, const void *src, size_t pitch,
                          size_t width, size_t height, int kind, const xcu_stream *stream)
{
    struct xcu_memcpy2d c = {.width = width, .height = height};
    xrt_error error = sides(kind, &c.src_type, &c.dst_type);

    if (error)
        return error;
    if (kind == XRT_COPY_D2H || kind == XRT_COPY_H2H)
        return XRT_ERROR_INVALID_COPY_DIRECTION;
    if (width > pitch)
        return XRT_ERROR_INVALID_PITCH;
    set_src(&c, src, pitch);
    dst_array(&c, dst, x, y);
    return submit(&c, stream);
}

static xrt_error from_array(void *dst, size_t pitch, xcu_array src, size_t x, size_t y,
                            size_t width, size_t height, int kind, const xcu_stream *stream)
{
    struct xcu_memcpy2d c = {.width = width, .height = height};
    xrt_error error = sides(kind, &c.src_type, &c.dst_type);

    if (error)
        return error;
    if (kind == XRT_COPY_H2D || kind == XRT_COPY_H2H)
        return XRT_ERROR_INVALID_COPY_DIRECTION;
    if (width > pitch)
        return XRT_ERROR_INVALID_PITCH;
    set_dst(&c, dst, pitch);
    src_array(&c, src, x, y);
    return submit(&c, stream);
}

RT_API_PT(cudaMemcpy2DToArray, cudaMemcpy2DToArray_ptds,
          (xcu_array dst, size_t x, size_t y, const void *src, size_t pitch, size_t width,
           size_t height, int kind),
          (dst, x, y, src, pitch, width, height, kind))
{
    return to_array(dst, x, y, src, pitch, width, height, kind, NULL);
}

RT_API_PT(cudaMemcpy2DToArrayAsync, cudaMemcpy2DToArrayAsync_ptsz,
          (xcu_array dst, size_t x, size_t y, const void *src, size_t pitch, size_t width,
           size_t height, int kind, xcu_stream stream),
          (dst, x, y, src, pitch, width, height, kind, stream))
{
    return to_array(dst, x, y, src, pitch, width, height, kind, &stream);
}

RT_API_PT(cudaMemcpy2DFromArray, cudaMemcpy2DFromArray_ptds,
          (void *dst, size_t pitch, xcu_array src, size_t x, size_t y, size_t width, size_t height,
           int kind),
          (dst, pitch, src, x, y, width, height, kind))
{
    return from_array(dst, pitch, src, x, y, width, height, kind, NULL);
}

RT_API_PT(cudaMemcpy2DFromArrayAsync, cudaMemcpy2DFromArrayAsync_ptsz,
          (void *dst, size_t pitch, xcu_array src, size_t x, size_t y, size_t width, size_t height,
           int kind, xcu_stream stream),
          (dst, pitch, src, x, y, width, height, kind, stream))
{
    return from_array(dst, pitch, src, x, y, width, height, kind, &stream);
}

RT_API_PT(cudaMemcpy2DArrayToArray, cudaMemcpy2DArrayToArray_ptds,
          (xcu_array dst, size_t dst_x, size_t dst_y, xcu_array src, size_t src_x, size_t src_y,
           size_t width, size_t height, int kind),
          (dst, dst_x, dst_y, src, src_x, src_y, width, height, kind))
{
    struct xcu_memcpy2d c = {.width = width, .height = height};

    src_array(&c, src, src_x, src_y);
    dst_array(&c, dst, dst_x, dst_y);
    return submit(&c, NULL);
}

/* The older linear forms fill the array row by row: one row at a time here. */
static xrt_error array_rows(xcu_array array, size_t x, size_t y, uint8_t *host, size_t bytes,
                            int kind, bool into, const xcu_stream *stream)
{
    struct xcu_array_descriptor desc;
    xrt_error error = rt_driver()->cuArray3DGetDescriptor(&desc, array);
    size_t row, part;

    if (error)
        return error;
    row = desc.width * xcu_format_bytes(desc.format) * desc.channels;
    if (x >= row)
        return XCU_ERROR_INVALID_VALUE;
    for (; bytes && !error; host += part, bytes -= part, x = 0, y++) {
        part = row - x < bytes ? row - x : bytes;
        error = into ? to_array(array, x, y, host, part, part, 1, kind, stream)
                     : from_array(host, part, array, x, y, part, 1, kind, stream);
    }
    return error;
}

RT_API_PT(cudaMemcpyToArray, cudaMemcpyToArray_ptds,
          (xcu_array dst, size_t x, size_t y, const void *src, size_t bytes, int kind),
          (dst, x, y, src, bytes, kind))
{
    return array_rows(dst, x, y, (uint8_t *)src, bytes, kind, true, NULL);
}

RT_API_PT(cudaMemcpyToArrayAsync, cudaMemcpyToArrayAsync_ptsz,
          (xcu_array dst, size_t x, size_t y, const void *src, size_t bytes, int kind,
           xcu_stream stream),
          (dst, x, y, src, bytes, kind, stream))
{
    return array_rows(dst, x, y, (uint8_t *)src, bytes, kind, true, &stream);
}

RT_API_PT(cudaMemcpyFromArray, cudaMemcpyFromArray_ptds,
          (void *dst, xcu_array src, size_t x, size_t y, size_t bytes, int kind),
          (dst, src, x, y, bytes, kind))
{
    return array_rows(src, x, y, dst, bytes, kind, false, NULL);
}

RT_API_PT(cudaMemcpyFromArrayAsync, cudaMemcpyFromArrayAsync_ptsz,
          (void *dst, xcu_array src, size_t x, size_t y, size_t bytes, int kind, xcu_stream stream),
          (dst, src, x, y, bytes, kind, stream))
{
    return array_rows(src, x, y, dst, bytes, kind, false, &stream);
}

RT_API_PT(cudaMemcpyArrayToArray, cudaMemcpyArrayToArray_ptds,
          (xcu_array dst, size_t dst_x, size_t dst_y, xcu_array src, size_t src_x, size_t src_y,
           size_t bytes, int kind),
          (dst, dst_x, dst_y, src, src_x, src_y, bytes, kind))
{
    struct xcu_memcpy2d c = {.width = bytes, .height = 1};

    src_array(&c, src, src_x, src_y);
    dst_array(&c, dst, dst_x, dst_y);
    return submit(&c, NULL);
}

/* ---- 3D ----------------------------------------------------------------------------------- */

static size_t element_of(xcu_array array)
{
    struct xcu_array_descriptor desc;

    if (!array || rt_driver()->cuArray3DGetDescriptor(&desc, array))
        return 1;
    return (size_t)xcu_format_bytes(desc.format) * desc.channels;
}

/* Positions and the extent's width count elements where an array takes part. */
static void set_source(struct xcu_memcpy3d *c, xcu_array array, const struct xrt_pitched_ptr *ptr,
                       const struct xcu_offset *at, int type)
{
    c->src_type = array ? XCU_MEMORY_ARRAY : type;
    c->src_array = array;
    c->src_host = ptr->ptr;
    c->src_device = (xcu_deviceptr)ptr->ptr;
    c->src_pitch = ptr->pitch;
    c->src_height = ptr->ysize;
    c->src_x = at->x * element_of(array);
    c->src_y = at->y;
    c->src_z = at->z;
}

static void set_destination(struct xcu_memcpy3d *c, xcu_array array,
                            const struct xrt_pitched_ptr *ptr, const struct xcu_offset *at,
                            int type)
{
    c->dst_type = array ? XCU_MEMORY_ARRAY : type;
    c->dst_array = array;
    c->dst_host = ptr->ptr;
    c->dst_device = (xcu_deviceptr)ptr->ptr;
    c->dst_pitch = ptr->pitch;
    c->dst_height = ptr->ysize;
    c->dst_x = at->x * element_of(array);
    c->dst_y = at->y;
    c->dst_z = at->z;
}

static void set_extent(struct xcu_memcpy3d *c, const struct xcu_extent *extent)
{
    size_t a = element_of(c->src_array), b = element_of(c->dst_array);

    c->width = extent->width * (a > b ? a : b);
    c->height = extent->height;
    c->depth = extent->depth;
}

static xrt_error describe(const struct xrt_memcpy3d *p, struct xcu_memcpy3d *c)
{
    int src, dst;
    xrt_error error = p ? sides(p->kind, &src, &dst) : XCU_ERROR_INVALID_VALUE;

    if (error)
        return error;
    memset(c, 0, sizeof(*c));
    set_source(c, p->src_array, &p->src_ptr, &p->src_pos, src);
    set_destination(c, p->dst_array, &p->dst_ptr, &p->dst_pos, dst);
    set_extent(c, &p->extent);
    return XCU_SUCCESS;
}

RT_API_PT(cudaMemcpy3D, cudaMemcpy3D_ptds, (const struct xrt_memcpy3d *params), (params))
{
    struct xcu_memcpy3d c;
    xrt_error error = describe(params, &c);

    return error ? error : rt_driver()->cuMemcpy3D(&c);
}

RT_API_PT(cudaMemcpy3DAsync, cudaMemcpy3DAsync_ptsz,
          (const struct xrt_memcpy3d *params, xcu_stream stream), (params, stream))
{
    struct xcu_memcpy3d c;
    xrt_error error = describe(params, &c);

    return error ? error : rt_driver()->cuMemcpy3DAsync(&c, stream);
}

static xrt_error describe_peer(const struct xrt_memcpy3d_peer *p, struct xcu_memcpy3d *c)
{
    xrt_error error;

    if (!p)
        return XCU_ERROR_INVALID_VALUE;
    memset(c, 0, sizeof(*c));
    set_source(c, p->src_array, &p->src_ptr, &p->src_pos, XCU_MEMORY_DEVICE);
    set_destination(c, p->dst_array, &p->dst_ptr, &p->dst_pos, XCU_MEMORY_DEVICE);
    set_extent(c, &p->extent);
    error = rt_primary(p->src_device, &c->src_context);
    return error ? error : rt_primary(p->dst_device, &c->dst_context);
}

RT_API_PT(cudaMemcpy3DPeer, cudaMemcpy3DPeer_ptds, (const struct xrt_memcpy3d_peer *params),
          (params))
{
    struct xcu_memcpy3d c;
    xrt_error error = describe_peer(params, &c);

    return error ? error : rt_driver()->cuMemcpy3DPeer(&c);
}

RT_API_PT(cudaMemcpy3DPeerAsync, cudaMemcpy3DPeerAsync_ptsz,
          (const struct xrt_memcpy3d_peer *params, xcu_stream stream), (params, stream))
{
    struct xcu_memcpy3d c;
    xrt_error error = describe_peer(params, &c);

    return error ? error : rt_driver()->cuMemcpy3DPeerAsync(&c, stream);
}

/* ---- graph nodes ----------------------------------------------------------------------- */

RT_API(cudaGraphAddMemcpyNode, RT_CONTEXT,
       (xcu_graph_node * out, xcu_graph graph, const xcu_graph_node *deps, size_t count,
        const struct xrt_memcpy3d *params),
       (out, graph, deps, count, params))
{
    struct xcu_memcpy3d c;
    xcu_context context = NULL;
    xrt_error error = describe(params, &c);

    if (!error)
        error = rt_driver()->cuCtxGetCurrent(&context);
    return error ? error : rt_driver()->cuGraphAddMemcpyNode(out, graph, deps, count, &c, context);
}

RT_API(cudaGraphAddMemcpyNode1D, RT_CONTEXT,
       (xcu_graph_node * out, xcu_graph graph, const xcu_graph_node *deps, size_t count, void *dst,
        const void *src, size_t bytes, int kind),
       (out, graph, deps, count, dst, src, bytes, kind))
{
    struct xrt_memcpy3d p = {.src_ptr = {(void *)src, bytes, bytes, 1},
                             .dst_ptr = {dst, bytes, bytes, 1},
                             .extent = {bytes, 1, 1},
                             .kind = kind};
    struct xcu_memcpy3d c;
    xcu_context context = NULL;
    xrt_error error = describe(&p, &c);

    if (!error)
        error = rt_driver()->cuCtxGetCurrent(&context);
    return error ? error : rt_driver()->cuGraphAddMemcpyNode(out, graph, deps, count, &c, context);
}

RT_API(cudaGraphAddMemsetNode, RT_CONTEXT,
       (xcu_graph_node * out, xcu_graph graph, const xcu_graph_node *deps, size_t count,
        const struct xcu_memset_node *params),
       (out, graph, deps, count, params))
{
    xcu_context context = NULL;
    xrt_error error = rt_driver()->cuCtxGetCurrent(&context);

    return error ? error
                 : rt_driver()->cuGraphAddMemsetNode(out, graph, deps, count, params, context);
}
