/*
 * Collectives of all ranks or of some (groups.h), of NCCL's (nccl.c) and of MPI's (mpi.c): which
 * sizes, how often, for how long, and what must come of them. All ranks of a group call this alike;
 * rank 0 decides, and adds to its profile. The time of a call is that of the rank that takes
 * longest.
 */
#ifndef XFP_NET_COLLECTIVES_H
#define XFP_NET_COLLECTIVES_H

#include "probe/net/groups.h"
#include "xferscope/message.h"

/* Whose they are. Operations are of enum xft_message; SENDRECV: each rank sends to the next one and
 * receives from the one before. `bytes` are what a rank gives or gets, the larger of the two. */
struct xfp_net_library {
    const char *name; /* "NCCL" */
    const char *word; /* "nccl", in the names of its collectives */
    const char *way;  /* "-block", behind them: another function for the same; "" */
    void *self;
    /* ns that one of so many calls takes, by this rank's clock. */
    double (*timed)(void *self, enum xft_message what, size_t bytes, int repeats);
    /* One call; whether every element of this rank's result is as expected. */
    bool (*is_right)(void *self, enum xft_message what, size_t bytes);
};

/* True when every rank that takes part says so. */
bool xfp_net_all_say(const struct xfp_net_group *group, bool yes);

/* What a rank gives: elements are float, so that sums of them are exact. */
void xfp_net_fill(float *values, size_t count, int rank);

/* Elements of this rank's result; and whether these are right. */
size_t xfp_net_result_count(const struct xfp_net_group *group, enum xft_message what, size_t bytes);
bool xfp_net_is_result(const struct xfp_net_group *group, enum xft_message what, size_t bytes,
                       const float *got);

/* Does --filter choose any of them, of ranks in that shape (NULL: of all)? */
bool xfp_net_choose_collectives(const struct xfp_net_run *run,
                                const struct xfp_net_library *library,
                                const struct xfp_net_shape_of_ranks *shape,
                                const enum xft_message *operations, size_t count);

/* What a library's may take, of all ranks; of all groups of some together as much again. */
double xfp_net_collectives_s(const struct xfp_net_run *run);

/* All sizes (of some ranks every other one) of those of these operations that --filter chooses, in
 * so many seconds. False: wrong data, on some rank; later operations are not measured then. */
bool xfp_net_measure_collectives(const struct xfp_net_group *group,
                                 const struct xfp_net_library *library,
                                 const enum xft_message *operations, size_t count, double seconds);

/* Does --filter choose any of some ranks? As for the next function. */
bool xfp_net_choose_parts_of(struct xfp_net_run *run, const struct xfp_net_library *library,
                             const enum xft_message *operations, size_t count, size_t most_shapes);

/* What a library does for some of the ranks: of at most so many shapes, in the order of
 * xfp_net_list_shapes(). measure() is called by the ranks of a group; false: wrong data. */
bool xfp_net_measure_parts(struct xfp_net_run *run, const struct xfp_net_library *library,
                           const enum xft_message *operations, size_t count, size_t most_shapes,
                           bool (*measure)(void *self, const struct xfp_net_group *group,
                                           double seconds));

#endif
