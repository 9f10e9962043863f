/* The run as it was: an observer of its walk. */
#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/timeline/pack.h"
#include "analyzer/timeline/version.h"

/* ---- spans ----------------------------------------------------------------------------------- */

static uint64_t since_start(const struct xfa_timeline *timeline, uint64_t ns)
{
    uint64_t start = timeline->process->start_mono_ns;
    return ns > start ? ns - start : 0;
}

static struct xfa_span span_of(const struct xfa_timeline *timeline, enum xfa_track_kind kind,
                               int gpu, uint64_t start, uint64_t end)
{
    return (struct xfa_span){
        .track = {.process = timeline->process->number, .gpu = (int16_t)gpu, .kind = (uint8_t)kind},
        .drawn = !timeline->shares_alone,
        .gpu = (int16_t)gpu,
        .name = XFA_NO_NAME,
        .start = since_start(timeline, start),
        .end = since_start(timeline, end),
    };
}

static int gpu_of(const struct xfa_event *event)
{
    return event->gpu < 0 ? -1 : event->gpu;
}

/* ---- what ran -------------------------------------------------------------------------------- */

static void take_kernel(struct xfa_timeline *timeline, const struct xfa_event *event)
{
    struct xfa_span span =
        span_of(timeline, XFA_TRACK_KERNELS, gpu_of(event), event->start_ns, event->end_ns);
    span.activity = XFA_ACTIVE_KERNEL;
    if (span.drawn && event->kind == XFT_EVENT_KERNEL)
        span.name = xfa_label_of_kernel(timeline, event->work.name);
    else if (span.drawn)
        span.name = xfa_labels_put(&timeline->labels, "memset");
    span.bytes = event->kind == XFT_EVENT_MEMSET ? event->bytes : 0;
    timeline->recorded.kernels += event->kind == XFT_EVENT_KERNEL;
    xfa_version_add(&timeline->recorded, &span);
}

static void take_migration(struct xfa_timeline *timeline, const struct xfa_event *event)
{
    struct xfa_span span =
        span_of(timeline, XFA_TRACK_MIGRATIONS, gpu_of(event), event->start_ns, event->end_ns);
    bool demanded = event->managed.cause != XFT_CAUSE_USER && event->direction != XFT_DIR_D2H;
    span.activity = demanded ? XFA_ACTIVE_STALL : XFA_ACTIVE_TRANSFER;
    span.track.direction = event->direction;
    span.track.cause =
        event->managed.cause <= XFT_CAUSE_ACCESS_COUNTERS ? (uint8_t)event->managed.cause : 0;
    span.bytes = event->bytes;
    xfa_version_add(&timeline->recorded, &span);
    if (timeline->shares_alone)
        return;
    xfa_traffic_migration(&timeline->traffic, timeline->process, event, span.gpu);
    xfa_buffers_migration(&timeline->buffers, event);
}

/* As the replay has it (whatif/ops/ops.c): until it was served, the kernel stood still. */
static void take_fault(struct xfa_timeline *timeline, const struct xfa_event *event)
{
    struct xfa_span span =
        span_of(timeline, XFA_TRACK_MIGRATIONS, gpu_of(event), event->start_ns, event->end_ns);
    span.activity = XFA_ACTIVE_STALL;
    span.drawn = false;
    if (event->gpu >= 0 && event->end_ns > event->start_ns)
        xfa_version_add(&timeline->recorded, &span);
}

static void take_wait(struct xfa_timeline *timeline, const struct xfa_event *event,
                      uint64_t start_ns, uint32_t name)
{
    struct xfa_span span = span_of(timeline, XFA_TRACK_WAITS, -1, start_ns, event->end_ns);
    span.activity = XFA_ACTIVE_WAIT;
    span.track.thread = event->tid;
    span.name = name;
    xfa_version_add(&timeline->recorded, &span);
}

/* A call that waits, or queries that do, from the first one on. */
static void take_wait_call(struct xfa_timeline *timeline, const struct xfa_event *event)
{
    uint64_t start_ns = event->start_ns;
    if (event->kind == XFT_EVENT_QUERY) {
        if (!xfa_polled_is_wait(&event->wait))
            return;
        start_ns -= event->wait.polled_ns;
    }
    take_wait(timeline, event, start_ns,
              timeline->shares_alone ? XFA_NO_NAME : xfa_label_of_call(timeline, event));
}

