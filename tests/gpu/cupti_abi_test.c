/*
 * preload/timing's copy of CUPTI's binary interface against NVIDIA's headers: every check is made
 * by the compiler. Running it only says so.
 */
#include <cupti.h>
#include <stdio.h>

#include "xferscope/cupti_abi.h"
#include "xferscope/trace.h"

#define SAME(ours, theirs) _Static_assert((ours) == (int)(theirs), #ours " is not " #theirs)
#define PLACE(ours, field, theirs, their_field)                                                    \
    _Static_assert(offsetof(struct ours, field) == offsetof(theirs, their_field) &&                \
                       sizeof((struct ours){0}.field) == sizeof((theirs){0}.their_field),          \
                   #ours "." #field " is not " #theirs "." #their_field)

SAME(XCP_SUCCESS, CUPTI_SUCCESS);
SAME(XCP_ERROR_MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME(XCP_ACTIVITY_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
SAME(XCP_ACTIVITY_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
SAME(XCP_ACTIVITY_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMCPY2);
SAME(XCP_ACTIVITY_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
SAME(XCP_ACTIVITY_COUNTER, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
SAME(XCP_ERROR_NOT_SUPPORTED, CUPTI_ERROR_NOT_SUPPORTED);
SAME(XCP_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
SAME(XCP_MEMCPY_ASYNC, CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC);
SAME(XCP_MEMSET_ASYNC, CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC);
SAME(XCP_ATTRIBUTE_ZEROED_BUFFERS, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
SAME(XCP_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
SAME(XCP_SITE_ENTER, CUPTI_API_ENTER);

#define COPY(kind) SAME(XCP_COPY_##kind, CUPTI_ACTIVITY_MEMCPY_KIND_##kind)
COPY(HTOD);
COPY(DTOH);
COPY(HTOA);
COPY(ATOH);
COPY(ATOA);
COPY(ATOD);
COPY(DTOA);
COPY(DTOD);
COPY(HTOH);
COPY(PTOP);

#define MEMORY(kind) SAME(XCP_MEMORY_##kind, CUPTI_ACTIVITY_MEMORY_KIND_##kind)
MEMORY(PAGEABLE);
MEMORY(PINNED);
MEMORY(DEVICE);
MEMORY(ARRAY);
MEMORY(MANAGED);
MEMORY(DEVICE_STATIC);
MEMORY(MANAGED_STATIC);

#define COUNTER(ours, theirs) SAME(ours, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_##theirs)
COUNTER(XCP_COUNTER_HTOD, KIND_BYTES_TRANSFER_HTOD);
COUNTER(XCP_COUNTER_DTOH, KIND_BYTES_TRANSFER_DTOH);
COUNTER(XCP_COUNTER_CPU_FAULT, KIND_CPU_PAGE_FAULT_COUNT);
COUNTER(XCP_COUNTER_GPU_FAULT, KIND_GPU_PAGE_FAULT);
COUNTER(XCP_COUNTER_DTOD, KIND_BYTES_TRANSFER_DTOD);
COUNTER(XCP_COUNTER_SCOPE_ALL, SCOPE_PROCESS_ALL_DEVICES);

/* The trace has CUPTI's numbers. */
#define CAUSE(ours, theirs) SAME(XFT_CAUSE_##ours, CUPTI_ACTIVITY_UNIFIED_MEMORY_##theirs)
CAUSE(USER, MIGRATION_CAUSE_USER);
CAUSE(COHERENCE, MIGRATION_CAUSE_COHERENCE);
CAUSE(PREFETCH, MIGRATION_CAUSE_PREFETCH);
CAUSE(EVICTION, MIGRATION_CAUSE_EVICTION);
CAUSE(ACCESS_COUNTERS, MIGRATION_CAUSE_ACCESS_COUNTERS);
#define ACCESS(kind) SAME(XFT_ACCESS_##kind, CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_##kind)
ACCESS(READ);
ACCESS(WRITE);
ACCESS(ATOMIC);
ACCESS(PREFETCH);

/* Fields that every version of the record has, against each version there is. */
#define MEMCPY_COMMON(theirs)                                                                      \
    PLACE(xcp_memcpy, kind, theirs, kind);                                                         \
    PLACE(xcp_memcpy, copy_kind, theirs, copyKind);                                                \
    PLACE(xcp_memcpy, src_kind, theirs, srcKind);                                                  \
    PLACE(xcp_memcpy, dst_kind, theirs, dstKind);                                                  \
    PLACE(xcp_memcpy, flags, theirs, flags);                                                       \
    PLACE(xcp_memcpy, bytes, theirs, bytes);                                                       \
    PLACE(xcp_memcpy, start, theirs, start);                                                       \
    PLACE(xcp_memcpy, end, theirs, end);                                                           \
    PLACE(xcp_memcpy, device, theirs, deviceId);                                                   \
    PLACE(xcp_memcpy, stream, theirs, streamId);                                                   \
    PLACE(xcp_memcpy, correlation, theirs, correlationId);                                         \
    PLACE(xcp_memcpy, runtime_correlation, theirs, runtimeCorrelationId)

#define PEER_COMMON(theirs)                                                                        \
    PLACE(xcp_memcpy_peer, copy_kind, theirs, copyKind);                                           \
    PLACE(xcp_memcpy_peer, flags, theirs, flags);                                                  \
    PLACE(xcp_memcpy_peer, bytes, theirs, bytes);                                                  \
    PLACE(xcp_memcpy_peer, start, theirs, start);                                                  \
    PLACE(xcp_memcpy_peer, end, theirs, end);                                                      \
    PLACE(xcp_memcpy_peer, device, theirs, deviceId);                                              \
    PLACE(xcp_memcpy_peer, stream, theirs, streamId);                                              \
    PLACE(xcp_memcpy_peer, src_device, theirs, srcDeviceId);                                       \
    PLACE(xcp_memcpy_peer, dst_device, theirs, dstDeviceId);                                       \
    PLACE(xcp_memcpy_peer, correlation, theirs, correlationId)

#define MEMSET_COMMON(theirs)                                                                      \
    PLACE(xcp_memset, value, theirs, value);                                                       \
    PLACE(xcp_memset, bytes, theirs, bytes);                                                       \
    PLACE(xcp_memset, start, theirs, start);                                                       \
    PLACE(xcp_memset, end, theirs, end);                                                           \
    PLACE(xcp_memset, device, theirs, deviceId);                                                   \
    PLACE(xcp_memset, stream, theirs, streamId);                                                   \
    PLACE(xcp_memset, correlation, theirs, correlationId);                                         \
    PLACE(xcp_memset, flags, theirs, flags);                                                       \
    PLACE(xcp_memset, memory_kind, theirs, memoryKind)

#define KERNEL_COMMON(theirs)                                                                      \
    PLACE(xcp_kernel, start, theirs, start);                                                       \
    PLACE(xcp_kernel, end, theirs, end);                                                           \
    PLACE(xcp_kernel, device, theirs, deviceId);                                                   \
    PLACE(xcp_kernel, stream, theirs, streamId);                                                   \
    PLACE(xcp_kernel, grid[0], theirs, gridX);                                                     \
    PLACE(xcp_kernel, grid[2], theirs, gridZ);                                                     \
    PLACE(xcp_kernel, block[0], theirs, blockX);                                                   \
    PLACE(xcp_kernel, block[2], theirs, blockZ);                                                   \
    PLACE(xcp_kernel, correlation, theirs, correlationId);                                         \
    PLACE(xcp_kernel, name, theirs, name)

#define COUNTER_COMMON(theirs)                                                                     \
    PLACE(xcp_counter_record, counter, theirs, counterKind);                                       \
    PLACE(xcp_counter_record, value, theirs, value);                                               \
    PLACE(xcp_counter_record, start, theirs, start);                                               \
    PLACE(xcp_counter_record, end, theirs, end);                                                   \
    PLACE(xcp_counter_record, address, theirs, address);                                           \
    PLACE(xcp_counter_record, src, theirs, srcId);                                                 \
    PLACE(xcp_counter_record, dst, theirs, dstId);                                                 \
    PLACE(xcp_counter_record, flags, theirs, flags)

KERNEL_COMMON(CUpti_ActivityKernel4);
KERNEL_COMMON(CUpti_ActivityKernel5);
KERNEL_COMMON(CUpti_ActivityKernel6);
KERNEL_COMMON(CUpti_ActivityKernel7);
KERNEL_COMMON(CUpti_ActivityKernel8);
KERNEL_COMMON(CUpti_ActivityKernel9);
COUNTER_COMMON(CUpti_ActivityUnifiedMemoryCounter2);
#if CUPTI_API_VERSION >= 130000
KERNEL_COMMON(CUpti_ActivityKernel10);
COUNTER_COMMON(CUpti_ActivityUnifiedMemoryCounter3);
#endif
PLACE(xcp_counter_config, scope, CUpti_ActivityUnifiedMemoryCounterConfig, scope);
PLACE(xcp_counter_config, counter, CUpti_ActivityUnifiedMemoryCounterConfig, kind);
PLACE(xcp_counter_config, device, CUpti_ActivityUnifiedMemoryCounterConfig, deviceId);
PLACE(xcp_counter_config, enable, CUpti_ActivityUnifiedMemoryCounterConfig, enable);

MEMCPY_COMMON(CUpti_ActivityMemcpy3);
MEMCPY_COMMON(CUpti_ActivityMemcpy4);
MEMCPY_COMMON(CUpti_ActivityMemcpy5);
PEER_COMMON(CUpti_ActivityMemcpyPtoP2);
PEER_COMMON(CUpti_ActivityMemcpyPtoP3);
MEMSET_COMMON(CUpti_ActivityMemset2);
MEMSET_COMMON(CUpti_ActivityMemset3);
#if CUPTI_API_VERSION >= 26
MEMCPY_COMMON(CUpti_ActivityMemcpy6);
PLACE(xcp_memcpy, copy_count, CUpti_ActivityMemcpy6, copyCount);
#endif

PLACE(xcp_callback_data, site, CUpti_CallbackData, callbackSite);
PLACE(xcp_callback_data, function, CUpti_CallbackData, functionName);
PLACE(xcp_callback_data, correlation, CUpti_CallbackData, correlationId);

/* Numbers of calls that this version of the header knows. */
#define X(number, name) SAME(number, CUPTI_DRIVER_TRACE_CBID_##name);
#include "xferscope/cupti_calls.def"
#include "xferscope/cupti_launches.def"
#undef X

/* The functions are still declared. */
#define DECLARED(name, params)                                                                     \
    _Static_assert(sizeof(&cupti##name) == sizeof(void *), "cupti" #name);
XCP_FUNCTIONS(DECLARED)
XCP_OPTIONAL_FUNCTIONS(DECLARED)

int main(void)
{
    printf("CUPTI's interface as in version %d\n", CUPTI_API_VERSION);
    return 0;
}
