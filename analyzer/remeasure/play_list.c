#include "analyzer/remeasure/play_list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/remeasure/play_script.h"

/* ---- the setting ----------------------------------------------------------------------------- */

void xfa_play_setting_init(struct xfa_play_setting *setting, const struct xfa_classes *classes,
                           const struct xfa_places *places)
{
    *setting = (struct xfa_play_setting){.classes = classes, .places = places};
    xfa_play_memory_init(&setting->memory);
    xfa_table_init(&setting->streams, sizeof(uint32_t), sizeof(struct xfa_play_queue));
    xfa_table_init(&setting->events, sizeof(uint32_t), sizeof(struct xfa_play_event));
}

void xfa_play_setting_free(struct xfa_play_setting *setting)
{
    xfa_play_memory_free(&setting->memory);
    xfa_table_free(&setting->streams);
    xfa_table_free(&setting->events);
}

void xfa_play_stage_make(struct xfa_play_setting *setting, struct xfp_play_stage *stage)
{
    size_t count = setting->streams.count, events = setting->events.count;
    struct xfp_play_stream *streams = xfa_alloc((count + 1) * sizeof *streams);
    int *devices = xfa_alloc((events + 1) * sizeof *devices);
    for (size_t i = 0; i < count; i++) {
        const struct xfa_play_queue *queue = xfa_table_at(&setting->streams, i);
        streams[i] = (struct xfp_play_stream){queue->device, queue->kind};
    }
    for (size_t i = 0; i < events; i++)
        devices[i] = ((struct xfa_play_event *)xfa_table_at(&setting->events, i))->device;
    *stage = (struct xfp_play_stage){
        .streams = streams,
        .stream_count = count,
        .events = devices,
        .event_count = events,
        .slots = setting->slots,
    };
    stage->regions = xfa_play_memory_regions(&setting->memory, &stage->region_count);
}

void xfa_play_stage_free(struct xfp_play_stage *stage)
{
    free((void *)stage->regions);
    free((void *)stage->streams);
    free((void *)stage->events);
    *stage = (struct xfp_play_stage){0};
}

/* ---- threads --------------------------------------------------------------------------------- */

/* A step of nothing but the owed time, so that threads that wait for this one see it pass. */
static void pay_owed(struct xfa_play_script *script, struct xfa_play_thread *thread)
{
    if (thread->owed_ns >= 1)
        xfa_play_push(script, thread, XFP_PLAY_HOST)->gap_ns = xfa_play_owed(thread);
}

/* Threads begin relative to the first one: after the step that it is in or behind then. */
static void begin_thread(struct xfa_play_script *script, struct xfa_play_thread *thread,
                         const struct xfw_op *op)
{
    const struct xfa_play_thread *first = &script->threads[0];
    double begins = op->start_ns - op->gap_ns;
    thread->begun = true;
    if (thread == first) {
        script->account.skipped_ns += fmax(0, begins);
        return;
    }
    if (op->woken_by != XFW_NONE)
        return;
    bool within = first->last_end_ns > begins;
    if (!within)
        pay_owed(script, &script->threads[0]);
    struct xfp_play_step *after = xfa_play_push(script, thread, XFP_PLAY_AFTER);
    after->stream = 0;
    after->amount = within ? first->last_from : first->count;
    thread->owed_ns = fmax(0, begins - (within ? first->last_begin_ns : first->last_end_ns));
}

static struct xfa_play_thread *thread_of(struct xfa_play_script *script, const struct xfw_op *op)
{
    if (op->thread >= XFP_PLAY_MOST_THREADS) {
        script->account.why = "it has too many threads";
        return NULL;
    }
    while (script->thread_count <= op->thread) {
        script->threads = xfa_room(script->threads, &script->thread_capacity,
                                   script->thread_count + 1, sizeof *script->threads);
        script->threads[script->thread_count++] = (struct xfa_play_thread){.seen = {0}};
    }
    struct xfa_play_thread *thread = &script->threads[op->thread];
    if (!thread->begun)
        begin_thread(script, thread, op);
    return thread;
}

/* ---- ops ------------------------------------------------------------------------------------- */

/* The gap of the op, as it is played: of a long one in which nothing is in flight only a part. */
static double kept(struct xfa_play_script *script, const struct xfa_play_thread *thread,
                   const struct xfw_op *op)
{
    if (script->thread_count != 1 || op->what == XFW_QUERY || op->gap_ns < XFA_PLAY_LONG_NS ||
        script->busy_ns > thread->now_ns + XFA_PLAY_KEPT_NS)
        return op->gap_ns;
    script->account.skipped_ns += op->gap_ns - XFA_PLAY_KEPT_NS;
    return XFA_PLAY_KEPT_NS;
}

/* The thread's own time before the op, or since another thread woke it (op->woken_by). */
static void owe_gap(struct xfa_play_script *script, struct xfa_play_thread *thread,
                    const struct xfw_op *op)
{
    if (op->woken_by < script->thread_count) {
        struct xfa_play_thread *by = &script->threads[op->woken_by];
        if (!op->within_call)
            pay_owed(script, by);
        size_t steps = op->within_call ? by->last_call : by->count;
        xfa_play_after(script, thread, (struct xfa_play_moment){op->woken_by, steps});
        thread->owed_ns += fmax(0, op->woken_after_ns) + (op->within_call ? by->last_owed_ns : 0);
    } else if (op->what != XFW_QUERY || op->polled_ns > 0 || op->at_once ||
               op->awaits == XFW_AWAITS_NOTHING) {
        thread->owed_ns += kept(script, thread, op);
    }
}

