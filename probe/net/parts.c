#include "probe/net/parts.h"

#include <math.h>
#include <stdio.h>

#include "probe/measure/budget.h"
#include "probe/net/nodes.h"

/* Seconds for a leader's parts, by default and with --quick. */
static const struct {
    double usual, quick;
} seconds[] = {
    [XFP_NET_PINGS] = {2, 0.4}, [XFP_NET_STREAMS] = {4, 0.8},        [XFP_NET_BOTHS] = {3, 0.6},
    [XFP_NET_NODES] = {8, 1.6}, [XFP_NET_STAGED_COPIES] = {11, 2.7},
};

static double seconds_of(const struct xfp_net_run *run, enum xfp_net_part part)
{
    if (!(run->parts & 1u << part))
        return 0;
    return run->session.options->quick ? seconds[part].quick : seconds[part].usual;
}

/* Both ranks lead, and one of them measures both directions at once. */
static double usual_s(const struct xfp_net_run *run)
{
    double nodes = xfp_net_has_nodes(run) ? seconds_of(run, XFP_NET_NODES) : 0;

    return 2 * (seconds_of(run, XFP_NET_PINGS) + seconds_of(run, XFP_NET_STREAMS) + nodes +
                seconds_of(run, XFP_NET_STAGED_COPIES)) +
           seconds_of(run, XFP_NET_BOTHS);
}

/* ---- which ----------------------------------------------------------------------------------- */

static const char *const words[] = {
    [XFP_NET_PINGS] = "ping", [XFP_NET_STREAMS] = "stream",       [XFP_NET_BOTHS] = "both",
    [XFP_NET_NODES] = "",     [XFP_NET_STAGED_COPIES] = "staged",
};

/* By node: both shapes, of any of the ranks' nodes. */
static bool chooses_nodes(struct xfp_net_link *link)
{
    struct xfp_net_node_pair pairs[XFP_NET_MOST_NODE_PAIRS];
    const struct xfp_net_hello *hellos = link->run->hellos;
    size_t count =
        xfp_net_node_pairs(&hellos[link->run->rank].nodes, &hellos[link->peer].nodes, pairs);
    char name[XFP_NAME_TEXT];
    bool chosen = false;

    link->bound = true;
    for (size_t i = 0; i < 2 * count && !chosen; i++) {
        link->nodes = pairs[i / 2];
        xfp_net_name(link, i % 2 ? "ping" : "stream", name);
        chosen = xfp_net_is_chosen(link->run, name);
    }
    link->bound = false;
    return chosen;
}

static unsigned parts_of(struct xfp_net_link *link)
{
    char name[XFP_NAME_TEXT];
    unsigned parts = chooses_nodes(link) ? 1u << XFP_NET_NODES : 0;

    for (unsigned part = 0; part < sizeof(words) / sizeof(*words); part++) {
        xfp_net_name(link, words[part], name);
        if (*words[part] && xfp_net_is_chosen(link->run, name))
            parts |= 1u << part;
    }
    return parts;
}

void xfp_net_choose_parts(struct xfp_net_run *run)
{
    struct xfp_net_run as = *run; /* as each of the ranks would lead */

    for (size_t i = 0; i < 2 * run->rounds.count; i++) {
        const struct xfp_net_pair *pair = &run->rounds.pairs[i / 2];
        struct xfp_net_link link = xfp_net_link_to(&as, i % 2 ? pair->a : pair->b);

        as.rank = i % 2 ? pair->b : pair->a;
        run->parts |= parts_of(&link);
    }
}

/* ---- time ------------------------------------------------------------------------------------ */

double xfp_net_pair_s(const struct xfp_net_run *run)
{
    double limit = run->session.options->time_limit_s;

    return limit > 0 ? limit : usual_s(run);
}

void xfp_net_begin_part(struct xfp_net_run *run, enum xfp_net_part part, double share)
{
    double s = share * seconds_of(run, part) * xfp_net_pair_s(run) / usual_s(run);

    run->session.bench_deadline_ns = xfp_wall_ns() + (uint64_t)(s * 1e9);
}

double xfp_net_left_ns(const struct xfp_net_run *run)
{
    uint64_t now = xfp_wall_ns(), until = run->session.bench_deadline_ns;

    return until > now ? (double)(until - now) : 0;
}

bool xfp_net_too_long(const struct xfp_net_run *run, double ns)
{
    return ns > fmax(xfp_net_left_ns(run), XFP_NET_ALWAYS_NS);
}

void xfp_net_warn_of_end(struct xfp_net_run *run, const char *name, uint64_t bytes)
{
    xfp_warn(&run->session.sys,
             "%s: sizes from %llu bytes on are not measured: the time for them is over "
             "(--time-limit)",
             name, (unsigned long long)bytes);
}

void xfp_net_name(const struct xfp_net_link *link, const char *what, char name[XFP_NAME_TEXT])
{
    const struct xfp_net_run *run = link->run;
    char nodes[32] = "";

    if (link->bound)
        snprintf(nodes, sizeof(nodes), "/node%d-node%d", link->nodes.own, link->nodes.peers);
    snprintf(name, XFP_NAME_TEXT, "%s/%s/rank%d-rank%d%s", run->loaded ? "net-loaded" : "net", what,
             run->rank, link->peer, nodes);
}
