#include "analyzer/whatif/ops/recorded.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/op/known_kernels.h"
#include "analyzer/whatif/ops/queries.h"
#include "analyzer/whatif/schedule/streams.h"
#include "analyzer/whatif/schedule/wakers.h"
#include "xferscope/trace.h"

#define ROUNDING_NS XFW_ROUNDING_NS
#define POLLED_NS 50000.0     /* a thread that asks again and again finds out within so long */
#define FIRST_WAKE_NS 2000.0  /* where nothing was waited for yet */
#define MOST_SPACE_NS 50000.0 /* between copies that queue: beyond, something else held it up */
#define PREFETCHES 16         /* whose ends are */
/* Of a call that submits work: with several threads it met others in the driver. */
#define LONG_CALL_NS 50000.0

#define READERS 64      /* kinds of kernels that read over the link, */
#define READER_SHIFT 58 /* by the first bits of a hash */

struct gpu {
    struct xfw_engine_past engines[XFW_ENGINES];
    struct xfw_engine_past reads; /* of kernels, over the link to the host */
    struct xfw_usual behind; /* space of work that queued behind that of another engine: where an
                                engine's own never did it is taken to follow as closely */
    double link_until;       /* copies to the device, and kernels, have it until then at least */
    struct reader {
        uint32_t name;
        double link_ns, ns; /* of its kernels: what they read takes; the shortest of them */
    } readers[READERS];
};

struct thread {
    bool begun;
    double end, added; /* of its call before; what recording added behind it */
};

struct xfw_recorded {
    struct gpu *gpus[XFW_GPUS];
    struct xfw_streams streams;
    struct thread *threads;
    size_t thread_count, thread_capacity;
    struct xfw_usual wake, wake_moved, sync, submission[XFW_ENGINES];
    double moved[PREFETCHES]; /* ends of prefetches, a ring of so many */
    unsigned prefetches;
    struct xfw_wakers *wakers;
    struct xfw_known_kernels kernels; /* those with a record of the device */
    bool worked, several;             /* threads have given the device work */
    struct xfw_queries queries;
    uint32_t worker; /* the first */
};

/* ---- life ------------------------------------------------------------------------------------ */

struct xfw_recorded *xfw_recorded_new(void)
{
    struct xfw_recorded *recorded = xfa_alloc(sizeof *recorded);
    recorded->wakers = xfw_wakers_new();
    xfw_known_kernels_init(&recorded->kernels);
    xfw_queries_init(&recorded->queries);
    return recorded;
}

void xfw_recorded_free(struct xfw_recorded *recorded)
{
    if (!recorded)
        return;
    for (size_t i = 0; i < XFW_GPUS; i++)
        free(recorded->gpus[i]);
    xfw_streams_free(&recorded->streams);
    xfw_wakers_free(recorded->wakers);
    xfw_known_kernels_free(&recorded->kernels);
    xfw_queries_free(&recorded->queries);
    free(recorded->threads);
    free(recorded);
}

static struct gpu *gpu_at(struct xfw_recorded *recorded, int number)
{
    size_t i = xfw_place_of_gpu(number);
    if (!recorded->gpus[i])
        recorded->gpus[i] = xfa_alloc(sizeof *recorded->gpus[i]);
    return recorded->gpus[i];
}

static struct thread *thread_at(struct xfw_recorded *recorded, uint32_t number)
{
    recorded->threads = xfa_grown(recorded->threads, &recorded->thread_capacity,
                                  &recorded->thread_count, number, sizeof *recorded->threads);
    return &recorded->threads[number];
}

/* ---- device work ----------------------------------------------------------------------------- */

/* When the engine, or the link that it shares with kernels, came free for the copy. */
static double copies_ready(struct xfw_recorded *recorded, const struct xfw_op *op)
{
    struct gpu *gpu = gpu_at(recorded, op->gpu);
    enum xfw_engine engine = xfw_op_engine(op);
    double ready = xfw_engine_ready(&gpu->engines[engine], op->device_start_ns);
    return engine == XFW_TO_DEVICE
               ? xfw_max(ready, xfw_engine_ready(&gpu->reads, op->device_start_ns))
               : ready;
}

/* It ran before work that another thread had begun to submit: in the legacy stream behind what had
 * ended by then. */
