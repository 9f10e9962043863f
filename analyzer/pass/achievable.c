#include "analyzer/pass/achievable.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

/* ---- is it the same machine? ---------------------------------------------------------- */

static int gpu_by_uuid(const struct xfp_machine *machine, const char *uuid)
{
    for (size_t i = 0; uuid && *uuid && i < machine->gpu_count; i++)
        if (machine->gpus[i].uuid && strcmp(machine->gpus[i].uuid, uuid) == 0)
            return (int)i;
    return -1;
}

int xfa_achievable_gpu(const struct xfa_achievable *achievable, int gpu)
{
    if (gpu < 0 || (size_t)gpu >= achievable->run->gpu_count)
        return gpu;
    const struct xfa_gpu *known = &achievable->run->gpus[gpu];
    const struct xfp_profile *profile = achievable->profile;
    int found = profile ? gpu_by_uuid(&profile->machine, known->uuid) : -1;
    return found >= 0 ? found : known->ordinal;
}

static void mismatch(struct xfa_achievable *achievable, const char *what, const char *run,
                     const char *profile)
{
    achievable->match = XFA_MATCH_NO;
    if (achievable->mismatch)
        return;
    achievable->difference = xfa_print("%s: the trace has %s, the profile %s", what, run, profile);
    achievable->mismatch =
        xfa_print("the profile is of another machine (%s): achievable figures are that machine's",
                  achievable->difference);
}

static void match_text(struct xfa_achievable *achievable, const char *what, const char *run,
                       const char *profile)
{
    if (!run || !*run || !profile || !*profile)
        return;
    if (strcmp(run, profile) != 0)
        mismatch(achievable, what, run, profile);
    else if (achievable->match == XFA_MATCH_UNKNOWN)
        achievable->match = XFA_MATCH_YES;
}

static void match_gpu(struct xfa_achievable *achievable, int gpu)
{
    const struct xfp_machine *machine = &achievable->profile->machine;
    const struct xfa_gpu *known = &achievable->run->gpus[gpu];
    int ordinal = known->ordinal, found = gpu_by_uuid(machine, known->uuid);
    if (found >= 0) {
        match_text(achievable, "GPU", known->uuid, machine->gpus[found].uuid);
    } else if ((size_t)ordinal < machine->gpu_count) {
        match_text(achievable, "GPU", known->name, machine->gpus[ordinal].name);
        match_text(achievable, "GPU uuid", known->uuid, machine->gpus[ordinal].uuid);
    } else {
        mismatch(achievable, "GPU", known->name ? known->name : known->uuid, "fewer GPUs");
    }
}

void xfa_achievable_init(struct xfa_achievable *achievable, const struct xfp_profile *profile,
                         const struct xfa_run *run)
{
    *achievable = (struct xfa_achievable){
        .profile = profile, .tables = xfa_profile_tables_new(profile), .run = run};
}

/* That both GPUs are simulated, or both real, tells nothing yet; nor does a trace whose GPUs are
 * not known, since its beginning is lost. */
static void match_simulated(struct xfa_achievable *achievable, const struct xfa_process *process)
{
    bool profile = achievable->profile->machine.simulated, simulated = process->simulated;
    if (simulated != profile && (simulated || process->gpu_count > 0))
        mismatch(achievable, "GPU", simulated ? "a simulated GPU" : "a real GPU",
                 profile ? "a simulated GPU" : "a real GPU");
}

void xfa_achievable_match(struct xfa_achievable *achievable, const struct xfa_process *process)
{
    if (!achievable->profile)
        return;
    match_simulated(achievable, process);
    match_text(achievable, "machine id", process->machine_id,
               achievable->profile->machine.machine_id);
    for (int i = 0; i < process->gpu_count; i++)
        match_gpu(achievable, process->gpus[i]);
}

void xfa_achievable_free(struct xfa_achievable *achievable)
{
    xfa_profile_tables_free(achievable->tables);
    free(achievable->mismatch);
    free(achievable->difference);
    *achievable = (struct xfa_achievable){0};
}

/* ---- one kind of transfer ------------------------------------------------------------- */

static void add_path(struct xfa_achievable_path *of, const struct xfa_achievable *achievable,
                     struct xfp_place src, struct xfp_place dst)
{
    const struct xfp_path *path = xfp_find(achievable->profile, XFP_COPY, src, dst, false);
    if (path && of->path_count < sizeof of->paths / sizeof *of->paths)
        of->paths[of->path_count++] = path;
}

