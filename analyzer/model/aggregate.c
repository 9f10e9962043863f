#include "analyzer/model/aggregate.h"

#include <math.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/model/managed.h"

/* What a thread did last: a run of small transfers of one class. */
struct lane {
    uint32_t id;          /* key */
    uint32_t class_index; /* + 1; 0 = no run */
    uint64_t count, bytes;
    double took_ns;
    bool measured; /* took_ns covers every transfer of the run */
};

struct pass {
    struct xfa_trace *trace;
    const struct xfa_yardstick *yardstick;
    struct xfa_totals *totals;
    struct xfa_join join;
    struct xfa_table lanes;
    struct lane *lane;   /* of the batch at hand */
    uint32_t last_class; /* index + 1 of the class met last */
};

/* ---- classes -------------------------------------------------------------------------- */

static int16_t device_of(const struct xft_event *event, unsigned memory, int place)
{
    if (memory != XFT_MEM_DEVICE && memory != XFT_MEM_ARRAY)
        return -1;
    if (place >= 0)
        return (int16_t)place;
    return (int16_t)(event->device >= 0 ? event->device : -1);
}

/* The trace's word where it has one, else the device's own account of the copy. */
static unsigned known(unsigned told, unsigned seen, unsigned count)
{
    unsigned number = told ? told : seen;
    return number < count ? number : 0;
}

static struct xfa_class_key key_of(const struct xft_event *event,
                                   const struct xfa_device_copy *copy)
{
    struct xfa_class_key key;
    memset(&key, 0, sizeof key);
    key.stack = event->stack;
    key.call = event->call;
    key.direction = known(event->direction, copy ? copy->direction : 0, XFT_DIRECTION_COUNT);
    key.src_mem = known(event->src_mem, copy ? copy->src_mem : 0, XFT_MEMORY_COUNT);
    key.dst_mem = known(event->dst_mem, copy ? copy->dst_mem : 0, XFT_MEMORY_COUNT);
    key.async = (event->flags & XFT_ASYNC) != 0;
    key.src_device = device_of(event, key.src_mem, event->src_place);
    key.dst_device = device_of(event, key.dst_mem, event->dst_place);
    return key;
}

static void class_start(struct pass *pass, struct xfa_class *class)
{
    const struct xfa_class_key *key = &class->key;
    int current = -1; /* managed memory on the device's side: any path of that direction */
    xfa_reach_init(&class->reach, pass->yardstick, key->direction,
                   key->src_device >= 0 ? key->src_device : current,
                   key->dst_device >= 0 ? key->dst_device : current);
}

static struct xfa_class *class_of(struct pass *pass, struct xfa_class_key key)
{
    struct xfa_table *classes = &pass->totals->classes;
    if (pass->last_class) {
        struct xfa_class *last = xfa_table_at(classes, pass->last_class - 1);
        if (memcmp(&last->key, &key, sizeof key) == 0)
            return last;
    }
    struct xfa_class *class = xfa_table_get(classes, &key);
    if (!class && classes->count >= XFA_MAX_CLASSES) {
        key.stack = key.call = 0;
        key.src_device = key.dst_device = -1;
    }
    class = class ? class : xfa_table_put(classes, &key);
    if (!class->reach.found)
        class_start(pass, class);
    pass->last_class = (uint32_t)(((unsigned char *)class - classes->items) / sizeof *class) + 1;
    return class;
}

/* ---- figures of one transfer ---------------------------------------------------------- */

static void sum_add(struct xfa_sum *sum, uint64_t bytes, double ns)
{
    sum->transfers++;
    sum->bytes = xfa_add(sum->bytes, bytes);
    sum->ns += ns;
}

static void count_size(struct xfa_figures *figures, const struct xft_event *event)
{
    uint64_t bytes = event->bytes;
    if (figures->transfers == 0 || bytes < figures->smallest)
        figures->smallest = bytes;
    if (bytes > figures->largest)
        figures->largest = bytes;
    figures->sizes[bytes ? 64 - __builtin_clzll(bytes) : 0]++;
    figures->transfers++;
    figures->copies += event->count ? event->count : 1;
    figures->bytes = xfa_add(figures->bytes, bytes);
    figures->strided += event->width != 0 && event->width < bytes && event->count <= 1;
}

