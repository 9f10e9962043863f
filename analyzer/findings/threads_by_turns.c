/*
 * threads-by-turns: threads of which each works with the GPU, waits, and only then lets the next
 * one begin, again and again (whatif/schedule/handovers.h): they hold one lock over copies, kernels
 * and the wait. Whether they need to, no record shows: a question, and nothing is saved unless it
 * is answered. Lost: not known.
 *
 * Of a process it is asked where hardly any turn begins while another thread's is under way, turns
 * and what lies between them are half of the time or more (so that threads of their own would
 * meet), and most of them are alike: one after the other, threads make a kind of call of the same
 * site, or launch the same kernel. Not where they are in order by what they do: where a thread's
 * turn reads memory that another one has filled since this one's turn before, waits for an event of
 * another thread, or is not known to use no such memory (graphs, kernels of unknown arguments).
 * Memory that both only fill, as that of a pool, is none: each thread can have its own. A pointer
 * that a kernel may read or write counts as filled where the other thread's work had it in the same
 * place of the same kernel.
 *
 * A lock may be held over work of the host before the calls, too: then a turn's first call comes
 * later behind the other's end than waking takes, but alike so. What is regular is what tells that
 * from threads that merely come one after the other. The middle half of these times differ by
 * little, by no more than the times since the thread's own last call, or since the other turn
 * began, do; and if the threads had nothing to do with each other, far more turns would have begun
 * beside another one than have.
 */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/findings/divided.h"
#include "analyzer/findings/finding.h"
#include "analyzer/findings/wait_sites.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/ops/paces.h"
#include "analyzer/whatif/schedule/handovers.h"

#define LEAST_HANDOVERS 16 /* guesses, as all of these */
#define MOST_BESIDE 0.05   /* of all turns */
#define MOST_ORDERED 0.125 /* of the hand-overs */
#define LEAST_ALIKE 0.5    /* the same */
#define LEAST_BUSY 0.5     /* of the time from the first hand-over to the last */
#define MOST_MEMORY 65536  /* addresses, of a process */
#define MOST_EVENTS 65536  /* CUDA events, the same */
#define MOST_GAPS 4096     /* that are compared: the first of a process */
#define GAPS_ALIKE 1.5     /* the third quartile of the first, at most; by chance 3 and more */
#define MOST_SPREAD 2      /* of them, for each of the others' */
#define MOST_OF_MIDDLE 2   /* of the middle one: later turns waited for something else */
/* Expected at least, and four for each that there is: by chance, one in e^8 processes has none of
 * them (Poisson). */
#define BESIDE_BY_CHANCE 8

struct memory {
    uint64_t address; /* key */
    int32_t tid;      /* whose work filled it last */
    uint64_t role;    /* what did */
    double filled_ns;
};

struct recorded {
    uint64_t event; /* key: handle */
    int32_t tid;
};

/* Of each thread that is followed, by its place. */
struct follower {
    uint64_t role; /* of its turn: what it began with */
    bool ordered, alike, beside, worked;
    double begun_ns, before_ns; /* the turn before was over */
};

/* Of a thread with readings of the processor's time. */
struct sleeper {
    int32_t tid; /* key */
    uint64_t called_ns;
    struct xfw_pace_gaps gaps;
};

/* Where the lock is held over calls alone; and over work of the host as well. */
enum held { OVER_CALLS, OVER_HOST_TOO, HELD_WAYS };

/* Of the turns that are hand-overs' then. */
struct tally {
    struct xfa_table now; /* struct xfa_wait_site */
    uint64_t waited, ordered, alike;
    double first_ns, last_ns;      /* the first began, the last was over */
    double busy_ns, busy_until_ns; /* from the one on, and until the other */
};

/* Of turns behind another thread's, where none was under way. */
struct gaps {
    double *behind_ns, *since_ns, *idle_ns; /* the other's end; its begin; the own last call */
    size_t count;
};

struct by_turns {
    struct xfa_table sites; /* struct xfa_wait_site, of processes that are asked about */
    const struct xfa_run *run;
    /* Of the process at hand: */
    struct tally tallies[HELD_WAYS];
    struct gaps gaps;
    struct xfa_table memory, events;
    struct xfw_signatures signatures;
    struct xfw_handovers handovers;
    struct follower followers[XFW_HANDOVER_THREADS];
    struct xfa_table sleepers; /* struct sleeper */
    uint64_t turns, beside;
    double turn_ns, begun_ns, ended_ns; /* all turns; the first began, the last ended */
};

