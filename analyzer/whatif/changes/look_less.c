#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/changes.h"

struct look_less {
    struct xfw_change change;
    const struct xfw_marks *marks;
};

/* Threads whose next wait was for a copy that went. */
struct state {
    bool *waits;
    size_t count, capacity;
};

static bool *waits_of(struct state *state, uint32_t thread)
{
    state->waits =
        xfa_grown(state->waits, &state->capacity, &state->count, thread, sizeof *state->waits);
    return &state->waits[thread];
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    const struct look_less *less = (const struct look_less *)change;
    struct state *state = self;
    uint32_t process = xfw_player_process(player)->number;
    if (xfw_player_certainty(player) == XFW_LOW)
        return;
    bool *waits = waits_of(state, op->thread);
    bool copy = op->what == XFW_COPY && op->class != XFW_NONE;
    if (copy && xfw_set_has(&change->set, op->class) &&
        xfw_marked(less->marks, process, op->transfer)) {
        *waits = op->awaits == XFW_AWAITS_NOTHING;
        xfw_op_drop(op);
    } else if (*waits && op->kind == XFT_EVENT_SYNC) {
        *waits = false;
        xfw_op_drop(op);
    } else if (xfw_op_is_work(op)) {
        *waits = false; /* another copy, or more work: the wait is for that, too */
    }
}

static void end(const struct xfw_change *change, void *self)
{
    (void)change;
    free(((struct state *)self)->waits);
}

struct xfw_change *xfw_change_look_less(const struct xfa_analysis *analysis,
                                        const struct xfw_marks *marks, struct xfw_set *classes)
{
    static const struct xfw_change_type type = {
        .name = "look less", .state_bytes = sizeof(struct state), .op = op, .end = end};
    struct look_less *less = xfw_change_new(sizeof *less, &type, analysis, classes);
    less->marks = marks;
    return &less->change;
}