static double ready_among_threads(struct xfw_recorded *recorded, const struct xfw_op *op)
{
    const struct xfw_engine_past *engines = gpu_at(recorded, op->gpu)->engines;
    double ready = 0;
    for (unsigned i = 0; i < XFW_ENGINES && op->stream_kind == XFW_LEGACY; i++)
        ready = xfw_max(ready, xfw_engine_ready(&engines[i], op->device_start_ns));
    return ready;
}

/* One kernel may be given buffers of several sizes. */
static struct reader *reader_of(struct gpu *gpu, const struct xfw_op *op)
{
    uint64_t mixed = (op->name + (uint64_t)op->link_ns) * 0x9e3779b97f4a7c15u;
    return &gpu->readers[mixed >> READER_SHIFT];
}

/* A kernel that reads over the link shares it with others. What that added to its time goes: up to
 * the shortest time of its kind so far, and no more than the link was in use. */
static void resolve_read(struct xfw_recorded *recorded, struct xfw_op *op)
{
    struct gpu *gpu = gpu_at(recorded, op->gpu);
    struct reader *reader = reader_of(gpu, op);
    bool same = reader->name == op->name && reader->link_ns == op->link_ns && reader->ns > 0;
    double used = gpu->link_until - (op->device_start_ns + op->reach_ns);
    if (op->duration_ns < op->reach_ns + op->link_ns) { /* it does not read all of it */
        op->reach_ns = op->link_ns = 0;
        return;
    }
    if (same && used > ROUNDING_NS)
        op->duration_ns -= xfw_max(0, xfw_min(used, op->duration_ns - reader->ns));
    double ns = same ? xfw_min(reader->ns, op->duration_ns) : op->duration_ns;
    *reader = (struct reader){op->name, op->link_ns, ns};
    double end = op->device_end_ns - (op->duration_ns - op->reach_ns - op->link_ns);
    xfw_engine_note(&gpu->reads, end - op->link_ns, end);
    gpu->link_until = xfw_max(gpu->link_until, end);
}

/* The driver serves faults of one kernel after the other's. What of its time a kernel waited for
 * those of others goes. */
static void resolve_demand(struct xfw_recorded *recorded, struct xfw_op *op)
{
    struct gpu *gpu = gpu_at(recorded, op->gpu);
    struct xfw_engine_past *driver = &gpu->engines[XFW_MOVES_IN];
    double end = xfw_min(op->device_end_ns, op->device_start_ns + op->demanded.stalled_ns);
    double waited = xfw_engine_busy_within(driver, op->device_start_ns, end);
    op->duration_ns -= waited;
    op->demanded.stalled_ns -= waited;
    op->link_ns = xfw_min(op->link_ns, op->demanded.stalled_ns);
    xfw_engine_note(driver, end - op->demanded.stalled_ns, end);
    xfw_engine_note(&gpu->reads, end - op->link_ns, end);
}

/* A prefetch's record is of its pages on the link; before that the driver works. reach_ns comes as
 * what the profile has for all of it. */
static void resolve_prefetch(struct xfw_recorded *recorded, struct xfw_op *op)
{
    struct gpu *gpu = gpu_at(recorded, op->gpu);
    op->link_ns = op->device_end_ns - op->device_start_ns;
    double begins = op->device_end_ns - xfw_max(op->reach_ns, op->link_ns);
    double ready = xfw_max(op->start_ns, xfw_streams_ready(&recorded->streams, op));
    ready = xfw_max(ready, xfw_engine_ready(&gpu->engines[xfw_op_engine(op)], op->device_start_ns));
    op->device_start_ns = xfw_min(op->device_start_ns, xfw_max(ready, begins));
    op->reach_ns = 0;
    struct xfw_engine_past *link =
        op->engine == XFW_TO_DEVICE ? &gpu->reads : &gpu->engines[XFW_TO_HOST];
    xfw_engine_note(link, op->device_end_ns - op->link_ns, op->device_end_ns);
}

