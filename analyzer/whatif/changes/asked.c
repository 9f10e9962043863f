#include "analyzer/whatif/changes/asked.h"

struct xfw_copy_cost xfw_asked_cost(struct xfw_asked *asked, const struct xfp_path *path,
                                    uint64_t bytes, enum xfw_certainty certainty)
{
    size_t place = xfw_asked_place(bytes + (uint64_t)certainty, XFW_ASKED_COSTS);
    struct xfw_asked_cost *free_one = &asked->costs[place];
    if (!path)
        return (struct xfw_copy_cost){0};
    for (size_t i = 0; i < XFW_ASKED_NEAR; i++) {
        struct xfw_asked_cost *at = &asked->costs[(place + i) & (XFW_ASKED_COSTS - 1)];
        if (at->path == path && at->bytes == bytes && at->certainty == certainty)
            return at->cost;
        if (!at->path) {
            free_one = at;
            break;
        }
    }
    *free_one =
        (struct xfw_asked_cost){path, bytes, certainty, xfw_copy_cost(path, bytes, certainty)};
    return free_one->cost;
}

const struct xfp_path *xfw_asked_path(struct xfw_asked *asked,
                                      const struct xfa_achievable *achievable,
                                      enum xft_direction direction, enum xft_memory memory,
                                      int node, int gpu)
{
    for (unsigned i = 0; i < XFW_ASKED_PATHS; i++) {
        const struct xfw_asked_path *path = &asked->paths[i];
        if (path->there && path->direction == direction && path->memory == memory &&
            path->node == node && path->gpu == gpu)
            return path->path;
    }
    struct xfw_asked_path *path = &asked->paths[asked->next_path++ % XFW_ASKED_PATHS];
    *path = (struct xfw_asked_path){true, direction, memory, node, gpu, NULL};
    path->path = xfw_host_path(achievable, direction, memory, node, gpu);
    return path->path;
}

const struct xfa_achieved *xfw_asked_time(struct xfw_asked_times *asked,
                                          const struct xfa_class *class, uint64_t bytes)
{
    struct xfw_asked_time *time = &asked->times[xfw_asked_place(bytes, XFW_ASKED_COSTS)];
    if (time->class != class->number + 1 || time->bytes != bytes)
        *time = (struct xfw_asked_time){bytes, class->number + 1,
                                        xfa_achievable_ask(&class->achievable, bytes)};
    return &time->answer;
}

double xfw_asked_scalar(struct xfw_asked *asked, const struct xfa_achievable *achievable,
                        const char *what, int gpu, double otherwise)
{
    for (unsigned i = 0; i < XFW_ASKED_SCALARS; i++) {
        const struct xfw_asked_scalar *scalar = &asked->scalars[i];
        if (scalar->what == what && scalar->gpu == gpu)
            return scalar->ns;
    }
    struct xfw_asked_scalar *scalar = &asked->scalars[asked->next_scalar++ % XFW_ASKED_SCALARS];
    *scalar =
        (struct xfw_asked_scalar){what, gpu, xfw_scalar_cost(achievable, what, gpu, otherwise)};
    return scalar->ns;
}
