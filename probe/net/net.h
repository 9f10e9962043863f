/*
 * xferscope-net: the network family of `xferscope probe --net`, a program of its own, since it
 * links to MPI. The command starts it in every rank of the user's launcher; docs/probe.md ("Between
 * machines") is its manual.
 *
 * All ranks know the same schedule (rounds.h). In a pair one rank leads: it sends orders
 * (exchange.h) that the other follows, takes the time, and decides when a figure is known; then
 * they change places. What a leader has measured is added to its session's profile; rank 0 gets the
 * others' by messages and writes the file (collect.h). A thread of rank 0 watches for signals and
 * for ranks that do not answer, and keeps what was measured (watch.h).
 *
 * Private to probe/net/. Nearly every function has the run as its first argument.
 */
#ifndef XFP_NET_H
#define XFP_NET_H

#include <mpi.h>
#include <regex.h>

#include "probe/net/interfaces.h"
#include "probe/net/rounds.h"
#include "probe/options.h"
#include "probe/session.h"
#include "xferscope/profile_network.h"

#define XFP_NET_MOST_NODES 64

/* NUMA nodes that a rank can be bound to. */
struct xfp_net_nodes {
    int count; /* 1, all[0] = -1: there is but one */
    int all[XFP_NET_MOST_NODES];
};

/* What each rank tells all others of itself. */
struct xfp_net_hello {
    char mpi[96], ucx[32], hostname[128], machine_id[24], gpu_name[96], gpu_uuid[64];
    char no_gpu[200]; /* why it uses none; "" = it does */
    int gpu, driver_version, simulated;
    int direct; /* enum xfp_net_direct */
    int host;   /* number of the first rank on the same host */
    struct xfp_net_nodes nodes;
    int port_count;
    struct xfp_net_port ports[XFP_NET_MOST_INTERFACES];
};

struct xfp_net_run {
    struct xfp_session session;
    const struct xfp_command *command;
    const char *version; /* of the program: all ranks must have the same */
    bool loaded;
    int rank, count;
    struct xfp_net_hello *hellos; /* by rank */
    struct xfp_device *device;    /* this rank's GPU; NULL: none */
    MPI_Comm orders, data, results;
    struct xfp_net_rounds rounds;
    size_t kept;                     /* windows of a size whose times are kept */
    regex_t filter;                  /* --filter, if there is one */
    unsigned parts;                  /* of a pair that it chooses: bits of enum xfp_net_part */
    int failed;                      /* parts that were not measured */
    int leading_ends, pairs_done;    /* rank 0: leaders of this round that are done; pairs */
    uint64_t last_kept_ns;           /* the last checkpoint, or report to rank 0 */
    struct xfp_net_pending *pending; /* messages to rank 0 under way */
};

/* The program. Returns its exit status. */
int xfp_net_main(int argc, char **argv, const char *version);

/* Ends all ranks when an MPI call or a copy in flight has failed: the others wait for this one. One
 * line says why. */
void xfp_net_give_up(struct xfp_net_run *run, const char *why) __attribute__((noreturn));

/* An MPI call's result; gives up on an error. what: "sending". */
void xfp_net_mpi(struct xfp_net_run *run, int result, const char *what);

/* "rank 1 (b)". */
#define XFP_NET_WHO_BYTES 160
const char *xfp_net_who(const struct xfp_net_run *run, int rank, char text[XFP_NET_WHO_BYTES]);

/* One line on stderr, of rank 0 unless it is about this rank alone. */
void xfp_net_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "net-loaded/stream/rank4095-rank4094" */
#define XFP_NAME_TEXT 80

/* Does --filter choose what has that name? All does without one. */
bool xfp_net_is_chosen(const struct xfp_net_run *run, const char *name);

/* Seconds that a pair may take. */
double xfp_net_pair_s(const struct xfp_net_run *run);

/* The ranks get to know each other: all of one version, which machine and GPU each has, what MPI
 * each runs, whether that takes device memory. Opens the session, chooses the GPU, fills hellos and
 * the profile's list of ranks. 0, or the exit status, the same for all, after rank 0's line. */
int xfp_net_introduce(struct xfp_net_run *run);

/* Measures one pair; called by both of its ranks. */
void xfp_net_measure_pair(struct xfp_net_run *run, const struct xfp_net_pair *pair);

/* NCCL over the GPUs of all ranks, where each rank can load it and has a GPU of its own:
 * all-reduce, all-gather, reduce-scatter, and sending to the next rank while receiving from the one
 * before, as nccl-tests measure them. Loaded at run time: libnccl.so.2, or what XFERSCOPE_NCCL
 * names (with a simulated GPU only that). Called by all ranks, after everything else; adds to rank
 * 0's profile. What cannot be measured is a warning there. 0, or -1 when rank 0 found wrong data.
 */
int xfp_net_measure_nccl(struct xfp_net_run *run);

/* MPI's collectives over all ranks, of host memory, as the OSU benchmarks measure them: barrier,
 * broadcast, reduce, all-reduce, all-gather, reduce-scatter, all-to-all. The same otherwise; -1
 * also without memory for them. */
int xfp_net_measure_mpi(struct xfp_net_run *run);

#endif
