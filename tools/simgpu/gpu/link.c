#include "tools/simgpu/gpu/link.h"

#include "tools/simgpu/gpu/engine.h"
#include "tools/simgpu/gpu/op.h"
#include "tools/simgpu/gpu/paths.h"
#include "xferscope/trace.h"

static struct xfp_place place_of(const struct sim_range *range)
{
    bool device = range->memory == XFT_MEM_DEVICE;

    return (struct xfp_place){range->memory, device ? range->device : -1,
                              device ? -1 : range->numa};
}

static uint64_t path_ns(const struct sim_reach *reach, size_t bytes)
{
    struct xfp_place here = {XFT_MEM_DEVICE, reach->device, -1}, there = place_of(reach->range);

    return reach->write ? sim_path_ns(XFP_MAPPED_WRITE, here, there, bytes)
                        : sim_path_ns(XFP_MAPPED_READ, there, here, bytes);
}

uint64_t sim_reach_alone_ns(const struct sim_reach *reach)
{
    return path_ns(reach, reach->bytes);
}

/* The latency of the first access passes while the link is busy with something else. */
uint64_t sim_reach_ns(const struct sim_reach *reach)
{
    uint64_t alone = sim_reach_alone_ns(reach), latency = path_ns(reach, 1);
    int there = place_of(reach->range).device;
    struct sim_engine *link = reach->write ? sim_engine_between(reach->device, there)
                                           : sim_engine_between(there, reach->device);

    latency = latency < alone ? latency : alone;
    if (!alone)
        return 0;
    return sim_engine_share(link, reach->ready + latency, alone - latency) - reach->ready;
}
