#include "tools/simgpu/gpu/managed.h"

#include "tools/simgpu/gpu/engine.h"
#include "tools/simgpu/gpu/op.h"
#include "tools/simgpu/gpu/paths.h"
#include "xferscope/trace.h"

int sim_managed_where(const struct sim_range *range, const void *address)
{
    return range->where[(size_t)((const uint8_t *)address - range->start) / SIM_BLOCK];
}

/* Returns how many bytes; *from: where the first of them was. */
static size_t move(struct sim_range *range, const void *address, size_t bytes, int device,
                   int *from)
{
    size_t at = (size_t)((const uint8_t *)address - range->start), end, moved = 0;

    bytes = bytes < range->bytes - at ? bytes : range->bytes - at;
    for (end = at + bytes; at < end;) {
        size_t block = at / SIM_BLOCK, next = (block + 1) * SIM_BLOCK;

        next = next < end ? next : end;
        if (range->where[block] != device) {
            if (!moved)
                *from = range->where[block];
            moved += next - at;
            range->where[block] = (int16_t)device;
        }
        at = next;
    }
    return moved;
}

static uint64_t moving_ns(size_t bytes, int from, int to, enum xfp_method method)
{
    struct xfp_place a = {XFT_MEM_MANAGED, from, -1}, b = {XFT_MEM_MANAGED, to, -1};
    uint64_t ns = sim_path_ns(method, a, b, bytes);

    if (!ns) { /* profiles may name the device's side as plain device memory */
        a.memory = from < 0 ? XFT_MEM_MANAGED : XFT_MEM_DEVICE;
        b.memory = to < 0 ? XFT_MEM_MANAGED : XFT_MEM_DEVICE;
        ns = sim_path_ns(method, a, b, bytes);
    }
    /* not in the profile: 20 us and 5 GB/s */
    return ns ? ns : 20000 + bytes / 5;
}

void sim_managed_go(struct sim_range *range, struct sim_migration *m)
{
    enum xfp_method method = m->prefetched ? XFP_PREFETCH : XFP_DEMAND;
    struct sim_engine *link;
    uint64_t ns;

    m->from = m->to;
    m->bytes = move(range, m->address, m->bytes, m->to, &m->from);
    m->start = m->end = m->ready;
    if (!m->bytes)
        return;
    ns = moving_ns(m->bytes, m->from, m->to, method);
    link = sim_engine_between(m->from, m->to);
    m->end = sim_engine_take(link, &(struct sim_engine_use){m->ready, ns, ns}, &m->start);
}

/* ---- what the hooks learn ---------------------------------------------------------------- */

static void report_fault(const struct sim_migration *m)
{
    struct xferscope_simgpu_activity a = {.what = XFERSCOPE_SIMGPU_FAULT,
                                          .start_ns = m->ready,
                                          .end_ns = m->end,
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
                                          .end_ns = m->end,
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
