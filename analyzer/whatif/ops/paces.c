#include "analyzer/whatif/ops/paces.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/team.h"
#include "analyzer/whatif/ops/op_numbers.h"
#include "xferscope/trace.h"

#define IN_CALLS 0.02 /* of all readings: what others do meanwhile is known */
#define MARKED 8      /* sleeps: who made no call during as many, or twice as many, makes none */
#define RATE 0.5      /* processors that are at work: somebody is */
#define UNSURE 0.2    /* of that: he may be, or not */
#define ALL 0.9       /* of what the others work, by one of them: he is all of them */
#define GOES_ON 0.4   /* of the others' rate: they do while the thread is awake */
/* Readings of what others worked lag by a tick of the kernel's or two: shorter times do not show
 * that they rested, nor what is less than that part. */
#define RESTED_NS 50e6
#define RESTED 0.8
#define NEAR 8         /* places of sums over windows: looked at one by one */
#define MOST_CALLS 0.9 /* of all, and more: who waits for others is this thread */

/* ---- readings -------------------------------------------------------------------------------- */

static void add(struct xfw_pace_sum *sum, double ns, double others_ns)
{
    sum->ns += ns;
    sum->others_ns += others_ns;
}

static void add_sum(struct xfw_pace_sum *sum, const struct xfw_pace_sum *other)
{
    add(sum, other->ns, other->others_ns);
}

/* There is sleep again: what came since the one before was among such. What comes before the first
 * sleep or behind the last one belongs to other parts of the program. */
static void sleeps_again(struct xfw_pace *pace, double ns, double others_ns)
{
    add_sum(&pace->among.all, &pace->behind.all);
    add_sum(&pace->among.in_calls, &pace->behind.in_calls);
    add_sum(&pace->among.awake, &pace->behind.awake);
    pace->behind = (struct xfw_pace_among){.all = {0}};
    add(&pace->among.all, ns, others_ns);
}

static void stays_awake(struct xfw_pace *pace, bool called, double ns, double others_ns)
{
    add(&pace->since, ns, others_ns);
    if (!(pace->among.all.ns > 0))
        return;
    add(&pace->behind.all, ns, others_ns);
    add(called ? &pace->behind.in_calls : &pace->behind.awake, ns, others_ns);
}

/* Of what others worked in the reading, the part of threads that make calls, too: by what they
 * worked of their own readings so far. */
