/*
 * The part of CUDA's binary interface that this project wraps, calls or simulates, in our own
 * words: so that the recorder, the probe and the simulated GPU build without a CUDA toolkit and
 * one binary serves CUDA 12 and 13.
 *
 * Names start with xcu_ (driver) and xrt_ (runtime) so that this header and NVIDIA's can meet in
 * one file: tests/abi_test.c holds every size, offset and number here against the real headers
 * where a toolkit is installed. Handles are opaque pointers; enums are int.
 */
#ifndef XFERSCOPE_CUDA_ABI_H
#define XFERSCOPE_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int xcu_result;  /* CUresult; 0 = success */
typedef int xrt_error;   /* cudaError_t; 0 = success */
typedef int xcu_device;  /* CUdevice */
typedef uint64_t xcu_deviceptr;
typedef void *xcu_context;
typedef void *xcu_stream;
typedef void *xcu_event;
typedef void *xcu_array;
typedef void *xcu_mipmap;
typedef void *xcu_pool;
typedef void *xcu_graph;
typedef void *xcu_graph_node;
typedef void *xcu_graph_exec;
typedef uint64_t xcu_vmm_handle; /* CUmemGenericAllocationHandle */

enum xcu_errors {
    XCU_SUCCESS = 0,
    XCU_ERROR_INVALID_VALUE = 1,
    XCU_ERROR_OUT_OF_MEMORY = 2,
    XCU_ERROR_NOT_INITIALIZED = 3,
    XCU_ERROR_DEINITIALIZED = 4,
    XCU_ERROR_NO_DEVICE = 100,
    XCU_ERROR_INVALID_DEVICE = 101,
    XCU_ERROR_INVALID_CONTEXT = 201,
    XCU_ERROR_NOT_FOUND = 500,
    XCU_ERROR_NOT_READY = 600,
    XCU_ERROR_PEER_ACCESS_UNSUPPORTED = 217,
    XCU_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
    XCU_ERROR_PEER_ACCESS_NOT_ENABLED = 705,
    XCU_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
    XCU_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
    XCU_ERROR_NOT_PERMITTED = 800,
    XCU_ERROR_NOT_SUPPORTED = 801,
};

/* The two spellings of the default stream. */
#define XCU_STREAM_LEGACY ((xcu_stream)0x1)
#define XCU_STREAM_PER_THREAD ((xcu_stream)0x2)

enum xcu_memorytype { /* CUmemorytype */
    XCU_MEMORY_HOST = 1,
    XCU_MEMORY_DEVICE = 2,
    XCU_MEMORY_ARRAY = 3,
    XCU_MEMORY_UNIFIED = 4,
};

enum xrt_copy_kind { /* cudaMemcpyKind */
    XRT_COPY_H2H = 0,
    XRT_COPY_H2D = 1,
    XRT_COPY_D2H = 2,
    XRT_COPY_D2D = 3,
    XRT_COPY_DEFAULT = 4,
};

enum xcu_host_alloc_flags { /* CU_MEMHOSTALLOC_*, also cudaHostAlloc* */
    XCU_HOST_PORTABLE = 1,
    XCU_HOST_DEVICEMAP = 2,
    XCU_HOST_WRITECOMBINED = 4,
};

enum xcu_pointer_attribute { /* CUpointer_attribute */
    XCU_PTR_CONTEXT = 1,
    XCU_PTR_MEMORY_TYPE = 2,
    XCU_PTR_DEVICE_POINTER = 3,
    XCU_PTR_HOST_POINTER = 4,
    XCU_PTR_IS_MANAGED = 8,
    XCU_PTR_DEVICE_ORDINAL = 9,
    XCU_PTR_RANGE_START = 11,
    XCU_PTR_RANGE_SIZE = 12,
};

enum xcu_entry_point_flags { /* CUdriverProcAddress_flags */
    XCU_ENTRY_DEFAULT = 0,
    XCU_ENTRY_LEGACY_STREAM = 1,
    XCU_ENTRY_PER_THREAD_STREAM = 2,
};

enum xcu_capture_status {
    XCU_CAPTURE_NONE = 0,
    XCU_CAPTURE_ACTIVE = 1,
    XCU_CAPTURE_INVALIDATED = 2,
};

struct xcu_location { /* CUmemLocation, cudaMemLocation */
    int type;         /* 0 invalid, 1 device, 2 host, 3 host NUMA node, 4 host NUMA current */
    int id;
};
enum xcu_location_type {
    XCU_LOCATION_DEVICE = 1,
    XCU_LOCATION_HOST = 2,
    XCU_LOCATION_HOST_NUMA = 3,
    XCU_LOCATION_HOST_NUMA_CURRENT = 4,
};

