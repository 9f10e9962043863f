#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/in_flight.h"
#include "analyzer/whatif/changes/passed_on.h"
#include "analyzer/whatif/changes/waits.h"

/* ---- the book -------------------------------------------------------------------------------- */

struct holder {
    uint64_t address; /* key */
    uint64_t bytes;
    uint32_t calls; /* number + 1; 0 = given back */
};

void xfw_once_book_init(struct xfw_once_book *book)
{
    xfa_table_init(&book->calls, sizeof(struct xfw_once_key), sizeof(struct xfw_once_calls));
    xfa_table_init(&book->holders, sizeof(uint64_t), sizeof(struct holder));
}

void xfw_once_book_free(struct xfw_once_book *book)
{
    xfa_table_free(&book->calls);
    xfa_table_free(&book->holders);
}

/* NULL: there are too many already. */
static void *put(struct xfa_table *table, const void *key, size_t most)
{
    void *known = table->count ? xfa_table_get(table, key) : NULL;
    return known || table->count >= most ? known : xfa_table_put(table, key);
}

static uint32_t number_of(const struct xfa_table *table, const struct xfw_once_calls *calls)
{
    return (uint32_t)(calls - (const struct xfw_once_calls *)xfa_table_at(table, 0));
}

static void hold(struct xfw_once_calls *calls, uint64_t bytes)
{
    calls->held++;
    calls->bytes = xfa_add(calls->bytes, bytes);
    calls->largest = bytes > calls->largest ? bytes : calls->largest;
    calls->held_bytes = xfa_add(calls->held_bytes, bytes);
    if (calls->held_bytes > calls->most_bytes)
        calls->most_bytes = calls->held_bytes;
}

struct xfw_once_calls *xfw_once_take(struct xfw_once_book *book, const struct xfw_once_key *key,
                                     uint64_t address, uint64_t bytes, double ns)
{
    struct holder *holder = put(&book->holders, &address, XFW_ONCE_ADDRESSES);
    struct xfw_once_calls *calls = holder ? put(&book->calls, key, XFW_ONCE_MOST) : NULL;
    if (!calls)
        return NULL;
    holder->calls = number_of(&book->calls, calls) + 1;
    holder->bytes = bytes;
    calls->takes++;
    calls->takes_ns += ns;
    hold(calls, bytes);
    if (calls->held > calls->most)
        calls->most = calls->held;
    else
        calls->needless_ns += ns;
    return calls;
}

struct xfw_once_calls *xfw_once_give(struct xfw_once_book *book, uint64_t address, double ns)
{
    struct holder *holder = xfa_table_get(&book->holders, &address);
    if (!holder || !holder->calls)
        return NULL;
    struct xfw_once_calls *calls = xfa_table_at(&book->calls, holder->calls - 1);
    holder->calls = 0;
    calls->gives++;
    calls->gives_ns += ns;
    calls->held--;
    calls->held_bytes -= holder->bytes < calls->held_bytes ? holder->bytes : calls->held_bytes;
    return calls;
}

uint64_t xfw_once_needless_takes(const struct xfw_once_calls *calls)
{
    return calls->takes - calls->most;
}

/* What is kept is given back in the end, if all of it was. */
uint64_t xfw_once_needless_gives(const struct xfw_once_calls *calls)
{
    uint64_t last = calls->most > calls->held ? calls->most - calls->held : 0;
    return calls->gives > last ? calls->gives - last : 0;
}

/* ---- the change ------------------------------------------------------------------------------ */

struct once {
    struct xfw_change change;
    const struct xfa_table *calls;
    bool waits; /* what gives memory back waits as it did */
};

struct state {
    struct xfw_once_book book; /* of what is played */
    struct kept {
        uint64_t there, gives;     /* given back, and kept */
        uint64_t room, made;       /* of any size, at worst: bytes of a block, such blocks made */
        struct xfw_passed *passed; /* of memory of the host; NULL: no call yet */
    } * kept;                      /* by place in the run's calls */
    struct xfa_table takers;       /* struct taker */
    struct xfa_table blocks;       /* struct xfw_passed_block */
    struct xfw_in_flight in_flight;
    struct waiting { /* what a wait for the context takes, of the GPU asked for last */
        bool asked;
        int gpu;
        double ns;
    } waiting;
};

/* A thread that has taken memory. */
struct taker {
    uint32_t thread; /* key */
    uint32_t calls;  /* its last op was a take of these, their place + 1; 0: it was another one */
};

static void begin(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    const struct once *once = (const struct once *)change;
    struct state *state = self;
    xfw_once_book_init(&state->book);
    state->kept = xfa_alloc((once->calls->count + 1) * sizeof *state->kept);
    xfa_table_init(&state->takers, sizeof(uint32_t), sizeof(struct taker));
    xfa_table_init(&state->blocks, sizeof(uint64_t), sizeof(struct xfw_passed_block));
}

