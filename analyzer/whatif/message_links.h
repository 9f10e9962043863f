/*
 * What each side of a matched message waits for, and how long the message is under way then, found
 * from what was recorded (sums/message_match.h). Private to whatif/.
 *
 * - A receive waits for its send. A send waits for its receive where messages of its size do
 *   (rendezvous), by what was recorded between its two hosts: a send that had ended before its
 *   receive began shows that up to its size none waits (eager); one whose call or wait the begin of
 *   the receive lies in shows that from its size on they wait. Sizes of which neither is shown
 *   wait from XFW_RENDEZVOUS_BYTES on (MPICH's and Open MPI's limits are from 4 KiB to 64 KiB).
 * - In a collective each rank waits for all, where each needs what all gave; for the root, where
 *   that gives (broadcast, scatter); the root for all, where it receives (reduce, gather).
 * - In a scan each rank waits for all of lower rank. It is a chain: a rank that has begun waits for
 *   the part of the one before it (its side RECEIVES) and then gives its own (SENDS), so that what
 *   it gives has been there no sooner than what any rank below gave; its end waits for that. Of a
 *   scan that does not block none is known to wait: when it is passed on is not.
 *
 * Of a call that waited for several messages the one whose other side began last held it up. How
 * long the others were under way is what others of their size took, at most until it returned; so
 * it is of one that had arrived when it was waited for.
 *
 * Times are ns on the clock that all hosts have in common.
 */
#ifndef XFW_MESSAGE_LINKS_H
#define XFW_MESSAGE_LINKS_H

#include "analyzer/analysis/analysis.h"
#include "analyzer/whatif/op.h"

#define XFW_RENDEZVOUS_BYTES ((uint64_t)64 << 10)

struct xfw_link {
    struct xfw_link_key {  /* key */
        uint64_t began_ns; /* of the process's clock */
        uint32_t process, side;
    } key;
    uint32_t group;        /* number of the message, or collective */
    uint8_t posts, awaits; /* sums of enum xfw_of_ranks; 0: nobody waits for it, it for nobody */
    double ready_ns;       /* as recorded: what it awaits had begun */
    double under_way_ns;   /* from when what it awaits had begun to its end */
    double own_ns;         /* at least, of the call that ends it; NAN: as recorded */
};

struct xfw_link_group {
    uint32_t posts, awaits; /* how many of its links do */
};

struct xfw_kernel_part; /* kernel_links.h */

struct xfw_links {
    struct xfa_table all;          /* struct xfw_link */
    struct xfw_link_group *groups; /* by number */
    size_t count, capacity;
    uint64_t messages;        /* pairs and collectives that they are of */
    struct xfa_table kernels; /* struct xfw_kernel */
    struct xfw_kernel_part *parts;
    size_t part_count, part_capacity;
    uint64_t meetings; /* of NCCL, whose kernels are linked */
    uint64_t unmet;    /* calls of NCCL that are of none */
};

/* NULL: nothing was matched. */
struct xfw_links *xfw_links_new(const struct xfa_analysis *analysis);
void xfw_links_free(struct xfw_links *links);

/* Its number; of no links yet. */
uint32_t xfw_links_new_group(struct xfw_links *links);

/* side: enum xfa_message_side, or XFW_ANY_SIDE. NULL: it was not matched. */
const struct xfw_link *xfw_link_of(const struct xfw_links *links, uint32_t process,
                                   uint64_t began_ns, unsigned side);

#endif
