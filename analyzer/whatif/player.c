#include "analyzer/whatif/player.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/check.h"
#include "analyzer/whatif/schedule/cached.h"
#include "analyzer/whatif/schedule/eased.h"
#include "analyzer/whatif/schedule/kept_turns.h"
#include "analyzer/whatif/schedule/left.h"
#include "analyzer/whatif/op/sample.h"

#define MOST_BEHIND 8
#define RECENT 256 /* side streams that were asked for last */

struct side_key {
    uint32_t stream, which; /* which: of its sides, and of which change */
};
struct side_item {
    struct side_key key;
    uint32_t number;
};

/* A change of the way, and what each op asks of it. */
struct step {
    const struct xfw_change *change;
    void (*op)(const struct xfw_change *change, void *state, struct xfw_player *player,
               struct xfw_op *op);
    void *state;
    enum xfw_certainty certainty; /* with which it is played */
};

struct xfw_player {
    struct xfa_process *process;
    struct xfw_schedule *schedule;
    struct step *steps; /* in their order */
    size_t count;
    enum xfw_certainty certainty;
    struct xfa_table sides;
    struct recent {
        struct side_item side;
        bool there;
    } recent[RECENT]; /* by hash */
    uint32_t side_events;
    struct xfw_op behind[MOST_BEHIND];
    unsigned behind_count;
    const struct xfw_tap *tap;       /* NULL: none */
    size_t at;                       /* the change that has the op at hand */
    double work_end;                 /* of the op that was scheduled last; NAN: it had no work */
    uint64_t taken;                  /* bits of the changes before it that took the transfer */
    struct xfa_table *counts;        /* NULL: not counted */
    const struct xfw_sample *sample; /* known at the end; NULL: no op was left out */
    struct xfw_eased *eased;         /* NULL: its threads are not followed in the driver */
    struct xfw_kept_turns *kept;     /* NULL: its threads take none, or need not */
    struct xfw_cached cached;        /* where it is played at best */
    struct xfw_left *left;           /* NULL: nobody asks */
    uint64_t acted;                  /* xfw_player_acted(); all bits: none is watched */
    struct xfw_op *before;           /* the op, as a watched change got it; NULL: none is watched */
    bool tries;                      /* xfw_player_try() */
};

/* At worst no call is let in sooner. */
static bool eases(const struct xfa_process *process, size_t count, enum xfw_certainty certainty)
{
    return count > 0 && certainty != XFW_LOW && process->calls_ns;
}

/* At worst, what is known of the program is taken as likely. */
static enum xfw_certainty certainty_of(const struct xfw_change *change,
                                       enum xfw_certainty certainty)
{
    bool known = change->assured && !change->doubted;
    return certainty == XFW_LOW && known ? XFW_LIKELY : certainty;
}

/* They need not where a change applies that says so. */
static bool keeps_turns(struct xfw_player *player)
{
    bool needed = player->count > 0 && player->process->turns_ns > 0;
    for (player->at = 0; player->at < player->count && needed; player->at++) {
        const struct xfw_change *change = player->steps[player->at].change;
        needed = !change->frees_turns || !xfw_change_applies(change, player);
    }
    player->at = 0;
    return needed;
}

struct xfw_player *xfw_player_new(struct xfa_process *process, struct xfw_change *const *changes,
                                  size_t count, enum xfw_certainty certainty)
{
    struct xfw_player *player = xfa_alloc(sizeof *player);
    *player = (struct xfw_player){
        .process = process,
        .schedule = xfw_schedule_new(),
        .steps = xfa_alloc((count + 1) * sizeof *player->steps),
        .count = count,
        .certainty = certainty,
        .eased = eases(process, count, certainty) ? xfw_eased_new(process->calls_ns) : NULL,
        .acted = UINT64_MAX,
    };
    xfw_schedule_certainty(player->schedule, certainty);
    xfa_table_init(&player->sides, sizeof(struct side_key), sizeof(struct side_item));
    for (size_t i = 0; i < count; i++)
        player->steps[i] = (struct step){
            .change = changes[i],
            .op = changes[i]->type->op,
            .certainty = certainty_of(changes[i], certainty),
        };
    player->kept = keeps_turns(player) ? xfw_kept_turns_new() : NULL;
    for (size_t i = 0; i < count; i++)
        player->steps[i].state = xfw_change_begin(changes[i], player);
    return player;
}