static double callers_ns(const struct xfw_numbers *numbers, const struct xfw_thread *thread,
                         double ns, double others_ns)
{
    double callers = 0;
    if (numbers->threads.count > XFW_PACE_THREADS)
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

/* What came of the thread's last reading, now that all calls in it are known: sleep between queries
 * is part of a wait for the GPU. */
static void count_last(struct xfw_pace *pace)
{
    const struct xfw_pace_last last = pace->last;
    double ns = (double)(last.end_ns - last.start_ns);
    double slept = last.free ? xfw_max(0, ns - last.own_ns - last.polled_ns) : 0;
    bool asleep = slept > XFW_PACE_SLEPT * ns;
    pace->last = (struct xfw_pace_last){.end_ns = 0};
    if (last.end_ns == 0)
        return;
    if (asleep)
        xfw_pace_window_sleep(&pace->in_window, last.start_ns, last.end_ns, slept);
    if (last.others_ns < 0) {
        pace->unknown_ns += asleep ? slept : 0;
    } else if (asleep) {
        add(&pace->asleep, slept, last.others_ns);
        sleeps_again(pace, ns, last.others_ns);
        pace->beside_own_ns += ns - slept;
        pace->callers_ns += last.callers_ns;
    } else {
        stays_awake(pace, !last.free, ns, last.others_ns);
    }
    if (asleep)
        mark(pace, last.start_ns);
}

static void count_all(const struct xfw_numbers *numbers)
{
    for (size_t i = 0; i < numbers->threads.count; i++)
        count_last(&((struct xfw_thread *)xfa_table_at(&numbers->threads, i))->pace);
}

void xfw_pace_reading(struct xfw_numbers *numbers, struct xfw_thread *thread,
                      const struct xfa_event *event)
{
    const struct xfa_processor *read = &event->processor;
    if (read->until == XFT_PROCESSOR_OF_OTHERS) {
        count_all(numbers);
        xfw_pace_windows_add(numbers, event);
    }
    if (read->until > XFT_PROCESSOR_UNTIL_RETURN)
        return;
    struct xfw_pace *pace = &thread->pace;
    double ns = xfa_event_ns(event), own = xfw_min((double)read->own_ns, ns);
    double others = read->others_known ? (double)read->others_ns : -1;
    bool free = read->until == XFT_PROCESSOR_UNTIL_CALL; /* it was its own master */
    bool asleep = free && ns - own > XFW_PACE_SLEPT * ns;
    count_last(pace);
    if (free)
        xfw_pace_gaps_add(&pace->gaps, event);
    pace->ns += ns;
    pace->own_ns += own;
    bool behind = read->others_known && xfw_pace_is_behind(&numbers->windows, event->start_ns);
    double callers = asleep || behind ? callers_ns(numbers, thread, ns, others) : 0;
    if (behind)
        xfw_pace_windows_reading(numbers, event, others - callers);
    pace->last = (struct xfw_pace_last){
        .start_ns = event->start_ns,
        .end_ns = event->end_ns,
        .own_ns = own,
        .others_ns = others,
        .callers_ns = callers,
        .free = free,
    };
    xfw_pace_rates_reading(&pace->rates, event->start_ns, event->end_ns, asleep ? ns - own : 0,
                           others);
}

/* So much of the sleep in the last reading passed between queries. */
static void polled(struct xfw_pace *pace, const struct xfa_event *event, double slept)
{
    if (event->start_ns > pace->last.end_ns)
        return;
    pace->last.polled_ns += slept;
    xfw_pace_rates_polled(&pace->rates, slept);
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

/* What the others do while the thread is in its calls: what it asked them for may go on while it
 * works itself, but it calls with what they have made. Calls that are too short for readings of
 * their own: while it is awake. NAN: not known. */
static double beside(const struct xfw_pace *pace)
{
    struct xfw_pace_three three = xfw_pace_rates_of(&pace->rates);
    if (pace->among.in_calls.ns > IN_CALLS * pace->among.all.ns)
        return rate_of(&pace->among.in_calls);
    if (!isnan(three.of[XFW_PACE_CALLED]))
        return three.of[XFW_PACE_CALLED];
    if (isnan(three.of[XFW_PACE_OWN]) && xfw_pace_rates_in_turn(&pace->rates))
        return 1;
    if (pace->among.awake.ns > pace->asleep.ns)
        return rate_of(&pace->among.awake);
    bool own = !isnan(three.of[XFW_PACE_OWN]);
    return own ? three.of[XFW_PACE_OWN] : xfw_pace_rates_awake(&pace->rates);
}

/* And while it works between its calls: if that is not known, as in these. */
static double in_own_time(const struct xfw_pace *pace)
{
    double own = xfw_pace_rates_of(&pace->rates).of[XFW_PACE_OWN];
    if (!isnan(own))
        return own;
    if (pace->among.awake.ns > IN_CALLS * pace->among.all.ns)
        return rate_of(&pace->among.awake);
    return xfw_pace_rates_in_turn(&pace->rates) ? 0 : beside(pace);
}

/* And while it sleeps: of readings in which it does other things, too, the others' work beside
 * these is taken off. */
static double while_asleep(const struct xfw_pace *pace)
{
    double asleep = xfw_pace_rates_of(&pace->rates).of[XFW_PACE_ASLEEP];
    if (!isnan(asleep))
        return asleep;
    double of_own = pace->beside_own_ns > 0 ? in_own_time(pace) * pace->beside_own_ns : 0;
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

static double take_left(struct xfw_pace_gap *gap, uint64_t before_ns, uint64_t start_ns)
{
    uint64_t from = before_ns > gap->from_ns ? before_ns : gap->from_ns;
    uint64_t to = start_ns < gap->until_ns ? start_ns : gap->until_ns;
    double within = to > from ? (double)(to - from) : 0, behind = (double)(gap->until_ns - to);
    double slept = within >= behind ? xfw_min(within, gap->left_ns) : 0;
    gap->left_ns = start_ns >= gap->until_ns ? 0 : gap->left_ns - slept;
    return slept;
}

void xfw_pace_gaps_add(struct xfw_pace_gaps *gaps, const struct xfa_event *reading)
{
    double ns = xfa_event_ns(reading);
    gaps->before = gaps->last;
    gaps->last = (struct xfw_pace_gap){reading->start_ns, reading->end_ns,
                                       ns - xfw_min((double)reading->processor.own_ns, ns)};
}

double xfw_pace_gaps_take(struct xfw_pace_gaps *gaps, uint64_t before_ns, uint64_t start_ns)
{
    double slept = take_left(&gaps->before, before_ns, start_ns);
    return slept + take_left(&gaps->last, before_ns, start_ns);
}

void xfw_pace_before(struct xfw_pace *pace, const struct xfa_event *event, uint64_t before_ns,
                     struct xfw_op *op)
{
    bool queried = event->kind == XFT_EVENT_QUERY && event->wait.queries > 0;
    double slept = xfw_pace_gaps_take(&pace->gaps, before_ns, event->start_ns);
    if (queried)
        polled(pace, event, slept);
    if (!(slept > 0) || before_ns == 0 || queried)
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

/* What the busiest of the others works beyond the thread's sleep all of them work at least. Where
 * that is little, it shows that they rest only if the others are hardly more than that one. */
static double at_least(const struct xfw_pace *pace, double rate)
{
    double least = rate_of(&pace->in_window.beyond) * xfw_max(1, rate);
    bool all = rate_of(&pace->in_window.busiest) >= ALL * rate_of(&pace->among.all);
    return all || least >= GOES_ON * rate ? least : NAN;
}

/* Threads of OpenMP spin behind their work, for 15 ms and more: they seem to go on while the thread
 * that forks and joins them is in a call. */
static enum xfw_paced decide(const struct xfw_pace *pace, bool openmp)
{
    double rate = while_asleep(pace), goes_on = beside(pace);
    if (isnan(goes_on)) /* the busiest alone is known to */
        goes_on = at_least(pace, rate);
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

/* Where others work meanwhile they may be what it waits for: helpers that work beside it, or who
 * has the lock. */
static bool wakes_by_clock(const struct xfw_pace *pace)
{
    return !(while_asleep(pace) >= RATE) && xfw_pace_wakes_by_clock(&pace->rates);
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

/* Those that keep others' pace, of the first few. */
static uint64_t sleepers(const struct xfw_numbers *numbers, const struct xfa_process *process)
{
    uint64_t all = 0;
    for (size_t i = 0; i < numbers->threads.count && i < XFW_PACE_THREADS; i++) {
        const struct xfw_thread *thread = xfa_table_at(&numbers->threads, i);
        all |= (uint64_t)(paced_of(process, thread->tid) >= XFW_PACED_LIKELY) << i;
    }
    return all;
}

void xfw_paces_decide(struct xfw_numbers *numbers, struct xfa_process *process)
{
    size_t capacity = 0;
    free(process->paced);
    process->paced = NULL;
    process->paced_count = 0;
    count_all(numbers);
    xfw_pace_windows_end(numbers);
    for (size_t i = 0; i < numbers->threads.count; i++) {
        const struct xfw_thread *thread = xfa_table_at(&numbers->threads, i);
        const struct xfw_pace *pace = &thread->pace;
        enum xfw_paced paced = pace->slept_ns > 0 ? decide(pace, process->openmp) : XFW_PACED_NOT;
        bool even = paced < XFW_PACED_LIKELY && wakes_by_clock(pace);
        if (even)
            paced = XFW_PACED_LIKELY;
        if (paced == XFW_PACED_NOT)
            continue;
        process->paced =
            xfa_room(process->paced, &capacity, process->paced_count + 1, sizeof *process->paced);
        process->paced[process->paced_count++] = (struct xfa_paced){
            .tid = thread->tid,
            .paced = (uint8_t)paced,
            .even = even,
            .slept_ns = pace->slept_ns,
            .rate = while_asleep(pace),
            .beside = beside(pace),
        };
    }
    if (process->paced_count > 0)
        qsort(process->paced, process->paced_count, sizeof *process->paced, by_tid);
    find_caller(numbers, process);
    xfw_pace_windows_sum(numbers, process, sleepers(numbers, process));
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
