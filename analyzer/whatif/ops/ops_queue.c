#include "analyzer/whatif/ops/ops_queue.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/ops/ops_late.h"
#include "analyzer/whatif/ops/ops_pending.h"
#include "analyzer/whatif/ops/recorded.h"

#define PLACES 65536u /* where ops are looked for by their correlation id */
#define EARLY 256     /* records that came before their call: the clocks differ */
#define MOST_LOOKED_AT 64
#define MOST_AHEAD 256  /* ops that are looked at: streams take turns much sooner, */
#define FAR_AHEAD 4096  /* or those for a copy, where threads fill their streams by turns: */
#define AHEAD_OF_ALL 16 /* so many for each op of the run, so that the time is bounded */
#define MOST_BESIDE 128 /* kernels that a GPU runs at one time */

struct early {
    struct xfa_event event;
    bool there;
};

/* The host has waited: ops before `number` are done, and their records have come once the pass is
 * at `ns`. */
struct waited {
    uint64_t number, ns;
};

struct xfw_ops_queue {
    struct xfw_sink sink;
    struct xfw_records_costs *costs;
    struct xfw_recorded *recorded;
    uint64_t begin_ns, now_ns;

    struct xfw_pending *ring; /* of `room` */
    size_t room;
    uint64_t head, tail; /* numbers of the oldest op, and of the next */
    uint64_t *places;    /* of the newest op there, number + 1; 0 = none */
    struct early early[EARLY];
    unsigned early_next;
    struct waited *of_streams; /* by stream number */
    size_t of_stream_count, of_stream_capacity;
    struct waited of_all;
    uint64_t open_prefetches;
    bool keeps_running;
    uint64_t may_look_at;        /* so many ops far ahead, yet */
    struct calling {             /* the host function that is looked at */
        uint64_t function, next; /* its number + 1; the op to be looked at next */
        uint32_t stream, event;  /* its stream; the event recorded behind it */
    } calling;
    struct running {
        uint64_t last;                 /* the kernel that began last, number + 1; 0 = none */
        uint64_t numbers[MOST_BESIDE]; /* of kernels that had not ended then, as they began */
        unsigned count;
    } running[XFW_GPUS];
    struct xfw_late_ops late;
};

struct xfw_ops_queue *xfw_ops_queue_new(const struct xfw_sink *sink,
                                        struct xfw_records_costs *costs)
{
    struct xfw_ops_queue *queue = xfa_alloc(sizeof *queue);
    queue->sink = *sink;
    queue->costs = costs;
    queue->room = 256;
    queue->ring = xfa_alloc(queue->room * sizeof *queue->ring);
    queue->places = xfa_alloc(PLACES * sizeof *queue->places);
    return queue;
}

static void forget_process(struct xfw_ops_queue *queue)
{
    if (!queue->recorded)
        return;
    xfw_recorded_free(queue->recorded);
    queue->recorded = NULL;
    free(queue->of_streams);
    queue->of_streams = NULL;
    queue->of_stream_count = queue->of_stream_capacity = 0;
}

void xfw_ops_queue_free(struct xfw_ops_queue *queue)
{
    if (!queue)
        return;
    forget_process(queue);
    free(queue->ring);
    free(queue->places);
    free(queue);
}

void xfw_ops_queue_begin(struct xfw_ops_queue *queue, uint64_t begin_ns)
{
    forget_process(queue);
    queue->recorded = xfw_recorded_new();
    queue->begin_ns = begin_ns;
    queue->now_ns = 0;
    queue->head = queue->tail = 0;
    memset(queue->places, 0, PLACES * sizeof *queue->places);
    memset(queue->early, 0, sizeof queue->early);
    queue->of_all = (struct waited){0};
    queue->open_prefetches = 0;
    queue->keeps_running = false;
    queue->calling = (struct calling){0};
    memset(queue->running, 0, sizeof queue->running);
    memset(&queue->late, 0, sizeof queue->late);
}

double xfw_ops_queue_time(const struct xfw_ops_queue *queue, uint64_t ns)
{
    return (double)(int64_t)(ns - queue->begin_ns);
}