static void note_work(struct xfw_recorded *recorded, const struct xfw_op *op)
{
    double end = op->device_end_ns;
    if (isnan(end))
        end = xfw_max(*xfw_streams_end(&recorded->streams, op->stream), op->start_ns) +
              op->duration_ns;
    xfw_streams_note(&recorded->streams, op, end);
    if (op->what == XFW_PREFETCH)
        recorded->moved[recorded->prefetches++ % PREFETCHES] = end;
    if (isnan(op->device_end_ns))
        return;
    struct gpu *gpu = gpu_at(recorded, op->gpu);
    struct xfw_engine_past *engines = gpu->engines;
    xfw_engine_note(&engines[xfw_op_engine(op)], op->device_start_ns, end);
    if (op->what == XFW_COPY && op->engine == XFW_TO_DEVICE)
        gpu->link_until = xfw_max(gpu->link_until, end);
    double hidden = xfw_max(0, op->duration_ns - (end - op->device_start_ns)); /* before it began */
    double sent = xfw_min(end, op->device_start_ns + op->up_ns - hidden);
    if (op->up_ns > 0) { /* of a graph */
        xfw_engine_note(&engines[XFW_TO_DEVICE], op->device_start_ns, sent);
        gpu->link_until = xfw_max(gpu->link_until, sent);
    }
    if (op->down_ns > 0)
        xfw_engine_note(&engines[XFW_TO_HOST], xfw_max(op->device_start_ns, end - op->down_ns),
                        end);
}

/* It was there when the work before it in its stream ended, which another engine had done. */
static bool followed_another_engine(struct xfw_recorded *recorded, const struct xfw_op *op,
                                    double arrived, double ready)
{
    double stream_ready = xfw_streams_ready(&recorded->streams, op);
    bool follows_copy =
        op->what == XFW_COPY &&
        xfw_streams_of(&recorded->streams, op->stream)->engine == (int8_t)xfw_op_engine(op);
    return !follows_copy && stream_ready >= ready && arrived <= ready;
}

/* Submitted and gone on: what made it start when it did? */
static void resolve_submitted(struct xfw_recorded *recorded, struct xfw_op *op,
                              struct xfw_engine_past *engine, double ready, bool staged)
{
    const double first_latency = 3000, first_space = 1000, much = 1.5;
    struct xfw_usual *behind = &gpu_at(recorded, op->gpu)->behind;
    double latency = op->device_start_ns - op->start_ns, space = op->device_start_ns - ready;
    double usual_latency =
        xfw_usual_or(&engine->latency, xfw_min(xfw_max(latency, 0), first_latency));
    /* It was submitted when the call returned; first launches, which load kernels, take longer. */
    usual_latency = xfw_min(usual_latency, op->end_ns - op->start_ns + first_latency);
    double usual_space =
        xfw_usual_or(&engine->space, xfw_min(first_space, xfw_usual_or(behind, first_space)));
    double arrives = op->start_ns + usual_latency;
    /* Calls may follow faster than one reaches the device; then it was not the work before. */
    bool called = recorded->several && op->own_ns > LONG_CALL_NS &&
                  op->device_start_ns <= op->end_ns + ROUNDING_NS &&
                  space > much * usual_space; /* no sooner did the driver let it in */
    bool late = ready + usual_space > arrives && !called;
    bool queued = late || (ready > arrives - usual_latency / 2 && space <= much * usual_space);
    op->latency_ns = xfw_max(0, queued ? xfw_min(usual_latency, latency) : latency);
    op->space_ns = xfw_max(0, queued ? space : xfw_min(usual_space, space));
    if (staged)
        return; /* another way to the device, which says nothing of others */
    if (late)
        xfw_usual_learn(&engine->space, op->space_ns);
    else if (!queued && !called)
        xfw_usual_learn(&engine->latency, op->latency_ns);
    if (!called && followed_another_engine(recorded, op, arrives, ready))
        xfw_usual_learn(behind, op->space_ns);
}

/* All that passed since the work before it in its stream ended, which another engine had done, is
 * its space: of how closely copies follow each other that says nothing. */
static bool kept_by_another_engine(struct xfw_recorded *recorded, const struct xfw_op *op)
{
    double since = op->device_start_ns - xfw_streams_ready(&recorded->streams, op);
    int8_t engine = xfw_streams_of(&recorded->streams, op->stream)->engine;
    return since > 0 && op->space_ns >= since && engine != (int8_t)xfw_op_engine(op);
}

