#include "analyzer/pass/achievable_message.h"

#include <string.h>

#include "xferscope/message.h"

#define COMPARED_AT (UINT64_C(1) << 20) /* bytes */

static const struct xfp_network *network_of(const struct xfa_achievable *achievable)
{
    return achievable->profile ? achievable->profile->network : NULL;
}

static bool is_host(const struct xfa_achievable *achievable, uint32_t host, int rank)
{
    const struct xfp_network *network = network_of(achievable);
    const char *name = achievable->run->hosts[host].name;
    const char *measured =
        rank >= 0 && (size_t)rank < network->rank_count ? network->ranks[rank].hostname : NULL;
    return name && measured && strcmp(name, measured) == 0;
}

static double at_compared(const struct xfp_net_path *path)
{
    struct xfp_estimate time = xfp_net_time(path, COMPARED_AT);
    return time.basis == XFP_UNKNOWN ? -1 : time.ns;
}

static const struct xfp_net_path *fastest(const struct xfa_achievable *achievable,
                                          uint32_t from_host, uint32_t to_host)
{
    const struct xfp_network *network = network_of(achievable);
    const struct xfp_net_path *best = NULL;
    for (size_t i = 0; i < network->path_count; i++) {
        const struct xfp_net_path *path = &network->paths[i];
        if (path->shape != XFP_NET_PING || path->loaded || path->bound ||
            !is_host(achievable, from_host, path->from) ||
            !is_host(achievable, to_host, path->to) || at_compared(path) < 0)
            continue;
        if (!best || at_compared(path) < at_compared(best))
            best = path;
    }
    return best;
}

static const struct xfp_net_staged *staged(const struct xfa_achievable *achievable,
                                           uint32_t from_host, uint32_t to_host)
{
    const struct xfp_network *network = network_of(achievable);
    for (size_t i = 0; i < network->staged_count; i++) {
        const struct xfp_net_staged *one = &network->staged[i];
        if (!one->loaded && one->point_count && is_host(achievable, from_host, one->from) &&
            is_host(achievable, to_host, one->to))
            return one;
    }
    return NULL;
}

struct xfa_message_path xfa_message_path(const struct xfa_achievable *achievable,
                                         uint32_t from_host, uint32_t to_host)
{
    if (!network_of(achievable))
        return (struct xfa_message_path){NULL, NULL};
    return (struct xfa_message_path){fastest(achievable, from_host, to_host),
                                     staged(achievable, from_host, to_host)};
}

/* Measured at this size, or between two sizes: on the line through these. */
static struct xfp_estimate direct(const struct xfp_net_staged *of, uint64_t bytes)
{
    struct xfp_estimate none = {.basis = XFP_UNKNOWN};
    for (size_t i = 0; of && i < of->point_count; i++) {
        const struct xfp_net_staged_point *at = &of->points[i], *before = i ? at - 1 : NULL;
        if (at->bytes < bytes)
            continue;
        if (!(at->direct_ns > 0))
            return none;
        if (at->bytes == bytes)
            return (struct xfp_estimate){.basis = XFP_MEASURED, .ns = at->direct_ns};
        if (!before || !(before->direct_ns > 0))
            return none;
        double part = (double)(bytes - before->bytes) / (double)(at->bytes - before->bytes);
        return (struct xfp_estimate){.basis = XFP_INTERPOLATED,
                                     .ns = before->direct_ns +
                                           part * (at->direct_ns - before->direct_ns)};
    }
    return none;
}

struct xfp_estimate xfa_achievable_message(const struct xfa_message_path *path, uint64_t bytes,
                                           bool gpu)
{
    if (gpu)
        return direct(path->staged, bytes);
    return path->host ? xfp_net_time(path->host, bytes)
                      : (struct xfp_estimate){.basis = XFP_UNKNOWN};
}

/* ---- collectives ----------------------------------------------------------------------------- */

static size_t measured_on(const struct xfa_achievable *achievable, uint32_t host)
{
    size_t count = 0;
    for (size_t i = 0; i < network_of(achievable)->rank_count; i++)
        count += is_host(achievable, host, (int)i);
    return count;
}

static size_t ranks_on(const uint32_t *hosts, size_t count, uint32_t host)
{
    size_t here = 0;
    for (size_t i = 0; i < count; i++)
        here += hosts[i] == host;
    return here;
}

struct xfa_measured_ranks xfa_measured_ranks_of(const struct xfa_achievable *achievable,
                                                const uint32_t *hosts, size_t count)
{
    const struct xfp_network *network = network_of(achievable);
    struct xfa_measured_ranks ranks = {.count = count};
    if (!network || count == 0)
        return ranks;
    size_t each = ranks_on(hosts, count, hosts[0]);
    bool even = true;
    ranks.all = network->rank_count == count;
    for (size_t i = 0; i < count && (ranks.all || even); i++) {
        size_t here = ranks_on(hosts, count, hosts[i]),
               measured = measured_on(achievable, hosts[i]);
        ranks.all = ranks.all && measured == here;
        even = even && here == each && measured > 0;
    }
    ranks.hosts = even ? (uint32_t)(count / each) : 0;
    return ranks;
}

const char *xfa_unpriced_word(unsigned why)
{
    static const char *const words[] = {
#define WORD(symbol, word) [symbol] = word,
        XFA_UNPRICED_LIST(WORD)
#undef WORD
    };
    return why < XFA_UNPRICED_COUNT ? words[why] : NULL;
}

static struct xfp_estimate time_of(const struct xfp_net_collective *one, uint64_t bytes)
{
    const struct xfp_path same = {.points = one->points, .point_count = one->point_count};
    return xfp_time(&same, bytes);
}

/* NULL: of such ranks it was not measured. */
static const struct xfp_net_collective *collective_of(const struct xfp_network *network,
                                                      const char *library, unsigned what,
                                                      const struct xfa_measured_ranks *ranks)
{
    const struct xfp_net_collective *all =
        ranks->all ? xfp_net_find_collective(network, library, what) : NULL;
    if (all && (all->ranks == 0 || all->ranks == ranks->count))
        return all;
    return ranks->hosts && ranks->count <= UINT32_MAX
               ? xfp_net_find_part(network, library, what, (uint32_t)ranks->count, ranks->hosts)
               : NULL;
}

struct xfa_price xfa_achievable_collective(const struct xfa_achievable *achievable,
                                           const char *library, unsigned what,
                                           const struct xfa_measured_ranks *ranks, uint64_t bytes)
{
    const struct xfp_network *network = network_of(achievable);
    struct xfa_price price = {.time.basis = XFP_UNKNOWN, .why = XFA_UNPRICED_NOT_MEASURED};
    const struct xfp_net_collective *one =
        network ? collective_of(network, library, what, ranks) : NULL;
    if (!one && network && xfp_net_find_collective(network, library, what))
        price.why = XFA_UNPRICED_RANKS;
    if (!one)
        return price;
    price.time = time_of(one, bytes);
    const struct xfp_net_collective *other = xfp_net_other_way(network, one);
    struct xfp_estimate more = other ? time_of(other, bytes) : price.time;
    if (more.basis != XFP_UNKNOWN && more.ns < price.time.ns)
        price.time = more;
    price.why = price.time.basis == XFP_UNKNOWN ? XFA_UNPRICED_SIZE : XFA_PRICED;
    return price;
}
