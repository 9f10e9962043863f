/*
 * Bytes that the program itself takes from one GPU to another by way of host memory go directly: of
 * each two copies, down and up, the first becomes an event, the second a copy from GPU to GPU in
 * its stream, behind that event. The host's wait between the two goes, since it was for the bytes
 * (at worst it stays, for what was to be done before them).
 *
 * Without peer access in between: the copy up becomes one through a ring of page-locked buffers
 * (the profile's staged copies), for which the host waits.
 */
#ifndef XFW_CHANGE_PEER_COPY_H
#define XFW_CHANGE_PEER_COPY_H

#include "analyzer/whatif/change.h"

/* down, up: the transfers; borrowed. */
struct xfw_change *xfw_change_peer_copy(const struct xfa_analysis *analysis,
                                        const struct xfw_marks *down, const struct xfw_marks *up);

/* What it takes from GPU to GPU (the run's numbers), at a certainty: over peer access, or staged.
 */
struct xfw_peer_cost {
    bool known, staged;
    double ns, submit_ns;
    unsigned buffers; /* staged: the ring */
    uint64_t buffer_bytes;
};
struct xfw_peer_cost xfw_peer_cost(const struct xfa_achievable *achievable, int from, int to,
                                   uint64_t bytes, enum xfw_certainty certainty);

#endif
