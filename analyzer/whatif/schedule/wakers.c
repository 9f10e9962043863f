#include "analyzer/whatif/schedule/wakers.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/schedule/streams.h"

/* By which waking threads are distinguished from others. None of these figures was measured: they
 * are guesses, of which docs/method.md has the rules. With them replays follow PyTorch's backward
 * pass and XLA's pool (docs/jax.md); tests/analyzer/whatif/wakers_test.c has runs on both sides. */
static const struct {
    double least_idle_ns, most_delay_ns;
    unsigned least_times, times_for_each_other, joins_for_others, certain, soon, counted;
    unsigned least_turns, turns_share, called_share, least_made;
    double slept_part;
} guess = {
    .least_idle_ns = 150000,   /* guess: less than this between two calls is the thread's own */
    .most_delay_ns = 500000,   /* guess: from what wakes a thread to its call, at most */
    .least_times = 3,          /* guess: so often, before it is believed */
    .times_for_each_other = 7, /* guess: so often for each time that nobody woke the thread */
    .joins_for_others = 2,     /* guess: so often for each time that the other one went on */
    .certain = 50,             /* guess: what happens by chance once in so many times does not */
    .soon = 8,         /* guess: a woken thread goes on in a ninth of the time between two calls
                          of who woke it, in the mean; PyTorch's do so in a ninth */
    .counted = 64,     /* guess: beyond, older times count half */
    .least_turns = 3,  /* guess: turns, before a thread is taken for a pool's */
    .turns_share = 2,  /* computed: of two workers each follows itself in half of all cases */
    .called_share = 8, /* guess: at least one in so many of a pool's wakings is by a stream */
    .least_made = 2,   /* guess: one may do something beside the thread that made it */
    .slept_part = 0.9, /* guess: who joins others hardly works until the last one ends */
};

#define PLACES 128       /* of a program, from where threads went on: remembered */
#define WORKERS XFW_NONE /* as a partner: any of a pool's */
#define MAKERS 8         /* of a thread, and of that one, so far */

struct thread {
    bool begun, waited;  /* its last call waited for the device */
    double start, end;   /* of that call */
    double first;        /* start of its first one */
    unsigned woken, own; /* idle times that another thread's call ended; that nobody ended */
    uint32_t partner;    /* that thread, or WORKERS */
    struct joins {       /* idle times that a thread which it had made ended */
        bool asked;      /* there was one */
        uint32_t by;     /* the last one: by which thread, and the end of its last call then */
        double end;
        unsigned last, others; /* it made no call afterwards; it did */
    } joins;
    struct between { /* two calls of another thread, where it went on last; `asked`: it did */
        bool asked;
        uint32_t by;
        double from, at, to;     /* to: NAN: the other one has made no call since */
        uint32_t previous, next; /* then, of those that wait for its next call: number + 1 */
    } between;
    uint32_t watchers;     /* that went on behind its last call: the first one's number + 1 */
    bool ended;            /* its last call was its last one */
    double evidence;       /* that it waits for its partner: nats */
    unsigned tries, close; /* idle times; those ended so close behind another's call that chance
                              does so once in `certain` times */
    uint64_t calls_by_end; /* of the process, when its last call was made */
    unsigned called;       /* idle times that a stream's call of a host function ended */
    unsigned turns, back;  /* it went on from where another thread did before, or itself */
    uint32_t maker;        /* the thread that its first call counts from; XFW_NONE: none */
    uint64_t asked;        /* the last question of call_by() that it was met in */
    uint32_t begun_before; /* the thread that began before it: its number + 1 */
};

struct recent {
    double came, start, end; /* came: when it would have begun without the recorder */
    double added;            /* behind it, by recording */
    uint32_t thread;
    uint64_t number; /* of the op */
};

/* From where in the program a thread went on. */
struct place {
    bool known;
    uint8_t what, kind;
    uint32_t stream, class, thread;
};

struct xfw_wakers {
    struct thread *threads;
    size_t thread_count, thread_capacity;
    uint32_t last_thread; /* of the call that ended last; XFW_NONE */
    uint32_t last_begun;  /* the thread that began last: its number + 1 */
    struct xfw_host_calls host_calls;
    struct recent recent[XFW_REMEMBERED]; /* a ring */
    uint64_t calls, asked;                /* so far */
    struct place places[PLACES];
    unsigned pooled, pooled_called; /* times that threads went on in turns; woken by a stream */
};