static void end(const struct xfw_change *change, void *self)
{
    const struct once *once = (const struct once *)change;
    struct state *state = self;
    xfw_once_book_free(&state->book);
    for (size_t i = 0; i < once->calls->count; i++)
        free(state->kept[i].passed);
    free(state->kept);
    xfa_table_free(&state->takers);
    xfa_table_free(&state->blocks);
}

static double waiting_ns(struct waiting *waiting, const struct xfa_achievable *achievable, int gpu)
{
    if (!waiting->asked || waiting->gpu != gpu)
        waiting->ns = xfw_scalar_cost(achievable, "sync/context", gpu, XFW_SYNC_STREAM_NS);
    waiting->asked = true;
    waiting->gpu = gpu;
    return waiting->ns;
}

/* The call goes, but what it waited for may still have to be waited for. */
static void go(const struct once *once, struct state *state, const struct xfw_player *player,
               struct xfw_op *op, bool gives)
{
    static const double pool_ns[] = {[XFW_LOW] = 1000, [XFW_LIKELY] = 200, [XFW_HIGH] = 0};
    enum xfw_certainty certainty = xfw_player_certainty(player);
    bool waits = gives && (once->waits || certainty == XFW_LOW);
    uint8_t awaits = waits ? op->awaits : XFW_AWAITS_NOTHING;
    const struct xfa_achievable *achievable = &once->change.analysis->achievable;
    double gone = xfw_memory_call_ns(achievable, op, certainty);
    double left = op->own_ns - gone, wake = 0;
    if (once->waits && gives) {
        /* What it takes behind the work that it waits for is its own time (recorded.c), and goes,
         * too; a wait for the context takes no longer than one that frees as well. */
        double wait_ns = waiting_ns(&state->waiting, achievable, op->gpu);
        left = fmin(op->own_ns, left + wait_ns);
        wake = fmin(op->wake_ns, fmax(0, op->wake_ns - gone) + wait_ns) + pool_ns[certainty];
    }
    left += once->waits ? pool_ns[certainty] : 0;
    xfw_op_drop(op);
    op->awaits = awaits;
    op->own_ns = left;
    op->wake_ns = wake;
    if (gives && !once->waits)
        xfw_in_flight_owe(&state->in_flight, player, op);
}

/* At worst nobody knows the largest size beforehand: is there a block that has room for it? */
static bool has_room(const struct xfw_once_calls *calls, struct kept *kept, uint64_t bytes,
                     enum xfw_certainty certainty)
{
    if (calls->key.bytes != XFW_ONCE_ANY_SIZE || certainty != XFW_LOW)
        return true;
    if (bytes > kept->room) {
        kept->room = xfa_add(bytes, bytes / 2);
        kept->made = 0;
    }
    if (kept->made == calls->most)
        return true;
    kept->made++;
    return false;
}

static const struct xfw_once_calls *chosen_of(const struct once *once,
                                              const struct xfw_once_key *key)
{
    const struct xfw_once_calls *calls = xfa_table_get(once->calls, key);
    bool chosen = calls && xfw_set_has(&once->change.set, number_of(once->calls, calls));
    return chosen ? calls : NULL;
}

/* The run's calls that this one is of; NULL: of none that were chosen. */
static const struct xfw_once_calls *calls_of(const struct once *once, struct xfw_once_key *key)
{
    const struct xfw_once_calls *calls = chosen_of(once, key);
    if (calls)
        return calls;
    key->bytes = XFW_ONCE_ANY_SIZE;
    return chosen_of(once, key);
}

/* ---- memory that is passed on: passed_on.h --------------------------------------------------- */

static bool is_passed_on(const struct once *once, const struct xfw_player *player,
                         const struct xfw_op *op)
{
    return !once->waits && xfw_player_certainty(player) != XFW_LOW &&
           op->kind != XFT_EVENT_REGISTER && op->kind != XFT_EVENT_UNREGISTER &&
           xfa_is_page_locked(op->memory);
}

static void pass_take(struct state *state, struct kept *kept, const struct xfw_player *player,
                      struct xfw_op *op, uint64_t most)
{
    const uint32_t place = (uint32_t)(kept - state->kept) + 1;
    struct taker *taker = xfa_table_put(&state->takers, &op->thread);
    double now = xfw_schedule_thread_now(xfw_player_schedule(player), op->thread);
    kept->passed = kept->passed ? kept->passed : xfa_alloc(sizeof *kept->passed);
    xfw_passed_take(kept->passed, op, most, taker->calls == place, now);
    taker->calls = place;
}

/* The block is filled some time behind the call, which is known now. */
static void fill_block(struct state *state, const struct kept *kept,
                       const struct xfw_player *player, const struct xfw_op *op)
{
    if (!kept->passed || kept->passed->fills == 0)
        return;
    struct xfw_passed_block *block = put(&state->blocks, &op->dst, XFW_ONCE_ADDRESSES);
    if (!block)
        return;
    block->thread = op->thread + 1;
    block->filled_ns =
        xfw_schedule_begins(xfw_player_schedule(player), op) + op->own_ns + kept->passed->fills_ns;
}

