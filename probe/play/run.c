/*
 * Plays a list once: its threads begin together, and what they leave allocated is freed afterwards.
 */
#include "probe/play/stage.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "probe/measure/budget.h"
#include "probe/play/take.h"

struct member {
    struct xfp_taker *taker;
    pthread_t thread;
};

/* ---- what a list may say -------------------------------------------------------------------- */

static bool region_holds(const struct xfp_made_stage *made, uint32_t region, uint64_t at,
                         uint64_t bytes)
{
    return region < made->region_count && at <= made->regions[region].bytes &&
           bytes <= made->regions[region].bytes - at;
}

static bool gpu_is_used(const struct xfp_made_stage *made, uint32_t ordinal)
{
    return ordinal < made->sys->device_count && made->gpus[ordinal].used;
}

static bool copy_is_right(const struct xfp_made_stage *made, const struct xfp_play_step *s)
{
    uint64_t rows = s->row_bytes ? s->amount / s->row_bytes : 0;

    if (s->what == XFP_PLAY_COPY_FOR)
        return (s->src != XFP_PLAY_NONE || s->dst != XFP_PLAY_NONE) && s->src != s->dst &&
               (s->src == XFP_PLAY_NONE || gpu_is_used(made, s->src)) &&
               (s->dst == XFP_PLAY_NONE || gpu_is_used(made, s->dst));
    if (!region_holds(made, s->src, s->src_at, s->amount) ||
        !region_holds(made, s->dst, s->dst_at, s->amount))
        return false;
    const struct xfp_buffer *src = &made->regions[s->src], *dst = &made->regions[s->dst];
    uint64_t spread = rows ? s->amount + (rows - 1) * s->row_bytes : s->amount; /* on the host */
    return !(src->host && dst->host) && (!rows || rows * s->row_bytes == s->amount) &&
           (!src->host || region_holds(made, s->src, s->src_at, spread)) &&
           (!dst->host || region_holds(made, s->dst, s->dst_at, spread));
}

static bool step_is_right(const struct xfp_made_stage *made, const struct xfp_play_list *list,
                          const struct xfp_play_step *s)
{
    bool queue = s->stream < made->queue_count, event = s->event < made->event_count;

    if (s->device >= 0 && !gpu_is_used(made, (uint32_t)s->device))
        return false;
    switch ((enum xfp_play_what)s->what) {
    case XFP_PLAY_HOST:
        return true;
    case XFP_PLAY_AFTER:
        return s->stream < list->thread_count && s->amount <= list->threads[s->stream].count;
    case XFP_PLAY_COPY:
    case XFP_PLAY_COPY_FOR:
        return queue && copy_is_right(made, s) && (event || s->event == XFP_PLAY_NONE);
    case XFP_PLAY_SET:
        return queue && region_holds(made, s->dst, s->dst_at, s->amount) &&
               !made->regions[s->dst].host && (event || s->event == XFP_PLAY_NONE);
    case XFP_PLAY_KERNEL:
        return queue && s->device >= 0 && (event || s->event == XFP_PLAY_NONE);
    case XFP_PLAY_RECORD:
    case XFP_PLAY_WAIT:
        return queue && event;
    case XFP_PLAY_SYNC_STREAM:
    case XFP_PLAY_ASK_STREAM:
        return queue;
    case XFP_PLAY_SYNC_EVENT:
    case XFP_PLAY_ASK_EVENT:
        return event;
    case XFP_PLAY_SYNC_DEVICE:
        return s->device >= 0;
    case XFP_PLAY_ALLOC:
    case XFP_PLAY_FREE:
        return s->dst < made->slot_count && s->device >= 0;
    case XFP_PLAY_REGISTER:
    case XFP_PLAY_UNREGISTER:
    case XFP_PLAY_PIN:
        return region_holds(made, s->dst, s->dst_at, s->amount) && made->regions[s->dst].host &&
               s->device >= 0;
    }
    return false;
}

static bool list_is_right(const struct xfp_made_stage *made, const struct xfp_play_list *list,
                          char *why, size_t room)
{
    if (list->thread_count == 0 || list->thread_count > XFP_PLAY_MOST_THREADS) {
        snprintf(why, room, "%zu threads", list->thread_count);
        return false;
    }
    for (size_t t = 0; t < list->thread_count; t++)
        for (size_t i = 0; i < list->threads[t].count; i++)
            if (!step_is_right(made, list, &list->threads[t].steps[i])) {
                snprintf(why, room, "step %zu of thread %zu names what is not there", i, t);
                return false;
            }
    return true;
}

/* ---- before and behind ---------------------------------------------------------------------- */

static void set_pairs(struct xfp_made_stage *made, const struct xfp_play_list *list, bool on)
{
    const struct xfp_driver *cu = made->sys->cu;

    for (size_t i = 0; i < list->pair_count; i++) {
        const struct xfp_play_pair *pair = &list->pairs[i];

        if (!gpu_is_used(made, (uint32_t)pair->from) || !gpu_is_used(made, (uint32_t)pair->to))
            continue;
        cu->cuCtxSetCurrent(made->gpus[pair->from].device->context);
        if (on)
            cu->cuCtxEnablePeerAccess(made->gpus[pair->to].device->context, 0);
        else
            cu->cuCtxDisablePeerAccess(made->gpus[pair->to].device->context);
    }
}

/* Waits until every GPU has finished all work. Returns the first error. */
static xcu_result synchronise_all(struct xfp_made_stage *made)
{
    const struct xfp_driver *cu = made->sys->cu;
    xcu_result result = XCU_SUCCESS;

    for (size_t i = 0; i < made->sys->device_count; i++) {
        if (!made->gpus[i].used)
            continue;
        cu->cuCtxSetCurrent(made->gpus[i].device->context);
        xcu_result one = cu->cuCtxSynchronize();
        result = result ? result : one;
    }
    return result;
}