/* What may have woken a thread: another thread's last call, or a stream's call. */
struct cause {
    uint32_t by;                        /* XFW_NONE: none, or a stream */
    const struct xfw_host_call *called; /* NULL: another thread */
    bool made;                          /* by is one that the thread has made */
    double delay_ns;                    /* from there to the op; NAN: nobody did anything */
    double chance;                      /* that some call ended so shortly before the op */
};

struct xfw_wakers *xfw_wakers_new(void)
{
    struct xfw_wakers *wakers = xfa_alloc(sizeof *wakers);
    wakers->last_thread = XFW_NONE;
    return wakers;
}

void xfw_wakers_free(struct xfw_wakers *wakers)
{
    if (!wakers)
        return;
    free(wakers->threads);
    free(wakers);
}

static struct thread *thread_at(struct xfw_wakers *wakers, uint32_t number)
{
    wakers->threads = xfa_grown(wakers->threads, &wakers->thread_capacity, &wakers->thread_count,
                                number, sizeof *wakers->threads);
    return &wakers->threads[number];
}

/* ---- pools ----------------------------------------------------------------------------------- */

/* Counts whether another thread went on from this place of the program the time before. */
static void count_turn(struct xfw_wakers *wakers, struct thread *thread, const struct xfw_op *op)
{
    uint32_t mixed = (op->stream * 31u + op->class) * 31u + op->what * 7u + op->kind;
    struct place *place = &wakers->places[mixed * 2654435761u >> 25];
    struct place now = {true, op->what, op->kind, op->stream, op->class, op->thread};
    bool same = place->known && place->what == now.what && place->kind == now.kind &&
                place->stream == now.stream && place->class == now.class;
    if (same) {
        thread->turns += place->thread != op->thread;
        thread->back += place->thread == op->thread;
    }
    if (thread->turns + thread->back > guess.counted) {
        thread->turns /= 2;
        thread->back /= 2;
    }
    *place = now;
}

static bool takes_turns(const struct thread *thread)
{
    return thread->turns >= guess.least_turns && guess.turns_share * thread->turns >= thread->back;
}

static bool is_worker(const struct xfw_wakers *wakers, const struct thread *thread)
{
    return takes_turns(thread) && wakers->pooled_called >= guess.least_times &&
           wakers->pooled_called * guess.called_share >= wakers->pooled;
}

/* ---- what came last -------------------------------------------------------------------------- */

/* Threads that start together may look as if one had made the next. */
static bool has_made(const struct xfw_wakers *wakers, uint32_t thread, uint32_t other)
{
    for (unsigned i = 0; i < MAKERS && other != XFW_NONE && wakers->threads[other].begun; i++) {
        other = wakers->threads[other].maker;
        if (other == thread)
            return true;
    }
    return false;
}

/* A host function that the stream calls at once is called within the call that submits it. One that
 * a thread waits for as its last call is called before that ends, which is what came last. */
static struct cause cause_of(const struct xfw_wakers *wakers, const struct thread *thread,
                             const struct xfw_op *op)
{
    struct cause cause = {.by = XFW_NONE, .delay_ns = NAN, .chance = 1};
    uint32_t last = wakers->last_thread;
    const struct xfw_host_call *called = xfw_host_calls_last(&wakers->host_calls, op->start_ns);
    const struct thread *other = &wakers->threads[last];
    double came = other->ended && other->waited ? other->end : other->start;
    if (called && called->at > thread->end && called->at >= came) {
        cause.called = called;
        cause.delay_ns = op->start_ns - called->at;
    } else if (last != op->thread) {
        cause.by = last;
        cause.made = has_made(wakers, op->thread, last);
        cause.delay_ns = op->start_ns - other->end;
        double calls = other->ended ? 1 : (double)(wakers->calls - thread->calls_by_end);
        cause.chance = calls * fabs(cause.delay_ns) / (op->start_ns - thread->end);
    }
    return cause;
}

static bool is_soon(double delay_ns, double idle_ns)
{
    return delay_ns >= 0 && delay_ns < guess.most_delay_ns && delay_ns < idle_ns / 2;
}

/* The thread went on behind the other's call, or within it where it did not wait for anything. */
static bool is_behind(const struct xfw_wakers *wakers, const struct cause *cause, double idle_ns)
{
    double least = 0;
    if (!cause->called && cause->by != XFW_NONE && !wakers->threads[cause->by].waited)
        least = wakers->threads[cause->by].start - wakers->threads[cause->by].end;
    return cause->delay_ns >= least && fabs(cause->delay_ns) < idle_ns / 2;
}

/* ---- what is believed ------------------------------------------------------------------------ */

static bool often(unsigned times, unsigned own)
{
    return times >= guess.least_times && times >= guess.times_for_each_other * own;
}

