#include "analyzer/whatif/ops/pace_windows.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/ops/op_numbers.h"

#define AWAKE 0.97 /* of a window, and more: somebody works, or waits, all of it */

/* ---- as recorded ----------------------------------------------------------------------------- */

/* Of the thread, what belongs to the window. What the busiest of the others worked for longer than
 * its sleep, it worked while the thread was awake. */
static void take_thread(struct xfw_window *window, struct xfw_pace_in_window *in, unsigned number)
{
    double ns = (double)(window->end_ns - window->start_ns);
    double slept = xfw_min(in->slept_ns, ns);
    in->slept_ns = 0;
    if (!(slept > XFW_PACE_SLEPT * ns))
        return;
    in->beyond.ns += ns - slept;
    in->beyond.others_ns += xfw_max(0, window->busy_ns - slept);
    if (!window->slept || in->slept_from_ns < window->slept_from_ns)
        window->slept_from_ns = in->slept_from_ns;
    if (!window->slept || in->slept_until_ns > window->slept_until_ns)
        window->slept_until_ns = in->slept_until_ns;
    window->slept |= (uint64_t)1 << number;
}

/* What comes before the first window is in none. */
void xfw_pace_windows_end(const struct xfw_numbers *numbers)
{
    const struct xfw_windows *windows = &numbers->windows;
    for (size_t i = 0; i < numbers->threads.count && i < XFW_PACE_THREADS; i++) {
        struct xfw_thread *thread = xfa_table_at(&numbers->threads, i);
        struct xfw_pace_in_window *in = &thread->pace.in_window;
        if (windows->count > 0)
            take_thread(&windows->all[windows->count - 1], in, (unsigned)i);
        else
            in->slept_ns = 0;
    }
}

void xfw_pace_windows_add(struct xfw_numbers *numbers, const struct xfa_event *event)
{
    struct xfw_windows *windows = &numbers->windows;
    double ns = xfa_event_ns(event);
    if (!(ns > 0))
        return;
    xfw_pace_windows_end(numbers);
    windows->all =
        xfa_room(windows->all, &windows->capacity, windows->count + 1, sizeof *windows->all);
    windows->all[windows->count++] = (struct xfw_window){
        .start_ns = event->start_ns,
        .end_ns = event->end_ns,
        .busy_ns = xfw_min((double)event->processor.own_ns, ns),
    };
}

/* ---- what it means --------------------------------------------------------------------------- */

static double ns_of(const struct xfw_window *window)
{
    return (double)(window->end_ns - window->start_ns);
}

/* Those that keep others' pace, of the first few. */
static uint64_t sleepers(const struct xfw_numbers *numbers, const struct xfa_process *process)
{
    uint64_t all = 0;
    for (size_t i = 0; i < numbers->threads.count && i < XFW_PACE_THREADS; i++) {
        const struct xfw_thread *thread = xfa_table_at(&numbers->threads, i);
        all |= (uint64_t)(xfw_paced_of(process, thread->tid) >= XFW_PACED_LIKELY) << i;
    }
    return all;
}

static bool is_full(const struct xfw_window *window)
{
    return window->busy_ns >= AWAKE * ns_of(window);
}

/* Who works for many windows at a time may as well wait awake. */
static bool may_wait_awake(const struct xfw_windows *windows)
{
    size_t full = 0;
    for (size_t i = 0; i < windows->count; i++)
        full += is_full(&windows->all[i]);
    return 2 * full >= windows->count;
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
    sums->process->made[sums->process->made_count++] =
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

static void add_late(struct sums *sums, const struct xfw_window *window, double start, double end)
{
    double rest = end - start - window->busy_ns;
    double from = window->first ? since_start(sums, window->slept_from_ns) : start;
    double until = window->last ? since_start(sums, window->slept_until_ns) : end;
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
    double busy_ns = first->busy_ns * (double)before_ns / (double)first_ns;
    last->end_ns += last_ns;
    last->busy_ns *= 2;
    first->start_ns -= before_ns;
    first->busy_ns += busy_ns;
}

static void add_all(struct sums *sums, const struct xfw_windows *windows, uint64_t paced)
{
    const bool may_wait = may_wait_awake(windows);
    for (size_t i = 0; i < windows->count; i++) {
        struct xfw_window *window = &windows->all[i];
        double end = since_start(sums, window->end_ns), ns = ns_of(window);
        double rate = window->busy_ns / ns;
        bool unsure = may_wait && is_full(window);
        sums->until = xfw_max(end - ns, sums->until); /* of one that lies over another, the rest */
        window->first = i == 0 || !(window[-1].slept & paced);
        window->last = i + 1 < windows->count && !(window[1].slept & paced);
        if (window->slept & paced)
            add_late(sums, window, end - ns, end);
        else
            add_part(sums, end, rate, unsure ? 0 : rate);
    }
}

void xfw_pace_windows_sum(const struct xfw_numbers *numbers, struct xfa_process *process)
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
    add_all(&sums, windows, sleepers(numbers, process));
}
