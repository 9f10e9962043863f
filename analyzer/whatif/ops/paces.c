#include "analyzer/whatif/ops/paces.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/team.h"
#include "analyzer/whatif/ops/op_numbers.h"
#include "xferscope/trace.h"

#define SLEPT 0.05    /* of a reading, and more: else the thread was awake */
#define IN_CALLS 0.02 /* of all readings: what others do meanwhile is known */
#define MARKED 8      /* sleeps: who made no call during as many, or twice as many, makes none */
#define CALLERS 64    /* of more threads nothing is known */
#define RATE 0.5      /* processors that are at work: somebody is */
#define UNSURE 0.2    /* of that: he may be, or not */
#define GOES_ON 0.5   /* of the others' rate: they do while the thread is awake */
#define DIFFER 0.01   /* of readings: 1 - the square of the correlation of sleep and own work */
/* Readings of what others worked lag by a tick of the kernel's or two: shorter times do not show
 * that they rested, nor what is less than that part. */
#define RESTED_NS 50e6
#define RESTED 0.8
#define AWAKE 0.97     /* of a window, and more: somebody works, or waits, all of it */
#define NEAR 8         /* places of sums over windows: looked at one by one */
#define MOST_CALLS 0.9 /* of all, and more: who waits for others is this thread */

/* ---- readings -------------------------------------------------------------------------------- */

/* For the least squares of what others work in a ns of its sleep and in one of its own work. */
static void add_mixed(struct xfw_pace_mixed *mixed, double slept, double own, double others)
{
    mixed->slept2 += slept * slept;
    mixed->both += slept * own;
    mixed->own2 += own * own;
    mixed->slept_others += slept * others;
    mixed->own_others += own * others;
}

static void add(struct xfw_pace_sum *sum, double ns, double others_ns)
{
    sum->ns += ns;
    sum->others_ns += others_ns;
}

/* Of what others worked in the reading, the part of threads that make calls, too: by what they
 * worked of their own readings so far. */
static double callers_ns(const struct xfw_numbers *numbers, const struct xfw_thread *thread,
                         double ns, double others_ns)
{
    double callers = 0;
    if (numbers->threads.count > CALLERS)
        return others_ns;
    for (size_t i = 0; i < numbers->threads.count; i++) {
        const struct xfw_thread *other = xfa_table_at(&numbers->threads, i);
        const struct xfw_pace *pace = &other->pace;
        bool calls = other != thread && !other->ended && other->end_ns > 0 &&
                     other->end_ns >= thread->pace.marks_ns[0];
        if (calls)
            callers += pace->ns > 0 ? xfw_min(1, pace->own_ns / pace->ns) * ns : ns;
    }
    return xfw_min(callers, others_ns);
}

static void mark(struct xfw_pace *pace, uint64_t ns)
{
    if (++pace->sleeps < MARKED)
        return;
    pace->sleeps = 0;
    pace->marks_ns[0] = pace->marks_ns[1];
    pace->marks_ns[1] = ns;
}

/* Threads that have slept in the window, of the first few. What the busiest of the others worked
 * for longer than that, it worked while the thread was awake. */
static uint64_t slept_in(struct xfw_numbers *numbers, double ns, double busy_ns)
{
    uint64_t all = 0;
    for (size_t i = 0; i < numbers->threads.count && i < CALLERS; i++) {
        struct xfw_pace *pace = &((struct xfw_thread *)xfa_table_at(&numbers->threads, i))->pace;
        double slept = xfw_min(pace->window_slept_ns, ns);
        pace->window_slept_ns = 0;
        if (slept > SLEPT * ns) {
            add(&pace->beyond, ns - slept, xfw_max(0, busy_ns - slept));
            all |= (uint64_t)1 << i;
        }
    }
    return all;
}