static void count(struct thread *thread, bool woken, bool called)
{
    thread->woken += woken;
    thread->called += called;
    thread->own += !woken && !called;
    if (thread->woken + thread->called + thread->own > guess.counted) {
        thread->woken /= 2;
        thread->called /= 2;
        thread->own /= 2;
    }
}

/* Where streams call host functions, now this thread is woken and now that one: one that has been
 * idle for much longer than the delay is believed to have been woken, whoever woke it. */
static bool is_sure(const struct xfw_wakers *wakers, const struct cause *cause, double idle_ns)
{
    return wakers->host_calls.count > 0 && is_behind(wakers, cause, idle_ns) &&
           idle_ns >= guess.certain * fabs(cause->delay_ns);
}

/* Is it too often for chance that so many of its idle times ended so close behind another's call?
 * By chance it is once in `certain` times: the number of times has Poisson's distribution. Or is
 * this one too close, of as many (Bonferroni)? */
static bool is_no_chance(const struct thread *thread, double chance)
{
    if (chance * thread->tries * guess.certain <= 1)
        return true;
    double mean = (double)thread->tries / guess.certain, term = exp(-mean), fewer = 0;
    for (unsigned i = 0; i < thread->close; i++) {
        fewer += term;
        term *= mean / (i + 1);
    }
    return (1 - fewer) * guess.certain <= 1;
}

static void count_close(struct thread *thread, bool close)
{
    thread->tries++;
    thread->close += close;
    if (thread->tries > guess.counted) {
        thread->tries /= 2;
        thread->close /= 2;
    }
}

/* A. Wald, Sequential Tests of Statistical Hypotheses (1945): logarithms of how much likelier what
 * was seen is of a thread that was woken than of one that was not are added up. Once their sum is
 * that of `certain`, chance has it so in one case of as many. */
static void add_evidence(struct thread *thread, double nats)
{
    const double most = 2 * log(guess.certain);
    thread->evidence = xfw_max(-most, xfw_min(most, thread->evidence + nats));
}

static bool is_evident(const struct thread *thread)
{
    return thread->evidence >= log(guess.certain);
}

/* It no longer waits for the other one's next call. */
static void stop_watching(struct xfw_wakers *wakers, const struct between *between)
{
    if (between->previous)
        wakers->threads[between->previous - 1].between.next = between->next;
    else
        wakers->threads[between->by].watchers = between->next;
    if (between->next)
        wakers->threads[between->next - 1].between.previous = between->previous;
}

/* What is known by now of where it went on the time before. By chance all of the time between the
 * two calls is alike; of a woken thread the density is that of Beta(1, `soon`). */
static void count_between(struct xfw_wakers *wakers, struct thread *thread, const struct xfw_op *op)
{
    struct between *between = &thread->between;
    double to = isnan(between->to) ? op->start_ns : between->to;
    double part = to > between->from ? (between->at - between->from) / (to - between->from) : 0;
    if (!between->asked)
        return;
    if (isnan(between->to))
        stop_watching(wakers, between);
    between->asked = false;
    count(thread, part < 0.5, false);
    add_evidence(thread, log(guess.soon) + (guess.soon - 1) * log(xfw_max(1e-9, 1 - part)));
}

static void note_next(struct xfw_wakers *wakers, const struct xfw_op *op)
{
    struct thread *thread = &wakers->threads[op->thread];
    for (uint32_t i = thread->watchers; i; i = wakers->threads[i - 1].between.next)
        wakers->threads[i - 1].between.to = op->start_ns;
    thread->watchers = 0;
}

static void watch(struct xfw_wakers *wakers, struct thread *thread, const struct cause *cause,
                  const struct xfw_op *op)
{
    struct thread *other = &wakers->threads[cause->by];
    const uint32_t next = other->watchers;
    thread->between = (struct between){true, cause->by, other->end, op->start_ns, NAN, 0, next};
    other->watchers = op->thread + 1;
    if (next)
        wakers->threads[next - 1].between.previous = op->thread + 1;
}

static void count_pooled(struct xfw_wakers *wakers, const struct cause *cause)
{
    wakers->pooled++;
    wakers->pooled_called += cause->called != NULL;
    if (wakers->pooled > guess.counted) {
        wakers->pooled /= 2;
        wakers->pooled_called /= 2;
    }
}

