/*
 * Work that waits for another engine: a copy behind a kernel, a kernel behind a copy. The GPU tries
 * to begin it when it has arrived, and then again and again (the profile's attempts/: every 8 us on
 * an H200). So it begins behind what it waits for by up to so much, and by how much depends on when
 * it arrived: where it arrives 1 us sooner, it may begin 8 us later. As recorded one attempt is
 * known, the one that began it; others lie as far from it as the profile says, and from the arrival
 * as that one did. Times are ns.
 */
#ifndef XFW_ATTEMPTS_H
#define XFW_ATTEMPTS_H

#include <math.h>

#include "analyzer/whatif/op/op.h"

/* The attempt that begins the work, of which op->attempts.every_ns is known. */
static inline double xfw_attempts_begin(const struct xfw_op *op, double arrives, double ready)
{
    const struct xfw_attempts *attempts = &op->attempts;
    double every = (double)attempts->every_ns, known = arrives + (double)attempts->began_ns;
    double from = ready + (double)attempts->caught_ns;
    return xfw_max(arrives, known + ceil((from - known) / every - 1e-6) * every);
}

#endif
