#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/feeders.h"

#define NEXT_LOOK 16    /* transfers behind a kernel: its look is among them */
#define MOST_VALUES 256 /* places that looks fetch from: of further ones resets stay */

struct look_less {
    struct xfw_change change;
    const struct xfw_marks *marks, *at_best;
    const struct xfw_feeders *feeders;
};

struct looking {
    bool waits;      /* its next wait was for a copy that went */
    uint32_t waited; /* a copy of that stream, + 1, went that had waited itself: a wait for the
                        stream right behind it had nothing else to wait for */
    bool goes_on;    /* such a copy went since its last launch */
    bool brings;     /* a copy to the host that stays has been queued since it last waited: the next
                        wait is for that, too */
    uint64_t gone;   /* bytes of such copies that the next one which stays brings as well */
};

struct value {        /* of the device, that a look has fetched */
    uint64_t address; /* key */
    uint64_t bytes;   /* the most at once */
};

struct looks {
    struct looking *threads;
    size_t count, capacity;
    struct xfa_table values;
};

static struct looking *looking_of(struct looks *state, uint32_t thread)
{
    state->threads =
        xfa_grown(state->threads, &state->capacity, &state->count, thread, sizeof *state->threads);
    return &state->threads[thread];
}

/* Its next work is behind other work now: how soon it follows was not recorded. */
static void go_on(struct looking *thread, const struct xfw_player *player, struct xfw_op *op)
{
    if (thread->goes_on && xfw_player_certainty(player) == XFW_HIGH)
        op->space_ns = 0;
    thread->waits = thread->goes_on = false; /* a later wait is for this work, too */
    thread->waited = 0;
}

/* cuBLAS waits for the stream behind a copy that has waited. */
static bool waited_for_looks(const struct looking *thread, const struct xfw_op *op)
{
    bool again =
        thread->waited && op->awaits == XFW_AWAITS_STREAM && op->stream + 1 == thread->waited;
    return op->kind == XFT_EVENT_SYNC && (thread->waits || again);
}

void xfw_feeders_free(struct xfw_feeders *feeders)
{
    xfa_table_free(&feeders->table);
    xfw_marks_free(&feeders->looks);
}

struct xfw_feeder *xfw_feeder_put(struct xfw_feeders *feeders, const struct xfw_feeder *key)
{
    if (feeders->table.item_bytes == 0)
        xfa_table_init(&feeders->table, offsetof(struct xfw_feeder, class), sizeof *key);
    return xfa_table_put(&feeders->table, key);
}

static bool look_goes(const struct look_less *less, const struct xfw_player *player,
                      uint64_t transfer)
{
    uint32_t process = xfw_player_process(player)->number;
    bool best = xfw_player_certainty(player) == XFW_HIGH;
    return xfw_marked(less->marks, process, transfer) ||
           (best && xfw_marked(less->at_best, process, transfer));
}

static bool next_look_goes(const struct look_less *less, const struct xfw_player *player,
                           uint64_t from)
{
    uint32_t process = xfw_player_process(player)->number;
    uint64_t next = from, end = from + NEXT_LOOK;
    while (next < end && !xfw_marked(&less->feeders->looks, process, next))
        next++;
    return next < end && look_goes(less, player, next);
}

/* The kernel only makes what the next look is for, and that one goes. */
static bool feeds_what_goes(const struct look_less *less, const struct xfw_player *player,
                            const struct xfw_op *op)
{
    uint32_t process = xfw_player_process(player)->number;
    if (op->what != XFW_KERNEL || op->made_up || !less->feeders || !less->feeders->table.count)
        return false;
    const struct xfw_feeder key = {
        .process = process, .name = op->name, .arguments = op->arguments};
    const struct xfw_feeder *feeder = xfa_table_get(&less->feeders->table, &key);
    if (!feeder || !(feeder->sure || xfw_player_certainty(player) == XFW_HIGH) ||
        !xfw_set_has(&less->change.set, feeder->class))
        return false;
    return next_look_goes(less, player, op->transfer);
}

static void note_value(struct looks *state, const struct xfw_op *op)
{
    struct value *value = xfa_table_get(&state->values, &op->src);
    if (!op->src || (!value && state->values.count >= MOST_VALUES))
        return;
    value = value ? value : xfa_table_put(&state->values, &op->src);
    value->bytes = op->bytes > value->bytes ? op->bytes : value->bytes;
}

