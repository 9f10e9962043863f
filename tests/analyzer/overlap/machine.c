/*
 * The parameters of the models of overlap.h, from a machine profile:
 *
 *   copies  L+o and G of copies of pinned memory alone, g of copies on several streams (of copies
 * on one, where there is no such figure); table II's G of copies in both directions mapped  of
 * kernels that read and that write mapped memory, alone; both at once: of one kernel that does both
 * (of a kernel reading and one writing, where there is no such figure)  hybrid  copies to the
 * device, and kernels that write; table II's G of copies that collide with kernels' traffic
 */
#include "tests/analyzer/overlap/overlap.h"

#include <math.h>
#include <stdio.h>

static const struct xfa_overlap_way nothing = {.fit = {.g_ns = NAN}, .both_G = NAN};

static double G_of(const struct xfp_path *path)
{
    return path && path->fit.valid ? path->fit.G_ns_per_byte : NAN;
}

static bool joins(const struct xfp_streams *s, bool in, int gpu, int node)
{
    const struct xfp_place *host = in ? &s->src : &s->dst, *there = in ? &s->dst : &s->src;

    return s->direction == (in ? XFT_DIR_H2D : XFT_DIR_D2H) && there->device == gpu &&
           (node < 0 || host->numa < 0 || host->numa == node);
}

static const struct xfp_fit *fit_of_streams(const struct xfp_profile *profile, bool in, int gpu,
                                            int node)
{
    for (size_t i = 0; i < profile->streams_count; i++)
        if (joins(&profile->streams[i], in, gpu, node) && profile->streams[i].fit.valid)
            return &profile->streams[i].fit;
    return NULL;
}

static struct xfa_overlap_way copies(const struct xfp_profile *profile, bool in, int gpu, int node,
                                     enum xfp_load load)
{
    struct xfp_place host = {XFT_MEM_PINNED, -1, node}, there = {XFT_MEM_DEVICE, gpu, -1};
    struct xfp_place src = in ? host : there, dst = in ? there : host;
    const struct xfp_path *path = xfp_find(profile, XFP_COPY, src, dst, false);
    const struct xfp_fit *streams = fit_of_streams(profile, in, gpu, node);
    struct xfa_overlap_way way = nothing;

    if (path && path->fit.valid)
        way.fit = path->fit;
    else if (streams)
        way.fit = *streams;
    if (streams)
        way.fit.g_ns = streams->g_ns;
    way.both_G = G_of(xfp_find_loaded(profile, XFP_COPY, src, dst, load));
    return way;
}

static const struct xfp_table *table_of(const struct xfp_profile *profile, const char *prefix,
                                        int gpu, int node)
{
    const struct xfp_table *table;
    char name[64];

    snprintf(name, sizeof(name), "%snode%d-gpu%d", prefix, node < 0 ? 0 : node, gpu);
    table = xfp_find_table(profile, name);
    if (table)
        return table;
    snprintf(name, sizeof(name), "%sgpu%d", prefix, gpu);
    return xfp_find_table(profile, name);
}

/* What a byte more each way takes, when mapped memory is read and written at once. */
static double both_mapped(const struct xfp_profile *profile, int gpu, int node)
{
    const struct xfp_table *table = table_of(profile, XFP_ONE_KERNEL, gpu, node);
    const struct xfp_row *last;

    if (!table || table->row_count < 2)
        table = table_of(profile, "both-ways/mapped/mapped/", gpu, node);
    if (!table || table->row_count < 2)
        return NAN;
    last = &table->rows[table->row_count - 1];
    return (last[0].cost.median - last[-1].cost.median) / (double)(last[0].at - last[-1].at);
}

static struct xfa_overlap_way mapped(const struct xfp_profile *profile, bool in, int gpu, int node)
{
    struct xfp_place host = {XFT_MEM_MAPPED, -1, node}, there = {XFT_MEM_DEVICE, gpu, -1};
    const struct xfp_path *path = in ? xfp_find(profile, XFP_MAPPED_READ, host, there, false)
                                     : xfp_find(profile, XFP_MAPPED_WRITE, there, host, false);
    struct xfa_overlap_way way = nothing;

    if (path && path->fit.valid)
        way.fit = path->fit;
    way.fit.g_ns = NAN; /* a kernel's accesses have no gaps */
    way.both_G = both_mapped(profile, gpu, node);
    return way;
}

/* A profile that says nothing of overlap: GPUs since compute capability 3.5 have no implicit
 * synchronisation. */
static int category(const struct xfp_profile *profile, int gpu)
{
    for (size_t i = 0; i < profile->overlap_count; i++)
        if (profile->overlap[i].device == gpu)
            return profile->overlap[i].category;
    if (gpu < 0 || (size_t)gpu >= profile->machine.gpu_count ||
        profile->machine.gpus[gpu].copy_engines < 1)
        return 0;
    return profile->machine.gpus[gpu].copy_engines > 1 ? 3 : 2;
}

struct xfa_overlap_machine xfa_overlap_of_profile(const struct xfp_profile *profile, int gpu,
                                                  int node)
{
    struct xfa_overlap_machine m = {
        .category = category(profile, gpu),
        .copies = {copies(profile, true, gpu, node, XFP_BOTH_WAYS),
                   copies(profile, false, gpu, node, XFP_BOTH_WAYS)},
        .mapped = {mapped(profile, true, gpu, node), mapped(profile, false, gpu, node)},
        .hybrid = {copies(profile, true, gpu, node, XFP_MAPPED_TRAFFIC),
                   mapped(profile, false, gpu, node)},
    };
    struct xfp_place host = {XFT_MEM_MAPPED, -1, node}, there = {XFT_MEM_DEVICE, gpu, -1};

    /* kernels that write while copies come in; not slowed, where that is not known */
    m.hybrid.out.both_G =
        G_of(xfp_find_loaded(profile, XFP_MAPPED_WRITE, there, host, XFP_BOTH_WAYS));
    return m;
}
