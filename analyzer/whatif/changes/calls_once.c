#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"
/* By how much such calls differ from process to process: page-locking 64 MiB and undoing it took 28
 * to 43 ms on one machine (docs/analyze.md). */
#define VARIES 0.25

#define MOST_STREAMS 64 /* with copies in flight, that are told apart */

/* ---- the book -------------------------------------------------------------------------------- */

struct holder {
    uint64_t address; /* key */
    uint32_t calls;   /* number + 1; 0 = given back */
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

struct xfw_once_calls *xfw_once_take(struct xfw_once_book *book, const struct xfw_once_key *key,
                                     uint64_t address, double ns)
{
    struct holder *holder = put(&book->holders, &address, XFW_ONCE_ADDRESSES);
    struct xfw_once_calls *calls = holder ? put(&book->calls, key, XFW_ONCE_MOST) : NULL;
    if (!calls)
        return NULL;
    holder->calls = number_of(&book->calls, calls) + 1;
    calls->takes++;
    calls->held++;
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
};

struct state {
    struct xfw_once_book book; /* of what is played */
    struct kept {
        uint64_t there, gives;
    } * kept;         /* by place in the run's calls: given back, and kept */
    uint32_t copying; /* the last op was a copy that may be in flight: its place in streams, + 1 */
    struct stream {
        uint32_t stream;
        bool owed;      /* a wait for its copies went */
        double done_ns; /* when they are done */
        double fetched_ns;
        uint64_t fetched; /* bytes of those to the host, which are done at fetched_ns */
        uint32_t event;   /* the program's, recorded last in the stream, + 1; 0: none */
    } streams[MOST_STREAMS];
    unsigned stream_count;
    bool went; /* the wait that was the last op of ... */
    uint32_t thread;
};

static void begin(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    const struct once *once = (const struct once *)change;
    struct state *state = self;
    xfw_once_book_init(&state->book);
    state->kept = xfa_alloc((once->calls->count + 1) * sizeof *state->kept);
}

static void end(const struct xfw_change *change, void *self)
{
    struct state *state = self;
    xfw_once_book_free(&state->book);
    free(state->kept);
}

/* A copy that the host does not wait for, of memory that the host may use again. */
static bool is_in_flight(const struct xfw_change *change, const struct xfw_op *op)
{
    if (op->what != XFW_COPY || op->awaits == XFW_AWAITS_ITSELF || op->class == XFW_NONE)
        return false;
    const struct xfa_row_key *row = &xfa_class_at(&change->analysis->classes, op->class)->key.row;
    return xfa_is_page_locked(row->direction == XFT_DIR_H2D ? row->src_mem : row->dst_mem);
}

/* The place of the stream, + 1; of too many, all that are left out share the first. */
static uint32_t stream_of(struct state *state, uint32_t stream)
{
    for (unsigned i = 0; i < state->stream_count; i++)
        if (state->streams[i].stream == stream)
            return i + 1;
    if (state->stream_count == MOST_STREAMS)
        return 1;
    state->streams[state->stream_count++] = (struct stream){.stream = stream};
    return state->stream_count;
}

static void note_copies(const struct xfw_change *change, struct state *state,
                        const struct xfw_player *player, const struct xfw_op *op)
{
    struct stream *last = state->copying ? &state->streams[state->copying - 1] : NULL;
    if (last) {
        double end = xfw_schedule_stream_end(xfw_player_schedule(player), last->stream);
        last->done_ns = fmax(last->done_ns, end);
        last->fetched_ns = last->fetched ? last->done_ns : 0;
    }
    state->copying =
        op->stream != XFW_NONE && is_in_flight(change, op) ? stream_of(state, op->stream) : 0;
    if (state->copying && op->engine == XFW_TO_HOST) {
        struct stream *stream = &state->streams[state->copying - 1];
        stream->fetched = xfa_add(stream->fetched, op->bytes);
    }
}

/* The host waits until then, before its own time that comes before the op. */
static void wait_until(struct xfw_player *player, const struct xfw_op *op, double ns)
{
    struct xfw_op wait = xfw_op_like(op);
    double now = xfw_schedule_thread_now(xfw_player_schedule(player), op->thread);
    if (!(ns > now))
        return;
    wait.own_ns = ns - now;
    xfw_player_play(player, &wait);
}

static void settle(struct stream *stream)
{
    stream->owed = false;
    stream->fetched = 0;
}

/* A wait for copies went. As likely the host waits for them all the same before it gives their
 * stream more work (it has written the memory again), and before a time of its own in which it can
 * have read what was fetched. */
static void wait_where_needed(struct state *state, struct xfw_player *player,
                              const struct xfw_op *op)
{
    bool next = state->went && op->thread == state->thread;
    double until = 0;
    if (xfw_player_certainty(player) != XFW_LIKELY)
        return;
    for (unsigned i = 0; i < state->stream_count; i++) {
        struct stream *stream = &state->streams[i];
        double read_ns = XFW_READ_NS_PER_BYTE * (double)stream->fetched;
        if (!stream->owed)
            continue;
        if (next && stream->fetched && op->gap_ns >= read_ns)
            until = fmax(until, stream->fetched_ns);
        if (xfw_op_is_work(op) && op->stream == stream->stream) {
            until = fmax(until, stream->done_ns);
            settle(stream);
        }
    }
    wait_until(player, op, until);
    state->went = state->went && !next;
}

/* The program's own waits, and its events behind copies. */
static void note_waits(struct state *state, const struct xfw_op *op)
{
    for (unsigned i = 0; i < state->stream_count; i++) {
        struct stream *stream = &state->streams[i];
        if (op->what == XFW_RECORD && op->stream == stream->stream && op->event != XFW_NONE)
            stream->event = op->event + 1;
        else if (op->kind == XFT_EVENT_SYNC &&
                 (op->awaits == XFW_AWAITS_DEVICE ||
                  (op->awaits == XFW_AWAITS_STREAM && op->stream == stream->stream) ||
                  (op->awaits == XFW_AWAITS_EVENT && op->event + 1 == stream->event)))
            settle(stream);
    }
}

static void owe(struct state *state, const struct xfw_op *op)
{
    for (unsigned i = 0; i < state->stream_count; i++)
        state->streams[i].owed = true;
    state->went = true;
    state->thread = op->thread;
}

/* What such a call took when the machine was probed; INFINITY: not measured. */
static double probed_ns(const struct xfw_change *change, const struct xfw_op *op)
{
    static const char *const kinds[XFT_MEMORY_COUNT] = {
        [XFT_MEM_DEVICE] = "device",   [XFT_MEM_PINNED] = "pinned",
        [XFT_MEM_MAPPED] = "mapped",   [XFT_MEM_WRITE_COMBINED] = "write-combined",
        [XFT_MEM_MANAGED] = "managed", [XFT_MEM_REGISTERED] = "pageable",
    };
    static const char *const calls[] = {
        [XFT_EVENT_ALLOC] = "alloc",
        [XFT_EVENT_FREE] = "free",
        [XFT_EVENT_REGISTER] = "register",
        [XFT_EVENT_UNREGISTER] = "unregister",
    };
    const struct xfa_achievable *achievable = &change->analysis->achievable;
    char name[64];
    if (op->memory >= XFT_MEMORY_COUNT || !kinds[op->memory] || achievable->match == XFA_MATCH_NO)
        return INFINITY;
    snprintf(name, sizeof name, "%s/%s", calls[op->kind], kinds[op->memory]);
    double ns = xfw_table_cost(achievable, name, -1, op->gpu, op->bytes, XFW_LIKELY);
    return ns > 0 ? ns : INFINITY;
}

/* The part of its time that is not promised to go. In another process such calls may be quicker or
 * slower than in this run, and than in the probe: of two draws that differ by chance the mean is
 * nearest to a third one (docs/analyze.md). */
static double left_ns(const struct xfw_change *change, const struct xfw_op *op,
                      enum xfw_certainty certainty)
{
    double usual = fmin(op->own_ns, (op->own_ns + probed_ns(change, op)) / 2);
    double gone = certainty == XFW_HIGH     ? op->own_ns
                  : certainty == XFW_LIKELY ? usual
                                            : usual * (1 - VARIES);
    return op->own_ns - gone;
}

/* The call goes, but what it waited for may still have to be waited for. */
static void go(const struct xfw_change *change, struct state *state,
               const struct xfw_player *player, struct xfw_op *op, bool gives)
{
    enum xfw_certainty certainty = xfw_player_certainty(player);
    uint8_t awaits = gives && certainty == XFW_LOW ? op->awaits : XFW_AWAITS_NOTHING;
    double left = left_ns(change, op, certainty);
    xfw_op_drop(op);
    op->awaits = awaits;
    op->own_ns = left;
    if (gives)
        owe(state, op);
}

static void take(const struct once *once, struct state *state, const struct xfw_player *player,
                 struct xfw_op *op)
{
    const struct xfw_once_key key = {
        .address = op->kind == XFT_EVENT_REGISTER ? op->dst : 0,
        .bytes = op->bytes,
        .process = xfw_player_process(player)->number,
        .site = op->site,
        .gpu = op->gpu,
        .memory = op->memory,
    };
    const struct xfw_once_calls *calls = xfa_table_get(once->calls, &key);
    if (!calls || !xfw_set_has(&once->change.set, number_of(once->calls, calls)))
        return;
    struct kept *kept = &state->kept[number_of(once->calls, calls)];
    xfw_once_take(&state->book, &key, op->dst, 0);
    if (kept->there) {
        kept->there--;
        go(&once->change, state, player, op, false);
    }
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
        go(&once->change, state, player, op, true);
    }
}

static void op(const struct xfw_change *change, void *self, struct xfw_player *player,
               struct xfw_op *op)
{
    const struct once *once = (const struct once *)change;
    struct state *state = self;
    note_copies(change, state, player, op);
    wait_where_needed(state, player, op);
    note_waits(state, op);
    if (op->what != XFW_CALL || op->dst == 0)
        return;
    if (op->kind == XFT_EVENT_ALLOC || op->kind == XFT_EVENT_REGISTER)
        take(once, state, player, op);
    else if (op->kind == XFT_EVENT_FREE || op->kind == XFT_EVENT_UNREGISTER)
        give(once, state, player, op);
}

struct xfw_change *xfw_change_calls_once(const struct xfa_analysis *analysis,
                                         const struct xfa_table *calls, struct xfw_set *chosen)
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
    return &once->change;
}
