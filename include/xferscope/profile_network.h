/*
 * The part of a machine profile that `xferscope probe --net` measured: what messages between the
 * ranks of an MPI program reach, from host memory to host memory, and from GPU to GPU through it.
 *
 * In the file it is the object `network` (docs/profile-format.md). Units and ownership as in
 * profile.h. Implemented in probe/profile/.
 */
#ifndef XFERSCOPE_PROFILE_NETWORK_H
#define XFERSCOPE_PROFILE_NETWORK_H

#include "xferscope/profile.h"

/* What was timed between two hosts' memories, in the shapes of the OSU benchmarks. Words in the
 * file. The times of all three are of one message. */
#define XFP_NET_SHAPE_LIST(X)                                                                      \
    X(XFP_NET_PING, 1, "ping")     /* half a round trip (osu_latency) */                           \
    X(XFP_NET_STREAM, 2, "stream") /* a window of messages, then a reply (osu_bw) */               \
    X(XFP_NET_BOTH, 3, "both")     /* windows in both directions at once (osu_bibw) */

/* What a rank's MPI did with an address of device memory. Words in the file. */
#define XFP_NET_DIRECT_LIST(X)                                                                     \
    X(XFP_NET_NOT_TRIED, 0, "not-tried")                                                           \
    X(XFP_NET_TAKEN, 1, "taken")     /* the bytes arrived */                                       \
    X(XFP_NET_REFUSED, 2, "refused") /* an error, as MPI reports errors */                         \
    X(XFP_NET_CRASHED, 3, "crashed") /* the process that tried it ended, or did not end */         \
    X(XFP_NET_WRONG, 4, "wrong")     /* other bytes arrived */

#define XFP_NET_ENUM_ROW(symbol, number, word) symbol = number,
enum xfp_net_shape { XFP_NET_SHAPE_LIST(XFP_NET_ENUM_ROW) XFP_NET_SHAPE_COUNT };
enum xfp_net_direct { XFP_NET_DIRECT_LIST(XFP_NET_ENUM_ROW) XFP_NET_DIRECT_COUNT };
#undef XFP_NET_ENUM_ROW

struct xfp_net_interface {
    char *name, *driver; /* "eth0", "mlx5_core"; "" = not known */
    uint64_t mbps;       /* what it says of its speed; 0 = nothing */
    int mtu;             /* 0 = not known */
};

/* A rank's machine. The profile's `machine` is that of rank 0. */
struct xfp_net_rank {
    char *hostname, *machine_id;
    int gpu;                   /* ordinal of the GPU that it used, -1 = none */
    char *gpu_name, *gpu_uuid; /* "" = none */
    int driver_version;        /* 13000 = CUDA 13.0; 0 = no driver */
    bool simulated;
    enum xfp_net_direct direct;
    size_t interface_count;
    struct xfp_net_interface *interfaces; /* those that are up */
};

/* What the windows of one size took, in the order in which they were sent: a mean hides changes of
 * phase. */
struct xfp_net_windows {
    uint32_t messages; /* of one window */
    size_t count;
    double *ns; /* of a window, as the sender saw it: until the reply was there */
};

struct xfp_net_path {
    char *name; /* e.g. "net/stream/rank0-rank1" */
    enum xfp_net_shape shape;
    int from, to;           /* ranks */
    bool loaded;            /* other pairs of ranks used the same hosts at the same time */
    bool bound;             /* both ranks were bound to a NUMA node, thread and memory: */
    int from_node, to_node; /* these; -1 = that rank's machine has but one, or not bound */
    char *interface; /* of the sender: the one whose counter rose by these bytes; "" = none did */
    struct xfp_fit fit; /* of XFP_NET_PING: L+o, g and G of a message */
    size_t point_count;
    struct xfp_point *points;        /* ascending bytes */
    struct xfp_net_windows *windows; /* of each point; all 0 for XFP_NET_PING */
};

