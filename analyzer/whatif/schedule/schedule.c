#include "analyzer/whatif/schedule/schedule.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/schedule/contexts.h"
#include "analyzer/whatif/schedule/gpu.h"
#include "analyzer/whatif/schedule/kept_pace.h"
#include "analyzer/whatif/schedule/meetings.h"
#include "analyzer/whatif/op/polled.h"
#include "analyzer/whatif/schedule/streams.h"
#include "xferscope/trace.h"

#define MAKERS 8 /* of a thread, and of that one, so far */

struct thread {
    bool begun;
    double now, recorded; /* end of its last call: in the schedule, as recorded */
    double call;          /* start of its last call */
    bool ended;           /* that was its last one */
    uint32_t maker;       /* the thread that its first call counts from; XFW_NONE: none */
    uint32_t joined;      /* whose end it waited for the last time */
    struct xfw_kept_pace pace;
};

struct xfw_schedule {
    struct xfw_gpu *gpus[XFW_GPUS];
    struct xfw_streams streams;
    struct thread *threads;
    size_t thread_count, thread_capacity;
    struct xfw_phase_time phases[XFW_RANGES];
    uint32_t last_thread; /* whose call ended last, as recorded */
    struct xfw_last_op last;
    struct xfw_host_calls host_calls;
    struct made {
        uint64_t number;    /* of the op, + 1 */
        double call, back;  /* call: of what a change has it begin with */
        bool ahead;         /* that was played, not yet the op */
        uint32_t thread;    /* that made it */
    } made[XFW_REMEMBERED]; /* the process's last calls, by number */
    bool worked;
    double first_work, last_work; /* for xfw_schedule_worked() */
    struct xfw_contexts contexts;
    struct xfw_board *board;      /* NULL: it is played by itself */
    double begun_ns;              /* on the board's clock */
    struct xfw_meetings meetings; /* with other ranks' kernels */
    unsigned certainty;
};

struct xfw_schedule *xfw_schedule_new(void)
{
    struct xfw_schedule *schedule = xfa_alloc(sizeof *schedule);
    schedule->last_thread = XFW_NONE;
    schedule->last.start = schedule->last.end = NAN;
    schedule->certainty = XFW_LIKELY;
    return schedule;
}

void xfw_schedule_certainty(struct xfw_schedule *schedule, unsigned certainty)
{
    schedule->certainty = certainty;
}

void xfw_schedule_free(struct xfw_schedule *schedule)
{
    if (!schedule)
        return;
    for (size_t i = 0; i < XFW_GPUS; i++)
        free(schedule->gpus[i]);
    xfw_streams_free(&schedule->streams);
    free(schedule->threads);
    free(schedule->meetings.all);
    free(schedule);
}

void xfw_schedule_join(struct xfw_schedule *schedule, struct xfw_board *board, double begun_ns)
{
    schedule->board = board;
    schedule->begun_ns = begun_ns;
}

bool xfw_schedule_is_joined(const struct xfw_schedule *schedule)
{
    return schedule->board != NULL;
}

/* ---- GPUs and threads, made when first met --------------------------------------------------- */

static struct xfw_gpu *gpu_at(struct xfw_schedule *schedule, int number)
{
    size_t i = xfw_place_of_gpu(number);
    if (!schedule->gpus[i])
        schedule->gpus[i] = xfw_gpu_new();
    return schedule->gpus[i];
}

/* A thread that nothing is known to have started begins as recorded, as much earlier as the first
 * thread is ahead of its own record. */
static double starts(const struct xfw_schedule *schedule, const struct xfw_op *op)
{
    const struct thread *first = schedule->threads;
    double ahead = first && first->begun ? first->recorded - first->now : 0;
    return op->woken_by == XFW_NONE ? xfw_max(0, op->start_ns - op->gap_ns - ahead) : 0;
}

static struct thread *thread_of(struct xfw_schedule *schedule, const struct xfw_op *op)
{
    if (op->thread >= schedule->thread_count)
        schedule->threads =
            xfa_grown(schedule->threads, &schedule->thread_capacity, &schedule->thread_count,
                      op->thread, sizeof *schedule->threads);
    struct thread *thread = &schedule->threads[op->thread];
    if (!thread->begun) {
        thread->now = starts(schedule, op);
        thread->begun = true;
        thread->maker = op->woken_by;
    }
    return thread;
}

