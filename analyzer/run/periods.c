#include "analyzer/run/periods.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "analyzer/read/read.h"

/* ---- reading --------------------------------------------------------------------------------- */

struct turn {
    uint64_t ns, seq; /* seq: in the order of the file, for those of one time and lane */
    uint64_t what;    /* enum xft_period */
};

struct turns {
    struct turn *all;
    size_t count, capacity;
    uint64_t last_ns; /* of any event */
};

static void take_turn(void *context, const struct xfa_batch *batch)
{
    struct turns *turns = context;
    for (size_t i = 0; i < batch->rows; i++) {
        const struct xft_event *event = &batch->events[i];
        turns->last_ns = event->end_ns > turns->last_ns ? event->end_ns : turns->last_ns;
        if (event->kind != XFT_EVENT_PERIOD || turns->count >= (size_t)2 * XFA_MAX_PERIODS)
            continue;
        turns->all = xfa_room(turns->all, &turns->capacity, turns->count + 1, sizeof *turns->all);
        turns->all[turns->count] = (struct turn){event->start_ns, turns->count, event->aux};
        turns->count++;
    }
}

/* Of one time: as they were written, where that was one lane. */
static int by_time(const void *a, const void *b)
{
    const struct turn *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

static void add_period(struct xfa_periods *periods, uint64_t from)
{
    struct xfa_period *last = periods->count ? &periods->all[periods->count - 1] : NULL;
    if (last && last->until_ns == 0)
        return; /* its end is missing */
    periods->all[periods->count++] = (struct xfa_period){.from_ns = from};
}

static void take_turns(struct xfa_periods *periods, struct turns *turns)
{
    if (turns->count)
        qsort(turns->all, turns->count, sizeof *turns->all, by_time);
    periods->all = xfa_alloc((turns->count + 1) * sizeof *periods->all);
    for (size_t i = 0; i < turns->count; i++) {
        const struct turn *turn = &turns->all[i];
        if (turn->what == XFT_PERIOD_BEGINS) {
            add_period(periods, turn->ns);
            continue;
        }
        if (periods->count)
            periods->all[periods->count - 1].until_ns = turn->ns ? turn->ns : 1;
        if (turn->what == XFT_PERIOD_FULL)
            periods->full_ns = turn->ns;
    }
}

/* The one that began last before it; NULL: none did. */
static struct xfa_period *period_at(const struct xfa_periods *periods, uint64_t ns)
{
    size_t low = 0, high = periods->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (periods->all[middle].from_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &periods->all[low - 1] : NULL;
}

/* What the device did for a call of a period may have lasted longer than that. */
static void extend(void *context, const struct xfa_batch *batch)
{
    for (size_t i = 0; i < batch->rows; i++) {
        const struct xft_event *event = &batch->events[i];
        if (event->kind != XFT_EVENT_DEVICE_COPY && event->kind != XFT_EVENT_KERNEL &&
            event->kind != XFT_EVENT_MEMSET)
            continue;
        struct xfa_period *period = period_at(context, event->start_ns);
        if (period && event->end_ns > period->until_ns)
            period->until_ns = event->end_ns;
    }
}

/* None reaches into the next, and how much is left out before each. */
static void divide(struct xfa_periods *periods)
{
    uint64_t out = 0;
    for (size_t i = 0; i < periods->count; i++) {
        struct xfa_period *period = &periods->all[i];
        if (i + 1 < periods->count && period->until_ns > period[1].from_ns)
            period->until_ns = period[1].from_ns;
        if (period->until_ns < period->from_ns)
            period->until_ns = period->from_ns;
        if (i > 0)
            out += period->from_ns - period[-1].until_ns;
        period->out_ns = out;
        periods->recorded_ns += period->until_ns - period->from_ns;
    }
}

static uint64_t asked(const struct xfa_trace *trace, const char *key)
{
    const char *value = xfa_trace_meta(trace, key);
    uint64_t number;
    return value && xfa_number(value, &number) ? number : 0;
}

static void take_times(struct xfa_periods *periods, struct xfa_trace *trace)
{
    struct turns turns = {0};
    uint64_t end = trace->header.end_mono_ns;
    xfa_trace_events(trace, take_turn, &turns);
    take_turns(periods, &turns);
    end = end > turns.last_ns ? end : turns.last_ns;
    periods->none = periods->count == 0;
    if (periods->none) {
        periods->all[periods->count++] =
            (struct xfa_period){.from_ns = periods->start_ns, .until_ns = periods->start_ns};
    } else if (periods->all[periods->count - 1].until_ns == 0) {
        periods->all[periods->count - 1].until_ns = end;
    }
    if (end > periods->start_ns)
        periods->process_ns = end - periods->start_ns;
    if (periods->full_ns)
        periods->full_ns =
            periods->full_ns > periods->start_ns ? periods->full_ns - periods->start_ns : 1;
    if (!periods->none)
        xfa_trace_events(trace, extend, periods);
    divide(periods);
    free(turns.all);
}

struct xfa_periods *xfa_periods_of(struct xfa_trace *trace)
{
    const char *phase = xfa_trace_meta(trace, "periods.phase");
    struct xfa_periods limits = {.start_ns = trace->header.start_mono_ns,
                                 .delay_ns = asked(trace, "periods.delay_ns"),
                                 .duration_ns = asked(trace, "periods.duration_ns"),
                                 .max_bytes = asked(trace, "periods.max_bytes")};
    if (!phase && !limits.delay_ns && !limits.duration_ns && !limits.max_bytes)
        return NULL;
    struct xfa_periods *periods = xfa_alloc(sizeof *periods);
    *periods = limits;
    periods->phase = phase ? xfa_kept(phase, strlen(phase)) : NULL;
    take_times(periods, trace);
    return periods;
}

void xfa_periods_free(struct xfa_periods *periods)
{
    if (!periods)
        return;
    free(periods->all);
    free(periods->phase);
    free(periods);
}

/* ---- time ------------------------------------------------------------------------------------ */

uint64_t xfa_periods_ns(const struct xfa_periods *periods, uint64_t ns)
{
    const struct xfa_period *period = period_at(periods, ns);
    if (ns == 0)
        return 0;
    if (!period)
        return periods->all[0].from_ns;
    return (ns < period->until_ns ? ns : period->until_ns) - period->out_ns;
}
