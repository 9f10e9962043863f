/*
 * The probe's kernels (probe/device/kernels.h): what they do, and how long it takes.
 */
#include "tools/simgpu/gpu/known_kernels.h"

#include <stdio.h>
#include <string.h>

#include "tools/simgpu/gpu/link.h"
#include "tools/simgpu/gpu/managed.h"
#include "tools/simgpu/gpu/paths.h"

static const struct {
    const char *name;
    size_t sizes[4];
} kernels[] = {
    [SIM_KERNEL_GATE] = {"xfp_gate", {8, 8}},      [SIM_KERNEL_READ] = {"xfp_read", {8, 8, 8}},
    [SIM_KERNEL_WRITE] = {"xfp_write", {8, 8, 4}}, [SIM_KERNEL_CHASE] = {"xfp_chase", {8, 8, 8}},
    [SIM_KERNEL_SPIN] = {"xfp_spin", {8}},         [SIM_KERNEL_COPY] = {"xfp_copy", {8, 8, 8}},
};

int sim_known_kernel(const char *name)
{
    for (int i = 0; i < SIM_KERNELS; i++)
        if (!strcmp(name, kernels[i].name))
            return i;
    return -1;
}

const size_t *sim_known_sizes(int kernel)
{
    return kernels[kernel].sizes;
}

static uint64_t word(const struct sim_kernel *k, int index)
{
    uint64_t value = 0;

    memcpy(&value, k->params->values[index], kernels[k->function->known].sizes[index]);
    return value;
}

/* A kernel's access to memory: migration, the path to the host or a peer, or device memory. */
static uint64_t access_ns(const void *address, size_t bytes, int device, bool write)
{
    struct sim_range *r = sim_range_at(address);
    struct xfp_place here = {XFT_MEM_DEVICE, device, -1};
    uint64_t ns = 0;

    if (!r)
        return 0;
    if (r->memory == XFT_MEM_MANAGED) {
        struct sim_migration m = {.address = address,
                                  .bytes = bytes,
                                  .to = device,
                                  .ready = sim_thread.kernel_start,
                                  .write = write};

        size_t in_place = sim_managed_in_place(r, address, bytes, device);

        sim_managed_go(r, &m);
        if (m.bytes)
            ns = (sim_report_migration(&m) ? sim_settings.record_device_ns : 0) + m.end - m.ready;
        if (in_place)
            ns += sim_reach_ns(
                &(struct sim_reach){r, in_place, device, write, sim_thread.kernel_start + ns});
        if (ns)
            return ns;
    } else if (r->memory != XFT_MEM_DEVICE || r->device != device) {
        ns = sim_reach_ns(&(struct sim_reach){r, bytes, device, write, sim_thread.kernel_start});
        return ns ? ns : 2000 + bytes / 50;
    }
    ns = sim_path_ns(XFP_COPY, here, here, bytes);
    return ns ? ns / 2 : 2000 + bytes / 1000;
}

static bool readable(uint64_t address, uint64_t bytes)
{
    const struct sim_range *r = sim_range_at((void *)address);

    return r && bytes <= (uint64_t)(r->start + r->bytes - (uint8_t *)address);
}

/* The memory that a kernel is given. None of it is touched unless all of it is valid. */
struct given {
    uint64_t src, bytes, dst;
};

static bool given_of(const struct sim_kernel *k, struct given *g)
{
    *g = (struct given){word(k, 0), word(k, 1) / 16 * 16, 0};
    if (k->function->known == SIM_KERNEL_WRITE) {
        g->dst = g->src;
        return readable(g->dst, g->bytes);
    }
    g->dst = word(k, 2);
    return readable(g->src, g->bytes) &&
           readable(g->dst, k->function->known == SIM_KERNEL_READ ? 4 : g->bytes);
}

static void do_read(const struct given *g)
{
    uint32_t all = 0, one;

    for (uint64_t i = 0; i < g->bytes; i += 4) {
        memcpy(&one, (void *)(g->src + i), 4);
        all ^= one;
    }
    memcpy(&one, (void *)g->dst, 4);
    one ^= all;
    memcpy((void *)g->dst, &one, 4);
}

static void do_write(const struct given *g, uint32_t value)
{
    for (uint64_t i = 0; i < g->bytes; i += 4)
        memcpy((void *)(g->dst + i), &value, 4);
}

