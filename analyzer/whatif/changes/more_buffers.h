/*
 * Page-locked memory of the host that copies of several parts in flight need: each part a buffer of
 * its own, where the program uses one for all. Private to changes/.
 */
#ifndef XFW_MORE_BUFFERS_H
#define XFW_MORE_BUFFERS_H

#include "analyzer/base/table.h"
#include "analyzer/whatif/schedule/change.h"

#define XFW_MOST_MORE_BUFFERS 65536 /* of a process; further ones cost nothing */

struct xfw_more_buffers {   /* zeroed at first */
    struct xfa_table uses;  /* by address, stream and direction */
    struct xfa_table freed; /* by address: how often memory there was freed */
};
void xfw_more_buffers_free(struct xfw_more_buffers *buffers);

/* The memory there is freed: what is there later is another buffer. */
void xfw_more_buffers_freed(struct xfw_more_buffers *buffers, uint64_t address);

/* Copies of one part of a stream's work in one direction that continue each other are of one
 * buffer. */
struct xfw_more_run { /* zeroed at first */
    uint64_t first, end;
    uint64_t part; /* of the stream, from 1 on */
};

/* What a copy of some part uses. */
struct xfw_more_use {
    uint64_t first, bytes; /* first 0: not known */
    uint64_t part;
    uint32_t stream; /* of the process */
    int node, gpu;   /* -1: not known */
    bool to_host;
};
/* Fills the use in, all but its part; of rows the bytes alone count. False: the copy is of pageable
 * memory. (One that a change has inserted is not.) */
bool xfw_more_use_of_copy(struct xfw_more_use *use, const struct xfa_analysis *analysis,
                          const struct xfw_op *op);

/* Host time, ns, to have buffers for `in_flight` parts of the stream (its share of its thread's),
 * page-locked in the cheapest way (xfw_pinning_cost()), beyond what this returned before: 0 for the
 * first part that uses the memory, and where the program uses so many buffers by turns itself. */
double xfw_more_buffers_ns(struct xfw_more_buffers *buffers, struct xfw_more_run *run,
                           const struct xfa_achievable *achievable, const struct xfw_more_use *use,
                           double in_flight, enum xfw_certainty certainty);

#endif