void xfw_player_free(struct xfw_player *player)
{
    if (!player)
        return;
    for (size_t i = 0; i < player->count; i++)
        xfw_change_end(player->steps[i].change, player->steps[i].state);
    free(player->steps);
    xfw_eased_free(player->eased);
    xfw_kept_turns_free(player->kept);
    xfw_cached_free(&player->cached);
    xfw_left_free(player->left);
    free(player->before);
    xfa_table_free(&player->sides);
    xfw_schedule_free(player->schedule);
    free(player);
}

void xfw_player_join(struct xfw_player *player, struct xfw_board *board, double begun_ns)
{
    xfw_schedule_join(player->schedule, board, begun_ns);
}

void xfw_player_tap(struct xfw_player *player, const struct xfw_tap *tap)
{
    player->tap = tap;
}

void xfw_player_count(struct xfw_player *player, struct xfa_table *counts)
{
    player->counts = counts;
}

void xfw_player_ask_left(struct xfw_player *player)
{
    player->left = xfw_left_new();
}

double xfw_player_left(const struct xfw_player *player, double as_recorded, double changed)
{
    return player->left ? xfw_left_most(player->left, as_recorded, changed) : 0;
}

/* ---- which changes do anything --------------------------------------------------------------- */

/* Whoever moves others' turns does. */
void xfw_player_watch(struct xfw_player *player)
{
    const size_t most = 64; /* bits */
    if (player->count > most)
        return;
    player->acted = 0;
    for (size_t i = 0; i < player->count; i++)
        player->acted |= (uint64_t)(player->steps[i].change->type->begins != NULL) << i;
    player->before = xfa_alloc(sizeof *player->before);
}

uint64_t xfw_player_acted(const struct xfw_player *player)
{
    return player->acted;
}

/* The change at hand did. */
static void acts(struct xfw_player *player)
{
    player->acted |= (uint64_t)1 << player->at % 64;
}

/* The change at hand gets the op, and has not done anything so far. was: the same op, which stays
 * as it is; NULL: there is none yet. The same op now. */
XFW_RARE static const struct xfw_op *watch_op(struct xfw_player *player, const struct step *step,
                                              struct xfw_op *op, const struct xfw_op *was)
{
    const uint64_t bit = (uint64_t)1 << player->at % 64;
    if (!was)
        was = memcpy(player->before, op, XFW_PLAYED_BYTES);
    step->op(step->change, step->state, player, op);
    bool same = !(player->acted & bit) && memcmp(was, op, XFW_PLAYED_BYTES) == 0;
    player->acted |= same ? 0 : bit;
    return same ? was : NULL;
}

/* The changes from `first` on get the op, one after the other. was: as for watch_op(). */
XFW_USUAL void change_op(struct xfw_player *player, struct xfw_op *op, size_t first,
                         const struct xfw_op *was)
{
    for (size_t i = first; i < player->count; i++) {
        const struct step *step = &player->steps[i];
        player->at = i;
        if (player->acted >> i % 64 & 1) {
            step->op(step->change, step->state, player, op);
            was = NULL;
        } else {
            was = watch_op(player, step, op, was);
        }
    }
}

/* ---- ops ------------------------------------------------------------------------------------- */

static void schedule(struct xfw_player *player, const struct xfw_op *op,
                     const struct xfw_op *recorded)
{
    XFA_EXPECT(op->engine == XFW_NO_ENGINE || !(op->duration_ns < 0),
               "a changed run has work that takes less than no time");
    xfw_schedule_op(player->schedule, op);
    if (player->left)
        xfw_left_op(player->left, op, recorded, player->schedule);
    if (player->tap && op->what != XFW_MEETING)
        player->tap->op(player->tap->self, op, recorded, player->schedule);
}

/* At best nobody asks when the call begins. */
XFW_USUAL void ease(struct xfw_player *player, struct xfw_op *op, const struct xfw_op *recorded)
{
    const bool asked = player->certainty != XFW_HIGH && recorded->caller != 0;
    const double begins = asked ? xfw_schedule_begins(player->schedule, op) : 0;
    xfw_eased_op(player->eased, recorded, op, begins, player->certainty);
}

/* No call begins another turn before those that began earlier have ended. */
static void wait_for_turn(const struct xfw_player *player, const struct xfw_op *recorded,
                          struct xfw_op *op)
{
    const double from = xfw_kept_turns_from(player->kept, recorded);
    const double now = xfw_schedule_thread_now(player->schedule, op->thread);
    if (!(from > xfw_schedule_begins(player->schedule, op)) || isinf(from))
        return;
    op->gap_ns = from - now;
    op->woken_by = XFW_NONE;
    op->woken_by_stream = op->woken_by_call = 0;
    op->joins = op->for_job = false;
    op->paced = XFW_PACED_NOT;
    op->held = 0;
}

