#include "analyzer/model/yardstick.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

/* ---- is it the same machine? ---------------------------------------------------------- */

static const char *gpu_key(const struct xfa_trace *trace, int ordinal, const char *what)
{
    char key[64];
    snprintf(key, sizeof key, "gpu.%d.%s", ordinal, what);
    return xfa_trace_meta(trace, key);
}

static int gpu_by_uuid(const struct xfp_machine *machine, const char *uuid)
{
    for (size_t i = 0; uuid && *uuid && i < machine->gpu_count; i++)
        if (machine->gpus[i].uuid && strcmp(machine->gpus[i].uuid, uuid) == 0)
            return (int)i;
    return -1;
}

static void mismatch(struct xfa_yardstick *yardstick, const char *what, const char *trace,
                     const char *profile)
{
    yardstick->match = XFA_MATCH_NO;
    if (yardstick->mismatch)
        return;
    yardstick->mismatch =
        xfa_print("the profile is of another machine (%s: the trace has %s, the profile %s):"
                  " achievable figures are that machine's",
                  what, trace, profile);
}

static void match_text(struct xfa_yardstick *yardstick, const char *what, const char *trace,
                       const char *profile)
{
    if (!trace || !*trace || !profile || !*profile)
        return;
    if (strcmp(trace, profile) != 0)
        mismatch(yardstick, what, trace, profile);
    else if (yardstick->match == XFA_MATCH_UNKNOWN)
        yardstick->match = XFA_MATCH_YES;
}

static void match_gpu(struct xfa_yardstick *yardstick, const struct xfa_trace *trace, int ordinal)
{
    const struct xfp_machine *machine = &yardstick->profile->machine;
    const char *uuid = gpu_key(trace, ordinal, "uuid"), *name = gpu_key(trace, ordinal, "name");
    int found = gpu_by_uuid(machine, uuid);
    yardstick->gpus[ordinal] = found >= 0 ? found : ordinal;
    if (found >= 0) {
        match_text(yardstick, "GPU", uuid, machine->gpus[found].uuid);
    } else if ((size_t)ordinal < machine->gpu_count) {
        match_text(yardstick, "GPU", name, machine->gpus[ordinal].name);
        match_text(yardstick, "GPU uuid", uuid, machine->gpus[ordinal].uuid);
    } else if (name || uuid) {
        mismatch(yardstick, "GPU", name ? name : uuid, "fewer GPUs");
    }
}

void xfa_yardstick_init(struct xfa_yardstick *yardstick, const struct xfp_profile *profile,
                        const struct xfa_trace *trace)
{
    *yardstick = (struct xfa_yardstick){.profile = profile};
    for (int i = 0; i < XFA_MAX_GPUS; i++)
        yardstick->gpus[i] = i;
    if (!profile)
        return;
    const char *simulated = xfa_trace_meta(trace, "gpu.simulated");
    bool trace_simulated = simulated && strcmp(simulated, "1") == 0;
    match_text(yardstick, "GPU", trace_simulated ? "a simulated GPU" : "a real GPU",
               profile->machine.simulated ? "a simulated GPU" : "a real GPU");
    yardstick->match = yardstick->match == XFA_MATCH_NO ? XFA_MATCH_NO : XFA_MATCH_UNKNOWN;
    match_text(yardstick, "machine id", xfa_trace_meta(trace, "machine_id"),
               profile->machine.machine_id);
    for (int i = 0; i < XFA_MAX_GPUS; i++)
        if (gpu_key(trace, i, "name") || gpu_key(trace, i, "uuid"))
            match_gpu(yardstick, trace, i);
}

void xfa_yardstick_free(struct xfa_yardstick *yardstick)
{
    free(yardstick->mismatch);
    *yardstick = (struct xfa_yardstick){0};
}

/* ---- one kind of transfer ------------------------------------------------------------- */

static int profile_gpu(const struct xfa_yardstick *yardstick, int device)
{
    return device >= 0 && device < XFA_MAX_GPUS ? yardstick->gpus[device] : -1;
}

