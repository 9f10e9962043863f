/* Kernels of NCCL whose ranks are played together. */
#include <string.h>

#include "analyzer/base/table.h"
#include "analyzer/whatif/schedule/change.h"
#include "analyzer/whatif/together/together_ranks.h"

static const struct xfw_meeting_part *part_of(const struct xfw_together *t, uint32_t place)
{
    return xfw_meeting_part(t->links, place);
}

static bool can_end(const struct xfw_together *t, const struct xfw_kernel *kernel)
{
    const struct xfw_meeting_part *part = part_of(t, kernel->first);
    for (; part; part = part_of(t, part->next))
        if (part->awaits && !xfw_group_has_begun(t, part->group))
            return false;
    return true;
}

/* The ops that say when it ends; how many. */
static size_t ends_of(const struct xfw_together *t, const struct xfw_kernel *kernel,
                      const struct xfw_op *like, struct xfw_op ends[XFW_MOST_MEETINGS])
{
    const struct xfw_meeting_part *part = part_of(t, kernel->first);
    size_t count = 0;
    for (; part; part = part_of(t, part->next)) {
        if (!part->awaits)
            continue;
        struct xfw_op *end = &ends[count++];
        *end = *like;
        end->slot = t->groups[part->group].slot;
        end->of_ranks = part->awaits;
        end->wake_ns = part->under_way_ns - part->later_ns;
    }
    ends[count ? count - 1 : 0].last_piece = true;
    return count;
}

/* alone: it takes as long as it took. */
static void end_kernel(struct xfw_together *t, struct rank *rank, unsigned at, bool alone)
{
    const struct open_kernel open = rank->open[at];
    struct xfw_op ends[XFW_MOST_MEETINGS] = {open.op};
    size_t count = 1;
    rank->open_count--;
    memmove(&rank->open[at], &rank->open[at + 1], (rank->open_count - at) * sizeof *rank->open);
    if (!alone)
        count = ends_of(t, open.kernel, &open.op, ends);
    ends[0].last_piece = ends[0].last_piece || alone;
    t->alone[xfa_table_place(&t->links->kernels, open.kernel)] = alone;
    for (size_t i = 0; i < count; i++)
        xfw_rank_put(t, rank, &ends[i]);
    const struct xfw_meeting_part *part = part_of(t, open.kernel->first);
    for (; part; part = part_of(t, part->next))
        if (part->awaits)
            xfw_group_note_end(t, part->group);
}

/* Does the op wait for the kernel, or for what comes behind it? */
static bool is_behind(const struct xfw_op *op, const struct open_kernel *open)
{
    bool same_gpu = xfw_place_of_gpu(op->gpu) == xfw_place_of_gpu(open->op.gpu);
    if (op->awaits == XFW_AWAITS_DEVICE)
        return same_gpu;
    if (op->stream == open->stream && op->stream != XFW_NONE)
        return true;
    return op->stream != XFW_NONE && same_gpu &&
           (op->stream_kind == XFW_LEGACY || open->op.stream_kind == XFW_LEGACY);
}

/* Those that this op is behind (NULL: all) end. False: others have still to begin. */
bool xfw_rank_end_kernels(struct xfw_together *t, struct rank *rank, const struct xfw_op *op)
{
    for (unsigned i = 0; i < rank->open_count;) {
        bool full = rank->open_count == MOST_OPEN && i == 0 && op && op->correlation;
        if (op && !full && !is_behind(op, &rank->open[i])) {
            i++;
            continue;
        }
        if (!can_end(t, rank->open[i].kernel))
            return false;
        end_kernel(t, rank, i, false);
    }
    return true;
}

/* A kernel begins, and is open until an op is behind it. */
void xfw_rank_put_kernel(struct xfw_together *t, struct rank *rank, struct xfw_op *op,
                         const struct xfw_kernel *kernel)
{
    struct open_kernel *open = &rank->open[rank->open_count];
    const struct xfw_meeting_part *part = part_of(t, kernel->first);
    *open = (struct open_kernel){.op = xfw_op_like(op), .stream = op->stream, .kernel = kernel};
    open->op.what = XFW_MEETING;
    open->op.stream = XFW_NONE; /* it is no work */
    op->meets = true;
    xfw_rank_put(t, rank, op);
    for (; part; part = part_of(t, part->next)) {
        struct xfw_op begun = open->op;
        begun.begins = true;
        begun.wake_ns = part->later_ns;
        xfw_group_begin(t, part->group, part->posts, &begun);
        if (begun.slot != XFW_NONE)
            xfw_rank_put(t, rank, &begun);
    }
    rank->open_count++;
    if (!kernel->waits)
        end_kernel(t, rank, rank->open_count - 1, true);
}

/* The kernel for which its first op waits is over without the others. False: it is none. */
bool xfw_rank_let_kernel_go(struct xfw_together *t, struct rank *rank)
{
    for (unsigned i = 0; i < rank->open_count; i++) {
        if (can_end(t, rank->open[i].kernel) ||
            (rank->held_count && !is_behind(rank->held, &rank->open[i])))
            continue;
        end_kernel(t, rank, i, true);
        return true;
    }
    return false;
}

/* A kernel of NCCL, of which is known when it ends: that comes before. */
size_t xfw_kernel_again(const struct xfw_together *t, uint32_t process, struct xfw_op *op,
                        struct xfw_op *before)
{
    const struct xfw_kernel *kernel = xfw_kernel_of(t->links, process, op->correlation);
    if (!kernel || op->what != XFW_KERNEL || op->stream == XFW_NONE ||
        t->alone[xfa_table_place(&t->links->kernels, kernel)])
        return 0;
    struct xfw_op like = xfw_op_like(op);
    like.what = XFW_MEETING;
    like.stream = XFW_NONE;
    op->meets = like.meets = true;
    return ends_of(t, kernel, &like, before);
}
