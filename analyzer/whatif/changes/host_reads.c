#include <math.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"

#define MOST_BROUGHT 64 /* stretches of memory that were brought and not read yet */
#define LEAST_READ 0.5  /* of the time that reading all takes: a shorter one is no reading */
#define USUAL_BYTES ((uint64_t)1 << 20) /* at which both kinds of memory are compared */

struct state {
    struct xfw_memories memories;
    double ratio; /* of reading cached memory to reading write-combined memory; NAN: not known */
    struct brought {
        uint64_t first, end;
        uint32_t reader; /* the thread that waited for it, + 1; 0: none has yet */
        double left_ns;  /* to read it */
    } brought[MOST_BROUGHT];
    unsigned count;
};

static void begin(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    const struct xfa_achievable *achievable = &change->analysis->achievable;
    enum xfw_certainty certainty = xfw_player_certainty(player);
    ((struct state *)self)->ratio =
        xfw_host_read_ns(achievable, XFT_MEM_PINNED, USUAL_BYTES, certainty) /
        xfw_host_read_ns(achievable, XFT_MEM_WRITE_COMBINED, USUAL_BYTES, xfw_opposite(certainty));
}

static void end(const struct xfw_change *change, void *self)
{
    (void)change;
    xfw_memories_free(&((struct state *)self)->memories);
}

static void forget(struct state *state, unsigned i)
{
    state->brought[i] = state->brought[--state->count];
}

/* It is freed, or written again. */
static void forget_all(struct state *state, uint64_t first, uint64_t after)
{
    for (unsigned i = 0; i < state->count; i++)
        if (state->brought[i].first < after && first < state->brought[i].end)
            forget(state, i--);
}

static void bring(const struct xfw_change *change, struct state *state, uint64_t first,
                  uint64_t bytes)
{
    uint64_t after = xfa_add(first, bytes);
    forget_all(state, first, after);
    double ns =
        xfw_host_read_ns(&change->analysis->achievable, XFT_MEM_WRITE_COMBINED, bytes, XFW_LIKELY);
    if (state->count < MOST_BROUGHT && ns > 0)
        state->brought[state->count++] = (struct brought){first, after, 0, ns};
}

/* The allocation is one of those. */
static bool is_chosen(const struct xfw_change *change, const struct state *state, uint64_t address,
                      struct xfw_memory *memory)
{
    return xfw_memories_find(&state->memories, address, memory) &&
           memory->kind == XFT_MEM_WRITE_COMBINED && memory->by != XFW_NO_SITE &&
           xfw_set_has(&change->set, memory->by);
}

/* What the work brings to the host. */
static void note_work(const struct xfw_change *change, struct state *state,
                      const struct xfw_player *player, const struct xfw_op *op)
{
    const struct xfa_process *process = xfw_player_process(player);
    enum xfw_writes least = xfw_player_certainty(player) == XFW_HIGH ? XFW_MAY_WRITE : XFW_WRITES;
    struct xfw_memory memory;
    uint64_t pointer;
    if (op->what == XFW_COPY && op->engine == XFW_TO_HOST &&
        is_chosen(change, state, op->dst, &memory))
        bring(change, state, op->dst, op->bytes);
    for (uint32_t k = 0;
         op->what == XFW_KERNEL && xfw_launch_pointer(process, op->arguments, k, &pointer); k++)
        if (is_chosen(change, state, pointer, &memory) &&
            xfw_writes(process, op->name, op->arguments, k) >= least)
            bring(change, state, pointer, memory.end - pointer);
}

/* How much shorter the thread's own time before the op is. */
static double less_ns(struct state *state, const struct xfw_op *op, bool at_best)
{
    double gap = op->gap_ns, less = 0;
    for (unsigned i = 0; i < state->count && gap > 0; i++) {
        struct brought *brought = &state->brought[i];
        double reads = fmin(gap, brought->left_ns);
        if (brought->reader != op->thread + 1 ||
            (!at_best && reads < LEAST_READ * brought->left_ns))
            continue;
        gap -= reads;
        less += reads * (1 - state->ratio);
        brought->left_ns -= reads;
        if (!at_best || brought->left_ns <= 0)
            forget(state, i--);
    }
    return less;
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    enum xfw_certainty certainty = xfw_player_certainty(player);
    struct state *state = self;
    struct xfw_memory memory;
    if (certainty == XFW_LOW || !(state->ratio < 1))
        return;
    if (op->kind == XFT_EVENT_FREE && xfw_memories_find(&state->memories, op->dst, &memory))
        forget_all(state, memory.first, memory.end);
    xfw_memories_op(&state->memories, op);
    op->gap_ns -= less_ns(state, op, certainty == XFW_HIGH);
    note_work(change, state, player, op);
    bool waited = op->awaits != XFW_AWAITS_NOTHING && op->what != XFW_MESSAGE;
    for (unsigned i = 0; i < state->count && waited; i++)
        if (state->brought[i].reader == 0)
            state->brought[i].reader = op->thread + 1;
}

struct xfw_change *xfw_change_cached_reads(const struct xfa_analysis *analysis,
                                           struct xfw_set *sites)
{
    static const struct xfw_change_type type = {
        .name = "cached reads",
        .state_bytes = sizeof(struct state),
        .begin = begin,
        .op = op,
        .end = end,
    };
    return xfw_change_new(sizeof(struct xfw_change), &type, analysis, sites);
}
