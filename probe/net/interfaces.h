/*
 * The network interfaces of this machine, and which of them moved the bytes: their counters are
 * read before and after. Those of the kernel (of this process's network namespace), and ports of
 * InfiniBand and RoCE devices, which the kernel's counters do not see ("mlx5_0/1").
 */
#ifndef XFP_NET_INTERFACES_H
#define XFP_NET_INTERFACES_H

#include <stddef.h>
#include <stdint.h>

#define XFP_NET_MOST_INTERFACES 32
#define XFP_NET_NAME_BYTES 32

struct xfp_net_port {
    char name[XFP_NET_NAME_BYTES], driver[XFP_NET_NAME_BYTES];
    uint64_t mbps; /* 0 = not known */
    int mtu;
    uint64_t sent; /* bytes since it is up */
};

/* Those that are up. Returns how many, at most XFP_NET_MOST_INTERFACES. */
size_t xfp_net_read_ports(struct xfp_net_port *ports);

/* Reads the lines of /proc/net/dev: the names and bytes sent. For tests, apart. */
size_t xfp_net_parse_counters(const char *text, struct xfp_net_port *ports, size_t room);

/* The port that sent the most of them in between, if that is at least half of `bytes`; else "". */
const char *xfp_net_used_port(const struct xfp_net_port *before, size_t before_count,
                              const struct xfp_net_port *after, size_t after_count, uint64_t bytes);

#endif