static bool is_over(struct xfa_play_script *script, const struct xfw_op *op)
{
    struct xfa_play_account *account = &script->account;
    if (account->why || (script->thread_count && !account->whole && op->number != account->last_op))
        return true;
    bool full = account->steps >= XFA_PLAY_MOST_STEPS ||
                script->model_ns - account->skipped_ns > script->end_ns;
    if (op->number > script->last_op || (full && op->number != account->last_op)) {
        account->whole = false;
        return true;
    }
    account->last_op = op->number;
    return false;
}

static void note_work(struct xfa_play_script *script, const struct xfa_play_thread *thread,
                      const struct xfw_op *op, const struct xfw_schedule *schedule)
{
    double end = xfw_schedule_last(schedule)->end;
    if (isnan(end) || thread->count == 0)
        return;
    script->busy_ns = fmax(script->busy_ns, end);
    script->works[script->work_count++ % XFA_PLAY_WORKS] = (struct xfa_play_work){
        .end_ns = end,
        .stream = op->stream,
        .thread = op->thread,
        .step = thread->count - 1,
    };
}

static void take_op(void *self, const struct xfw_op *op, const struct xfw_op *recorded,
                    const struct xfw_schedule *schedule)
{
    struct xfa_play_script *script = self;
    if (is_over(script, op))
        return;
    struct xfa_play_thread *thread = thread_of(script, op);
    if (!thread)
        return;
    size_t before = thread->count;
    if (!op->made_up) {
        thread->last_from = thread->count;
        thread->last_begin_ns = op->start_ns - op->gap_ns;
    }
    owe_gap(script, thread, op);
    if (!op->made_up) {
        thread->last_call = thread->count;
        thread->last_owed_ns = thread->owed_ns;
    }
    xfa_play_keep_orders(script, thread, op);
    xfa_play_add(script, thread, op, recorded);
    if (thread->count > before)
        note_work(script, thread, op, schedule);
    if (!op->made_up)
        thread->last_end_ns = op->end_ns;
    thread->now_ns = xfw_schedule_thread_now(schedule, op->thread);
    script->model_ns = fmax(script->model_ns, thread->now_ns);
}

static void begin_process(void *self, struct xfa_process *process)
{
    struct xfa_play_script *script = self;
    if (script->processes++)
        script->account.why = "it has several processes, which are not played together";
}

static void end_process(void *self, struct xfa_process *process,
                        const struct xfw_schedule *schedule, double total_ns)
{
    struct xfa_play_script *script = self;
    for (size_t i = 0; i < script->thread_count; i++)
        pay_owed(script, &script->threads[i]);
    script->account.model_ns = script->model_ns;
    if (script->account.whole) { /* after the last call */
        script->account.skipped_ns += fmax(0, total_ns - script->model_ns);
        script->account.model_ns = fmax(total_ns, script->model_ns);
    }
    if (!script->account.why && script->thread_count == 0)
        script->account.why = "there is nothing in it to be played";
}

static void wait_until(void *self, uint32_t stream, double ns)
{
    struct xfa_play_script *script = self;
    if (script->order_count < XFA_PLAY_ORDERS)
        script->orders[script->order_count++] = (struct xfa_play_order){stream, ns};
}

struct xfw_tap xfa_play_script_tap(struct xfa_play_script *script)
{
    return (struct xfw_tap){script, begin_process, take_op, wait_until, end_process};
}

struct xfa_play_account xfa_play_script_account(const struct xfa_play_script *script)
{
    return script->account;
}

/* ---- its list -------------------------------------------------------------------------------- */

static void find_memory(const struct xfa_play_script *script, struct xfp_play_step *step)
{
    const struct xfa_play_memory *memory = &script->setting->memory;
    bool locks = step->what == XFP_PLAY_REGISTER || step->what == XFP_PLAY_UNREGISTER ||
                 step->what == XFP_PLAY_PIN;
    uint64_t bytes = step->amount;
    if (step->what == XFP_PLAY_COPY)
        xfa_play_memory_find(memory, step->src, step->src_at, bytes * (step->row_bytes ? 2 : 1),
                             &step->src, &step->src_at);
    if (step->what == XFP_PLAY_COPY)
        xfa_play_memory_find(memory, step->dst, step->dst_at, bytes * (step->row_bytes ? 2 : 1),
                             &step->dst, &step->dst_at);
    if (step->what == XFP_PLAY_SET || locks)
        xfa_play_memory_find(memory, step->dst, step->dst_at, bytes, &step->dst, &step->dst_at);
}

const struct xfp_play_list *xfa_play_script_list(struct xfa_play_script *script)
{
    const double patience = 3, seconds = 1e9;
    if (script->list_threads)
        return &script->list;
    script->list_threads = xfa_alloc((script->thread_count + 1) * sizeof *script->list_threads);
    for (size_t t = 0; t < script->thread_count; t++) {
        struct xfa_play_thread *thread = &script->threads[t];
        for (size_t i = 0; i < thread->count; i++)
            find_memory(script, &thread->steps[i]);
        script->list_threads[t] = (struct xfp_play_thread){thread->steps, thread->count};
    }
    double expected = script->account.model_ns - script->account.skipped_ns;
    script->list = (struct xfp_play_list){
        .threads = script->list_threads,
        .thread_count = script->thread_count,
        .pairs = script->pairs,
        .pair_count = script->pair_count,
        .give_up_ns = (uint64_t)(patience * expected + 10 * seconds),
    };
    return &script->list;
}
