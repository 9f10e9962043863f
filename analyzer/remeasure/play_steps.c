/*
 * The steps of one op: copies with the same bytes, memory, stream and call; kernels that last as
 * long; allocations, registrations, waits and events. See play_list.h for what cannot be made
 * again.
 */
#include <math.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/remeasure/play_script.h"
#include "xferscope/trace.h"

#define MOST_LOCKED 4096 /* registrations at a time; further ones are not played */
#define SAME_NS 0.5      /* times that differ by less are equal */

/*
 * Recorded delays that are longer than any work causes have causes that the trace does not show.
 * Work that starts later than LATENCY_NS after its call, and a thread that wakes later than that
 * after what it waits for, are played with USUAL_NS of delay; a blocking copy to the device, which
 * may be staged first, with STAGING_NS. The rest is played as time of the host or of the stream.
 */
#define LATENCY_NS 50e3
#define USUAL_NS 5e3
#define STAGING_NS 1e6

/* Memory to be registered. */
static const struct xfa_play_kind pageable = {XFT_MEM_PAGEABLE, 0, -1, -1};

static struct xfa_play_kind device_kind(const struct xfa_play_script *script, int gpu)
{
    return (struct xfa_play_kind){XFT_MEM_DEVICE, 0, (int16_t)xfa_play_device(script, gpu), -1};
}

/* ---- events and work of streams -------------------------------------------------------------- */

/* The place of a CUDA event that this script has recorded; XFP_PLAY_NONE: it has not. */
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

static void note_recorded(struct xfa_play_script *script, const struct xfa_play_thread *thread,
                          uint32_t event)
{
    *moment_at(&script->recorded, &script->recorded_count, &script->recorded_capacity, event) =
        xfa_play_now(script, thread);
}

/* Time of the host: owed to the next step of the thread. */
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

static struct xfp_play_step *work_step(struct xfa_play_script *script,
                                       struct xfa_play_thread *thread, const struct xfw_op *op,
                                       enum xfp_play_what what)
{
    uint32_t queue = xfa_play_queue_of(script, op);
    struct xfp_play_step *made =
        xfa_play_call_step(script, thread, what, xfa_play_queue_device(script, queue), op->own_ns);
    made->stream = queue;
    note_work(script, thread, queue);
    return made;
}

/* ---- work that lasts as long as it did ------------------------------------------------------- */

static void add_kernel(struct xfa_play_script *script, struct xfa_play_thread *thread,
                       const struct xfw_op *op)
{
    struct xfp_play_step *made = work_step(script, thread, op, XFP_PLAY_KERNEL);
    made->amount = xfa_play_whole_ns(op->duration_ns + op->space_ns);
    made->flags = op->exclusive ? XFP_PLAY_EXCLUSIVE : 0;
}

