#include "analyzer/pass/pass.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/crew.h"
#include "analyzer/pass/ahead.h"
#include "analyzer/pass/aside.h"
#include "analyzer/pass/first_call.h"
#include "analyzer/pass/join.h"
#include "analyzer/pass/samples.h"
#include "analyzer/pass/walked.h"

static xfa_unended_fn give_unended;

struct xfa_pass {
    struct xfa_classes *classes;
    const struct xfa_observer *observers;
    size_t observer_count;
    struct xfa_audience here; /* called in this thread */
    struct xfa_aside *aside;  /* those that may be called in another; NULL: there are none */
    struct xfa_join *join;
    struct xfa_ranges *ranges;
    struct xfa_samples samples;
    bool follows;                        /* the process's ranges, where an observer wants them */
    uint64_t last_call_ns;               /* of the process at hand */
    struct xfa_counts counts, elsewhere; /* elsewhere: of processes that are not walked over */
    const struct xfa_watch *watch;
    bool stopped;
    struct walk { /* over a process */
        struct xfa_walked_span span;
        struct xfa_first_call first;
        struct xfa_counts counts;  /* its part of all */
        uint64_t touched;          /* observers */
        size_t class, class_count; /* the first that was new, and how many were */
    } * walks;
    size_t walk_count, walk_capacity;
    const struct xfa_survey *survey; /* NULL: there was none */
};

struct xfa_pass *xfa_pass_new(struct xfa_classes *classes, const struct xfa_observer *observers,
                              size_t count)
{
    struct xfa_pass *pass = xfa_alloc(sizeof *pass);
    pass->classes = classes;
    pass->observers = observers;
    pass->observer_count = count;
    xfa_audience_init(&pass->here, count);
    for (size_t i = 0; i < count; i++)
        if (observers[i].aside && !pass->aside)
            pass->aside = xfa_aside_new(count, xfa_aside_threads(xfa_processors()));
    pass->join = xfa_join_new();
    pass->ranges = xfa_ranges_new(give_unended, pass);
    xfa_samples_init(&pass->samples);
    for (size_t i = 0; i < count; i++)
        if (observers[i].pass)
            observers[i].pass(observers[i].self, classes);
    return pass;
}

void xfa_pass_free(struct xfa_pass *pass)
{
    xfa_audience_free(&pass->here);
    xfa_aside_free(pass->aside);
    xfa_join_free(pass->join);
    xfa_ranges_free(pass->ranges);
    xfa_samples_free(&pass->samples);
    free(pass->walks);
    free(pass);
}

/* ---- times of one transfer ------------------------------------------------------------------- */

/* Calls that return when the data is there, or (pageable memory) when it has been staged. A
 * synchronous copy between devices does not wait for its end. */
static bool blocks(const struct xfa_row_key *key, const struct xfa_event *call)
{
    bool host = key->direction == XFT_DIR_H2D || key->direction == XFT_DIR_D2H ||
                key->direction == XFT_DIR_H2H;
    return host && (!key->async || xfa_row_pageable(key)) && call->end_ns > call->start_ns;
}

/*
 * The device moves pageable memory by way of the driver's own pinned buffer, and its timestamps are
 * of that half alone. The transfer is what the program waits for: device to host, from the start on
 * the device until the call returns with the data; host to device, the call (which fills the
 * buffer, and may wait for earlier work first) and what the device still has to do afterwards.
 */
static double staged_ns(const struct xfa_event *call)
{
    const struct xfa_device_copy *copy = &call->transfer.device;
    double call_start = (double)call->start_ns, call_end = (double)call->end_ns;
    double start = (double)copy->start_ns, end = (double)copy->end_ns, device_ns = end - start;
    if (call->direction == XFT_DIR_D2H)
        return fmax(device_ns, fmax(call_end, end) - fmax(call_start, start));
    return fmax(device_ns, call_end - call_start + fmax(0, end - fmax(start, call_end)));
}

static bool is_staged(const struct xfa_event *call)
{
    return (call->direction == XFT_DIR_H2D && call->src_mem == XFT_MEM_PAGEABLE) ||
           (call->direction == XFT_DIR_D2H && call->dst_mem == XFT_MEM_PAGEABLE);
}

/* Between GPUs by way of the host the driver copies piece by piece, and the device's timestamps are
 * those of the last piece, to the host and from it. The call may have waited for earlier work. */
static bool is_by_host(const struct xfa_event *call)
{
    return call->direction == XFT_DIR_P2P && call->transfer.device.direction != XFT_DIR_P2P;
}

