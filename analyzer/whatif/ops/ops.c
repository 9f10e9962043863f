#include "analyzer/whatif/ops/ops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/ops/op_numbers.h"
#include "analyzer/whatif/ops/ops_link.h"
#include "analyzer/whatif/ops/ops_managed.h"
#include "analyzer/whatif/ops/ops_messages.h"
#include "analyzer/whatif/ops/ops_overhead.h"
#include "analyzer/whatif/ops/ops_profile.h"
#include "analyzer/whatif/ops/ops_queue.h"
#include "analyzer/whatif/op/recording_cost.h"

struct xfw_ops {
    struct xfw_sink sink;
    struct xfw_records_costs costs;
    struct xfw_ops_queue *queue;
    struct xfw_numbers numbers;
    struct xfa_process *process;
    struct xfw_thread *thread; /* of the op that was begun last */
    uint64_t transfers;        /* so far */
    uint32_t records;          /* enum xft_records: those that are recorded */
    struct xfw_ops_profile profile;
    bool stopped, messages; /* these are ops, too */
    bool called;            /* the driver, so far */
    bool functions;         /* streams have called such of the host */
    bool one_of_several;    /* it is a rank: MPI's calls may be matched */
    struct xfw_nccl nccl;
    struct xfw_held held;
    struct xfw_moves moves;
    struct xfw_readers readers;
};

struct xfw_ops *xfw_ops_new(const struct xfw_sink *sink)
{
    struct xfw_ops *ops = xfa_alloc(sizeof *ops);
    ops->sink = *sink;
    ops->queue = xfw_ops_queue_new(sink, &ops->costs);
    return ops;
}

void xfw_ops_free(struct xfw_ops *ops)
{
    if (!ops)
        return;
    xfw_numbers_free(&ops->numbers);
    xfw_moves_end(&ops->moves);
    xfw_readers_end(&ops->readers);
    xfw_ops_queue_free(ops->queue);
    free(ops);
}

void xfw_ops_take_messages(struct xfw_ops *ops)
{
    ops->messages = true;
}

bool xfw_ops_range_name(const struct xfw_ops *ops, uint32_t range, uint64_t *name)
{
    return xfw_range_name(&ops->numbers, range, name);
}

/* ---- an op ----------------------------------------------------------------------------------- */

static void set_addresses(struct xfw_op *op, const struct xfa_event *event)
{
    switch ((enum xft_event_kind)event->kind) {
    case XFT_EVENT_TRANSFER:
        op->src = event->transfer.src;
        op->dst = event->transfer.dst;
        break;
    case XFT_EVENT_ALLOC:
    case XFT_EVENT_FREE:
    case XFT_EVENT_REGISTER:
    case XFT_EVENT_UNREGISTER:
    case XFT_EVENT_SET:
        op->dst = event->memory.address;
        break;
    case XFT_EVENT_PREFETCH:
    case XFT_EVENT_ADVISE:
        op->src = event->managed.address;
        break;
    default: /* it is about no memory */
        break;
    }
}

static struct xfw_op begin_op(struct xfw_ops *ops, const struct xfa_event *event,
                              enum xfw_what what)
{
    struct xfw_thread *thread = ops->thread = xfw_thread_of(&ops->numbers, event->tid);
    struct xfw_moved fetched = thread->fetched;
    ops->costs.own_ns = (double)(int64_t)(event->start_ns - thread->end_ns);
    const uint64_t before_ns = xfw_thread_calls(thread, event);
    uint64_t opening_ns = thread->opening_ns, worked_ns = thread->worked_ns;
    uint64_t overhead_ns = xfw_overhead_before(thread, event);
    thread->fetched = (struct xfw_moved){0};
    thread->worked_ns = thread->opening_ns = 0;
    struct xfw_op op = xfw_op_none();
    op.what = (uint8_t)what;
    op.kind = event->kind;
    op.gpu = (int16_t)(event->gpu < 0 ? -1 : event->gpu);
    op.stream_gpu = -1;
    op.thread = thread->number;
    op.tid = event->tid;
    op.last = event->last;
    op.start_ns = xfw_max(0, xfw_ops_queue_time(ops->queue, event->start_ns));
    op.end_ns = xfw_ops_queue_time(ops->queue, event->end_ns);
    op.bytes = event->bytes;
    set_addresses(&op, event);
    op.memory = event->dst_mem;
    op.fetched = fetched;
    op.overhead_ns = (double)overhead_ns;
    op.opening_ns = (double)opening_ns;
    op.worked_ns = (double)worked_ns;
    if (xfw_pace_has_left(&thread->pace))
        xfw_pace_before(&thread->pace, event, before_ns, &op);
    if (what != XFW_RANGE && what != XFW_MESSAGE) {
        op.opens = !ops->called;
        ops->called = true;
    }
    return op;
}