/* ---- what orders turns ----------------------------------------------------------------------- */

static void fill(struct by_turns *self, struct follower *own, const struct xfa_event *event,
                 uint64_t address, uint64_t role)
{
    struct memory *memory = xfa_table_get(&self->memory, &address);
    if (!memory && self->memory.count >= MOST_MEMORY) {
        own->ordered = true;
        return;
    }
    if (!memory)
        memory = xfa_table_put(&self->memory, &address);
    memory->tid = event->tid;
    memory->role = role;
    memory->filled_ns = (double)event->start_ns;
}

/* role: of what may fill it as well; 0: it only reads. */
static void need(struct by_turns *self, struct follower *own, const struct xfa_event *event,
                 uint64_t address, uint64_t role)
{
    const struct memory *memory = xfa_table_get(&self->memory, &address);
    if (memory && memory->tid != event->tid && memory->filled_ns > own->before_ns &&
        (role == 0 || memory->role != role))
        own->ordered = true;
}

static void use_given(struct by_turns *self, struct follower *own, const struct xfa_event *event)
{
    const struct xfa_process *process = event->process;
    const struct xfa_arguments *given =
        xfa_trace_arguments(process->trace, event->launch.arguments);
    if (!given || given->count >= XFT_ARGUMENTS_MOST)
        own->ordered = true;
    for (uint32_t k = 0; given && k < given->count; k++) {
        uint64_t pointer = xfa_arguments_pointer(given, k);
        uint64_t role = event->launch.name * XFT_ARGUMENTS_MOST + k + 1;
        bool reads = xfw_signatures_ask(&self->signatures, process, event->launch.name,
                                        given->count, k) == XFW_READS;
        need(self, own, event, pointer, reads ? 0 : role);
        if (!reads)
            fill(self, own, event, pointer, role);
    }
}

static void use_event(struct by_turns *self, struct follower *own, const struct xfa_event *event)
{
    const uint64_t handle = event->wait.event;
    struct recorded *recorded = xfa_table_get(&self->events, &handle);
    if (event->kind == XFT_EVENT_WAIT) {
        own->ordered = own->ordered || !recorded || recorded->tid != event->tid;
        return;
    }
    if (!recorded && self->events.count < MOST_EVENTS)
        recorded = xfa_table_put(&self->events, &handle);
    if (recorded)
        recorded->tid = event->tid;
}

