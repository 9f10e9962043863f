/* NUMA nodes of the simulated machine, whatever nodes the host has. */
#include "tools/simgpu/gpu/nodes.h"

#include "tools/simgpu/gpu/range.h"

int sim_host_numa(const void *address)
{
    return sim_thread.numa >= 0 ? sim_thread.numa : (int)sim_settings.numa;
}

int sim_locked_numa(void *address, size_t bytes)
{
    return sim_host_numa(NULL);
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