double xfw_ops_queue_now(const struct xfw_ops_queue *queue)
{
    return xfw_ops_queue_time(queue, queue->now_ns);
}

void xfw_ops_queue_at(struct xfw_ops_queue *queue, uint64_t now_ns)
{
    queue->now_ns = now_ns;
}

static struct xfw_pending *at(const struct xfw_ops_queue *queue, uint64_t number)
{
    return &queue->ring[number & (queue->room - 1)];
}

/* ---- what the host has waited for ------------------------------------------------------------ */

static struct waited *waited_of(struct xfw_ops_queue *queue, uint32_t stream)
{
    queue->of_streams = xfa_grown(queue->of_streams, &queue->of_stream_capacity,
                                  &queue->of_stream_count, stream, sizeof *queue->of_streams);
    return &queue->of_streams[stream];
}

void xfw_ops_queue_wait(struct xfw_ops_queue *queue, const struct xfw_op *op, uint64_t end_ns)
{
    struct waited waited = {queue->tail, end_ns};
    if (op->awaits == XFW_AWAITS_DEVICE)
        queue->of_all = waited;
    else if (op->awaits == XFW_AWAITS_STREAM && op->stream != XFW_NONE)
        *waited_of(queue, op->stream) = waited;
}

static bool is_done(struct xfw_ops_queue *queue, const struct xfw_pending *pending)
{
    const struct waited *stream =
        pending->op.stream == XFW_NONE ? &queue->of_all : waited_of(queue, pending->op.stream);
    uint64_t number = pending->op.number;
    return (number < stream->number && queue->now_ns > stream->ns) ||
           (number < queue->of_all.number && queue->now_ns > queue->of_all.ns);
}

/* ---- in and out ------------------------------------------------------------------------------ */

/* It still runs: memory may yet move on its demand. */
static bool runs(const struct xfw_ops_queue *queue, const struct xfw_op *op)
{
    return queue->keeps_running && op->engine == XFW_COMPUTE && !isnan(op->device_end_ns) &&
           xfw_ops_queue_now(queue) < op->device_end_ns;
}

/* It has not begun: work that is submitted before it begins may run first. */
static bool is_to_begin(const struct xfw_ops_queue *queue, const struct xfw_op *op)
{
    return op->exclusive && xfw_ops_queue_now(queue) < op->device_start_ns;
}

/* struct xfw_ahead: of the ops behind the head. */
static double busy_until(void *self, const struct xfw_op *op)
{
    struct xfw_ops_queue *queue = self;
    uint64_t ahead = queue->may_look_at < FAR_AHEAD ? MOST_AHEAD : FAR_AHEAD;
    uint64_t most = queue->head + ahead < queue->tail ? queue->head + ahead : queue->tail;
    double until = 0;
    for (uint64_t i = queue->head; i < most && until < op->device_start_ns; i++) {
        queue->may_look_at -= queue->may_look_at > 0;
        const struct xfw_op *later = &at(queue, i)->op;
        if (later->start_ns >= op->device_start_ns)
            break;
        if (later->exclusive && later->gpu == op->gpu &&
            xfw_op_engine(later) == xfw_op_engine(op) &&
            later->device_end_ns <= op->device_start_ns + XFW_ROUNDING_NS)
            until = xfw_max(until, later->device_end_ns);
    }
    return until;
}

/* ---- what waits for host functions ----------------------------------------------------------- */

static bool is_of_gpu(const struct xfw_op *op, int gpu)
{
    return op->gpu == gpu || op->gpu < 0 || gpu < 0;
}

/* Whether it waits for the other one, of another stream, to end: they share an engine, or the
 * default stream's rules are between them. */
static bool may_wait_for(const struct xfw_op *op, const struct xfw_op *other)
{
    return other->gpu == op->gpu && other->stream != op->stream &&
           (xfw_op_engine(other) == xfw_op_engine(op) || other->stream_kind == XFW_LEGACY ||
            op->stream_kind == XFW_LEGACY);
}

/* Other work of the GPU was under way since then, and ended as it began: it may have waited for
 * that. */