struct xcu_uuid {
    unsigned char bytes[16];
};

struct xcu_memcpy2d { /* CUDA_MEMCPY2D_v2 */
    size_t src_x, src_y;
    int src_type; /* enum xcu_memorytype */
    const void *src_host;
    xcu_deviceptr src_device;
    xcu_array src_array;
    size_t src_pitch;
    size_t dst_x, dst_y;
    int dst_type;
    void *dst_host;
    xcu_deviceptr dst_device;
    xcu_array dst_array;
    size_t dst_pitch;
    size_t width, height; /* width in bytes */
};

/* CUDA_MEMCPY3D_v2 and CUDA_MEMCPY3D_PEER: the latter names contexts where the former reserves. */
struct xcu_memcpy3d {
    size_t src_x, src_y, src_z, src_lod;
    int src_type;
    const void *src_host;
    xcu_deviceptr src_device;
    xcu_array src_array;
    xcu_context src_context;
    size_t src_pitch, src_height;
    size_t dst_x, dst_y, dst_z, dst_lod;
    int dst_type;
    void *dst_host;
    xcu_deviceptr dst_device;
    xcu_array dst_array;
    xcu_context dst_context;
    size_t dst_pitch, dst_height;
    size_t width, height, depth;
};

struct xcu_extent { /* cudaExtent, CUextent3D */
    size_t width, height, depth;
};
struct xcu_offset { /* cudaPos, CUoffset3D */
    size_t x, y, z;
};
struct xrt_pitched_ptr { /* cudaPitchedPtr */
    void *ptr;
    size_t pitch, xsize, ysize;
};

struct xrt_memcpy3d { /* cudaMemcpy3DParms */
    xcu_array src_array;
    struct xcu_offset src_pos;
    struct xrt_pitched_ptr src_ptr;
    xcu_array dst_array;
    struct xcu_offset dst_pos;
    struct xrt_pitched_ptr dst_ptr;
    struct xcu_extent extent; /* width: elements when an array takes part, else bytes */
    int kind;
};

struct xrt_memcpy3d_peer { /* cudaMemcpy3DPeerParms */
    xcu_array src_array;
    struct xcu_offset src_pos;
    struct xrt_pitched_ptr src_ptr;
    int src_device;
    xcu_array dst_array;
    struct xcu_offset dst_pos;
    struct xrt_pitched_ptr dst_ptr;
    int dst_device;
    struct xcu_extent extent;
};

enum xcu_operand_type {
    XCU_OPERAND_POINTER = 1,
    XCU_OPERAND_ARRAY = 2,
};
struct xcu_operand { /* CUmemcpy3DOperand, cudaMemcpy3DOperand */
    int type;
    union {
        struct {
            xcu_deviceptr ptr;
            size_t row_length, layer_height; /* elements */
            struct xcu_location hint;
        } ptr;
        struct {
            xcu_array array;
            struct xcu_offset offset;
        } array;
    } op;
};
struct xcu_memcpy3d_op { /* CUDA_MEMCPY3D_BATCH_OP, cudaMemcpy3DBatchOp */
    struct xcu_operand src, dst;
    struct xcu_extent extent;
    int access_order;
    unsigned int flags;
};

struct xcu_array_descriptor { /* CUDA_ARRAY3D_DESCRIPTOR_v2 */
    size_t width, height, depth;
    int format; /* CUarray_format */
    unsigned int channels;
    unsigned int flags;
};

struct xcu_array2d_descriptor { /* CUDA_ARRAY_DESCRIPTOR_v2 */
    size_t width, height;
    int format;
    unsigned int channels;
};

struct xrt_channel { /* cudaChannelFormatDesc: bits per component */
    int x, y, z, w;
    int kind;
};

/* Bytes of one component of a CUarray_format, 0 for formats without a plain size (planar and
 * block-compressed ones). */
static inline unsigned xcu_format_bytes(int format)
{
    switch (format) {
    case 0x01: /* unsigned and signed 8-bit */
    case 0x08:
        return 1;
    case 0x02: /* 16-bit, half */
    case 0x09:
    case 0x10:
        return 2;
    case 0x03: /* 32-bit, float */
    case 0x0a:
    case 0x20:
        return 4;
    default:
        return 0;
    }
}

#endif
