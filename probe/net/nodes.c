#include "probe/net/nodes.h"

#include <string.h>
#include <sys/mman.h>

#include "probe/device/buffer.h"

/* ---- which ----------------------------------------------------------------------------------- */

size_t xfp_net_node_pairs(const struct xfp_net_nodes *own, const struct xfp_net_nodes *peers,
                          struct xfp_net_node_pair pairs[XFP_NET_MOST_NODE_PAIRS])
{
    size_t m = (size_t)own->count, n = (size_t)peers->count, count = 0;
    size_t all = m * n, longer = m > n ? m : n;

    if (m < 1 || n < 1 || longer < 2)
        return 0;
    if (all > XFP_NET_MOST_NODE_PAIRS) /* each with one of the other's */
        all = longer < XFP_NET_MOST_NODE_PAIRS ? longer : XFP_NET_MOST_NODE_PAIRS;
    for (size_t i = 0; i < all; i++)
        pairs[count++] =
            (struct xfp_net_node_pair){own->all[all == m * n ? i / n : i % m], peers->all[i % n]};
    return count;
}

bool xfp_net_has_nodes(const struct xfp_net_run *run)
{
    for (int i = 0; i < run->count; i++)
        if (run->hellos[i].nodes.count > 1)
            return true;
    return false;
}

/* ---- binding --------------------------------------------------------------------------------- */

static void leave(struct xfp_net_link *link)
{
    if (link->bytes)
        munmap(link->sent, 2 * link->bytes);
    link->bytes = 0;
    link->sent = link->run->session.sys.pattern;
    link->received = link->run->session.sys.check;
}

/* One mapping: what is sent, then what is received, touched where it is to be. */
static int bind_memory(struct xfp_net_link *link, int node)
{
    struct xfp_system *sys = &link->run->session.sys;
    size_t bytes = sys->most_bytes;
    unsigned char *memory;

    if (xfp_bind(sys, node))
        return xfp_fail(sys, "the system does not let it be bound to NUMA node %d", node);
    memory = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return xfp_fail(sys, "out of memory");
    memcpy(memory, sys->pattern, bytes);
    memset(memory + bytes, 0, bytes);
    link->sent = memory;
    link->received = memory + bytes;
    link->bytes = bytes;
    return 0;
}

int xfp_net_place(struct xfp_net_link *link, int node)
{
    struct xfp_system *sys = &link->run->session.sys;

    leave(link);
    if (node >= 0 && !bind_memory(link, node))
        return 0;
    xfp_unbind(sys);
    return node < 0 ? 0 : -1;
}
