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

/* ---- collectives ----------------------------------------------------------------------------- */

/* Why it is not known what a collective, or a message of NCCL, could have taken. Words of the
 * report. */
#define XFA_UNPRICED_LIST(X)                                                                       \
    X(XFA_PRICED, NULL)                                                                            \
    X(XFA_UNPRICED_NOT_MEASURED, "not-measured") /* the profile has no such collective */          \
    X(XFA_UNPRICED_RANKS, "other-ranks")         /* it was not of so many on as many hosts */      \
    X(XFA_UNPRICED_SIZE, "other-sizes")          /* one was measured, a smaller one */             \
    X(XFA_UNPRICED_MEMORY, "device-memory")      /* given to MPI */                                \
    X(XFA_UNPRICED_PARTS, "unequal-parts")       /* not all ranks give, or get, as much */         \
    X(XFA_UNPRICED_GROUP, "grouped")             /* of NCCL: more than one send and one receive */

#define XFA_UNPRICED_ROW(symbol, word) symbol,
enum xfa_unpriced { XFA_UNPRICED_LIST(XFA_UNPRICED_ROW) XFA_UNPRICED_COUNT };
#undef XFA_UNPRICED_ROW

const char *xfa_unpriced_word(unsigned why); /* NULL: it is known */

struct xfa_price {
    struct xfp_estimate time; /* basis XFP_UNKNOWN: not known */
    enum xfa_unpriced why;    /* of a collective, or of NCCL */
};

/* Ranks of a communicator, and which of the profile's they may be compared with. */
struct xfa_measured_ranks {
    size_t count;
    bool all;       /* all that were measured: as many, as many on each of the same hosts */
    uint32_t hosts; /* as many ranks on each of so many hosts, on all of which some were measured;
                       0: it is not so */
};

/* hosts: of the run, by rank. */
struct xfa_measured_ranks xfa_measured_ranks_of(const struct xfa_achievable *achievable,
                                                const uint32_t *hosts, size_t count);

/* What an operation (enum xft_message) of these ranks took for so many bytes, as the profile counts
 * them; by the faster one of two functions for it. Some of the profile's ranks stand for as many on
 * as many hosts. library: "mpi", "nccl". Of NCCL it is a call's time, of many in a row; a send or
 * receive takes what it took while each rank sent and received. */
struct xfa_price xfa_achievable_collective(const struct xfa_achievable *achievable,
                                           const char *library, unsigned what,
                                           const struct xfa_measured_ranks *ranks, uint64_t bytes);

#endif
