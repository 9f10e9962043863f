#include "analyzer/pass/near.h"

#include <math.h>

/* The node of the host's memory, when this is the path of such copies from one node; else -1. */
static int node_of(const struct xfp_path *path, enum xft_direction direction,
                   enum xft_memory memory, int gpu)
{
    const struct xfp_place *host = direction == XFT_DIR_H2D ? &path->src : &path->dst;
    const struct xfp_place *device = direction == XFT_DIR_H2D ? &path->dst : &path->src;
    bool is = path->method == XFP_COPY && xfp_is_plain(path) && path->point_count &&
              host->memory == memory && device->memory == XFT_MEM_DEVICE && device->device == gpu;
    return is ? host->numa : -1;
}

static const struct xfp_path *path_of(const struct xfp_profile *profile,
                                      enum xft_direction direction, enum xft_memory memory,
                                      int node, int gpu)
{
    for (size_t i = 0; i < profile->path_count; i++)
        if (node_of(&profile->paths[i], direction, memory, gpu) == node)
            return &profile->paths[i];
    return NULL;
}

struct candidate {
    int node;
    double ns, error_ns;
};

static void better(struct candidate *best, const struct candidate *other)
{
    if (best->node < 0 || other->ns < best->ns)
        *best = *other;
}

int xfa_near_node(const struct xfp_profile *profile, enum xft_direction direction,
                  enum xft_memory memory, int gpu)
{
    const struct xfp_machine *machine = &profile->machine;
    int own_node = gpu >= 0 && (size_t)gpu < machine->gpu_count ? machine->gpus[gpu].numa : -1;
    struct candidate best = {.node = -1}, own = {.node = -1};
    uint64_t bytes = 0; /* that all are asked about */
    int first = -1;
    bool several = false;
    for (size_t i = 0; gpu >= 0 && i < profile->path_count; i++) {
        const struct xfp_path *path = &profile->paths[i];
        struct candidate one = {.node = node_of(path, direction, memory, gpu)};
        if (one.node < 0)
            continue;
        bytes = bytes ? bytes : path->points[path->point_count - 1].bytes;
        struct xfp_estimate estimate = xfp_time(path, bytes);
        if (estimate.basis == XFP_UNKNOWN || !(estimate.ns > 0) || !isfinite(estimate.ns))
            continue;
        one.ns = estimate.ns;
        one.error_ns = estimate.ns * estimate.error;
        several = several || (first >= 0 && one.node != first);
        first = one.node;
        better(&best, &one);
        if (one.node == own_node)
            better(&own, &one);
    }
    if (!several)
        return -1;
    return own.node >= 0 && own.ns - best.ns <= own.error_ns + best.error_ns ? own.node : best.node;
}

struct xfa_near xfa_near_of(const struct xfp_profile *profile, enum xft_direction direction,
                            enum xft_memory memory, int node, int gpu)
{
    struct xfa_near near = {.node = -1};
    int best = node >= 0 ? xfa_near_node(profile, direction, memory, gpu) : -1;
    if (best < 0 || best == node)
        return near;
    near.here = path_of(profile, direction, memory, node, gpu);
    near.near = path_of(profile, direction, memory, best, gpu);
    near.node = near.here && near.near ? best : -1;
    return near;
}
