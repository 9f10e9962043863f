/*
 * Activity records as CUPTI 13 lays them out, whole; tests/contracts/abi_records.def holds them
 * against NVIDIA's headers. What the recorder reads of them is in include/xferscope/cupti_abi.h.
 */
#ifndef SIM_CUPTI_RECORDS_H
#define SIM_CUPTI_RECORDS_H

#include <stdint.h>

enum { SIM_CUPTI_VERSION = 130001 };

enum sim_cupti_kind {
    SIM_CUPTI_MEMCPY = 1,
    SIM_CUPTI_MEMSET = 2,
    SIM_CUPTI_KERNEL = 3,
    SIM_CUPTI_CONCURRENT_KERNEL = 10,
    SIM_CUPTI_MEMCPY2 = 22, /* between devices */
    SIM_CUPTI_COUNTER = 25, /* of managed memory */
};

struct sim_cupti_memcpy { /* CUpti_ActivityMemcpy6 */
    int kind;
    uint8_t copy_kind, src_kind, dst_kind, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation, runtime_correlation, pad;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph, channel;
    int channel_type;
    uint8_t device_launched, pad2[3];
    uint64_t copy_count;
};

struct sim_cupti_memcpy2 { /* CUpti_ActivityMemcpyPtoP4 */
    int kind;
    uint8_t copy_kind, src_kind, dst_kind, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t src_device, src_context, dst_device, dst_context, correlation;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph, channel;
    int channel_type;
};

struct sim_cupti_memset { /* CUpti_ActivityMemset4 */
    int kind;
    uint32_t value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
    uint16_t flags, memory_kind;
    uint32_t pad;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph, channel;
    int channel_type;
    uint32_t pad2;
};

struct sim_cupti_kernel { /* CUpti_ActivityKernel10 */
    int kind;
    uint8_t cache_config, shared_config;
    uint16_t registers;
    int global_cache_requested, global_cache_executed;
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t static_shared, dynamic_shared;
    uint32_t local_per_thread, local_total, correlation;
    int64_t grid_id;
    const char *name;
    void *reserved;
    uint64_t queued, submitted;
    uint8_t launch_type, carveout_requested, carveout, padding;
    uint32_t shared_executed;
    uint64_t graph_node;
    int shared_limit;
    uint32_t graph;
    void *access_policy;
    uint32_t channel;
    int channel_type;
    uint32_t cluster[3], cluster_policy;
    uint64_t local_total_2;
    uint32_t max_cluster, max_active_clusters;
    uint8_t device_launched, padding3[7];
};

struct sim_cupti_counter { /* CUpti_ActivityUnifiedMemoryCounter3 */
    int kind;
    int counter;
    uint64_t value, start, end, address;
    uint32_t src, dst, stream, process, flags, pad;
    uint64_t processors[5];
};

#endif
