/*
 * One op becomes the steps that make it really happen.
 */
#include <math.h>

#include "analyzer/base/alloc.h"
#include "analyzer/remeasure/play_script.h"
#include "xferscope/trace.h"

/* ---- names ----------------------------------------------------------------------------------- */

int xfa_play_device(const struct xfa_play_script *script, int gpu)
{
    int here = xfa_place_here(script->setting->places, gpu < 0 ? 0 : gpu);
    return here < 0 ? 0 : here;
}

static uint32_t queue_of(struct xfa_play_script *script, const struct xfw_op *op)
{
    static const enum xfp_play_stream_kind kinds[] = {
        [XFW_NONBLOCKING] = XFP_PLAY_NONBLOCKING,
        [XFW_BLOCKING] = XFP_PLAY_BLOCKING,
        [XFW_LEGACY] = XFP_PLAY_LEGACY,
    };
    struct xfa_table *streams = &script->setting->streams;
    size_t before = streams->count;
    struct xfa_play_queue *queue = xfa_table_put(streams, &op->stream);
    if (streams->count > before) {
        bool made_up = op->stream >= XFW_FIRST_SIDE_STREAM;
        queue->device = xfa_play_device(script, op->stream_gpu >= 0 ? op->stream_gpu : op->gpu);
        queue->kind = made_up ? XFP_PLAY_NONBLOCKING : kinds[op->stream_kind];
    }
    return (uint32_t)(queue - (struct xfa_play_queue *)xfa_table_at(streams, 0));
}

static int device_of_queue(const struct xfa_play_script *script, uint32_t queue)
{
    return ((const struct xfa_play_queue *)xfa_table_at(&script->setting->streams, queue))->device;
}

/* An event is recorded in streams of the device where it was made. */
static uint32_t event_of(struct xfa_play_script *script, uint32_t number, int device)
{
    struct xfa_table *events = &script->setting->events;
    size_t before = events->count;
    struct xfa_play_event *event = xfa_table_put(events, &number);
    if (events->count > before)
        event->device = device;
    return (uint32_t)(event - (struct xfa_play_event *)xfa_table_at(events, 0));
}

/* XFP_PLAY_NONE: nothing was recorded in it. */
static uint32_t recorded_event(const struct xfa_play_script *script, uint32_t number)
{
    const struct xfa_table *events = &script->setting->events;
    const struct xfa_play_event *event = xfa_table_get(events, &number);
    if (!event)
        return XFP_PLAY_NONE;
    size_t at = (size_t)(event - (const struct xfa_play_event *)xfa_table_at(events, 0));
    bool recorded = at < script->recorded_count && script->recorded[at].steps;
    return recorded ? (uint32_t)at : XFP_PLAY_NONE;
}

static struct xfa_play_moment *moment_at(struct xfa_play_moment **moments, size_t *count,
                                         size_t *capacity, size_t index)
{
    *moments = xfa_grown(*moments, capacity, count, index, sizeof **moments);
    return &(*moments)[index];
}

struct xfa_play_moment xfa_play_now(const struct xfa_play_script *script,
                                    const struct xfa_play_thread *thread)
{
    return (struct xfa_play_moment){(uint32_t)(thread - script->threads), thread->count};
}

