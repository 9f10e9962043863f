/* Managed memory: where its blocks are, and what moving them takes. */
#ifndef SIM_MANAGED_H
#define SIM_MANAGED_H

#include "tools/simgpu/gpu/range.h"

/* Managed memory migrates in blocks of this size. */
#define SIM_BLOCK ((size_t)2 << 20)

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

#endif
