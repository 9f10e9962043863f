#include "analyzer/whatif/changes/stop_mapping.h"

#include <math.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/mapping.h"
#include "analyzer/whatif/changes/memories.h"

#define MOST_COPIED 256 /* buffers of which it is known that they were copied */

struct stop {
    struct xfw_change change;
    struct xfw_set sites;
};

struct state {
    struct xfw_memories memories;
    uint64_t copied[MOST_COPIED];
    unsigned copies;
};

/* What a kernel was given of them. */
struct given {
    uint64_t bytes;
    enum xfw_writes writes;
    uint64_t first; /* of the first buffer */
};

static void end(const struct xfw_change *change, void *self)
{
    (void)change;
    xfw_memories_free(&((struct state *)self)->memories);
}

static void release(struct xfw_change *change)
{
    xfw_set_free(&((struct stop *)change)->sites);
}

static struct given given_to(const struct stop *stop, const struct state *state,
                             const struct xfa_process *process, const struct xfw_op *op)
{
    struct given given = {0};
    uint64_t pointer;
    for (uint32_t k = 0; xfw_given(process, op->arguments, k, &pointer); k++) {
        struct xfw_memory memory;
        if (!xfw_memories_find(&state->memories, pointer, &memory) ||
            !xfa_is_page_locked(memory.kind) || !xfw_set_has(&stop->sites, memory.by))
            continue;
        enum xfw_writes writes = xfw_writes(process, op->name, op->arguments, k);
        given.first = given.bytes ? given.first : memory.first;
        given.bytes = xfa_add(given.bytes, memory.end - memory.first);
        given.writes = writes > given.writes ? writes : given.writes;
    }
    return given;
}

static bool is_copied(struct state *state, uint64_t first)
{
    for (unsigned i = 0; i < state->copies; i++)
        if (state->copied[i] == first)
            return true;
    if (state->copies < MOST_COPIED)
        state->copied[state->copies++] = first;
    return false;
}

static struct xfw_op copy_of(const struct xfw_op *op, const struct xfw_copy_cost *cost, bool up)
{
    struct xfw_op copy = xfw_op_like(op);
    copy.what = XFW_COPY;
    copy.engine = up ? XFW_TO_DEVICE : XFW_TO_HOST;
    copy.exclusive = true;
    copy.own_ns = cost->submit_ns;
    copy.duration_ns = cost->device_ns;
    return copy;
}

static void copy(const struct stop *stop, struct state *state, struct xfw_player *player,
                 struct xfw_op *op, const struct given *given)
{
    const struct xfa_achievable *achievable = &stop->change.analysis->achievable;
    enum xfw_certainty certainty = xfw_player_certainty(player);
    struct xfw_copy_cost up =
        xfw_copy_cost(xfw_host_path(achievable, XFT_DIR_H2D, XFT_MEM_PINNED, -1, op->gpu),
                      given->bytes, certainty);
    struct xfw_copy_cost down =
        xfw_copy_cost(xfw_host_path(achievable, XFT_DIR_D2H, XFT_MEM_PINNED, -1, op->gpu),
                      given->bytes, certainty);
    enum xfw_writes copied_back = certainty == XFW_LOW ? XFW_MAY_WRITE : XFW_WRITES;
    bool there = is_copied(state, given->first);
    if (!there || certainty != XFW_HIGH) {
        struct xfw_op first = copy_of(op, &up, true);
        first.gap_ns = op->gap_ns; /* in which the host may have changed it */
        op->gap_ns = 0;
        xfw_player_play(player, &first);
    }
    if (given->writes >= copied_back) {
        struct xfw_op last = copy_of(op, &down, false);
        xfw_player_play_behind(player, &last);
    }
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    const struct stop *stop = (const struct stop *)change;
    const struct xfa_achievable *achievable = &change->analysis->achievable;
    struct state *state = self;
    xfw_memories_op(&state->memories, op);
    if (op->what != XFW_KERNEL || op->stream == XFW_NONE)
        return;
    struct given given = given_to(stop, state, xfw_player_process(player), op);
    double times = xfw_times_over(achievable, op->gpu, given.bytes, op->duration_ns);
    double byte = xfw_device_byte_ns(achievable, op->gpu);
    if (!(times > XFW_READ_AGAIN && times < XFW_MOST_TIMES_OVER) || isnan(byte))
        return;
    copy(stop, state, player, op, &given);
    enum xfw_certainty certainty = xfw_player_certainty(player);
    double reading = times * (double)given.bytes * byte;
    if (certainty != XFW_LOW)
        op->duration_ns = fmin(op->duration_ns, certainty == XFW_HIGH ? reading / 2 : reading);
}

struct xfw_change *xfw_change_stop_mapping(const struct xfa_analysis *analysis,
                                           struct xfw_set *sites)
{
    static const struct xfw_change_type type = {
        .name = "stop mapping",
        .state_bytes = sizeof(struct state),
        .op = op,
        .end = end,
        .free = release,
    };
    struct stop *stop = xfa_alloc(sizeof *stop);
    stop->change.type = &type;
    stop->change.analysis = analysis;
    stop->sites = *sites;
    *sites = (struct xfw_set){0};
    return &stop->change;
}