/* What the host writes to the value's place before a round (a flag that kernels raise) is for the
 * round's look. The one before a look that stays is not left out. */
static bool resets_what_goes(const struct look_less *less, const struct looks *state,
                             const struct xfw_player *player, const struct xfw_op *op)
{
    bool up = op->what == XFW_COPY && op->class != XFW_NONE && op->engine == XFW_TO_DEVICE;
    const struct value *value = up && op->dst && state->values.count && less->feeders
                                    ? xfa_table_get(&state->values, &op->dst)
                                    : NULL;
    return value && op->bytes <= value->bytes && next_look_goes(less, player, op->transfer + 1);
}

/* What is collected meanwhile. */
static void bring_gone(const struct look_less *less, struct looking *thread,
                       const struct xfw_player *player, struct xfw_op *op)
{
    const struct xfa_analysis *analysis = less->change.analysis;
    const struct xfa_row_key *key = &xfa_class_key_at(&analysis->classes, op->class)->row;
    const struct xfp_path *path =
        xfw_host_path(&analysis->achievable, XFT_DIR_D2H, key->dst_mem, -1, op->gpu);
    enum xfw_certainty certainty = xfw_player_certainty(player);
    struct xfw_copy_cost one = xfw_copy_cost(path, op->bytes, certainty);
    struct xfw_copy_cost all = xfw_copy_cost(path, xfa_add(op->bytes, thread->gone), certainty);
    if (one.known && all.known)
        op->duration_ns += fmax(0, all.device_ns - one.device_ns);
    thread->gone = 0;
}

static void note_brought(struct looking *thread, const struct xfw_op *op)
{
    if (op->awaits == XFW_AWAITS_ITSELF || op->kind == XFT_EVENT_SYNC)
        thread->brings = false;
    else if (op->what == XFW_COPY && op->engine == XFW_TO_HOST)
        thread->brings = true;
}

static void begin_looks(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    (void)change, (void)player;
    xfa_table_init(&((struct looks *)self)->values, sizeof(uint64_t), sizeof(struct value));
}

static void look_less(const struct xfw_change *change, void *self, struct xfw_player *player,
                      struct xfw_op *op)
{
    const struct look_less *less = (const struct look_less *)change;
    struct looks *state = self;
    if (xfw_player_certainty(player) == XFW_LOW)
        return;
    struct looking *thread = looking_of(state, op->thread);
    bool copy = op->what == XFW_COPY && op->class != XFW_NONE;
    bool looks = copy && xfw_set_has(&change->set, op->class);
    if (looks)
        note_value(state, op);
    if (looks && look_goes(less, player, op->transfer)) {
        thread->waits = op->awaits == XFW_AWAITS_NOTHING && !thread->brings;
        thread->waited =
            op->awaits == XFW_AWAITS_ITSELF && op->stream != XFW_NONE ? op->stream + 1 : 0;
        thread->goes_on = true;
        thread->gone = xfa_add(thread->gone, op->bytes);
        xfw_op_drop(op);
        return;
    }
    if (looks) {
        bring_gone(less, thread, player, op);
        go_on(thread, player, op);
    } else if (waited_for_looks(thread, op)) {
        thread->waits = false;
        thread->waited = 0;
        xfw_op_drop(op);
    } else if (feeds_what_goes(less, player, op) || resets_what_goes(less, state, player, op)) {
        xfw_op_drop(op);
    } else if (xfw_op_is_work(op)) {
        go_on(thread, player, op);
    }
    note_brought(thread, op);
}

static void end_looks(const struct xfw_change *change, void *self)
{
    struct looks *state = self;
    (void)change;
    xfa_table_free(&state->values);
    free(state->threads);
}

struct xfw_change *xfw_change_look_less(const struct xfa_analysis *analysis,
                                        const struct xfw_marks *marks,
                                        const struct xfw_marks *at_best,
                                        const struct xfw_feeders *feeders, struct xfw_set *classes)
{
    static const struct xfw_change_type type = {.name = "look less",
                                                .state_bytes = sizeof(struct looks),
                                                .begin = begin_looks,
                                                .op = look_less,
                                                .end = end_looks};
    struct look_less *less = xfw_change_new(sizeof *less, &type, analysis, classes);
    less->marks = marks;
    less->at_best = at_best;
    less->feeders = feeders;
    return &less->change;
}
