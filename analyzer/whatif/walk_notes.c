#include "analyzer/whatif/walk_notes.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/replays_walk.h"

/* ---- who finds it ---------------------------------------------------------------------------- */

void xfw_finders_free(struct xfw_finders *finders)
{
    if (finders->callers)
        xfw_callers_free(finders->callers);
    free(finders->callers);
    free(finders->handovers);
    *finders = (struct xfw_finders){0};
}

/* The first stack of a site stands for it in reports: those of calls that are but played come after
 * all that the walk has met. */
static void find_sites(struct xfa_process *process, const struct xfw_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct xfw_op *op = &batch->ops[i];
        if (op->stack)
            op->site = xfa_process_site(process, op->stack)->number;
        op->stack = 0;
        batch->alone[i].site = op->site;
    }
}

/* Places of ops in the order in which their calls began: what was let in late comes behind others
 * whose calls began later. */
static size_t *by_start(const struct xfw_batch *batch)
{
    size_t *order = xfa_alloc((batch->count + 1) * sizeof *order);
    for (size_t i = 0; i < batch->count; i++) {
        size_t at = i;
        for (; at > 0 && batch->ops[i].late_in &&
               batch->ops[order[at - 1]].start_ns > batch->ops[i].start_ns;
             at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    return order;
}

static void find_under_way(struct xfw_callers *callers, const struct xfw_batch *batch,
                           const size_t *order)
{
    for (size_t k = 0; k < batch->count; k++) {
        const size_t i = order[k];
        struct xfw_op *op = &batch->ops[i];
        xfw_callers_meet(callers, op);
        batch->alone[i].under_way = op->under_way;
        batch->alone[i].caller = op->caller;
    }
}

static void find_handovers(struct xfw_handovers *handovers, const struct xfw_batch *batch,
                           const size_t *order)
{
    for (size_t k = 0; k < batch->count; k++) {
        const size_t i = order[k];
        struct xfw_op *op = &batch->ops[i];
        xfw_handovers_meet(handovers, op);
        if (!xfw_op_is_call(op))
            continue;
        batch->alone[i].behind_ns = op->behind_ns;
        batch->alone[i].likely_ns = op->likely_ns;
        batch->alone[i].begins_turn = op->begins_turn;
        batch->alone[i].ends_turn = op->ends_turn;
    }
}

void xfw_finders_meet(struct xfw_finders *finders, struct xfa_process *process,
                      const struct xfw_batch *batch)
{
    if (process->calls_ns && !finders->callers)
        finders->callers = xfa_alloc(sizeof *finders->callers);
    if (process->turns_ns > 0 && !finders->handovers)
        finders->handovers = xfa_alloc(sizeof *finders->handovers);
    size_t *order = by_start(batch);
    find_sites(process, batch);
    if (process->calls_ns)
        find_under_way(finders->callers, batch, order);
    if (process->turns_ns > 0) {
        finders->handovers->most_ns = process->turns_ns;
        find_handovers(finders->handovers, batch, order);
    }
    free(order);
}

/* ---- what was found -------------------------------------------------------------------------- */

void xfw_notes_free(struct xfw_notes *notes)
{
    free(notes->items);
    *notes = (struct xfw_notes){0};
}

void xfw_notes_add(struct xfw_notes *notes, const struct xfw_batch *batch,
                   const struct xfw_turns *turns, size_t most)
{
    if (notes->no_room || batch->count > most || notes->count > most - batch->count) {
        xfw_notes_free(notes);
        notes->no_room = true;
        return;
    }
    notes->items = xfa_room(notes->items, &notes->capacity, notes->count + batch->count + 1,
                            sizeof *notes->items);
    for (size_t i = 0; i < batch->count; i++) {
        const struct xfw_op *op = &batch->ops[i];
        bool call = xfw_op_is_call(op); /* others have something else there */
        notes->items[notes->count++] = (struct xfw_noted){
            .under_way = op->under_way,
            .later_ns = turns->plain ? 0 : turns->later_ns[i],
            .behind_ns = call ? op->behind_ns : 0,
            .likely_ns = call ? op->likely_ns : 0,
            .site = op->site,
            .caller = op->caller,
            .plain = turns->plain,
            .begins_turn = op->begins_turn,
            .ends_turn = op->ends_turn,
        };
    }
}

void xfw_notes_give(const struct xfw_notes *notes, size_t at, const struct xfw_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        const struct xfw_noted *noted = &notes->items[at + i];
        struct xfw_op *both[] = {&batch->ops[i], &batch->alone[i]};
        both[0]->stack = 0;
        for (size_t k = 0; k < 2; k++) {
            both[k]->site = noted->site;
            both[k]->under_way = noted->under_way;
            both[k]->caller = noted->caller;
            both[k]->begins_turn = noted->begins_turn;
            both[k]->ends_turn = noted->ends_turn;
            if (xfw_op_is_call(both[k])) {
                both[k]->behind_ns = noted->behind_ns;
                both[k]->likely_ns = noted->likely_ns;
            }
        }
    }
}

void xfw_notes_turns(const struct xfw_notes *notes, size_t at, struct xfw_turns *turns)
{
    turns->plain = turns->plain || (turns->count > 0 && notes->items[at].plain);
    for (size_t i = 0; i < turns->count && !turns->plain; i++)
        turns->later_ns[i] = notes->items[at + i].later_ns;
}