static bool began_behind_others(const struct xfw_ops_queue *queue, const struct xfw_op *op,
                                double since)
{
    uint64_t most = queue->head + MOST_AHEAD < queue->tail ? queue->head + MOST_AHEAD : queue->tail;
    double idle = op->device_start_ns - since;
    bool ended = false;
    for (uint64_t i = queue->head; i < most; i++) {
        const struct xfw_op *other = &at(queue, i)->op;
        if (!may_wait_for(op, other) || isnan(other->device_end_ns))
            continue;
        ended = ended || fabs(other->device_end_ns - op->device_start_ns) < XFW_QUEUED_NS;
        idle -= xfw_max(0, xfw_min(other->device_end_ns, op->device_start_ns) -
                               xfw_max(other->device_start_ns, since));
    }
    return ended && idle < XFW_CALLED_NS;
}

/* When its wait for the device's work was over: to free memory takes some time behind that. */
static double waited_until(const struct xfw_op *op)
{
    return op->end_ns - (op->kind == XFT_EVENT_FREE ? op->reach_ns : 0);
}

/* The wait of the host for the device ended behind work of other streams, or soon after. */
static bool ended_behind_others(const struct xfw_ops_queue *queue, const struct xfw_op *op)
{
    for (uint64_t i = queue->head; i < queue->tail && at(queue, i)->op.number < op->number; i++) {
        const struct xfw_op *other = &at(queue, i)->op;
        if (is_of_gpu(other, op->gpu) && other->device_end_ns > waited_until(op) - XFW_CALLED_NS)
            return true;
    }
    return false;
}

/* It tells when the function before it in its stream, to which that had come by then, was done. */
static bool waited_for_function(const struct xfw_ops_queue *queue, const struct xfw_op *op,
                                double since)
{
    if (!xfw_op_is_work(op))
        return waited_until(op) - op->start_ns > XFW_CALLED_NS &&
               (op->awaits != XFW_AWAITS_DEVICE || !ended_behind_others(queue, op));
    return op->device_start_ns - op->end_ns > XFW_CALLED_NS &&
           !began_behind_others(queue, op, since);
}

/* The stream of the host function is done with it behind this wait of the host. */
static bool waits_for(const struct xfw_op *op, const struct xfw_op *function,
                      const struct calling *calling)
{
    bool frees = op->kind == XFT_EVENT_FREE && op->reach_ns > 0;
    return (op->kind == XFT_EVENT_SYNC || frees) &&
           ((op->awaits == XFW_AWAITS_DEVICE && is_of_gpu(op, function->gpu)) ||
            (op->awaits == XFW_AWAITS_STREAM && op->stream == calling->stream) ||
            (op->awaits == XFW_AWAITS_EVENT && op->event != XFW_NONE &&
             op->event == calling->event));
}

/* The first op behind the host function, or kernel, that it holds up; NULL: there is none, or a
 * wait for an event is before it. `open`: it is not known yet. */
static const struct xfw_op *behind(struct xfw_ops_queue *queue, const struct xfw_op *function,
                                   bool *open)
{
    struct calling *calling = &queue->calling;
    if (calling->function != function->number + 1)
        *calling = (struct calling){function->number + 1, function->number + 1, function->stream,
                                    XFW_NONE};
    *open = false;
    for (; calling->next < queue->tail; calling->next++) {
        const struct xfw_pending *pending = at(queue, calling->next);
        const struct xfw_op *op = &pending->op;
        bool same = op->stream == function->stream;
        if (calling->next > function->number + MOST_AHEAD || (same && op->what == XFW_WAIT))
            return NULL;
        if (same && op->what == XFW_RECORD && calling->event == XFW_NONE)
            calling->event = op->event;
        bool work = same && xfw_op_is_work(op) && op->what != XFW_HOST_FUNCTION;
        *open = work && pending->wants && !is_done(queue, pending);
        if (work || waits_for(op, function, calling))
            return op;
    }
    *open = true;
    return NULL;
}

/* Recorded work that began so long after its own call that what is before it kept it: by most of
 * the time since that could begin. What CUPTI takes to begin, and the first copy beside it, lie
 * there, too. */
