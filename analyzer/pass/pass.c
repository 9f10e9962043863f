#include "analyzer/pass/pass.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/pass/join.h"

struct xfa_pass {
    struct xfa_classes *classes;
    const struct xfa_observer *observers;
    size_t observer_count;
    struct audience { /* observers, ended by NULL */
        const struct xfa_observer **members;
    } by_kind[XFA_EVENT_KINDS], transfers, copies;
    struct xfa_join *join;
    struct xfa_counts counts;
    const struct xfa_watch *watch;
    bool stopped;
    struct span { /* of a process's calls, on its own clock; 0 = none */
        uint64_t first_ns, last_ns, transfers;
        uint64_t kinds[XFA_EVENT_KINDS];
        double overhead_ns;
    } * spans;
    size_t span_count, span_capacity;
};

struct xfa_pass *xfa_pass_new(struct xfa_classes *classes, const struct xfa_observer *observers,
                              size_t count)
{
    struct xfa_pass *pass = xfa_alloc(sizeof *pass);
    pass->classes = classes;
    pass->observers = observers;
    pass->observer_count = count;
    for (size_t k = 0; k < XFA_EVENT_KINDS; k++)
        pass->by_kind[k].members = xfa_alloc((count + 1) * sizeof(struct xfa_observer *));
    pass->transfers.members = xfa_alloc((count + 1) * sizeof(struct xfa_observer *));
    pass->copies.members = xfa_alloc((count + 1) * sizeof(struct xfa_observer *));
    pass->join = xfa_join_new();
    return pass;
}

void xfa_pass_free(struct xfa_pass *pass)
{
    for (size_t k = 0; k < XFA_EVENT_KINDS; k++)
        free(pass->by_kind[k].members);
    free(pass->transfers.members);
    free(pass->copies.members);
    xfa_join_free(pass->join);
    free(pass->spans);
    free(pass);
}

/* ---- times of one transfer ---------------------------------------------------------------------
 */

/* Calls that return when the data is there, or (pageable memory) when it has been staged. A
 * synchronous copy between devices does not wait for its end. */
static bool blocks(const struct xfa_row_key *key, const struct xft_event *call)
{
    bool host = key->direction == XFT_DIR_H2D || key->direction == XFT_DIR_D2H ||
                key->direction == XFT_DIR_H2H;
    return host && (!key->async || xfa_row_pageable(key)) && call->end_ns > call->start_ns;
}

/*
 * The device moves pageable memory by way of the driver's own pinned buffer, and its timestamps
 * tell of that half alone. The transfer is what the program waits for: device to host, from the
 * start on the device until the call returns with the data; host to device, the call (which fills
 * the buffer, and may wait for earlier work first) and what the device still has to do afterwards.
 */
static double staged_ns(const struct xft_event *call, const struct xfa_device_copy *copy)
{
    double call_start = (double)call->start_ns, call_end = (double)call->end_ns;
    double start = (double)copy->start_ns, end = (double)copy->end_ns, device_ns = end - start;
    if (call->direction == XFT_DIR_D2H)
        return fmax(device_ns, fmax(call_end, end) - fmax(call_start, start));
    return fmax(device_ns, call_end - call_start + fmax(0, end - fmax(start, call_end)));
}

static bool is_staged(const struct xft_event *call)
{
    return (call->direction == XFT_DIR_H2D && call->src_mem == XFT_MEM_PAGEABLE) ||
           (call->direction == XFT_DIR_D2H && call->dst_mem == XFT_MEM_PAGEABLE);
}

/* Between GPUs by way of the host the driver copies piece by piece, and the device's timestamps are
 * those of the last piece, to the host and from it. The call may have waited for earlier work. */
static bool is_by_host(const struct xft_event *call, const struct xfa_device_copy *copy)
{
    return call->direction == XFT_DIR_P2P && copy->direction != XFT_DIR_P2P;
}

static void time_device(struct xfa_transfer *transfer, const struct xfa_device_copy *copy)
{
    const struct xft_event *call = transfer->event;
    transfer->device_start_ns = copy->start_ns;
    transfer->device_end_ns = copy->end_ns;
    transfer->timed = XFA_TIMED_DEVICE;
    transfer->achieved_ns = (double)(copy->end_ns - copy->start_ns);
    if (is_by_host(call, copy) && copy->end_ns > call->start_ns) {
        transfer->achieved_ns =
            fmax(transfer->achieved_ns, (double)copy->end_ns - (double)call->start_ns);
        transfer->timed = XFA_TIMED_HOST;
    }
    if (!is_staged(call))
        return;
    transfer->achieved_ns = staged_ns(call, copy);
    if (call->direction != XFT_DIR_D2H) /* the call may have waited for earlier work */
        transfer->timed = XFA_TIMED_HOST;
}

