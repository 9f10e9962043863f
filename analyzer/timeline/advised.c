/* The run as remedies would have it: what a schedule of it says (whatif/player.h). */
#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/timeline/pack.h"
#include "analyzer/timeline/version.h"

static uint64_t ns_of(double ns)
{
    return ns > 0 && ns < 1e19 ? (uint64_t)ns : 0;
}

static void add(struct xfa_timeline *timeline, struct xfa_span *span, double start, double end)
{
    span->track.process = timeline->process->number;
    span->track.gpu = span->gpu;
    span->drawn = true;
    span->start = ns_of(start);
    span->end = ns_of(end);
    xfa_version_add(timeline->playing, span);
}

/* ---- what ran -------------------------------------------------------------------------------- */

static uint8_t direction_of(const struct xfw_op *op, const struct xfa_class *class)
{
    static const uint8_t directions[XFW_ENGINES] = {[XFW_NO_ENGINE] = XFT_DIR_H2H,
                                                    [XFW_TO_DEVICE] = XFT_DIR_H2D,
                                                    [XFW_TO_HOST] = XFT_DIR_D2H,
                                                    [XFW_PEER] = XFT_DIR_P2P,
                                                    [XFW_COMPUTE] = XFT_DIR_D2D};
    if (op->engine == XFW_NO_ENGINE && class)
        return class->key.row.direction;
    return op->engine < XFW_ENGINES ? directions[op->engine] : XFT_DIR_UNKNOWN;
}

static uint32_t name_of_class(struct xfa_timeline *timeline, const struct xfa_class *class)
{
    if (!class)
        return XFA_NO_NAME;
    return xfa_label_of_row(timeline, xfa_analysis_row(timeline->analysis, class->row));
}

static void take_copy(struct xfa_timeline *timeline, const struct xfw_op *op,
                      const struct xfa_class *class, double start, double end)
{
    struct xfa_span span = {.gpu = op->gpu, .activity = XFA_ACTIVE_TRANSFER, .bytes = op->bytes};
    span.track.kind = XFA_TRACK_COPIES;
    span.track.direction = direction_of(op, class);
    if (span.track.direction == XFT_DIR_H2H)
        span.gpu = -1;
    span.name = name_of_class(timeline, class);
    add(timeline, &span, start, end);
    if (op->engine == XFW_PEER && op->peer >= 0 && op->peer != op->gpu) {
        span.drawn = false;
        span.gpu = op->peer;
        xfa_version_add(timeline->playing, &span);
    }
}

static void take_moved(struct xfa_timeline *timeline, const struct xfw_moved *moved, int gpu,
                       enum xft_direction direction, enum xft_migration_cause cause, double start,
                       double end)
{
    bool stalls = direction == XFT_DIR_H2D && cause != XFT_CAUSE_USER;
    struct xfa_span span = {.gpu = (int16_t)gpu,
                            .activity = stalls ? XFA_ACTIVE_STALL : XFA_ACTIVE_TRANSFER,
                            .name = XFA_NO_NAME,
                            .bytes = moved->bytes};
    span.track.kind = XFA_TRACK_MIGRATIONS;
    span.track.direction = (uint8_t)direction;
    span.track.cause = (uint8_t)cause;
    add(timeline, &span, start, end);
}

static void take_kernel(struct xfa_timeline *timeline, const struct xfw_op *op, double start,
                        double end)
{
    struct xfa_span span = {.gpu = op->gpu, .activity = XFA_ACTIVE_KERNEL, .name = XFA_NO_NAME};
    span.track.kind = XFA_TRACK_KERNELS;
    if (op->what == XFW_KERNEL) {
        span.name = xfa_label_of_kernel(timeline, op->name);
        timeline->playing->launches++;
        timeline->playing->kernels += !isnan(op->device_start_ns);
    } else {
        span.name = xfa_labels_put(&timeline->labels, op->what == XFW_GRAPH ? "graph" : "memset");
    }
    span.bytes = op->what == XFW_SET ? op->bytes : 0;
    add(timeline, &span, start, end);
    if (op->demanded.stalled_ns > 0)
        take_moved(timeline, &op->demanded, op->gpu, XFT_DIR_H2D, XFT_CAUSE_COHERENCE, start,
                   fmin(end, start + op->demanded.stalled_ns));
}

static void take_launch(struct xfa_timeline *timeline, double call, double back)
{
    struct xfa_span span = {.gpu = -1, .activity = XFA_ACTIVE_LAUNCH};
    span.start = ns_of(call);
    span.end = ns_of(back);
    xfa_version_add(timeline->playing, &span);
}

static void take_work(struct xfa_timeline *timeline, const struct xfw_op *op,
                      const struct xfa_class *class, double start, double end)
{
    struct xfw_moved moved = {.bytes = op->bytes};
    if (op->what == XFW_COPY)
        take_copy(timeline, op, class, start, end);
    else if (op->what == XFW_PREFETCH)
        take_moved(timeline, &moved, op->gpu, op->engine == XFW_TO_HOST ? XFT_DIR_D2H : XFT_DIR_H2D,
                   XFT_CAUSE_USER, start, end);
    else if (op->what != XFW_HOST_FUNCTION)
        take_kernel(timeline, op, start, end);
}

static bool waits(const struct xfw_op *op)
{
    if (op->what == XFW_QUERY)
        return op->polled_waits && op->polled_ns > 0;
    return op->awaits != XFW_AWAITS_NOTHING &&
           (op->what == XFW_COPY || op->kind == XFT_EVENT_SYNC || op->kind == XFT_EVENT_QUERY ||
            op->made_up);
}

/* ---- the tap --------------------------------------------------------------------------------- */