static void add_host_paths(struct xfa_achievable_path *of, const struct xfa_achievable *achievable,
                           bool to_device, int device)
{
    static const enum xft_memory kinds[] = {XFT_MEM_PINNED, XFT_MEM_WRITE_COMBINED, XFT_MEM_MAPPED,
                                            XFT_MEM_REGISTERED};
    struct xfp_place gpu = {XFT_MEM_DEVICE, device, -1};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        int node = xfa_near_node(achievable->profile, to_device ? XFT_DIR_H2D : XFT_DIR_D2H,
                                 kinds[i], device);
        struct xfp_place host = {kinds[i], -1, node};
        add_path(of, achievable, to_device ? host : gpu, to_device ? gpu : host);
    }
}

/* NUMA node of one of the profile's GPUs; -1 = not known. */
static int node_of(const struct xfa_achievable *achievable, int like)
{
    if (!achievable->profile || like < 0)
        return -1;
    const struct xfp_machine *machine = &achievable->profile->machine;
    return (size_t)like < machine->gpu_count ? machine->gpus[like].numa : -1;
}

static const struct xfp_fit *fit_of(const struct xfa_achievable_path *of)
{
    const struct xfp_fit *best = NULL;
    for (size_t i = 0; i < of->path_count; i++) {
        const struct xfp_fit *fit = &of->paths[i]->fit;
        if (fit->valid && fit->G_ns_per_byte > 0 && fit->Lo_ns >= 0 &&
            (!best || fit->G_ns_per_byte < best->G_ns_per_byte))
            best = fit;
    }
    return best;
}

void xfa_achievable_path_like(struct xfa_achievable_path *of,
                              const struct xfa_achievable *achievable, enum xft_direction direction,
                              int src_like, int dst_like)
{
    *of = (struct xfa_achievable_path){
        .src_node = node_of(achievable, src_like),
        .dst_node = node_of(achievable, dst_like),
    };
    if (!achievable->profile)
        return;
    struct xfp_place src = {XFT_MEM_DEVICE, src_like, -1};
    struct xfp_place dst = {XFT_MEM_DEVICE, dst_like, -1};
    if (direction == XFT_DIR_H2D)
        add_host_paths(of, achievable, true, dst.device);
    else if (direction == XFT_DIR_D2H)
        add_host_paths(of, achievable, false, src.device);
    else if (direction == XFT_DIR_D2D) {
        src.device = dst.device = src.device >= 0 ? src.device : dst.device;
        add_path(of, achievable, src, dst);
    } else if (direction == XFT_DIR_P2P && src.device >= 0 && dst.device >= 0)
        add_path(of, achievable, src, dst);
    of->fit = fit_of(of);
}

void xfa_achievable_path(struct xfa_achievable_path *of, const struct xfa_achievable *achievable,
                         enum xft_direction direction, int src_gpu, int dst_gpu)
{
    xfa_achievable_path_like(of, achievable, direction, xfa_achievable_gpu(achievable, src_gpu),
                             xfa_achievable_gpu(achievable, dst_gpu));
}

double xfa_submit_time(const struct xfp_path *path, uint64_t bytes)
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

struct xfa_achieved xfa_achievable_ask(const struct xfa_achievable_path *of, uint64_t bytes)
{
    struct xfa_achieved best = {.time.basis = XFP_UNKNOWN, .submit_ns = NAN};
    for (size_t i = 0; i < of->path_count; i++) {
        struct xfp_estimate estimate = xfp_time(of->paths[i], bytes);
        if (estimate.basis == XFP_UNKNOWN || !(estimate.ns > 0) || !isfinite(estimate.ns))
            continue;
        if (best.time.basis != XFP_UNKNOWN && estimate.ns >= best.time.ns)
            continue;
        best = (struct xfa_achieved){estimate, xfa_submit_time(of->paths[i], bytes)};
    }
    return best;
}

static const struct xfa_achieved *ask(struct xfa_achievable_path *of, uint64_t bytes)
{
    if (!of->asked || of->last_bytes != bytes) {
        of->last = xfa_achievable_ask(of, bytes);
        of->asked = true;
        of->last_bytes = bytes;
    }
    return &of->last;
}

struct xfp_estimate xfa_achievable_time(struct xfa_achievable_path *of, uint64_t bytes)
{
    return ask(of, bytes)->time;
}

double xfa_achievable_submit(struct xfa_achievable_path *of, uint64_t bytes)
{
    return ask(of, bytes)->submit_ns;
}

/* ---- the best NUMA node ---------------------------------------------------------------------- */

/* The node of the host's memory, when this is the path of such copies from one node; else -1. */
static int host_node_of(const struct xfp_path *path, enum xft_direction direction,
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
        if (host_node_of(&profile->paths[i], direction, memory, gpu) == node)
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
        struct candidate one = {.node = host_node_of(path, direction, memory, gpu)};
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