static void time_transfer(struct xfa_transfer *transfer, struct xfa_class *class,
                          const struct xfa_device_copy *copy)
{
    const struct xft_event *call = transfer->event;
    transfer->blocks = blocks(&class->key.row, call);
    transfer->host_ns = transfer->blocks ? (double)(call->end_ns - call->start_ns) : NAN;
    if (copy) {
        time_device(transfer, copy);
    } else if (transfer->blocks) {
        transfer->timed = XFA_TIMED_HOST;
        transfer->achieved_ns = transfer->host_ns;
    }
    transfer->achievable = xfa_achievable_time(&class->achievable, call->bytes);
    transfer->submit_ns = xfa_achievable_submit(&class->achievable, call->bytes);
    if (transfer->achievable.basis != XFP_UNKNOWN && transfer->timed != XFA_TIMED_NOT)
        transfer->lost_ns = fmax(0, transfer->achieved_ns - transfer->achievable.ns);
}

/* ---- handing over ------------------------------------------------------------------------------
 */

static void give_transfer(struct xfa_pass *pass, const struct xfa_waiting *waiting)
{
    const struct xfa_device_copy *copy = waiting->copies ? &waiting->copy : NULL;
    struct xfa_class *class = xfa_class_of(pass->classes, waiting->process, &waiting->event, copy);
    struct xfa_transfer transfer = {
        .process = waiting->process,
        .event = &waiting->event,
        .lane = waiting->lane,
        .tid = waiting->tid,
        .class = class,
        .achieved_ns = NAN,
        .lost_ns = NAN,
    };
    time_transfer(&transfer, class, copy);
    for (const struct xfa_observer **o = pass->transfers.members; *o; o++)
        (*o)->transfer((*o)->self, &transfer);
}

static void give_event(struct xfa_pass *pass, const struct xfa_step *step)
{
    for (const struct xfa_observer **o = pass->by_kind[step->event->kind].members; *o; o++)
        (*o)->event((*o)->self, step);
}

static void give_copy(struct xfa_pass *pass, const struct xfa_step *step)
{
    for (const struct xfa_observer **o = pass->copies.members; *o; o++)
        (*o)->copy((*o)->self, step);
}

static void release(struct xfa_pass *pass, bool last)
{
    const struct xfa_waiting *waiting;
    while ((waiting = xfa_join_pop(pass->join, last))) {
        if (xfa_moves(&waiting->event)) {
            give_transfer(pass, waiting);
        } else {
            struct xfa_step step = {waiting->process, &waiting->event, waiting->lane, waiting->tid};
            give_event(pass, &step);
        }
    }
}

/* ---- events ------------------------------------------------------------------------------------
 */

static struct span *span_of(struct xfa_pass *pass, const struct xfa_process *process)
{
    pass->spans = xfa_grown(pass->spans, &pass->span_capacity, &pass->span_count, process->number,
                            sizeof *pass->spans);
    return &pass->spans[process->number];
}

/* Calls of the host: not what the device did, nor (as it came to be) what runs are replayed from.
 */
static bool is_call(unsigned kind)
{
    return kind != XFT_EVENT_DEVICE_COPY && kind != XFT_EVENT_KERNEL && kind != XFT_EVENT_MEMSET &&
           kind != XFT_EVENT_MIGRATION && kind != XFT_EVENT_FAULT && kind < XFT_EVENT_LAUNCH;
}

static void extend(struct span *span, const struct xft_event *event)
{
    if (event->start_ns && (span->first_ns == 0 || event->start_ns < span->first_ns))
        span->first_ns = event->start_ns;
    if (event->end_ns > span->last_ns)
        span->last_ns = event->end_ns;
}

static void count_idle(struct xfa_counts *counts, const struct xft_event *event)
{
    if (event->flags & XFT_FAILED)
        counts->failed++;
    else if (event->flags & XFT_CAPTURED)
        counts->captured++;
    else
        counts->empty++; /* the device never hears of it */
}

