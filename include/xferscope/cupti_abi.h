/*
 * The part of CUPTI's binary interface that device timing uses, in our own words: so that the
 * recorder builds without a toolkit, and one binary works with CUDA 12 and 13. Names start with
 * xcp_.
 *
 * Records get more fields from version to version, and the existing fields never change: the
 * structures here are the common beginning. tests/contracts/abi_cupti.def compares sizes, offsets
 * and numbers with NVIDIA's headers where they are installed.
 */
#ifndef XFERSCOPE_CUPTI_ABI_H
#define XFERSCOPE_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int xcp_result; /* CUptiResult; 0 = success */
typedef void *xcp_subscriber;

enum xcp_results {
    XCP_SUCCESS = 0,
    XCP_ERROR_INVALID_PARAMETER = 1,
    XCP_ERROR_MAX_LIMIT_REACHED = 12, /* no further record */
    XCP_ERROR_NOT_COMPATIBLE = 14,
    XCP_ERROR_NOT_SUPPORTED = 27,
    XCP_ERROR_MULTIPLE_SUBSCRIBERS = 39,
};

enum xcp_activity_kind {
    XCP_ACTIVITY_MEMCPY = 1,
    XCP_ACTIVITY_MEMSET = 2,
    XCP_ACTIVITY_KERNEL = 10,  /* kernels, without serialising them */
    XCP_ACTIVITY_MEMCPY2 = 22, /* between two devices */
    XCP_ACTIVITY_COUNTER = 25, /* of managed memory */
};

/* What a record of managed memory counts. */
enum xcp_counter {
    XCP_COUNTER_HTOD = 1,
    XCP_COUNTER_DTOH = 2,
    XCP_COUNTER_CPU_FAULT = 3,
    XCP_COUNTER_GPU_FAULT = 4,
    XCP_COUNTER_DTOD = 8,
};
#define XCP_COUNTER_SCOPE_ALL 2 /* the process, on all devices */

struct xcp_counter_config {
    int scope, counter;
    uint32_t device, enable;
};

enum xcp_activity_flag {
    XCP_FLUSH_FORCED = 1,
    XCP_MEMCPY_ASYNC = 1,
    XCP_MEMSET_ASYNC = 1,
};

enum xcp_activity_attribute {
    XCP_ATTRIBUTE_ZEROED_BUFFERS = 5, /* uint8_t: the client hands out zeroed buffers */
    /* From CUPTI 13.3 on. Their numbers follow from the documented order and from two that public
     * clients use, 11 (user-defined records) before and 15 (latency of kernels) behind them. */
    XCP_ATTRIBUTE_CLIENTS = 12,        /* uint8_t, read only: enum xcp_clients */
    XCP_ATTRIBUTE_HARDWARE_EVENTS = 13 /* uint8_t, of the process: kernel times from hardware */
};

enum xcp_clients { XCP_CLIENTS_ONE, XCP_CLIENTS_SEVERAL, XCP_CLIENTS_UNDECIDED };

enum xcp_copy_kind {
    XCP_COPY_HTOD = 1,
    XCP_COPY_DTOH = 2,
    XCP_COPY_HTOA = 3,
    XCP_COPY_ATOH = 4,
    XCP_COPY_ATOA = 5,
    XCP_COPY_ATOD = 6,
    XCP_COPY_DTOA = 7,
    XCP_COPY_DTOD = 8,
    XCP_COPY_HTOH = 9,
    XCP_COPY_PTOP = 10,
};

enum xcp_memory_kind {
    XCP_MEMORY_PAGEABLE = 1,
    XCP_MEMORY_PINNED = 2,
    XCP_MEMORY_DEVICE = 3,
    XCP_MEMORY_ARRAY = 4,
    XCP_MEMORY_MANAGED = 5,
    XCP_MEMORY_DEVICE_STATIC = 6,
    XCP_MEMORY_MANAGED_STATIC = 7,
};

enum xcp_callback {
    XCP_DOMAIN_DRIVER = 1,
    XCP_SITE_ENTER = 0,
};

/* First version of cuptiGetVersion() whose memcpy records have copy_count (CUDA 12.8). */
#define XCP_VERSION_COPY_COUNT 26
/* First versions that serve several clients (CUDA 13.3; the driver must be of R610 or newer, whose
 * CUDA version is XCP_DRIVER_SEVERAL_CLIENTS), and whose kernel times from hardware have the
 * repairs of CUDA 13.4 update 1: the last one that NVIDIA lists for it. */
#define XCP_VERSION_SEVERAL_CLIENTS 130300
#define XCP_DRIVER_SEVERAL_CLIENTS 13030
#define XCP_VERSION_HARDWARE_EVENTS 130402

struct xcp_activity {
    int kind;
};

struct xcp_memcpy { /* CUpti_ActivityMemcpy3 to 6 */
    int kind;
    uint8_t copy_kind, src_kind, dst_kind, flags;
    uint64_t bytes;
    uint64_t start, end; /* ns of the timestamp callback's clock; both 0 = not known */
    uint32_t device, context, stream;
    uint32_t correlation, runtime_correlation;
    uint32_t pad;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph;
    uint32_t channel;
    int channel_type;
    uint8_t device_launched;
    uint8_t pad2[3];
    uint64_t copy_count; /* only from XCP_VERSION_COPY_COUNT on */
};

struct xcp_memcpy_peer { /* CUpti_ActivityMemcpyPtoP2 to 4 */
    int kind;
    uint8_t copy_kind, src_kind, dst_kind, flags;
    uint64_t bytes;
    uint64_t start, end;
    uint32_t device, context, stream;
    uint32_t src_device, src_context, dst_device, dst_context;
    uint32_t correlation;
};