static bool believe(struct xfw_wakers *wakers, struct thread *thread, const struct cause *cause,
                    const struct xfw_op *op)
{
    double idle_ns = op->start_ns - thread->end;
    bool by_worker = cause->by != XFW_NONE && is_worker(wakers, &wakers->threads[cause->by]);
    bool behind = is_behind(wakers, cause, idle_ns), sure = is_sure(wakers, cause, idle_ns);
    bool soon = is_soon(cause->delay_ns, idle_ns) ||
                (by_worker && behind && cause->delay_ns < guess.most_delay_ns);
    uint32_t partner = by_worker ? WORKERS : cause->by;
    bool known = by_worker || thread->woken == 0 || thread->partner == partner;
    bool called = soon && cause->called, by = soon && cause->by != XFW_NONE && known;
    if (takes_turns(thread) && behind)
        count_pooled(wakers, cause);
    thread->partner = by ? partner : thread->partner;
    count_between(wakers, thread, op);
    if (by && !by_worker)
        watch(wakers, thread, cause, op);
    else
        count(thread, by, called);
    if (!by && !called)
        add_evidence(thread, -log(guess.times_for_each_other));
    if (sure || is_worker(wakers, thread))
        return behind;
    if (called)
        return often(thread->called, thread->own) ||
               idle_ns >= guess.certain * fabs(cause->delay_ns);
    bool close = cause->chance * guess.certain <= 1;
    count_close(thread, close);
    bool again = by_worker ? often(thread->woken, thread->own) : is_evident(thread);
    return by && (again || (close && is_no_chance(thread, cause->chance)));
}

/* Does the thread wait for one that it has made to end? The last time counts once it is known
 * whether that one made calls afterwards. */
static bool joins(const struct xfw_wakers *wakers, struct thread *thread, const struct cause *cause,
                  double idle_ns)
{
    struct joins *joins = &thread->joins;
    if (!cause->made || !is_soon(cause->delay_ns, idle_ns))
        return false;
    bool ended = joins->asked && wakers->threads[joins->by].end <= joins->end;
    joins->last += ended;
    joins->others += joins->asked && !ended;
    if (joins->last + joins->others > guess.counted) {
        joins->last /= 2;
        joins->others /= 2;
    }
    joins->asked = true;
    joins->by = cause->by;
    joins->end = wakers->threads[cause->by].end;
    return joins->last >= guess.least_times &&
           joins->last >= guess.joins_for_others * joins->others;
}

/* Does it go on so close behind another thread's last call of all that chance hardly has it so?
 * Then it waits for that one to end, whoever woke it before. Of one that it has made that is
 * believed after a short time, too. */
static bool is_end(const struct xfw_wakers *wakers, const struct thread *thread,
                   const struct cause *cause, double idle_ns)
{
    return cause->by != XFW_NONE && wakers->threads[cause->by].ended &&
           is_soon(cause->delay_ns, idle_ns) && cause->chance * guess.certain <= 1 &&
           is_no_chance(thread, cause->chance);
}

/* It slept for as long as the others went on: what it took behind that is its own work. */
static bool slept_until(const struct xfw_op *op, const struct cause *cause, double idle_ns)
{
    double slept_ns = idle_ns * op->slept_parts / XFW_OF_ALL;
    return slept_ns > 0 && slept_ns >= guess.slept_part * (idle_ns - cause->delay_ns);
}

/* Has it made threads since its last call all of which are at their end? Then it waits for them,
 * however long it works behind that, if for less than it has been idle before, or if it slept until
 * then. */
static bool outlives(const struct xfw_wakers *wakers, const struct xfw_op *op,
                     const struct cause *cause, double idle_ns)
{
    const struct thread *thread = &wakers->threads[op->thread];
    unsigned made = 0;
    if (!cause->made || cause->delay_ns < 0 ||
        (cause->delay_ns >= idle_ns / 2 && !slept_until(op, cause, idle_ns)))
        return false;
    for (uint32_t i = wakers->last_begun; i; i = wakers->threads[i - 1].begun_before) {
        const struct thread *other = &wakers->threads[i - 1];
        if (other->first < thread->end)
            break;
        if (i - 1 == op->thread || !has_made(wakers, op->thread, i - 1))
            continue;
        if (!other->ended)
            return false;
        made++;
    }
    return made >= guess.least_made;
}

/* ---- the first call of a thread -------------------------------------------------------------- */

/* 0: the latest. */
static const struct recent *recent_at(const struct xfw_wakers *wakers, uint64_t ago)
{
    return &wakers->recent[(wakers->calls - 1 - ago) % XFW_REMEMBERED];
}

/* Of the threads' last calls that had begun by `when` the one that ended last, or began last if it
 * was running then. NULL: there was none, or none is remembered. */
