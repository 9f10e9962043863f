#include "analyzer/whatif/schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/ends.h"
#include "xferscope/trace.h"

#define INTERVALS 64 /* of an engine that are remembered: where work that comes later may fit */
#define ROOM ((size_t)2 * INTERVALS) /* for them: they move to its front once in a while */

#define HARDLY 0.05
#define CALLED 64 /* functions of the host that are remembered: streams called them last */

struct interval {
    double start, end;
    double ns, times; /* of a copy that the other direction slows: alone, and how much; else 0 */
    uint32_t stream;
};

struct engine {
    struct interval room[ROOM];
    struct interval *busy; /* in it, by start */
    unsigned count;
    double forgotten; /* the latest end of those that are not remembered: nothing fits before */
};

struct gpu {
    struct engine engines[XFW_ENGINES];
};

struct thread {
    bool begun;
    double now, recorded; /* where it is; where it was then */
    double call;          /* when its last call began */
};

struct range {
    unsigned depth;
    double begun, sum;
};

struct xfw_schedule {
    struct gpu *gpus[XFW_GPUS];
    struct xfw_ends ends;
    struct thread *threads;
    size_t thread_count, thread_capacity;
    struct range ranges[XFW_RANGES];
    uint32_t last_thread; /* whose call ended last, as recorded */
    double last_call, last_start, last_end;
    struct called {
        uint64_t number; /* of the op, + 1 */
        double at;
    } called[CALLED]; /* a ring */
    unsigned called_next;
    bool worked;
    double first_work, last_work; /* of calls, as schedule.h's span has it */
};

struct xfw_schedule *xfw_schedule_new(void)
{
    struct xfw_schedule *schedule = xfa_alloc(sizeof *schedule);
    schedule->last_thread = XFW_NONE;
    schedule->last_start = schedule->last_end = NAN;
    return schedule;
}

void xfw_schedule_free(struct xfw_schedule *schedule)
{
    if (!schedule)
        return;
    for (size_t i = 0; i < XFW_GPUS; i++)
        free(schedule->gpus[i]);
    xfw_ends_free(&schedule->ends);
    free(schedule->threads);
    free(schedule);
}

/* ---- its parts, made as they are met --------------------------------------------------------- */

static struct gpu *gpu_at(struct xfw_schedule *schedule, int number)
{
    size_t i = xfw_place_of_gpu(number);
    if (!schedule->gpus[i]) {
        struct gpu *gpu = schedule->gpus[i] = xfa_alloc(sizeof *gpu);
        for (size_t e = 0; e < XFW_ENGINES; e++)
            gpu->engines[e].busy = gpu->engines[e].room;
    }
    return schedule->gpus[i];
}

/* A thread is made by another: where that one is, measured by what was recorded, is where the new
 * one begins. */
static struct thread *thread_of(struct xfw_schedule *schedule, const struct xfw_op *op)
{
    if (op->thread >= schedule->thread_count)
        schedule->threads =
            xfa_grown(schedule->threads, &schedule->thread_capacity, &schedule->thread_count,
                      op->thread, sizeof *schedule->threads);
    struct thread *thread = &schedule->threads[op->thread];
    if (!thread->begun) {
        const struct thread *first = &schedule->threads[0];
        double ahead = first->begun ? first->recorded - first->now : 0;
        thread->begun = true;
        thread->now = op->handed_by == XFW_NONE ? xfw_max(0, op->start_ns - op->gap_ns - ahead) : 0;
    }
    return thread;
}

/* ---- engines --------------------------------------------------------------------------------- */

/* The first of its work that ends later: work is in order. */
static unsigned busy_after(const struct engine *engine, double when)
{
    unsigned at = engine->count;
    while (at > 0 && engine->busy[at - 1].end > when)
        at--;
    return at;
}

/* The first time from `ready` on when the engine is idle for so long, or hardly shorter: what has
 * been placed behind would be pushed back by no more than that. `space`: behind other work. */
