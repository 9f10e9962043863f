/*
 * What the network could have achieved for a message, by the profile's part `network`
 * (profile_network.h). Ranks of the probe and of the run are matched by the names of their hosts;
 * of several measured pairs between the same two hosts the one that is fastest at 1 MiB counts.
 * Times are of one message alone: half a round trip.
 */
#ifndef XFA_ACHIEVABLE_MESSAGE_H
#define XFA_ACHIEVABLE_MESSAGE_H

#include "analyzer/pass/achievable.h"
#include "xferscope/profile_network.h"

/* Between two hosts of the run, which may be one. NULL: not measured. */
struct xfa_message_path {
    const struct xfp_net_path *host;     /* from host memory to host memory */
    const struct xfp_net_staged *staged; /* from GPU to GPU */
};

struct xfa_message_path xfa_message_path(const struct xfa_achievable *achievable,
                                         uint32_t from_host, uint32_t to_host);

/* Basis XFP_UNKNOWN where it was not measured. gpu: both buffers are device memory, which MPI is
 * given. */
struct xfp_estimate xfa_achievable_message(const struct xfa_message_path *path, uint64_t bytes,
                                           bool gpu);

/* Were so many ranks measured with NCCL, as many on each of these hosts of the run? */
bool xfa_nccl_is_measured(const struct xfa_achievable *achievable, const uint32_t *hosts,
                          size_t count);

/* What NCCL took for an operation (enum xft_message) of so many bytes, as nccl-tests count them,
 * with all ranks that were measured: a call's time, of many in a row. A send or receive takes what
 * it took while each rank sent and received. */
struct xfp_estimate xfa_achievable_nccl(const struct xfa_achievable *achievable, unsigned what,
                                        uint64_t bytes);

#endif