static void note_recorded(struct xfa_play_script *script, const struct xfa_play_thread *thread,
                          uint32_t event)
{
    *moment_at(&script->recorded, &script->recorded_count, &script->recorded_capacity, event) =
        xfa_play_now(script, thread);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static uint64_t whole(double ns)
{
    return ns > 0 ? (uint64_t)(ns + 0.5) : 0;
}

struct xfp_play_step *xfa_play_call_step(struct xfa_play_script *script,
                                         struct xfa_play_thread *thread, enum xfp_play_what what,
                                         int device, double own_ns)
{
    double held = fmin(own_ns, UINT32_MAX);
    struct xfp_play_step *step = xfa_play_push(script, thread, what);
    step->device = (int8_t)device;
    step->gap_ns = xfa_play_owed(thread);
    step->own_ns = (uint32_t)whole(held);
    thread->owed_ns += own_ns - held;
    return step;
}

/* The host's time alone goes to the next step. */
static void spend(struct xfa_play_thread *thread, double ns)
{
    thread->owed_ns += fmax(0, ns);
}

static void note_work(struct xfa_play_script *script, struct xfa_play_thread *thread,
                      uint32_t queue)
{
    thread->worked = xfa_play_now(script, thread);
    *moment_at(&script->last_works, &script->last_work_count, &script->last_work_capacity, queue) =
        thread->worked;
}

struct xfp_play_step *xfa_play_work_step(struct xfa_play_script *script,
                                         struct xfa_play_thread *thread, const struct xfw_op *op,
                                         enum xfp_play_what what)
{
    uint32_t queue = queue_of(script, op);
    struct xfp_play_step *made =
        xfa_play_call_step(script, thread, what, device_of_queue(script, queue), op->own_ns);
    made->stream = queue;
    note_work(script, thread, queue);
    return made;
}

/* ---- kernels, and what lasts as long --------------------------------------------------------- */

static void add_kernel(struct xfa_play_script *script, struct xfa_play_thread *thread,
                       const struct xfw_op *op)
{
    struct xfp_play_step *made = xfa_play_work_step(script, thread, op, XFP_PLAY_KERNEL);
    made->amount = whole(op->duration_ns + op->space_ns);
    made->flags = op->exclusive ? XFP_PLAY_EXCLUSIVE : 0;
}

/* Of copies that cannot be made otherwise: on the engine that they took. */
void xfa_play_copy_for(struct xfa_play_script *script, struct xfa_play_thread *thread,
                       const struct xfw_op *op)
{
    const double within = op->latency_ns + op->duration_ns + op->wake_ns;
    script->account.by_time++;
    if (op->engine != XFW_TO_DEVICE && op->engine != XFW_TO_HOST) {
        add_kernel(script, thread, op);
        return;
    }
    struct xfp_play_step *made = xfa_play_work_step(script, thread, op, XFP_PLAY_COPY_FOR);
    int device = xfa_play_device(script, op->gpu);
    made->amount = whole(op->duration_ns);
    if (op->engine == XFW_TO_DEVICE)
        made->dst = (uint32_t)device;
    else
        made->src = (uint32_t)device;
    if (op->awaits == XFW_AWAITS_ITSELF) {
        made->flags = XFP_PLAY_BLOCKS;
        made->own_ns = (uint32_t)whole(fmin(within, UINT32_MAX));
    }
}

void xfa_play_use_device(struct xfa_play_script *script, int device)
{
    const uint32_t number = XFA_PLAY_FIRST_MARK - 1 - (uint32_t)device;
    event_of(script, number, device); /* so that the GPU is on the stage */
}

/* ---- work --------------------------------------------------------------------------------------
 */

static void add_set(struct xfa_play_script *script, struct xfa_play_thread *thread,
                    const struct xfw_op *op)
{
    if (op->memory != XFT_MEM_DEVICE || op->bytes == 0) {
        add_kernel(script, thread, op);
        return;
    }
    const struct xfa_play_kind kind = xfa_play_device_kind(script, op->gpu);
    struct xfp_play_step *made = xfa_play_work_step(script, thread, op, XFP_PLAY_SET);
    made->amount = op->bytes;
    made->dst = xfa_play_memory_use(&script->setting->memory, &kind, kind.gpu, op->dst, op->bytes);
    made->dst_at = op->dst;
}

/* Work that began far later than such work does, for reasons that the record does not show (the
 * driver was setting itself up, what it waited for was not recorded): what the call took of that is
 * the host's time before it, the rest the stream's. */
static struct xfw_op in_time(struct xfa_play_script *script, struct xfa_play_thread *thread,
                             const struct xfw_op *late)
{
    struct xfw_op op = *late;
    bool waits = op.awaits == XFW_AWAITS_ITSELF || op.awaits == XFW_AWAITS_ITS_START;
    bool staged = waits && op.engine == XFW_TO_DEVICE;
    double over = op.latency_ns - (staged ? XFA_PLAY_STAGING_NS : XFA_PLAY_USUAL_NS);
    if (!(over > XFA_PLAY_LATENCY_NS))
        return op;
    double hosts = waits ? over : fmin(over, fmax(0, op.own_ns - XFA_PLAY_USUAL_NS));
    thread->owed_ns += hosts;
    op.own_ns = waits ? op.own_ns : op.own_ns - hosts;
    op.latency_ns -= over;
    if (over - hosts > XFA_PLAY_LATENCY_NS) {
        struct xfw_op before = op;
        before.duration_ns = over - hosts;
        before.space_ns = before.own_ns = 0;
        before.exclusive = false;
        add_kernel(script, thread, &before);
    }
    return op;
}

static void add_work(struct xfa_play_script *script, struct xfa_play_thread *thread,
                     const struct xfw_op *late, const struct xfw_op *recorded)
{
    const struct xfw_op made = in_time(script, thread, late), *op = &made;
    switch ((enum xfw_what)op->what) {
    case XFW_COPY:
        if (op->engine == XFW_NO_ENGINE) /* within the host */
            spend(thread, fmax(op->own_ns, op->latency_ns + op->duration_ns + op->wake_ns));
        else
            xfa_play_copy(script, thread, op, recorded);
        break;
    case XFW_SET:
        add_set(script, thread, op);
        break;
    case XFW_PREFETCH:
        xfa_play_use_device(script, xfa_play_device(script, op->gpu));
        xfa_play_copy_for(script, thread, op);
        break;
    case XFW_HOST_FUNCTION: /* how long it takes is not recorded */
        spend(thread, op->own_ns);
        break;
    default:
        add_kernel(script, thread, op);
        break;
    }
}

/* ---- waits ----------------------------------------------------------------------------------- */

/* A wait that lasted far longer than what it was for. */
static void wake(struct xfa_play_thread *thread, const struct xfw_op *op)
{
    if (op->kind == XFT_EVENT_SYNC && op->wake_ns > XFA_PLAY_LATENCY_NS)
        thread->owed_ns += op->wake_ns - XFA_PLAY_USUAL_NS;
}

static void await_stream(struct xfa_play_script *script, struct xfa_play_thread *thread,
                         const struct xfw_op *op, bool asks)
{
    uint32_t queue = queue_of(script, op);
    if (queue < script->last_work_count)
        xfa_play_after(script, thread, script->last_works[queue]);
    xfa_play_call_step(script, thread, asks ? XFP_PLAY_ASK_STREAM : XFP_PLAY_SYNC_STREAM,
                       device_of_queue(script, queue), op->own_ns)
        ->stream = queue;
    wake(thread, op);
}

static void await_event(struct xfa_play_script *script, struct xfa_play_thread *thread,
                        const struct xfw_op *op, bool asks)
{
    uint32_t event = recorded_event(script, op->event);
    if (event == XFP_PLAY_NONE) {
        spend(thread, op->own_ns);
        return;
    }
    xfa_play_after(script, thread, script->recorded[event]);
    xfa_play_call_step(script, thread, asks ? XFP_PLAY_ASK_EVENT : XFP_PLAY_SYNC_EVENT, -1,
                       op->own_ns)
        ->event = event;
    wake(thread, op);
}

static void await_device(struct xfa_play_script *script, struct xfa_play_thread *thread,
                         const struct xfw_op *op)
{
    int device = xfa_play_device(script, op->gpu);
    for (size_t i = 0; i < script->thread_count; i++)
        xfa_play_after(script, thread, script->threads[i].worked);
    xfa_play_use_device(script, device);
    xfa_play_call_step(script, thread, XFP_PLAY_SYNC_DEVICE, device, op->own_ns);
    wake(thread, op);
}

/* An event right behind work that was given before; those of long ago are used again. */
static uint32_t mark(struct xfa_play_script *script, const struct xfa_play_work *of)
{
    struct xfa_play_thread *thread = &script->threads[of->thread];
    struct xfp_play_step *made = &thread->steps[of->step];
    if (made->event == XFP_PLAY_NONE && made->what <= XFP_PLAY_KERNEL &&
        made->stream != XFP_PLAY_NONE) {
        uint32_t number = XFA_PLAY_FIRST_MARK + (uint32_t)made->device * XFA_PLAY_MARKS +
                          script->marks++ % XFA_PLAY_MARKS;
        made->event = event_of(script, number, made->device);
        *moment_at(&script->recorded, &script->recorded_count, &script->recorded_capacity,
                   made->event) = (struct xfa_play_moment){of->thread, of->step + 1};
    }
    return made->event;
}

/* The work that ends last of all that ends by then. */
static const struct xfa_play_work *work_until(const struct xfa_play_script *script, double ns)
{
    const struct xfa_play_work *last = NULL;
    size_t count = script->work_count < XFA_PLAY_WORKS ? script->work_count : XFA_PLAY_WORKS;
    for (size_t i = 1; i <= count; i++) { /* the newest first */
        const struct xfa_play_work *work =
            &script->works[(script->work_count - i) % XFA_PLAY_WORKS];
        if (work->end_ns <= ns + XFA_PLAY_SAME_NS && (!last || work->end_ns > last->end_ns))
            last = work;
        if (last && last->end_ns >= ns - XFA_PLAY_SAME_NS)
            break;
    }
    return last;
}

/* Time that a change has left of a call: until some work is done, or just time. */
static void await_work(struct xfa_play_script *script, struct xfa_play_thread *thread,
                       const struct xfw_op *op)
{
    double until = thread->now_ns + op->gap_ns + op->own_ns;
    const struct xfa_play_work *work = op->own_ns > 0 ? work_until(script, until) : NULL;
    bool exactly = work && until - work->end_ns < XFA_PLAY_SAME_NS;
    uint32_t event = exactly ? mark(script, work) : XFP_PLAY_NONE;
    if (event == XFP_PLAY_NONE) {
        spend(thread, op->own_ns);
        return;
    }
    xfa_play_after(script, thread, script->recorded[event]);
    xfa_play_call_step(script, thread, XFP_PLAY_SYNC_EVENT, -1, 0)->event = event;
}

static void add_call(struct xfa_play_script *script, struct xfa_play_thread *thread,
                     const struct xfw_op *op, const struct xfw_op *recorded)
{
    bool asks = op->what == XFW_QUERY;
    if (xfa_play_memory_call(script, thread, op, recorded))
        return;
    if (op->awaits == XFW_AWAITS_STREAM && op->stream != XFW_NONE)
        await_stream(script, thread, op, asks);
    else if (op->awaits == XFW_AWAITS_EVENT && op->event != XFW_NONE)
        await_event(script, thread, op, asks);
    else if (op->awaits == XFW_AWAITS_DEVICE)
        await_device(script, thread, op);
    else if (xfa_play_gone(op, recorded))
        await_work(script, thread, op);
    else
        spend(thread, op->own_ns);
}

/* ---- streams and events ---------------------------------------------------------------------- */

static void add_record(struct xfa_play_script *script, struct xfa_play_thread *thread,
                       const struct xfw_op *op)
{
    uint32_t queue = queue_of(script, op);
    int device = device_of_queue(script, queue);
    uint32_t event = event_of(script, op->event, device);
    struct xfp_play_step *made =
        xfa_play_call_step(script, thread, XFP_PLAY_RECORD, device, op->own_ns);
    made->stream = queue;
    made->event = event;
    note_recorded(script, thread, event);
}

static void make_wait(struct xfa_play_script *script, struct xfa_play_thread *thread,
                      uint32_t queue, uint32_t event, double own_ns)
{
    xfa_play_after(script, thread, script->recorded[event]);
    struct xfp_play_step *made =
        xfa_play_call_step(script, thread, XFP_PLAY_WAIT, device_of_queue(script, queue), own_ns);
    made->stream = queue;
    made->event = event;
}

void xfa_play_keep_orders(struct xfa_play_script *script, struct xfa_play_thread *thread,
                          const struct xfw_op *op)
{
    for (unsigned i = 0; i < script->order_count; i++) {
        struct xfw_op waits = *op; /* in whose place it stands */
        waits.stream = script->orders[i].stream;
        const struct xfa_play_work *work = work_until(script, script->orders[i].ns);
        uint32_t event = work && work->stream != waits.stream ? mark(script, work) : XFP_PLAY_NONE;
        if (event != XFP_PLAY_NONE)
            make_wait(script, thread, queue_of(script, &waits), event, 0);
    }
    script->order_count = 0;
}

void xfa_play_add(struct xfa_play_script *script, struct xfa_play_thread *thread,
                  const struct xfw_op *op, const struct xfw_op *recorded)
{
    uint32_t event;
    if (xfw_op_is_work(op) && op->stream != XFW_NONE) {
        add_work(script, thread, op, recorded);
    } else if (op->what == XFW_RECORD && op->stream != XFW_NONE && op->event != XFW_NONE) {
        add_record(script, thread, op);
    } else if (op->what == XFW_WAIT && op->stream != XFW_NONE && op->event != XFW_NONE) {
        event = recorded_event(script, op->event);
        if (event == XFP_PLAY_NONE)
            spend(thread, op->own_ns);
        else
            make_wait(script, thread, queue_of(script, op), event, op->own_ns);
    } else {
        add_call(script, thread, op, recorded);
    }
}