static double idle_from(const struct engine *engine, double ready, double ns, double space)
{
    double start = xfw_max(ready, engine->forgotten);
    unsigned at = busy_after(engine, start - space);
    for (; at < engine->count && start + ns * (1 - HARDLY) > engine->busy[at].start; at++)
        start = xfw_max(start, engine->busy[at].end + space);
    return start;
}

/* NULL: so long ago that it is not remembered. */
static struct interval *take(struct engine *engine, struct interval work)
{
    unsigned at = engine->count;
    while (at > 0 && engine->busy[at - 1].start > work.start)
        at--;
    if (engine->count == INTERVALS) {
        engine->forgotten = xfw_max(engine->forgotten, (at == 0 ? work : engine->busy[0]).end);
        if (at == 0)
            return NULL;
        engine->busy++;
        engine->count--;
        at--;
    }
    if (engine->busy + engine->count == engine->room + ROOM) {
        memcpy(engine->room, engine->busy, engine->count * sizeof *engine->busy);
        engine->busy = engine->room;
    }
    memmove(engine->busy + at + 1, engine->busy + at, (engine->count - at) * sizeof *engine->busy);
    engine->busy[at] = work;
    engine->count++;
    return &engine->busy[at];
}

/* How long it takes from its start on, as it is so many times slower while the other engine works.
 */
static double slowed(const struct engine *other, const struct interval *work)
{
    double now = work->start, left = work->ns;
    for (unsigned i = busy_after(other, now); i < other->count && left > 0; i++) {
        const struct interval *busy = &other->busy[i];
        double before = xfw_min(left, xfw_max(0, busy->start - now));
        now += before;
        left -= before;
        double both =
            xfw_min(left * work->times, xfw_max(0, busy->end - xfw_max(now, busy->start)));
        now += both;
        left -= both / work->times;
    }
    return now + left - work->start;
}

/* A copy ends later for what the other engine does, as far as nothing has been placed behind it. */
static void slow(const struct engine *engine, const struct engine *other, struct interval *copy)
{
    const struct interval *next = copy + 1;
    double end = copy->start + slowed(other, copy);
    if (next < engine->busy + engine->count)
        end = xfw_min(end, next->start);
    copy->end = xfw_max(copy->end, end);
}

/* Those that were placed before this one, and which it slows. */
static void slow_others(struct xfw_schedule *schedule, int gpu, struct engine *other,
                        const struct engine *engine, const struct interval *work)
{
    for (unsigned i = busy_after(other, work->start); i < other->count; i++) {
        struct interval *copy = &other->busy[i];
        double before = copy->end;
        if (copy->start >= work->end)
            break;
        if (copy->times <= 1)
            continue;
        slow(other, engine, copy);
        xfw_ends_put_off(&schedule->ends, gpu, copy->stream, before, copy->end);
    }
}

/* Finds the engine's time for a piece of work. Copies in both directions slow each other: what one
 * ends later makes the other end later still, a little. */
static struct interval place(struct xfw_schedule *schedule, const struct xfw_op *op, double ready)
{
    const int rounds = 2;
    struct gpu *gpu = gpu_at(schedule, op->gpu);
    enum xfw_engine which = xfw_op_engine(op);
    struct engine *engine = &gpu->engines[which];
    struct engine *other = &gpu->engines[which == XFW_TO_DEVICE ? XFW_TO_HOST : XFW_TO_DEVICE];
    struct interval work = {.ns = op->duration_ns, .times = op->both_ways, .stream = op->stream};
    double ns = op->duration_ns, space = xfw_min(op->space_ns, XFW_QUEUED_NS);
    work.start = idle_from(engine, ready, ns, space);
    if (work.times > 1) {
        ns = slowed(other, &work);
        work.start = idle_from(engine, ready, ns, space);
    }
    work.end = work.start + ns;
    struct interval *placed = take(engine, work);
    for (int i = 0; i < rounds && placed && placed->times > 1; i++) {
        slow_others(schedule, op->gpu, other, engine, placed);
        slow(engine, other, placed);
    }
    return placed ? *placed : work;
}

/* ---- device work ----------------------------------------------------------------------------- */