/* A copy that cannot be made again: its engine is busy for as long as it was. */
static void add_copy_for(struct xfa_play_script *script, struct xfa_play_thread *thread,
                         const struct xfw_op *op)
{
    const double within = op->latency_ns + op->duration_ns + op->wake_ns;
    script->account.by_time++;
    if (op->engine != XFW_TO_DEVICE && op->engine != XFW_TO_HOST) {
        add_kernel(script, thread, op);
        return;
    }
    struct xfp_play_step *made = work_step(script, thread, op, XFP_PLAY_COPY_FOR);
    int device = xfa_play_device(script, op->gpu);
    made->amount = xfa_play_whole_ns(op->duration_ns);
    if (op->engine == XFW_TO_DEVICE)
        made->dst = (uint32_t)device;
    else
        made->src = (uint32_t)device;
    if (op->awaits == XFW_AWAITS_ITSELF) {
        made->flags = XFP_PLAY_BLOCKS;
        made->own_ns = (uint32_t)xfa_play_whole_ns(fmin(within, UINT32_MAX));
    }
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* From where to where a copy goes, and how. */
struct ends {
    enum xft_direction direction;
    struct xfa_play_kind src, dst;
    uint32_t row_bytes; /* 0: one piece, as a change may have made it */
    bool peer;
};

static const struct xfa_play_locked *locked_at(const struct xfa_play_script *script,
                                               uint64_t address)
{
    for (size_t i = script->locked_count; i-- > 0;)
        if (address - script->locked[i].address < script->locked[i].bytes)
            return &script->locked[i];
    return NULL;
}

/* The host's memory of a copy. Registered memory is played as pageable memory where its
 * registration was recorded (and is played), else as pinned memory. */
static struct xfa_play_kind host_kind(const struct xfa_play_script *script,
                                      const struct xfa_class_key *class, const struct xfw_op *op,
                                      bool is_source)
{
    const struct xfp_path *path = op->path;
    uint8_t memory = is_source ? class->row.src_mem : class->row.dst_mem;
    int node = is_source ? class->src_node : class->dst_node;
    if (path) {
        const struct xfp_place *place = is_source ? &path->src : &path->dst;
        memory = (uint8_t)place->memory;
        node = place->numa >= 0 ? place->numa : node;
    }
    if (memory == XFT_MEM_REGISTERED && locked_at(script, is_source ? op->src : op->dst))
        return pageable;
    if (memory == XFT_MEM_REGISTERED)
        memory = XFT_MEM_PINNED;
    return (struct xfa_play_kind){memory, 0, -1, (int16_t)node};
}

static bool can_be_made(const struct xfa_play_kind *kind)
{
    return kind->memory == XFT_MEM_DEVICE || kind->memory == XFT_MEM_PAGEABLE ||
           kind->memory == XFT_MEM_PINNED || kind->memory == XFT_MEM_WRITE_COMBINED ||
           kind->memory == XFT_MEM_MAPPED;
}

static bool ends_of(const struct xfa_play_script *script, const struct xfw_op *op,
                    struct ends *ends)
{
    if (op->class == XFW_NONE)
        return false;
    const struct xfa_class_key *class = &xfa_class_at(script->setting->classes, op->class)->key;
    bool up = class->row.direction == XFT_DIR_H2D, down = class->row.direction == XFT_DIR_D2H;
    bool in_one = class->shape == XFA_LINEAR || (class->shape == XFA_STRIDED && op->row_bytes);
    uint64_t rows = op->in_one ? 0 : op->row_bytes;
    ends->row_bytes = rows && op->bytes % rows == 0 ? (uint32_t)rows : 0;
    ends->direction = (enum xft_direction) class->row.direction;
    ends->src = up ? host_kind(script, class, op, true) : device_kind(script, class->row.src_gpu);
    ends->dst =
        down ? host_kind(script, class, op, false) : device_kind(script, class->row.dst_gpu);
    ends->peer = op->path ? !strstr(op->path->name, "no-peer") : class->peer == XFA_PEER_ON;
    bool within = ends->direction == XFT_DIR_D2D, between = ends->direction == XFT_DIR_P2P;
    if ((within || between) && (class->row.src_mem != XFT_MEM_DEVICE ||
                                class->row.dst_mem != XFT_MEM_DEVICE || op->row_bytes))
        return false;
    return (up || down || within || between) && in_one && can_be_made(&ends->src) &&
           can_be_made(&ends->dst) && (!up || class->row.dst_mem == XFT_MEM_DEVICE) &&
           (!down || class->row.src_mem == XFT_MEM_DEVICE);
}

/* Did no change set the time of this copy by itself? Then a real copy takes its time. */
static bool is_itself(const struct xfw_op *op, const struct xfw_op *recorded)
{
    return !recorded || op->path || op->bytes != recorded->bytes ||
           fabs(op->duration_ns - recorded->duration_ns) < SAME_NS;
}

static void enable_peers(struct xfa_play_script *script, const struct ends *ends)
{
    int a = ends->src.gpu, b = ends->dst.gpu;
    for (size_t i = 0; i < script->pair_count; i++)
        if (script->pairs[i].from == a && script->pairs[i].to == b)
            return;
    if (a == b || script->pair_count + 2 > XFA_PLAY_PAIRS)
        return;
    script->pairs[script->pair_count++] = (struct xfp_play_pair){a, b};
    script->pairs[script->pair_count++] = (struct xfp_play_pair){b, a};
}

/* The call blocked, and no change has made it asynchronous. */
static bool blocks(const struct xfa_play_script *script, const struct xfw_op *op,
                   const struct xfw_op *recorded)
{
    bool async = xfa_class_at(script->setting->classes, op->class)->key.row.async;
    bool let_go = !recorded || (recorded->awaits != op->awaits && op->awaits == XFW_AWAITS_NOTHING);
    return op->awaits == XFW_AWAITS_ITSELF ? !async || op->path : !async && !let_go;
}

static void add_copy(struct xfa_play_script *script, struct xfa_play_thread *thread,
                     const struct xfw_op *op, const struct xfw_op *recorded)
{
    struct xfa_play_memory *memory = &script->setting->memory;
    struct ends ends;
    if (op->bytes == 0 || !ends_of(script, op, &ends) || !is_itself(op, recorded)) {
        xfa_play_use_device(script, xfa_play_device(script, op->gpu));
        add_copy_for(script, thread, op);
        return;
    }
    struct xfp_play_step *made = work_step(script, thread, op, XFP_PLAY_COPY);
    made->amount = op->bytes;
    made->row_bytes = ends.row_bytes;
    const uint64_t spread = ends.row_bytes ? 2 : 1;
    made->src = xfa_play_memory_use(memory, &ends.src, made->device, op->src, op->bytes * spread);
    made->dst = xfa_play_memory_use(memory, &ends.dst, made->device, op->dst, op->bytes * spread);
    made->src_at = op->src;
    made->dst_at = op->dst;
    made->flags = blocks(script, op, recorded) ? XFP_PLAY_BLOCKS : 0;
    if (ends.direction == XFT_DIR_P2P && ends.peer)
        enable_peers(script, &ends);
}

/* ---- work ------------------------------------------------------------------------------------ */

static void add_set(struct xfa_play_script *script, struct xfa_play_thread *thread,
                    const struct xfw_op *op)
{
    if (op->memory != XFT_MEM_DEVICE || op->bytes == 0) {
        add_kernel(script, thread, op);
        return;
    }
    const struct xfa_play_kind kind = device_kind(script, op->gpu);
    struct xfp_play_step *made = work_step(script, thread, op, XFP_PLAY_SET);
    made->amount = op->bytes;
    made->dst = xfa_play_memory_use(&script->setting->memory, &kind, kind.gpu, op->dst, op->bytes);
    made->dst_at = op->dst;
}

/* Work that began too late by itself (the driver was initializing, or what it waited for was not
 * recorded): of the excess latency the part within the call is played as time of the host before
 * it, the rest as a kernel before it in the stream. */
static struct xfw_op in_time(struct xfa_play_script *script, struct xfa_play_thread *thread,
                             const struct xfw_op *late)
{
    struct xfw_op op = *late;
    bool waits = op.awaits == XFW_AWAITS_ITSELF || op.awaits == XFW_AWAITS_ITS_START;
    bool staged = waits && op.engine == XFW_TO_DEVICE;
    double over = op.latency_ns - (staged ? STAGING_NS : USUAL_NS);
    if (!(over > LATENCY_NS))
        return op;
    double hosts = waits ? over : fmin(over, fmax(0, op.own_ns - USUAL_NS));
    thread->owed_ns += hosts;
    op.own_ns = waits ? op.own_ns : op.own_ns - hosts;
    op.latency_ns -= over;
    if (over - hosts > LATENCY_NS) {
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
            add_copy(script, thread, op, recorded);
        break;
    case XFW_SET:
        add_set(script, thread, op);
        break;
    case XFW_PREFETCH:
        xfa_play_use_device(script, xfa_play_device(script, op->gpu));
        add_copy_for(script, thread, op);
        break;
    case XFW_HOST_FUNCTION: /* its duration is not recorded */
        spend(thread, op->own_ns);
        break;
    default:
        add_kernel(script, thread, op);
        break;
    }
}

/* ---- memory that the run takes and gives back ------------------------------------------------ */

static void add_alloc(struct xfa_play_script *script, struct xfa_play_thread *thread,
                      const struct xfw_op *op, int device)
{
    struct xfa_play_slot *slot = xfa_table_put(&script->slots, &op->dst);
    slot->slot = (uint32_t)script->slots_used++;
    slot->taken = true;
    if (script->slots_used > script->setting->slots)
        script->setting->slots = script->slots_used;
    struct xfp_play_step *made =
        xfa_play_call_step(script, thread, XFP_PLAY_ALLOC, device, op->own_ns);
    made->memory = op->memory;
    made->amount = op->bytes;
    made->dst = slot->slot;
    slot->by = xfa_play_now(script, thread);
}

static bool add_free(struct xfa_play_script *script, struct xfa_play_thread *thread,
                     const struct xfw_op *op, int device)
{
    struct xfa_play_slot *slot = xfa_table_get(&script->slots, &op->dst);
    if (!slot || !slot->taken)
        return false;
    xfa_play_after(script, thread, slot->by);
    xfa_play_call_step(script, thread, XFP_PLAY_FREE, device, op->own_ns)->dst = slot->slot;
    slot->taken = false;
    return true;
}

static bool add_register(struct xfa_play_script *script, struct xfa_play_thread *thread,
                         const struct xfw_op *op, int device)
{
    if (script->locked_count == MOST_LOCKED || op->bytes == 0)
        return false;
    struct xfp_play_step *made =
        xfa_play_call_step(script, thread, XFP_PLAY_REGISTER, device, op->own_ns);
    made->amount = op->bytes;
    made->dst =
        xfa_play_memory_use(&script->setting->memory, &pageable, device, op->dst, op->bytes);
    made->dst_at = op->dst;
    script->locked = xfa_room(script->locked, &script->locked_capacity, script->locked_count + 1,
                              sizeof *script->locked);
    script->locked[script->locked_count++] =
        (struct xfa_play_locked){op->dst, op->bytes, made->dst, xfa_play_now(script, thread)};
    return true;
}

static bool add_unregister(struct xfa_play_script *script, struct xfa_play_thread *thread,
                           const struct xfw_op *op, int device)
{
    for (size_t i = 0; i < script->locked_count; i++) {
        struct xfa_play_locked locked = script->locked[i];
        if (locked.address != op->dst)
            continue;
        xfa_play_after(script, thread, locked.by);
        struct xfp_play_step *made =
            xfa_play_call_step(script, thread, XFP_PLAY_UNREGISTER, device, op->own_ns);
        made->amount = locked.bytes;
        made->dst = locked.kind;
        made->dst_at = locked.address;
        script->locked[i] = script->locked[--script->locked_count];
        return true;
    }
    return false;
}

/* A registration that a change inserted: memory is page-locked and unlocked, which takes its time.
 */
static bool add_pin(struct xfa_play_script *script, struct xfa_play_thread *thread,
                    const struct xfw_op *op, int device)
{
    if (op->bytes == 0)
        return false;
    struct xfp_play_step *made = xfa_play_call_step(script, thread, XFP_PLAY_PIN, device, 0);
    made->amount = op->bytes;
    made->dst = xfa_play_memory_use(&script->setting->memory, &pageable, device, 0, op->bytes);
    return true;
}

static bool is_memory(const struct xfw_op *op)
{
    return op->kind == XFT_EVENT_ALLOC || op->kind == XFT_EVENT_FREE ||
           op->kind == XFT_EVENT_REGISTER || op->kind == XFT_EVENT_UNREGISTER;
}

/* A change has removed this allocation, registration or end of one: the rest of its time is not
 * that of a call. */
static bool is_gone(const struct xfw_op *op, const struct xfw_op *recorded)
{
    return recorded && is_memory(op) &&
           (fabs(op->own_ns - recorded->own_ns) > SAME_NS || op->awaits != recorded->awaits);
}

/* An allocation, a registration, or the end of one; false: it is none, or a change removed it. */
static bool add_memory_call(struct xfa_play_script *script, struct xfa_play_thread *thread,
                            const struct xfw_op *op, const struct xfw_op *recorded)
{
    int device = xfa_play_device(script, op->gpu);
    if (!is_memory(op) || is_gone(op, recorded) || op->pooled)
        return false;
    xfa_play_use_device(script, device);
    if (op->made_up)
        return op->kind == XFT_EVENT_REGISTER && add_pin(script, thread, op, device);
    if (op->kind == XFT_EVENT_ALLOC && op->bytes > 0 && script->slots_used < XFA_PLAY_MOST_STEPS) {
        add_alloc(script, thread, op, device);
        return true;
    }
    return op->kind == XFT_EVENT_FREE ? add_free(script, thread, op, device)
           : op->kind == XFT_EVENT_REGISTER
               ? add_register(script, thread, op, device)
               : op->kind == XFT_EVENT_UNREGISTER && add_unregister(script, thread, op, device);
}

/* ---- waits ----------------------------------------------------------------------------------- */

/* A wait that lasted far longer than what it waited for: the rest is time of the host. */
static void wake(struct xfa_play_thread *thread, const struct xfw_op *op)
{
    if (op->kind == XFT_EVENT_SYNC && op->wake_ns > LATENCY_NS)
        thread->owed_ns += op->wake_ns - USUAL_NS;
}

static void await_stream(struct xfa_play_script *script, struct xfa_play_thread *thread,
                         const struct xfw_op *op, bool asks)
{
    uint32_t queue = xfa_play_queue_of(script, op);
    if (queue < script->last_work_count)
        xfa_play_after(script, thread, script->last_works[queue]);
    xfa_play_call_step(script, thread, asks ? XFP_PLAY_ASK_STREAM : XFP_PLAY_SYNC_STREAM,
                       xfa_play_queue_device(script, queue), op->own_ns)
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

/* The CUDA event recorded right after earlier work, made if there is none; XFP_PLAY_NONE: there
 * cannot be one. XFA_PLAY_MARKS of them are reused in turn. */
static uint32_t mark(struct xfa_play_script *script, const struct xfa_play_work *of)
{
    struct xfa_play_thread *thread = &script->threads[of->thread];
    struct xfp_play_step *made = &thread->steps[of->step];
    if (made->event == XFP_PLAY_NONE && made->what <= XFP_PLAY_KERNEL &&
        made->stream != XFP_PLAY_NONE) {
        uint32_t number = XFA_PLAY_FIRST_MARK + (uint32_t)made->device * XFA_PLAY_MARKS +
                          script->marks++ % XFA_PLAY_MARKS;
        made->event = xfa_play_event_of(script, number, made->device);
        *moment_at(&script->recorded, &script->recorded_count, &script->recorded_capacity,
                   made->event) = (struct xfa_play_moment){of->thread, of->step + 1};
    }
    return made->event;
}

/* Of the remembered work that ends by then, the one that ends last. */
static const struct xfa_play_work *work_until(const struct xfa_play_script *script, double ns)
{
    const struct xfa_play_work *last = NULL;
    size_t count = script->work_count < XFA_PLAY_WORKS ? script->work_count : XFA_PLAY_WORKS;
    for (size_t i = 1; i <= count; i++) { /* the newest first */
        const struct xfa_play_work *work =
            &script->works[(script->work_count - i) % XFA_PLAY_WORKS];
        if (work->end_ns <= ns + SAME_NS && (!last || work->end_ns > last->end_ns))
            last = work;
        if (last && last->end_ns >= ns - SAME_NS)
            break;
    }
    return last;
}

/* The rest of the time of a removed call: until some work ends, if that ends then, else plain time.
 */
static void await_work(struct xfa_play_script *script, struct xfa_play_thread *thread,
                       const struct xfw_op *op)
{
    double until = thread->now_ns + op->gap_ns + op->own_ns;
    const struct xfa_play_work *work = op->own_ns > 0 ? work_until(script, until) : NULL;
    bool exactly = work && until - work->end_ns < SAME_NS;
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
    if (add_memory_call(script, thread, op, recorded))
        return;
    if (op->awaits == XFW_AWAITS_STREAM && op->stream != XFW_NONE)
        await_stream(script, thread, op, asks);
    else if (op->awaits == XFW_AWAITS_EVENT && op->event != XFW_NONE)
        await_event(script, thread, op, asks);
    else if (op->awaits == XFW_AWAITS_DEVICE)
        await_device(script, thread, op);
    else if (is_gone(op, recorded))
        await_work(script, thread, op);
    else
        spend(thread, op->own_ns);
}

/* ---- streams and events ---------------------------------------------------------------------- */

static void add_record(struct xfa_play_script *script, struct xfa_play_thread *thread,
                       const struct xfw_op *op)
{
    uint32_t queue = xfa_play_queue_of(script, op);
    int device = xfa_play_queue_device(script, queue);
    uint32_t event = xfa_play_event_of(script, op->event, device);
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
    struct xfp_play_step *made = xfa_play_call_step(script, thread, XFP_PLAY_WAIT,
                                                    xfa_play_queue_device(script, queue), own_ns);
    made->stream = queue;
    made->event = event;
}

void xfa_play_keep_orders(struct xfa_play_script *script, struct xfa_play_thread *thread,
                          const struct xfw_op *op)
{
    for (unsigned i = 0; i < script->order_count; i++) {
        struct xfw_op waits = *op; /* with the device of the op that follows */
        waits.stream = script->orders[i].stream;
        const struct xfa_play_work *work = work_until(script, script->orders[i].ns);
        uint32_t event = work && work->stream != waits.stream ? mark(script, work) : XFP_PLAY_NONE;
        if (event != XFP_PLAY_NONE)
            make_wait(script, thread, xfa_play_queue_of(script, &waits), event, 0);
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
            make_wait(script, thread, xfa_play_queue_of(script, op), event, op->own_ns);
    } else {
        add_call(script, thread, op, recorded);
    }
}