/* ns of a kernel that reads and writes mapped host memory, by the profile; 0: not measured. */
static uint64_t both_mapped_ns(const void *src, const void *dst, size_t bytes, int device)
{
    const struct sim_range *from = sim_range_at(src), *to = sim_range_at(dst);
    const struct xfp_table *table = NULL;
    char name[64];

    if (!sim_profile || from->memory != XFT_MEM_MAPPED || to->memory != XFT_MEM_MAPPED)
        return 0;
    snprintf(name, sizeof(name), XFP_ONE_KERNEL "node%d-gpu%d", from->numa, device);
    if (from->numa >= 0 && from->numa == to->numa)
        table = xfp_find_table(sim_profile, name);
    snprintf(name, sizeof(name), XFP_ONE_KERNEL "gpu%d", device);
    if (!table)
        table = xfp_find_table(sim_profile, name);
    return table ? (uint64_t)xfp_table_at(table, bytes).ns : 0;
}

/* Reading and writing go on side by side. */
static uint64_t copy_ns(const struct given *g, int device)
{
    const void *src = (void *)g->src, *dst = (void *)g->dst;
    uint64_t ns = both_mapped_ns(src, dst, g->bytes, device), in, out;

    if (ns)
        return ns;
    in = access_ns(src, g->bytes, device, false);
    out = access_ns(dst, g->bytes, device, true);
    return in > out ? in : out;
}

/* The latency of one access: of the path's shortest transfer, or 0.6 us in the device itself. */
static uint64_t step_ns(const void *first, int device)
{
    const struct sim_range *r = sim_range_at(first);
    uint64_t ns;

    if (r->memory == XFT_MEM_DEVICE && r->device == device)
        return 600;
    if (r->memory == XFT_MEM_MANAGED)
        return access_ns(first, 1, device, false);
    ns = sim_reach_alone_ns(&(struct sim_reach){r, 1, device, false, 0});
    return ns ? ns : 2000;
}

/* *at: where the walk ends. False: it leaves the memory. */
static bool chase(const struct sim_kernel *k, uint64_t *at)
{
    uint64_t first = word(k, 0), steps = word(k, 1);
    const struct sim_range *r = sim_range_at((void *)first);
    uint64_t room = r ? (uint64_t)(r->start + r->bytes - (uint8_t *)first) : 0;

    *at = 0;
    for (uint64_t i = 0; r && i < steps; i++) {
        if (*at > room || room - *at < 8)
            return false;
        memcpy(at, (void *)(first + *at), 8);
    }
    return r && readable(word(k, 2), 8);
}

static uint64_t chase_ns(const struct sim_kernel *k, int device)
{
    uint64_t first = word(k, 0);

    if (!sim_range_at((void *)first) || !readable(word(k, 2), 8))
        return 0;
    return word(k, 1) * step_ns((void *)first, device);
}

uint64_t sim_known_ns(const struct sim_kernel *k, int device)
{
    struct given g;

    switch (k->function->known) {
    case SIM_KERNEL_READ:
        return given_of(k, &g) ? access_ns((void *)g.src, g.bytes, device, false) : 0;
    case SIM_KERNEL_WRITE:
        return given_of(k, &g) ? access_ns((void *)g.dst, g.bytes, device, true) : 0;
    case SIM_KERNEL_COPY:
        return given_of(k, &g) ? copy_ns(&g, device) : 0;
    case SIM_KERNEL_CHASE:
        return chase_ns(k, device);
    case SIM_KERNEL_SPIN:
        return word(k, 0);
    }
    return 0;
}

void sim_known_do(const struct sim_kernel *k)
{
    int known = k->function->known;
    struct given g;
    uint64_t at;

    if (known == SIM_KERNEL_CHASE && chase(k, &at))
        memcpy((void *)word(k, 2), &at, 8);
    if ((known != SIM_KERNEL_READ && known != SIM_KERNEL_WRITE && known != SIM_KERNEL_COPY) ||
        !given_of(k, &g))
        return;
    if (known == SIM_KERNEL_READ)
        do_read(&g);
    else if (known == SIM_KERNEL_WRITE)
        do_write(&g, (uint32_t)word(k, 2));
    else
        memmove((void *)g.dst, (void *)g.src, g.bytes);
}

bool sim_gate_of(struct sim_kernel *k)
{
    uint64_t words = word(k, 0);

    if (!readable(words, 8))
        return false;
    k->gate = (volatile uint32_t *)words;
    k->limit = word(k, 1);
    return true;
}