struct xcp_memset { /* CUpti_ActivityMemset2 to 4 */
    int kind;
    uint32_t value;
    uint64_t bytes;
    uint64_t start, end;
    uint32_t device, context, stream;
    uint32_t correlation;
    uint16_t flags;
    uint16_t memory_kind;
};

struct xcp_kernel { /* CUpti_ActivityKernel4 to 10 */
    int kind;
    uint8_t cache_config, shared_config;
    uint16_t registers;
    int global_cache_requested, global_cache_executed;
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t static_shared, dynamic_shared;
    uint32_t local_per_thread, local_total;
    uint32_t correlation;
    int64_t grid_id;
    const char *name; /* mangled; lives as long as the module */
};

struct xcp_counter_record { /* CUpti_ActivityUnifiedMemoryCounter2 and 3 */
    int kind;
    int counter;    /* enum xcp_counter */
    uint64_t value; /* bytes; faults in the group; the faulting instruction of the CPU */
    uint64_t start, end;
    uint64_t address;
    uint32_t src, dst; /* device ordinals; the host has a number that no device has */
    uint32_t stream, process;
    uint32_t flags; /* of a migration: its cause; of a fault: the access */
    uint32_t pad;
};

struct xcp_callback_data { /* CUpti_CallbackData */
    int site;
    const char *function;
    const void *params;
    void *return_value;
    const char *symbol;
    void *context;
    uint32_t context_uid;
    uint64_t *correlation_data;
    uint32_t correlation;
};

/* Of cuptiSubscribe_v2, as from CUPTI 13.2 on; before, it ended after other_bytes. */
struct xcp_subscriber_params {
    size_t struct_size;
    const char *name;   /* ours; at most 53 bytes are kept */
    char *other;        /* where the name of the first client is written; may be NULL */
    size_t other_bytes; /* at least 64 */
    uint8_t several;    /* 1: further clients are welcome. All clients must say the same */
};
#define XCP_OTHER_NAME_BYTES 64

typedef void (*xcp_callback_function)(void *user, int domain, uint32_t call, const void *data);
typedef void (*xcp_buffer_requested)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*xcp_buffer_completed)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                                     size_t valid);
/* Of one of several clients. `info` may have more fields from version to version. */
typedef void (*xcp_buffer_requested_v2)(uint8_t **buffer, size_t *size, size_t *max_records,
                                        void *info);
typedef void (*xcp_buffer_completed_v2)(uint8_t *buffer, size_t size, size_t valid, void *info);
typedef uint64_t (*xcp_timestamp_callback)(void);

/* X(return type, field, parameters): field f is the function cuptiF. Required ones. */
#define XCP_FUNCTIONS(X)                                                                           \
    X(Subscribe, (xcp_subscriber *, xcp_callback_function, void *))                                \
    X(EnableCallback, (uint32_t enable, xcp_subscriber, int domain, uint32_t call))                \
    X(ActivityEnable, (int kind))                                                                  \
    X(ActivityRegisterCallbacks, (xcp_buffer_requested, xcp_buffer_completed))                     \
    X(ActivityGetNextRecord, (uint8_t *, size_t, struct xcp_activity **))                          \
    X(ActivityGetNumDroppedRecords, (void *context, uint32_t stream, size_t *dropped))             \
    X(ActivityFlushAll, (uint32_t flag))                                                           \
    X(GetTimestamp, (uint64_t *))

/* Optional ones: the recorder works without them. */
#define XCP_OPTIONAL_FUNCTIONS(X)                                                                  \
    X(Unsubscribe, (xcp_subscriber))                                                               \
    X(ActivityDisable, (int kind))                                                                 \
    X(ActivitySetAttribute, (int attribute, size_t *bytes, void *value))                           \
    X(ActivityConfigureUnifiedMemoryCounter, (struct xcp_counter_config *, uint32_t count))        \
    X(ActivityRegisterTimestampCallback, (xcp_timestamp_callback))                                 \
    X(GetVersion, (uint32_t *))                                                                    \
    X(GetResultString, (xcp_result, const char **))

/* Those of one of several clients, from CUPTI 13.3 on. `config` selects fields; NULL: records as
 * ever. The former and the functions above of the same names exclude each other within a process.
 */
#define XCP_NEWER_FUNCTIONS(X)                                                                     \
    X(Subscribe_v2,                                                                                \
      (xcp_subscriber *, xcp_callback_function, void *, struct xcp_subscriber_params *))           \
    X(ActivityEnable_v2, (xcp_subscriber, int kind, void *config))                                 \
    X(ActivityDisable_v2, (xcp_subscriber, int kind, void *config))                                \
    X(ActivityRegisterCallbacks_v2,                                                                \
      (xcp_subscriber, xcp_buffer_requested_v2, xcp_buffer_completed_v2))                          \
    X(ActivityGetNextRecord_v2, (xcp_subscriber, uint8_t *, size_t, struct xcp_activity **))       \
    X(ActivityGetNumDroppedRecords_v2,                                                             \
      (xcp_subscriber, void *context, uint32_t stream, size_t *dropped))                           \
    X(ActivityGetAttribute_v2, (xcp_subscriber, int attribute, size_t *bytes, void *value))        \
    X(ActivitySetAttribute_v2, (xcp_subscriber, int attribute, size_t *bytes, void *value))        \
    X(GetTimestamp_v2, (xcp_subscriber, uint64_t *))

#define XCP_FIELD(name, params) xcp_result(*name) params;
struct xcp_library {
    XCP_FUNCTIONS(XCP_FIELD)
    XCP_OPTIONAL_FUNCTIONS(XCP_FIELD)
    XCP_NEWER_FUNCTIONS(XCP_FIELD)
};
#undef XCP_FIELD

#endif