static bool waited_for_kernel(const struct xfw_ops_queue *queue, const struct xfw_op *op,
                              double since)
{
    double called = xfw_max(op->start_ns, since), waited = op->device_start_ns - called;
    return xfw_op_is_work(op) && waited > xfw_max(XFW_CALLED_AFTER_NS, called - since) &&
           !began_behind_others(queue, op, since);
}

/* struct xfw_ahead. */
static const struct xfw_op *waiter(void *self, const struct xfw_op *op, double *until, double *done)
{
    bool open;
    const struct xfw_op *next = behind(self, op, &open);
    if (next && !xfw_op_is_work(next))
        *done = waited_until(next);
    bool kernel = op->what == XFW_KERNEL;
    if (!next || !(kernel ? waited_for_kernel : waited_for_function)(self, next, *until))
        return NULL;
    *until = xfw_op_is_work(next) ? next->device_start_ns : *done;
    return next;
}

static bool awaits_waiter(struct xfw_ops_queue *queue, const struct xfw_pending *pending)
{
    const struct xfw_op *op = &pending->op;
    bool open = false, before_records = op->what == XFW_KERNEL && !pending->wants;
    if ((op->what == XFW_HOST_FUNCTION || before_records) && op->stream != XFW_NONE)
        behind(queue, op, &open);
    return open;
}

/* The op's end is in doubt, and work behind it may yet be seen to have begun. */
static bool is_doubted(const struct xfw_ops_queue *queue, const struct xfw_op *op)
{
    return xfw_pending_is_doubtful(op) && xfw_ops_queue_now(queue) < op->device_end_ns;
}

static void doubt_end(const struct xfw_ops_queue *queue, struct xfw_op *op)
{
    for (uint64_t i = queue->head; i < queue->tail && xfw_pending_is_doubtful(op); i++)
        xfw_pending_end_before(op, &at(queue, i)->op);
}

/* All of it is known, and it comes next. */
static void pass_on(struct xfw_ops_queue *queue, struct xfw_pending *pending)
{
    const struct xfw_ahead ahead = {busy_until, waiter, queue};
    xfw_records_costs_add_parts(queue->costs, &pending->op, &pending->parts);
    xfw_pending_find_submitted(pending);
    doubt_end(queue, &pending->op);
    xfw_recorded_resolve(queue->recorded, &pending->op, pending->blocks, &ahead);
    xfw_pending_end_moves(pending, queue->costs);
    queue->sink.op(queue->sink.self, &pending->op);
}

/* Another thread's call that began within its own has come first: that is so where several threads
 * use the legacy default stream. */
static bool is_overtaken(const struct xfw_ops_queue *queue, const struct xfw_op *op)
{
    if (!queue->late.several || !queue->late.legacy)
        return false;
    uint64_t most = queue->head + MOST_AHEAD < queue->tail ? queue->head + MOST_AHEAD : queue->tail;
    for (uint64_t i = queue->head; i < most && at(queue, i)->op.start_ns < op->end_ns; i++)
        if (xfw_late_ops_overtakes(&at(queue, i)->op, op))
            return true;
    return false;
}

static void pass_on_late(struct xfw_ops_queue *queue, double by_ns)
{
    struct xfw_pending late;
    while (xfw_late_ops_next(&queue->late, by_ns, &late))
        pass_on(queue, &late);
}

void xfw_ops_queue_release(struct xfw_ops_queue *queue, bool last)
{
    while (queue->head < queue->tail) {
        struct xfw_pending *pending = at(queue, queue->head);
        bool full = queue->tail - queue->head >= XFW_WINDOW;
        bool waits = (pending->wants || pending->open) && !is_done(queue, pending);
        bool early = runs(queue, &pending->op) || is_to_begin(queue, &pending->op) ||
                     awaits_waiter(queue, pending) || is_doubted(queue, &pending->op);
        if ((waits || early) && !full && !last)
            return;
        queue->open_prefetches -= pending->op.what == XFW_PREFETCH;
        queue->head++;
        pass_on_late(queue, pending->op.start_ns);
        bool may_be_late = !queue->keeps_running && is_overtaken(queue, &pending->op);
        if (!may_be_late || !xfw_late_ops_keep(&queue->late, pending))
            pass_on(queue, pending);
    }
    if (last)
        pass_on_late(queue, INFINITY);
}

