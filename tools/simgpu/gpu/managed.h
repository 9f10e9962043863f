/* Managed memory: where its blocks are, and what moving them takes. */
#ifndef SIM_MANAGED_H
#define SIM_MANAGED_H

#include "tools/simgpu/gpu/range.h"

/* Managed memory migrates in blocks of this size. */
#define SIM_BLOCK ((size_t)2 << 20)

/* Where a block of managed memory is: a device, or -1. */
int sim_managed_where(const struct sim_range *range, const void *address);

/* enum CUmem_advise */
enum sim_advice {
    SIM_READ_MOSTLY = 1,
    SIM_NOT_READ_MOSTLY = 2,
    SIM_PREFERRED = 3,
    SIM_NOT_PREFERRED = 4,
    SIM_ACCESSED_BY = 5,
    SIM_NOT_ACCESSED_BY = 6,
};
/* Advice of cuMemAdvise, for all of the allocation; where: not used where it is of no place.
 * Nothing moves. */
void sim_managed_advise(struct sim_range *range, enum sim_advice advice, struct xcu_location where);

/* How much of [address, + bytes) a kernel of the device reaches where it is, with the host: it is
 * advised to stay there, or that the device accesses it. Such memory does not move on demand. */
size_t sim_managed_in_place(const struct sim_range *range, const void *address, size_t bytes,
                            int device);

/* A move of managed memory, as the hooks get it: with a fault, unless it was prefetched. */
struct sim_migration {
    const void *address;
    size_t bytes;
    int from, to;
    uint64_t ready;      /* asked for: touched, or the prefetch's turn in its stream */
    uint64_t start, end; /* of the copy over the link; until then the driver works */
    bool prefetched;
    bool write;
    const void *instruction; /* of the host's access */
};
/* Moves what of [m->address, + m->bytes) is elsewhere to m->to, from m->ready on, when the driver
 * has time for it, and the link then, which is shared with copies of that direction. Fills from,
 * bytes (what moved), start, end. */
void sim_managed_go(struct sim_range *range, struct sim_migration *m);
/* Reports it to the hooks. True: it was recorded, which takes XFERSCOPE_SIMGPU_RECORD_NS. */
bool sim_report_migration(const struct sim_migration *m);

#endif
