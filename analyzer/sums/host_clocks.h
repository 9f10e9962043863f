/*
 * Clocks of hosts, set to each other by the messages that were matched.
 *
 * A message cannot arrive before it was sent: where one goes from host A to host B, B's clock minus
 * A's is at most the end of the receive minus the begin of the send; one that goes back says what
 * it is at least (Cristian, Probabilistic clock synchronization, 1989). Both bounds along the run
 * are met by straight lines, offset + drift * time, with a drift of at most XFA_MOST_DRIFT. The one
 * that has most room on both sides is taken. Its error is how far any other such line is from it,
 * at the first and the last message: as far as both clocks run evenly the truth is within it.
 *
 * A collective in which each rank needs what all others gave (barrier, all-reduce, all-gather,
 * all-to-all, reduce-scatter) is as good as messages in both directions.
 *
 * Hosts are joined to the first one over the pairs whose error is least; errors add up. Where
 * messages went in one direction only, the clock is put right as far as they contradict it, and its
 * error is not known. Where bounds contradict each other, and where there are no messages, only the
 * hosts' own wall clocks are used.
 */
#ifndef XFA_HOST_CLOCKS_H
#define XFA_HOST_CLOCKS_H

#include "analyzer/run/run.h"

#define XFA_MOST_DRIFT 5e-4 /* what NTP takes for the most that a clock can be out of its rate */
#define XFA_MAX_HOST_PAIRS 1024

enum xfa_clock_basis {
    XFA_CLOCK_OWN,          /* its wall clock */
    XFA_CLOCK_FIRST,        /* the others are set to this one */
    XFA_CLOCK_MESSAGES,     /* messages in both directions */
    XFA_CLOCK_BOUND,        /* in one */
    XFA_CLOCK_CONTRADICTED, /* its wall clock: the messages contradict each other */
};

struct xfa_host_clock {
    enum xfa_clock_basis basis;
    uint64_t messages; /* between it and another host */
    double offset_ns;  /* its clock minus the first host's, in the middle of that one's messages */
    double drift;      /* ns per ns */
    double error_ns;   /* NAN = not known; 0 of the first one */
};

struct xfa_host_clocks {
    struct xfa_host_clock *all; /* by host number */
    size_t count;
    uint64_t from_ns; /* of a wall clock; other times are ns since then */
    struct xfa_host_span {
        double first_ns, last_ns; /* of its messages, by its clock */
        bool any;
    } * spans;              /* by host number */
    double middle_ns;       /* of the first host's messages */
    struct xfa_table pairs; /* host_clocks.c */
};

/* from_ns: about when messages began, of any wall clock. */
void xfa_host_clocks_init(struct xfa_host_clocks *clocks, const struct xfa_run *run,
                          uint64_t from_ns);
void xfa_host_clocks_free(struct xfa_host_clocks *clocks);

/* A message of this process at that time of its own clock: all of them are given before bounds. */
void xfa_host_clocks_span(struct xfa_host_clocks *clocks, const struct xfa_process *process,
                          uint64_t ns);

/* Something that was sent no earlier than `sent_ns` of one process's clock had arrived when that of
 * the other was `arrived_ns`. Nothing on one and the same host. */
void xfa_host_clocks_bound(struct xfa_host_clocks *clocks, const struct xfa_process *from,
                           uint64_t sent_ns, const struct xfa_process *to, uint64_t arrived_ns);

/* All bounds are given. */
void xfa_host_clocks_solve(struct xfa_host_clocks *clocks);

/* A time of a host's wall clock on the first one's: ns since from_ns. */
double xfa_host_clocks_ns(const struct xfa_host_clocks *clocks, uint32_t host, uint64_t wall_ns);

/* The same of a time of a process's clock. */
static inline double xfa_host_clocks_common_ns(const struct xfa_host_clocks *clocks,
                                               const struct xfa_process *process, uint64_t ns)
{
    return xfa_host_clocks_ns(clocks, process->host, xfa_process_wall_ns(process, ns));
}

/* How far times of the two processes may be apart, on that clock; NAN = not known. */
double xfa_host_clocks_error(const struct xfa_host_clocks *clocks, const struct xfa_process *a,
                             const struct xfa_process *b);

#endif
