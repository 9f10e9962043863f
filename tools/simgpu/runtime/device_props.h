/*
 * cudaDeviceProp as CUDA 13 lays it out; tests/contracts/abi_test.c compares it with the real one.
 */
#ifndef SIM_DEVICE_PROPS_H
#define SIM_DEVICE_PROPS_H

#include <stddef.h>

#include "xferscope/cuda_abi.h"

struct rt_device_props {
    char name[256];
    struct xcu_uuid uuid;
    char luid[8];
    unsigned luid_mask;
    size_t memory_bytes, shared_per_block;
    int registers_per_block, warp;
    size_t pitch;
    int max_threads_per_block, max_threads_dim[3], max_grid[3];
    size_t constant_bytes;
    int major, minor;
    size_t texture_alignment, texture_pitch_alignment;
    int multiprocessors, integrated, maps_host_memory;
    int texture_limits[38]; /* maxTexture1D to maxSurfaceCubemapLayered */
    size_t surface_alignment;
    int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc, async_engines;
    int unified_addressing, memory_bus, l2, l2_persisting, max_threads_per_multiprocessor;
    int stream_priorities, global_l1, local_l1;
    size_t shared_per_multiprocessor;
    int registers_per_multiprocessor, managed, multi_gpu_board, multi_gpu_group;
    int host_atomics, pageable_access, concurrent_managed, preemption, registered_host_pointer;
    int cooperative_launch;
    size_t shared_per_block_optin;
    int pageable_host_tables, direct_managed, max_blocks_per_multiprocessor, access_window;
    size_t reserved_shared;
    int host_register, sparse_arrays, register_read_only, timeline_semaphores, memory_pools, rdma;
    unsigned rdma_flush;
    int rdma_ordering;
    unsigned pool_handle_types;
    int deferred_arrays, ipc_events, cluster_launch, unified_functions, numa_config, numa;
    int mps, host_numa;
    unsigned pci_device_id, pci_subsystem_id;
    int multinode_ipc;
    int reserved[56];
};

#endif
