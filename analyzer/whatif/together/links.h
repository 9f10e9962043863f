/*
 * Whom the calls of MPI and the kernels of NCCL of a run wait for: links, each a part of a group (a
 * message, a collective, a meeting), which have begun once all of those that post have.
 * message_links.h adds those of messages, kernel_links.h those of kernels. Private to whatif/.
 */
#ifndef XFW_LINKS_H
#define XFW_LINKS_H

#include "analyzer/analysis/analysis.h"
#include "analyzer/whatif/op/op.h"

#define XFW_MOST_BELOW 63

struct xfw_link {
    struct xfw_link_key {  /* key */
        uint64_t began_ns; /* of the process's clock */
        uint32_t process, side;
    } key;
    uint32_t group;        /* number of the message, or collective */
    uint32_t below;        /* it awaits the groups of so many numbers below, too */
    uint8_t posts, awaits; /* sums of enum xfw_of_ranks; 0: nobody waits for it, it for nobody */
    double ready_ns;       /* as recorded: what it awaits had begun */
    double under_way_ns;   /* from when what it awaits had begun to its end */
    double own_ns;         /* at least, of the call that ends it; NAN: as recorded */
};

struct xfw_link_group {
    uint32_t posts, awaits; /* how many of its links do */
};

struct xfw_meeting_part {
    uint32_t group;        /* of struct xfw_links */
    uint32_t next;         /* of the same kernel, its place + 1; 0: none */
    uint8_t posts, awaits; /* sums of enum xfw_of_ranks */
    double under_way_ns;   /* from when what it awaits had begun to its end */
    double later_ns;       /* its clock is so much behind those of the others */
};

struct xfw_kernel {
    struct xfw_kernel_key { /* key */
        uint32_t process, correlation;
    } key;
    uint32_t first, count; /* parts: place + 1 of the first */
    bool waits;            /* any of its parts does */
};

struct xfw_links {
    struct xfa_table all;          /* struct xfw_link */
    struct xfw_link_group *groups; /* by number */
    size_t count, capacity;
    uint64_t messages;        /* pairs and collectives that they are of */
    struct xfa_table kernels; /* struct xfw_kernel */
    struct xfw_meeting_part *parts;
    size_t part_count, part_capacity;
    uint64_t meetings; /* of NCCL, whose kernels are linked */
    uint64_t unmet;    /* calls of NCCL that are of none */
};

/* Of nothing yet. */
struct xfw_links *xfw_links_new(void);
void xfw_links_free(struct xfw_links *links); /* NULL is allowed */

/* Its number; of no links yet. */
uint32_t xfw_links_new_group(struct xfw_links *links);

/* side: enum xfa_message_side, or XFW_ANY_SIDE. NULL: it was not matched. */
const struct xfw_link *xfw_link_of(const struct xfw_links *links, uint32_t process,
                                   uint64_t began_ns, unsigned side);

#endif