static const struct recent *call_by(struct xfw_wakers *wakers, double when)
{
    uint64_t count = wakers->calls < XFW_REMEMBERED ? wakers->calls : XFW_REMEMBERED;
    const struct recent *found = NULL;
    double latest = -INFINITY;
    wakers->asked++;
    for (uint64_t i = 0; i < count; i++) {
        const struct recent *call = recent_at(wakers, i);
        struct thread *thread = thread_at(wakers, call->thread);
        double at = call->end <= when ? call->end : call->came;
        if (at > when || thread->asked == wakers->asked)
            continue;
        thread->asked = wakers->asked;
        found = at > latest ? call : found;
        latest = xfw_max(latest, at);
    }
    return found;
}

/* Where all came later, the latest: it cannot have begun long before. Where a thread had been at
 * work for longer, the first that is remembered: of what put that off (the recorder was set up) it
 * had its part. */
static const struct recent *maker_of(struct xfw_wakers *wakers, const struct xfw_op *op,
                                     double began)
{
    const struct recent *by = call_by(wakers, began);
    if (by || wakers->calls == 0)
        return by;
    uint64_t oldest = (wakers->calls < XFW_REMEMBERED ? wakers->calls : XFW_REMEMBERED) - 1;
    return recent_at(wakers, op->worked_ns > 0 ? oldest : 0);
}

void xfw_wakers_start_thread(struct xfw_wakers *wakers, struct xfw_op *op)
{
    double began = op->start_ns - op->overhead_ns - op->worked_ns;
    const struct recent *by = maker_of(wakers, op, began);
    op->first = !by;
    op->hook_ns = op->overhead_ns;
    if (!by)
        return;
    op->woken_by = by->thread;
    op->woken_by_call = by->number + 1;
    op->within_call = by->end > began;
    op->woken_after_ns = op->start_ns - (op->within_call ? by->start : by->end);
    op->hook_ns += op->within_call ? by->came - by->start : by->added;
}

void xfw_wakers_note_call(struct xfw_wakers *wakers, const struct xfw_op *op, double held_ns,
                          double added_ns)
{
    wakers->recent[wakers->calls++ % XFW_REMEMBERED] = (struct recent){
        .came = op->start_ns - held_ns,
        .start = op->start_ns,
        .end = op->end_ns,
        .added = added_ns,
        .thread = op->thread,
        .number = op->number,
    };
}

/* ---- all of it ------------------------------------------------------------------------------- */

void xfw_wakers_find(struct xfw_wakers *wakers, struct xfw_op *op)
{
    struct thread *thread = thread_at(wakers, op->thread);
    double idle_ns = op->start_ns - thread->end;
    note_next(wakers, op);
    op->woken_by = XFW_NONE;
    op->woken_by_stream = 0;
    op->joins = false;
    if (wakers->last_thread == XFW_NONE || !thread->begun)
        return;
    bool idle = idle_ns >= guess.least_idle_ns;
    if (idle)
        count_turn(wakers, thread, op);
    struct cause cause = cause_of(wakers, thread, op);
    if (isnan(cause.delay_ns)) /* nobody else did anything meanwhile */
        return;
    op->joins = (idle && joins(wakers, thread, &cause, idle_ns)) ||
                ((idle || cause.made) && is_end(wakers, thread, &cause, idle_ns)) ||
                (idle && outlives(wakers, op, &cause, idle_ns));
    if (!(idle && believe(wakers, thread, &cause, op)) && !op->joins)
        return;
    op->woken_by = cause.by;
    op->woken_by_stream = cause.called ? cause.called->number : 0;
    op->woken_after_ns = cause.delay_ns;
}

void xfw_wakers_note_done(struct xfw_wakers *wakers, const struct xfw_op *op, double done)
{
    struct thread *thread = thread_at(wakers, op->thread);
    if (!thread->begun) {
        thread->maker = op->woken_by;
        thread->first = op->start_ns;
        thread->begun_before = wakers->last_begun;
        wakers->last_begun = op->thread + 1;
    }
    if (!thread->begun && op->woken_by != XFW_NONE && !op->within_call) {
        thread->partner = op->woken_by; /* its maker, or who came after it: woken once */
        thread->woken = 1;
    }
    thread->begun = true;
    thread->ended = op->last;
    thread->calls_by_end = wakers->calls;
    thread->start = op->start_ns;
    thread->end = xfw_max(thread->end, op->end_ns);
    thread->waited = op->awaits != XFW_AWAITS_NOTHING;
    if (wakers->last_thread == XFW_NONE || thread->end >= wakers->threads[wakers->last_thread].end)
        wakers->last_thread = op->thread;
    if (op->what == XFW_HOST_FUNCTION)
        xfw_host_calls_note(&wakers->host_calls, op, done);
}
