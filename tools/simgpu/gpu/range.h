/*
 * Address space, and every range in it that CUDA knows.
 *
 * Device, managed and pinned memory lie in address ranges reserved for them, so that an address
 * that was freed is known to be one. All memory is host memory: the host could read it all, where
 * a real device's memory would end the program.
 */
#ifndef SIM_RANGE_H
#define SIM_RANGE_H

#include "tools/simgpu/gpu/objects.h"

struct sim_pool {
    int device; /* -1 = host */
    uint64_t reserved_now, used_now, used_high, threshold;
    struct xcu_pool_props props;
    bool is_default;
};

enum sim_range_flags {
    SIM_RANGE_REGISTERED = 1, /* cuMemHostRegister: not ours to free */
    SIM_RANGE_VMM = 2,        /* cuMemMap */
    SIM_RANGE_SYMBOL = 4,     /* a module's variable */
    SIM_RANGE_ASYNC = 8,      /* from a pool */
    SIM_RANGE_GRAPH = 16,     /* of a graph's node: no hook gets it before a launch */
};

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
    uint32_t *copies;     /* of each block, to read, while read_mostly: a bit for each holder */
    uint32_t accessed_by; /* bit per device */
    struct vmm *mapped;   /* virtual memory: the allocation behind it; the range does not own it */
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

/* Gives a range back to the device, the pool and the region that it is of. */
xcu_result sim_range_free(struct sim_range *range);

#endif