/* Calls that return when the data is there, or (pageable memory) when it has been staged. A
 * synchronous copy between devices does not wait for its end. */
static bool blocking(const struct xfa_class_key *key)
{
    bool host = key->direction == XFT_DIR_H2D || key->direction == XFT_DIR_D2H ||
                key->direction == XFT_DIR_H2H;
    bool pageable = key->src_mem == XFT_MEM_PAGEABLE || key->dst_mem == XFT_MEM_PAGEABLE;
    return host && (!key->async || pageable);
}

static void count_best(struct xfa_figures *figures, uint64_t bytes,
                       const struct xfp_estimate *estimate)
{
    figures->best_basis[estimate->basis & 3]++;
    if (estimate->basis == XFP_UNKNOWN)
        return;
    sum_add(&figures->best, bytes, estimate->ns);
    figures->best_error_ns += estimate->ns * estimate->error;
}

static void count_lost(struct xfa_figures *figures, uint64_t bytes, double achieved, double best)
{
    sum_add(&figures->lost, bytes, fmax(0, achieved - best));
    figures->lost_achieved_ns += achieved;
    figures->lost_best_ns += best;
}

static void count_blocked(struct xfa_class *class, uint64_t bytes, double host_ns)
{
    sum_add(&class->figures.blocked, bytes, host_ns);
    double submit = xfa_reach_submit(&class->reach, bytes);
    if (!isnan(submit))
        sum_add(&class->figures.beyond, bytes, fmax(0, host_ns - submit));
}

/* ---- runs of small transfers ---------------------------------------------------------- */

/*
 * van Werkhoven et al., section V: n transfers one behind the other take Lo + k G + (n - 1) g, one
 * of all k bytes Lo + k G.
 */
static void run_end(struct pass *pass, struct lane *lane)
{
    if (lane->count >= 2) {
        struct xfa_class *class = xfa_table_at(&pass->totals->classes, lane->class_index - 1);
        struct xfa_figures *figures = &class->figures;
        const struct xfp_fit *fit = xfa_reach_fit(&class->reach);
        double batched = fit->Lo_ns + (double)lane->bytes * fit->G_ns_per_byte;
        double modelled = batched + (double)(lane->count - 1) * fit->g_ns;
        double took = lane->measured ? lane->took_ns : modelled;
        if (!isnan(took)) {
            figures->small.transfers += lane->count;
            figures->small.bytes = xfa_add(figures->small.bytes, lane->bytes);
            figures->small.ns += took;
            figures->small_runs++;
            figures->small_modelled += lane->measured ? 0 : lane->count;
            figures->small_batched_ns += batched;
            figures->small_error = fmax(figures->small_error, fit->max_error);
            figures->small_limit = (uint64_t)(fit->Lo_ns / fit->G_ns_per_byte);
        }
    }
    lane->class_index = 0;
    lane->count = lane->bytes = 0;
}

static void run_step(struct pass *pass, const struct xfa_class *class, uint64_t bytes,
                     double achieved)
{
    struct lane *lane = pass->lane;
    const struct xfp_fit *fit = xfa_reach_fit(&class->reach);
    bool small = fit && (double)bytes * fit->G_ns_per_byte < fit->Lo_ns;
    if (lane->class_index != pass->last_class || !small)
        run_end(pass, lane);
    if (!small)
        return;
    if (lane->count == 0) {
        lane->class_index = pass->last_class;
        lane->took_ns = 0;
        lane->measured = true;
    }
    lane->count++;
    lane->bytes += bytes;
    lane->measured = lane->measured && !isnan(achieved);
    lane->took_ns += isnan(achieved) ? 0 : achieved;
}