static void grow(struct xfw_ops_queue *queue)
{
    size_t room = queue->room * 2;
    struct xfw_pending *ring = xfa_alloc(room * sizeof *ring);
    for (uint64_t i = queue->head; i < queue->tail; i++)
        ring[i & (room - 1)] = *at(queue, i);
    free(queue->ring);
    queue->ring = ring;
    queue->room = room;
}

struct xfw_pending *xfw_ops_queue_push(struct xfw_ops_queue *queue, const struct xfw_op *op)
{
    if (queue->tail - queue->head >= XFW_WINDOW)
        xfw_ops_queue_release(queue, false);
    if (queue->tail - queue->head == queue->room)
        grow(queue);
    struct xfw_pending *pending = at(queue, queue->tail);
    pending->op = *op;
    memset((char *)pending + sizeof pending->op, 0, sizeof *pending - sizeof pending->op);
    pending->op.number = queue->tail++;
    queue->may_look_at += AHEAD_OF_ALL;
    xfw_late_ops_note(&queue->late, op);
    return pending;
}

/* ---- records --------------------------------------------------------------------------------- */

/* Kernels come as they begin: those that have ended by then are forgotten. */
static void begin_kernel(struct xfw_ops_queue *queue, const struct xfw_op *op)
{
    struct running *running = &queue->running[xfw_place_of_gpu(op->gpu)];
    unsigned kept = 0;
    for (unsigned i = 0; i < running->count; i++) {
        uint64_t number = running->numbers[i];
        if (number >= queue->head && number != op->number &&
            at(queue, number)->op.device_end_ns > op->device_start_ns)
            running->numbers[kept++] = number;
    }
    if (kept == MOST_BESIDE)
        memmove(running->numbers, running->numbers + 1, --kept * sizeof *running->numbers);
    running->numbers[kept++] = op->number;
    running->count = kept;
    running->last = op->number + 1;
}

static void add_device(struct xfw_ops_queue *queue, struct xfw_pending *pending,
                       const struct xfa_event *record)
{
    struct xfw_op *op = &pending->op;
    double start = xfw_ops_queue_time(queue, record->start_ns);
    double end = xfw_ops_queue_time(queue, record->end_ns);
    bool first = isnan(op->device_start_ns);
    if (op->what == XFW_GRAPH && !first && start >= op->device_end_ns)
        pending->parts.device_ns +=
            xfw_records_of_part(queue->costs, op->gpu, end - start, start - op->device_end_ns);
    op->device_start_ns = first ? start : xfw_min(op->device_start_ns, start);
    op->device_end_ns = first ? end : xfw_max(op->device_end_ns, end);
    pending->wants = false;
    pending->parts.records += op->what == XFW_GRAPH;
    pending->parts.kernels += op->what == XFW_GRAPH && record->kind == XFT_EVENT_KERNEL;
    pending->ran_in_call_ns += xfw_max(0, xfw_min(end, op->end_ns) - start);
    if (record->kind == XFT_EVENT_KERNEL)
        begin_kernel(queue, op);
    if (record->kind == XFT_EVENT_KERNEL && op->what == XFW_KERNEL) {
        op->threads = record->work.threads;
        op->name = (uint32_t)record->work.name;
    }
}

static void take_early(struct xfw_ops_queue *queue, struct xfw_pending *pending)
{
    for (unsigned i = 0; i < EARLY; i++) {
        struct early *early = &queue->early[i];
        if (early->there && early->event.correlation == pending->correlation) {
            early->there = false;
            add_device(queue, pending, &early->event);
            return;
        }
    }
}