static void time_device(struct xfa_event *call)
{
    struct xfa_transfer *transfer = &call->transfer;
    const struct xfa_device_copy *copy = &transfer->device;
    transfer->timed = XFA_TIMED_DEVICE;
    transfer->achieved_ns = (double)(copy->end_ns - copy->start_ns);
    if (is_by_host(call) && copy->end_ns > call->start_ns) {
        transfer->achieved_ns =
            fmax(transfer->achieved_ns, (double)copy->end_ns - (double)call->start_ns);
        transfer->timed = XFA_TIMED_HOST;
    }
    if (!is_staged(call))
        return;
    transfer->achieved_ns = staged_ns(call);
    if (call->direction != XFT_DIR_D2H) /* the call may have waited for earlier work */
        transfer->timed = XFA_TIMED_HOST;
}

/* Recording gave way: there are records of other transfers of this class. The host's time in a call
 * that blocks is an upper bound, and of pageable memory all that the transfer takes. */
static void time_by_others(struct xfa_event *call, struct xfa_samples *samples, uint32_t class)
{
    const uint64_t least = 3; /* else the host's time, where there is one */
    struct xfa_transfer *transfer = &call->transfer;
    if (transfer->timed == XFA_TIMED_DEVICE) {
        xfa_samples_add(samples, class, call);
        return;
    }
    if (transfer->device.count || is_staged(call))
        return;
    struct xfa_sampled_time sample = xfa_samples_of(samples, class, call->bytes);
    if (sample.count < (transfer->timed == XFA_TIMED_HOST ? least : 1))
        return;
    transfer->timed = XFA_TIMED_SAMPLE;
    transfer->achieved_ns =
        transfer->blocks ? fmin(sample.mean_ns, transfer->host_ns) : sample.mean_ns;
    transfer->sample_error =
        sample.mean_ns > 0 ? (float)(sample.deviation_ns / sample.mean_ns) : NAN;
    transfer->class_error = (float)sample.error;
}

static void time_transfer(struct xfa_event *call, struct xfa_class *class,
                          struct xfa_samples *samples)
{
    struct xfa_transfer *transfer = &call->transfer;
    transfer->blocks = blocks(&class->key.row, call);
    transfer->host_ns = transfer->blocks ? xfa_event_ns(call) : NAN;
    transfer->achieved_ns = transfer->lost_ns = NAN;
    if (transfer->device.count) {
        time_device(call);
    } else if (transfer->blocks) {
        transfer->timed = XFA_TIMED_HOST;
        transfer->achieved_ns = transfer->host_ns;
    }
    if (call->process->sampled)
        time_by_others(call, samples, class->number);
    transfer->achievable = xfa_achievable_time(&class->achievable, call->bytes);
    transfer->submit_ns = xfa_achievable_submit(&class->achievable, call->bytes);
    if (transfer->achievable.basis != XFP_UNKNOWN && transfer->timed != XFA_TIMED_NOT)
        transfer->lost_ns = fmax(0, transfer->achieved_ns - transfer->achievable.ns);
}

/* ---- handing over ---------------------------------------------------------------------------- */

/* Memory of another process (CUDA IPC) lies by the driver's word on the GPU that it was opened for,
 * so that a copy of it looks as if it were within that one. The device's record says where. */
static void place_by_record(struct xfa_event *event)
{
    const struct xfa_device_copy *copy = &event->transfer.device;
    if (event->direction != XFT_DIR_D2D || copy->count == 0 || copy->direction != XFT_DIR_P2P ||
        copy->src_place < 0 || copy->dst_place < 0)
        return;
    event->direction = XFT_DIR_P2P;
    event->src_place = copy->src_place;
    event->dst_place = copy->dst_place;
}

static void give_transfer(struct xfa_pass *pass, struct xfa_event *event)
{
    place_by_record(event);
    struct xfa_class *class = xfa_class_of(pass->classes, event);
    event->transfer.class = class;
    event->range = pass->follows ? xfa_ranges_around(pass->ranges, event) : NULL;
    time_transfer(event, class, &pass->samples);
    xfa_tell_transfer(&pass->here, event);
    if (pass->aside)
        xfa_aside_transfer(pass->aside, event);
}

static void give_event(struct xfa_pass *pass, struct xfa_event *event)
{
    if (xfa_is_range(event->kind))
        event->range = xfa_ranges_take(pass->ranges, event);
    xfa_tell_event(&pass->here, event);
    if (pass->aside)
        xfa_aside_event(pass->aside, event);
}

static void give_unended(void *self, const struct xfa_range *range, enum xfa_unended why,
                         uint64_t end_ns)
{
    const struct xfa_pass *pass = self;
    xfa_tell_unended(&pass->here, range, why, end_ns);
    if (pass->aside)
        xfa_aside_unended(pass->aside, range, why, end_ns);
}