static void take_event(struct xfa_pass *pass, struct xfa_process *process,
                       const struct xfa_merged *merged)
{
    const struct xft_event *event = merged->event;
    unsigned kind = event->kind;
    if (kind == XFT_EVENT_DEVICE_COPY) {
        struct xfa_step step = {process, event, merged->lane, merged->tid};
        give_copy(pass, &step);
        xfa_join_copy(pass->join, process, event);
        release(pass, false);
        return;
    }
    bool moves = xfa_moves(event);
    if (kind == XFT_EVENT_TRANSFER && !moves)
        count_idle(&pass->counts, event);
    if (!moves && (kind >= XFA_EVENT_KINDS || !*pass->by_kind[kind].members))
        return;
    if (!moves && !xfa_join_waits(pass->join)) {
        struct xfa_step step = {process, event, merged->lane, merged->tid};
        give_event(pass, &step);
        return;
    }
    xfa_join_push(pass->join, process, event, merged->lane, merged->tid);
    release(pass, false);
}

static void take_events(struct xfa_pass *pass, const struct xfa_events *events)
{
    struct span *span = span_of(pass, events->process);
    for (size_t i = 0; i < events->count; i++) {
        const struct xft_event *event = events->events[i].event;
        unsigned kind = event->kind;
        span->kinds[kind < XFA_EVENT_KINDS ? kind : 0] += !(event->flags & XFT_GRAPH);
        span->transfers += kind == XFT_EVENT_TRANSFER;
        if (kind == XFT_EVENT_OVERHEAD && event->end_ns > event->start_ns)
            span->overhead_ns += (double)(event->end_ns - event->start_ns);
        if (is_call(kind))
            extend(span, event);
        take_event(pass, events->process, &events->events[i]);
    }
}

static void join_audience(struct audience *audience, const struct xfa_observer *observer)
{
    size_t n = 0;
    while (audience->members[n])
        n++;
    audience->members[n] = observer;
    audience->members[n + 1] = NULL;
}

/* Who is to be told of what, in this process. */
static void open_process(struct xfa_pass *pass, struct xfa_process *process)
{
    xfa_classes_process(pass->classes);
    pass->transfers.members[0] = pass->copies.members[0] = NULL;
    for (size_t k = 0; k < XFA_EVENT_KINDS; k++)
        pass->by_kind[k].members[0] = NULL;
    for (size_t i = 0; i < pass->observer_count; i++) {
        const struct xfa_observer *o = &pass->observers[i];
        uint32_t kinds = o->process ? o->kinds & o->process(o->self, process) : o->kinds;
        for (size_t k = 0; o->event && k < XFA_EVENT_KINDS; k++)
            if (kinds & XFA_KIND(k))
                join_audience(&pass->by_kind[k], o);
        if (o->transfer)
            join_audience(&pass->transfers, o);
        if (o->copy)
            join_audience(&pass->copies, o);
    }
}

void xfa_pass_watch(struct xfa_pass *pass, const struct xfa_watch *watch)
{
    pass->watch = watch;
}

void xfa_pass_stop(struct xfa_pass *pass)
{
    pass->stopped = true;
}

void xfa_pass_walk(struct xfa_pass *pass, struct xfa_process *process)
{
    struct xfa_events events;
    open_process(pass, process);
    struct xfa_stream *stream = xfa_stream_new(&process, 1);
    while (!pass->stopped && xfa_stream_next(stream, &events)) {
        take_events(pass, &events);
        if (pass->watch)
            pass->watch->read(pass->watch->self, xfa_stream_part(stream));
    }
    release(pass, true);
    xfa_join_end(pass->join);
    xfa_stream_free(stream);
    for (size_t i = 0; i < pass->observer_count; i++)
        if (pass->observers[i].end)
            pass->observers[i].end(pass->observers[i].self, process);
    const struct span *span = span_of(pass, process);
    xfa_process_close(process, span->first_ns, span->last_ns);
}

struct xfa_counts xfa_pass_counts(const struct xfa_pass *pass)
{
    struct xfa_counts counts = pass->counts;
    const struct xfa_unjoined *unjoined = xfa_join_unjoined(pass->join);
    counts.device_only = unjoined->copies;
    counts.device_only_bytes = unjoined->bytes;
    counts.late = unjoined->late;
    return counts;
}

uint64_t xfa_pass_transfers(const struct xfa_pass *pass, uint32_t process)
{
    return process < pass->span_count ? pass->spans[process].transfers : 0;
}

const uint64_t *xfa_pass_kinds(const struct xfa_pass *pass, uint32_t process)
{
    return process < pass->span_count ? pass->spans[process].kinds : NULL;
}

double xfa_pass_overhead_ns(const struct xfa_pass *pass, uint32_t process)
{
    return process < pass->span_count ? pass->spans[process].overhead_ns : 0;
}