/* ---- device work ----------------------------------------------------------------------------- */

static struct xfw_interval place(struct xfw_schedule *schedule, const struct xfw_op *op,
                                 double ready, double lead)
{
    return xfw_gpu_place(gpu_at(schedule, op->gpu), &schedule->streams, op, ready, lead);
}

/* A graph's copies to the device are taken to come first, those to the host last: each as soon as
 * its engine is free. */
static void copies_of_graph(struct xfw_schedule *schedule, const struct xfw_op *op,
                            struct xfw_interval *work)
{
    struct xfw_op part = xfw_op_none();
    part.gpu = op->gpu;
    part.stream = op->stream;
    part.one_engine = op->one_engine;
    if (!(op->up_ns + op->down_ns > 0) || op->up_ns + op->down_ns > op->duration_ns)
        return;
    if (op->up_ns > 0) {
        part.engine = XFW_TO_DEVICE;
        part.duration_ns = op->up_ns;
        part.lead_ns = xfw_min(op->lead_ns, op->up_ns);
        struct xfw_interval up = place(schedule, &part, work->start + part.lead_ns, part.lead_ns);
        *work =
            (struct xfw_interval){.start = up.start, .end = up.end + op->duration_ns - op->up_ns};
    }
    if (op->down_ns > 0) {
        part.engine = XFW_TO_HOST;
        part.duration_ns = op->down_ns;
        work->end = place(schedule, &part, work->end - op->down_ns, 0).end;
    }
}

/* A kernel reads over the link in what time the engine of copies to the device has left. */
static void read_over_link(struct xfw_schedule *schedule, const struct xfw_op *op,
                           struct xfw_interval *work)
{
    struct xfw_busy *engine = &gpu_at(schedule, op->gpu)->engines[XFW_TO_DEVICE];
    double at = xfw_max(work->start + op->reach_ns, engine->forgotten), left = op->link_ns;
    for (unsigned pieces = 0; left > 0 && pieces < 2 * XFW_INTERVALS; pieces++) {
        unsigned next = xfw_busy_after(engine, at);
        bool there = next < engine->count;
        if (there && engine->busy[next].start <= at) {
            at = engine->busy[next].end;
            continue;
        }
        double taken = there ? engine->busy[next].start : INFINITY, room = taken - at;
        double until = room > left ? at + left : taken;
        xfw_busy_take(engine, next,
                      (struct xfw_interval){.start = at, .end = until, .stream = op->stream});
        left = xfw_max(0, left - room);
        at = until;
    }
    work->end = at + xfw_max(0, op->duration_ns - op->reach_ns - op->link_ns);
}

/* The end of what the driver moves: its last link_ns are the link's, when that is idle. */
static double moved_over_link(struct xfw_schedule *schedule, const struct xfw_op *op,
                              double link_ns, double end)
{
    struct xfw_op part = xfw_op_none();
    part.gpu = op->gpu;
    part.stream = op->stream;
    part.engine = op->what == XFW_PREFETCH ? op->engine : XFW_TO_DEVICE;
    part.one_engine = op->one_engine;
    part.duration_ns = link_ns;
    return link_ns > 0 ? xfw_max(end, place(schedule, &part, end - link_ns, 0).end) : end;
}

static struct xfw_interval place_moved(struct xfw_schedule *schedule, const struct xfw_op *op,
                                       double ready, double lead)
{
    struct xfw_interval work = place(schedule, op, ready, lead);
    if (op->what == XFW_PREFETCH)
        work.end = moved_over_link(schedule, op, xfw_min(op->link_ns, op->duration_ns), work.end);
    return work;
}

/* A kernel that faults waits for the driver, which may be at those of another one. */
static void serve_faults(struct xfw_schedule *schedule, const struct xfw_op *op,
                         struct xfw_interval *work)
{
    struct xfw_op part = xfw_op_none();
    part.what = XFW_PREFETCH;
    part.engine = XFW_TO_DEVICE;
    part.gpu = op->gpu;
    part.stream = op->stream;
    part.duration_ns = xfw_min(op->demanded.stalled_ns, op->duration_ns);
    double end = place(schedule, &part, work->start, 0).end;
    end = moved_over_link(schedule, op, xfw_min(op->link_ns, part.duration_ns), end);
    work->end = end + op->duration_ns - part.duration_ns;
}