static void give_copy(struct xfa_pass *pass, const struct xfa_event *event)
{
    xfa_tell_copy(&pass->here, event);
    if (pass->aside)
        xfa_aside_copy(pass->aside, event);
}

static void release(struct xfa_pass *pass, bool last)
{
    struct xfa_event *event;
    while ((event = xfa_join_pop(pass->join, last))) {
        if (xfa_event_moves(event))
            give_transfer(pass, event);
        else
            give_event(pass, event);
    }
}

/* ---- events ---------------------------------------------------------------------------------- */

static struct walk *walk_of(struct xfa_pass *pass, const struct xfa_process *process)
{
    pass->walks = xfa_grown(pass->walks, &pass->walk_capacity, &pass->walk_count, process->number,
                            sizeof *pass->walks);
    return &pass->walks[process->number];
}

/* Calls of the host: not what the device did, nor (as it came to be) what runs are replayed from.
 */
static bool is_call(unsigned kind)
{
    return kind < XFT_EVENT_LAUNCH && !xft_is_one_of(kind, XFT_KINDS_OF(XFT_OF_DEVICE));
}

static void extend(struct xfa_walked_span *span, const struct xfa_event *event)
{
    if (event->start_ns && (span->first_ns == 0 || event->start_ns < span->first_ns))
        span->first_ns = event->start_ns;
    if (event->end_ns > span->last_ns)
        span->last_ns = event->end_ns;
}

static void count_idle(struct xfa_counts *counts, const struct xfa_event *event)
{
    if (event->flags & XFT_FAILED)
        counts->failed++;
    else if (event->flags & XFT_CAPTURED)
        counts->captured++;
    else
        counts->empty++; /* the device has no record of it */
}

static bool is_wanted(const struct xfa_pass *pass, unsigned kind)
{
    return *pass->here.by_kind[kind].members || (pass->aside && xfa_aside_wants(pass->aside, kind));
}

static void take_event(struct xfa_pass *pass, struct xfa_event *event)
{
    unsigned kind = event->kind;
    if (kind == XFT_EVENT_DEVICE_COPY) {
        give_copy(pass, event);
        xfa_join_copy(pass->join, event);
        release(pass, false);
        return;
    }
    bool moves = xfa_event_moves(event);
    if (kind == XFT_EVENT_TRANSFER && !moves)
        count_idle(&pass->counts, event);
    bool wanted =
        kind < XFA_EVENT_KINDS && (is_wanted(pass, kind) || (xfa_is_range(kind) && pass->follows));
    if (!moves && !wanted)
        return;
    if (!moves && !xfa_join_waits(pass->join)) {
        give_event(pass, event);
        return;
    }
    xfa_join_push(pass->join);
    release(pass, false);
}

static void count_event(struct xfa_pass *pass, struct xfa_walked_span *span,
                        const struct xfa_event *event)
{
    unsigned kind = event->kind;
    span->kinds[kind < XFA_EVENT_KINDS ? kind : 0] += !(event->flags & XFT_GRAPH);
    span->transfers += kind == XFT_EVENT_TRANSFER;
    if (kind == XFT_EVENT_OVERHEAD)
        span->overhead_ns += xfa_event_ns(event);
    if (is_call(kind))
        extend(span, event);
    if (xfa_is_of_thread(kind) && event->end_ns > pass->last_call_ns)
        pass->last_call_ns = event->end_ns;
}

/* Each is read to where it may have to wait. */
static void take_events(struct xfa_pass *pass, struct xfa_process *process,
                        const struct xfa_merged *rows, size_t count)
{
    struct walk *walk = walk_of(pass, process);
    for (size_t i = 0; i < count; i++) {
        struct xfa_event *event = xfa_join_room(pass->join);
        xfa_event_read(event, process, &rows[i]);
        if (!process->periods) /* else it is not the process's first call */
            xfa_first_call_take(&walk->first, event);
        count_event(pass, &walk->span, event);
        take_event(pass, event);
    }
}

/* ---- who sees which process ------------------------------------------------------------------ */

static const struct xfa_walked *known_of(const struct xfa_pass *pass,
                                         const struct xfa_process *process)
{
    const struct xfa_survey *survey = pass->survey;
    return survey && process->number < survey->count ? &survey->processes[process->number] : NULL;
}

static bool sees(const struct xfa_pass *pass, size_t i, const struct xfa_process *process)
{
    const struct xfa_observer *o = &pass->observers[i];
    const struct xfa_walked *known = known_of(pass, process);
    if (xfa_process_is_mine(process))
        return true;
    if (o->shared || (known && o->divided))
        return false;
    return !known || !o->touched || i >= pass->survey->observers || known->touched >> i & 1;
}