/* What of the copy's time passes while it queues: recorded alone it took that much longer than
 * copies that queue do. One that queued took more on the device than its record says. The op comes
 * with as much as the profile knows of. */
static void resolve_lead(struct xfw_recorded *recorded, struct xfw_op *op,
                         struct xfw_engine_past *engine, double latency)
{
    double start = op->device_start_ns, busy = copies_ready(recorded, op);
    double most = xfw_usual_or(&engine->lead, op->lead_ns);
    bool queued = busy > 0 && start <= busy + op->records_device_ns + ROUNDING_NS;
    /* It queued, and the engine took its time: that stays. */
    bool behind = !queued && busy > op->start_ns + latency && start <= busy + MOST_SPACE_NS;
    if (!op->exclusive || behind) {
        op->lead_ns = 0;
    } else if (queued) {
        double ready = xfw_max(op->start_ns + latency, xfw_streams_before(&recorded->streams, op));
        double hidden =
            xfw_min(xfw_max(0, busy + op->records_device_ns - ready), xfw_min(most, op->lead_ns));
        op->lead_ns = xfw_min(most, op->lead_ns);
        op->duration_ns += hidden;
    } else {
        op->lead_ns = xfw_min(op->lead_ns, xfw_max(0, op->duration_ns - op->paced_ns));
        double space = xfw_max(0, op->paced_ns - (op->duration_ns - op->lead_ns));
        if (kept_by_another_engine(recorded, op))
            op->paced_ns = 0;
        else
            op->space_ns = xfw_min(op->space_ns, space + op->records_device_ns); /* if it queued */
        xfw_usual_learn(&engine->lead, op->lead_ns);
    }
}

/* A graph's first copy to the device has a lead as others have, found in the same way. */
static void resolve_graph(struct xfw_recorded *recorded, struct xfw_op *op, double latency)
{
    struct xfw_engine_past *copies = &gpu_at(recorded, op->gpu)->engines[XFW_TO_DEVICE];
    double busy = xfw_engine_ready(copies, op->device_start_ns);
    if (busy > 0 && op->device_start_ns <= busy + ROUNDING_NS) {
        double submitted = xfw_max(op->start_ns + latency, op->end_ns);
        op->lead_ns = xfw_min(xfw_usual_or(&copies->lead, op->lead_ns), op->lead_ns);
        double hidden = xfw_min(xfw_max(0, busy - submitted), op->lead_ns);
        op->up_ns += hidden;
        op->duration_ns += hidden;
    } else {
        op->lead_ns = xfw_min(op->lead_ns, xfw_max(0, op->up_ns - op->paced_ns));
        xfw_usual_learn(&copies->lead, op->lead_ns);
    }
    op->paced_ns = 0; /* of its copies, not of the graph */
}

/* The call returned with the data, or behind the copy's start. One that returned before, since the
 * data was staged, has submitted. */
static void resolve_blocking(struct xfw_op *op, double ready)
{
    op->latency_ns = xfw_max(0, op->device_start_ns - xfw_max(op->start_ns, ready));
    op->space_ns = 0;
    if (op->end_ns >= op->device_end_ns - ROUNDING_NS) {
        op->awaits = XFW_AWAITS_ITSELF;
        op->wake_ns = op->end_ns - op->device_end_ns;
    } else {
        op->awaits = XFW_AWAITS_ITS_START;
        op->wake_ns = op->end_ns - op->device_start_ns;
    }
    op->own_ns = 0;
}

/* A call that found its stream full waited for room. */
static void resolve_full(struct xfw_recorded *recorded, struct xfw_op *op)
{
    struct xfw_usual *usual = &recorded->submission[op->engine];
    const unsigned slack = 64;
    if (xfw_streams_outstanding(&recorded->streams, op->stream, slack) > op->start_ns)
        op->own_ns = xfw_min(op->own_ns, xfw_usual_or(usual, op->own_ns));
    else
        xfw_usual_learn(usual, op->own_ns);
}

/* A piece goes to the host and from there, the next one to the host meanwhile: half of what the
 * last one took is from one to the next. Each has its records. */
