#include "analyzer/whatif/ops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/recorded.h"

#define PLACES 65536u /* where ops are looked for by their correlation id */
#define EARLY 256     /* records that came before their call: the clocks differ */
#define MOST_LOOKED_AT 64
#define OPEN 32          /* ranges of a thread */
#define LEGACY_HANDLE 1u /* cudaStreamLegacy, cudaStreamPerThread */
#define PER_THREAD_HANDLE 2u

/* An op that waits for its records, or behind one that does. */
struct pending {
    struct xfw_op op;
    bool blocks;
    bool wants;              /* nothing of it has come */
    bool open;               /* more may come */
    uint32_t correlation;    /* 0 = none */
    uint64_t place_next;     /* the op before in the same place; number + 1 */
    uint64_t first, bytes;   /* of a prefetch: the memory */
    double stalled_until_ns; /* of what was demanded so far */
};

struct thread_key {
    int32_t tid;
};
struct stream_key {
    uint64_t handle; /* 0: the default stream, of the GPU or of the thread */
    int32_t tid, gpu;
};
struct thread_item {
    struct thread_key key;
    uint32_t number;
    uint64_t end_ns;          /* of its last call */
    struct xfw_moved fetched; /* since then */
    double fetched_until_ns;
    uint32_t depth; /* of its open ranges; deeper ones than OPEN are not known by their text */
    struct open_range {
        uint64_t domain, id; /* id: 0 = of the thread */
        uint32_t range;
    } open[OPEN];
};
struct stream_item {
    struct stream_key key;
    uint32_t number;
    int32_t gpu;
    uint8_t kind; /* enum xfw_stream_kind */
};
struct event_item {
    uint64_t handle; /* key */
    uint32_t number;
};
struct range_item {
    uint64_t text; /* key */
    uint32_t number;
};

struct early {
    struct xft_event event;
    bool there;
};

/* What the host has waited for: ops before `number` are done, and their records have come once the
 * walk is at `ns`. */
struct settled {
    uint64_t number, ns;
};

struct xfw_ops {
    const struct xfa_achievable *achievable;
    struct xfw_sink sink;
    struct xfw_records_cost costs[XFW_GPUS];
    bool asked[XFW_GPUS];

    struct xfa_process *process;
    uint64_t begin_ns, now_ns;
    struct xfw_recorded *recorded;
    struct xfa_table threads, streams, events, ranges;
    uint32_t stream_numbers;
    struct pending *queue; /* a ring of `room` */
    size_t room;
    uint64_t head, tail; /* numbers of the oldest op, and of the next */
    uint64_t *places;    /* of the newest op there, number + 1; 0 = none */
    struct early early[EARLY];
    unsigned early_next;
    struct settled *of_streams; /* by stream number */
    size_t of_stream_count, of_stream_capacity;
    struct settled of_all;
    uint64_t transfers;
    uint64_t open_prefetches;
    bool managed;               /* there is memory that moves on demand */
    uint64_t running[XFW_GPUS]; /* the kernel that began last, number + 1; 0 = none */
    uint32_t records;           /* enum xft_records that come */
    bool kernels;
};

struct xfw_ops *xfw_ops_new(const struct xfa_achievable *achievable, const struct xfw_sink *sink)
{
    struct xfw_ops *ops = xfa_alloc(sizeof *ops);
    ops->achievable = achievable;
    ops->sink = *sink;
    ops->room = 256;
    ops->queue = xfa_alloc(ops->room * sizeof *ops->queue);
    ops->places = xfa_alloc(PLACES * sizeof *ops->places);
    return ops;
}

static void forget_process(struct xfw_ops *ops)
{
    if (!ops->recorded)
        return;
    xfw_recorded_free(ops->recorded);
    ops->recorded = NULL;
    xfa_table_free(&ops->threads);
    xfa_table_free(&ops->streams);
    xfa_table_free(&ops->events);
    xfa_table_free(&ops->ranges);
    free(ops->of_streams);
    ops->of_streams = NULL;
    ops->of_stream_count = ops->of_stream_capacity = 0;
}

void xfw_ops_free(struct xfw_ops *ops)
{
    if (!ops)
        return;
    forget_process(ops);
    free(ops->queue);
    free(ops->places);
    free(ops);
}