static void work(struct xfw_schedule *schedule, const struct xfw_op *op, double call)
{
    bool placed = op->exclusive && op->engine != XFW_NO_ENGINE && op->duration_ns > 0;
    double ready = op->overtook ? 0 : xfw_streams_ready(&schedule->streams, op);
    double lead = placed ? xfw_min(op->lead_ns, op->duration_ns) : 0;
    double before = lead > 0 && !op->overtook ? xfw_streams_before(&schedule->streams, op) : ready;
    bool blocks = op->awaits == XFW_AWAITS_ITSELF || op->awaits == XFW_AWAITS_ITS_START;
    double start = xfw_max(call + op->latency_ns, before + op->space_ns) + lead;
    if (blocks)
        start = xfw_max(call, before) + op->latency_ns + lead;
    start = xfw_max(start, ready + op->space_ns);
    bool shared = op->stream_kind == XFW_LEGACY && schedule->thread_count > 1;
    struct xfw_busy *legacy = shared ? &gpu_at(schedule, op->gpu)->legacy : NULL;
    if (op->overtook && legacy)
        start = xfw_busy_idle_from(legacy, start, op->duration_ns,
                                   blocks ? op->latency_ns : xfw_min(op->space_ns, XFW_QUEUED_NS))
                    .start;
    struct xfw_interval work = {.start = start, .end = start + op->duration_ns};
    if (placed)
        work = place_moved(schedule, op, start, lead);
    else if (op->what == XFW_GRAPH)
        copies_of_graph(schedule, op, &work);
    else if (op->demanded.stalled_ns > 0)
        serve_faults(schedule, op, &work);
    else if (op->link_ns > 0 && op->what == XFW_KERNEL)
        read_over_link(schedule, op, &work);
    if (legacy)
        xfw_busy_take(legacy, legacy->count,
                      (struct xfw_interval){.start = work.start, .end = work.end});
    schedule->last.start = work.start;
    schedule->last.end = work.end;
    if (op->meets && schedule->board)
        work.end = xfw_meetings_begin(&schedule->meetings, op, work.start, &schedule->last.end);
    xfw_streams_note(&schedule->streams, op, work.end);
}

/* No call: the thread stays where it is. */
static void meet(struct xfw_schedule *schedule, const struct xfw_op *op)
{
    schedule->last.start = schedule->last.end = NAN;
    if (schedule->board)
        xfw_meetings_take(&schedule->meetings, &schedule->streams, schedule->board,
                          schedule->begun_ns, op, xfw_schedule_thread_now(schedule, op->thread));
}

/* ---- the host -------------------------------------------------------------------------------- */

/* When the call returns after what it waits for. */
static double awaited_end(struct xfw_schedule *schedule, const struct xfw_op *op)
{
    switch ((enum xfw_awaits)op->awaits) {
    case XFW_AWAITS_ITSELF:
        return schedule->last.end + op->wake_ns;
    case XFW_AWAITS_ITS_START:
        return schedule->last.start + op->wake_ns;
    case XFW_AWAITS_STREAM:
        return op->stream == XFW_NONE ? 0 : xfw_streams_done(&schedule->streams, op) + op->wake_ns;
    case XFW_AWAITS_EVENT:
        return op->event == XFW_NONE
                   ? 0
                   : *xfw_streams_event(&schedule->streams, op->event) + op->wake_ns;
    case XFW_AWAITS_DEVICE:
        return xfw_streams_gpu(&schedule->streams, op->gpu) + op->wake_ns;
    case XFW_AWAITS_RANKS:
        return schedule->board ? xfw_board_back(schedule->board, op) - schedule->begun_ns : 0;
    case XFW_AWAITS_NOTHING:
        break;
    }
    return 0;
}

/* The same; 0: it waits for nothing, as most calls. */
static double awaited(struct xfw_schedule *schedule, const struct xfw_op *op)
{
    return op->awaits == XFW_AWAITS_NOTHING ? 0 : awaited_end(schedule, op);
}