/*
 * Copies from the GPU of one rank to that of another through pinned host buffers on both sides, as
 * rCUDA's versions 2B, 3B and 4B (Reano and Silla, section 4), as a program has them that begins
 * all pieces at once and waits for them in order, and by MPI itself, given device buffers. Times
 * run until the source knows that all data is in the other GPU.
 */
struct xfp_net_staged_point {
    uint64_t bytes;
    double unpipelined_ns; /* 2B: out whole, sent whole, in whole */
    double pipelined_ns;   /* 3B: XFP_STAGED_BUFFERS of XFP_STAGED_BUFFER_BYTES */
    double adaptive_ns;    /* 4B: with the ring below */
    double posted_ns;      /* pieces begun at once: each copy is waited for and its piece sent, each
                              message waited for and copied; 0 = not measured */
    double direct_ns;      /* device buffers given to MPI; 0 = not measured */
    uint32_t buffers;
    uint64_t buffer_bytes;
    struct xfp_spread unpipelined, pipelined, adaptive, posted, direct;
};

/* What a pair's first messages of device memory took beyond later ones, both ways: what MPI makes
 * once, of messages of up to that size. A larger one takes what smaller ones do, too. */
struct xfp_net_first_use {
    uint64_t bytes;
    double ns;
    uint32_t rounds; /* there and back, that were timed */
};

struct xfp_net_staged {
    char *name; /* e.g. "net/staged/rank0-rank1" */
    int from, to;
    bool loaded;
    uint64_t hybrid_bytes; /* the hybrid rule: 4B from this size on, device buffers given to MPI
                              below; 0: those were never slower, or not measured */
    size_t point_count;
    struct xfp_net_staged_point *points; /* ascending bytes */
    size_t cell_count;
    struct xfp_staged_cell *cells; /* the grid that 4B was chosen from */
    size_t first_use_count;        /* of the pair, with the direction that was measured first */
    struct xfp_net_first_use *first_uses; /* ascending bytes */
};

/* A collective over all ranks, or over some, as many on each of their hosts: of MPI's, of host
 * memory, or of NCCL's, of their GPUs'. The time is that of the rank that takes longest. */
struct xfp_net_collective {
    char *name;     /* e.g. "net/mpi/all-reduce"; of some "net/mpi/all-reduce/ranks4-hosts2" */
    uint32_t ranks; /* that took part; 0 = not said: all of the network's */
    uint32_t hosts; /* that these were on; 0 = not said */
    double bus_per_algbw; /* bus bandwidth over algorithm bandwidth, as nccl-tests define them */
    size_t point_count;
    struct xfp_point *points; /* bytes as nccl-tests count them: what a rank gives or gets, the
                                 larger of the two, its own part in it; 0 of a barrier */
};

/* By which protocol UCX sent messages of a size, as it says itself (UCX_PROTO_INFO). */
struct xfp_net_protocol {
    char *messages;       /* which kind: "tagged message by ucp_tag_send*() from host memory" */
    uint64_t first_bytes; /* of the messages' sizes */
    uint64_t last_bytes;  /* UINT64_MAX = all above */
    char *protocol;       /* "eager copy-in copy-out" */
    char *transport;      /* "sysv/memory" */
};

struct xfp_network {
    char *mpi;  /* as the library calls itself: "Open MPI v4.1.4" */
    char *ucx;  /* version of the UCX that MPI has loaded: "1.13.1"; "" = none */
    char *nccl; /* "2.28.3"; "" = not used */
    size_t rank_count;
    struct xfp_net_rank *ranks; /* by rank */
    size_t path_count;
    struct xfp_net_path *paths;
    size_t staged_count;
    struct xfp_net_staged *staged;
    size_t collective_count;
    struct xfp_net_collective *collectives;
    size_t protocol_count;
    struct xfp_net_protocol *protocols; /* each once; none where UCX is not used, or says nothing */
};

/* ---- asking ---------------------------------------------------------------------------------- */

