#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/changes.h"

struct look_less {
    struct xfw_change change;
    const struct xfw_marks *marks;
};

struct thread {
    bool waits;   /* its next wait was for a copy that went */
    bool goes_on; /* such a copy went since its last launch */
};

struct state {
    struct thread *threads;
    size_t count, capacity;
};

static struct thread *thread_of(struct state *state, uint32_t thread)
{
    state->threads =
        xfa_grown(state->threads, &state->capacity, &state->count, thread, sizeof *state->threads);
    return &state->threads[thread];
}

/* Its next work is behind other work now: how soon it follows was not recorded. */
static void go_on(struct thread *thread, const struct xfw_player *player, struct xfw_op *op)
{
    if (thread->goes_on && xfw_player_certainty(player) == XFW_HIGH)
        op->space_ns = 0;
    thread->waits = thread->goes_on = false; /* a later wait is for this work, too */
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    const struct look_less *less = (const struct look_less *)change;
    struct state *state = self;
    uint32_t process = xfw_player_process(player)->number;
    if (xfw_player_certainty(player) == XFW_LOW)
        return;
    struct thread *thread = thread_of(state, op->thread);
    bool copy = op->what == XFW_COPY && op->class != XFW_NONE;
    if (copy && xfw_set_has(&change->set, op->class) &&
        xfw_marked(less->marks, process, op->transfer)) {
        thread->waits = op->awaits == XFW_AWAITS_NOTHING;
        thread->goes_on = true;
        xfw_op_drop(op);
    } else if (thread->waits && op->kind == XFT_EVENT_SYNC) {
        thread->waits = false;
        xfw_op_drop(op);
    } else if (xfw_op_is_work(op)) {
        go_on(thread, player, op);
    }
}

static void end(const struct xfw_change *change, void *self)
{
    (void)change;
    free(((struct state *)self)->threads);
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
