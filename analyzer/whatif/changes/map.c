#include "analyzer/whatif/changes/map.h"

#include <math.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/mapping.h"
#include "analyzer/whatif/changes/memories.h"

#define MOST_MAPPED 64 /* stretches of memory that would be mapped at one time */

struct map {
    struct xfw_change change;
    struct xfw_set classes;
};

struct state {
    struct xfw_memories memories;
    struct mapped {
        uint64_t first, end;
    } mapped[MOST_MAPPED];
    unsigned count;
};

static void end(const struct xfw_change *change, void *self)
{
    (void)change;
    xfw_memories_free(&((struct state *)self)->memories);
}

static void release(struct xfw_change *change)
{
    xfw_set_free(&((struct map *)change)->classes);
}

/* What a copy fills is filled now: mapped, or not any more. */
static void fill(struct state *state, const struct xfw_op *op, bool mapped)
{
    uint64_t end = xfa_add(op->dst, op->bytes);
    for (unsigned i = 0; i < state->count; i++)
        if (state->mapped[i].first < end && op->dst < state->mapped[i].end)
            state->mapped[i--] = state->mapped[--state->count];
    if (mapped)
        state->mapped[state->count++] = (struct mapped){op->dst, end};
}

/* How much of what is mapped a kernel was given. */
static uint64_t given_to(const struct state *state, const struct xfa_process *process,
                         const struct xfw_op *op)
{
    uint64_t pointer, bytes = 0;
    for (uint32_t k = 0; xfw_given(process, op->arguments, k, &pointer); k++) {
        struct xfw_memory memory;
        if (!xfw_memories_find(&state->memories, pointer, &memory))
            continue;
        for (unsigned i = 0; i < state->count; i++) {
            const struct mapped *mapped = &state->mapped[i];
            if (mapped->first < memory.end && pointer < mapped->end)
                bytes = xfa_add(bytes, mapped->end - mapped->first);
        }
    }
    return bytes;
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    static const double part[] = {[XFW_LOW] = 2, [XFW_LIKELY] = 0.5};
    const struct map *map = (const struct map *)change;
    const struct xfa_achievable *achievable = &change->analysis->achievable;
    struct state *state = self;
    xfw_memories_op(&state->memories, op);
    if (op->what == XFW_COPY) {
        bool mapped = op->class != XFW_NONE && xfw_set_has(&map->classes, op->class) &&
                      state->count < MOST_MAPPED;
        fill(state, op, mapped);
        if (mapped)
            xfw_op_drop(op);
    }
    if (op->what != XFW_KERNEL || state->count == 0)
        return;
    uint64_t bytes = given_to(state, xfw_player_process(player), op);
    if (bytes == 0 || xfw_player_certainty(player) == XFW_HIGH)
        return;
    double read = fmin(1, xfw_share_read(achievable, op->gpu, bytes, op->duration_ns));
    read *= (double)bytes * part[xfw_player_certainty(player)];
    double over_link = xfw_mapped_ns(achievable, op->gpu, false, read);
    op->duration_ns = fmax(op->duration_ns, isnan(over_link) ? 0 : over_link);
}

struct xfw_change *xfw_change_map(const struct xfa_analysis *analysis, struct xfw_set *classes)
{
    static const struct xfw_change_type type = {
        .name = "map",
        .state_bytes = sizeof(struct state),
        .op = op,
        .end = end,
        .free = release,
    };
    struct map *map = xfa_alloc(sizeof *map);
    map->change.type = &type;
    map->change.analysis = analysis;
    map->classes = *classes;
    *classes = (struct xfw_set){0};
    return &map->change;
}
