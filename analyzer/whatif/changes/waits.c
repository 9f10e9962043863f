#include "analyzer/whatif/changes/waits.h"

#include <math.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/table.h"
#include "analyzer/whatif/changes/changes.h"
#include "xferscope/trace.h"

_Static_assert(XFW_USES <= 64, "open has a bit for each");

#define ENOUGH_USES 4 /* of a class, to know what the program does about them */

/* ---- memory that copies still use ------------------------------------------------------------ */

static bool host_memory(const struct xfa_analysis *analysis, const struct xfw_op *op, bool rows,
                        struct xfw_host_memory *host)
{
    if (op->what != XFW_COPY || op->class == XFW_NONE || op->engine == XFW_PEER)
        return false; /* none, or a change has another GPU send it */
    const struct xfa_class_key *key = xfa_class_key_at(&analysis->classes, op->class);
    bool up = key->row.direction == XFT_DIR_H2D, down = key->row.direction == XFT_DIR_D2H;
    bool whole = key->shape == XFA_LINEAR || op->in_one || (rows && op->row_bytes);
    if ((!up && !down) || !whole)
        return false;
    *host = (struct xfw_host_memory){
        .first = up ? op->src : op->dst,
        .bytes = op->bytes,
        .to_host = down,
        .memory = up ? key->row.src_mem : key->row.dst_mem,
        .node = up ? key->src_node : key->dst_node,
    };
    return true;
}

bool xfw_host_memory(const struct xfa_analysis *analysis, const struct xfw_op *op,
                     struct xfw_host_memory *host)
{
    return host_memory(analysis, op, false, host);
}

bool xfw_host_rows(const struct xfa_analysis *analysis, const struct xfw_op *op,
                   struct xfw_host_memory *host)
{
    return host_memory(analysis, op, true, host);
}