static void resolve_pieces(struct xfw_op *op, double last_ns)
{
    double pieces = last_ns > 0 ? op->duration_ns / (last_ns / 2) : 0;
    op->records_pieces_ns = pieces * op->records_device_ns;
    op->records_device_ns = 0;
}

/* No record came of the kernel, nor of others like it: CUPTI may have begun behind its launch. The
 * copy behind it in its stream has one, and waited for it. */
static void resolve_kernel_before(struct xfw_recorded *recorded, struct xfw_op *op,
                                  const struct xfw_ahead *ahead)
{
    double ready = xfw_max(op->start_ns, xfw_streams_ready(&recorded->streams, op));
    double from = xfw_max(ready, op->start_ns + op->latency_ns), until = from, done = NAN;
    if (!ahead || !ahead->waiter(ahead->self, op, &until, &done))
        return;
    op->device_start_ns = from;
    op->device_end_ns = until;
    op->duration_ns = until - op->device_start_ns;
}

/* No record of it came, but of others like it. A call that waits took what it waited for. */
static void resolve_unrecorded(struct xfw_recorded *recorded, struct xfw_op *op, bool blocks,
                               double usual_ns, const struct xfw_ahead *ahead)
{
    bool kernel = op->what == XFW_KERNEL;
    op->duration_ns = kernel ? xfw_known_kernels_ns(&recorded->kernels, op) : usual_ns;
    if (kernel && op->duration_ns <= 0 && !blocks)
        resolve_kernel_before(recorded, op, ahead);
    if (!blocks || op->duration_ns <= 0)
        return;
    double from = xfw_max(op->start_ns, xfw_streams_ready(&recorded->streams, op));
    op->latency_ns = xfw_max(0, op->end_ns - from - op->duration_ns);
    op->awaits = XFW_AWAITS_ITSELF;
    op->own_ns = op->wake_ns = 0;
}

/* No record says how long a host function took, but what is behind it in its stream waited for it:
 * from when the stream had come to it, and the driver's thread was done with the one before. */
static void resolve_function(struct xfw_recorded *recorded, struct xfw_op *op,
                             const struct xfw_ahead *ahead)
{
    double ready = xfw_max(op->start_ns, xfw_streams_ready(&recorded->streams, op));
    double until = ready, done = NAN;
    const struct xfw_op *waiter = ahead ? ahead->waiter(ahead->self, op, &until, &done) : NULL;
    op->done_ns = done;
    struct xfw_engine_past *calls = &gpu_at(recorded, op->gpu)->engines[XFW_CALLS];
    if (!waiter)
        return;
    double idle = xfw_engine_ready(calls, until);
    if (xfw_op_is_work(waiter)) {
        ready = xfw_max(ready, xfw_streams_ready(&recorded->streams, waiter));
        /* So it is if the engine was busy until then. */
        if (waiter->exclusive && copies_ready(recorded, waiter) > until - 2 * XFW_QUEUED_NS)
            return;
    }
    if (until - xfw_max(ready, idle) < XFW_CALLED_NS)
        return;
    op->engine = XFW_CALLS;
    op->exclusive = true;
    op->latency_ns = op->space_ns = xfw_min(until - ready, xfw_called_after(op));
    op->device_start_ns = xfw_min(xfw_max(ready + op->space_ns, idle), until);
    op->device_end_ns = until;
    op->duration_ns = until - op->device_start_ns;
}