/* Which observer gets which events of this process. False: nobody gets any. */
static bool open_process(struct xfa_pass *pass, struct xfa_process *process)
{
    bool any = false;
    pass->last_call_ns = 0;
    xfa_audience_empty(&pass->here);
    if (pass->aside)
        xfa_aside_empty(pass->aside);
    for (size_t i = 0; i < pass->observer_count; i++) {
        const struct xfa_observer *o = &pass->observers[i];
        bool seen = sees(pass, i, process);
        uint64_t kinds = o->kinds;
        if (o->process && (seen || o->meets))
            kinds &= o->process(o->self, process);
        if (seen && o->aside)
            xfa_aside_add(pass->aside, o, kinds);
        else if (seen)
            xfa_audience_add(&pass->here, o, kinds);
        any = any || seen;
    }
    pass->follows = is_wanted(pass, XFT_EVENT_RANGE_BEGIN) || is_wanted(pass, XFT_EVENT_RANGE_END);
    return any;
}

static void end_process(struct xfa_pass *pass, struct xfa_process *process)
{
    struct walk *walk = walk_of(pass, process);
    if (pass->aside)
        xfa_aside_catch_up(pass->aside);
    for (size_t i = 0; i < pass->observer_count; i++) {
        const struct xfa_observer *o = &pass->observers[i];
        bool seen = sees(pass, i, process);
        if (o->end && (seen || o->meets))
            o->end(o->self, process);
        if (seen && o->touched && i < XFA_SURVEYED_OBSERVERS && o->touched(o->self))
            walk->touched |= (uint64_t)1 << i;
    }
}

void xfa_pass_watch(struct xfa_pass *pass, const struct xfa_watch *watch)
{
    pass->watch = watch;
}

void xfa_pass_by_survey(struct xfa_pass *pass, const struct xfa_survey *survey)
{
    pass->survey = survey;
}

