/*
 * What one pair measures, in parts with a time each: messages between the hosts' memories, then
 * copies between the GPUs.
 */
#ifndef XFP_NET_PARTS_H
#define XFP_NET_PARTS_H

#include "probe/measure/stats.h"
#include "probe/net/exchange.h"

enum {
    XFP_NET_MOST_SIZES = 64,
    XFP_NET_LEAST_STAGED = 1 << 10,          /* bytes */
    XFP_NET_FEWEST = XFP_FEWEST_SAMPLES + 1, /* samples, and the one that warms up */
};

/* What a size may take in any case: a busy machine may have used up the part's time. */
#define XFP_NET_ALWAYS_NS 3e8

enum xfp_net_part {
    XFP_NET_PINGS,
    XFP_NET_STREAMS,
    XFP_NET_BOTHS,
    XFP_NET_NODES,
    XFP_NET_STAGED_COPIES
};

/* Of the pairs in the schedule: which parts --filter chooses any of, among which their time is
 * divided. Needs the run's filter and hosts. */
void xfp_net_choose_parts(struct xfp_net_run *run);

/* That share of the part's time counts from now on. */
void xfp_net_begin_part(struct xfp_net_run *run, enum xfp_net_part part, double share);

/* What is left of it, in ns. */
double xfp_net_left_ns(const struct xfp_net_run *run);

/* Whether the fewest samples of the next size, of that length in all, would go beyond the part's
 * time; short ones are measured all the same, since a busy machine may have used it up. */
bool xfp_net_too_long(const struct xfp_net_run *run, double ns);

/* A part that ends before its largest size says so. */
void xfp_net_warn_of_end(struct xfp_net_run *run, const char *name, uint64_t bytes);

/* "net/stream/rank0-rank1", of a link whose ranks are bound "net/stream/rank0-rank1/node0-node1".
 */
void xfp_net_name(const struct xfp_net_link *link, const char *what, char name[XFP_NAME_TEXT]);

/* The leader's parts. Each adds to the session's profile after every size. 0, or -1 with the
 * session's error. */
int xfp_net_sweep_messages(struct xfp_net_link *link, enum xfp_net_shape shape,
                           enum xfp_net_part part, double share);
/* Messages by NUMA node (nodes.h); nothing where both have one. What the system does not let be
 * bound is not measured, with a warning. */
int xfp_net_sweep_nodes(struct xfp_net_link *link);
int xfp_net_sweep_staged(struct xfp_net_link *link, const uint64_t *sizes, size_t count);

/* What the first of so many round trips took beyond the median of their second half, up to the one
 * that takes about as much as these. */
#define XFP_NET_MOST_FIRST 16
double xfp_net_first_excess(const double *times, size_t count);

/* L+o, g and G of a message, when both shapes that they come from are there. */
void xfp_net_fit(struct xfp_net_run *run, int peer);

/* The sizes of staged copies; sizes has room for XFP_NET_MOST_SIZES. */
size_t xfp_net_staged_sizes(const struct xfp_net_run *run, uint64_t *sizes);

#endif