static void resolve_work(struct xfw_recorded *recorded, struct xfw_op *op, bool blocks,
                         const struct xfw_ahead *ahead)
{
    double usual_ns = op->duration_ns;
    struct xfw_engine_past *engine = &gpu_at(recorded, op->gpu)->engines[xfw_op_engine(op)];
    op->space_ns = op->duration_ns = 0;
    op->latency_ns = xfw_usual_or(&engine->latency, 0);
    recorded->worker = recorded->worked ? recorded->worker : op->thread;
    recorded->several = recorded->several || op->thread != recorded->worker;
    recorded->worked = true;
    resolve_full(recorded, op);
    if (op->what == XFW_HOST_FUNCTION) {
        resolve_function(recorded, op, ahead);
    } else if (!isnan(op->device_start_ns)) {
        if (op->what == XFW_PREFETCH)
            resolve_prefetch(recorded, op);
        double ready = xfw_streams_ready(&recorded->streams, op);
        op->overtook = recorded->several && !op->last_piece && /* calls of one are in order */
                       op->device_start_ns < ready - ROUNDING_NS && op->device_end_ns < ready;
        ready = op->overtook ? ready_among_threads(recorded, op) : ready;
        double last_ns = op->device_end_ns - op->device_start_ns;
        if (op->last_piece) /* the first began when it could */
            op->device_start_ns = xfw_min(op->device_end_ns, xfw_max(op->start_ns, ready));
        op->duration_ns = xfw_max(0, op->device_end_ns - op->device_start_ns);
        if (op->last_piece)
            resolve_pieces(op, last_ns);
        op->exclusive =
            op->exclusive && xfw_engine_ran_alone(engine, op->device_start_ns, op->device_end_ns);
        if (op->exclusive)
            ready = xfw_max(ready, copies_ready(recorded, op));
        if (op->up_ns > 0) /* of a graph */
            ready =
                xfw_max(ready, xfw_engine_ready(&gpu_at(recorded, op->gpu)->engines[XFW_TO_DEVICE],
                                                op->device_start_ns));
        if (ahead && op->exclusive &&
            op->device_start_ns - xfw_max(ready, op->start_ns) > XFW_QUEUED_NS)
            ready = xfw_max(ready, ahead->busy_until(ahead->self, op));
        if (blocks && op->end_ns > op->device_start_ns)
            resolve_blocking(op, ready);
        else
            resolve_submitted(recorded, op, engine, ready, blocks);
        if (op->what == XFW_GRAPH && op->up_ns > 0)
            resolve_graph(recorded, op, op->latency_ns);
        else if (op->lead_ns > 0)
            resolve_lead(recorded, op, engine, op->latency_ns);
        if (op->demanded.stalled_ns > 0)
            resolve_demand(recorded, op);
        else if (op->link_ns > 0 && op->what == XFW_KERNEL)
            resolve_read(recorded, op);
        if (op->what == XFW_KERNEL)
            xfw_known_kernels_add(&recorded->kernels, op);
    } else {
        op->reach_ns = op->link_ns = 0;
        op->lead_ns = 0;
        resolve_unrecorded(recorded, op, blocks, usual_ns, ahead);
    }
    note_work(recorded, op);
}

/* ---- calls that wait ------------------------------------------------------------------------- */

static double completion(struct xfw_recorded *recorded, const struct xfw_op *op)
{
    if (op->awaits == XFW_AWAITS_STREAM && op->stream != XFW_NONE)
        return xfw_streams_done(&recorded->streams, op);
    if (op->awaits == XFW_AWAITS_EVENT && op->event != XFW_NONE)
        return *xfw_streams_event(&recorded->streams, op->event);
    if (op->awaits == XFW_AWAITS_DEVICE)
        return xfw_streams_gpu(&recorded->streams, op->gpu);
    return 0;
}

/* Records of prefetches are of their pages alone: such a wait ends tens of us behind that. */
static struct xfw_usual *wake_behind(struct xfw_recorded *recorded, double done)
{
    for (unsigned i = 0; i < PREFETCHES; i++)
        if (recorded->moved[i] == done && done > 0)
            return &recorded->wake_moved;
    return &recorded->wake;
}

/* Waits that are asked for. One for what was done before returned no later than it did. */
static void resolve_wait(struct xfw_recorded *recorded, struct xfw_op *op)
{
    double done = completion(recorded, op);
    struct xfw_usual *wake = wake_behind(recorded, done);
    if (done > op->end_ns + ROUNDING_NS * 5) { /* not for what we think */
        op->awaits = XFW_AWAITS_NOTHING;
    } else if (done > op->start_ns) {
        op->wake_ns = op->end_ns - done;
        op->own_ns = xfw_min(op->own_ns, xfw_usual_or(&recorded->sync, 1000));
        xfw_usual_learn(wake, xfw_max(0, op->wake_ns));
    } else {
        op->wake_ns = xfw_min(xfw_usual_or(wake, FIRST_WAKE_NS), op->end_ns - done);
        xfw_usual_learn(&recorded->sync, op->own_ns);
    }
}

