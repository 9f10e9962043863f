#include "tools/simgpu/gpu/paths.h"

#include <math.h>

uint64_t sim_whole_ns(double ns)
{
    return isfinite(ns) && ns > 0 ? (uint64_t)llround(ns) : 0;
}

/* By its number in the profile: CUDA_VISIBLE_DEVICES may have given it another one. */
static struct xfp_place in_profile(struct xfp_place place)
{
    if (place.device >= 0)
        place.device = sim_number_of(place.device);
    return place;
}

const struct xfp_path *sim_find_path(enum xfp_method method, struct xfp_place src,
                                     struct xfp_place dst, bool exactly)
{
    const struct xfp_conditions warm = {.cache = XFP_WARM};
    const struct xfp_path *path = NULL;

    if (sim_thread.warm)
        path = xfp_find_under(sim_profile, method, in_profile(src), in_profile(dst), &warm);
    return path ? path : xfp_find(sim_profile, method, in_profile(src), in_profile(dst), exactly);
}

uint64_t sim_path_ns(enum xfp_method method, struct xfp_place src, struct xfp_place dst,
                     size_t bytes)
{
    const struct xfp_path *path = NULL;
    static const enum xft_memory stand_in[] = {XFT_MEM_UNKNOWN, XFT_MEM_MAPPED, XFT_MEM_PINNED};

    for (size_t i = 0; !path && i < sizeof(stand_in) / sizeof(stand_in[0]); i++) {
        struct xfp_place s = src, d = dst;

        if (stand_in[i] && s.device < 0)
            s.memory = stand_in[i];
        if (stand_in[i] && d.device < 0)
            d.memory = stand_in[i];
        path = sim_find_path(method, s, d, false);
    }
    return path ? sim_whole_ns(xfp_time(path, bytes).ns) : 0;
}
