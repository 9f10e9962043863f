#include "tools/simgpu/gpu/copy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tools/simgpu/gpu/managed.h"
#include "tools/simgpu/gpu/nodes.h"
#include "tools/simgpu/gpu/paths.h"

enum { PAGE = 4096 };

/* ---- sides -------------------------------------------------------------------------------- */

static void side_of_range(struct sim_side *side, struct sim_range *r, const void *address)
{
    bool device = r->memory == XFT_MEM_DEVICE;

    side->memory = r->memory;
    side->device = device ? r->device : -1;
    side->numa = device ? -1 : r->numa;
    if (r->memory == XFT_MEM_MANAGED) {
        side->managed = r;
        side->device = sim_managed_where(r, address);
    }
}

xcu_result sim_side_linear(struct sim_side *side, const void *address, size_t bytes,
                           enum sim_want want)
{
    struct sim_range *r = sim_range_at(address);

    if (!address)
        return XCU_ERROR_INVALID_VALUE;
    memset(side, 0, sizeof(*side));
    side->start = (uint8_t *)address;
    if (!r) {
        if (want == SIM_DEVICE_SIDE || sim_region_owns(address))
            return XCU_ERROR_INVALID_VALUE; /* freed, or never allocated */
        *side = (struct sim_side){side->start, 0, 0, XFT_MEM_PAGEABLE, -1, sim_host_numa(address),
                                  NULL};
        return XCU_SUCCESS;
    }
    if (bytes > (size_t)(r->start + r->bytes - side->start)) {
        /* registering part of a buffer leaves the rest pageable: such a copy still works */
        if (!(r->flags & SIM_RANGE_REGISTERED) || want == SIM_DEVICE_SIDE)
            return XCU_ERROR_INVALID_VALUE;
        *side = (struct sim_side){side->start, 0, 0, XFT_MEM_PAGEABLE, -1, r->numa, NULL};
        return XCU_SUCCESS;
    }
    if (want == SIM_HOST_SIDE && r->memory == XFT_MEM_DEVICE)
        return XCU_ERROR_INVALID_VALUE;
    side_of_range(side, r, address);
    return XCU_SUCCESS;
}

xcu_result sim_side_pitched(struct sim_side *side, const void *base, size_t pitch, size_t layer,
                            const struct xcu_offset *at, const struct sim_copy *shape,
                            enum sim_want want)
{
    size_t rows = layer ? layer : at->y + shape->height, slice, first, last;
    size_t all =
        at->x | at->y | at->z | shape->width | shape->height | shape->depth | pitch | layer;
    xcu_result r;

    if (all >> 40) /* more than any machine holds: keeps the sums below from overflowing */
        return XCU_ERROR_INVALID_VALUE;
    if (!pitch)
        pitch = at->x + shape->width; /* allowed for a single row */
    if ((shape->height > 1 || shape->depth > 1) && at->x + shape->width > pitch)
        return XCU_ERROR_INVALID_VALUE;
    if (__builtin_mul_overflow(pitch, rows, &slice) ||
        __builtin_mul_overflow(slice, at->z + shape->depth, &all) || all >> 48 ||
        (shape->depth > 1 && rows < at->y + shape->height))
        return XCU_ERROR_INVALID_VALUE;
    first = at->z * slice + at->y * pitch + at->x;
    last = (shape->depth - 1) * slice + (shape->height - 1) * pitch + shape->width;
    r = base ? sim_side_linear(side, (const uint8_t *)base + first, last, want)
             : XCU_ERROR_INVALID_VALUE;
    side->pitch = pitch;
    side->slice = slice;
    return r;
}

xcu_result sim_side_array(struct sim_side *side, struct sim_array *array, size_t x, size_t y,
                          size_t z, const struct sim_copy *shape)
{
    if (!sim_handle_is(array, SIM_ARRAY))
        return XCU_ERROR_INVALID_HANDLE;
    if (x + shape->width > array->pitch || y + shape->height > array->rows ||
        z + shape->depth > array->layers)
        return XCU_ERROR_INVALID_VALUE;
    *side = (struct sim_side){array->data + z * array->slice + y * array->pitch + x,
                              array->pitch,
                              array->slice,
                              XFT_MEM_ARRAY,
                              array->device,
                              -1,
                              NULL};
    return XCU_SUCCESS;
}

enum xft_direction sim_copy_direction(const struct sim_copy *copy)
{
    int from = copy->src.device, to = copy->dst.device;

    if (from < 0)
        return to < 0 ? XFT_DIR_H2H : XFT_DIR_H2D;
    if (to < 0)
        return XFT_DIR_D2H;
    return from == to ? XFT_DIR_D2D : XFT_DIR_P2P;
}