static void streams_and_events(struct xfw_schedule *schedule, const struct xfw_op *op, double call)
{
    if (op->event == XFW_NONE || op->stream == XFW_NONE)
        return;
    if (op->what == XFW_RECORD)
        *xfw_streams_event(&schedule->streams, op->event) =
            xfw_max(xfw_streams_ready(&schedule->streams, op), call);
    else if (op->what == XFW_WAIT)
        xfw_streams_wait(&schedule->streams, op);
}

static bool has_made(const struct xfw_schedule *schedule, uint32_t thread, uint32_t other)
{
    for (unsigned i = 0; i < MAKERS && other < schedule->thread_count; i++) {
        if (!schedule->threads[other].begun)
            return false;
        other = schedule->threads[other].maker;
        if (other == thread)
            return true;
    }
    return false;
}

/* Does the op wait for this thread: one that its own has made, or that ended meanwhile, as
 * recorded? */
static bool waits_for(const struct xfw_schedule *schedule, const struct thread *maker,
                      const struct xfw_op *op, uint32_t number)
{
    const struct thread *thread = &schedule->threads[number];
    if (!thread->begun || thread->recorded > op->start_ns)
        return false;
    return (thread->ended && thread->recorded > maker->recorded) ||
           has_made(schedule, op->thread, number);
}

/* When the last of those, or of them and `by`, has made its last call. Of many threads those that
 * have called last, as far as that is remembered. */
static double joined(const struct xfw_schedule *schedule, const struct thread *maker,
                     const struct thread *by, const struct xfw_op *op)
{
    double end = by->now;
    size_t all = schedule->thread_count, left = all > maker->joined ? all - maker->joined : 0;
    bool many = left > XFW_REMEMBERED;
    uint32_t count = many ? XFW_REMEMBERED : (uint32_t)left;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = many ? schedule->made[i].thread : maker->joined + i;
        double now = schedule->threads[number].now;
        if (now > end && number >= maker->joined && waits_for(schedule, maker, op, number))
            end = now;
    }
    return end;
}

/* Of a thread that something may have woken. */
static double begins_woken(const struct xfw_schedule *schedule, const struct thread *thread,
                           const struct xfw_op *op)
{
    const struct xfw_host_call *waker =
        xfw_host_calls_find(&schedule->host_calls, op->woken_by_stream);
    const struct thread *by = NULL;
    if (op->for_job)
        return xfw_max(thread->now, waker ? waker->done + op->woken_after_ns : 0) + op->gap_ns;
    if (waker)
        return xfw_max(thread->now, waker->at + op->woken_after_ns);
    if (op->woken_by < schedule->thread_count)
        by = &schedule->threads[op->woken_by];
    const struct made *made = &schedule->made[(op->woken_by_call - 1) % XFW_REMEMBERED];
    if (xfw_schedule_knows_waker(schedule, op))
        return xfw_max(thread->now,
                       (op->within_call ? made->call : made->back) + op->woken_after_ns);
    if (by && by->begun && op->joins)
        return xfw_max(thread->now, joined(schedule, thread, by, op) + op->woken_after_ns);
    if (by && by->begun)
        return xfw_max(thread->now, (op->within_call ? by->call : by->now) + op->woken_after_ns);
    return thread->now + op->gap_ns;
}

static bool is_woken(const struct xfw_op *op)
{
    return op->for_job || op->woken_by != XFW_NONE || op->woken_by_stream || op->woken_by_call;
}

static double begins(const struct xfw_schedule *schedule, const struct thread *thread,
                     const struct xfw_op *op)
{
    if (is_woken(op))
        return begins_woken(schedule, thread, op);
    unsigned certainty = schedule->certainty;
    double usual = thread->now + op->gap_ns;
    if (op->paced > certainty)
        usual = xfw_begins_paced(&thread->pace, op, certainty, thread->now, thread->recorded);
    return xfw_is_held(op, certainty) ? xfw_begins_held(&thread->pace, op, certainty, usual)
                                      : usual;
}

/* The thread's call begins: how late it is, and so may others be. */
static void note_pace(const struct xfw_schedule *schedule, struct thread *thread,
                      const struct xfw_op *op, double call)
{
    if (op->paced > schedule->certainty && !is_woken(op))
        xfw_note_paced(&thread->pace, op, schedule->certainty, call);
    if (xfw_is_held(op, schedule->certainty))
        xfw_note_held(&thread->pace, op, schedule->certainty, call);
}

