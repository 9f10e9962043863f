/*
 * far-gpu: copies between page-locked memory and a GPU, or between two GPUs, that another GPU of
 * the machine (another pair) makes faster, by the profile: one that is attached to the NUMA node of
 * the memory, two with a link of their own. Only GPUs that the run copies nothing to or from are
 * offered instead.
 *
 * Lost: achieved time times the part by which the other copy of the average size is shorter.
 */
#include "analyzer/findings/finding.h"

#include <math.h>

#include "analyzer/base/alloc.h"

/* The same copy where it is made, and where it would be made best. */
struct choice {
    const struct xfp_path *here, *best;
    int node; /* NUMA node of the best GPU; -1: copies between GPUs, or not known */
};

static const struct xfp_path *path_of(const struct xfp_profile *profile, struct xfp_place src,
                                      struct xfp_place dst)
{
    const struct xfp_path *path = xfp_find(profile, XFP_COPY, src, dst, false);
    return path && path->point_count ? path : NULL;
}

/* Takes the path when it is faster than the best so far by more than the errors of both. */
static void consider(struct choice *choice, const struct xfp_path *path, int node)
{
    const struct xfp_path *best = choice->best ? choice->best : choice->here;
    if (!path || path == best)
        return;
    uint64_t bytes = choice->here->points[choice->here->point_count - 1].bytes;
    struct xfp_estimate old = xfp_time(best, bytes), new = xfp_time(path, bytes);
    if (old.basis == XFP_UNKNOWN || new.basis == XFP_UNKNOWN ||
        new.ns *(1 + new.error) >= old.ns *(1 - old.error))
        return;
    choice->best = path;
    choice->node = node;
}

static bool is_free(uint64_t used, int gpu, int own, int other)
{
    return gpu == own || gpu == other || !(used >> gpu & 1);
}

static void choose_gpu(const struct xfp_profile *profile, struct choice *choice,
                       struct xfp_place host, struct xfp_place own, bool up, uint64_t used)
{
    choice->here = up ? path_of(profile, host, own) : path_of(profile, own, host);
    for (int g = 0; choice->here && g < (int)profile->machine.gpu_count && g < XFA_COPIED_GPUS;
         g++) {
        const struct xfp_place gpu = {XFT_MEM_DEVICE, g, -1};
        if (is_free(used, g, own.device, own.device))
            consider(choice, up ? path_of(profile, host, gpu) : path_of(profile, gpu, host),
                     profile->machine.gpus[g].numa);
    }
}

static void choose_pair(const struct xfp_profile *profile, struct choice *choice,
                        struct xfp_place src, struct xfp_place dst, uint64_t used)
{
    const int count = (int)profile->machine.gpu_count;
    choice->here = path_of(profile, src, dst);
    for (int a = 0; choice->here && a < count && a < XFA_COPIED_GPUS; a++) {
        for (int b = 0; b < count && b < XFA_COPIED_GPUS; b++) {
            const struct xfp_place from = {XFT_MEM_DEVICE, a, -1}, to = {XFT_MEM_DEVICE, b, -1};
            if (a != b && is_free(used, a, src.device, dst.device) &&
                is_free(used, b, src.device, dst.device))
                consider(choice, path_of(profile, from, to), -1);
        }
    }
}

static struct choice choose(const struct xfa_analysis *analysis, const struct xfa_class *class)
{
    const uint64_t used = analysis->copied_gpus;
    const struct xfa_class_key *key = &class->key;
    const struct xfa_achievable *achievable = &analysis->achievable;
    struct choice choice = {.node = -1};
    struct xfa_host_side host;
    bool with_host = xfa_host_side_of(key, &host), up = host.to_device;
    if (!achievable->profile || achievable->match == XFA_MATCH_NO || key->shape != XFA_LINEAR)
        return choice;
    struct xfp_place src = {XFT_MEM_DEVICE, xfa_achievable_gpu(achievable, key->row.src_gpu), -1};
    struct xfp_place dst = {XFT_MEM_DEVICE, xfa_achievable_gpu(achievable, key->row.dst_gpu), -1};
    if (with_host && host.node >= 0 && host.memory != XFT_MEM_PAGEABLE &&
        (up ? dst : src).device >= 0)
        choose_gpu(achievable->profile, &choice, (struct xfp_place){host.memory, -1, host.node},
                   up ? dst : src, up, used);
    else if (key->row.direction == XFT_DIR_P2P && src.device >= 0 && dst.device >= 0)
        choose_pair(achievable->profile, &choice, src, dst, used);
    return choice;
}

/* Adds one class to the row's gain. */
static void add(struct xfa_gain *gain, const struct xfa_figures *figures,
                const struct choice *choice)
{
    uint64_t timed = figures->device.transfers + figures->host.transfers;
    uint64_t bytes = figures->device.bytes + figures->host.bytes;
    double achieved = figures->device.ns + figures->host.ns;
    if (!timed)
        return;
    struct xfp_estimate here = xfp_time(choice->here, bytes / timed);
    struct xfp_estimate best = xfp_time(choice->best, bytes / timed);
    double took = fmin(achieved, here.ns * (double)timed); /* the rest has other reasons */
    double part = fmax(0, 1 - best.ns / here.ns);
    gain->transfers += timed;
    gain->bytes = xfa_add(gain->bytes, bytes);
    gain->achieved_ns = isnan(gain->achieved_ns) ? achieved : gain->achieved_ns + achieved;
    gain->lost_ns = (isnan(gain->lost_ns) ? 0 : gain->lost_ns) + took * part;
    gain->achievable_ns = gain->achieved_ns - gain->lost_ns;
    gain->error = here.error + best.error;
}

static bool look(const struct xfa_analysis *analysis, const void *sums, size_t row,
                 struct xfa_gain *gain)
{
    const struct xfa_row *what = xfa_analysis_row(analysis, row);
    const struct xfa_class *class = NULL;
    struct xfa_figures far = {0};
    int node = -1;
    while ((class = xfa_row_class(&analysis->classes, what, class))) {
        struct choice choice = choose(analysis, class);
        const struct xfa_figures *figures = xfa_rows_class(&analysis->of_classes, class->number);
        if (!choice.best)
            continue;
        add(gain, figures, &choice);
        xfa_figures_merge(&far, figures);
        node = choice.node;
    }
    if (isnan(gain->lost_ns))
        return false;
    bool peers = what->key.direction == XFT_DIR_P2P;
    gain->achieved_basis = xfa_achieved_basis(&far);
    gain->achievable_basis = XFA_BASIS_MODELLED;
    gain->reckoning = XFA_RECKONED_NEAR_GPU;
    gain->assumed = "other GPUs of the machine are free, and kernels take as long there";
    gain->remedy = xfa_remedy_for(what, peers      ? XFA_REMEDY_NEAR_PEER
                                        : node < 0 ? XFA_REMEDY_OTHER_GPU
                                                   : XFA_REMEDY_NEAR_GPU);
    gain->remedy.node = node;
    return true;
}

static bool to_near_gpu(const struct xfa_analysis *analysis, const struct xfa_class *class,
                        const void *self, struct xfw_new_path *path)
{
    struct choice choice = choose(analysis, class);
    path->to = choice.best;
    path->from = choice.here;
    return choice.best != NULL;
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    return xfa_other_path_change(analysis, finding, to_near_gpu, NULL,
                                 &(struct xfw_times_terms){0});
}

const struct xfa_finding_kind xfa_kind_far_gpu = {.look = look, .change = change};