/* Other calls that may wait: frees, registrations. */
static void resolve_call(struct xfw_recorded *recorded, struct xfw_op *op)
{
    double done = completion(recorded, op);
    if (op->awaits == XFW_AWAITS_NOTHING || done > op->end_ns + ROUNDING_NS)
        op->awaits = XFW_AWAITS_NOTHING;
    else if (done > op->start_ns)
        op->own_ns = op->wake_ns = xfw_max(0, op->end_ns - done);
    else
        op->wake_ns = op->own_ns;
}

/* The thread asked until it was done. How often is in the record, or has to be guessed. */
static void resolve_query(struct xfw_recorded *recorded, struct xfw_op *op, double before)
{
    double done = completion(recorded, op);
    if (xfw_queries_at_once(&recorded->queries, op, done, before))
        return;
    double since = op->polled_ns > 0 ? op->start_ns - op->polled_ns : before;
    bool polled = done > since && done <= op->end_ns + ROUNDING_NS &&
                  op->end_ns - done < xfw_max(POLLED_NS, 2 * op->since_ns);
    if (polled) {
        op->wake_ns = xfw_max(0, op->start_ns - done);
        op->gap_ns -= xfw_min(op->gap_ns, op->polled_ns);
    } else {
        op->awaits = XFW_AWAITS_NOTHING;
        op->polled_ns = 0;
    }
}

static void resolve_host(struct xfw_recorded *recorded, struct xfw_op *op, double before)
{
    if (op->kind == XFT_EVENT_SYNC)
        resolve_wait(recorded, op);
    else if (op->what == XFW_QUERY)
        resolve_query(recorded, op, before);
    else if (op->what == XFW_CALL)
        resolve_call(recorded, op);
    else if (op->what == XFW_RECORD && op->stream != XFW_NONE && op->event != XFW_NONE)
        *xfw_streams_event(&recorded->streams, op->event) =
            xfw_max(xfw_streams_ready(&recorded->streams, op), op->start_ns);
    else if (op->what == XFW_WAIT && op->stream != XFW_NONE && op->event != XFW_NONE)
        xfw_streams_wait(&recorded->streams, op);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* What recording added to the time before the op: behind the call that it counts from. */
static void resolve_hook(const struct xfw_recorded *recorded, const struct thread *thread,
                         struct xfw_op *op)
{
    op->hook_ns = thread->added;
    if (op->woken_by_stream)
        op->hook_ns = 0;
    else if (op->woken_by != XFW_NONE)
        op->hook_ns = recorded->threads[op->woken_by].added;
    else
        op->hook_ns += op->overhead_ns;
}

/* When a function that may wake a thread was called. */
static double called_at(struct xfw_recorded *recorded, const struct xfw_op *op)
{
    if (op->what != XFW_HOST_FUNCTION || op->stream == XFW_NONE)
        return op->end_ns;
    return isnan(op->device_start_ns) ? *xfw_streams_end(&recorded->streams, op->stream)
                                      : op->device_start_ns;
}

void xfw_recorded_resolve(struct xfw_recorded *recorded, struct xfw_op *op, bool blocks,
                          const struct xfw_ahead *ahead)
{
    struct thread *thread = thread_at(recorded, op->thread);
    xfw_wakers_find(recorded->wakers, op);
    double before = thread->begun ? thread->end : op->start_ns, added = op->hook_ns;
    double opening = op->opening_ns;
    op->gap_ns = xfw_max(0, op->start_ns - before);
    op->own_ns = xfw_max(0, op->end_ns - xfw_max(op->start_ns, before));
    if (thread->begun)
        resolve_hook(recorded, thread, op);
    else
        xfw_wakers_start_thread(recorded->wakers, op);
    double held =
        thread->begun ? xfw_min(op->hook_ns, op->gap_ns) : xfw_max(0, op->overhead_ns - opening);
    xfw_wakers_note_call(recorded->wakers, op, held, added);
    if (xfw_op_is_work(op) && op->stream != XFW_NONE)
        resolve_work(recorded, op, blocks, ahead);
    else
        resolve_host(recorded, op, before);
    thread = thread_at(recorded, op->thread);
    thread->begun = true;
    thread->end = xfw_max(thread->end, op->end_ns);
    thread->added = added;
    xfw_wakers_note_done(recorded->wakers, op, called_at(recorded, op));
}
