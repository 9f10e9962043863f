/*
 * What recording added to the program's times: CUPTI's records by the profile's records/ scalars
 * (the hooks' own cost is in the trace). xfw_op_alone() (op.h) takes all of it out of an op.
 * Private to whatif/. Times are ns, 0 where the profile has none; GPUs are the run's numbers.
 */
#ifndef XFW_RECORDING_COST_H
#define XFW_RECORDING_COST_H

#include "analyzer/pass/achievable.h"
#include "analyzer/whatif/op/op.h"

/* To an asynchronous call, to one that waits, on the device between two copies. */
struct xfw_records_copy {
    double call, blocking, device;
};
/* To a call about a graph: for the graph, and for each of its nodes. */
struct xfw_records_graph {
    double graph, node;
    const struct xfp_table *alone; /* what the call takes without, by nodes; NULL: not known */
};
struct xfw_records_cost {
    bool known;
    double launch, launch_device, set, sync, record;
    double bare_launch;              /* what a launch takes without; 0: not known */
    double first_copy, first_launch; /* once in a process, on top of these */
    double after_wait, after_launch; /* to a launch that is not behind a launch, to an asynchronous
                                        copy to the host behind a launch; 0: as to others */
    double captured;                 /* to a launch that is captured */
    struct xfw_records_graph instantiate, update, destroy, go;
    bool graphs_known;   /* go and the next; else a graph's nodes are as launches */
    double graph_device; /* on the device, for each node of a launched graph */
    bool moves_known;    /* the next two: of each record of managed memory that moved on demand */
    double demanded, fetched;
    struct xfw_records_copy copies[2]; /* to the device, from it */
};
struct xfw_records_cost xfw_records_cost_of(const struct xfa_achievable *achievable, int gpu);

/* How far processes of the machine differ in speed, as a part of what one takes: half of the range
 * of launch/by-process, XFW_MOST_SPEED_ERROR at most; 0 where the profile has none. */
#define XFW_MOST_SPEED_ERROR 0.5
double xfw_speed_error(const struct xfp_profile *profile);

#define XFW_GRAPHS_MET 64 /* executable graphs that are remembered, by hash */

/* Those of each GPU, looked up when first asked for. Zeroed at first but for achievable. */
struct xfw_records_costs {
    const struct xfa_achievable *achievable;
    double own_ns;           /* of the op's thread, since its call before: set by the caller */
    struct xfw_records_met { /* the process has so far; to be cleared where one begins */
        bool copied, launched;
        struct xfw_graph_met {
            uint64_t exec;  /* 0: none */
            uint64_t nodes; /* 0: not known */
            bool uploaded;  /* it was launched, and neither updated nor made anew since */
            bool made;      /* it was instantiated, and neither launched nor updated since */
        } graphs[XFW_GRAPHS_MET];
    } met;
    struct xfw_records_cost of_gpus[XFW_GPUS];
    bool asked[XFW_GPUS];
};

/* What the thread did last that matters: it waited, it launched a kernel, or gave other work. */
enum xfw_behind { XFW_BEHIND_OTHER, XFW_BEHIND_WAIT, XFW_BEHIND_LAUNCH };

/* Sets the op's records_ns and records_device_ns: what records of its call and work added.
 * `blocks`: a copy's call that waits; `records`: enum xft_records, those that came. `behind`: of
 * its thread; is brought up to date. */
void xfw_records_costs_add(struct xfw_records_costs *costs, struct xfw_op *op, bool blocks,
                           uint32_t records, enum xfw_behind *behind);

/* The same for a copy of pageable memory to the device, whose call had staged the data: on the
 * device it pays the mean of both directions' figures (as measured, in the same place as the next).
 */
void xfw_records_costs_staged(struct xfw_records_costs *costs, struct xfw_op *op);

/* What records added on the device to a part of a graph that took duration_ns, and began space_ns
 * behind the one before, when none of the others was running: that space at most, unless it is as
 * short as an empty kernel (docs/results/graph-kernels-h200-2026-11-30.md). */
double xfw_records_of_part(struct xfw_records_costs *costs, int gpu, double duration_ns,
                           double space_ns);

/* The records of a graph that was launched. */
struct xfw_graph_parts {
    uint32_t records, kernels; /* of all; of kernels */
    double device_ns;          /* what they added to its parts on the device, added up */
};

/* The same for a graph that was launched. The profile's graphs have kernels alone: what the driver
 * does for a launch of one with copies or memsets is not known (three times as much was measured,
 * docs/results/replayed-h200-2026-11-30.md), so that the usual is taken out of it, and no more. */
void xfw_records_costs_add_parts(struct xfw_records_costs *costs, struct xfw_op *op,
                                 const struct xfw_graph_parts *parts);

/* The same for managed memory that moved on its demand, or was fetched before its call: of the op's
 * duration and gap_ns, which are known, so much stays at least. */
void xfw_records_costs_add_moves(struct xfw_records_costs *costs, struct xfw_op *op,
                                 double demanded_ns, double fetched_ns);

#endif
