#include "analyzer/whatif/ops/pace_windows.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/ops/op_numbers.h"

#define IDLE 0.02  /* of a hole, and less: nobody worked in it */
#define AWAKE 0.97 /* of a window, and more: somebody works, or waits, all of it */

/* ---- as recorded ----------------------------------------------------------------------------- */

/* These threads slept in it. */
static void add_sleep(struct xfw_window *window, uint64_t threads, uint64_t from_ns,
                      uint64_t until_ns)
{
    if (!threads)
        return;
    if (!window->slept || from_ns < window->slept_from_ns)
        window->slept_from_ns = from_ns;
    if (!window->slept || until_ns > window->slept_until_ns)
        window->slept_until_ns = until_ns;
    window->slept |= threads;
}

/* Of the thread, what belongs to the last sample. What the busiest of the others worked for longer
 * than its sleep, it worked while the thread was awake. */
static void take_thread(const struct xfw_windows *windows, struct xfw_pace_in_window *in,
                        unsigned number)
{
    const struct xfw_pace_slept slept = in->slept;
    double ns = xfw_min(slept.ns, windows->last_ns);
    in->slept.ns = 0;
    if (!(ns > XFW_PACE_SLEPT * windows->last_ns))
        return;
    in->busiest.ns += windows->last_ns;
    in->busiest.others_ns += windows->last_busy_ns;
    in->beyond.ns += windows->last_ns - ns;
    in->beyond.others_ns += xfw_max(0, windows->last_busy_ns - ns);
    add_sleep(&windows->all[windows->count - 1], (uint64_t)1 << number, slept.from_ns,
              slept.until_ns);
}

/* No reading comes any more that began before: what was slept belongs to the last window; before
 * the first one, to none. */
static void end_window(const struct xfw_numbers *numbers, uint64_t before_ns)
{
    const struct xfw_windows *windows = &numbers->windows;
    for (size_t i = 0; i < numbers->threads.count && i < XFW_PACE_THREADS; i++) {
        struct xfw_thread *thread = xfa_table_at(&numbers->threads, i);
        struct xfw_pace_in_window *in = &thread->pace.in_window;
        if (in->last.from_ns < before_ns) {
            xfw_pace_sleep_add(&in->slept, &in->last);
            in->last.ns = 0;
        }
        if (windows->count > 0)
            take_thread(windows, in, (unsigned)i);
        else
            in->slept.ns = 0;
    }
}

/* They are one from now on. */
static void add_to_window(struct xfw_window *into, const struct xfw_window *other)
{
    into->start_ns = other->start_ns < into->start_ns ? other->start_ns : into->start_ns;
    into->end_ns = other->end_ns > into->end_ns ? other->end_ns : into->end_ns;
    into->busy_ns += other->busy_ns;
    into->full_ns += other->full_ns;
    add_sleep(into, other->slept, other->slept_from_ns, other->slept_until_ns);
}

/* Of twice as many samples each. */
static void halve(struct xfw_windows *windows)
{
    struct xfw_window *all = windows->all;
    for (size_t i = 0; i < XFW_MOST_WINDOWS / 2; i++) {
        all[i] = all[2 * i];
        add_to_window(&all[i], &all[2 * i + 1]);
    }
    windows->count = XFW_MOST_WINDOWS / 2;
    windows->doubled++;
}

static void add_window(struct xfw_windows *windows, const struct xfw_window *window)
{
    if (windows->samples++ % ((uint64_t)1 << windows->doubled) != 0) {
        add_to_window(&windows->all[windows->count - 1], window);
        return;
    }
    if (windows->count == XFW_MOST_WINDOWS)
        halve(windows);
    windows->all =
        xfa_room(windows->all, &windows->capacity, windows->count + 1, sizeof *windows->all);
    windows->all[windows->count++] = *window;
}

/* The last one from now on. */
static void begin_window(struct xfw_numbers *numbers, uint64_t start_ns, uint64_t end_ns,
                         double busy_ns)
{
    struct xfw_windows *windows = &numbers->windows;
    double ns = (double)(end_ns - start_ns);
    bool full = busy_ns >= AWAKE * ns;
    windows->last_ns = ns;
    windows->last_busy_ns = busy_ns;
    windows->full += full;
    windows->until_ns = end_ns > windows->until_ns ? end_ns : windows->until_ns;
    const struct xfw_window window = {
        .start_ns = start_ns,
        .end_ns = end_ns,
        .busy_ns = busy_ns,
        .full_ns = full ? busy_ns : 0,
    };
    add_window(windows, &window);
}

/* The last reading lies in a hole. */
static void add_to_hole(struct xfw_numbers *numbers)
{
    struct xfw_hole *hole = &numbers->windows.hole;
    if (!(hole->last.ns > 0))
        return;
    if (!(hole->sum.ns > 0))
        end_window(numbers, hole->last_from_ns);
    hole->sum.ns += hole->last.ns;
    hole->sum.others_ns += hole->last.others_ns;
    hole->last.ns = 0;
}

void xfw_pace_windows_reading(struct xfw_numbers *numbers, const struct xfa_event *reading,
                              double others_ns)
{
    struct xfw_windows *windows = &numbers->windows;
    add_to_hole(numbers);
    windows->hole.last = (struct xfw_pace_sum){xfa_event_ns(reading), others_ns};
    windows->hole.last_from_ns = reading->start_ns;
    windows->hole.last_until_ns = reading->end_ns;
}

