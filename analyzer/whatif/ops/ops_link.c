#include "analyzer/whatif/ops/ops_link.h"

#include <math.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/pass/class.h"

/* ---- by the profile -------------------------------------------------------------------------- */

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

double xfw_read_once_ns(const struct xfa_achievable *achievable, int gpu, uint64_t bytes)
{
    double once = xfw_mapped_ns(achievable, gpu, false, (double)bytes);
    return once >= 2 * xfw_mapped_ns(achievable, gpu, false, 1) ? once : 0;
}

struct xfw_moving xfw_moving_of(const struct xfa_achievable *achievable, enum xfp_method method,
                                enum xft_direction direction, int gpu, uint64_t bytes)
{
    const struct xfp_profile *profile = achievable->profile;
    int number = profile ? xfa_achievable_gpu(achievable, gpu < 0 ? 0 : gpu) : -1;
    struct xfw_moving least = {.call_ns = NAN};
    for (size_t i = 0; profile && i < profile->path_count; i++) {
        const struct xfp_path *path = &profile->paths[i];
        int device = direction == XFT_DIR_H2D ? path->dst.device : path->src.device;
        if (path->method != method || path->direction != direction || device != number ||
            !xfp_is_plain(path))
            continue;
        struct xfp_estimate estimate = xfp_time(path, bytes);
        if (estimate.basis != XFP_UNKNOWN &&
            (least.estimate.basis == XFP_UNKNOWN || estimate.ns < least.estimate.ns))
            least = (struct xfw_moving){estimate, xfa_submit_time(path, bytes)};
    }
    return least;
}

struct xfp_estimate xfw_demand_of(const struct xfa_achievable *achievable,
                                  enum xft_direction direction, const struct xfw_moved *moved)
{
    unsigned faults = direction == XFT_DIR_D2H && moved->faults ? moved->faults : 1;
    struct xfp_estimate one =
        xfw_moving_of(achievable, XFP_DEMAND, direction, moved->gpu, moved->bytes / faults)
            .estimate;
    one.ns *= faults;
    return one;
}

/* Of the time of reading all in order: what a kernel took that reads it at random, as many faults
 * are served at one time (measured on an H200). A thread of the host has one fault at a time. */
#define AT_RANDOM 0.45

double xfw_demand_least_ns(const struct xfa_achievable *achievable, enum xft_direction direction,
                           const struct xfw_moved *moved)
{
    struct xfp_estimate demand =
        moved->bytes ? xfw_demand_of(achievable, direction, moved) : (struct xfp_estimate){0};
    double part = direction == XFT_DIR_H2D ? AT_RANDOM : 1 - xfw_min(1, demand.error);
    return demand.basis == XFP_UNKNOWN ? 0 : part * demand.ns;
}

/* ---- of a process ---------------------------------------------------------------------------- */

void xfw_readers_begin(struct xfw_readers *readers, const struct xfa_process *process)
{
    xfw_readers_end(readers);
    *readers = (struct xfw_readers){.process = process};
}

void xfw_readers_end(struct xfw_readers *readers)
{
    xfa_blocks_free(&readers->memory);
}

void xfw_readers_call(struct xfw_readers *readers, const struct xfa_event *event)
{
    uint64_t address = event->memory.address;
    bool begins = event->kind == XFT_EVENT_ALLOC || event->kind == XFT_EVENT_REGISTER;
    if (begins && address && event->bytes && xfa_is_page_locked(event->dst_mem)) {
        xfa_blocks_pass(&readers->memory, event->start_ns);
        xfa_blocks_add(&readers->memory, address, xfa_add(address, event->bytes), 0);
    } else if (event->kind == XFT_EVENT_FREE || event->kind == XFT_EVENT_UNREGISTER) {
        xfa_blocks_end(&readers->memory, address, event->start_ns);
    } else {
        return;
    }
    memset(readers->readers, 0, sizeof readers->readers); /* they may be given other memory now */
}

static uint64_t given_bytes(const struct xfw_readers *readers, uint32_t id)
{
    const struct xfa_arguments *arguments =
        readers->process->trace ? xfa_trace_arguments(readers->process->trace, id) : NULL;
    uint64_t bytes = 0;
    for (uint32_t k = 0; arguments && k < arguments->count; k++) {
        const struct xfa_block *block =
            xfa_blocks_find(&readers->memory, xfa_arguments_pointer(arguments, k));
        bytes = xfa_add(bytes, block ? block->end - block->address : 0);
    }
    return bytes;
}

void xfw_readers_launch(struct xfw_readers *readers, const struct xfa_achievable *achievable,
                        struct xfw_op *op)
{
    if (op->arguments == 0 || readers->memory.count == 0)
        return;
    struct xfw_reader *reader = &readers->readers[op->arguments & (XFW_READERS - 1)];
    if (reader->arguments != op->arguments || reader->gpu != op->gpu) {
        uint64_t bytes = given_bytes(readers, op->arguments);
        double once = bytes ? xfw_read_once_ns(achievable, op->gpu, bytes) : 0;
        double reach = once > 0 ? xfw_mapped_ns(achievable, op->gpu, false, 1) : 0;
        *reader = (struct xfw_reader){op->arguments, op->gpu, reach, xfw_max(0, once - reach)};
    }
    op->reach_ns = reader->reach_ns;
    op->link_ns = reader->link_ns;
}