/* A turn ends behind its work. */
static void end_turn(struct xfw_player *player, const struct xfw_op *recorded,
                     const struct xfw_op *op)
{
    const double until = xfw_kept_turns_played(player->kept, recorded, player->work_end);
    if (!recorded->ends_turn)
        return;
    if (until > xfw_schedule_thread_now(player->schedule, op->thread)) {
        struct xfw_op wait = xfw_op_like(op);
        wait.kind = XFT_EVENT_SYNC;
        wait.stream = xfw_player_side_stream(player, op->thread, XFW_SIDE_HOST);
        wait.stream_kind = XFW_NONBLOCKING;
        wait.awaits = XFW_AWAITS_STREAM;
        wait.wake_ns = recorded->wake_ns;
        xfw_player_stream_after(player, wait.stream, until);
        xfw_player_play(player, &wait);
    }
    xfw_kept_turns_end(player->kept, recorded,
                       xfw_schedule_thread_now(player->schedule, op->thread));
}

/* Through the changes from `first` on, to which it comes as `was`; what they play behind it
 * follows. */
XFW_USUAL void change_and_play(struct xfw_player *player, struct xfw_op *op,
                               const struct xfw_op *recorded, size_t first,
                               const struct xfw_op *was)
{
    unsigned before = player->behind_count;
    change_op(player, op, first, was);
    if (player->eased && recorded)
        ease(player, op, recorded);
    if (recorded && player->certainty == XFW_HIGH)
        xfw_cached_op(&player->cached, &player->steps[0].change->analysis->classes, recorded, op);
    if (player->kept && recorded)
        wait_for_turn(player, recorded, op);
    schedule(player, op, recorded);
    double end = xfw_schedule_last(player->schedule)->end;
    for (unsigned i = before; i < player->behind_count; i++) {
        schedule(player, &player->behind[i], NULL);
        end = xfw_max(end, xfw_schedule_last(player->schedule)->end);
    }
    player->behind_count = before;
    player->work_end = end;
    if (player->kept && recorded)
        end_turn(player, recorded, op);
}

void xfw_player_op(struct xfw_player *player, const struct xfw_op *given)
{
    if (player->count == 0) {
        schedule(player, given, given);
        return;
    }
    struct xfw_op op;
    const bool found = given->what == XFW_QUERY && given->at_once && player->certainty == XFW_HIGH;
    xfw_op_copy(&op, given);
    if (found)
        op.awaits = XFW_AWAITS_NOTHING;
    player->behind_count = 0;
    player->taken = 0;
    change_and_play(player, &op, given, 0, found ? NULL : given);
}

void xfw_player_try(struct xfw_player *player, const struct xfw_op *given)
{
    struct xfw_op op;
    player->tries = true;
    if (player->acted)
        return;
    xfw_op_copy(&op, given);
    player->behind_count = 0;
    player->taken = 0;
    change_op(player, &op, 0, given);
}

double xfw_player_begins(const struct xfw_player *player, const struct xfw_op *op)
{
    double begins = xfw_schedule_begins(player->schedule, op);
    for (size_t i = 0; i < player->count; i++) {
        const struct step *step = &player->steps[i];
        if (step->change->type->begins)
            begins = step->change->type->begins(step->change, step->state, player, op, begins);
    }
    if (player->kept)
        begins = xfw_max(begins, xfw_kept_turns_from(player->kept, op));
    return begins;
}

void xfw_player_insert(struct xfw_player *player, const struct xfw_op *inserted)
{
    struct xfw_op op;
    size_t at = player->at;
    uint64_t taken = player->taken;
    acts(player);
    xfw_op_copy(&op, inserted);
    player->taken = 0;
    change_and_play(player, &op, NULL, at + 1, NULL);
    player->at = at;
    player->taken = taken;
}

void xfw_player_finish(struct xfw_player *player, const struct xfw_sample *sample)
{
    player->sample = sample;
    player->behind_count = 0;
    for (size_t i = 0; i < player->count; i++) {
        const struct step *step = &player->steps[i];
        player->at = i;
        if (step->change->type->finish)
            step->change->type->finish(step->change, step->state, player);
    }
}

/* ---- for changes ----------------------------------------------------------------------------- */

double xfw_player_weight(const struct xfw_player *player, uint32_t class)
{
    return player->sample ? xfw_sample_weight(player->sample, class) : 1;
}

enum xfw_certainty xfw_player_certainty(const struct xfw_player *player)
{
    return player->steps[player->at].certainty;
}

struct xfa_process *xfw_player_process(const struct xfw_player *player)
{
    return player->process;
}

