/*
 * Ranks of a run that send each other messages: what each did at which true time, in ns since the
 * run began, written down by the clock of its host. ranked_start(), calls in any order,
 * ranked_end(). All have one communicator of all ranks.
 */
#ifndef RANKED_H
#define RANKED_H

#include "tests/analyzer/traces/scenario.h"
#include "xferscope/message.h"
#include "xferscope/profile_network.h"

enum ranked_call {
    CALL_SEND = 40,
    CALL_RECV,
    CALL_ISEND,
    CALL_IRECV,
    CALL_WAIT,
    CALL_BARRIER,
    CALL_ALLREDUCE,
    CALL_NCCL,
    CALL_SENDRECV
};
enum ranked_stack { STACK_EXCHANGE = 40, STACK_WAITING, STACK_WITHIN_MPI };

#define RANKED_COMMUNICATOR 0x77

struct ranked {
    struct trace_builder b;
    struct xft_event *events;
    size_t count, room;
    uint32_t rank, size;
    double offset_ns; /* of the host's clock, when the run began */
    double drift;
    bool no_close;    /* it is killed */
    uint64_t ends_ns; /* when its recording ends; 0: right behind its last call */
};

/* With names, as rank `rank` of `size` on that host; GPU 0 is there. */
void ranked_start(struct ranked *ranked, uint32_t rank, uint32_t size, const char *host);
/* At true times. The pointer is good until the next one. reserved[0]: the thread, below
 * RANKED_THREADS. */
#define RANKED_THREADS 2
struct xft_event *ranked_event(struct ranked *ranked, struct xft_event event, uint64_t from_ns,
                               uint64_t to_ns);
struct xft_event *ranked_send(struct ranked *ranked, uint32_t to, int tag, uint64_t bytes,
                              uint64_t from_ns, uint64_t to_ns);
struct xft_event *ranked_recv(struct ranked *ranked, uint32_t from, int tag, uint64_t bytes,
                              uint64_t from_ns, uint64_t to_ns);
/* Non-blocking ones, which take 100 ns. */
struct xft_event *ranked_isend(struct ranked *ranked, uint32_t to, int tag, uint64_t bytes,
                               uint64_t at_ns, uint64_t request);
struct xft_event *ranked_irecv(struct ranked *ranked, uint32_t from, int tag, uint64_t bytes,
                               uint64_t at_ns, uint64_t request);
/* A call that waits, and the end of a request that began at that time. */
struct xft_event *ranked_wait(struct ranked *ranked, uint64_t from_ns, uint64_t to_ns);
struct xft_event *ranked_ended(struct ranked *ranked, uint64_t request, uint64_t began_ns,
                               uint64_t from_ns, uint64_t to_ns);
struct xft_event *ranked_collective(struct ranked *ranked, enum xft_message what, uint64_t bytes,
                                    uint64_t from_ns, uint64_t to_ns);
/* The trace; build_free(&ranked->b) is the caller's. */
void ranked_end(struct ranked *ranked);

/* Adds to a profile: messages between two hosts (or within one) take lo_ns + bytes / gbps, in both
 * directions. Ranks of the probe are numbered as they are added. */
void ranked_network(struct xfp_profile *profile, const char *from, const char *to, double lo_ns,
                    double gbps);

/* Adds a collective ("net/mpi/all-reduce") of so many ranks (0: not said), of `bytes` and of 20
 * times as many; of 0 bytes, which take 1 ns for each GB/s, alone. */
void ranked_measured(struct xfp_profile *profile, const char *name, uint32_t ranks, uint64_t bytes,
                     double gbps);

/* Adds copies from GPU to GPU between two ranks of the probe, which are there; 0: not measured. */
void ranked_staged(struct xfp_profile *profile, int from, int to, uint64_t bytes, double whole_ns,
                   double pieces_ns, double direct_ns);

/* Of the copies that were added last: with all pieces begun at once; and what the first messages of
 * device memory, of up to so many bytes, take more (in ascending order). */
void ranked_posted(struct xfp_profile *profile, double ns);
void ranked_first_use(struct xfp_profile *profile, uint64_t bytes, double ns);

#endif
