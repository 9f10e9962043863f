#include "tools/simgpu/gpu/managed.h"

#include "tools/simgpu/gpu/engine.h"
#include "tools/simgpu/gpu/op.h"
#include "tools/simgpu/gpu/paths.h"
#include "xferscope/trace.h"

int sim_managed_where(const struct sim_range *range, const void *address)
{
    return range->where[(size_t)((const uint8_t *)address - range->start) / SIM_BLOCK];
}

/* ---- what was advised -------------------------------------------------------------------- */

static size_t block_count(const struct sim_range *range)
{
    return (range->bytes + SIM_BLOCK - 1) / SIM_BLOCK;
}

/* -1: the host. */
static uint32_t bit_of(int place)
{
    return (uint32_t)1 << (place + 1);
}

/* Of the copies to read one is left, where it is preferred or else where the data came from. */
static void collapse(struct sim_range *range)
{
    int preferred = range->preferred.type == XCU_LOCATION_DEVICE ? range->preferred.id : -1;

    for (size_t i = 0; i < block_count(range); i++) {
        if (range->preferred.type && range->copies[i] & bit_of(preferred))
            range->where[i] = (int16_t)preferred;
        range->copies[i] = 0;
    }
}

void sim_managed_advise(struct sim_range *range, enum sim_advice advice, struct xcu_location where)
{
    uint32_t bit = where.type == XCU_LOCATION_DEVICE ? (uint32_t)1 << where.id : 0;

    switch (advice) {
    case SIM_READ_MOSTLY:
        range->read_mostly = true;
        break;
    case SIM_NOT_READ_MOSTLY:
        range->read_mostly = false;
        collapse(range);
        break;
    case SIM_PREFERRED:
        range->preferred = where;
        break;
    case SIM_NOT_PREFERRED:
        range->preferred = (struct xcu_location){0};
        break;
    case SIM_ACCESSED_BY:
        range->accessed_by |= bit;
        break;
    case SIM_NOT_ACCESSED_BY:
        range->accessed_by &= ~bit;
        break;
    }
}

/* Copies to read come before all other advice. Only memory of the host is reached in place. */
static bool stays_with_host(const struct sim_range *range, size_t block, int device)
{
    bool preferred = range->preferred.type && range->preferred.type != XCU_LOCATION_DEVICE;

    return device >= 0 && range->where[block] < 0 && !range->read_mostly &&
           (preferred || range->accessed_by >> device & 1);
}

/* ---- where it is ------------------------------------------------------------------------- */

/* The next block's part of what is left: from *at on, its bytes; 0: nothing is left. */
static size_t next_part(size_t *at, size_t end, size_t *block)
{
    size_t from = *at, next;

    *block = from / SIM_BLOCK;
    next = (*block + 1) * SIM_BLOCK;
    *at = next < end ? next : end;
    return *at - from;
}

static size_t end_of(const struct sim_range *range, size_t at, size_t bytes)
{
    return at + (bytes < range->bytes - at ? bytes : range->bytes - at);
}

size_t sim_managed_in_place(const struct sim_range *range, const void *address, size_t bytes,
                            int device)
{
    size_t at = (size_t)((const uint8_t *)address - range->start), sum = 0, part, block;
    size_t end = end_of(range, at, bytes);

    while ((part = next_part(&at, end, &block)))
        sum += stays_with_host(range, block, device) ? part : 0;
    return sum;
}

/* One block comes to the place. False: it was there. */
static bool bring(struct sim_range *range, size_t block, const struct sim_migration *m)
{
    bool there = range->where[block] == m->to || range->copies[block] & bit_of(m->to);

    if (range->read_mostly && !m->write) {
        range->copies[block] |= bit_of(m->to);
        return !there;
    }
    range->copies[block] = 0;
    range->where[block] = (int16_t)m->to;
    return !there;
}

/* Returns how many bytes; *from: where the first of them was. */
static size_t move(struct sim_range *range, const struct sim_migration *m, int *from)
{
    size_t at = (size_t)((const uint8_t *)m->address - range->start), moved = 0, part, block;
    size_t end = end_of(range, at, m->bytes);

    while ((part = next_part(&at, end, &block))) {
        int was = range->where[block];

        if (!m->prefetched && stays_with_host(range, block, m->to))
            continue;
        if (!bring(range, block, m))
            continue;
        *from = moved ? *from : was;
        moved += part;
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
    m->bytes = move(range, m, &m->from);
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
