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

/* The driver brings the pages of faults and prefetches from or to a GPU one after the other; the
 * host's own faults are the faulting thread's work. NULL: nobody else waits. */
static struct sim_engine *driver_for(const struct sim_migration *m)
{
    if (!m->prefetched && m->to < 0)
        return NULL;
    return &sim_devices[m->to < 0 ? m->from : m->to].moves[m->to < 0 ? SIM_D2H : SIM_H2D];
}

/* The pages themselves go over the link as fast as page-locked memory. */
static uint64_t over_link_ns(const struct sim_migration *m, uint64_t ns)
{
    struct xfp_place a = {m->from < 0 ? XFT_MEM_PINNED : XFT_MEM_DEVICE, m->from, -1};
    struct xfp_place b = {m->to < 0 ? XFT_MEM_PINNED : XFT_MEM_DEVICE, m->to, -1};
    uint64_t copy = sim_path_ns(XFP_COPY, a, b, m->bytes);

    return copy && copy < ns ? copy : ns;
}

void sim_managed_go(struct sim_range *range, struct sim_migration *m)
{
    enum xfp_method method = m->prefetched ? XFP_PREFETCH : XFP_DEMAND;
    struct sim_engine *driver;
    uint64_t ns, link_ns, begins = m->ready, served;

    m->from = m->to;
    m->bytes = move(range, m->address, m->bytes, m->to, &m->from);
    m->start = m->end = m->ready;
    if (!m->bytes)
        return;
    ns = moving_ns(m->bytes, m->from, m->to, method);
    link_ns = over_link_ns(m, ns);
    driver = driver_for(m);
    served = driver ? sim_engine_take(driver, &(struct sim_engine_use){m->ready, ns, ns}, &begins)
                    : begins + ns;
    m->end =
        sim_engine_take(sim_engine_between(m->from, m->to),
                        &(struct sim_engine_use){served - link_ns, link_ns, link_ns}, &m->start);
    if (driver && driver->end == served) /* it waits for the link, too */
        driver->end = m->end;
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
