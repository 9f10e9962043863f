/*
 * Memory: every range that CUDA knows, and the address space it comes from.
 *
 * Device, managed and pinned memory lie in address ranges reserved for them, so that an address
 * that was freed is known to be one. All memory is host memory: the host could read it all, where
 * a real device's memory would end the program.
 */
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include "tools/simgpu/driver/sim.h"

enum sim_range_flags {
    SIM_RANGE_REGISTERED = 1, /* cuMemHostRegister: not ours to free */
    SIM_RANGE_VMM = 2,        /* cuMemMap */
    SIM_RANGE_SYMBOL = 4,     /* a module's variable */
    SIM_RANGE_ASYNC = 8,      /* from a pool */
    SIM_RANGE_GRAPH = 16,     /* of a graph's node: nobody is told of it before a launch */
};

/* Managed memory migrates in blocks of this size. */
#define SIM_BLOCK ((size_t)2 << 20)

struct vmm;

struct sim_range {
    uint8_t *start;
    size_t bytes;
    enum xft_memory memory; /* device, managed, pinned, write-combined, mapped, registered */
    int device;             /* where it lives, or was current */
    int numa;
    unsigned flags;      /* enum sim_range_flags */
    unsigned host_flags; /* as given to cuMemHostAlloc, cuMemHostRegister */
    struct sim_context *context;
    struct sim_pool *pool;
    struct sim_region *region;
    uint64_t id;
    /* managed: where each block is (a device, -1 = host), advice, last prefetch */
    int16_t *where;
    struct vmm *mapped; /* virtual memory: the allocation behind it; the range does not own it */
    bool read_mostly;
    struct xcu_location preferred, prefetched;
};

/* The range around an address, or NULL. Valid until the next change. */
struct sim_range *sim_range_at(const void *address);
/* Adds a range (copied); NULL when out of memory or when it overlaps another. */
struct sim_range *sim_range_add(const struct sim_range *range);
void sim_range_remove(struct sim_range *range);
size_t sim_range_count(void);
struct sim_range *sim_range_nth(size_t index);

/* Address space. Sizes are rounded up to pages. */
struct sim_region *sim_region_new(size_t bytes);
void *sim_region_take(struct sim_region *region, size_t bytes);
void sim_region_give(struct sim_region *region, void *start, size_t bytes);
/* True when the address belongs to some region, allocated or not. */
bool sim_region_owns(const void *address);
extern struct sim_region *sim_managed_region, *sim_host_region;

/* Allocates device memory. */
xcu_result sim_device_alloc(int device, size_t bytes, unsigned flags, struct sim_pool *pool,
                            xcu_deviceptr *out);
xcu_result sim_range_free(struct sim_range *range);
/* Everything that belongs to a context, or to a device when its primary context is reset. */
void sim_memory_release(struct sim_context *context);

/* The NUMA node of the calling thread's pageable memory at that address (NULL: of what it
 * allocates), and of memory that it page-locks: nodes.c, or where the driver is built to have the
 * nodes of the machine that it runs on, host_nodes.c. */
int sim_host_numa(const void *address);
int sim_locked_numa(void *address, size_t bytes);

/* Where a block of managed memory is: a device, or -1. */
int sim_managed_where(const struct sim_range *range, const void *address);
/* Bytes of [address, + bytes) that are not at device (-1 = host); moves them there. from is set
 * to where the first of them was. */
size_t sim_managed_move(struct sim_range *range, const void *address, size_t bytes, int device,
                        int *from);
/* Tells the hooks that managed memory moved, with the fault that made it when it was touched. */
struct sim_migration {
    const void *address;
    size_t bytes;
    int from, to;
    uint64_t start, ns;
    bool prefetched;
    bool write;
    const void *instruction; /* of the host's access */
};
/* Was it recorded? Then that took time, too (XFERSCOPE_SIMGPU_RECORD_NS). */
bool sim_report_migration(const struct sim_migration *m);
/* Time for moving so many bytes of managed memory between places. */
uint64_t sim_managed_ns(size_t bytes, int from, int to, enum xfp_method method);

struct sim_pool {
    int device; /* -1 = host */
    uint64_t reserved_now, used_now, used_high, threshold;
    struct xcu_pool_props props;
    bool is_default;
};
struct sim_pool *sim_default_pool(int device);

struct sim_array {
    struct xcu_array_descriptor desc;
    int device;
    size_t element, pitch, slice, bytes; /* bytes of: an element, a row, a layer, everything */
    size_t rows, layers;
    uint8_t *data;
    struct sim_mipmap *mipmap;
};
struct sim_mipmap {
    struct xcu_array_descriptor desc;
    unsigned levels;
    struct sim_array **level;
};

#endif