uint64_t xfw_ops_range_text(const struct xfw_ops *ops, uint32_t range)
{
    const struct range_item *item =
        range < ops->ranges.count ? xfa_table_at(&ops->ranges, range) : NULL;
    return item ? item->text : 0;
}

/* ---- what recording cost --------------------------------------------------------------------- */

static double scalar(const struct xfp_profile *profile, const char *what, int gpu, bool *known)
{
    char name[64];
    snprintf(name, sizeof name, "records/%s/gpu%d", what, gpu);
    const struct xfp_scalar *scalar = xfp_find_scalar(profile, name);
    *known = *known || scalar;
    return scalar ? scalar->cost.median : 0;
}

static struct xfw_copy_cost copy_cost(const struct xfp_profile *profile, const char *direction,
                                      int gpu, bool *known)
{
    char call[32], blocking[32], device[32];
    snprintf(call, sizeof call, "copy/%s", direction);
    snprintf(blocking, sizeof blocking, "copy-blocking/%s", direction);
    snprintf(device, sizeof device, "copy-device/%s", direction);
    return (struct xfw_copy_cost){
        .call = scalar(profile, call, gpu, known),
        .blocking = scalar(profile, blocking, gpu, known),
        .device = scalar(profile, device, gpu, known),
    };
}

struct xfw_records_cost xfw_records_cost_of(const struct xfa_achievable *achievable, int gpu)
{
    struct xfw_records_cost cost = {0};
    const struct xfp_profile *profile = achievable->profile;
    if (!profile)
        return cost;
    int number = xfa_achievable_gpu(achievable, gpu < 0 ? 0 : gpu);
    cost.launch = scalar(profile, "launch", number, &cost.known);
    cost.launch_device = scalar(profile, "launch-device", number, &cost.known);
    cost.copies[0] = copy_cost(profile, "h2d", number, &cost.known);
    cost.copies[1] = copy_cost(profile, "d2h", number, &cost.known);
    cost.set = scalar(profile, "memset", number, &cost.known);
    cost.sync = scalar(profile, "sync/stream", number, &cost.known);
    cost.record = scalar(profile, "event/record", number, &cost.known);
    cost.demanded = scalar(profile, "migration/h2d", number, &cost.moves_known);
    cost.fetched = scalar(profile, "migration/d2h", number, &cost.moves_known);
    return cost;
}

static size_t place_of_gpu(int gpu)
{
    return gpu < 0 ? 0 : gpu < XFW_GPUS ? (size_t)gpu : XFW_GPUS - 1;
}

static const struct xfw_records_cost *costs_of(struct xfw_ops *ops, int gpu)
{
    size_t i = place_of_gpu(gpu);
    if (!ops->asked[i]) {
        ops->asked[i] = true;
        ops->costs[i] = xfw_records_cost_of(ops->achievable, gpu);
    }
    return &ops->costs[i];
}

static void add_costs(struct xfw_ops *ops, struct xfw_op *op, bool blocks)
{
    op->hook_ns = ops->process->costs[op->kind].ns;
    if (!ops->records)
        return;
    const struct xfw_records_cost *cost = costs_of(ops, op->gpu);
    if (op->what == XFW_KERNEL && ops->kernels) {
        op->records_ns = cost->launch;
        op->records_device_ns = cost->launch_device;
    } else if (op->what == XFW_COPY) {
        const struct xfw_copy_cost *copy = &cost->copies[op->engine == XFW_TO_HOST];
        op->records_ns = blocks ? copy->blocking : copy->call;
        op->records_device_ns = copy->device;
    } else if (op->what == XFW_SET) {
        op->records_ns = cost->set;
    } else if (op->kind == XFT_EVENT_SYNC) {
        op->records_ns = cost->sync;
    } else if (op->what == XFW_RECORD) {
        op->records_ns = cost->record;
    }
}

