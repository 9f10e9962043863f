#include "analyzer/whatif/ops/ops_profile.h"

#include <math.h>
#include <stdio.h>

#include "analyzer/whatif/ops/ops.h"

static double scalar(const struct xfp_profile *profile, const char *what, int gpu)
{
    char name[48];
    snprintf(name, sizeof name, "%s/gpu%d", what, gpu);
    const struct xfp_scalar *scalar = xfp_find_scalar(profile, name);
    return scalar ? scalar->cost.median : 0;
}

bool xfw_ops_one_engine(const struct xfp_profile *profile, int gpu)
{
    for (size_t i = 0; profile && i < profile->overlap_count; i++)
        if (profile->overlap[i].device == gpu)
            return profile->overlap[i].copy_engines == 1;
    return profile && gpu >= 0 && (size_t)gpu < profile->machine.gpu_count &&
           profile->machine.gpus[gpu].copy_engines == 1;
}

const struct xfw_ops_gpu *xfw_ops_profile_gpu(struct xfw_ops_profile *profile, int gpu)
{
    struct xfw_ops_gpu *of = &profile->gpus[xfw_place_of_gpu(gpu)];
    const struct xfp_profile *known = profile->achievable->profile;
    if (of->asked)
        return of;
    of->asked = true;
    of->one_engine =
        xfw_ops_one_engine(known, gpu < 0 ? -1 : xfa_achievable_gpu(profile->achievable, gpu));
    if (!known)
        return of;
    int number = xfa_achievable_gpu(profile->achievable, gpu < 0 ? 0 : gpu);
    of->hold_ns = scalar(known, "host-function/hold", number);
    of->fetches = xfp_find(known, XFP_COPY, (struct xfp_place){XFT_MEM_DEVICE, number, -1},
                           (struct xfp_place){XFT_MEM_PAGEABLE, -1, -1}, true);
    return of;
}

double xfw_ops_profile_fetch_ns(struct xfw_ops_profile *profile, int gpu, uint64_t bytes)
{
    const struct xfp_path *path = xfw_ops_profile_gpu(profile, gpu)->fetches;
    double ns = path ? xfa_submit_time(path, bytes) : NAN;
    return isnan(ns) ? 0 : ns;
}

double xfw_ops_profile_free_ns(const struct xfw_ops_profile *profile, const struct xfw_op *op)
{
    const struct xfp_profile *known = profile->achievable->profile;
    char name[40];
    snprintf(name, sizeof name, "free/device/gpu%d",
             known ? xfa_achievable_gpu(profile->achievable, op->gpu < 0 ? 0 : op->gpu) : -1);
    const struct xfp_table *table = known ? xfp_find_table(known, name) : NULL;
    struct xfp_estimate estimate =
        table ? xfp_table_at(table, op->bytes) : (struct xfp_estimate){0};
    return estimate.basis == XFP_UNKNOWN ? 0 : estimate.ns;
}
