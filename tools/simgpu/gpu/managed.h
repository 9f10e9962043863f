/* Managed memory: where its blocks are, and what moving them takes. */
#ifndef SIM_MANAGED_H
#define SIM_MANAGED_H

#include "tools/simgpu/gpu/range.h"

/* Managed memory migrates in blocks of this size. */
#define SIM_BLOCK ((size_t)2 << 20)

/* Where a block of managed memory is: a device, or -1. */
int sim_managed_where(const struct sim_range *range, const void *address);
/* Moves to the device (-1: the host) what of [address, + bytes) is elsewhere; returns how many
 * bytes. *from: where the first of them was. */
size_t sim_managed_move(struct sim_range *range, const void *address, size_t bytes, int device,
                        int *from);
/* A move of managed memory, as the hooks get it: with a fault, unless it was prefetched. */
struct sim_migration {
    const void *address;
    size_t bytes;
    int from, to;
    uint64_t start, ns;
    bool prefetched;
    bool write;
    const void *instruction; /* of the host's access */
};
/* Reports it to the hooks. True: it was recorded, which takes XFERSCOPE_SIMGPU_RECORD_NS. */
bool sim_report_migration(const struct sim_migration *m);
/* ns to move so many bytes between places (devices, or -1). */
uint64_t sim_managed_ns(size_t bytes, int from, int to, enum xfp_method method);

#endif