/* A message that is under way for less takes so much less of the call itself, too. */
static double message_ends(struct xfw_schedule *schedule, const struct xfw_op *op, double call,
                           double back)
{
    double less = schedule->board ? xfw_board_less(schedule->board, op) : 0;
    double own = xfw_max(0, op->own_ns - less);
    double end = xfw_max(call + (op->most_ns > 0 ? xfw_min((double)op->most_ns, own) : own), back);
    return op->hidden_ns > 0 ? xfw_max(call, end - op->hidden_ns) : end;
}

static void note_span(struct xfw_schedule *schedule, const struct xfw_op *op, double call,
                      double back)
{
    bool work = xfw_op_is_work(op);
    if (work && !schedule->worked)
        schedule->first_work = schedule->last_work = call;
    schedule->worked = schedule->worked || work;
    if (work) /* without what recording cost another thread may be first */
        schedule->first_work = xfw_min(schedule->first_work, call);
    if (xfw_op_is_of_span(op)) {
        schedule->last_work = xfw_max(schedule->last_work, back);
        xfw_contexts_work(&schedule->contexts, call, xfw_max(back, schedule->last.end));
    } else if (op->job_counts) {
        schedule->last_work = xfw_max(schedule->last_work, call - op->gap_ns);
    } else if (xfw_op_makes_context(op)) {
        xfw_contexts_make(&schedule->contexts, op, back);
    }
}

void xfw_schedule_op(struct xfw_schedule *schedule, const struct xfw_op *op)
{
    if (op->what == XFW_MEETING) {
        meet(schedule, op);
        return;
    }
    struct thread *thread = thread_of(schedule, op);
    if (op->anew)
        thread->pace = (struct xfw_kept_pace){0};
    double call = begins(schedule, thread, op);
    if (op->paced | op->held)
        note_pace(schedule, thread, op, call);
    if (op->joins)
        thread->joined = op->woken_by;
    schedule->last.start = schedule->last.end = NAN;
    if (xfw_op_is_work(op) && op->stream != XFW_NONE) {
        call = xfw_streams_room(&schedule->streams, op->stream, call);
        work(schedule, op, call);
        if (op->what == XFW_HOST_FUNCTION)
            xfw_host_calls_note(&schedule->host_calls, op, schedule->last.start);
    } else if (op->what == XFW_RECORD || op->what == XFW_WAIT) {
        streams_and_events(schedule, op, call);
    } else if (op->what == XFW_QUERY) {
        schedule->last.asked = xfw_first_query_begins(op, thread->now, call);
        call = xfw_query_begins(op, thread->now, call, awaited(schedule, op));
    } else if (op->what == XFW_RANGE && op->range < XFW_RANGES) {
        xfw_phase_time_take(&schedule->phases[op->range], op, call);
    } else if (op->what == XFW_MESSAGE && op->begins && schedule->board) {
        xfw_board_begin(schedule->board, op, schedule->begun_ns + call);
    }
    schedule->last.call = call;
    double back = op->what == XFW_QUERY ? 0 : awaited(schedule, op);
    thread->now = xfw_max(call + op->own_ns, back);
    if (op->what == XFW_MESSAGE)
        thread->now = message_ends(schedule, op, call, back);
    note_span(schedule, op, call, thread->now);
    struct made *made = &schedule->made[op->number % XFW_REMEMBERED];
    bool begun = made->ahead && made->number == op->number + 1;
    if (!op->made_up || (op->what == XFW_CALL && op->begins))
        *made = (struct made){op->number + 1, begun ? made->call : call, thread->now, op->made_up,
                              op->thread};
    if (op->made_up)
        return;
    thread->recorded = op->end_ns;
    thread->ended = op->last;
    thread->call = call;
    const struct thread *last =
        schedule->last_thread == XFW_NONE ? thread : &schedule->threads[schedule->last_thread];
    if (thread->recorded >= last->recorded)
        schedule->last_thread = op->thread;
}

