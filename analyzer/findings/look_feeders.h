/*
 * Kernels that only make what the host looks at (frequent-readback): left out with the look. Part
 * of an observer, which passes what comes in the order of calls.
 *
 * A buffer (an allocation in the device's memory) serves looks alone if it is given to such kernels
 * only, and copied by nobody but small copies to the host that are looks. A kernel is such a one
 * if it writes to such buffers only, of which one is looked at, or is read by another such kernel
 * (partial sums, their sum), and if it makes them of memory that it reads only and that other
 * kernels write (as likely, where it outlives a round: else each value is its round's own). So
 * nothing is carried from one round to the next, for all that the arguments show.
 * That it does not add to what it made before is assumed.
 *
 * Sure: what every launch was given is known, and where kernels write stands in their names. Else
 * it is as such at best: a kernel may then write where it is not known to, if nothing says that it
 * must.
 */
#ifndef XFA_LOOK_FEEDERS_H
#define XFA_LOOK_FEEDERS_H

#include "analyzer/findings/divided.h"
#include "analyzer/pass/observer.h"
#include "analyzer/whatif/changes/changes.h"

struct xfa_feeders {
    struct xfw_memories memories;      /* of the process at hand, as are the next */
    struct xfa_table buffers, kernels; /* look_feeders.c */
    struct xfw_signatures signatures;
    uint64_t rounds;          /* looks so far */
    bool sure;                /* being judged: what is so for sure */
    bool unknown;             /* launches that may use anything */
    bool too_many;            /* then nothing is found in the process */
    struct xfw_feeders found; /* of all */
};

#define XFA_FEEDERS_KINDS                                                                          \
    (XFW_MEMORIES_KINDS | XFA_KIND(XFT_EVENT_LAUNCH) | XFA_KIND(XFT_EVENT_GRAPH_LAUNCH) |          \
     XFA_KIND(XFT_EVENT_MESSAGE))

void xfa_feeders_begin(struct xfa_feeders *feeders);
void xfa_feeders_event(struct xfa_feeders *feeders, const struct xfa_event *event);
void xfa_feeders_transfer(struct xfa_feeders *feeders, const struct xfa_event *event, bool look);
void xfa_feeders_end(struct xfa_feeders *feeders, uint32_t process);
void xfa_feeders_free(struct xfa_feeders *feeders); /* leaves it zeroed */

void xfa_feeders_give(const struct xfa_feeders *feeders, struct xfa_parcel *parcel);
void xfa_feeders_take(struct xfa_feeders *feeders, const struct xfa_analysis *analysis,
                      struct xfa_unpacking *from);

#endif