static void to_stream(struct xfw_ops *ops, struct xfw_op *op, const struct xfa_event *event)
{
    const struct xfw_stream *stream = xfw_stream_of(&ops->numbers, event);
    op->stream = stream->number;
    op->stream_kind = stream->kind;
    op->gpu = (int16_t)(stream->gpu >= 0 ? stream->gpu : op->gpu);
    op->stream_gpu = op->gpu;
}

static void add_costs(struct xfw_ops *ops, struct xfw_op *op, bool blocks)
{
    op->hook_ns = ops->process->costs[op->kind].ns;
    ops->costs.own_ns -= op->hook_ns; /* of the call before, which was alike if it counts */
    if (ops->records)
        xfw_records_costs_add(&ops->costs, op, blocks, ops->records, &ops->thread->behind);
}

static bool one_engine(struct xfw_ops *ops, int gpu)
{
    return xfw_ops_profile_gpu(&ops->profile, gpu)->one_engine;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void launch(struct xfw_ops *ops, const struct xfa_event *event, enum xfw_what what)
{
    struct xfw_op op = begin_op(ops, event, what);
    bool captured = event->flags & XFT_CAPTURED;
    bool comes = what == XFW_SET             ? ops->records & XFT_RECORDS_COPIES
                 : what == XFW_HOST_FUNCTION ? false
                                             : ops->records & XFT_RECORDS_KERNELS;
    op.what = (uint8_t)(captured ? XFW_CALL : what);
    if (!captured) {
        to_stream(ops, &op, event);
        op.engine = what == XFW_HOST_FUNCTION ? XFW_NO_ENGINE : XFW_COMPUTE;
        op.one_engine = what == XFW_GRAPH && one_engine(ops, op.gpu);
        op.exclusive = false;
    }
    if (what == XFW_KERNEL) {
        op.transfer = ops->transfers;
        op.correlation = xfw_nccl_has(&ops->nccl, event->correlation) ? event->correlation : 0;
        op.arguments = (uint32_t)event->launch.arguments;
        op.name = (uint32_t)event->launch.name;
        op.threads = event->launch.threads;
        xfw_moves_launch(&ops->moves, &op);
        if (!captured)
            xfw_readers_launch(&ops->readers, ops->profile.achievable, &op);
    } else if (what == XFW_GRAPH) {
        op.stack = op.from = event->stack;
        op.threads = event->launched.exec;
        op.arguments = (uint32_t)event->launched.copies;
    } else if (what == XFW_HOST_FUNCTION) {
        op.stack = event->stack;
        op.reach_ns = xfw_ops_profile_gpu(&ops->profile, op.gpu)->hold_ns;
    }
    add_costs(ops, &op, false);
    struct xfw_pending *pending = xfw_ops_queue_push(ops->queue, &op);
    if (!captured && comes)
        xfw_ops_queue_expect(ops->queue, pending, event->correlation, what == XFW_GRAPH);
}

static void prefetch(struct xfw_ops *ops, const struct xfa_event *event)
{
    struct xfw_op op = begin_op(ops, event, XFW_PREFETCH);
    to_stream(ops, &op, event);
    op.engine = event->dst_place == XFT_PLACE_HOST ? XFW_TO_HOST : XFW_TO_DEVICE;
    op.exclusive = true;
    op.one_engine = one_engine(ops, op.gpu);
    enum xft_direction direction = op.engine == XFW_TO_HOST ? XFT_DIR_D2H : XFT_DIR_H2D;
    op.reach_ns = /* of its record only the end is known (recorded.c) */
        xfw_moving_of(ops->profile.achievable, XFP_PREFETCH, direction, op.gpu, event->bytes)
            .estimate.ns;
    if (event->managed.count > 0) /* else a further range of the call before */
        add_costs(ops, &op, false);
    struct xfw_pending *pending = xfw_ops_queue_push(ops->queue, &op);
    xfw_ops_queue_expect_moves(ops->queue, pending, event->managed.address, event->bytes);
}

static void wait(struct xfw_ops *ops, const struct xfa_event *event, enum xfw_what what)
{
    static const uint8_t awaits[] = {XFW_AWAITS_NOTHING, XFW_AWAITS_EVENT, XFW_AWAITS_STREAM,
                                     XFW_AWAITS_DEVICE};
    struct xfw_op op = begin_op(ops, event, what);
    op.awaits = awaits[event->wait.what];
    if (op.awaits == XFW_AWAITS_STREAM)
        to_stream(ops, &op, event);
    if (op.awaits == XFW_AWAITS_EVENT)
        op.event = xfw_event_of(&ops->numbers, event->wait.event);
    op.stack = event->stack;
    if (what == XFW_QUERY && event->wait.queries > 0) {
        op.polled_ns = (double)event->wait.polled_ns;
        op.since_ns = (double)event->wait.since_ns;
        op.queries = event->wait.queries;
        op.polled_waits = xfa_polled_is_wait(&event->wait);
    }
    add_costs(ops, &op, false);
    xfw_ops_queue_wait(ops->queue, &op, event->end_ns);
    xfw_ops_queue_push(ops->queue, &op);
}

static void event_call(struct xfw_ops *ops, const struct xfa_event *event, enum xfw_what what)
{
    struct xfw_op op = begin_op(ops, event, what);
    if (!(event->flags & XFT_CAPTURED)) {
        to_stream(ops, &op, event);
        op.event = xfw_event_of(&ops->numbers, event->wait.event);
    }
    add_costs(ops, &op, false);
    xfw_ops_queue_push(ops->queue, &op);
}

/* One that failed changed nothing. */
static void about_graph(struct xfw_op *op, const struct xfa_event *event)
{
    op->dst = event->graph.exec;
    op->src = event->graph.form;
    op->threads = event->graph.nodes;
    op->memory = event->flags & XFT_FAILED ? 0 : event->graph.what;
}

static void call(struct xfw_ops *ops, const struct xfa_event *event)
{
    struct xfw_op op = begin_op(ops, event, XFW_CALL);
    bool in_order = event->flags & XFT_ASYNC; /* of a pool, in a stream's order */
    xfw_moves_call(&ops->moves, event);
    xfw_readers_call(&ops->readers, event);
    bool frees = event->kind == XFT_EVENT_FREE || event->kind == XFT_EVENT_UNREGISTER ||
                 event->kind == XFT_EVENT_ALLOC || event->kind == XFT_EVENT_REGISTER;
    op.pooled = frees && in_order;
    op.flagged = event->kind == XFT_EVENT_ALLOC && event->memory.flags != 0;
    if (frees && !in_order)
        op.awaits = XFW_AWAITS_DEVICE;
    if (ops->functions && event->kind == XFT_EVENT_FREE && op.awaits == XFW_AWAITS_DEVICE &&
        op.memory == XFT_MEM_DEVICE)
        op.reach_ns = xfw_ops_profile_free_ns(&ops->profile, &op);
    if (event->kind == XFT_EVENT_GRAPH_CALL)
        about_graph(&op, event);
    op.stack = event->stack;
    add_costs(ops, &op, false);
    xfw_ops_queue_push(ops->queue, &op);
}

/* In the thread's own time, or within the call before it, which has begun no later. */
static void context(struct xfw_ops *ops, const struct xfa_event *event)
{
    struct xfw_op op = begin_op(ops, event, XFW_CALL);
    xfw_ops_queue_push(ops->queue, &op);
}

static void message(struct xfw_ops *ops, const struct xfa_event *event)
{
    bool began = event->message.level == XFT_LEVEL_MPI && event->status == 0 &&
                 event->message.what != XFT_MESSAGE_WAIT;
    if (event->kind == XFT_EVENT_MESSAGE && event->message.level == XFT_LEVEL_NCCL)
        xfw_nccl_note(&ops->nccl, event->correlation);
    if (event->flags & XFT_FAILED || !ops->one_of_several ||
        (event->kind != XFT_EVENT_MESSAGE_END && !began))
        return;
    struct xfw_op op = begin_op(ops, event, XFW_MESSAGE);
    add_costs(ops, &op, false);
    xfw_message_take(&ops->held, ops->queue, event, &op);
}

/* The pass is at this time: calls of MPI that ended before are over. */
static void reach(struct xfw_ops *ops, uint64_t now_ns)
{
    xfw_ops_queue_at(ops->queue, now_ns);
    if (ops->held.count)
        xfw_held_let_go(&ops->held, ops->queue, xfw_ops_queue_time(ops->queue, now_ns));
}

static void range(struct xfw_ops *ops, const struct xfa_event *event)
{
    struct xfw_op op = begin_op(ops, event, XFW_RANGE);
    op.begins = event->kind == XFT_EVENT_RANGE_BEGIN;
    op.range = xfw_range_of(&ops->numbers, event->range);
    add_costs(ops, &op, false);
    xfw_ops_queue_push(ops->queue, &op);
}

/* A range without an end ends with the last call of its thread, in no time. One that is open at the
 * end of the process lasts until then (schedule.h). */
static void range_unended(void *self, const struct xfa_range *range, enum xfa_unended why,
                          uint64_t end_ns)
{
    struct xfw_ops *ops = self;
    struct xfa_event event = {
        .kind = XFT_EVENT_RANGE_END, .tid = range->tid, .gpu = XFT_PLACE_UNKNOWN};
    (void)end_ns;
    if (why == XFA_PROCESS_ENDED || ops->stopped)
        return;
    event.start_ns = event.end_ns = xfw_thread_of(&ops->numbers, range->tid)->end_ns;
    struct xfw_op op = begin_op(ops, &event, XFW_RANGE);
    op.range = xfw_range_of(&ops->numbers, range);
    xfw_ops_queue_push(ops->queue, &op);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Who makes no more calls is at work until its memory has come, and others may wait for it to end:
 * that is as a call of its own. */
static void move(struct xfw_ops *ops, const struct xfa_event *event)
{
    const struct xfw_thread *thread = xfw_moves_event(&ops->moves, event);
    if (!thread || !thread->ended)
        return;
    struct xfa_event there = {
        .kind = event->kind, .tid = thread->tid, .gpu = XFT_PLACE_UNKNOWN, .last = true};
    there.start_ns = there.end_ns = event->end_ns;
    struct xfw_op op = begin_op(ops, &there, XFW_CALL);
    xfw_hold(&ops->held, ops->queue, &op);
}

/* A record of the device, or of the recording, is no call. */
static bool take_record(struct xfw_ops *ops, const struct xfa_event *event)
{
    switch ((enum xft_event_kind)event->kind) {
    case XFT_EVENT_KERNEL:
    case XFT_EVENT_MEMSET:
        xfw_ops_queue_record(ops->queue, event);
        return true;
    case XFT_EVENT_MIGRATION:
    case XFT_EVENT_FAULT:
        move(ops, event);
        return true;
    case XFT_EVENT_RECORDS:
        ops->records = event->records;
        return true;
    case XFT_EVENT_OVERHEAD:
    case XFT_EVENT_CONTENT:
        xfw_overhead_event(ops->process, xfw_thread_of(&ops->numbers, event->tid), event);
        return true;
    case XFT_EVENT_PROCESSOR:
        xfw_pace_reading(&ops->numbers, xfw_thread_of(&ops->numbers, event->tid), event);
        return true;
    default:
        return false;
    }
}

static void take_call(struct xfw_ops *ops, const struct xfa_event *event)
{
    switch ((enum xft_event_kind)event->kind) {
    case XFT_EVENT_LAUNCH:
        launch(ops, event, XFW_KERNEL);
        break;
    case XFT_EVENT_SET:
        launch(ops, event, XFW_SET);
        break;
    case XFT_EVENT_GRAPH_LAUNCH:
        launch(ops, event, XFW_GRAPH);
        break;
    case XFT_EVENT_HOST_FUNCTION:
        launch(ops, event, XFW_HOST_FUNCTION);
        ops->functions = true;
        break;
    case XFT_EVENT_PREFETCH:
        prefetch(ops, event);
        break;
    case XFT_EVENT_SYNC:
        wait(ops, event, XFW_CALL);
        break;
    case XFT_EVENT_QUERY:
        wait(ops, event, XFW_QUERY);
        break;
    case XFT_EVENT_RECORD:
        event_call(ops, event, XFW_RECORD);
        break;
    case XFT_EVENT_WAIT:
        event_call(ops, event, XFW_WAIT);
        break;
    case XFT_EVENT_RANGE_BEGIN:
    case XFT_EVENT_RANGE_END:
        range(ops, event);
        break;
    case XFT_EVENT_MESSAGE:
    case XFT_EVENT_MESSAGE_END:
        message(ops, event);
        break;
    case XFT_EVENT_CONTEXT:
        context(ops, event);
        break;
    case XFT_EVENT_STREAM:
        xfw_make_stream(&ops->numbers, event);
        call(ops, event);
        break;
    default:
        call(ops, event);
        break;
    }
}

static void observe_event(void *self, const struct xfa_event *event)
{
    struct xfw_ops *ops = self;
    if (ops->stopped) {
        xfw_pace_only(&ops->numbers, event);
        return;
    }
    reach(ops, event->start_ns);
    if (!take_record(ops, event))
        take_call(ops, event);
    xfw_ops_queue_release(ops->queue, false);
}

/* ---- transfers ------------------------------------------------------------------------------- */

static void set_engine(struct xfw_op *op, const struct xfa_class *class)
{
    const struct xfa_row_key *key = &class->key.row;
    static const uint8_t engines[XFT_DIRECTION_COUNT] = {
        [XFT_DIR_H2D] = XFW_TO_DEVICE,
        [XFT_DIR_D2H] = XFW_TO_HOST,
        [XFT_DIR_P2P] = XFW_PEER,
        [XFT_DIR_D2D] = XFW_COMPUTE,
    };
    op->engine = engines[key->direction];
    op->exclusive = op->engine == XFW_TO_DEVICE || op->engine == XFW_TO_HOST;
    if (key->direction == XFT_DIR_H2D || key->direction == XFT_DIR_P2P)
        op->peer = key->src_gpu;
    int gpu = key->direction == XFT_DIR_H2D ? key->dst_gpu : key->src_gpu;
    if (gpu >= 0)
        op->gpu = (int16_t)gpu;
}

/* What the profile knows of such a copy when it queues. */
static void pace(const struct xfa_transfer *transfer, uint64_t bytes, double *paced_ns,
                 double *lead_ns)
{
    const struct xfp_fit *fit = transfer->class->achievable.fit;
    if (!fit || !(fit->g_ns > 0))
        return;
    *paced_ns = fit->g_ns + fit->G_ns_per_byte * (double)bytes;
    if (!xfa_row_pageable(&transfer->class->key.row))
        *lead_ns = xfp_fit_lead(fit);
}

static void note_graph_copy(struct xfw_ops *ops, const struct xfa_event *event)
{
    const struct xfa_transfer *transfer = &event->transfer;
    const struct xfa_device_copy *device = &transfer->device;
    enum xft_direction direction = transfer->class->key.row.direction;
    if (device->start_ns == 0 || device->end_ns < device->start_ns)
        return;
    struct xfw_graph_copy copy = {
        .record = {.start_ns = device->start_ns, .end_ns = device->end_ns},
        .engine = direction == XFT_DIR_H2D   ? XFW_TO_DEVICE
                  : direction == XFT_DIR_D2H ? XFW_TO_HOST
                                             : XFW_NO_ENGINE,
        .locked = xfa_row_pageable(&transfer->class->key.row) ? 0 : event->bytes,
        .host = direction == XFT_DIR_H2D ? transfer->src : transfer->dst,
    };
    pace(transfer, event->bytes, &copy.paced_ns, &copy.lead_ns);
    xfw_ops_queue_record_part(ops->queue, event->correlation, &copy);
}

static void observe_transfer(void *self, const struct xfa_event *event)
{
    struct xfw_ops *ops = self;
    const struct xfa_transfer *transfer = &event->transfer;
    const struct xfa_device_copy *device = &transfer->device;
    if (ops->stopped) {
        xfw_pace_only(&ops->numbers, event);
        return;
    }
    reach(ops, event->start_ns);
    uint64_t number = ops->transfers++;
    if (event->flags & XFT_GRAPH) { /* a part of its launch */
        note_graph_copy(ops, event);
        return;
    }
    struct xfw_op op = begin_op(ops, event, XFW_COPY);
    to_stream(ops, &op, event);
    op.transfer = number;
    op.class = transfer->class->number;
    if (transfer->class->key.shape == XFA_STRIDED && transfer->width &&
        event->bytes % transfer->width == 0)
        op.row_bytes = (uint32_t)transfer->width;
    op.site = transfer->class->key.row.site;
    op.from = event->stack;
    set_engine(&op, transfer->class);
    op.one_engine = one_engine(ops, op.gpu);
    if (device->start_ns) {
        op.device_start_ns = xfw_ops_queue_time(ops->queue, device->start_ns);
        op.device_end_ns = xfw_ops_queue_time(ops->queue, device->end_ns);
        op.last_piece = op.engine == XFW_PEER && transfer->class->key.peer == XFA_PEER_OFF;
    }
    if (transfer->timed == XFA_TIMED_SAMPLE)
        op.duration_ns = transfer->achieved_ns; /* of others, until it is resolved */
    bool pageable = xfa_row_pageable(&transfer->class->key.row);
    bool staged = pageable && op.engine == XFW_TO_DEVICE; /* it does not wait for the device */
    if (pageable && op.engine == XFW_TO_HOST && !op.row_bytes)
        op.bare_ns = xfw_ops_profile_fetch_ns(&ops->profile, op.gpu, event->bytes);
    else if (!pageable && !transfer->blocks && transfer->submit_ns > 0)
        op.bare_ns = transfer->submit_ns;
    add_costs(ops, &op, transfer->blocks && !staged);
    if (staged)
        xfw_records_costs_staged(&ops->costs, &op);
    pace(transfer, event->bytes, &op.paced_ns, &op.lead_ns);
    struct xfw_pending *pending = xfw_ops_queue_push(ops->queue, &op);
    pending->blocks = transfer->blocks;
    xfw_ops_queue_release(ops->queue, false);
}

/* ---- the observer ---------------------------------------------------------------------------- */

static void begin_pass(void *self, const struct xfa_classes *classes)
{
    struct xfw_ops *ops = self;
    ops->profile.achievable = ops->costs.achievable = classes->achievable;
}

static uint64_t begin_process(void *self, struct xfa_process *process)
{
    struct xfw_ops *ops = self;
    ops->process = process;
    xfw_numbers_begin(&ops->numbers, process);
    xfw_ops_queue_begin(ops->queue, process->start_mono_ns);
    ops->transfers = 0;
    ops->called = ops->functions = false;
    ops->records = 0;
    ops->costs.met = (struct xfw_records_met){0};
    ops->held.count = 0;
    ops->nccl = (struct xfw_nccl){{0}};
    ops->one_of_several = process->rank.known && process->rank.size != 1;
    xfw_moves_begin(&ops->moves, ops->queue, &ops->numbers, process);
    xfw_readers_begin(&ops->readers, process);
    if (ops->sink.process)
        ops->sink.process(ops->sink.self, process);
    return XFA_ALL_KINDS;
}

static void end_process(void *self, struct xfa_process *process)
{
    struct xfw_ops *ops = self;
    xfw_held_let_go(&ops->held, ops->queue, INFINITY);
    xfw_ops_queue_release(ops->queue, true);
    double end = process->end_mono_ns > process->start_mono_ns
                     ? (double)(process->end_mono_ns - process->start_mono_ns)
                     : xfw_ops_queue_now(ops->queue);
    if (ops->sink.end)
        ops->sink.end(ops->sink.self, process, end);
}

void xfw_ops_decide_paces(struct xfw_ops *ops)
{
    xfw_paces_decide(&ops->numbers, ops->process);
}

void xfw_ops_stop(struct xfw_ops *ops)
{
    ops->stopped = true;
}

struct xfa_observer xfw_ops_observer(struct xfw_ops *ops)
{
    /* What became of host memory is not played. Calls of MPI that are no ops
     * are in the host's own time between calls of CUDA. */
    uint64_t others = XFA_KIND(XFT_EVENT_DEVICE_COPY) | XFA_KIND(XFT_EVENT_HOST_ACCESS) |
                      XFA_KIND(XFT_EVENT_TRANSFER) | XFA_KIND(XFT_EVENT_COMMUNICATOR);
    uint64_t kinds = XFA_ALL_KINDS & ~(ops->messages ? others : others | XFA_KINDS_OF_MESSAGES);
    return (struct xfa_observer){
        .name = "what-if",
        .kinds = kinds,
        .self = ops,
        .pass = begin_pass,
        .process = begin_process,
        .event = observe_event,
        .transfer = observe_transfer,
        .unended = range_unended,
        .end = end_process,
    };
}