static void add_move_costs(struct xfw_ops *ops, struct xfw_op *op)
{
    if (op->demanded.records)
        op->demanded.records_ns = op->demanded.records * costs_of(ops, op->demanded.gpu)->demanded;
    if (op->fetched.records)
        op->fetched.records_ns = op->fetched.records * costs_of(ops, op->fetched.gpu)->fetched;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static struct thread_item *thread_of(struct xfw_ops *ops, int32_t tid)
{
    struct thread_key key = {tid};
    size_t before = ops->threads.count;
    struct thread_item *item = xfa_table_put(&ops->threads, &key);
    if (ops->threads.count > before)
        item->number = (uint32_t)before;
    return item;
}

static uint32_t event_of(struct xfw_ops *ops, uint64_t handle)
{
    size_t before = ops->events.count;
    struct event_item *item = xfa_table_put(&ops->events, &handle);
    if (ops->events.count > before)
        item->number = (uint32_t)before;
    return item->number;
}

static uint32_t range_of(struct xfw_ops *ops, uint64_t text)
{
    size_t before = ops->ranges.count;
    struct range_item *item = xfa_table_put(&ops->ranges, &text);
    if (ops->ranges.count > before)
        item->number = (uint32_t)before;
    return item->number;
}

/* A default stream is the GPU's, or the thread's. */
static struct stream_item *stream_of(struct xfw_ops *ops, const struct xft_event *event,
                                     int32_t tid)
{
    uint64_t handle = event->flags & XFT_STREAM_KNOWN ? event->stream : 0;
    bool per_thread = handle == PER_THREAD_HANDLE || (!handle && event->flags & XFT_PER_THREAD);
    struct stream_key key = {0};
    key.handle = handle > PER_THREAD_HANDLE ? handle : 0;
    if (key.handle == 0) {
        key.gpu = xfa_process_gpu(ops->process, event->device < 0 ? 0 : event->device);
        key.tid = per_thread ? tid : -1;
    }
    size_t before = ops->streams.count;
    struct stream_item *item = xfa_table_put(&ops->streams, &key);
    if (ops->streams.count > before) {
        item->number = ops->stream_numbers++;
        item->gpu = key.handle ? -1 : key.gpu;
        item->kind = key.handle || per_thread ? XFW_BLOCKING : XFW_LEGACY;
    }
    return item;
}

/* A stream is made: its handle may have been another's. */
static void make_stream(struct xfw_ops *ops, const struct xft_event *event)
{
    struct stream_key key = {.handle = event->stream};
    if (event->stream <= PER_THREAD_HANDLE)
        return;
    struct stream_item *item = xfa_table_put(&ops->streams, &key);
    item->number = ops->stream_numbers++;
    item->gpu = event->device < 0 ? -1 : xfa_process_gpu(ops->process, event->device);
    item->kind = event->aux & XFT_STREAM_NONBLOCKING ? XFW_NONBLOCKING : XFW_BLOCKING;
}

/* ---- the queue ------------------------------------------------------------------------------- */

static struct pending *at(const struct xfw_ops *ops, uint64_t number)
{
    return &ops->queue[number & (ops->room - 1)];
}

static void grow(struct xfw_ops *ops)
{
    size_t room = ops->room * 2;
    struct pending *queue = xfa_alloc(room * sizeof *queue);
    for (uint64_t i = ops->head; i < ops->tail; i++)
        queue[i & (room - 1)] = *at(ops, i);
    free(ops->queue);
    ops->queue = queue;
    ops->room = room;
}

static struct settled *settled_of(struct xfw_ops *ops, uint32_t stream)
{
    if (stream >= ops->of_stream_count) {
        size_t count = (size_t)stream + 1;
        ops->of_streams =
            xfa_room(ops->of_streams, &ops->of_stream_capacity, count, sizeof *ops->of_streams);
        memset(ops->of_streams + ops->of_stream_count, 0,
               (count - ops->of_stream_count) * sizeof *ops->of_streams);
        ops->of_stream_count = count;
    }
    return &ops->of_streams[stream];
}

static bool is_settled(struct xfw_ops *ops, const struct pending *pending)
{
    const struct settled *stream =
        pending->op.stream == XFW_NONE ? &ops->of_all : settled_of(ops, pending->op.stream);
    uint64_t number = pending->op.number;
    return (number < stream->number && ops->now_ns > stream->ns) ||
           (number < ops->of_all.number && ops->now_ns > ops->of_all.ns);
}

/* Memory may move on its demand yet. */
static bool runs(const struct xfw_ops *ops, const struct xfw_op *op)
{
    return ops->managed && op->engine == XFW_COMPUTE && !isnan(op->device_end_ns) &&
           (double)(int64_t)(ops->now_ns - ops->begin_ns) < op->device_end_ns;
}

static void release(struct xfw_ops *ops, bool last)
{
    while (ops->head < ops->tail) {
        struct pending *pending = at(ops, ops->head);
        bool full = ops->tail - ops->head >= XFW_WINDOW;
        bool waits = (pending->wants || pending->open) && !is_settled(ops, pending);
        if ((waits || runs(ops, &pending->op)) && !full && !last)
            return;
        add_move_costs(ops, &pending->op);
        ops->open_prefetches -= pending->op.what == XFW_PREFETCH;
        ops->head++;
        xfw_recorded_settle(ops->recorded, &pending->op, pending->blocks);
        ops->sink.op(ops->sink.self, &pending->op);
    }
}

static void add_device(struct xfw_ops *ops, struct pending *pending, const struct xft_event *record)
{
    struct xfw_op *op = &pending->op;
    double start = (double)(int64_t)(record->start_ns - ops->begin_ns);
    double end = (double)(int64_t)(record->end_ns - ops->begin_ns);
    bool first = isnan(op->device_start_ns);
    op->device_start_ns = first ? start : fmin(op->device_start_ns, start);
    op->device_end_ns = first ? end : fmax(op->device_end_ns, end);
    pending->wants = false;
    if (record->kind == XFT_EVENT_KERNEL)
        ops->running[place_of_gpu(op->gpu)] = op->number + 1;
    if (record->kind == XFT_EVENT_KERNEL && op->what == XFW_KERNEL) {
        op->threads = record->dst;
        op->name = (uint32_t)record->src;
    }
}

static struct pending *push(struct xfw_ops *ops, struct xfw_op *op)
{
    if (ops->tail - ops->head >= XFW_WINDOW)
        release(ops, false);
    if (ops->tail - ops->head == ops->room)
        grow(ops);
    op->number = ops->tail;
    struct pending *pending = at(ops, ops->tail++);
    *pending = (struct pending){.op = *op};
    return pending;
}

static void take_early(struct xfw_ops *ops, struct pending *pending)
{
    for (unsigned i = 0; i < EARLY; i++) {
        struct early *early = &ops->early[i];
        if (early->there && early->event.correlation == pending->correlation) {
            early->there = false;
            add_device(ops, pending, &early->event);
            return;
        }
    }
}

/* From now on its records are looked for. */
static void expect(struct xfw_ops *ops, struct pending *pending, uint32_t correlation, bool open)
{
    if (correlation == 0)
        return;
    uint64_t *place = &ops->places[correlation % PLACES];
    pending->correlation = correlation;
    pending->wants = true;
    pending->open = open;
    pending->place_next = *place;
    *place = pending->op.number + 1;
    take_early(ops, pending);
}

static struct pending *wanting(struct xfw_ops *ops, uint32_t correlation)
{
    uint64_t next = ops->places[correlation % PLACES];
    for (unsigned i = 0; i < MOST_LOOKED_AT && next > ops->head; i++) {
        struct pending *pending = at(ops, next - 1);
        if (pending->correlation == correlation && (pending->wants || pending->open))
            return pending;
        next = pending->place_next;
    }
    return NULL;
}

/* ---- events ---------------------------------------------------------------------------------- */

static struct xfw_op begin_op(struct xfw_ops *ops, const struct xft_event *event, int32_t tid,
                              enum xfw_what what)
{
    struct thread_item *thread = thread_of(ops, tid);
    struct xfw_moved fetched = thread->fetched;
    thread->end_ns = event->end_ns > thread->end_ns ? event->end_ns : thread->end_ns;
    thread->fetched = (struct xfw_moved){0};
    return (struct xfw_op){
        .what = (uint8_t)what,
        .kind = event->kind,
        .gpu = event->device < 0 ? -1 : (int16_t)xfa_process_gpu(ops->process, event->device),
        .peer = -1,
        .stream_gpu = -1,
        .thread = thread->number,
        .stream = XFW_NONE,
        .event = XFW_NONE,
        .handed_by = XFW_NONE,
        .range = XFW_NONE,
        .class = XFW_NONE,
        .site = XFW_NONE,
        .start_ns = (double)(int64_t)(event->start_ns - ops->begin_ns),
        .end_ns = (double)(int64_t)(event->end_ns - ops->begin_ns),
        .device_start_ns = NAN,
        .device_end_ns = NAN,
        .bytes = event->bytes,
        .src = event->src,
        .dst = event->dst,
        .memory = event->dst_mem,
        .fetched = fetched,
    };
}

static void to_stream(struct xfw_ops *ops, struct xfw_op *op, const struct xft_event *event,
                      int32_t tid)
{
    const struct stream_item *stream = stream_of(ops, event, tid);
    op->stream = stream->number;
    op->stream_kind = stream->kind;
    op->gpu = stream->gpu >= 0 ? (int16_t)stream->gpu : op->gpu;
    op->stream_gpu = op->gpu;
}

static void launch(struct xfw_ops *ops, const struct xfa_step *step, enum xfw_what what)
{
    const struct xft_event *event = step->event;
    struct xfw_op op = begin_op(ops, event, step->tid, what);
    bool captured = event->flags & XFT_CAPTURED;
    bool comes = what == XFW_SET             ? ops->records & XFT_RECORDS_COPIES
                 : what == XFW_HOST_FUNCTION ? false
                                             : ops->records & XFT_RECORDS_KERNELS;
    if (captured) {
        op.what = XFW_CALL;
    } else {
        to_stream(ops, &op, event, step->tid);
        op.engine = what == XFW_HOST_FUNCTION ? XFW_NO_ENGINE : XFW_COMPUTE;
        op.exclusive = false;
    }
    if (what == XFW_KERNEL) {
        op.arguments = (uint32_t)event->aux;
        op.name = (uint32_t)event->src;
        op.threads = event->dst;
    }
    add_costs(ops, &op, false);
    struct pending *pending = push(ops, &op);
    if (!captured && comes)
        expect(ops, pending, event->correlation, what == XFW_GRAPH);
}

static void prefetch(struct xfw_ops *ops, const struct xfa_step *step)
{
    const struct xft_event *event = step->event;
    struct xfw_op op = begin_op(ops, event, step->tid, XFW_PREFETCH);
    to_stream(ops, &op, event, step->tid);
    op.engine = event->dst_place == XFT_PLACE_HOST ? XFW_TO_HOST : XFW_TO_DEVICE;
    op.exclusive = true;
    add_costs(ops, &op, false);
    struct pending *pending = push(ops, &op);
    pending->open = true;
    pending->first = event->src;
    pending->bytes = event->bytes;
    ops->open_prefetches++;
}

/* Of a prefetch: the oldest one that moves this memory. */
static void prefetched(struct xfw_ops *ops, const struct xft_event *event)
{
    if (ops->open_prefetches == 0)
        return;
    for (uint64_t i = ops->head; i < ops->tail; i++) {
        struct pending *pending = at(ops, i);
        if (pending->open && pending->op.what == XFW_PREFETCH &&
            event->src - pending->first < pending->bytes) {
            add_device(ops, pending, event);
            return;
        }
    }
}

/* How much of from..to, at most up to `last`, comes behind all that was counted before. */
static double more_of(double *until, double from, double to, double last)
{
    from = fmax(from, *until);
    to = fmin(to, last);
    *until = fmax(*until, to);
    return fmax(0, to - from);
}

static void count_move(struct xfw_moved *moved, const struct xft_event *event, int gpu)
{
    moved->gpu = (int16_t)gpu;
    if (event->kind != XFT_EVENT_MIGRATION)
        return;
    moved->bytes = xfa_add(moved->bytes, event->bytes);
    moved->records++;
}

/* A kernel had to wait for it: a page that came, or a fault that was served. */
static void demanded(struct xfw_ops *ops, const struct xft_event *event)
{
    int gpu = xfa_process_gpu(ops->process, event->device < 0 ? 0 : event->device);
    uint64_t running = ops->running[place_of_gpu(gpu)];
    double start = (double)(int64_t)(event->start_ns - ops->begin_ns);
    double end = (double)(int64_t)(event->end_ns - ops->begin_ns);
    if (running <= ops->head)
        return;
    struct pending *pending = at(ops, running - 1);
    if (start > pending->op.device_end_ns)
        return;
    struct xfw_moved *moved = &pending->op.demanded;
    pending->stalled_until_ns = fmax(pending->stalled_until_ns, pending->op.device_start_ns);
    moved->stalled_ns += more_of(&pending->stalled_until_ns, start, end, pending->op.device_end_ns);
    count_move(moved, event, gpu);
}

static void fetched(struct xfw_ops *ops, const struct xft_event *event)
{
    struct thread_item *thread = NULL;
    for (size_t i = 0; i < ops->threads.count && i < MOST_LOOKED_AT; i++) {
        struct thread_item *item = xfa_table_at(&ops->threads, i);
        if (item->end_ns <= event->start_ns && (!thread || item->end_ns > thread->end_ns))
            thread = item;
    }
    if (!thread)
        return;
    int gpu = xfa_process_gpu(ops->process, event->device < 0 ? 0 : event->device);
    double start = (double)(int64_t)(event->start_ns - ops->begin_ns);
    double end = (double)(int64_t)(event->end_ns - ops->begin_ns);
    thread->fetched.stalled_ns += more_of(&thread->fetched_until_ns, start, end, end);
    count_move(&thread->fetched, event, gpu);
}

static void migration(struct xfw_ops *ops, const struct xft_event *event)
{
    ops->managed = true;
    if (event->aux == XFT_CAUSE_USER)
        prefetched(ops, event);
    else if (event->direction == XFT_DIR_D2H)
        fetched(ops, event);
    else
        demanded(ops, event);
}

static void record(struct xfw_ops *ops, const struct xft_event *event)
{
    if (event->correlation == 0 || event->end_ns < event->start_ns)
        return;
    struct pending *pending = wanting(ops, event->correlation);
    if (pending)
        add_device(ops, pending, event);
    else
        ops->early[ops->early_next++ % EARLY] = (struct early){*event, true};
}

/* Everything submitted before has been done when the host goes on. */
static void note_wait(struct xfw_ops *ops, const struct xfw_op *op, const struct xft_event *event)
{
    struct settled settled = {ops->tail, event->end_ns};
    if (op->awaits == XFW_AWAITS_DEVICE)
        ops->of_all = settled;
    else if (op->awaits == XFW_AWAITS_STREAM && op->stream != XFW_NONE)
        *settled_of(ops, op->stream) = settled;
}

static void wait(struct xfw_ops *ops, const struct xfa_step *step, enum xfw_what what)
{
    static const uint8_t awaits[] = {XFW_AWAITS_NOTHING, XFW_AWAITS_EVENT, XFW_AWAITS_STREAM,
                                     XFW_AWAITS_DEVICE};
    const struct xft_event *event = step->event;
    struct xfw_op op = begin_op(ops, event, step->tid, what);
    op.awaits = event->aux <= XFT_SYNC_CONTEXT ? awaits[event->aux] : XFW_AWAITS_NOTHING;
    if (op.awaits == XFW_AWAITS_STREAM)
        to_stream(ops, &op, event, step->tid);
    if (op.awaits == XFW_AWAITS_EVENT)
        op.event = event_of(ops, event->src);
    if (event->stack)
        op.site = xfa_process_site(step->process, event->stack)->number;
    add_costs(ops, &op, false);
    note_wait(ops, &op, event);
    push(ops, &op);
}

static void event_call(struct xfw_ops *ops, const struct xfa_step *step, enum xfw_what what)
{
    struct xfw_op op = begin_op(ops, step->event, step->tid, what);
    if (!(step->event->flags & XFT_CAPTURED)) {
        to_stream(ops, &op, step->event, step->tid);
        op.event = event_of(ops, step->event->src);
    }
    add_costs(ops, &op, false);
    push(ops, &op);
}

static void call(struct xfw_ops *ops, const struct xfa_step *step)
{
    const struct xft_event *event = step->event;
    struct xfw_op op = begin_op(ops, event, step->tid, XFW_CALL);
    bool in_order = event->flags & XFT_ASYNC; /* of a pool, in a stream's order */
    ops->managed =
        ops->managed || (event->kind == XFT_EVENT_ALLOC && event->dst_mem == XFT_MEM_MANAGED);
    bool frees = event->kind == XFT_EVENT_FREE || event->kind == XFT_EVENT_UNREGISTER ||
                 event->kind == XFT_EVENT_ALLOC || event->kind == XFT_EVENT_REGISTER;
    op.pooled = frees && in_order;
    if (frees && !in_order)
        op.awaits = XFW_AWAITS_DEVICE;
    if (event->stack)
        op.site = xfa_process_site(step->process, event->stack)->number;
    add_costs(ops, &op, false);
    push(ops, &op);
}

static uint32_t open_range(struct xfw_ops *ops, const struct xfa_step *step)
{
    struct thread_item *thread = thread_of(ops, step->tid);
    uint32_t range = range_of(ops, step->event->aux);
    if (thread->depth < OPEN)
        thread->open[thread->depth++] =
            (struct open_range){step->event->src, step->event->dst, range};
    return range;
}

/* The innermost that it can be the end of. One of the process may have begun in another thread:
 * then it is not known which. */
static uint32_t close_range(struct xfw_ops *ops, const struct xfa_step *step)
{
    struct thread_item *thread = thread_of(ops, step->tid);
    for (uint32_t i = thread->depth; i-- > 0;) {
        struct open_range *open = &thread->open[i];
        uint32_t range = open->range;
        if (open->domain != step->event->src || open->id != step->event->dst)
            continue;
        memmove(open, open + 1, (thread->depth - i - 1) * sizeof *open);
        thread->depth--;
        return range;
    }
    return XFW_NONE;
}

static void range(struct xfw_ops *ops, const struct xfa_step *step)
{
    const struct xft_event *event = step->event;
    struct xfw_op op = begin_op(ops, event, step->tid, XFW_RANGE);
    op.begins = event->kind == XFT_EVENT_RANGE_BEGIN;
    op.range = op.begins ? open_range(ops, step) : close_range(ops, step);
    add_costs(ops, &op, false);
    push(ops, &op);
}

static void observe_event(void *self, const struct xfa_step *step)
{
    struct xfw_ops *ops = self;
    const struct xft_event *event = step->event;
    ops->now_ns = event->start_ns;
    switch ((enum xft_event_kind)event->kind) {
    case XFT_EVENT_KERNEL:
    case XFT_EVENT_MEMSET:
        record(ops, event);
        break;
    case XFT_EVENT_MIGRATION:
        migration(ops, event);
        break;
    case XFT_EVENT_FAULT:
        ops->managed = true;
        if (event->device >= 0 && event->end_ns)
            demanded(ops, event);
        break;
    case XFT_EVENT_RECORDS:
        ops->records = (uint32_t)event->aux;
        ops->kernels = event->aux & XFT_RECORDS_KERNELS;
        break;
    case XFT_EVENT_LAUNCH:
        launch(ops, step, XFW_KERNEL);
        break;
    case XFT_EVENT_SET:
        launch(ops, step, XFW_SET);
        break;
    case XFT_EVENT_GRAPH_LAUNCH:
        launch(ops, step, XFW_GRAPH);
        break;
    case XFT_EVENT_HOST_FUNCTION:
        launch(ops, step, XFW_HOST_FUNCTION);
        break;
    case XFT_EVENT_PREFETCH:
        prefetch(ops, step);
        break;
    case XFT_EVENT_SYNC:
        wait(ops, step, XFW_CALL);
        break;
    case XFT_EVENT_QUERY:
        wait(ops, step, XFW_QUERY);
        break;
    case XFT_EVENT_RECORD:
        event_call(ops, step, XFW_RECORD);
        break;
    case XFT_EVENT_WAIT:
        event_call(ops, step, XFW_WAIT);
        break;
    case XFT_EVENT_RANGE_BEGIN:
    case XFT_EVENT_RANGE_END:
        range(ops, step);
        break;
    case XFT_EVENT_STREAM:
        make_stream(ops, event);
        call(ops, step);
        break;
    default:
        call(ops, step);
        break;
    }
    release(ops, false);
}

/* ---- transfers ------------------------------------------------------------------------------- */

static void set_engine(struct xfw_op *op, const struct xfa_class *class)
{
    const struct xfa_row_key *key = &class->key.row;
    static const uint8_t engines[XFT_DIRECTION_COUNT] = {
        [XFT_DIR_H2D] = XFW_TO_DEVICE,
        [XFT_DIR_D2H] = XFW_TO_HOST,
        [XFT_DIR_P2P] = XFW_PEER,
        [XFT_DIR_D2D] = XFW_COMPUTE,
    };
    op->engine = engines[key->direction];
    op->exclusive = op->engine == XFW_TO_DEVICE || op->engine == XFW_TO_HOST;
    if (key->direction == XFT_DIR_H2D || key->direction == XFT_DIR_P2P)
        op->peer = key->src_gpu;
    int gpu = key->direction == XFT_DIR_H2D ? key->dst_gpu : key->src_gpu;
    if (gpu >= 0)
        op->gpu = (int16_t)gpu;
}

static void observe_transfer(void *self, const struct xfa_transfer *transfer)
{
    struct xfw_ops *ops = self;
    const struct xft_event *event = transfer->event;
    ops->now_ns = event->start_ns;
    uint64_t number = ops->transfers++;
    if (event->flags & XFT_GRAPH) { /* a part of its launch */
        struct pending *pending = wanting(ops, event->correlation);
        if (pending && transfer->device_start_ns) {
            struct xft_event copy = {.start_ns = transfer->device_start_ns,
                                     .end_ns = transfer->device_end_ns};
            add_device(ops, pending, &copy);
        }
        return;
    }
    struct xfw_op op = begin_op(ops, event, transfer->tid, XFW_COPY);
    to_stream(ops, &op, event, transfer->tid);
    op.transfer = number;
    op.class = transfer->class->number;
    if (transfer->class->key.shape == XFA_STRIDED && event->width &&
        event->bytes % event->width == 0)
        op.row_bytes = (uint32_t)event->width;
    op.site = transfer->class->key.row.site;
    set_engine(&op, transfer->class);
    if (transfer->device_start_ns) {
        op.device_start_ns = (double)(int64_t)(transfer->device_start_ns - ops->begin_ns);
        op.device_end_ns = (double)(int64_t)(transfer->device_end_ns - ops->begin_ns);
        op.last_piece = op.engine == XFW_PEER && transfer->class->key.peer == XFA_PEER_OFF;
    }
    add_costs(ops, &op, transfer->blocks);
    const struct xfp_fit *fit = transfer->class->achievable.fit;
    if (op.records_device_ns > 0 && fit && fit->g_ns > 0)
        op.paced_ns = fit->g_ns + fit->G_ns_per_byte * (double)event->bytes;
    struct pending *pending = push(ops, &op);
    pending->blocks = transfer->blocks;
    release(ops, false);
}

/* ---- the observer ---------------------------------------------------------------------------- */

static uint32_t begin_process(void *self, struct xfa_process *process)
{
    struct xfw_ops *ops = self;
    forget_process(ops);
    ops->process = process;
    ops->begin_ns = process->start_mono_ns;
    ops->now_ns = 0;
    ops->recorded = xfw_recorded_new();
    xfa_table_init(&ops->threads, sizeof(struct thread_key), sizeof(struct thread_item));
    xfa_table_init(&ops->streams, sizeof(struct stream_key), sizeof(struct stream_item));
    xfa_table_init(&ops->events, sizeof(uint64_t), sizeof(struct event_item));
    xfa_table_init(&ops->ranges, sizeof(uint64_t), sizeof(struct range_item));
    ops->stream_numbers = 0;
    ops->head = ops->tail = 0;
    memset(ops->places, 0, PLACES * sizeof *ops->places);
    memset(ops->early, 0, sizeof ops->early);
    ops->of_all = (struct settled){0};
    ops->transfers = ops->open_prefetches = 0;
    ops->managed = false;
    memset(ops->running, 0, sizeof ops->running);
    ops->records = 0;
    ops->kernels = false;
    if (ops->sink.process)
        ops->sink.process(ops->sink.self, process);
    return UINT32_MAX;
}

static void end_process(void *self, struct xfa_process *process)
{
    struct xfw_ops *ops = self;
    release(ops, true);
    double end = process->end_mono_ns > ops->begin_ns
                     ? (double)(process->end_mono_ns - ops->begin_ns)
                     : (double)(int64_t)(ops->now_ns - ops->begin_ns);
    if (ops->sink.end)
        ops->sink.end(ops->sink.self, process, end);
}

struct xfa_observer xfw_ops_observer(struct xfw_ops *ops)
{
    /* Of what the host's memory held there is nothing to be played again. */
    uint32_t kinds = UINT32_MAX & ~XFA_KIND(XFT_EVENT_DEVICE_COPY) & ~XFA_KIND(XFT_EVENT_CONTENT) &
                     ~XFA_KIND(XFT_EVENT_TRANSFER);
    return (struct xfa_observer){
        .name = "what-if",
        .kinds = kinds,
        .self = ops,
        .process = begin_process,
        .event = observe_event,
        .transfer = observe_transfer,
        .end = end_process,
    };
}