/* ---- time --------------------------------------------------------------------------------- */

static enum xft_memory kind_for_profile(const struct sim_side *side)
{
    return side->device >= 0 ? XFT_MEM_DEVICE : side->memory;
}

static const struct xfp_path *find_path(struct xfp_place src, struct xfp_place dst)
{
    const struct xfp_path *path = sim_find_path(XFP_COPY, src, dst, true);

    return path ? path : sim_find_path(XFP_COPY, src, dst, false);
}

static const struct xfp_path *path_of(const struct sim_copy *copy)
{
    struct xfp_place src = {kind_for_profile(&copy->src), copy->src.device, copy->src.numa};
    struct xfp_place dst = {kind_for_profile(&copy->dst), copy->dst.device, copy->dst.numa};
    const struct xfp_path *path = find_path(src, dst);

    /* page-locked memory of any kind that was not measured is like pinned memory */
    if (src.device < 0 && src.memory != XFT_MEM_PAGEABLE)
        src.memory = XFT_MEM_PINNED;
    if (dst.device < 0 && dst.memory != XFT_MEM_PAGEABLE)
        dst.memory = XFT_MEM_PINNED;
    if (!path)
        path = find_path(src, dst);
    if (!path && src.device >= 0 && src.device == dst.device) { /* all devices are alike */
        src.device = dst.device = 0;
        path = find_path(src, dst);
    }
    return path;
}

/* ns of the host for a call that starts a copy of so many bytes, by the profile's points; 0: not
 * measured. */
static uint64_t host_time(const struct xfp_path *path, uint64_t bytes)
{
    const struct xfp_point *below = NULL, *above = NULL;
    double part;

    for (size_t i = 0; i < path->point_count; i++) {
        const struct xfp_point *p = &path->points[i];

        if (!(p->host_ns > 0))
            continue;
        if (p->bytes <= bytes)
            below = p;
        if (p->bytes >= bytes && !above)
            above = p;
    }
    if (!below || !above || below == above)
        return sim_whole_ns(below ? below->host_ns : above ? above->host_ns : 0);
    part = (double)(bytes - below->bytes) / (double)(above->bytes - below->bytes);
    return sim_whole_ns(below->host_ns + part * (above->host_ns - below->host_ns));
}

/* Where the profile has no path: 10 us and 10 GB/s. */
static struct sim_cost default_cost(uint64_t bytes)
{
    uint64_t ns = 10000 + bytes / 10;

    return (struct sim_cost){ns, ns, sim_settings.submit_ns, ns + sim_settings.submit_ns, false};
}

static struct sim_cost cost_on(const struct xfp_path *path, uint64_t bytes)
{
    struct sim_cost cost = default_cost(bytes);
    uint64_t host = host_time(path, bytes), lo = 0, gap = 0;
    struct xfp_estimate time = xfp_time(path, bytes), blocking = xfp_blocking_time(path, bytes);

    if (!(time.ns > 0))
        return cost;
    cost.device_ns = cost.behind_ns = sim_whole_ns(time.ns);
    if (path->fit.valid && isfinite(path->fit.g_ns)) {
        lo = sim_whole_ns(path->fit.Lo_ns);
        gap = sim_whole_ns(path->fit.g_ns);
        cost.behind_ns = gap + (cost.device_ns > lo ? cost.device_ns - lo : 0);
    }
    cost.host_ns = host ? host : sim_settings.submit_ns;
    cost.blocking_ns = sim_whole_ns(blocking.ns);
    if (cost.blocking_ns < cost.device_ns)
        cost.blocking_ns = cost.device_ns + (cost.blocking_ns ? 0 : cost.host_ns);
    return cost;
}

static const struct xfp_path *path_named(const char *name)
{
    for (size_t i = 0; i < sim_profile->path_count; i++)
        if (!strcmp(sim_profile->paths[i].name, name) && sim_profile->paths[i].point_count)
            return &sim_profile->paths[i];
    return NULL;
}

/* Between devices without peer access: the measured time; else two copies by way of host memory,
 * half overlapped. */
static struct sim_cost staged_cost(const struct sim_copy *copy)
{
    struct sim_copy down = *copy, up = *copy;
    const struct xfp_path *path;
    struct sim_cost a, b;
    char name[64];