void xfw_schedule_earlier(struct xfw_schedule *schedule, const struct xfw_op *op, double ready)
{
    struct xfw_interval work = place_moved(schedule, op, ready, 0);
    schedule->last.start = work.start;
    schedule->last.end = work.end;
    xfw_schedule_stream_after(schedule, op->stream, work.end);
}

void xfw_schedule_stream_after(struct xfw_schedule *schedule, uint32_t stream, double ns)
{
    struct xfw_stream_ends *of = xfw_streams_of(&schedule->streams, stream);
    of->end = xfw_max(of->end, ns);
    of->hard = xfw_max(of->hard, ns);
}

/* ---- asking ---------------------------------------------------------------------------------- */

double xfw_schedule_stream_end(const struct xfw_schedule *schedule, uint32_t stream)
{
    const struct xfw_streams *streams = &schedule->streams;
    if (stream >= XFW_FIRST_SIDE_STREAM) {
        uint32_t side = stream - XFW_FIRST_SIDE_STREAM;
        return side < streams->side_count ? streams->sides[side].end : 0;
    }
    return stream < streams->stream_count ? streams->streams[stream].end : 0;
}

double xfw_schedule_event_end(const struct xfw_schedule *schedule, uint32_t event)
{
    const struct xfw_streams *streams = &schedule->streams;
    if (event >= XFW_FIRST_SIDE_EVENT) {
        uint32_t side = event - XFW_FIRST_SIDE_EVENT;
        return side < streams->side_event_count ? streams->side_events[side] : 0;
    }
    return event < streams->event_count ? streams->events[event] : 0;
}

double xfw_schedule_job_end(const struct xfw_schedule *schedule, uint64_t number)
{
    const struct xfw_host_call *call = xfw_host_calls_find(&schedule->host_calls, number);
    return call ? call->done : 0;
}

double xfw_schedule_thread_now(const struct xfw_schedule *schedule, uint32_t thread)
{
    return thread < schedule->thread_count ? schedule->threads[thread].now : 0;
}

bool xfw_schedule_has_begun(const struct xfw_schedule *schedule, uint32_t thread)
{
    return thread < schedule->thread_count && schedule->threads[thread].begun;
}

bool xfw_schedule_knows_waker(const struct xfw_schedule *schedule, const struct xfw_op *op)
{
    const struct made *made = &schedule->made[(op->woken_by_call - 1) % XFW_REMEMBERED];
    return op->woken_by_call && made->number == op->woken_by_call;
}

double xfw_schedule_thread_call(const struct xfw_schedule *schedule, uint32_t thread)
{
    return thread < schedule->thread_count ? schedule->threads[thread].call : 0;
}

double xfw_schedule_begins(const struct xfw_schedule *schedule, const struct xfw_op *op)
{
    if (op->thread < schedule->thread_count && schedule->threads[op->thread].begun)
        return begins(schedule, &schedule->threads[op->thread], op);
    const struct thread thread = {.begun = true, .now = starts(schedule, op)};
    return begins(schedule, &thread, op);
}

const struct xfw_last_op *xfw_schedule_last(const struct xfw_schedule *schedule)
{
    return &schedule->last;
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
    if (schedule->last_thread == XFW_NONE)
        return end_ns;
    const struct thread *last = &schedule->threads[schedule->last_thread];
    double ends = last->now + xfw_max(0, end_ns - last->recorded);
    return xfw_max(xfw_schedule_now(schedule), ends);
}

bool xfw_schedule_worked(const struct xfw_schedule *schedule, double *first_ns, double *last_ns)
{
    *first_ns = schedule->first_work;
    *last_ns = schedule->last_work;
    return schedule->worked;
}

double xfw_schedule_contexts_ns(const struct xfw_schedule *schedule)
{
    return schedule->contexts.ns;
}

void xfw_schedule_span_until(struct xfw_schedule *schedule, double ns)
{
    schedule->last_work = xfw_max(schedule->last_work, ns);
}

double xfw_schedule_work_end(const struct xfw_schedule *schedule)
{
    return xfw_streams_all(&schedule->streams);
}

double xfw_schedule_range(const struct xfw_schedule *schedule, uint32_t range)
{
    double now = xfw_schedule_now(schedule);
    return range < XFW_RANGES ? xfw_phase_time_ns(&schedule->phases[range], now) : 0;
}