/* ---- pageable memory ----------------------------------------------------------------------- */

/*
 * The device moves pageable memory by way of the driver's own pinned buffer, and its timestamps
 * tell of that half alone. The transfer is what the program waits for: device to host, from the
 * start on the device until the call returns with the data; host to device, the call (which fills
 * the buffer, and may wait for earlier work first) and what the device still has to do afterwards.
 */
static double staged_ns(const struct xft_event *call, const struct xfa_device_copy *copy,
                        double device_ns)
{
    double call_start = (double)call->start_ns, call_end = (double)call->end_ns;
    double start = (double)copy->start_ns, end = start + device_ns;
    if (call->direction == XFT_DIR_D2H)
        return fmax(device_ns, fmax(call_end, end) - fmax(call_start, start));
    return fmax(device_ns, call_end - call_start + fmax(0, end - fmax(start, call_end)));
}

static bool staged(const struct xft_event *call)
{
    return (call->direction == XFT_DIR_H2D && call->src_mem == XFT_MEM_PAGEABLE) ||
           (call->direction == XFT_DIR_D2H && call->dst_mem == XFT_MEM_PAGEABLE);
}

/* ---- the pass ------------------------------------------------------------------------- */

static void transfer(struct pass *pass, const struct xft_event *event)
{
    if (event->flags & (XFT_FAILED | XFT_CAPTURED)) {
        pass->totals->failed += (event->flags & XFT_FAILED) != 0;
        pass->totals->captured += (event->flags & XFT_FAILED) == 0;
        return;
    }
    if (event->bytes == 0) { /* the device never hears of it */
        pass->totals->empty++;
        return;
    }
    double achieved = NAN;
    const struct xfa_device_copy *copy = xfa_join_find(&pass->join, event, &achieved);
    struct xfa_class *class = class_of(pass, key_of(event, copy));
    struct xfa_figures *figures = &class->figures;
    bool blocks = blocking(&class->key) && event->end_ns > event->start_ns;
    double host_ns = blocks ? (double)(event->end_ns - event->start_ns) : NAN;

    count_size(figures, event);
    if (blocks)
        count_blocked(class, event->bytes, host_ns);
    if (copy && staged(event)) {
        achieved = staged_ns(event, copy, achieved);
        sum_add(event->direction == XFT_DIR_D2H ? &figures->device : &figures->host, event->bytes,
                achieved);
    } else if (copy) {
        sum_add(&figures->device, event->bytes, achieved);
    } else if (blocks) {
        achieved = host_ns;
        sum_add(&figures->host, event->bytes, achieved);
    }
    struct xfp_estimate best = xfa_reach_time(&class->reach, event->bytes);
    count_best(figures, event->bytes, &best);
    bool priced = best.basis != XFP_UNKNOWN && !isnan(achieved);
    if (priced)
        count_lost(figures, event->bytes, achieved, best.ns);
    struct xfa_transfer done = {event, class->key.direction, pass->last_class - 1, achieved,
                                priced ? fmax(0, achieved - best.ns) : NAN};
    if (pass->totals->phases.any)
        xfa_phases_transfer(&pass->totals->phases, &done);
    xfa_contents_transfer(&pass->totals->contents, &done);
    run_step(pass, class, event->bytes, achieved);
}

static void count_same(void *context, enum xfa_same same, uint32_t class_index,
                       uint32_t earlier_class, uint64_t bytes, double achieved_ns, bool sampled)
{
    struct xfa_totals *totals = context;
    struct xfa_class *class = xfa_table_at(&totals->classes, class_index);
    struct xfa_same_sum *sum = &class->figures.same[same];
    bool timed = !isnan(achieved_ns);
    sum_add(&sum->sum, bytes, timed ? achieved_ns : 0);
    sum->timed += timed;
    sum->sampled += sampled;
    if (class->earlier[same] == 0) /* the first time leads to where it began */
        class->earlier[same] = earlier_class + 1;
}