/* They are one from now on. */
static void add_to_window(struct xfw_window *into, const struct xfw_window *other)
{
    into->start_ns = other->start_ns < into->start_ns ? other->start_ns : into->start_ns;
    into->end_ns = other->end_ns > into->end_ns ? other->end_ns : into->end_ns;
    into->busy_ns += other->busy_ns;
    into->full_ns += other->full_ns;
    into->slept |= other->slept;
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

static void add_window(struct xfw_numbers *numbers, const struct xfa_event *event)
{
    struct xfw_windows *windows = &numbers->windows;
    double ns = xfa_event_ns(event), busy_ns = xfw_min((double)event->processor.own_ns, ns);
    bool full = busy_ns >= AWAKE * ns;
    if (!(ns > 0))
        return;
    const struct xfw_window window = {
        .start_ns = event->start_ns,
        .end_ns = event->end_ns,
        .busy_ns = busy_ns,
        .full_ns = full ? busy_ns : 0,
        .slept = slept_in(numbers, ns, busy_ns),
    };
    windows->full += full;
    if (windows->samples++ % ((uint64_t)1 << windows->doubled) != 0) {
        add_to_window(&windows->all[windows->count - 1], &window);
        return;
    }
    if (windows->count == XFW_MOST_WINDOWS)
        halve(windows);
    windows->all =
        xfa_room(windows->all, &windows->capacity, windows->count + 1, sizeof *windows->all);
    windows->all[windows->count++] = window;
}

void xfw_pace_reading(struct xfw_numbers *numbers, struct xfw_thread *thread,
                      const struct xfa_event *event)
{
    const struct xfa_processor *read = &event->processor;
    if (read->until == XFT_PROCESSOR_OF_OTHERS)
        add_window(numbers, event);
    if (read->until > XFT_PROCESSOR_UNTIL_RETURN)
        return;
    struct xfw_pace *pace = &thread->pace;
    double ns = xfa_event_ns(event), own = xfw_min((double)read->own_ns, ns);
    double others = (double)read->others_ns;
    bool free = read->until == XFT_PROCESSOR_UNTIL_CALL; /* it was its own master */
    bool asleep = free && ns - own > SLEPT * ns;
    if (free) { /* until a call that comes behind the reading that begins there */
        pace->before = pace->last;
        pace->last = (struct xfw_pace_gap){event->start_ns, event->end_ns, ns - own};
    }
    pace->ns += ns;
    pace->own_ns += own;
    pace->window_slept_ns += asleep ? ns - own : 0;
    if (!read->others_known) {
        pace->unknown_ns += asleep ? ns - own : 0;
    } else if (asleep) {
        add(&pace->asleep, ns - own, others);
        pace->beside_own_ns += own;
        pace->callers_ns += callers_ns(numbers, thread, ns, others);
    } else {
        add(free ? &pace->awake : &pace->in_calls, ns, others);
        add(&pace->since, ns, others);
    }
    if (free && read->others_known)
        add_mixed(&pace->mixed, ns - own, own, others);
    if (asleep)
        mark(pace, event->start_ns);
}

/* ---- gaps ------------------------------------------------------------------------------------ */

static uint16_t parts_of(double ns, double whole_ns)
{
    return (uint16_t)(XFW_OF_ALL * xfw_max(0, xfw_min(1, ns / whole_ns)));
}

static double rate_of(const struct xfw_pace_sum *sum)
{
    return sum->ns > 0 ? sum->others_ns / sum->ns : NAN;
}

/* While it works itself: of readings that have different parts of that and of sleep. NAN: they do
 * not differ. */
static double beside_own(const struct xfw_pace_mixed *mixed)
{
    double squares = mixed->slept2 * mixed->own2, of_both = mixed->both * mixed->both;
    if (!(squares - of_both > DIFFER * squares))
        return NAN;
    double own = mixed->own_others * mixed->slept2 - mixed->slept_others * mixed->both;
    return xfw_max(0, own / (squares - of_both));
}

/* What the others do while the thread is in its calls: what it asked them for may go on while it
 * works itself, but it calls with what they have made. Calls that are too short for readings of
 * their own: while it is awake. NAN: not known. */
static double beside(const struct xfw_pace *pace)
{
    if (pace->in_calls.ns > IN_CALLS * pace->ns)
        return rate_of(&pace->in_calls);
    return pace->awake.ns > pace->asleep.ns ? rate_of(&pace->awake) : beside_own(&pace->mixed);
}

/* And while it sleeps: of readings in which it does other things, too, the others' work beside
 * these is taken off. */
static double while_asleep(const struct xfw_pace *pace)
{
    double of_own = pace->beside_own_ns > 0 ? beside(pace) * pace->beside_own_ns : 0;
    double others = pace->asleep.others_ns - (of_own > 0 ? of_own : 0);
    return pace->asleep.ns > 0 ? xfw_max(0, others) / pace->asleep.ns : NAN;
}

/* How long the others have rested since the sleep before. */
static double rested_ns(const struct xfw_pace *pace)
{
    double rate = while_asleep(pace);
    if (pace->since.ns < RESTED_NS || !(rate > 0))
        return 0;
    return pace->since.ns - pace->since.others_ns / (RESTED * rate);
}

/* Of the reading's sleep, what lies in the gap from before_ns to start_ns. */
static double take_left(struct xfw_pace_gap *gap, uint64_t before_ns, uint64_t start_ns)
{
    uint64_t from = before_ns > gap->from_ns ? before_ns : gap->from_ns;
    uint64_t to = start_ns < gap->until_ns ? start_ns : gap->until_ns;
    double within = to > from ? (double)(to - from) : 0, behind = (double)(gap->until_ns - to);
    double slept = within >= behind ? xfw_min(within, gap->left_ns) : 0;
    gap->left_ns = start_ns >= gap->until_ns ? 0 : gap->left_ns - slept;
    return slept;
}

void xfw_pace_before(struct xfw_pace *pace, const struct xfa_event *event, uint64_t before_ns,
                     struct xfw_op *op)
{
    bool polled = event->kind == XFT_EVENT_QUERY && event->wait.queries > 0;
    double slept = take_left(&pace->before, before_ns, event->start_ns);
    slept += take_left(&pace->last, before_ns, event->start_ns);
    if (!(slept > 0) || before_ns == 0 || polled)
        return;
    op->slept_parts = parts_of(slept, (double)(event->start_ns - before_ns));
    if (pace->woke_ns && event->start_ns > pace->woke_ns)
        op->rested_parts = parts_of(rested_ns(pace), (double)(event->start_ns - pace->woke_ns));
    pace->slept_ns += slept;
    pace->woke_ns = event->start_ns;
    pace->since = (struct xfw_pace_sum){0};
}

void xfw_pace_only(struct xfw_numbers *numbers, const struct xfa_event *event)
{
    bool of_graph = event->kind == XFT_EVENT_TRANSFER && event->flags & XFT_GRAPH;
    bool reads = event->kind == XFT_EVENT_PROCESSOR;
    if (!reads && (of_graph || !xfa_is_of_thread(event->kind)))
        return;
    struct xfw_thread *thread = xfw_thread_of(numbers, event->tid);
    if (reads) {
        xfw_pace_reading(numbers, thread, event);
        return;
    }
    struct xfw_op op = xfw_op_none();
    if (xfw_pace_has_left(&thread->pace))
        xfw_pace_before(&thread->pace, event, thread->end_ns, &op);
    xfw_thread_calls(thread, event);
}

/* ---- what is decided ------------------------------------------------------------------------- */

/* Threads of OpenMP spin behind their work, for 15 ms and more: they seem to go on while the thread
 * that forks and joins them is in a call. */
static enum xfw_paced decide(const struct xfw_pace *pace, bool openmp)
{
    double rate = while_asleep(pace), goes_on = beside(pace);
    if (isnan(goes_on)) /* the busiest alone is known to */
        goes_on = rate_of(&pace->beyond) * xfw_max(1, rate);
    bool unknown = pace->unknown_ns > pace->asleep.ns;
    if (!unknown && pace->callers_ns > pace->asleep.others_ns / 2)
        return XFW_PACED_NOT;
    if (unknown || (isnan(goes_on) && rate >= RATE))
        return XFW_PACED_AT_WORST;
    if (!(goes_on >= GOES_ON * rate))
        return XFW_PACED_NOT;
    if (openmp)
        return rate >= RATE - UNSURE ? XFW_PACED_AT_WORST : XFW_PACED_NOT;
    return rate >= RATE + UNSURE   ? XFW_PACED_AT_BEST
           : rate >= RATE          ? XFW_PACED_LIKELY
           : rate >= RATE - UNSURE ? XFW_PACED_AT_WORST
                                   : XFW_PACED_NOT;
}

static int by_tid(const void *a, const void *b)
{
    const struct xfa_paced *one = a, *other = b;
    return (one->tid > other->tid) - (one->tid < other->tid);
}

static uint8_t paced_of(const struct xfa_process *process, int32_t tid)
{
    const struct xfa_paced wanted = {.tid = tid}, *found = NULL;
    if (process->paced_count > 0)
        found = bsearch(&wanted, process->paced, process->paced_count, sizeof wanted, by_tid);
    return found ? found->paced : XFW_PACED_NOT;
}

static int by_start(const void *a, const void *b)
{
    const struct xfw_window *one = a, *other = b;
    return (one->start_ns > other->start_ns) - (one->start_ns < other->start_ns);
}

static void add_made(struct xfa_process *process, double ns, double made_ns, double certain_ns)
{
    if (process->made_count > 0 && process->made[process->made_count - 1].ns >= ns)
        return; /* nothing was made since */
    process->made[process->made_count++] = (struct xfa_made){ns, made_ns, certain_ns};
}

/* Those that keep others' pace, of the first few. */
static uint64_t sleepers(const struct xfw_numbers *numbers, const struct xfa_process *process)
{
    uint64_t all = 0;
    for (size_t i = 0; i < numbers->threads.count && i < CALLERS; i++) {
        const struct xfw_thread *thread = xfa_table_at(&numbers->threads, i);
        all |= (uint64_t)(paced_of(process, thread->tid) >= XFW_PACED_LIKELY) << i;
    }
    return all;
}

/* Who works for many windows at a time may as well wait awake. */
static bool may_wait_awake(const struct xfw_windows *windows)
{
    return 2 * windows->full >= windows->samples;
}

struct sums { /* over the windows so far */
    double until, made, certain;
};

/* late: a thread waits for others in it. unsure: they may wait awake. */
static void add_to_sums(struct sums *sums, const struct xfw_window *window, bool late, bool unsure,
                        struct xfa_process *process)
{
    double ns = (double)(window->end_ns - window->start_ns);
    double to = (double)(int64_t)(window->end_ns - process->start_mono_ns);
    double from = xfw_max(to - ns, sums->until);
    if (!(to > from))
        return;
    double part = (to - from) / ns, busy = late ? to - from : window->busy_ns * part;
    add_made(process, from, sums->made, sums->certain);
    sums->made += busy;
    sums->certain += late || !unsure ? busy : busy - window->full_ns * part;
    add_made(process, to, sums->made, sums->certain);
    sums->until = to;
}

/* What comes before the first one, and behind the last, is taken to be alike, for as long as they
 * are: less than a whole one is not recorded. */
static void lengthen(const struct xfw_windows *windows, uint64_t start_ns)
{
    struct xfw_window *first = &windows->all[0], *last = &windows->all[windows->count - 1];
    uint64_t last_ns = last->end_ns - last->start_ns, first_ns = first->end_ns - first->start_ns;
    uint64_t before_ns = first->start_ns > start_ns ? first->start_ns - start_ns : 0;
    before_ns = before_ns < first_ns ? before_ns : first_ns;
    double longer = 1 + (double)before_ns / (double)first_ns;
    last->end_ns += last_ns;
    last->busy_ns *= 2;
    last->full_ns *= 2;
    first->start_ns -= before_ns;
    first->busy_ns *= longer;
    first->full_ns *= longer;
}

/* Sums over the windows, at the start and the end of each. One that lies over another has what
 * comes behind that. Where a thread slept at the others' pace they were late, whatever they rested
 * before. */
static void sum_windows(const struct xfw_numbers *numbers, struct xfa_process *process)
{
    const struct xfw_windows *windows = &numbers->windows;
    const uint64_t paced = sleepers(numbers, process);
    const bool may_wait = may_wait_awake(windows);
    struct sums sums = {0};
    free(process->made);
    process->made = xfa_alloc((2 * windows->count + 1) * sizeof *process->made);
    process->made_count = 0;
    if (windows->count == 0)
        return;
    qsort(windows->all, windows->count, sizeof *windows->all, by_start);
    lengthen(windows, process->start_mono_ns);
    for (size_t i = 0; i < windows->count; i++)
        add_to_sums(&sums, &windows->all[i], windows->all[i].slept & paced, may_wait, process);
}

static void find_caller(const struct xfw_numbers *numbers, struct xfa_process *process)
{
    uint64_t all = 0;
    for (size_t i = 0; i < numbers->threads.count; i++)
        all += ((const struct xfw_thread *)xfa_table_at(&numbers->threads, i))->calls;
    process->made_for = 0;
    for (size_t i = 0; i < numbers->threads.count; i++) {
        const struct xfw_thread *thread = xfa_table_at(&numbers->threads, i);
        if ((double)thread->calls > MOST_CALLS * (double)all && !process->openmp)
            process->made_for = thread->tid;
    }
}

void xfw_paces_decide(const struct xfw_numbers *numbers, struct xfa_process *process)
{
    size_t capacity = 0;
    free(process->paced);
    process->paced = NULL;
    process->paced_count = 0;
    for (size_t i = 0; i < numbers->threads.count; i++) {
        const struct xfw_thread *thread = xfa_table_at(&numbers->threads, i);
        const struct xfw_pace *pace = &thread->pace;
        enum xfw_paced paced = pace->slept_ns > 0 ? decide(pace, process->openmp) : XFW_PACED_NOT;
        if (paced == XFW_PACED_NOT)
            continue;
        process->paced =
            xfa_room(process->paced, &capacity, process->paced_count + 1, sizeof *process->paced);
        process->paced[process->paced_count++] = (struct xfa_paced){
            .tid = thread->tid,
            .paced = (uint8_t)paced,
            .slept_ns = pace->slept_ns,
            .rate = while_asleep(pace),
            .beside = beside(pace),
        };
    }
    if (process->paced_count > 0)
        qsort(process->paced, process->paced_count, sizeof *process->paced, by_tid);
    sum_windows(numbers, process);
    find_caller(numbers, process);
}

/* ---- members of a team ----------------------------------------------------------------------- */

static void give(const struct xfa_process *process, struct xfa_parcel *parcel)
{
    xfa_parcel_number(parcel, (uint64_t)(int64_t)process->made_for);
    xfa_parcel_number(parcel, process->made_count);
    if (process->made_count)
        xfa_parcel_put(parcel, process->made, process->made_count * sizeof *process->made);
    xfa_parcel_number(parcel, process->paced_count);
    if (process->paced_count)
        xfa_parcel_put(parcel, process->paced, process->paced_count * sizeof *process->paced);
}

static void take_made(struct xfa_process *process, struct xfa_unpacking *from)
{
    process->made_for = (int32_t)(int64_t)xfa_unpack_number(from);
    size_t count = xfa_unpack_count(from, sizeof *process->made);
    free(process->made);
    process->made = xfa_alloc((count + 1) * sizeof *process->made);
    process->made_count = count;
    if (count)
        xfa_unpack_bytes(from, process->made, count * sizeof *process->made);
}

static void take(struct xfa_process *process, struct xfa_unpacking *from)
{
    take_made(process, from);
    size_t count = xfa_unpack_count(from, sizeof *process->paced);
    free(process->paced);
    process->paced = xfa_alloc((count + 1) * sizeof *process->paced);
    process->paced_count = count;
    if (count)
        xfa_unpack_bytes(from, process->paced, count * sizeof *process->paced);
}

void xfw_paces_exchange(struct xfa_run *run)
{
    struct xfa_team *team = run->team;
    struct xfa_parcel mine = {0};
    if (!team)
        return;
    for (size_t i = 0; i < run->process_count; i++)
        if (run->processes[i]->share == team->rank)
            give(run->processes[i], &mine);
    struct xfa_parcel *all = xfa_team_exchange(team, "threads that sleep", &mine);
    for (uint32_t rank = 0; rank < team->count; rank++) {
        struct xfa_unpacking from = xfa_unpack(&all[rank]);
        for (size_t i = 0; i < run->process_count && !from.bad; i++)
            if (run->processes[i]->share == rank)
                take(run->processes[i], &from);
        if (from.bad || from.left > 0)
            team->fail(team->self, xfa_print("the threads of rank %u are none that rank %u can "
                                             "play: let one of them analyze",
                                             rank, team->rank));
    }
    xfa_team_free_parcels(team, all);
    xfa_parcel_free(&mine);
}

/* ---- ops that are played --------------------------------------------------------------------- */

/* The first one behind ns. */
static size_t first_place(const struct xfa_process *process, double ns)
{
    size_t low = 0, high = process->made_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (process->made[middle].ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The same where it is `at`, or soon behind that, as of ops in the order of time. */
static size_t place_of(const struct xfa_process *process, size_t at, double ns)
{
    const struct xfa_made *made = process->made;
    for (int i = 0; i < NEAR && at < process->made_count && made[at].ns <= ns; i++)
        at++;
    bool found =
        (at == 0 || made[at - 1].ns <= ns) && (at == process->made_count || made[at].ns > ns);
    return found ? at : first_place(process, ns);
}

static void set_made(const struct xfa_process *process, size_t at, struct xfw_op *op)
{
    const struct xfa_made none = {0, 0, 0};
    const struct xfa_made *from = at > 0 ? &process->made[at - 1] : &none;
    const struct xfa_made *to = at < process->made_count ? &process->made[at] : from;
    double part = to->ns > from->ns ? (op->start_ns - from->ns) / (to->ns - from->ns) : 0;
    op->made_ns = from->made_ns + part * (to->made_ns - from->made_ns);
    double certain_ns = from->certain_ns + part * (to->certain_ns - from->certain_ns);
    op->certain_parts = op->made_ns > 0 ? parts_of(certain_ns, op->made_ns) : 0;
}

/* A thread that sleeps at their pace has them at work, as far as that is sure; of others it is not
 * known what they wait for, if for anything. */
static void hold(const struct xfa_process *process, uint8_t paced, struct xfw_op *op)
{
    op->held = 1;
    if (op->tid == process->made_for)
        op->held = 3;
    for (unsigned i = 0; i < paced; i++)
        op->held |= (1u << i) & 7;
    if (paced >= XFW_PACED_LIKELY)
        op->certain_parts = XFW_OF_ALL;
}

void xfw_paces_take(const struct xfa_process *process, struct xfw_op *ops, size_t count)
{
    uint8_t paced = XFW_PACED_NOT;
    size_t at = process->made_count && count ? first_place(process, ops[0].start_ns) : 0;
    if (process->paced_count == 0 && process->made_count == 0)
        return;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || ops[i].tid != ops[i - 1].tid)
            paced = paced_of(process, ops[i].tid);
        if (ops[i].slept_parts)
            ops[i].paced = paced;
        if (process->made_count == 0 || !xfw_op_may_be_held(&ops[i]))
            continue;
        at = place_of(process, at, ops[i].start_ns);
        set_made(process, at, &ops[i]);
        hold(process, paced, &ops[i]);
    }
}
