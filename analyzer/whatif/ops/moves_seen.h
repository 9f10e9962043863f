/*
 * Records of managed memory that moved to a kernel, which may end before its moves do: the driver's
 * queue of them has a limit. Private to whatif/.
 */
#ifndef XFW_MOVES_SEEN_H
#define XFW_MOVES_SEEN_H

#include <stdint.h>

#include "analyzer/whatif/op/op.h"

struct xfw_moves_seen {
    double until_ns; /* until then, on the device: the end of the last record */
    uint64_t of;     /* bytes of the allocations that any of them is of */
};

/* No further record of the kernel comes. Where all memory that any came from, at the rate at which
 * it came, takes as long as the kernel did, all of it is taken to have come, and the kernel to have
 * waited as before. */
void xfw_moves_complete(struct xfw_op *op, const struct xfw_moves_seen *seen);

#endif
