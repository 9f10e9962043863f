/* NUMA nodes of the simulated machine, whatever nodes the host has. */
#include "tools/simgpu/gpu/nodes.h"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/simgpu/gpu/range.h"

int sim_host_numa(const void *address)
{
    return sim_thread.numa >= 0 ? sim_thread.numa : (int)sim_settings.numa;
}

/* Of the calling thread's memory policy: the first node that it names; -1: it has none. */
static int policy_node(void)
{
    unsigned long nodes[64] = {0}; /* as many as any kernel is built for */
    int mode = MPOL_DEFAULT;

    if (syscall(SYS_get_mempolicy, &mode, nodes, 8 * sizeof nodes, NULL, 0ul) != 0 ||
        mode == MPOL_DEFAULT || mode == MPOL_LOCAL)
        return -1;
    for (int i = 0; i < 8 * (int)sizeof nodes; i++)
        if (nodes[i / 64] >> i % 64 & 1)
            return i;
    return -1;
}

int sim_locked_numa(void *address, size_t bytes)
{
    int node = policy_node();

    return sim_thread.numa < 0 && node >= 0 ? node : sim_host_numa(NULL);
}

SIM_EXPORT void xferscope_simgpu_bind_numa(int node)
{
    sim_thread.numa = node;
}

SIM_EXPORT int xferscope_simgpu_numa_of(const void *address)
{
    struct sim_range *r;
    int numa;

    sim_lock();
    r = sim_range_at(address);
    if (r)
        numa = r->memory == XFT_MEM_DEVICE ? -1 : r->numa;
    else
        numa = sim_region_owns(address) ? -1 : sim_host_numa(NULL);
    sim_unlock();
    return numa;
}
