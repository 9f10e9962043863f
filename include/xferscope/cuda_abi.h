/*
 * The part of CUDA's binary interface that this project wraps, calls or simulates, in our own
 * words: so that the recorder, the probe and the simulated GPU build without a CUDA toolkit, and
 * one binary works with CUDA 12 and 13.
 *
 * Names start with xcu_ (driver) and xrt_ (runtime) so that one file can include this header and
 * NVIDIA's: tests/contracts/abi_test.c compares every size, offset and number here with NVIDIA's
 * headers where a toolkit is installed. Handles are opaque pointers; enums are int.
 */
#ifndef XFERSCOPE_CUDA_ABI_H
#define XFERSCOPE_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int xcu_result; /* CUresult; 0 = success */
typedef int xrt_error;  /* cudaError_t; 0 = success */
typedef int xcu_device; /* CUdevice */
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
    XCU_ERROR_STUB_LIBRARY = 34,
    XCU_ERROR_NO_DEVICE = 100,
    XCU_ERROR_INVALID_DEVICE = 101,
    XCU_ERROR_INVALID_IMAGE = 200,
    XCU_ERROR_INVALID_CONTEXT = 201,
    XCU_ERROR_PEER_ACCESS_UNSUPPORTED = 217,
    XCU_ERROR_FILE_NOT_FOUND = 301,
    XCU_ERROR_OPERATING_SYSTEM = 304,
    XCU_ERROR_INVALID_HANDLE = 400,
    XCU_ERROR_NOT_FOUND = 500,
    XCU_ERROR_NOT_READY = 600,
    XCU_ERROR_ILLEGAL_ADDRESS = 700,
    XCU_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
    XCU_ERROR_PEER_ACCESS_NOT_ENABLED = 705,
    XCU_ERROR_PRIMARY_CONTEXT_ACTIVE = 708,
    XCU_ERROR_CONTEXT_IS_DESTROYED = 709,
    XCU_ERROR_TOO_MANY_PEERS = 711,
    XCU_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
    XCU_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
    XCU_ERROR_NOT_PERMITTED = 800,
    XCU_ERROR_NOT_SUPPORTED = 801,
    XCU_ERROR_CAPTURE_UNSUPPORTED = 900,
    XCU_ERROR_CAPTURE_INVALIDATED = 901,
    XCU_ERROR_CAPTURE_UNMATCHED = 903,
    XCU_ERROR_CAPTURE_UNJOINED = 904,
    XCU_ERROR_CAPTURE_ISOLATION = 905,
    XCU_ERROR_CAPTURE_IMPLICIT = 906,
    XCU_ERROR_CAPTURED_EVENT = 907,
    XCU_ERROR_CAPTURE_WRONG_THREAD = 908,
    XCU_ERROR_UNKNOWN = 999,
};

/* Numbers that only the runtime has; it also uses those above. */
enum xrt_errors {
    XRT_ERROR_INVALID_CONFIGURATION = 9,
    XRT_ERROR_INVALID_PITCH = 12,
    XRT_ERROR_INVALID_SYMBOL = 13,
    XRT_ERROR_INVALID_COPY_DIRECTION = 21,
    XRT_ERROR_INSUFFICIENT_DRIVER = 35,
    XRT_ERROR_INVALID_DEVICE_FUNCTION = 98,
};

/* The special handles of the default stream. */
#define XCU_STREAM_LEGACY ((xcu_stream)0x1)
#define XCU_STREAM_PER_THREAD ((xcu_stream)0x2)
enum { XCU_STREAM_NON_BLOCKING = 1 }; /* a flag of stream creation */

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
                             XCU_PTR_BUFFER_ID = 7,
                             XCU_PTR_IS_MANAGED = 8,
                             XCU_PTR_DEVICE_ORDINAL = 9,
                             XCU_PTR_LEGACY_IPC = 10, /* memory of cuMemAlloc */
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

#define XCU_CAPTURE_MODE_RELAXED 2 /* CU_STREAM_CAPTURE_MODE_RELAXED */

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