/* Another thread uses it for the first time. */
static void wait_until_filled(struct state *state, const struct xfw_player *player,
                              struct xfw_op *op, uint64_t address)
{
    struct xfw_passed_block *block =
        address && state->blocks.count ? xfa_table_get(&state->blocks, &address) : NULL;
    if (!block || !block->thread || block->thread == op->thread + 1)
        return;
    double now = xfw_schedule_thread_now(xfw_player_schedule(player), op->thread);
    op->gap_ns = fmax(op->gap_ns, block->filled_ns - now);
    block->thread = 0;
}

/* What is not a take ends what its thread filled. */
static void note_call(struct state *state, const struct xfw_op *op)
{
    struct taker *taker = state->takers.count ? xfa_table_get(&state->takers, &op->thread) : NULL;
    if (taker && op->kind != XFT_EVENT_ALLOC)
        taker->calls = 0;
}

/* ---- the change ------------------------------------------------------------------------------ */

static void take(const struct once *once, struct state *state, const struct xfw_player *player,
                 struct xfw_op *op)
{
    struct xfw_once_key key = {
        .address = op->kind == XFT_EVENT_REGISTER ? op->dst : 0,
        .bytes = op->bytes,
        .process = xfw_player_process(player)->number,
        .site = op->site,
        .gpu = op->gpu,
        .pooled = op->pooled,
        .memory = op->memory,
    };
    const struct xfw_once_calls *calls = calls_of(once, &key);
    if (!calls)
        return;
    struct kept *kept = &state->kept[number_of(once->calls, calls)];
    xfw_once_take(&state->book, &key, op->dst, op->bytes, 0);
    const bool passed = is_passed_on(once, player, op);
    if (passed)
        pass_take(state, kept, player, op, calls->most);
    if (has_room(calls, kept, op->bytes, xfw_player_certainty(player)) && kept->there) {
        kept->there--;
        go(once, state, player, op, false);
    }
    if (passed)
        fill_block(state, kept, player, op);
}

static void give(const struct once *once, struct state *state, const struct xfw_player *player,
                 struct xfw_op *op)
{
    const struct xfw_once_calls *mine = xfw_once_give(&state->book, op->dst, 0);
    const struct xfw_once_calls *calls = mine ? xfa_table_get(once->calls, &mine->key) : NULL;
    if (!calls)
        return;
    struct kept *kept = &state->kept[number_of(once->calls, calls)];
    if (kept->gives++ < xfw_once_needless_gives(calls)) {
        kept->there++;
        go(once, state, player, op, true);
    }
    if (kept->passed)
        xfw_passed_give(kept->passed, op,
                        xfw_schedule_begins(xfw_player_schedule(player), op) + op->own_ns);
}

/* A copy of all of a block into a larger one of the same calls: the block has grown. */
static bool grows(const struct state *state, const struct xfw_op *op)
{
    if (op->what != XFW_COPY || op->src == 0 || op->dst == 0)
        return false;
    const struct holder *from = xfa_table_get(&state->book.holders, &op->src);
    const struct holder *to = xfa_table_get(&state->book.holders, &op->dst);
    if (!from || !to || !from->calls || from->calls != to->calls)
        return false;
    return op->bytes == from->bytes && from->bytes < to->bytes;
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    const struct once *once = (const struct once *)change;
    struct state *state = self;
    if (xfw_player_certainty(player) == XFW_HIGH && grows(state, op))
        xfw_op_drop(op);
    xfw_in_flight_meet(&state->in_flight, change, player, op);
    note_call(state, op);
    wait_until_filled(state, player, op, op->src);
    if (op->what != XFW_CALL || op->dst == 0)
        return;
    if (op->kind == XFT_EVENT_ALLOC || op->kind == XFT_EVENT_REGISTER)
        take(once, state, player, op);
    else if (op->kind == XFT_EVENT_FREE || op->kind == XFT_EVENT_UNREGISTER)
        give(once, state, player, op);
}

static struct once *new_once(const struct xfa_analysis *analysis, const struct xfa_table *calls,
                             struct xfw_set *chosen)
{
    static const struct xfw_change_type type = {
        .name = "calls once",
        .state_bytes = sizeof(struct state),
        .begin = begin,
        .op = op,
        .end = end,
    };
    struct once *once = xfw_change_new(sizeof *once, &type, analysis, chosen);
    once->calls = calls;
    once->change.first = true; /* others may alter the program's waits */
    return once;
}

struct xfw_change *xfw_change_calls_once(const struct xfa_analysis *analysis,
                                         const struct xfa_table *calls, struct xfw_set *chosen)
{
    return &new_once(analysis, calls, chosen)->change;
}

struct xfw_change *xfw_change_pool(const struct xfa_analysis *analysis,
                                   const struct xfa_table *calls, struct xfw_set *chosen)
{
    struct once *once = new_once(analysis, calls, chosen);
    once->waits = true;
    return &once->change;
}
