/*
 * What leaders have measured, on its way to rank 0 and into the file.
 */
#ifndef XFP_NET_COLLECT_H
#define XFP_NET_COLLECT_H

#include "probe/net/net.h"

/* After something was added to the session's profile: with two ranks, at most once a second, it
 * goes to rank 0 or into the partial file (with more, that would be traffic beside what is
 * measured). */
void xfp_net_keep(struct xfp_net_run *run);

/* Is there something to keep? */
bool xfp_net_has_figures(const struct xfp_network *network);

/* The leader's part of a round is over: everything goes to rank 0, and rank 0 learns that. */
void xfp_net_end_lead(struct xfp_net_run *run);

/* Rank 0: takes what has arrived. */
void xfp_net_take_reports(struct xfp_net_run *run);

/* The end of a round, of all ranks. Waits without using a processor. */
void xfp_net_end_round(struct xfp_net_run *run, int round);

/* Waits so until all ranks do. */
void xfp_net_sleep_until_all(struct xfp_net_run *run);

#endif
