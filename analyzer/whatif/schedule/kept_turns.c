#include "analyzer/whatif/schedule/kept_turns.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/schedule/handovers.h"

#define WORKS 32 /* of a turn: those before count as done by its end */

struct turn_of {
    uint32_t thread;
    bool open;
    double ended;                             /* its last turn, as played */
    double before;                            /* work that is not in works ends by then */
    double ends[WORKS], recorded_ends[WORKS]; /* a ring */
    unsigned works;
};

struct xfw_kept_turns {
    struct turn_of turns[XFW_HANDOVER_THREADS];
    unsigned count;
};

struct xfw_kept_turns *xfw_kept_turns_new(void)
{
    return xfa_alloc(sizeof(struct xfw_kept_turns));
}

void xfw_kept_turns_free(struct xfw_kept_turns *kept)
{
    free(kept);
}

static struct turn_of *turn_of(struct xfw_kept_turns *kept, uint32_t thread)
{
    unsigned i = 0;
    while (i < kept->count && kept->turns[i].thread != thread)
        i++;
    if (i == XFW_HANDOVER_THREADS)
        return NULL;
    if (i == kept->count)
        kept->turns[kept->count++] = (struct turn_of){.thread = thread};
    return &kept->turns[i];
}

double xfw_kept_turns_from(const struct xfw_kept_turns *kept, const struct xfw_op *recorded)
{
    double from = 0;
    for (unsigned i = 0; i < kept->count && recorded->begins_turn; i++) {
        const struct turn_of *other = &kept->turns[i];
        if (other->thread != recorded->thread)
            from = xfw_max(from, other->open ? INFINITY : other->ended);
    }
    return from;
}

static void add_work(struct turn_of *turn, double recorded_end, double end)
{
    unsigned at = turn->works++ % WORKS;
    if (turn->works > WORKS)
        turn->before = xfw_max(turn->before, turn->ends[at]);
    turn->recorded_ends[at] = recorded_end;
    turn->ends[at] = end;
}

/* What is not known to have gone on behind the wait was waited for. */
static double awaited(const struct turn_of *turn, const struct xfw_op *wait)
{
    double until = turn->before;
    for (unsigned i = 0; i < turn->works && i < WORKS; i++)
        if (!(turn->recorded_ends[i] > wait->end_ns))
            until = xfw_max(until, turn->ends[i]);
    return until;
}

double xfw_kept_turns_played(struct xfw_kept_turns *kept, const struct xfw_op *recorded,
                             double work_end)
{
    struct turn_of *turn = turn_of(kept, recorded->thread);
    if (!turn)
        return 0;
    turn->open = turn->open || recorded->begins_turn;
    if (xfw_op_is_work(recorded) && !isnan(work_end))
        add_work(turn, recorded->device_end_ns, work_end);
    return recorded->ends_turn ? awaited(turn, recorded) : 0;
}

void xfw_kept_turns_end(struct xfw_kept_turns *kept, const struct xfw_op *recorded, double now)
{
    struct turn_of *turn = turn_of(kept, recorded->thread);
    if (!turn)
        return;
    turn->open = false;
    turn->ended = now;
    turn->before = 0;
    turn->works = 0;
}