static void note_uses(struct by_turns *self, struct follower *own, const struct xfa_event *event)
{
    if (event->kind == XFT_EVENT_TRANSFER) {
        need(self, own, event, event->transfer.src, 0);
        fill(self, own, event, event->transfer.dst, 0);
    } else if (event->kind == XFT_EVENT_SET) {
        fill(self, own, event, event->memory.address, 0);
    } else if (event->kind == XFT_EVENT_LAUNCH) {
        use_given(self, own, event);
    } else if (event->kind == XFT_EVENT_RECORD || event->kind == XFT_EVENT_WAIT) {
        use_event(self, own, event);
    } else if (event->kind == XFT_EVENT_GRAPH_LAUNCH || event->kind == XFT_EVENT_PREFETCH ||
               event->kind == XFT_EVENT_HOST_FUNCTION) {
        own->ordered = true;
    }
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* Threads that do the same may come to it on different ways, as the first one of a team does. */
static uint64_t role_of(const struct xfa_event *event)
{
    uint64_t site = event->stack ? xfa_site_of(event)->number + 1 : 0;
    uint64_t what = event->kind == XFT_EVENT_LAUNCH ? event->launch.name : site;
    return what * XFW_KINDS + event->kind + 1;
}

static bool is_work(unsigned kind)
{
    return kind == XFT_EVENT_TRANSFER || kind == XFT_EVENT_LAUNCH || kind == XFT_EVENT_SET ||
           kind == XFT_EVENT_GRAPH_LAUNCH || kind == XFT_EVENT_PREFETCH ||
           kind == XFT_EVENT_HOST_FUNCTION;
}

/* A copy to the host, or a synchronous one, is done when its call returns; one of pageable memory
 * to a device may not be. */
static bool waits(const struct xfa_event *event)
{
    const struct xfa_transfer *transfer = &event->transfer;
    if (event->kind != XFT_EVENT_TRANSFER)
        return event->kind == XFT_EVENT_SYNC || event->kind == XFT_EVENT_QUERY;
    return transfer->class && transfer->blocks &&
           (transfer->class->key.row.direction == XFT_DIR_D2H ||
            !xfa_row_pageable(&transfer->class->key.row));
}

static void note_reading(struct by_turns *self, const struct xfa_event *event)
{
    if (event->processor.until != XFT_PROCESSOR_UNTIL_CALL)
        return;
    struct sleeper *sleeper = xfa_table_put(&self->sleepers, &event->tid);
    xfw_pace_gaps_add(&sleeper->gaps, event);
}

/* Since its call before. */
static double slept_ns(struct by_turns *self, const struct xfa_event *event)
{
    struct sleeper *sleeper = xfa_table_get(&self->sleepers, &event->tid);
    if (!sleeper)
        return 0;
    double slept = xfw_pace_gaps_take(&sleeper->gaps, sleeper->called_ns, event->start_ns);
    sleeper->called_ns = event->end_ns;
    return slept;
}

static struct xfw_turn_call call_of(struct by_turns *self, const struct xfa_event *event)
{
    return (struct xfw_turn_call){
        .tid = event->tid,
        .work = is_work(event->kind),
        .waits = waits(event),
        .start_ns = (double)event->start_ns,
        .end_ns = (double)event->end_ns,
        .slept_ns = slept_ns(self, event),
    };
}

static bool is_handover(const struct xfw_handover *found, enum held held)
{
    return found->waited_ns > 0 && (held != OVER_CALLS || found->waited_ns < XFW_HANDOVER_MOST_NS);
}

static void note_gap(struct gaps *gaps, const struct xfw_handover *found)
{
    const size_t bytes = MOST_GAPS * sizeof(double);
    if (!(found->gap_ns > 0) || gaps->count == MOST_GAPS)
        return;
    if (!gaps->behind_ns) {
        gaps->behind_ns = xfa_alloc(bytes);
        gaps->since_ns = xfa_alloc(bytes);
        gaps->idle_ns = xfa_alloc(bytes);
    }
    gaps->behind_ns[gaps->count] = found->gap_ns;
    gaps->since_ns[gaps->count] = found->gap_ns + found->other_ns;
    gaps->idle_ns[gaps->count++] = found->idle_ns;
}

static void begin_turn(struct by_turns *self, struct follower *own, const struct xfa_event *event,
                       const struct xfw_handover *found)
{
    own->role = role_of(event);
    own->begun_ns = (double)event->start_ns;
    own->beside = found->beside;
    own->alike = found->waited_ns > 0 && own->role == self->followers[found->from].role;
    note_gap(&self->gaps, found);
    if (self->turns == 0)
        self->begun_ns = own->begun_ns;
    for (int held = 0; held < HELD_WAYS; held++) {
        struct tally *tally = &self->tallies[held];
        if (tally->first_ns > 0 || !is_handover(found, held))
            continue;
        tally->first_ns = own->begun_ns; /* what was before sets up */
        tally->busy_ns = 0;
    }
}

static void end_tally(struct tally *tally, const struct follower *own,
                      const struct xfa_event *event)
{
    const double end_ns = (double)event->end_ns;
    tally->waited++;
    tally->ordered += own->ordered;
    tally->alike += own->alike;
    tally->last_ns = fmax(tally->last_ns, end_ns);
    tally->busy_until_ns = tally->busy_ns;
    if (event->stack)
        xfa_wait_site_add(xfa_wait_site_of(&tally->now, event), 0, end_ns - own->begun_ns);
}

static void end_turn(struct by_turns *self, struct follower *own, const struct xfa_event *event,
                     const struct xfw_handover *found)
{
    const double end_ns = (double)event->end_ns, turn_ns = end_ns - own->begun_ns;
    self->turns++;
    self->beside += own->beside;
    self->turn_ns += turn_ns;
    self->ended_ns = fmax(self->ended_ns, end_ns);
    for (int held = 0; held < HELD_WAYS; held++) {
        struct tally *tally = &self->tallies[held];
        tally->busy_ns += turn_ns;
        if (is_handover(found, held))
            end_tally(tally, own, event);
    }
    *own = (struct follower){.role = own->role, .worked = true, .before_ns = end_ns};
}

static void event(void *of, const struct xfa_event *event)
{
    struct by_turns *self = of;
    if (event->kind == XFT_EVENT_PROCESSOR)
        note_reading(self, event);
    if (event->kind == XFT_EVENT_PROCESSOR || event->flags & XFT_CAPTURED)
        return;
    const struct xfw_turn_call call = call_of(self, event);
    const struct xfw_handover found = xfw_handovers_call(&self->handovers, &call);
    struct follower *own = &self->followers[found.thread];
    if (!found.followed)
        return;
    if (found.begins)
        begin_turn(self, own, event, &found);
    for (int held = 0; held < HELD_WAYS; held++)
        if (is_handover(&found, held))
            self->tallies[held].busy_ns += found.behind_ns;
    note_uses(self, own, event);
    if (found.ends)
        end_turn(self, own, event, &found);
}

/* ---- processes ------------------------------------------------------------------------------- */

static void forget(struct by_turns *self)
{
    for (int held = 0; held < HELD_WAYS; held++)
        xfa_table_free(&self->tallies[held].now);
    free(self->gaps.behind_ns);
    free(self->gaps.since_ns);
    free(self->gaps.idle_ns);
    self->gaps = (struct gaps){.count = 0};
    xfa_table_free(&self->memory);
    xfa_table_free(&self->events);
    xfa_table_free(&self->sleepers);
}

static uint64_t process(void *of, struct xfa_process *process)
{
    struct by_turns *self = of;
    (void)process;
    forget(self);
    for (int held = 0; held < HELD_WAYS; held++) {
        self->tallies[held] = (struct tally){.waited = 0};
        xfa_wait_sites_init(&self->tallies[held].now);
    }
    xfa_table_init(&self->memory, sizeof(uint64_t), sizeof(struct memory));
    xfa_table_init(&self->events, sizeof(uint64_t), sizeof(struct recorded));
    xfa_table_init(&self->sleepers, sizeof(int32_t), sizeof(struct sleeper));
    memset(&self->signatures, 0, sizeof self->signatures);
    memset(&self->handovers, 0, sizeof self->handovers);
    self->handovers.most_ns = INFINITY;
    memset(self->followers, 0, sizeof self->followers);
    self->turns = self->beside = 0;
    self->turn_ns = self->begun_ns = self->ended_ns = 0;
    return XFA_KIND(XFT_EVENT_TRANSFER) | XFA_KIND(XFT_EVENT_PREFETCH) |
           XFA_KIND(XFT_EVENT_PROCESSOR) | XFW_CALLERS_KINDS;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Sorts them. */
static double between_quartiles(double *times, size_t count)
{
    qsort(times, count, sizeof *times, by_size);
    return times[count * 3 / 4] - times[count / 4];
}

static bool are_regular(struct gaps *gaps)
{
    const size_t count = gaps->count;
    if (count < LEAST_HANDOVERS)
        return false;
    double spread = between_quartiles(gaps->behind_ns, count) / MOST_SPREAD;
    return gaps->behind_ns[count * 3 / 4] <= GAPS_ALIKE * gaps->behind_ns[count / 4] &&
           spread <= between_quartiles(gaps->since_ns, count) &&
           spread <= between_quartiles(gaps->idle_ns, count);
}

static size_t worked(const struct by_turns *self)
{
    size_t count = 0;
    for (size_t i = 0; i < XFW_HANDOVER_THREADS; i++)
        count += self->followers[i].worked;
    return count;
}

/* Turns that would begin while another thread's is under way, if each began at any time. */
static double beside_by_chance(const struct by_turns *self)
{
    const double threads = (double)worked(self), took_ns = self->ended_ns - self->begun_ns;
    if (!(took_ns > 0) || threads < 2)
        return 0;
    return (double)self->turns * (threads - 1) / threads * self->turn_ns / took_ns;
}

static bool is_by_turns(const struct by_turns *self, enum held held)
{
    const struct tally *tally = &self->tallies[held];
    const double waited = (double)tally->waited;
    return tally->waited >= LEAST_HANDOVERS &&
           (double)self->beside <= MOST_BESIDE * (double)self->turns &&
           (double)tally->ordered <= MOST_ORDERED * waited &&
           (double)tally->alike >= LEAST_ALIKE * waited &&
           tally->busy_until_ns >= LEAST_BUSY * (tally->last_ns - tally->first_ns);
}

/* 0: its threads do not take turns. */
static double turns_ns_of(struct by_turns *self)
{
    if (is_by_turns(self, OVER_CALLS))
        return XFW_HANDOVER_MOST_NS;
    if (!is_by_turns(self, OVER_HOST_TOO) || !are_regular(&self->gaps) ||
        beside_by_chance(self) < BESIDE_BY_CHANCE + 4 * (double)self->beside)
        return 0;
    return MOST_OF_MIDDLE * self->gaps.behind_ns[self->gaps.count / 2];
}

static void end(void *of, struct xfa_process *process)
{
    struct by_turns *self = of;
    self->run = process->run;
    process->turns_ns = turns_ns_of(self);
    const enum held held = process->turns_ns == XFW_HANDOVER_MOST_NS ? OVER_CALLS : OVER_HOST_TOO;
    const struct xfa_table *now = &self->tallies[held].now;
    for (size_t i = 0; i < now->count && process->turns_ns > 0; i++) {
        const struct xfa_wait_site *site = xfa_table_at(now, i);
        struct xfa_wait_site *into = xfa_wait_site_at(&self->sites, site->site);
        if (into->times == 0)
            into->met = site->met;
        into->function = site->function;
        into->last = site->last;
        into->times += site->times;
        xfa_exact_merge(&into->ns, &site->ns);
    }
    forget(self);
}

static struct xfa_observer observe(void *of)
{
    struct by_turns *self = of;
    xfa_wait_sites_init(&self->sites);
    for (int held = 0; held < HELD_WAYS; held++)
        xfa_wait_sites_init(&self->tallies[held].now);
    return (struct xfa_observer){
        .name = "threads by turns",
        .divided = true,
        .kinds = XFA_KINDS_OF_CALLS | XFA_KIND(XFT_EVENT_PROCESSOR),
        .self = self,
        .process = process,
        .event = event,
        .transfer = event,
        .end = end,
    };
}

static void release(void *of)
{
    struct by_turns *self = of;
    xfa_table_free(&self->sites);
    forget(self);
}

/* ---- members of a team ----------------------------------------------------------------------- */

/* Other members may play these processes, too. */
static void give(const void *of, struct xfa_parcel *parcel)
{
    const struct by_turns *self = of;
    size_t count = self->run ? self->run->process_count : 0;
    xfa_parcel_number(parcel, count);
    for (size_t i = 0; i < count; i++) {
        const struct xfa_process *process = self->run->processes[i];
        xfa_parcel_real(parcel, xfa_process_is_mine(process) ? process->turns_ns : 0);
    }
}

static void take(void *of, const struct xfa_analysis *analysis, struct xfa_unpacking *from)
{
    uint64_t count = xfa_unpack_number(from);
    (void)of;
    from->bad = from->bad || count > analysis->run->process_count;
    for (uint64_t i = 0; i < count && !from->bad; i++) {
        double turns_ns = xfa_unpack_real(from);
        if (turns_ns > 0)
            analysis->run->processes[i]->turns_ns = turns_ns;
    }
}

/* ---- the finding ----------------------------------------------------------------------------- */

/* On trial, since without a replay it says nothing. */
static void try(const struct xfa_analysis *analysis, const void *sums,
                struct xfa_findings *findings)
{
    const struct by_turns *self = sums;
    const struct xfa_finding like = {
        .id = XFA_FINDING_BY_TURNS,
        .remedy = {.kind = XFA_REMEDY_NARROW_LOCK, .node = -1},
        .lost_ns = NAN,
        .assumed =
            "a thread's own work is what lies between the end of another's turn and its call",
        .question = "the threads that wait in {site} need not take turns",
    };
    for (size_t i = 0; i < self->sites.count; i++) {
        const struct xfa_finding_site site =
            xfa_wait_site_found(analysis, xfa_table_at(&self->sites, i), XFA_RECKONED_BY_TURNS);
        xfa_findings_add_site(findings, &like, &site);
    }
}

static struct xfw_change *change(const struct xfa_analysis *analysis, const void *sums,
                                 const struct xfa_finding *finding)
{
    (void)sums;
    (void)finding;
    return xfw_change_no_turns(analysis);
}

const struct xfa_finding_kind xfa_kind_by_turns = {
    .try = try,
    .change = change,
    .self_bytes = sizeof(struct by_turns),
    .observe = observe,
    .free = release,
    .met_of = &xfa_wait_sites,
    .met_table = offsetof(struct by_turns, sites),
    .give = give,
    .take = take,
};