const struct xfw_schedule *xfw_player_schedule(const struct xfw_player *player)
{
    return player->schedule;
}

void xfw_player_play(struct xfw_player *player, const struct xfw_op *op)
{
    acts(player);
    schedule(player, op, NULL);
}

void xfw_player_play_before(struct xfw_player *player, struct xfw_op *call, struct xfw_op *op)
{
    if (!xfw_schedule_has_begun(player->schedule, op->thread))
        xfw_op_take_gap(call, op);
    call->begins = true;
    xfw_player_play(player, call);
}

void xfw_player_play_earlier(struct xfw_player *player, const struct xfw_op *op, double ready)
{
    acts(player);
    xfw_schedule_earlier(player->schedule, op, ready);
    if (player->tap)
        player->tap->op(player->tap->self, op, NULL, player->schedule);
}

void xfw_player_play_behind(struct xfw_player *player, const struct xfw_op *op)
{
    acts(player);
    if (player->behind_count < MOST_BEHIND)
        player->behind[player->behind_count++] = *op;
}

double xfw_player_work_end(const struct xfw_player *player, uint32_t stream)
{
    double end = player->work_end;
    return end == end ? end : xfw_schedule_stream_end(player->schedule, stream);
}

bool xfw_player_take(struct xfw_player *player, const struct xfw_op *op)
{
    const struct xfw_change *change = player->steps[player->at].change;
    if (player->taken & change->excludes)
        return false;
    if (!player->tries)
        acts(player);
    player->taken |= (uint64_t)1 << change->number;
    if (player->counts) {
        const struct xfw_taken_key key = {change->number, op->class};
        struct xfw_taken *count = xfa_table_put(player->counts, &key);
        count->transfers++;
    }
    return true;
}

void xfw_player_moved(struct xfw_player *player, uint32_t from, uint32_t to)
{
    acts(player);
    for (unsigned i = 0; i < player->behind_count; i++)
        if (player->behind[i].stream == from)
            player->behind[i].stream = to;
}

void xfw_player_stream_after(struct xfw_player *player, uint32_t stream, double ns)
{
    acts(player);
    xfw_schedule_stream_after(player->schedule, stream, ns);
    if (player->tap)
        player->tap->after(player->tap->self, stream, ns);
}

void xfw_player_span_until(struct xfw_player *player, double ns)
{
    acts(player);
    xfw_schedule_span_until(player->schedule, ns);
}

/* All numbers of side streams come from here: in the order in which they are first asked for. */
uint32_t xfw_player_side_stream(struct xfw_player *player, uint32_t stream, enum xfw_side side)
{
    acts(player);
    struct side_key key = {stream, (uint32_t)player->at * XFW_SIDES + side};
    struct recent *recent = &player->recent[(stream * XFW_SIDES + key.which) % RECENT];
    if (recent->there && recent->side.key.stream == stream && recent->side.key.which == key.which)
        return recent->side.number;
    size_t before = player->sides.count;
    struct side_item *item = xfa_table_put(&player->sides, &key);
    if (player->sides.count > before)
        item->number = XFW_FIRST_SIDE_STREAM + (uint32_t)before;
    *recent = (struct recent){*item, true};
    return item->number;
}

uint32_t xfw_player_side_event(struct xfw_player *player)
{
    acts(player);
    return XFW_FIRST_SIDE_EVENT + player->side_events++;
}

void *xfw_change_new(size_t bytes, const struct xfw_change_type *type,
                     const struct xfa_analysis *analysis, struct xfw_set *set)
{
    struct xfw_change *change = xfa_alloc(bytes);
    change->type = type;
    change->analysis = analysis;
    if (set) {
        change->set = *set;
        *set = (struct xfw_set){0};
    }
    return change;
}

void *xfw_change_begin(const struct xfw_change *change, struct xfw_player *player)
{
    void *state = xfa_alloc(change->type->state_bytes + 1);
    if (change->type->begin)
        change->type->begin(change, state, player);
    return state;
}

void xfw_change_end(const struct xfw_change *change, void *state)
{
    if (change->type->end)
        change->type->end(change, state);
    free(state);
}

void xfw_change_free(struct xfw_change *change)
{
    if (!change)
        return;
    if (change->type->free)
        change->type->free(change);
    xfw_set_free(&change->set);
    free(change);
}

void xfw_set_add_row(struct xfw_set *set, const struct xfa_analysis *analysis,
                     const struct xfa_row *row)
{
    const struct xfa_class *class = NULL;
    while ((class = xfa_row_class(&analysis->classes, row, class)))
        xfw_set_add(set, class->number);
}
