#include "analyzer/remeasure/play_script.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"

struct xfa_play_script *xfa_play_script_new(struct xfa_play_setting *setting, uint64_t last_op,
                                            double end_ns)
{
    struct xfa_play_script *script = xfa_alloc(sizeof *script);
    script->setting = setting;
    script->last_op = last_op;
    script->end_ns = end_ns;
    script->account.whole = true;
    script->works = xfa_alloc(XFA_PLAY_WORKS * sizeof *script->works);
    xfa_table_init(&script->slots, sizeof(uint64_t), sizeof(struct xfa_play_slot));
    return script;
}

void xfa_play_script_free(struct xfa_play_script *script)
{
    if (!script)
        return;
    for (size_t i = 0; i < script->thread_count; i++)
        free(script->threads[i].steps);
    free(script->threads);
    free(script->works);
    free(script->locked);
    free(script->recorded);
    free(script->last_works);
    free(script->list_threads);
    xfa_table_free(&script->slots);
    free(script);
}

/* ---- steps ----------------------------------------------------------------------------------- */

struct xfp_play_step *xfa_play_push(struct xfa_play_script *script, struct xfa_play_thread *thread,
                                    enum xfp_play_what what)
{
    thread->steps =
        xfa_room(thread->steps, &thread->capacity, thread->count + 1, sizeof *thread->steps);
    struct xfp_play_step *step = &thread->steps[thread->count++];
    *step = (struct xfp_play_step){
        .what = (uint8_t)what,
        .device = -1,
        .stream = XFP_PLAY_NONE,
        .event = XFP_PLAY_NONE,
        .src = XFP_PLAY_NONE,
        .dst = XFP_PLAY_NONE,
    };
    script->account.steps++;
    return step;
}

uint64_t xfa_play_owed(struct xfa_play_thread *thread)
{
    double whole = floor(thread->owed_ns);
    thread->owed_ns -= whole;
    return (uint64_t)whole;
}

struct xfp_play_step *xfa_play_call_step(struct xfa_play_script *script,
                                         struct xfa_play_thread *thread, enum xfp_play_what what,
                                         int device, double own_ns)
{
    double held = fmin(own_ns, UINT32_MAX);
    struct xfp_play_step *step = xfa_play_push(script, thread, what);
    step->device = (int8_t)device;
    step->gap_ns = xfa_play_owed(thread);
    step->own_ns = (uint32_t)xfa_play_whole_ns(held);
    thread->owed_ns += own_ns - held;
    return step;
}

/* ---- moments --------------------------------------------------------------------------------- */

struct xfa_play_moment xfa_play_now(const struct xfa_play_script *script,
                                    const struct xfa_play_thread *thread)
{
    return (struct xfa_play_moment){(uint32_t)(thread - script->threads), thread->count};
}

void xfa_play_after(struct xfa_play_script *script, struct xfa_play_thread *thread,
                    struct xfa_play_moment moment)
{
    uint32_t own = (uint32_t)(thread - script->threads);
    if (moment.steps == 0 || moment.thread == own || thread->seen[moment.thread] >= moment.steps)
        return;
    thread->seen[moment.thread] = moment.steps;
    struct xfp_play_step *step = xfa_play_push(script, thread, XFP_PLAY_AFTER);
    step->stream = moment.thread;
    step->amount = moment.steps;
    step->gap_ns = xfa_play_owed(thread);
}

/* ---- the stage ------------------------------------------------------------------------------- */

int xfa_play_device(const struct xfa_play_script *script, int gpu)
{
    int here = xfa_place_here(script->setting->places, gpu < 0 ? 0 : gpu);
    return here < 0 ? 0 : here;
}

/* An event is recorded in streams of the device where it was made. */
uint32_t xfa_play_event_of(struct xfa_play_script *script, uint32_t number, int device)
{
    struct xfa_table *events = &script->setting->events;
    size_t before = events->count;
    struct xfa_play_event *event = xfa_table_put(events, &number);
    if (events->count > before)
        event->device = device;
    return (uint32_t)(event - (struct xfa_play_event *)xfa_table_at(events, 0));
}

void xfa_play_use_device(struct xfa_play_script *script, int device)
{
    const uint32_t number = XFA_PLAY_FIRST_MARK - 1 - (uint32_t)device;
    xfa_play_event_of(script, number, device);
}

uint32_t xfa_play_queue_of(struct xfa_play_script *script, const struct xfw_op *op)
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

int xfa_play_queue_device(const struct xfa_play_script *script, uint32_t queue)
{
    return ((const struct xfa_play_queue *)xfa_table_at(&script->setting->streams, queue))->device;
}