/* Of all GPUs, as a wait: of which one may not be known. Not drawn. */
static void take_launch(struct xfa_timeline *timeline, const struct xfa_event *event)
{
    struct xfa_span span = span_of(timeline, XFA_TRACK_KERNELS, -1, event->start_ns, event->end_ns);
    if (event->flags & XFT_CAPTURED)
        return;
    span.activity = XFA_ACTIVE_LAUNCH;
    span.drawn = false;
    timeline->recorded.launches++;
    xfa_version_add(&timeline->recorded, &span);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

#define LEVELS 4 /* of a thread; deeper ones are not drawn */

/* In the shares the ranges of a name are one phase. */
static void mark_range(struct xfa_timeline *timeline, const struct xfa_range *range, bool closes,
                       uint64_t ns)
{
    uint32_t phase = xfa_phase_number(timeline->phases, range->name);
    if (phase != XFA_NO_PHASE)
        xfa_version_mark(&timeline->recorded, phase, closes, since_start(timeline, ns));
}

/* On their track. Within one they end in the order in which they began, but for those of the
 * process. */
static void take_range(struct xfa_timeline *timeline, const struct xfa_range *range,
                       uint64_t end_ns)
{
    struct xfa_track_key key = {.process = timeline->process->number,
                                .thread = range->id ? 0 : range->tid,
                                .gpu = -1,
                                .kind = XFA_TRACK_RANGES};
    uint32_t depth = range->id ? 0 : range->depth;
    struct xfa_slice slice = {.start = since_start(timeline, range->start_ns),
                              .end = since_start(timeline, end_ns),
                              .count = 1,
                              .name = xfa_label_of_kernel(timeline, range->name)};
    if (depth >= LEVELS || slice.end < slice.start)
        return;
    key.level = (uint8_t)depth;
    slice.busy = slice.end - slice.start;
    xfa_tracks_add(&timeline->recorded.tracks, &key, &slice);
}

static void take_unended(void *self, const struct xfa_range *range, enum xfa_unended why,
                         uint64_t end_ns)
{
    struct xfa_timeline *timeline = self;
    mark_range(timeline, range, true, end_ns);
    if (!timeline->shares_alone)
        take_range(timeline, range, end_ns);
}

static void observe_event(void *self, const struct xfa_event *event)
{
    struct xfa_timeline *timeline = self;
    switch ((enum xft_event_kind)event->kind) {
    case XFT_EVENT_KERNEL:
    case XFT_EVENT_MEMSET:
        take_kernel(timeline, event);
        break;
    case XFT_EVENT_MIGRATION:
        take_migration(timeline, event);
        break;
    case XFT_EVENT_FAULT:
        take_fault(timeline, event);
        break;
    case XFT_EVENT_SYNC:
    case XFT_EVENT_QUERY:
        take_wait_call(timeline, event);
        break;
    case XFT_EVENT_LAUNCH:
        take_launch(timeline, event);
        break;
    case XFT_EVENT_RANGE_BEGIN:
        if (event->range)
            mark_range(timeline, event->range, false, event->start_ns);
        break;
    case XFT_EVENT_RANGE_END:
        if (event->range)
            mark_range(timeline, event->range, true, event->start_ns);
        if (event->range && !timeline->shares_alone)
            take_range(timeline, event->range, event->start_ns);
        break;
    default:
        xfa_buffers_event(&timeline->buffers, event);
        break;
    }
}

static void observe_transfer(void *self, const struct xfa_event *event)
{
    struct xfa_timeline *timeline = self;
    const struct xfa_transfer *transfer = &event->transfer;
    const struct xfa_row_key *key = &transfer->class->key.row;
    uint32_t name = XFA_NO_NAME;
    if (!timeline->shares_alone) {
        name =
            xfa_label_of_row(timeline, xfa_analysis_row(timeline->analysis, transfer->class->row));
        xfa_traffic_transfer(&timeline->traffic, event);
        xfa_buffers_transfer(&timeline->buffers, event);
    }
    if (transfer->blocks && !(event->flags & XFT_GRAPH))
        take_wait(timeline, event, event->start_ns, name);
    bool device = transfer->device.start_ns;
    if (!device && transfer->timed != XFA_TIMED_HOST) {
        timeline->untimed++;
        return;
    }
    int gpu = key->direction == XFT_DIR_H2D ? key->dst_gpu : key->src_gpu;
    if (gpu < 0 && key->direction != XFT_DIR_H2H)
        gpu = key->dst_gpu >= 0 ? key->dst_gpu : gpu_of(event);
    struct xfa_span span = span_of(timeline, XFA_TRACK_COPIES, gpu,
                                   device ? transfer->device.start_ns : event->start_ns,
                                   device ? transfer->device.end_ns : event->end_ns);
    span.activity = XFA_ACTIVE_TRANSFER;
    span.track.direction = key->direction;
    span.bytes = event->bytes;
    span.name = name;
    xfa_version_add(&timeline->recorded, &span);
    if (key->direction == XFT_DIR_P2P && key->dst_gpu >= 0 && key->dst_gpu != gpu) {
        span.drawn = false;
        span.gpu = key->dst_gpu;
        xfa_version_add(&timeline->recorded, &span);
    }
}

/* ---- the observer ---------------------------------------------------------------------------- */

static const uint64_t of_shares =
    XFA_KIND(XFT_EVENT_KERNEL) | XFA_KIND(XFT_EVENT_MEMSET) | XFA_KIND(XFT_EVENT_MIGRATION) |
    XFA_KIND(XFT_EVENT_FAULT) | XFA_KIND(XFT_EVENT_SYNC) | XFA_KIND(XFT_EVENT_QUERY) |
    XFA_KIND(XFT_EVENT_LAUNCH) | XFA_KIND(XFT_EVENT_RANGE_BEGIN) | XFA_KIND(XFT_EVENT_RANGE_END);
/* Buffers, which shares of time do without. */
static const uint64_t of_drawing = XFA_KIND(XFT_EVENT_ALLOC) | XFA_KIND(XFT_EVENT_FREE) |
                                   XFA_KIND(XFT_EVENT_REGISTER) | XFA_KIND(XFT_EVENT_UNREGISTER);

static uint64_t begin_process(void *self, struct xfa_process *process)
{
    struct xfa_timeline *timeline = self;
    xfa_labels_of_process(timeline, process);
    xfa_buffers_begin(&timeline->buffers, process);
    timeline->recorded.draws = !timeline->shares_alone;
    xfa_version_begin(&timeline->recorded, process->number);
    return timeline->shares_alone ? of_shares : of_shares | of_drawing;
}

static void end_process(void *self, struct xfa_process *process)
{
    struct xfa_timeline *timeline = self;
    uint64_t end = 0;
    if (process->end_mono_ns > process->start_mono_ns)
        end = process->end_mono_ns - process->start_mono_ns;
    xfa_version_end(&timeline->recorded, end);
    xfa_phase_shares_end(timeline->phases, &timeline->recorded.times, process);
}

struct xfa_observer xfa_timeline_observer(struct xfa_timeline *timeline)
{
    return (struct xfa_observer){
        .name = "timeline",
        .aside = timeline->shares_alone, /* labels look for sites */
        .apart = true,
        .divided = timeline->shares_alone,
        .kinds = of_shares | of_drawing,
        .self = timeline,
        .process = begin_process,
        .event = observe_event,
        .transfer = observe_transfer,
        .unended = take_unended,
        .end = end_process,
    };
}

/* ---- members of a team ----------------------------------------------------------------------- */

void xfa_timeline_give(const struct xfa_timeline *timeline, struct xfa_parcel *parcel)
{
    const struct xfa_version *recorded = &timeline->recorded;
    xfa_parcel_number(parcel, timeline->untimed);
    xfa_parcel_number(parcel, recorded->latest);
    xfa_parcel_number(parcel, recorded->launches);
    xfa_parcel_number(parcel, recorded->kernels);
    xfa_shares_give(&recorded->times, parcel);
    xfa_phase_shares_give(timeline->phases, parcel);
}

void xfa_timeline_take(struct xfa_timeline *timeline, struct xfa_unpacking *from)
{
    struct xfa_version *recorded = &timeline->recorded;
    timeline->untimed += xfa_unpack_number(from);
    uint64_t latest = xfa_unpack_number(from);
    recorded->latest = latest > recorded->latest ? latest : recorded->latest;
    recorded->launches += xfa_unpack_number(from);
    recorded->kernels += xfa_unpack_number(from);
    xfa_shares_take(&recorded->times, from);
    xfa_phase_shares_take(timeline->phases, from);
}

/* ---- the whole ------------------------------------------------------------------------------- */

void xfa_timeline_init(struct xfa_timeline *timeline)
{
    *timeline = (struct xfa_timeline){.untimed = 0};
    xfa_labels_init(&timeline->labels);
    xfa_version_init(&timeline->recorded, XFA_TIMELINE_SLICES);
    xfa_version_init(&timeline->advised, XFA_ADVISED_SLICES);
    timeline->phases = xfa_phase_shares_new();
    timeline->recorded.times.phases = timeline->phases;
    xfa_labels_begin(timeline);
    xfa_buffers_init(&timeline->buffers);
    xfa_traffic_init(&timeline->traffic);
}

void xfa_timeline_free(struct xfa_timeline *timeline)
{
    xfa_labels_free(&timeline->labels);
    xfa_version_free(&timeline->recorded);
    xfa_version_free(&timeline->advised);
    xfa_phase_shares_free(timeline->phases);
    for (size_t i = 0; i < timeline->set_count; i++)
        xfa_version_free(&timeline->sets[i].version);
    free(timeline->sets);
    xfa_labels_end(timeline);
    free(timeline->begun);
    xfa_buffers_free(&timeline->buffers);
    xfa_traffic_free(&timeline->traffic);
}

void xfa_timeline_finish(struct xfa_timeline *timeline)
{
    const struct xfa_run *run = timeline->analysis->run;
    double wall = xfa_run_wall_ns(run);
    uint64_t first = xfa_run_start_real_ns(run);
    timeline->begun = xfa_alloc((run->process_count + 1) * sizeof *timeline->begun);
    for (size_t i = 0; i < run->process_count; i++) {
        uint64_t start = run->processes[i]->start_real_ns;
        timeline->begun[i] = start > first ? (double)(start - first) : 0;
    }
    xfa_version_finish(&timeline->recorded, wall > 0 ? wall : (double)timeline->recorded.latest);
    xfa_tracks_fit(&timeline->recorded.tracks, XFA_TIMELINE_BYTES);
}