    snprintf(name, sizeof(name), "copy/no-peer/p2p/gpu%d-gpu%d", sim_number_of(copy->src.device),
             sim_number_of(copy->dst.device));
    path = path_named(name);
    if (path)
        return cost_on(path, sim_copy_bytes(copy));
    down.dst.device = up.src.device = -1;
    down.dst.memory = up.src.memory = XFT_MEM_PINNED;
    down.dst.numa = up.src.numa = sim_devices[copy->src.device].gpu->numa;
    a = sim_copy_cost(&down);
    b = sim_copy_cost(&up);
    return (struct sim_cost){(a.device_ns + b.device_ns) * 3 / 4,
                             (a.behind_ns + b.behind_ns) * 3 / 4, a.host_ns + b.host_ns,
                             (a.blocking_ns + b.blocking_ns) * 3 / 4, true};
}

/* Pages of the host's memory that nobody has touched yet. */
static uint64_t new_pages(const struct sim_side *side, size_t bytes)
{
    uintptr_t from = (uintptr_t)side->start & ~(uintptr_t)(PAGE - 1);
    size_t pages = ((uintptr_t)side->start + bytes - from + PAGE - 1) / PAGE, missing = 0;
    unsigned char *there = malloc(pages);

    if (there && mincore((void *)from, pages * PAGE, there) == 0)
        for (size_t i = 0; i < pages; i++)
            missing += (there[i] & 1) == 0;
    free(there);
    return missing;
}

static uint64_t copy_table_ns(const char *what, bool up, int gpu, size_t bytes)
{
    char name[64];

    snprintf(name, sizeof(name), "%s/pages/%s/gpu%d", what, up ? "h2d" : "d2h", gpu);
    return sim_table_ns(name, bytes);
}

/* By how much a copy takes longer as its host memory is new, where the profile has that of ordinary
 * pages: for each of its pages that are not there. */
static uint64_t first_touch_ns(const struct sim_copy *copy)
{
    bool up = sim_copy_direction(copy) == XFT_DIR_H2D;
    const struct sim_side *side = up ? &copy->src : &copy->dst;
    size_t bytes = sim_copy_bytes(copy);
    uint64_t fresh, kept;
    int gpu;

    if (side->memory != XFT_MEM_PAGEABLE || copy->height * copy->depth != 1 || bytes < PAGE ||
        (!up && sim_copy_direction(copy) != XFT_DIR_D2H))
        return 0;
    gpu = sim_number_of(up ? copy->dst.device : copy->src.device);
    fresh = copy_table_ns("new-copy", up, gpu, bytes);
    kept = fresh ? copy_table_ns("kept-copy", up, gpu, bytes) : 0;
    return fresh > kept ? (fresh - kept) * new_pages(side, bytes) / (bytes / PAGE) : 0;
}

static struct sim_cost longer(struct sim_cost cost, uint64_t ns)
{
    cost.device_ns += ns;
    cost.behind_ns += ns;
    cost.host_ns += ns;
    cost.blocking_ns += ns;
    return cost;
}

struct sim_cost sim_copy_cost(const struct sim_copy *copy)
{
    uint64_t bytes = sim_copy_bytes(copy);
    const struct xfp_path *path;

    if (sim_copy_direction(copy) == XFT_DIR_P2P &&
        !sim_peer_enabled(copy->src.device, copy->dst.device)) {
        struct sim_cost cost = staged_cost(copy);
        cost.staged = true;
        return cost;
    }
    path = path_of(copy);
    return longer(path ? cost_on(path, bytes) : default_cost(bytes), first_touch_ns(copy));
}

/* A memset takes half of a copy on the device, which also reads. */
struct sim_cost sim_fill_cost(size_t bytes, int device)
{
    struct xfp_place place = {XFT_MEM_DEVICE, device, -1};
    uint64_t copy = device >= 0 ? sim_path_ns(XFP_COPY, place, place, bytes) : 0;
    uint64_t ns = copy ? copy / 2 : 2000 + bytes / 100;

    return (struct sim_cost){ns, ns, sim_settings.submit_ns, ns + sim_settings.submit_ns, false};
}

/* ---- moving ------------------------------------------------------------------------------- */

void sim_copy_move(const struct sim_copy *copy)
{
    const uint8_t *src = copy->src.start;
    uint8_t *dst = copy->dst.start;

    for (size_t z = 0; z < copy->depth; z++)
        for (size_t y = 0; y < copy->height; y++)
            memmove(dst + z * copy->dst.slice + y * copy->dst.pitch,
                    src + z * copy->src.slice + y * copy->src.pitch, copy->width);
    if (sim_settings.peers_wrong && sim_copy_bytes(copy) &&
        sim_copy_direction(copy) == XFT_DIR_P2P &&
        sim_peer_enabled(copy->src.device, copy->dst.device))
        *dst ^= 0xff;
}