static void work(struct xfw_schedule *schedule, const struct xfw_op *op, double call)
{
    double ready = op->overtook ? 0 : xfw_ends_ready(&schedule->ends, op);
    double start = xfw_max(call + op->latency_ns, ready + op->space_ns);
    if (op->awaits == XFW_AWAITS_ITSELF || op->awaits == XFW_AWAITS_ITS_START)
        start = xfw_max(call, ready) + op->latency_ns;
    struct interval work = {.start = start, .end = start + op->duration_ns};
    if (op->exclusive && op->engine != XFW_NO_ENGINE && op->duration_ns > 0)
        work = place(schedule, op, start);
    schedule->last_start = work.start;
    schedule->last_end = work.end;
    xfw_ends_note(&schedule->ends, op, schedule->last_end);
}

/* ---- the host -------------------------------------------------------------------------------- */

/* What the call waited for is done; 0 = it waited for nothing. */
static double awaited(struct xfw_schedule *schedule, const struct xfw_op *op)
{
    switch ((enum xfw_awaits)op->awaits) {
    case XFW_AWAITS_ITSELF:
        return schedule->last_end + op->wake_ns;
    case XFW_AWAITS_ITS_START:
        return schedule->last_start + op->wake_ns;
    case XFW_AWAITS_STREAM:
        return op->stream == XFW_NONE ? 0 : xfw_ends_ready(&schedule->ends, op) + op->wake_ns;
    case XFW_AWAITS_EVENT:
        return op->event == XFW_NONE ? 0
                                     : *xfw_ends_event(&schedule->ends, op->event) + op->wake_ns;
    case XFW_AWAITS_DEVICE:
        return xfw_ends_gpu(&schedule->ends, op->gpu) + op->wake_ns;
    case XFW_AWAITS_NOTHING:
        break;
    }
    return 0;
}

static void enter_or_leave(struct xfw_schedule *schedule, const struct xfw_op *op, double now)
{
    if (op->range >= XFW_RANGES)
        return;
    struct range *range = &schedule->ranges[op->range];
    if (op->begins && range->depth++ == 0)
        range->begun = now;
    else if (!op->begins && range->depth > 0 && --range->depth == 0)
        range->sum += now - range->begun;
}

static void streams_and_events(struct xfw_schedule *schedule, const struct xfw_op *op, double call)
{
    if (op->event == XFW_NONE || op->stream == XFW_NONE)
        return;
    if (op->what == XFW_RECORD)
        *xfw_ends_event(&schedule->ends, op->event) =
            xfw_max(xfw_ends_ready(&schedule->ends, op), call);
    else if (op->what == XFW_WAIT)
        xfw_ends_wait(&schedule->ends, op);
}

/* When a stream called that function of the host; NULL: not known any more. */
static const struct called *called(const struct xfw_schedule *schedule, uint64_t number)
{
    for (unsigned i = 0; i < CALLED && number; i++)
        if (schedule->called[i].number == number)
            return &schedule->called[i];
    return NULL;
}

static double begins(const struct xfw_schedule *schedule, const struct thread *thread,
                     const struct xfw_op *op)
{
    const struct called *back = called(schedule, op->called_back);
    const struct thread *by = NULL;
    if (back)
        return xfw_max(thread->now, back->at + op->handed_ns);
    if (op->handed_by < schedule->thread_count)
        by = &schedule->threads[op->handed_by];
    if (by && by->begun)
        return xfw_max(thread->now, (op->handed_within ? by->call : by->now) + op->handed_ns);
    return thread->now + op->gap_ns;
}

static void note_span(struct xfw_schedule *schedule, const struct xfw_op *op, double call,
                      double back)
{
    bool work = xfw_op_is_work(op);
    if (work && !schedule->worked)
        schedule->first_work = schedule->last_work = call;
    schedule->worked = schedule->worked || work;
    if (work) /* what another thread began later may come first without what is taken out */
        schedule->first_work = xfw_min(schedule->first_work, call);
    if (work || op->kind == XFT_EVENT_SYNC || op->kind == XFT_EVENT_QUERY)
        schedule->last_work = xfw_max(schedule->last_work, back);
}

