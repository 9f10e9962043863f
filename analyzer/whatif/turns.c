#include "analyzer/whatif/turns.h"

#include <math.h>
#include <string.h>

#include "xferscope/trace.h"

/* Of the calls of a batch: so many may come before others that were before them as recorded, or the
 * replay does not know the order (a guess). */
#define MOST_LATE 0.05

/* ---- what waits for what --------------------------------------------------------------------- */

#define PLACES 64 /* by number: order is kept between those that share one, too */

/* Who came last: by thread, event and stream, and of calls for memory. */
struct met {
    uint32_t threads[XFW_TURN_THREADS];
    uint16_t last[XFW_TURN_THREADS];
    unsigned count;
    uint16_t events[PLACES], streams[PLACES], memory, device;
};

/* Of a thread that was not met yet: made. XFW_TURN_THREADS: there are too many. */
static unsigned thread_at(struct met *met, uint32_t thread)
{
    unsigned i = 0;
    while (i < met->count && met->threads[i] != thread)
        i++;
    if (i == met->count && i < XFW_TURN_THREADS)
        met->threads[met->count++] = thread;
    return i;
}

/* Who used it before, and that this one does now. */
static uint16_t use(uint16_t *user, uint16_t now)
{
    uint16_t before = *user;
    *user = now;
    return before;
}

/* Addresses are given again. */
static bool is_of_memory(const struct xfw_op *op)
{
    return op->kind == XFT_EVENT_ALLOC || op->kind == XFT_EVENT_FREE ||
           op->kind == XFT_EVENT_REGISTER || op->kind == XFT_EVENT_UNREGISTER;
}

/* Whoever frees memory waits for a device without meaning to. */
static bool waits_for_device(const struct xfw_op *op)
{
    return op->awaits == XFW_AWAITS_DEVICE && !is_of_memory(op);
}

static bool keeps_place(const struct xfw_op *op)
{
    return waits_for_device(op) || op->what == XFW_RANGE || op->woken_by_stream;
}

static void note_uses(struct met *met, const struct xfw_op *op, uint16_t now, struct xfw_turn *turn)
{
    if (op->event != XFW_NONE)
        turn->after[XFW_TURN_EVENT] = use(&met->events[op->event % PLACES], now);
    if (op->stream != XFW_NONE && op->stream_kind != XFW_LEGACY)
        turn->after[XFW_TURN_STREAM] = use(&met->streams[op->stream % PLACES], now);
    turn->after[XFW_TURN_DEVICE] = met->device;
    if (waits_for_device(op))
        met->device = now;
    if (is_of_memory(op))
        turn->after[XFW_TURN_MEMORY] = use(&met->memory, now);
}

static uint16_t waker_of(const struct met *met, const struct xfw_op *op)
{
    for (unsigned i = 0; i < met->count && op->woken_by != XFW_NONE; i++)
        if (met->threads[i] == op->woken_by)
            return met->last[i];
    return 0;
}

/* The last op so far that the thread woke before the batch: it counts from where that is now. */
static uint16_t last_woken(const struct xfw_op *ops, size_t count, uint32_t by)
{
    while (count > 0 && ops[count - 1].woken_by != by)
        count--;
    return (uint16_t)count;
}

static bool has_one_thread(const struct xfw_op *ops, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (ops[i].thread != ops[0].thread)
            return false;
    return true;
}

void xfw_turns_of(struct xfw_turns *turns, const struct xfw_op *ops, size_t count, bool plain)
{
    struct met met = {.count = 0};
    turns->count = count;
    turns->plain = plain || has_one_thread(ops, count);
    if (turns->plain)
        return;
    memset(turns->first, 0, sizeof turns->first);
    for (size_t i = 0; i < count; i++) {
        const struct xfw_op *op = &ops[i];
        uint16_t now = (uint16_t)(i + 1);
        unsigned thread = thread_at(&met, op->thread);
        if (thread == XFW_TURN_THREADS) {
            turns->plain = true;
            return;
        }
        struct xfw_turn *turn = &turns->turns[i];
        *turn = (struct xfw_turn){.waker = waker_of(&met, op), .behind_all = keeps_place(op)};
        note_uses(&met, op, now, turn);
        if (met.last[thread]) {
            turns->turns[met.last[thread] - 1].next = now;
        } else {
            turns->first[thread] = now;
            turn->after[XFW_TURN_WOKEN] = last_woken(ops, i, op->thread);
        }
        met.last[thread] = now;
    }
    turns->threads = met.count;
}

/* ---- playing --------------------------------------------------------------------------------- */

