#include "analyzer/whatif/changes/kernel_parts.h"

#include <math.h>
#include <stdlib.h>

struct shorter {
    struct xfw_change change;
    struct xfw_kernel_part *parts; /* by process and begin */
    size_t count;
};

static int by_kernel(const void *a, const void *b)
{
    const struct xfw_kernel_part *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return (x->began_ns > y->began_ns) - (x->began_ns < y->began_ns);
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    const struct shorter *shorter = (const struct shorter *)change;
    (void)self;
    if (op->what != XFW_KERNEL || !(op->device_start_ns >= 0)) /* not for NAN */
        return;
    const struct xfw_kernel_part key = {.process = xfw_player_process(player)->number,
                                        .began_ns = (uint64_t)llround(op->device_start_ns)};
    const struct xfw_kernel_part *part =
        bsearch(&key, shorter->parts, shorter->count, sizeof key, by_kernel);
    if (part)
        op->duration_ns = fmax(0, op->duration_ns - part->ns[xfw_player_certainty(player)]);
}

static void release(struct xfw_change *change)
{
    free(((struct shorter *)change)->parts);
}

struct xfw_change *xfw_change_kernel_parts(const struct xfa_analysis *analysis,
                                           struct xfw_kernel_part *parts, size_t count)
{
    static const struct xfw_change_type type = {
        .name = "parts of kernels", .op = op, .free = release};
    struct shorter *shorter = xfw_change_new(sizeof *shorter, &type, analysis, NULL);
    shorter->parts = parts;
    shorter->count = count;
    qsort(parts, count, sizeof *parts, by_kernel);
    return &shorter->change;
}