struct xcu_node_params { /* CUgraphNodeParams: a tagged union, of which the copy is read here */
    int type;            /* enum xcu_graph_node_type */
    int reserved0[3];
    union {
        long long reserved1[29];
        struct {
            int flags;
            int reserved;
            xcu_context context;
            struct xcu_memcpy3d copy;
        } memcpy;
        struct {
            xcu_graph graph;
        } child;
    } u;
    long long reserved2;
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

struct xcu_copy_attributes { /* CUmemcpyAttributes, cudaMemcpyAttributes */
    int access_order;
    struct xcu_location src_hint, dst_hint;
    unsigned int flags;
};

struct xrt_pointer_attributes { /* cudaPointerAttributes */
    int type;                   /* enum xrt_memory_type */
    int device;
    void *device_pointer;
    void *host_pointer;
    long reserved[8]; /* since CUDA 13: an older program's structure ends here */
};
enum xrt_memory_type {
    XRT_MEMORY_UNREGISTERED = 0,
    XRT_MEMORY_HOST = 1,
    XRT_MEMORY_DEVICE = 2,
    XRT_MEMORY_MANAGED = 3,
};

struct xcu_pool_props { /* CUmemPoolProps, cudaMemPoolProps */
    int type;
    int handle_types;
    struct xcu_location location;
    void *security;
    size_t max_bytes;
    unsigned short usage;
    unsigned char reserved[54];
};

struct xcu_alloc_prop { /* CUmemAllocationProp */
    int type;
    int handle_types;
    struct xcu_location location;
    void *security;
    unsigned char compression, rdma;
    unsigned short usage;
    unsigned char reserved[4];
};

struct xcu_access { /* CUmemAccessDesc, cudaMemAccessDesc */
    struct xcu_location location;
    int flags; /* 0 none, 1 read, 3 read and write */
};

enum xcu_graph_node_type {
    XCU_NODE_KERNEL = 0,
    XCU_NODE_MEMCPY = 1,
    XCU_NODE_MEMSET = 2,
    XCU_NODE_HOST = 3,
    XCU_NODE_GRAPH = 4,
    XCU_NODE_EMPTY = 5,
    XCU_NODE_WAIT_EVENT = 6,
    XCU_NODE_EVENT_RECORD = 7,
    XCU_NODE_MEM_ALLOC = 10,
    XCU_NODE_MEM_FREE = 11,
    XCU_NODE_CONDITIONAL = 13,
};

struct xcu_memset_node { /* CUDA_MEMSET_NODE_PARAMS, cudaMemsetParams */
    xcu_deviceptr dst;
    size_t pitch;
    unsigned int value, element_bytes;
    size_t width, height; /* width in elements */
};

struct xcu_kernel_node { /* CUDA_KERNEL_NODE_PARAMS_v2 (v1 ends before kernel) */
    void *function;
    unsigned int grid[3], block[3];
    unsigned int shared_bytes;
    void **params;
    void **extra;
    void *kernel;
    xcu_context context;
};

struct xcu_alloc_node { /* CUDA_MEM_ALLOC_NODE_PARAMS, cudaMemAllocNodeParams */
    struct xcu_pool_props pool;
    const struct xcu_access *access;
    size_t access_count;
    size_t bytes;
    xcu_deviceptr address; /* out */
};

struct xcu_host_node { /* CUDA_HOST_NODE_PARAMS, cudaHostNodeParams */
    void (*function)(void *user);
    void *user;
};

struct xcu_launch_config { /* CUlaunchConfig */
    unsigned int grid[3], block[3];
    unsigned int shared_bytes;
    xcu_stream stream;
    void *attributes;
    unsigned int attribute_count;
};

struct xcu_launch { /* CUDA_LAUNCH_PARAMS */
    void *function;
    unsigned int grid[3], block[3];
    unsigned int shared_bytes;
    xcu_stream stream;
    void **values;
};

struct xrt_launch_config { /* cudaLaunchConfig_t */
    unsigned int grid[3], block[3];
    size_t shared_bytes;
    xcu_stream stream;
    void *attributes;
    unsigned int attribute_count;
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