void xfw_ops_queue_expect(struct xfw_ops_queue *queue, struct xfw_pending *pending,
                          uint32_t correlation, bool open)
{
    if (correlation == 0)
        return;
    uint64_t *place = &queue->places[correlation % PLACES];
    pending->correlation = correlation;
    pending->wants = true;
    pending->open = open;
    pending->place_next = *place;
    *place = pending->op.number + 1;
    take_early(queue, pending);
}

void xfw_ops_queue_expect_moves(struct xfw_ops_queue *queue, struct xfw_pending *pending,
                                uint64_t first, uint64_t bytes)
{
    pending->open = true;
    pending->first = first;
    pending->bytes = bytes;
    queue->open_prefetches++;
}

static struct xfw_pending *wanting(struct xfw_ops_queue *queue, uint32_t correlation)
{
    uint64_t next = queue->places[correlation % PLACES];
    for (unsigned i = 0; i < MOST_LOOKED_AT && next > queue->head; i++) {
        struct xfw_pending *pending = at(queue, next - 1);
        if (pending->correlation == correlation && (pending->wants || pending->open))
            return pending;
        next = pending->place_next;
    }
    return NULL;
}

void xfw_ops_queue_record(struct xfw_ops_queue *queue, const struct xfa_event *record)
{
    if (record->correlation == 0 || record->end_ns < record->start_ns)
        return;
    struct xfw_pending *pending = wanting(queue, record->correlation);
    if (pending)
        add_device(queue, pending, record);
    else
        queue->early[queue->early_next++ % EARLY] = (struct early){*record, true};
}

void xfw_ops_queue_record_part(struct xfw_ops_queue *queue, uint32_t correlation,
                               const struct xfw_graph_copy *copy)
{
    struct xfw_pending *pending = wanting(queue, correlation);
    if (!pending)
        return;
    struct xfw_op *op = &pending->op;
    double ns = (double)(copy->record.end_ns - copy->record.start_ns);
    add_device(queue, pending, &copy->record);
    if (copy->engine == XFW_TO_DEVICE) {
        op->lead_ns = op->up_ns > 0 ? op->lead_ns : xfw_min(copy->lead_ns, ns);
        op->up_ns += ns;
        op->up_bytes = xfa_add(op->up_bytes, copy->locked);
        op->src = op->src || !copy->locked ? op->src : copy->host;
        op->paced_ns += copy->paced_ns;
    } else if (copy->engine == XFW_TO_HOST) {
        op->down_ns += ns;
        op->down_bytes = xfa_add(op->down_bytes, copy->locked);
        op->dst = op->dst || !copy->locked ? op->dst : copy->host;
    }
}

void xfw_ops_queue_record_move(struct xfw_ops_queue *queue, const struct xfa_event *record)
{
    if (queue->open_prefetches == 0)
        return;
    for (uint64_t i = queue->head; i < queue->tail; i++) {
        struct xfw_pending *pending = at(queue, i);
        bool to_host = pending->op.engine == XFW_TO_HOST;
        if (pending->open && pending->op.what == XFW_PREFETCH &&
            to_host == (record->direction == XFT_DIR_D2H) &&
            record->managed.address - pending->first < pending->bytes) {
            add_device(queue, pending, record);
            pending->moved = xfa_add(pending->moved, record->bytes);
            pending->open = pending->moved < pending->bytes;
            return;
        }
    }
}

/* ---- what runs ------------------------------------------------------------------------------- */

void xfw_ops_queue_keep_running(struct xfw_ops_queue *queue)
{
    queue->keeps_running = true;
}

struct xfw_pending *xfw_ops_queue_running(struct xfw_ops_queue *queue, int gpu, double ns,
                                          xfw_is_op_fn *is, const void *self)
{
    const struct running *running = &queue->running[xfw_place_of_gpu(gpu)];
    for (unsigned i = running->count; i-- > 0;) {
        if (running->numbers[i] < queue->head)
            continue;
        struct xfw_pending *pending = at(queue, running->numbers[i]);
        const struct xfw_op *op = &pending->op;
        if (op->what == XFW_KERNEL && op->device_start_ns <= ns && ns <= op->device_end_ns &&
            is(self, op))
            return pending;
    }
    return running->last > queue->head ? at(queue, running->last - 1) : NULL;
}
