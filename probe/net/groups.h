/*
 * Some of the ranks, whose collectives are measured as those of all are: communicators of a program
 * often are a host's ranks, one rank of each host, pairs, halves. A shape is a number of hosts and
 * of ranks on each of them: powers of two, all hosts, and all ranks of a host.
 *
 * Of a shape of one host the first ranks of each host that has as many are measured at the same
 * time, since they share nothing; of several hosts those of the first hosts. All other ranks sleep.
 */
#ifndef XFP_NET_GROUPS_H
#define XFP_NET_GROUPS_H

#include "probe/net/net.h"

#define XFP_NET_MOST_SHAPES 12

struct xfp_net_shape_of_ranks {
    int hosts, each; /* ranks on each of them */
};

/* Those worth measuring beside all ranks, what programs use most first; none twice. hosts: by
 * rank, the number of the first rank on the same host. */
size_t xfp_net_list_shapes(const int *hosts, int count,
                           struct xfp_net_shape_of_ranks shapes[XFP_NET_MOST_SHAPES]);

/* Which of the groups of that shape the rank is in, from 0; -1: in none. */
int xfp_net_group_number(const int *hosts, int count, struct xfp_net_shape_of_ranks shape,
                         int rank);

/* Ranks that take part, all or some, as one of them sees them. */
struct xfp_net_group {
    struct xfp_net_run *run;
    int rank, count, hosts; /* its number among them; how many there are, on how many hosts */
    MPI_Comm data;
    MPI_Comm results; /* of all that are measured at the same time; its rank 0 is the run's */
    bool is_part;     /* not of all ranks */
};

/* All ranks, by the communicators of the run. */
struct xfp_net_group xfp_net_all_ranks(struct xfp_net_run *run);

/* Called by all ranks. False: this one is in none, and waits in xfp_net_close_group(). */
bool xfp_net_open_group(struct xfp_net_run *run, struct xfp_net_shape_of_ranks shape,
                        struct xfp_net_group *group);

/* Called by all ranks; those of no group wait here without using a processor. right: of this rank.
 * True when it is of all. */
bool xfp_net_close_group(struct xfp_net_group *group, bool right);

#endif
