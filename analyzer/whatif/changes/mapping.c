#include "analyzer/whatif/changes/mapping.h"

#include <math.h>

double xfw_device_byte_ns(const struct xfa_achievable *achievable, int gpu)
{
    const uint64_t some = (uint64_t)16 << 20, more = (uint64_t)64 << 20;
    const struct xfp_profile *profile = achievable->profile;
    int number = profile ? xfa_achievable_gpu(achievable, gpu < 0 ? 0 : gpu) : -1;
    const struct xfp_place here = {XFT_MEM_DEVICE, number, -1};
    const struct xfp_path *path = profile ? xfp_find(profile, XFP_COPY, here, here, false) : NULL;
    if (!path)
        return NAN;
    struct xfp_estimate first = xfp_time(path, some), second = xfp_time(path, more);
    if (first.basis == XFP_UNKNOWN || second.basis == XFP_UNKNOWN || !(second.ns > first.ns))
        return NAN;
    return (second.ns - first.ns) / (double)(more - some);
}

double xfw_mapped_ns(const struct xfa_achievable *achievable, int gpu, bool writes, double bytes)
{
    const double most = 1e18; /* a damaged trace may say anything */
    const struct xfp_profile *profile = achievable->profile;
    int number = profile ? xfa_achievable_gpu(achievable, gpu < 0 ? 0 : gpu) : -1;
    double least = NAN;
    for (size_t i = 0; profile && i < profile->path_count; i++) {
        const struct xfp_path *path = &profile->paths[i];
        const struct xfp_place *far = writes ? &path->dst : &path->src;
        const struct xfp_place *near = writes ? &path->src : &path->dst;
        if (path->method != (writes ? XFP_MAPPED_WRITE : XFP_MAPPED_READ) || !xfp_is_plain(path) ||
            far->memory != XFT_MEM_MAPPED || near->device != number)
            continue;
        struct xfp_estimate estimate = xfp_time(path, (uint64_t)fmin(fmax(1, bytes), most));
        if (estimate.basis != XFP_UNKNOWN)
            least = fmin(least, estimate.ns); /* of several NUMA nodes the best */
    }
    return least;
}

double xfw_times_over(const struct xfa_achievable *achievable, int gpu, uint64_t bytes,
                      double kernel_ns)
{
    double once = xfw_mapped_ns(achievable, gpu, false, (double)bytes);
    return bytes < XFW_MAPPING_LEAST || !(once > 0) ? 0 : kernel_ns / once;
}

double xfw_share_read(const struct xfa_achievable *achievable, int gpu, uint64_t bytes,
                      double kernel_ns)
{
    double byte = xfw_device_byte_ns(achievable, gpu);
    return bytes < XFW_MAPPING_LEAST || !(byte > 0) ? 1 : kernel_ns / (byte * (double)bytes);
}
