/*
 * Kernels that read memory of the host in place: how long they need the link for. Private to
 * whatif/, but for the times. Times are ns.
 */
#ifndef XFW_OPS_LINK_H
#define XFW_OPS_LINK_H

#include "analyzer/pass/achievable.h"
#include "analyzer/pass/event.h"
#include "analyzer/sums/blocks.h"
#include "analyzer/whatif/op/op.h"

/* To read (or write) so many bytes of the host's memory, each once; NAN: not measured. */
double xfw_mapped_ns(const struct xfa_achievable *achievable, int gpu, bool writes, double bytes);

/* To read so many bytes of the host's memory once, where the bytes take longer than an access as
 * such; 0: they do not, or it was not measured. */
double xfw_read_once_ns(const struct xfa_achievable *achievable, int gpu, uint64_t bytes);

#define XFW_READERS 64 /* kinds of launches that are remembered: a power of two */

/* Time to move so much between the host and a GPU, by the profile: of several NUMA nodes the
 * fastest. */
struct xfw_moving {
    struct xfp_estimate estimate; /* basis XFP_UNKNOWN: not measured */
    double call_ns;               /* the host's; NAN: not measured */
};
struct xfw_moving xfw_moving_of(const struct xfa_achievable *achievable, enum xfp_method method,
                                enum xft_direction direction, int gpu, uint64_t bytes);

/* What it takes on demand: as many pieces of as many bytes as the host's faults brought, one after
 * the other, or all at once where there are no records of faults. */
struct xfp_estimate xfw_demand_of(const struct xfa_achievable *achievable,
                                  enum xft_direction direction, const struct xfw_moved *moved);

/* The same at least; 0: nothing moved, or it was not measured. */
double xfw_demand_least_ns(const struct xfa_achievable *achievable, enum xft_direction direction,
                           const struct xfw_moved *moved);

/* Of the process at hand. Starts zeroed. */
struct xfw_readers {
    const struct xfa_process *process;
    struct xfa_blocks memory; /* page-locked */
    struct xfw_reader {
        uint32_t arguments; /* id in ARGUMENTS; 0: none yet */
        int gpu;
        double reach_ns, link_ns;
    } readers[XFW_READERS];
};
/* What was known of the process before is forgotten. */
void xfw_readers_begin(struct xfw_readers *readers, const struct xfa_process *process);
void xfw_readers_end(struct xfw_readers *readers);

/* A call that may allocate, register or free. */
void xfw_readers_call(struct xfw_readers *readers, const struct xfa_event *event);

/* Sets reach_ns and link_ns of a kernel that was given page-locked memory: as if it read all of it
 * once. (What it writes goes the other way: that is taken for read, too.) */
void xfw_readers_launch(struct xfw_readers *readers, const struct xfa_achievable *achievable,
                        struct xfw_op *op);

#endif