void xfa_pass_stop(struct xfa_pass *pass)
{
    pass->stopped = true;
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* times: 1, or -1. */
static void add_counts(struct xfa_counts *into, const struct xfa_counts *more, uint64_t times)
{
    into->failed += times * more->failed;
    into->captured += times * more->captured;
    into->empty += times * more->empty;
    into->device_only += times * more->device_only;
    into->device_only_bytes += times * more->device_only_bytes;
    into->late += times * more->late;
    into->ranges.stray_ends += times * more->ranges.stray_ends;
    into->ranges.unended += times * more->ranges.unended;
    into->ranges.beyond += times * more->ranges.beyond;
}

/* merge: NULL, or of the process; freed. */
static void walk_over(struct xfa_pass *pass, struct xfa_process *process, struct xfa_merge *merge)
{
    const struct xfa_merged *rows;
    size_t count;
    struct xfa_ahead *ahead = xfa_ahead_new(merge ? merge : xfa_merge_new(process->trace),
                                            xfa_processors() >= XFA_AHEAD_PROCESSORS);
    while (!pass->stopped && (count = xfa_ahead_next(ahead, &rows)) > 0) {
        take_events(pass, process, rows, count);
        if (pass->watch)
            pass->watch->read(pass->watch->self, xfa_ahead_part(ahead));
    }
    release(pass, true);
    xfa_ahead_free(ahead);
    xfa_join_end(pass->join);
    xfa_ranges_end(pass->ranges, pass->last_call_ns);
}

/* Observers of the process see it; else what others met is taken for it. */
static void walk_or_take(struct xfa_pass *pass, struct xfa_process *process,
                         struct xfa_merge *merge)
{
    const struct xfa_walked *known = known_of(pass, process);
    struct walk *walk = walk_of(pass, process);
    struct xfa_counts before = xfa_pass_counts(pass);
    walk->class = pass->classes->classes.count;
    if (open_process(pass, process) || !known) {
        walk_over(pass, process, merge);
        walk = walk_of(pass, process);
        walk->counts = xfa_pass_counts(pass);
        add_counts(&walk->counts, &before, (uint64_t)-1);
    } else {
        walk->span = known->span;
        add_counts(&pass->elsewhere, &known->counts, 1);
    }
    end_process(pass, process);
    walk->class_count = pass->classes->classes.count - walk->class;
}

/* What the one who walked over it could not read. */
static void take_losses(struct xfa_process *process, const struct xfa_walked *known)
{
    process->loss = known->loss;
    free(process->losses);
    process->losses = known->losses ? xfa_text(known->losses) : NULL;
}

static void meet(struct xfa_pass *pass, struct xfa_process *process, const struct xfa_walked *known)
{
    struct xfa_team *team = process->run->team;
    if (!xfa_walked_meet(known, process, pass->classes) && team)
        team->fail(team->self, xfa_print("%s is not what rank %u has read: let one of them analyze",
                                         process->file, process->share));
}

/* Of a process whose member is chosen. merge: as above. */
static void walk_and_close(struct xfa_pass *pass, struct xfa_process *process,
                           struct xfa_merge *merge)
{
    const struct xfa_walked *known = known_of(pass, process);
    if (known)
        meet(pass, process, known);
    walk_or_take(pass, process, merge);
    const struct xfa_walked_span *span = &walk_of(pass, process)->span;
    process->has_ranges = span->kinds[XFT_EVENT_RANGE_BEGIN] > 0;
    process->has_messages = span->kinds[XFT_EVENT_MESSAGE] > 0;
    xfa_process_close(process, span->first_ns, span->last_ns);
    if (known)
        take_losses(process, known);
}

void xfa_pass_walk(struct xfa_pass *pass, struct xfa_process *process)
{
    const struct xfa_walked *known = known_of(pass, process);
    struct xfa_merge *merge = known ? NULL : xfa_merge_new(process->trace);
    process->events = known ? known->events : xfa_merge_rows(merge);
    xfa_process_share(process);
    walk_and_close(pass, process, merge);
}

void xfa_pass_survey(struct xfa_pass *pass, struct xfa_process *process, bool walks)
{
    struct xfa_merge *merge = xfa_merge_new(process->trace);
    process->events = xfa_merge_rows(merge);
    xfa_process_share(process);
    if (walks && xfa_process_is_mine(process)) {
        walk_and_close(pass, process, merge);
        return;
    }
    xfa_merge_free(merge);
    xfa_process_let_go(process);
}

/* ---- what it came to ------------------------------------------------------------------------- */

struct xfa_counts xfa_pass_counts(const struct xfa_pass *pass)
{
    struct xfa_counts counts = pass->counts;
    const struct xfa_unjoined *unjoined = xfa_join_unjoined(pass->join);
    counts.device_only = unjoined->copies;
    counts.device_only_bytes = unjoined->bytes;
    counts.late = unjoined->late;
    counts.ranges = xfa_ranges_counts(pass->ranges);
    add_counts(&counts, &pass->elsewhere, 1);
    return counts;
}

uint64_t xfa_pass_transfers(const struct xfa_pass *pass, uint32_t process)
{
    return process < pass->walk_count ? pass->walks[process].span.transfers : 0;
}

const uint64_t *xfa_pass_kinds(const struct xfa_pass *pass, uint32_t process)
{
    return process < pass->walk_count ? pass->walks[process].span.kinds : NULL;
}

double xfa_pass_overhead_ns(const struct xfa_pass *pass, uint32_t process)
{
    return process < pass->walk_count ? pass->walks[process].span.overhead_ns : 0;
}

static struct xfa_walked_class class_of(const struct xfa_pass *pass, size_t number)
{
    const struct xfa_run *run = pass->classes->run;
    const struct xfa_class_key *key = &xfa_class_at(pass->classes, number)->key;
    uint32_t runtime = key->row.runtime_function;
    struct xfa_walked_class class;
    memset(&class, 0, sizeof class); /* padding, too */
    class.site = xfa_run_site(run, key->row.site)->identity;
    class.function = xfa_run_function_identity(run, key->row.function);
    class.runtime_function = runtime ? xfa_run_function_identity(run, runtime - 1) : 0;
    class.key = *key;
    return class;
}

void xfa_pass_walked(const struct xfa_pass *pass, const struct xfa_process *process,
                     struct xfa_walked *walked)
{
    const struct walk *walk = &pass->walks[process->number];
    *walked = (struct xfa_walked){.events = process->events,
                                  .span = walk->span,
                                  .counts = walk->counts,
                                  .loss = process->loss,
                                  .losses = process->losses ? xfa_text(process->losses) : NULL,
                                  .touched = walk->touched,
                                  .lookup_count = process->lookup_count,
                                  .class_count = walk->class_count};
    walked->lookups = xfa_alloc((process->lookup_count + 1) * sizeof *walked->lookups);
    walked->classes = xfa_alloc((walk->class_count + 1) * sizeof *walked->classes);
    for (size_t i = 0; i < process->lookup_count; i++)
        walked->lookups[i] = process->lookups[i];
    for (size_t i = 0; i < walk->class_count; i++)
        walked->classes[i] = class_of(pass, walk->class + i);
}
