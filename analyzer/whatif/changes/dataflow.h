/*
 * Copies leave their stream's order: those to the host, and if asked for those to the device, go to
 * streams of their own, and copies and kernels wait for the data that they need alone (spans.h).
 * What a program does that works on several parts of its data in several streams, or with several
 * buffers.
 *
 *   - A part of the work is copies to the device, kernels, copies to the host, of one stream, in
 *     this order; the next one begins where the order does again. As many parts are under way as
 *     there are buffers: a part begins when the one so many before it is done.
 *   - A kernel waits for the copies of what it is given, a copy to the host for the kernels that
 *     were given its source, a copy to the device for one that brings its source to the host.
 *   - Copies that now meet those of the other direction take as long as the profile says of copies
 *     in both directions. On a GPU with one copy engine they do not meet.
 *   - With one buffer nothing leaves: that is for comparison, and is not advised.
 *   - Copies of page-locked memory that made the host wait are asynchronous; the host waits for
 *     them where it then had the time to read or write that much. Copies of pageable memory stay
 *     where they are.
 *   - Waits stay, and wait for what they waited for.
 *
 * At worst each copy costs the host an event recorded and waited for, blocking copies go on
 * blocking, and kernels do not write what is still being fetched. At best a wait is for the part
 * that is as far back as there are buffers.
 */
#ifndef XFW_CHANGE_DATAFLOW_H
#define XFW_CHANGE_DATAFLOW_H

#include "analyzer/whatif/change.h"

#define XFW_MOST_STREAMS 8

struct xfw_dataflow_terms {
    unsigned buffers; /* 1 to XFW_MOST_STREAMS */
    bool to_device;   /* copies to the device leave as well */
    /* Made first: one that page-locks memory, after which its copies are of page-locked memory.
     * Taken over; NULL: none. */
    struct xfw_change *first;
};

struct xfw_change *xfw_change_dataflow(const struct xfa_analysis *analysis,
                                       const struct xfw_dataflow_terms *terms);

#endif