/* Undoes the registrations that are left; the driver reports which were undone. */
static void unregister(struct xfp_made_stage *made, const struct xfp_play_list *list)
{
    for (size_t t = 0; t < list->thread_count; t++)
        for (size_t i = 0; i < list->threads[t].count; i++) {
            const struct xfp_play_step *s = &list->threads[t].steps[i];

            if (s->what == XFP_PLAY_REGISTER)
                made->sys->cu->cuMemHostUnregister(made->regions[s->dst].host + s->dst_at);
        }
}

/* ---- threads -------------------------------------------------------------------------------- */

static void *be_member(void *argument)
{
    struct member *m = argument;
    struct xfp_play_run *run = m->taker->run;

    xfp_get_ready(m->taker);
    atomic_fetch_add(&run->ready, 1);
    while (!atomic_load(&run->begun) && !atomic_load(&run->stop))
        sched_yield();
    xfp_take_steps(m->taker);
    if (m->taker->result)
        atomic_store(&run->stop, true);
    return NULL;
}

/* Starts all threads but the first, which is the caller; returns the number of threads. */
static size_t start(struct xfp_play_run *run, struct member *members)
{
    size_t there = 1;

    for (; there < run->count; there++) {
        members[there].taker = &run->takers[there];
        if (pthread_create(&members[there].thread, NULL, be_member, &members[there]))
            break;
    }
    return there;
}

/* Returns the time when it began; 0: it did not. */
static uint64_t play_all(struct xfp_play_run *run, struct member *members)
{
    size_t there = start(run, members);
    uint64_t begun = 0;

    if (there == run->count) {
        while (atomic_load(&run->ready) + 1 < run->count)
            sched_yield();
        xfp_get_ready(&run->takers[0]);
        begun = xfp_driver_now_ns(run->made->sys->cu);
        atomic_store(&run->begun, true);
        xfp_take_steps(&run->takers[0]);
    }
    if (!begun || run->takers[0].result)
        atomic_store(&run->stop, true);
    for (size_t i = 1; i < there; i++)
        pthread_join(members[i].thread, NULL);
    return begun;
}

/* ---- what came of it ------------------------------------------------------------------------ */

static void sum_up(const struct xfp_play_run *run, uint64_t begun, struct xfp_played *played)
{
    uint64_t end = begun;

    for (size_t i = 0; i < run->count; i++) {
        const struct xfp_taker *t = &run->takers[i];

        end = t->ended_ns > end ? t->ended_ns : end;
        played->late_ns += t->late_ns;
        played->steps += atomic_load(&t->taken);
        played->failed += t->failed;
        if (t->result && !played->why[0])
            snprintf(played->why, sizeof(played->why), "step %zu of thread %zu: %s", t->at, i,
                     xfp_driver_reason(run->made->sys->cu, t->result));
    }
    played->wall_ns = (double)(end - begun);
}

static bool whole(const struct xfp_play_run *run)
{
    for (size_t i = 0; i < run->count; i++)
        if (atomic_load(&run->takers[i].taken) < run->takers[i].count)
            return false;
    return true;
}

static struct xfp_taker *make_takers(struct xfp_play_run *run, const struct xfp_play_list *list)
{
    struct xfp_taker *takers =
        aligned_alloc(_Alignof(struct xfp_taker), list->thread_count * sizeof(*takers));

    for (size_t i = 0; takers && i < list->thread_count; i++)
        takers[i] = (struct xfp_taker){.run = run,
                                       .steps = list->threads[i].steps,
                                       .count = list->threads[i].count,
                                       .device = -1};
    return takers;
}

static void play(struct xfp_play_run *run, const struct xfp_play_list *list, struct member *members,
                 struct xfp_played *played)
{
    uint64_t begun;

    run->deadline_ns = xfp_wall_ns() + list->give_up_ns;
    begun = play_all(run, members);
    if (begun)
        sum_up(run, begun, played);
    else
        snprintf(played->why, sizeof(played->why), "cannot start %zu threads", run->count);
}

int xfp_stage_play(struct xfp_made_stage *made, const struct xfp_play_list *list,
                   struct xfp_played *played)
{
    struct xfp_play_run run = {.made = made, .count = list->thread_count};
    struct member *members = NULL;
    xcu_result result_of_wait;

    *played = (struct xfp_played){0};
    if (!list_is_right(made, list, played->why, sizeof(played->why)))
        return -1;
    members = calloc(run.count, sizeof(*members));
    run.takers = make_takers(&run, list);
    run.crowded = run.count > (size_t)CPU_COUNT(&made->sys->affinity);
    set_pairs(made, list, true);
    result_of_wait = synchronise_all(made);
    if (!members || !run.takers)
        snprintf(played->why, sizeof(played->why), "out of memory");
    else if (result_of_wait)
        snprintf(played->why, sizeof(played->why), "%s",
                 xfp_driver_reason(made->sys->cu, result_of_wait));
    else
        play(&run, list, members, played);
    result_of_wait = synchronise_all(made);
    if (run.takers && !played->why[0] && result_of_wait)
        snprintf(played->why, sizeof(played->why), "%s",
                 xfp_driver_reason(made->sys->cu, result_of_wait));
    if (run.takers && !played->why[0] && !whole(&run))
        snprintf(played->why, sizeof(played->why), "stopped before its end");
    set_pairs(made, list, false);
    for (size_t i = 0; i < made->slot_count; i++)
        xfp_slot_release(made, (uint32_t)i);
    unregister(made, list);
    free(run.takers);
    free(members);
    return played->why[0] ? -1 : 0;
}