/* Between two ranks, measured with the hosts to themselves and not bound to nodes; NULL when it was
 * not measured. */
const struct xfp_net_path *xfp_net_find(const struct xfp_profile *profile, enum xfp_net_shape shape,
                                        int from, int to);
const struct xfp_net_staged *xfp_net_find_staged(const struct xfp_profile *profile, int from,
                                                 int to);

/* As xfp_time(), of one message. */
struct xfp_estimate xfp_net_time(const struct xfp_net_path *path, uint64_t bytes);

/* What was measured at the largest size that is not above bytes (the smallest one, below all);
 * NULL without any. */
const struct xfp_net_staged_point *xfp_net_staged_at(const struct xfp_net_staged *staged,
                                                     uint64_t bytes);

/* What the first messages of device memory, of up to that size, take beyond later ones between two
 * ranks, in either order; 0: not measured. */
double xfp_net_first_use_ns(const struct xfp_profile *profile, int one, int other, uint64_t bytes);

/* The smallest size from which on 4B is faster than device buffers given to MPI, at every size
 * where both were measured; 0: none. */
uint64_t xfp_net_hybrid_bytes(const struct xfp_net_staged_point *points, size_t count);

/* The bandwidth that a network of some ranks would need for that of an algorithm (nccl-tests,
 * PERFORMANCE.md): 2 (n - 1) / n for all-reduce, (n - 1) / n for all-gather, reduce-scatter and
 * all-to-all. */
double xfp_net_bus_factor(const char *collective, int ranks);

/* How an operation (enum xft_message) is called in a collective's name: "all-reduce"; of messages
 * "send-recv", with all ranks in a ring. */
const char *xfp_net_operation_word(unsigned what);

/* What the name of a collective of some of the ranks ends in: "/ranks4-hosts2". */
#define XFP_NET_PART_TEXT 40
void xfp_net_part_word(uint32_t ranks, uint32_t hosts, char text[XFP_NET_PART_TEXT]);

/* Of all ranks. library: "mpi", "nccl". NULL: it was not measured. */
const struct xfp_net_collective *xfp_net_find_collective(const struct xfp_network *network,
                                                         const char *library, unsigned what);

/* Of so many on so many hosts, as many on each, which were some of all. */
const struct xfp_net_collective *xfp_net_find_part(const struct xfp_network *network,
                                                   const char *library, unsigned what,
                                                   uint32_t ranks, uint32_t hosts);

/* Is it one of these? */
bool xfp_net_is_part(const struct xfp_net_collective *collective);

/* Another function for the same ("net/mpi/reduce-scatter-block"), of as many ranks; NULL: none was
 * measured. */
const struct xfp_net_collective *xfp_net_other_way(const struct xfp_network *network,
                                                   const struct xfp_net_collective *collective);

const char *xfp_net_shape_word(enum xfp_net_shape shape);
const char *xfp_net_direct_word(enum xfp_net_direct direct);

/* ---- making ---------------------------------------------------------------------------------- */

/* The profile's network, made when there is none; NULL without memory. */
struct xfp_network *xfp_net_of(struct xfp_profile *profile);

/* Adds it, and takes over what it points to; one of the same name is replaced. 0, or -1 (out of
 * memory: the item is freed). */
int xfp_net_add_path(struct xfp_network *network, struct xfp_net_path *item);
int xfp_net_add_staged(struct xfp_network *network, struct xfp_net_staged *item);
int xfp_net_add_collective(struct xfp_network *network, struct xfp_net_collective *item);

/* The same, but nothing where an equal one is there; a text may be NULL (out of memory). */
int xfp_net_add_protocol(struct xfp_network *network, struct xfp_net_protocol *item);

/* Moves the other's paths, staged copies and collectives to the network. 0, or -1. */
int xfp_net_merge(struct xfp_network *network, struct xfp_network *other);

void xfp_net_free(struct xfp_network *network);

#endif