static void add_path(struct xfa_reach *reach, const struct xfa_yardstick *yardstick,
                     struct xfp_place src, struct xfp_place dst)
{
    const struct xfp_path *path = xfp_find(yardstick->profile, XFP_COPY, src, dst, false);
    if (path && reach->path_count < sizeof reach->paths / sizeof *reach->paths)
        reach->paths[reach->path_count++] = path;
}

static void add_host_paths(struct xfa_reach *reach, const struct xfa_yardstick *yardstick,
                           bool to_device, int device)
{
    static const enum xft_memory kinds[] = {XFT_MEM_PINNED, XFT_MEM_WRITE_COMBINED, XFT_MEM_MAPPED,
                                            XFT_MEM_REGISTERED};
    struct xfp_place gpu = {XFT_MEM_DEVICE, device, -1};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct xfp_place host = {kinds[i], -1, -1};
        add_path(reach, yardstick, to_device ? host : gpu, to_device ? gpu : host);
    }
}

void xfa_reach_init(struct xfa_reach *reach, const struct xfa_yardstick *yardstick,
                    enum xft_direction direction, int src_device, int dst_device)
{
    *reach = (struct xfa_reach){.found = true};
    if (!yardstick->profile)
        return;
    struct xfp_place src = {XFT_MEM_DEVICE, profile_gpu(yardstick, src_device), -1};
    struct xfp_place dst = {XFT_MEM_DEVICE, profile_gpu(yardstick, dst_device), -1};
    if (direction == XFT_DIR_H2D)
        add_host_paths(reach, yardstick, true, dst.device);
    else if (direction == XFT_DIR_D2H)
        add_host_paths(reach, yardstick, false, src.device);
    else if (direction == XFT_DIR_D2D) {
        src.device = dst.device = src.device >= 0 ? src.device : dst.device;
        add_path(reach, yardstick, src, dst);
    } else if (direction == XFT_DIR_P2P && src.device >= 0 && dst.device >= 0)
        add_path(reach, yardstick, src, dst);
}

/* Host time of the call at the measured size nearest above, else the largest one: the time of a
 * submission hardly depends on the size. */
static double submit_time(const struct xfp_path *path, uint64_t bytes)
{
    double ns = NAN;
    for (size_t i = 0; i < path->point_count; i++) {
        if (path->points[i].host_ns > 0)
            ns = path->points[i].host_ns;
        if (path->points[i].bytes >= bytes && !isnan(ns))
            break;
    }
    return ns;
}

static void ask(struct xfa_reach *reach, uint64_t bytes)
{
    if (reach->last_path && reach->last_bytes == bytes)
        return;
    reach->last_bytes = bytes;
    reach->last = (struct xfp_estimate){.basis = XFP_UNKNOWN};
    reach->last_submit_ns = NAN;
    for (size_t i = 0; i < reach->path_count; i++) {
        struct xfp_estimate estimate = xfp_time(reach->paths[i], bytes);
        if (estimate.basis == XFP_UNKNOWN || !(estimate.ns > 0) || !isfinite(estimate.ns))
            continue;
        if (reach->last.basis != XFP_UNKNOWN && estimate.ns >= reach->last.ns)
            continue;
        reach->last = estimate;
        reach->last_path = reach->paths[i];
        reach->last_submit_ns = submit_time(reach->paths[i], bytes);
    }
}

struct xfp_estimate xfa_reach_time(struct xfa_reach *reach, uint64_t bytes)
{
    ask(reach, bytes);
    return reach->last;
}

double xfa_reach_submit(struct xfa_reach *reach, uint64_t bytes)
{
    ask(reach, bytes);
    return reach->last.basis == XFP_UNKNOWN ? NAN : reach->last_submit_ns;
}

const struct xfp_fit *xfa_reach_fit(const struct xfa_reach *reach)
{
    const struct xfp_fit *best = NULL;
    for (size_t i = 0; i < reach->path_count; i++) {
        const struct xfp_fit *fit = &reach->paths[i]->fit;
        if (fit->valid && fit->G_ns_per_byte > 0 && fit->Lo_ns >= 0 &&
            (!best || fit->G_ns_per_byte < best->G_ns_per_byte))
            best = fit;
    }
    return best;
}
