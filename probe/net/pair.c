/*
 * One pair: each of its ranks leads once.
 */
#include <stdio.h>

#include "probe/net/collect.h"
#include "probe/net/nodes.h"
#include "probe/net/parts.h"

static bool have_gpus(const struct xfp_net_link *link)
{
    const struct xfp_net_run *run = link->run;

    return run->hellos[run->rank].gpu >= 0 && run->hellos[link->peer].gpu >= 0;
}

static int lead_gpus(struct xfp_net_link *link)
{
    struct xfp_net_order order = {.what = XFP_NET_OPEN};
    uint64_t sizes[XFP_NET_MOST_SIZES];
    size_t count = xfp_net_staged_sizes(link->run, sizes);
    char name[XFP_NAME_TEXT];
    int bad;

    xfp_net_name(link, "staged", name);
    if (!have_gpus(link) || !count || !xfp_net_is_chosen(link->run, name))
        return 0;
    order.bytes = sizes[count - 1];
    bad = xfp_net_lead(link, &order, NULL);
    if (!bad)
        bad = xfp_net_sweep_staged(link, sizes, count);
    order.what = XFP_NET_CLOSE;
    xfp_net_lead(link, &order, NULL);
    return bad;
}

/* Figures of one part are worth keeping although another part failed. */
static void judge(struct xfp_net_run *run, int peer, int bad)
{
    char who[XFP_NET_WHO_BYTES], what[XFP_NET_WHO_BYTES + 260];

    if (!bad)
        return;
    snprintf(what, sizeof(what), "with %s: %s", xfp_net_who(run, peer, who),
             run->session.sys.error);
    xfp_warn(&run->session.sys, "%s", what);
    xfp_net_say("%s", what);
    run->failed++;
}

static void lead(struct xfp_net_link *link, bool first)
{
    struct xfp_net_run *run = link->run;
    int bad = xfp_net_sweep_messages(link, XFP_NET_PING, XFP_NET_PINGS, 1) ||
              xfp_net_sweep_messages(link, XFP_NET_STREAM, XFP_NET_STREAMS, 1);

    xfp_net_fit(run, link->peer);
    if (!bad && first) /* the same from either end */
        bad = xfp_net_sweep_messages(link, XFP_NET_BOTH, XFP_NET_BOTHS, 1);
    judge(run, link->peer, bad);
    if (!bad)
        judge(run, link->peer, xfp_net_sweep_nodes(link));
    judge(run, link->peer, lead_gpus(link));
    xfp_net_end_orders(link);
    xfp_net_end_lead(run);
}

void xfp_net_measure_pair(struct xfp_net_run *run, const struct xfp_net_pair *pair)
{
    bool first = run->rank == pair->a;
    struct xfp_net_link link = xfp_net_link_to(run, first ? pair->b : pair->a);

    if (first)
        lead(&link, true);
    xfp_net_follow(&link);
    if (!first)
        lead(&link, false);
}
