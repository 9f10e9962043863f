/* Groups of which parts have begun, their slots, and the batch that a rank plays. */
#include <math.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/together/together_ranks.h"

static uint32_t take_slot(struct xfw_together *t)
{
    return t->free_count && !t->keep ? t->free_slots[--t->free_count] : t->slots++;
}

/* Nobody asks for it any more: those who did come before whoever has it next. */
static void end_slot(struct xfw_together *t, struct group *group)
{
    group->open = false;
    t->free_slots =
        xfa_room(t->free_slots, &t->free_capacity, t->free_count + 1, sizeof *t->free_slots);
    t->free_slots[t->free_count++] = group->slot;
}

const struct xfw_link *xfw_rank_link(const struct xfw_together *t, const struct rank *rank,
                                     const struct xfw_op *op)
{
    const struct xfa_process *process = rank->process;
    const double most = 9e18; /* of an int64_t; a file may say anything */
    if (!(fabs(op->began_ns) < most))
        return NULL;
    uint64_t began = process->start_mono_ns + (uint64_t)(int64_t)op->began_ns;
    return xfw_link_of(t->links, process->number, began, op->side);
}

/* A part of the group begins with this op. */
void xfw_group_begin(struct xfw_together *t, uint32_t number, uint8_t posts, struct xfw_op *op)
{
    struct group *group = &t->groups[number];
    if (!posts || t->links->groups[number].awaits == 0)
        return;
    bool new = !group->open;
    if (new) {
        group->open = true;
        group->slot = take_slot(t);
        group->left = t->links->groups[number].awaits;
    }
    group->posted++;
    op->slot = group->slot;
    op->of_ranks = posts | (new && group->posted == 1 ? XFW_OF_NEW : 0);
}

bool xfw_group_has_begun(const struct xfw_together *t, uint32_t number)
{
    return t->groups[number].posted >= t->links->groups[number].posts;
}

void xfw_rank_play_batch(struct xfw_together *t)
{
    if (t->batch_count > 0)
        t->turns->batch(t->turns->self, t->batch, t->batch_count);
    t->batch_count = 0;
}

/* One less waits for it. */
void xfw_group_note_end(struct xfw_together *t, uint32_t number)
{
    struct group *group = &t->groups[number];
    if (--group->left == 0 && !t->keep)
        end_slot(t, group);
}

void xfw_rank_put(struct xfw_together *t, struct rank *rank, const struct xfw_op *op)
{
    t->batch[t->batch_count++] = *op;
    t->played++;
    rank->last_ns = fmax(rank->last_ns, rank->begun_ns + op->end_ns);
    if (t->batch_count == XFW_BATCH)
        xfw_rank_play_batch(t);
    if (op->awaits == XFW_AWAITS_RANKS && !op->made_up)
        xfw_group_note_end(t, xfw_rank_link(t, rank, op)->group);
}