bool xfw_none_blocks(const struct xfa_analysis *analysis)
{
    bool none = true;
    for (size_t i = 0; i < analysis->classes.classes.count && none; i++) {
        const struct xfa_row_key *row = &xfa_class_key_at(&analysis->classes, i)->row;
        none = row->async || xfa_row_pageable(row);
    }
    return none;
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* The host waits before the op at hand: before its thread's own time (before_gap), or behind it. */
static void wait_for(struct xfw_reuse *reuse, struct xfw_use *use, const struct xfw_change *change,
                     struct xfw_player *player, struct xfw_op *op, bool before_gap)
{
    struct xfw_op wait = xfw_op_like(op);
    wait.awaits = use->recorded ? XFW_AWAITS_EVENT : XFW_AWAITS_STREAM;
    wait.event = use->event;
    wait.stream = use->stream;
    wait.own_ns = xfw_asked_scalar(&reuse->asked, &change->analysis->achievable, "sync/event",
                                   use->gpu, XFW_SYNC_NS);
    wait.wake_ns =
        xfw_asked_around(&reuse->asked, &change->analysis->achievable,
                         use->to_host ? XFT_DIR_D2H : XFT_DIR_H2D, use->gpu, XFW_WAKE_NS);
    if (!before_gap)
        xfw_op_take_gap(&wait, op);
    xfw_player_play(player, &wait);
}

static void close_use(struct xfw_reuse *reuse, struct xfw_use *use)
{
    reuse->open &= ~((uint64_t)1 << (use - reuse->uses));
}

static struct xfw_use_class *class_of(struct xfw_reuse *reuse, uint32_t class)
{
    struct xfw_use_class *of = &reuse->classes[class & (XFW_USE_CLASSES - 1)];
    if (of->class != class + 1)
        *of = (struct xfw_use_class){.class = class + 1};
    return of;
}

static struct xfw_use_thread *thread_of(struct xfw_reuse *reuse, uint32_t number)
{
    struct xfw_use_thread *thread = &reuse->threads[number & (XFW_USE_THREADS - 1)];
    if (thread->thread != number + 1)
        *thread = (struct xfw_use_thread){.thread = number + 1};
    return thread;
}

/* What the program does about memory that was fetched: it has waited itself, or used it before. If
 * itself, the waits of before were too many. */
static void learn(struct xfw_reuse *reuse, const struct xfw_use *use, bool itself)
{
    struct xfw_use_class *class = class_of(reuse, use->class);
    if (itself)
        thread_of(reuse, use->thread)->too_late_ns += class->waited_ns;
    class->waited_ns = 0;
    class->itself = itself;
    class->seen += class->seen < ENOUGH_USES;
}

/* The program waits for the copy itself. */
static bool waits_itself(const struct xfw_op *op, const struct xfw_use *use)
{
    if (op->kind != XFT_EVENT_SYNC && op->what != XFW_QUERY)
        return false;
    return (op->awaits == XFW_AWAITS_DEVICE && op->gpu == use->gpu) ||
           (op->awaits == XFW_AWAITS_STREAM && op->stream == use->stream) ||
           (op->awaits == XFW_AWAITS_EVENT && op->event != XFW_NONE &&
            (op->event + 1 == use->behind[0] || op->event + 1 == use->behind[1]));
}

static void note_record(struct xfw_use *use, const struct xfw_op *op)
{
    if (op->what == XFW_RECORD && op->stream == use->stream && op->event != XFW_NONE)
        use->behind[use->behind[0] != 0] = op->event + 1;
}

static bool overlaps(const struct xfw_use *use, uint64_t first, uint64_t bytes)
{
    return first < use->end && use->first < xfa_add(first, bytes);
}

static bool touches(const struct xfw_change *change, const struct xfw_op *op,
                    const struct xfw_use *use)
{
    struct xfw_host_memory host;
    if (xfw_host_rows(change->analysis, op, &host))
        return host.first < use->end && use->first < host.first + host.bytes;
    if (op->what == XFW_MESSAGE) /* it may read with a copy to the device */
        return (use->to_host && overlaps(use, op->src, op->bytes)) ||
               overlaps(use, op->dst, op->bytes);
    return (op->kind == XFT_EVENT_UNREGISTER || op->kind == XFT_EVENT_FREE) &&
           op->dst <= use->first && op->dst + (op->bytes ? op->bytes : 1) > use->first;
}

/* The thread can have read the memory before the op. */
static bool can_have_read(const struct xfw_use *use, const struct xfw_op *op)
{
    return use->to_host && op->thread == use->thread && op->gap_ns > XFW_BUSY_NS &&
           !xfw_cannot_have_read(op->gap_ns, use->end - use->first);
}

static void meet_use(struct xfw_reuse *reuse, struct xfw_use *use, const struct xfw_change *change,
                     struct xfw_player *player, struct xfw_op *op)
{
    bool likely = xfw_player_certainty(player) != XFW_HIGH;
    note_record(use, op);
    if (likely && !use->waited && can_have_read(use, op) && !class_of(reuse, use->class)->itself) {
        double before = xfw_schedule_thread_now(xfw_player_schedule(player), op->thread);
        wait_for(reuse, use, change, player, op, true);
        double now = xfw_schedule_thread_now(xfw_player_schedule(player), op->thread);
        class_of(reuse, use->class)->waited_ns += now - before;
        use->waited = true;
        if (class_of(reuse, use->class)->seen >= ENOUGH_USES)
            close_use(reuse, use);
    } else if (touches(change, op, use)) {
        if (!use->waited)
            wait_for(reuse, use, change, player, op, likely && op->what != XFW_MESSAGE);
        learn(reuse, use, false);
        close_use(reuse, use);
    } else if (waits_itself(op, use)) {
        learn(reuse, use, true);
        close_use(reuse, use);
    }
}

static void meet_uses(struct xfw_reuse *reuse, const struct xfw_change *change,
                      struct xfw_player *player, struct xfw_op *op)
{
    bool concerns = op->gap_ns > XFW_BUSY_NS || op->what == XFW_COPY || op->what == XFW_RECORD ||
                    op->kind == XFT_EVENT_SYNC || op->what == XFW_QUERY ||
                    op->kind == XFT_EVENT_FREE || op->kind == XFT_EVENT_UNREGISTER ||
                    op->what == XFW_MESSAGE;
    for (uint64_t left = concerns ? reuse->open : 0; left; left &= left - 1)
        meet_use(reuse, &reuse->uses[__builtin_ctzll(left)], change, player, op);
}

/* ---- copies of the legacy default stream ----------------------------------------------------- */

static struct xfw_use_consumer *consumer_of(struct xfw_reuse *reuse, uint64_t address)
{
    const unsigned some = 58; /* bits: 64 places */
    return &reuse->consumers[(address * 0x9e3779b97f4a7c15u) >> some];
}

/* The program gave it no stream, whichever another change has given it since. */
static bool is_of_default_stream(const struct xfw_op *op)
{
    return op->stream_kind == XFW_LEGACY || op->was_legacy;
}

static void move_to(struct xfw_player *player, struct xfw_op *op, uint32_t stream, uint8_t kind)
{
    xfw_player_moved(player, op->stream, stream);
    op->stream = stream;
    op->stream_kind = kind;
}

/* To the device: the work is still to come. */
static void send_beside(struct xfw_reuse *reuse, struct xfw_player *player, struct xfw_op *op)
{
    struct xfw_use_thread *thread = thread_of(reuse, op->thread);
    const struct xfw_use_consumer *consumer = consumer_of(reuse, op->dst);
    if (thread->count == XFW_USE_FOR)
        return;
    if (consumer->address == op->dst)
        move_to(player, op, consumer->stream, consumer->stream_kind);
    thread->copies[thread->count].address = op->dst;
    thread->copies[thread->count++].stream = op->stream;
}

static void fetch_beside(struct xfw_reuse *reuse, struct xfw_player *player, struct xfw_op *op)
{
    const struct xfw_use_thread *thread = thread_of(reuse, op->thread);
    if (thread->stream)
        move_to(player, op, thread->stream - 1, thread->stream_kind);
}

/* The work that the thread's copies were for. */
static void meet_work(struct xfw_reuse *reuse, struct xfw_use_thread *thread,
                      struct xfw_player *player, const struct xfw_op *op)
{
    for (unsigned i = 0; i < thread->count; i++) {
        struct xfw_use_consumer *consumer = consumer_of(reuse, thread->copies[i].address);
        uint32_t from = thread->copies[i].stream;
        if (from != op->stream)
            xfw_player_stream_after(player, op->stream,
                                    xfw_schedule_stream_end(xfw_player_schedule(player), from));
        *consumer =
            (struct xfw_use_consumer){thread->copies[i].address, op->stream, op->stream_kind};
    }
    thread->count = 0;
    thread->stream = op->stream + 1;
    thread->stream_kind = op->stream_kind;
}

/* ---- waits right before copies to the host --------------------------------------------------- */

/* A wait for the stream of the thread's last work. */
static bool may_go(const struct xfw_use_thread *thread, const struct xfw_op *op)
{
    return op->kind == XFT_EVENT_SYNC && thread->stream &&
           (op->awaits == XFW_AWAITS_DEVICE ||
            (op->awaits == XFW_AWAITS_STREAM && op->stream + 1 == thread->stream));
}

/* The op behind such a wait: was it right before a copy of ours? If not, and it went, it comes now.
 */
static void resolve_wait(struct xfw_reuse *reuse, struct xfw_use_thread *thread,
                         struct xfw_player *player, const struct xfw_op *op, bool fetches)
{
    bool before = fetches && op->gap_ns <= XFW_BUSY_NS;
    if (thread->asks == 0)
        return;
    reuse->waits[thread->asks - 1] = before;
    if (thread->gone && !before)
        xfw_player_play(player, &thread->wait);
    thread->asks = 0;
    thread->gone = false;
}

static void meet_wait(struct xfw_reuse *reuse, struct xfw_use_thread *thread, struct xfw_op *op)
{
    uint32_t place = (op->site * 16 + thread->before) & (XFW_USE_WAITS - 1);
    thread->asks = place + 1;
    thread->gone = reuse->waits[place];
    if (!thread->gone)
        return;
    thread->wait = *op;
    thread->wait.gap_ns = 0;
    thread->wait.made_up = true; /* the recorded op stays, and waits no more */
    xfw_op_drop(op);
}

/* The thread would be here sooner: its own time makes up for it. */
static void make_up(struct xfw_use_thread *thread, struct xfw_op *op)
{
    double ns = xfw_min(thread->too_late_ns, op->gap_ns);
    if (!(ns > 0))
        return;
    thread->too_late_ns -= ns;
    op->gap_ns -= ns;
}

void xfw_reuse_meet(struct xfw_reuse *reuse, const struct xfw_change *change,
                    struct xfw_player *player, struct xfw_op *op, bool becomes)
{
    struct xfw_use_thread *thread = thread_of(reuse, op->thread);
    bool legacy = op->what == XFW_COPY && is_of_default_stream(op);
    resolve_wait(reuse, thread, player, op, becomes && legacy && op->engine == XFW_TO_HOST);
    uint8_t what = op->what;
    if (may_go(thread, op) && xfw_player_certainty(player) != XFW_LOW)
        meet_wait(reuse, thread, op);
    meet_uses(reuse, change, player, op);
    make_up(thread, op);
    if (xfw_op_is_work(op) && op->what != XFW_COPY && op->stream != XFW_NONE)
        meet_work(reuse, thread, player, op);
    thread->before = what;
}

void xfw_reuse_add(struct xfw_reuse *reuse, const struct xfw_change *change,
                   struct xfw_player *player, struct xfw_op *op, const struct xfw_host_memory *host)
{
    struct xfw_use *use = &reuse->uses[reuse->next];
    struct xfw_op now = *op;
    if (reuse->open >> reuse->next & 1) { /* too many: the oldest is waited for */
        if (!use->waited)
            wait_for(reuse, use, change, player, &now, true);
        close_use(reuse, use);
    }
    if (is_of_default_stream(op) && host->to_host)
        fetch_beside(reuse, player, op);
    else if (is_of_default_stream(op))
        send_beside(reuse, player, op);
    uint32_t event = reuse->next < reuse->made ? use->event : xfw_player_side_event(player);
    reuse->open |= (uint64_t)1 << reuse->next;
    reuse->made += reuse->next == reuse->made;
    reuse->next = (reuse->next + 1) % XFW_USES;
    const struct xfw_use_class *class = class_of(reuse, op->class);
    bool itself = class->itself && class->seen >= ENOUGH_USES; /* it has events of its own */
    *use = (struct xfw_use){
        .first = host->first,
        .end = host->first + host->bytes,
        .event = event,
        .stream = op->stream,
        .thread = op->thread,
        .class = op->class,
        .gpu = op->gpu,
        .to_host = host->to_host,
        .recorded = !itself,
    };
    if (itself)
        return;
    struct xfw_op record = xfw_op_like(op);
    record.what = XFW_RECORD;
    record.event = event;
    record.own_ns = xfw_asked_scalar(&reuse->asked, &change->analysis->achievable, "event/record",
                                     op->gpu, XFW_RECORD_NS);
    xfw_player_play_behind(player, &record);
}

/* ---- copies become asynchronous -------------------------------------------------------------- */

/* The device's time stays; where it is not known, it is the profile's, or what the call took. */
static void submit(struct xfw_asked *asked, const struct xfa_analysis *analysis, struct xfw_op *op,
                   const struct xfw_host_memory *host)
{
    enum xft_direction direction = host->to_host ? XFT_DIR_D2H : XFT_DIR_H2D;
    const struct xfp_path *path =
        xfw_asked_path(asked, &analysis->achievable, direction, (enum xft_memory)host->memory,
                       host->node, op->gpu);
    struct xfw_copy_cost cost = xfw_asked_cost(asked, path, op->bytes, XFW_LIKELY);
    double submit_ns = cost.known ? cost.submit_ns : XFW_SUBMIT_NS;
    if (!(op->duration_ns > 0)) {
        op->duration_ns = cost.known ? cost.device_ns : fmax(0, op->own_ns - submit_ns);
        op->lead_ns = cost.lead_ns;
    }
    op->awaits = XFW_AWAITS_NOTHING;
    op->latency_ns =
        xfw_asked_around(asked, &analysis->achievable, direction, op->gpu, op->latency_ns);
    op->own_ns = submit_ns;
    op->wake_ns = 0;
}

static void async_op(const struct xfw_change *change, void *self, struct xfw_player *player,
                     struct xfw_op *op)
{
    struct xfw_reuse *reuse = self;
    struct xfw_host_memory host;
    bool mine = op->what == XFW_COPY && op->class != XFW_NONE &&
                xfw_set_has(&change->set, op->class) && xfw_host_rows(change->analysis, op, &host);
    xfw_reuse_meet(reuse, change, player, op, mine);
    if (!mine || !xfw_player_take(player, op) || xfw_player_certainty(player) == XFW_LOW)
        return;
    submit(&reuse->asked, change->analysis, op, &host);
    xfw_reuse_add(reuse, change, player, op, &host);
}

struct xfw_change *xfw_change_async(const struct xfa_analysis *analysis, struct xfw_set *classes)
{
    static const struct xfw_change_type type = {
        .name = "async", .state_bytes = sizeof(struct xfw_reuse), .op = async_op};
    struct xfw_change *change = xfw_change_new(sizeof *change, &type, analysis, classes);
    change->shares = XFW_IN_PARTS;
    return change;
}

/* ---- waits come later ------------------------------------------------------------------------ */

struct held {        /* the wait that a thread has put off */
    uint32_t thread; /* key */
    bool there;
    struct xfw_op wait;
    uint64_t fetched;
};

struct later {
    struct xfa_table held;
    uint64_t fetched; /* bytes on their way to the host since the last wait */
};

static void later_begin(const struct xfw_change *change, void *self, struct xfw_player *player)
{
    struct later *state = self;
    (void)change;
    (void)player;
    xfa_table_init(&state->held, sizeof(uint32_t), sizeof(struct held));
}

static void later_end(const struct xfw_change *change, void *self)
{
    struct later *state = self;
    (void)change;
    xfa_table_free(&state->held);
}

/* The thread's next call: the wait comes now, before or behind the thread's own time. */
static void wait_now(struct held *held, struct xfw_player *player, struct xfw_op *op)
{
    bool later =
        xfw_player_certainty(player) == XFW_HIGH || xfw_cannot_have_read(op->gap_ns, held->fetched);
    if (later)
        xfw_op_take_gap(&held->wait, op);
    xfw_player_play(player, &held->wait);
    held->there = false;
}

static void put_off(struct held *held, struct xfw_op *op, uint64_t fetched)
{
    held->there = true;
    held->fetched = fetched;
    held->wait = *op;
    held->wait.gap_ns = 0;
    held->wait.made_up = true; /* the recorded op stays, and waits no more */
    xfw_op_drop(op);
}

static void later_op(const struct xfw_change *change, void *self, struct xfw_player *player,
                     struct xfw_op *op)
{
    struct later *state = self;
    struct held *held = xfa_table_get(&state->held, &op->thread);
    if (held && held->there)
        wait_now(held, player, op);
    if (op->what == XFW_COPY && op->engine == XFW_TO_HOST && op->awaits == XFW_AWAITS_NOTHING)
        state->fetched += op->bytes;
    if (op->kind != XFT_EVENT_SYNC || op->awaits == XFW_AWAITS_NOTHING)
        return;
    uint64_t fetched = state->fetched;
    state->fetched = 0;
    if (op->site == XFW_NONE || !xfw_set_has(&change->set, op->site) ||
        xfw_player_certainty(player) == XFW_LOW)
        return;
    put_off(xfa_table_put(&state->held, &op->thread), op, fetched);
}

struct xfw_change *xfw_change_later_wait(const struct xfa_analysis *analysis, struct xfw_set *sites)
{
    static const struct xfw_change_type type = {
        .name = "later wait",
        .state_bytes = sizeof(struct later),
        .begin = later_begin,
        .op = later_op,
        .end = later_end,
    };
    return xfw_change_new(sizeof(struct xfw_change), &type, analysis, sites);
}

/* ---- waits for a device go ------------------------------------------------------------------- */

static void no_device_wait_op(const struct xfw_change *change, void *self,
                              struct xfw_player *player, struct xfw_op *op)
{
    (void)self;
    if (op->kind == XFT_EVENT_SYNC && op->awaits == XFW_AWAITS_DEVICE && op->site != XFW_NONE &&
        xfw_set_has(&change->set, op->site) && xfw_player_certainty(player) != XFW_LOW)
        xfw_op_drop(op);
}

struct xfw_change *xfw_change_no_device_wait(const struct xfa_analysis *analysis,
                                             struct xfw_set *sites)
{
    static const struct xfw_change_type type = {.name = "no device wait", .op = no_device_wait_op};
    return xfw_change_new(sizeof(struct xfw_change), &type, analysis, sites);
}