static void begin_process(void *self, struct xfa_process *process)
{
    struct xfa_timeline *timeline = self;
    xfa_labels_of_process(timeline, process);
    xfa_version_begin(timeline->playing, process->number);
}

static void take_op(void *self, const struct xfw_op *op, const struct xfw_op *recorded,
                    const struct xfw_schedule *schedule)
{
    struct xfa_timeline *timeline = self;
    timeline->ops++;
    const struct xfa_classes *classes = &timeline->analysis->classes;
    const struct xfa_class *class =
        op->class < classes->classes.count ? xfa_class_at(classes, op->class) : NULL;
    const struct xfw_last_op *last = xfw_schedule_last(schedule);
    double start = last->start, end = last->end, call = last->call;
    double back = xfw_schedule_thread_now(schedule, op->thread);
    if (xfw_op_is_work(op) && !isnan(start))
        take_work(timeline, op, class, start, end);
    if (op->fetched.bytes > 0)
        take_moved(timeline, &op->fetched, op->fetched.gpu, XFT_DIR_D2H, XFT_CAUSE_COHERENCE,
                   fmax(0, call - op->fetched.stalled_ns), call);
    if (op->what == XFW_KERNEL && back > call)
        take_launch(timeline, call, back);
    if (waits(op) && back > call) {
        struct xfa_span span = {.gpu = -1, .activity = XFA_ACTIVE_WAIT};
        span.track.kind = XFA_TRACK_WAITS;
        span.track.thread = op->tid;
        span.name = class ? name_of_class(timeline, class) : XFA_NO_NAME;
        if (!class && op->site < xfa_run_site_count(timeline->analysis->run))
            span.name = xfa_labels_put(&timeline->labels,
                                       xfa_run_site(timeline->analysis->run, op->site)->text);
        add(timeline, &span, op->what == XFW_QUERY ? fmin(last->asked, call) : call, back);
    }
}

static void stream_after(void *self, uint32_t stream, double ns)
{
}

static void end_process(void *self, struct xfa_process *process,
                        const struct xfw_schedule *schedule, double total_ns)
{
    struct xfa_timeline *timeline = self;
    double begun = timeline->begun[process->number];
    xfa_version_end(timeline->playing, ns_of(total_ns));
    timeline->playing->wall_ns = fmax(timeline->playing->wall_ns, begun + total_ns);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static char *play(struct xfa_timeline *timeline, struct xfa_analysis *analysis,
                  struct xfw_change *const *changes, const unsigned *order, size_t count,
                  struct xfa_version *version)
{
    const struct xfw_tap tap = {timeline, begin_process, take_op, stream_after, end_process};
    timeline->playing = version;
    timeline->ops = 0;
    char *why = xfw_whatif_tap(analysis, changes, order, count, &tap);
    if (!why)
        xfa_version_finish(version, version->wall_ns);
    return why;
}

char *xfa_timeline_advise(struct xfa_timeline *timeline, struct xfa_analysis *analysis,
                          struct xfw_change *const *changes, const unsigned *order, size_t count)
{
    char *why = play(timeline, analysis, changes, order, count, &timeline->advised);
    timeline->has_advised = !why;
    if (!why)
        xfa_tracks_fit(&timeline->advised.tracks, XFA_ADVISED_BYTES);
    return why;
}

/* ---- other sets ------------------------------------------------------------------------------ */

/* The members that are in the set keep their order, without holes. */
static void order_of_set(uint32_t members, const unsigned *order, size_t count, unsigned *own)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bit = order[i] ? UINT32_C(1) << (order[i] - 1) : 0;
        own[i] = members & bit ? (unsigned)__builtin_popcount(members & (2 * bit - 1)) : 0;
    }
}

/* Those that are played; the number of them. */
static size_t choose_sets(unsigned members, uint64_t ops, uint32_t *sets)
{
    uint64_t most = XFA_TIMELINE_SET_OPS / (ops ? ops : 1);
    uint32_t all = (UINT32_C(1) << members) - 1;
    size_t count = 0;
    if (members <= XFA_TIMELINE_ALL_SETS && all - 1 <= most) {
        for (uint32_t set = 1; set < all; set++)
            sets[count++] = set;
        return count;
    }
    for (unsigned first = 1; first < members && count < most; first++)
        sets[count++] = (UINT32_C(1) << first) - 1;
    return count;
}

char *xfa_timeline_try_sets(struct xfa_timeline *timeline, struct xfa_analysis *analysis,
                            struct xfw_change *const *changes, const unsigned *order, size_t count)
{
    uint32_t sets[1 << XFA_TIMELINE_ALL_SETS];
    unsigned members = 0;
    char *why = NULL;
    for (size_t i = 0; i < count; i++)
        members = order[i] > members ? order[i] : members;
    if (!timeline->has_advised || members < 2 || members > XFW_MOST_MEMBERS)
        return NULL;
    size_t wanted = choose_sets(members, timeline->ops, sets);
    size_t slices = wanted ? XFA_SETS_SLICES / wanted : 0;
    unsigned *own = xfa_alloc(count * sizeof *own);
    timeline->sets = xfa_alloc((wanted + 1) * sizeof *timeline->sets);
    for (size_t i = 0; i < wanted && !why; i++) {
        struct xfa_set_tried *set = &timeline->sets[timeline->set_count++];
        set->members = sets[i];
        xfa_version_init(&set->version, slices < XFA_SET_SLICES ? slices : XFA_SET_SLICES);
        order_of_set(sets[i], order, count, own);
        why = play(timeline, analysis, changes, own, count, &set->version);
    }
    if (why)
        xfa_version_free(&timeline->sets[--timeline->set_count].version);
    free(own);
    return why;
}