struct play {
    const struct xfw_turns *turns;
    const struct xfw_op *ops;
    struct xfw_player *player;
    uint16_t heads[XFW_TURN_THREADS]; /* the next op of each thread, + 1; 0: none is left */
    bool done[XFW_TURNS + 1];         /* by place + 1 */
    size_t done_before;               /* so many of the first are */
    double call[XFW_TURNS + 1], now[XFW_TURNS + 1]; /* of each: when it began and returned */
};

static bool may_go(const struct play *play, uint16_t place)
{
    const struct xfw_turn *turn = &play->turns->turns[place - 1];
    for (unsigned i = 0; i < XFW_TURN_USES; i++)
        if (turn->after[i] && !play->done[turn->after[i]])
            return false;
    return (!turn->waker || play->done[turn->waker]) &&
           (!turn->behind_all || play->done_before + 1 == place);
}

/* What it counts from is where the waker was then, which may have gone on. */
static double woken_late(const struct play *play, uint16_t place)
{
    const struct xfw_op *op = &play->ops[place - 1];
    uint16_t waker = play->turns->turns[place - 1].waker;
    const struct xfw_schedule *schedule = xfw_player_schedule(play->player);
    if (!waker || xfw_schedule_knows_waker(schedule, op))
        return 0;
    return op->within_call ? play->call[waker] - xfw_schedule_thread_call(schedule, op->woken_by)
                           : play->now[waker] - xfw_schedule_thread_now(schedule, op->woken_by);
}

/* The op's place in the order of calls. */
static double comes(const struct play *play, uint16_t place)
{
    return xfw_player_begins(play->player, &play->ops[place - 1]) + woken_late(play, place) +
           play->turns->later_ns[place - 1];
}

/* The thread whose call comes next; XFW_TURN_THREADS: all are done. */
static unsigned next_thread(const struct play *play)
{
    unsigned next = XFW_TURN_THREADS;
    double first = INFINITY;
    for (unsigned i = 0; i < play->turns->threads; i++) {
        if (!play->heads[i] || !may_go(play, play->heads[i]))
            continue;
        double at = comes(play, play->heads[i]);
        if (next == XFW_TURN_THREADS || at < first ||
            (at == first && play->heads[i] < play->heads[next])) {
            first = at;
            next = i;
        }
    }
    return next;
}

static void play_one(struct play *play, uint16_t place)
{
    const struct xfw_schedule *schedule = xfw_player_schedule(play->player);
    const struct xfw_op *op = &play->ops[place - 1];
    double late = woken_late(play, place);
    if (late != 0) {
        struct xfw_op moved;
        memcpy(&moved, op, sizeof moved);
        moved.woken_after_ns += late;
        xfw_player_op(play->player, &moved);
    } else {
        xfw_player_op(play->player, op);
    }
    play->call[place] = xfw_schedule_thread_call(schedule, op->thread);
    play->now[place] = xfw_schedule_thread_now(schedule, op->thread);
    play->done[place] = true;
    while (play->done_before < play->turns->count && play->done[play->done_before + 1])
        play->done_before++;
}

void xfw_turns_alone(struct xfw_turns *turns, const struct xfw_op *ops, struct xfw_player *player)
{
    const struct xfw_schedule *schedule = xfw_player_schedule(player);
    double last = 0;
    size_t late = 0;
    for (size_t i = 0; i < turns->count; i++) {
        xfw_player_op(player, &ops[i]);
        double call = xfw_schedule_last(schedule)->call, in = xfw_op_late_ns(&ops[i]);
        turns->later_ns[i] = ops[i].start_ns + in - call;
        late += call + in < last;
        last = xfw_max(last, call + in);
    }
    turns->plain = turns->plain || (double)late > MOST_LATE * (double)turns->count;
}

void xfw_turns_play(const struct xfw_turns *turns, const struct xfw_op *ops,
                    struct xfw_player *player, bool plain)
{
    struct play play;
    for (size_t i = 0; i < turns->count && (plain || turns->plain); i++)
        xfw_player_op(player, &ops[i]);
    if (plain || turns->plain)
        return;
    play.turns = turns;
    play.ops = ops;
    play.player = player;
    play.done_before = 0;
    memcpy(play.heads, turns->first, sizeof play.heads);
    memset(play.done, 0, turns->count + 1);
    for (;;) {
        unsigned thread = next_thread(&play);
        if (thread == XFW_TURN_THREADS)
            return;
        uint16_t place = play.heads[thread];
        play_one(&play, place);
        play.heads[thread] = turns->turns[place - 1].next;
    }
}