/* A window begins, or there is none any more. */
static void fill_hole(struct xfw_numbers *numbers, uint64_t until_ns)
{
    struct xfw_windows *windows = &numbers->windows;
    struct xfw_hole *hole = &windows->hole;
    uint64_t from_ns = windows->until_ns;
    if (hole->last_from_ns < until_ns)
        add_to_hole(numbers);
    const struct xfw_pace_sum sum = hole->sum;
    *hole = (struct xfw_hole){.last_from_ns = 0};
    if (!(sum.ns > 0) || until_ns <= from_ns)
        return;
    double rate = xfw_min(1, windows->last_part * sum.others_ns / sum.ns);
    if (rate > IDLE)
        begin_window(numbers, from_ns, until_ns, rate * (double)(until_ns - from_ns));
}

void xfw_pace_windows_add(struct xfw_numbers *numbers, const struct xfa_event *event)
{
    struct xfw_windows *windows = &numbers->windows;
    double ns = xfa_event_ns(event), busy_ns = xfw_min((double)event->processor.own_ns, ns);
    if (!(ns > 0))
        return;
    fill_hole(numbers, event->start_ns);
    end_window(numbers, event->start_ns);
    begin_window(numbers, event->start_ns, event->end_ns, busy_ns);
    windows->last_part = busy_ns / xfw_max(busy_ns, (double)event->processor.others_ns);
}

void xfw_pace_windows_end(struct xfw_numbers *numbers)
{
    fill_hole(numbers, numbers->windows.hole.last_until_ns);
    end_window(numbers, UINT64_MAX);
}

/* ---- what it means --------------------------------------------------------------------------- */

static double ns_of(const struct xfw_window *window)
{
    return (double)(window->end_ns - window->start_ns);
}

/* Who works for many windows at a time may as well wait awake. */
static bool may_wait_awake(const struct xfw_windows *windows)
{
    return 2 * windows->full >= windows->samples;
}

/* ---- sums ------------------------------------------------------------------------------------ */

struct sums { /* over the windows so far */
    struct xfa_process *process;
    double until, made, certain;
};

static double since_start(const struct sums *sums, uint64_t ns)
{
    return (double)(int64_t)(ns - sums->process->start_mono_ns);
}

static void put(const struct sums *sums)
{
    struct xfa_process *process = sums->process;
    if (process->made_count > 0 && process->made[process->made_count - 1].ns >= sums->until)
        return; /* nothing was made since */
    process->made[process->made_count++] =
        (struct xfa_made){sums->until, sums->made, sums->certain};
}

/* Until then, at that rate. */
static void add_part(struct sums *sums, double until, double rate, double certain)
{
    if (!(until > sums->until))
        return;
    put(sums);
    sums->made += rate * (until - sums->until);
    sums->certain += certain * (until - sums->until);
    sums->until = until;
    put(sums);
}

/* first, last: of windows in which a thread waits for others. */
static void add_late(struct sums *sums, const struct xfw_window *window, bool first, bool last)
{
    double end = since_start(sums, window->end_ns), start = end - ns_of(window);
    double rest = end - start - window->busy_ns;
    double from = first ? since_start(sums, window->slept_from_ns) : start;
    double until = last ? since_start(sums, window->slept_until_ns) : end;
    double outside = xfw_max(0, from - start) + xfw_max(0, end - until);
    double rate = outside > rest ? 1 - rest / outside : 0;
    add_part(sums, xfw_min(from, end), rate, rate);
    add_part(sums, xfw_min(until, end), 1, 1);
    add_part(sums, end, rate, rate);
}

static int by_start(const void *a, const void *b)
{
    const struct xfw_window *one = a, *other = b;
    return (one->start_ns > other->start_ns) - (one->start_ns < other->start_ns);
}

/* What comes before the first one, and behind the last, is taken to be alike, for as long as they
 * are: less than a whole one is not recorded. */
static void lengthen(const struct xfw_windows *windows, uint64_t start_ns)
{
    struct xfw_window *first = &windows->all[0], *last = &windows->all[windows->count - 1];
    uint64_t last_ns = last->end_ns - last->start_ns, first_ns = first->end_ns - first->start_ns;
    uint64_t before_ns = first->start_ns > start_ns ? first->start_ns - start_ns : 0;
    before_ns = before_ns < first_ns ? before_ns : first_ns;
    double part = (double)before_ns / (double)first_ns; /* the first may be the last, too */
    double busy_ns = part * first->busy_ns, full_ns = part * first->full_ns;
    last->end_ns += last_ns;
    last->busy_ns *= 2;
    last->full_ns *= 2;
    first->start_ns -= before_ns;
    first->busy_ns += busy_ns;
    first->full_ns += full_ns;
}

static void add_all(struct sums *sums, const struct xfw_windows *windows, uint64_t paced)
{
    const bool may_wait = may_wait_awake(windows);
    for (size_t i = 0; i < windows->count; i++) {
        const struct xfw_window *window = &windows->all[i];
        double end = since_start(sums, window->end_ns), ns = ns_of(window);
        double rate = window->busy_ns / ns;
        double unsure = may_wait ? window->full_ns / ns : 0;
        sums->until = xfw_max(end - ns, sums->until); /* of one that lies over another, the rest */
        bool first = i == 0 || !(window[-1].slept & paced);
        bool last = i + 1 == windows->count || !(window[1].slept & paced);
        if (window->slept & paced)
            add_late(sums, window, first, last);
        else
            add_part(sums, end, rate, rate - unsure);
    }
}

void xfw_pace_windows_sum(const struct xfw_numbers *numbers, struct xfa_process *process,
                          uint64_t paced)
{
    const struct xfw_windows *windows = &numbers->windows;
    struct sums sums = {.process = process};
    free(process->made);
    process->made = xfa_alloc((6 * windows->count + 1) * sizeof *process->made);
    process->made_count = 0;
    if (windows->count == 0)
        return;
    qsort(windows->all, windows->count, sizeof *windows->all, by_start);
    lengthen(windows, process->start_mono_ns);
    add_all(&sums, windows, paced);
}