static bool on_device(unsigned kind)
{
    return kind == XFT_EVENT_DEVICE_COPY || kind == XFT_EVENT_KERNEL || kind == XFT_EVENT_MEMSET ||
           xfa_is_managed_event(kind);
}

static bool uses_managed(const struct xft_event *event)
{
    return event->kind == XFT_EVENT_PREFETCH || event->kind == XFT_EVENT_ADVISE ||
           (event->kind == XFT_EVENT_ALLOC && event->dst_mem == XFT_MEM_MANAGED);
}

/* What runs are replayed from, and rows are not made of. */
static bool is_step(unsigned kind)
{
    return kind >= XFT_EVENT_LAUNCH;
}

static void extend(struct xfa_totals *totals, const struct xft_event *event)
{
    if (event->start_ns && (totals->first_ns == 0 || event->start_ns < totals->first_ns))
        totals->first_ns = event->start_ns;
    if (event->end_ns > totals->last_ns)
        totals->last_ns = event->end_ns;
}

static void gather_batch(void *context, const struct xfa_batch *batch)
{
    struct pass *pass = context;
    for (size_t i = 0; i < batch->rows; i++) {
        if (batch->events[i].kind == XFT_EVENT_DEVICE_COPY)
            xfa_join_add(&pass->join, &batch->events[i]);
        else
            xfa_phases_gather(&pass->totals->phases, &batch->events[i]);
        xfa_contents_gather(&pass->totals->contents, &batch->events[i]);
    }
}

static void sum_batch(void *context, const struct xfa_batch *batch)
{
    struct pass *pass = context;
    pass->lane = xfa_table_put(&pass->lanes, &batch->lane);
    xfa_phases_lane(&pass->totals->phases, batch);
    for (size_t i = 0; i < batch->rows; i++) {
        const struct xft_event *event = &batch->events[i];
        pass->totals->kinds[event->kind < XFA_EVENT_KINDS ? event->kind : 0]++;
        pass->totals->managed_moves |= xfa_is_managed_event(event->kind);
        pass->totals->managed_used |= uses_managed(event);
        if (!on_device(event->kind) && !is_step(event->kind))
            extend(pass->totals, event);
        if (event->kind == XFT_EVENT_TRANSFER)
            transfer(pass, event);
        else if (event->kind == XFT_EVENT_RANGE_BEGIN || event->kind == XFT_EVENT_RANGE_END)
            xfa_phases_range(&pass->totals->phases, event);
        else if (event->kind == XFT_EVENT_FREE)
            xfa_contents_free(&pass->totals->contents, event);
    }
}

void xfa_aggregate(struct xfa_totals *totals, struct xfa_trace *trace,
                   const struct xfa_yardstick *yardstick)
{
    struct pass pass = {.trace = trace, .yardstick = yardstick, .totals = totals};
    *totals = (struct xfa_totals){0};
    xfa_table_init(&totals->classes, sizeof(struct xfa_class_key), sizeof(struct xfa_class));
    xfa_table_init(&pass.lanes, sizeof(uint32_t), sizeof(struct lane));
    xfa_phases_init(&totals->phases);
    xfa_trace_events(trace, gather_batch, &pass);
    xfa_join_ready(&pass.join);
    xfa_phases_ready(&totals->phases);
    xfa_contents_ready(&totals->contents);
    xfa_trace_events(trace, sum_batch, &pass);
    for (size_t i = 0; i < pass.lanes.count; i++)
        run_end(&pass, xfa_table_at(&pass.lanes, i));
    xfa_phases_finish(&totals->phases);
    xfa_contents_finish(&totals->contents, count_same, totals);
    xfa_join_unused(&pass.join, &totals->device_only, &totals->device_only_bytes);
    xfa_join_free(&pass.join);
    xfa_table_free(&pass.lanes);
}

void xfa_totals_free(struct xfa_totals *totals)
{
    xfa_table_free(&totals->classes);
    xfa_phases_free(&totals->phases);
    xfa_contents_release(&totals->contents);
}
