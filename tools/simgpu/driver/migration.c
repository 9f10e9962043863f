/*
 * What the hooks learn of managed memory that moves.
 */
#include "tools/simgpu/driver/memory.h"
#include "tools/simgpu/driver/sim.h"
#include "xferscope/trace.h"

static void report_fault(const struct sim_migration *m)
{
    struct xferscope_simgpu_activity a = {.what = XFERSCOPE_SIMGPU_FAULT,
                                          .start_ns = m->start,
                                          .end_ns = m->start + m->ns,
                                          .device = (uint32_t)(m->to < 0 ? 0 : m->to),
                                          .src_device = m->from,
                                          .dst_device = m->to,
                                          .count =
                                              (unsigned)((m->bytes + SIM_BLOCK - 1) / SIM_BLOCK),
                                          .address = m->address,
                                          .write = m->write,
                                          .instruction = m->instruction};

    sim_hooks->activity(&a);
}

bool sim_report_migration(const struct sim_migration *m)
{
    struct xferscope_simgpu_activity a = {.what = XFERSCOPE_SIMGPU_MIGRATION,
                                          .start_ns = m->start,
                                          .end_ns = m->start + m->ns,
                                          .bytes = m->bytes,
                                          .device = (uint32_t)(m->to < 0 ? m->from : m->to),
                                          .src_device = m->from,
                                          .dst_device = m->to,
                                          .address = m->address,
                                          .cause =
                                              m->prefetched ? XFT_CAUSE_USER : XFT_CAUSE_COHERENCE};

    if (!sim_hooks || !sim_hooks->activity || !m->bytes)
        return false;
    if (!m->prefetched)
        report_fault(m);
    return sim_hooks->activity(&a);
}