void xfw_schedule_op(struct xfw_schedule *schedule, const struct xfw_op *op)
{
    struct thread *thread = thread_of(schedule, op);
    double call = begins(schedule, thread, op);
    schedule->last_start = schedule->last_end = NAN;
    if (xfw_op_is_work(op) && op->stream != XFW_NONE) {
        call = xfw_ends_taken(&schedule->ends, op->stream, call);
        work(schedule, op, call);
        if (op->what == XFW_HOST_FUNCTION)
            schedule->called[schedule->called_next++ % CALLED] =
                (struct called){op->number + 1, schedule->last_end};
    } else if (op->what == XFW_RECORD || op->what == XFW_WAIT) {
        streams_and_events(schedule, op, call);
    } else if (op->what == XFW_QUERY) { /* the thread's own time was asking, too */
        double done = awaited(schedule, op);
        call = done > 0 ? xfw_max(thread->now, done) : call;
    } else if (op->what == XFW_RANGE) {
        enter_or_leave(schedule, op, call);
    }
    schedule->last_call = call;
    double back = op->what == XFW_QUERY ? 0 : awaited(schedule, op);
    thread->now = xfw_max(call + op->own_ns, back);
    note_span(schedule, op, call, thread->now);
    if (op->made_up)
        return;
    thread->recorded = op->end_ns;
    thread->call = call;
    const struct thread *last =
        schedule->last_thread == XFW_NONE ? thread : &schedule->threads[schedule->last_thread];
    if (thread->recorded >= last->recorded)
        schedule->last_thread = op->thread;
}

void xfw_schedule_stream_after(struct xfw_schedule *schedule, uint32_t stream, double ns)
{
    double *end = xfw_ends_stream(&schedule->ends, stream);
    *end = xfw_max(*end, ns);
}

/* ---- asking ---------------------------------------------------------------------------------- */

double xfw_schedule_stream_end(const struct xfw_schedule *schedule, uint32_t stream)
{
    const struct xfw_ends *ends = &schedule->ends;
    if (stream >= XFW_FIRST_SIDE_STREAM) {
        uint32_t side = stream - XFW_FIRST_SIDE_STREAM;
        return side < ends->side_count ? ends->sides[side].end : 0;
    }
    return stream < ends->stream_count ? ends->streams[stream].end : 0;
}

double xfw_schedule_thread_now(const struct xfw_schedule *schedule, uint32_t thread)
{
    return thread < schedule->thread_count ? schedule->threads[thread].now : 0;
}

double xfw_schedule_last_call(const struct xfw_schedule *schedule)
{
    return schedule->last_call;
}

double xfw_schedule_last_start(const struct xfw_schedule *schedule)
{
    return schedule->last_start;
}

double xfw_schedule_last_end(const struct xfw_schedule *schedule)
{
    return schedule->last_end;
}

double xfw_schedule_now(const struct xfw_schedule *schedule)
{
    double now = 0;
    for (size_t i = 0; i < schedule->thread_count; i++)
        now = xfw_max(now, schedule->threads[i].now);
    return now;
}

double xfw_schedule_total(const struct xfw_schedule *schedule, double end_ns)
{
    double total = xfw_schedule_now(schedule);
    if (schedule->last_thread == XFW_NONE)
        return end_ns;
    const struct thread *last = &schedule->threads[schedule->last_thread];
    return xfw_max(total, last->now + xfw_max(0, end_ns - last->recorded));
}

double xfw_schedule_span(const struct xfw_schedule *schedule)
{
    return schedule->worked ? schedule->last_work - schedule->first_work : 0;
}

double xfw_schedule_range(const struct xfw_schedule *schedule, uint32_t range)
{
    if (range >= XFW_RANGES)
        return 0;
    const struct range *asked = &schedule->ranges[range];
    return asked->sum + (asked->depth > 0 ? fmax(0, xfw_schedule_now(schedule) - asked->begun) : 0);
}
