#include "analyzer/whatif/handed.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"

#define LONG_NS 150000.0   /* a time between calls in which something else may have gone on */
#define HANDED_NS 500000.0 /* behind what let it go on, at most */
#define HANDED_LEAST 3     /* times, before it is believed */
#define HANDED_SHARE 7     /* for each that was not */
#define HANDED_SURELY 50   /* so many times longer than the way back: believed at once */
#define COUNTED 64         /* then older ones count half */

#define CALLED 64      /* functions of the host that are remembered: streams called them last */
#define PLACES 128     /* of a program, from where threads went on: remembered */
#define TURNS_LEAST 3  /* before a thread is taken for a pool's */
#define TURNS_SHARE 2  /* of two workers each goes on from where itself did in half of all cases */
#define CALLED_SHARE 8 /* one in so many times a stream wakes a thread of a pool, at least */
#define WORKERS XFW_NONE /* as a partner: any of a pool's */

struct thread {
    bool begun, waited;   /* its last call waited for the device */
    double start, end;    /* of that call */
    unsigned handed, own; /* of its long times between calls: those that another thread's calls
                             filled, and others */
    uint32_t partner;     /* that thread, or WORKERS */
    unsigned called;      /* those that a stream's call of a function ended */
    unsigned turns, back; /* it went on from where another thread did before, or itself */
};

/* A stream called a function of the host. */
struct called {
    uint64_t number; /* of the op, + 1 */
    double at;
};

/* From where in the program a thread went on. */
struct place {
    bool known;
    uint8_t what, kind;
    uint32_t stream, class, thread;
};

struct xfw_handed {
    struct thread *threads;
    size_t thread_count, thread_capacity;
    uint32_t last_thread; /* of the call that ended last; XFW_NONE */
    struct called called[CALLED];
    unsigned called_next;
    struct place places[PLACES];
    unsigned pooled, pooled_called; /* times that threads went on in turns; woken by a stream */
};

/* What may have let a thread go on: another's last call, or a stream's call. */
struct cause {
    uint32_t by;                 /* XFW_NONE: none, or a stream */
    const struct called *called; /* NULL: another thread */
    double way_ns;               /* from there to the op */
};

struct xfw_handed *xfw_handed_new(void)
{
    struct xfw_handed *handed = xfa_alloc(sizeof *handed);
    handed->last_thread = XFW_NONE;
    return handed;
}

void xfw_handed_free(struct xfw_handed *handed)
{
    if (!handed)
        return;
    free(handed->threads);
    free(handed);
}

static struct thread *thread_at(struct xfw_handed *handed, uint32_t number)
{
    handed->threads = xfa_grown(handed->threads, &handed->thread_capacity, &handed->thread_count,
                                number, sizeof *handed->threads);
    return &handed->threads[number];
}

/* ---- pools ----------------------------------------------------------------------------------- */

/* Did another thread go on from there the time before? */
static void count_turn(struct xfw_handed *handed, struct thread *thread, const struct xfw_op *op)
{
    uint32_t mixed = (op->stream * 31u + op->class) * 31u + op->what * 7u + op->kind;
    struct place *place = &handed->places[mixed * 2654435761u >> 25];
    struct place now = {true, op->what, op->kind, op->stream, op->class, op->thread};
    bool same = place->known && place->what == now.what && place->kind == now.kind &&
                place->stream == now.stream && place->class == now.class;
    if (same) {
        thread->turns += place->thread != op->thread;
        thread->back += place->thread == op->thread;
    }
    if (thread->turns + thread->back > COUNTED) {
        thread->turns /= 2;
        thread->back /= 2;
    }
    *place = now;
}

static bool takes_turns(const struct thread *thread)
{
    return thread->turns >= TURNS_LEAST && TURNS_SHARE * thread->turns >= thread->back;
}

static bool is_worker(const struct xfw_handed *handed, const struct thread *thread)
{
    return takes_turns(thread) && handed->pooled_called >= HANDED_LEAST &&
           handed->pooled_called * CALLED_SHARE >= handed->pooled;
}

/* ---- what came last -------------------------------------------------------------------------- */

static const struct called *called_last(const struct xfw_handed *handed, double before)
{
    const struct called *last = NULL;
    for (unsigned i = 0; i < CALLED; i++) {
        const struct called *called = &handed->called[i];
        if (called->number && called->at <= before && (!last || called->at > last->at))
            last = called;
    }
    return last;
}

/* A function that is called as soon as the stream is given it is called within that call. */
static struct cause cause_of(const struct xfw_handed *handed, const struct thread *thread,
                             const struct xfw_op *op)
{
    struct cause cause = {.by = XFW_NONE, .way_ns = NAN};
    uint32_t last = handed->last_thread;
    const struct called *called = called_last(handed, op->start_ns);
    if (called && called->at > thread->end && called->at >= handed->threads[last].start) {
        cause.called = called;
        cause.way_ns = op->start_ns - called->at;
    } else if (last != op->thread) {
        cause.by = last;
        cause.way_ns = op->start_ns - handed->threads[last].end;
    }
    return cause;
}

static bool is_soon(double way, double idle)
{
    return way >= 0 && way < HANDED_NS && way < idle / 2;
}

/* Within the other's call, which did not wait for anything, or behind it. */
static bool is_behind(const struct xfw_handed *handed, const struct cause *cause, double idle)
{
    double least = 0;
    if (!cause->called && cause->by != XFW_NONE && !handed->threads[cause->by].waited)
        least = handed->threads[cause->by].start - handed->threads[cause->by].end;
    return cause->way_ns >= least && fabs(cause->way_ns) < idle / 2;
}

/* ---- what is believed ------------------------------------------------------------------------ */

static bool often(unsigned times, unsigned own)
{
    return times >= HANDED_LEAST && times >= HANDED_SHARE * own;
}

static void count(struct thread *thread, bool handed, bool called)
{
    thread->handed += handed;
    thread->called += called;
    thread->own += !handed && !called;
    if (thread->handed + thread->called + thread->own > COUNTED) {
        thread->handed /= 2;
        thread->called /= 2;
        thread->own /= 2;
    }
}

/* Where streams call functions, threads wake each other by ways of their own, now this one and now
 * that one: who has been idle for so much longer is believed whoever it was. */
static bool is_sure(const struct xfw_handed *handed, const struct cause *cause, double idle)
{
    return handed->called_next > 0 && is_behind(handed, cause, idle) &&
           idle >= HANDED_SURELY * fabs(cause->way_ns);
}

static void count_pooled(struct xfw_handed *handed, const struct cause *cause)
{
    handed->pooled++;
    handed->pooled_called += cause->called != NULL;
    if (handed->pooled > COUNTED) {
        handed->pooled /= 2;
        handed->pooled_called /= 2;
    }
}

static bool believe(struct xfw_handed *handed, struct thread *thread, const struct cause *cause,
                    double idle)
{
    bool by_worker = cause->by != XFW_NONE && is_worker(handed, &handed->threads[cause->by]);
    bool behind = is_behind(handed, cause, idle), sure = is_sure(handed, cause, idle);
    bool soon = is_soon(cause->way_ns, idle) || (by_worker && behind && cause->way_ns < HANDED_NS);
    uint32_t partner = by_worker ? WORKERS : cause->by;
    bool known = by_worker || thread->handed == 0 || thread->partner == partner;
    bool called = soon && cause->called, by = soon && cause->by != XFW_NONE && known;
    if (takes_turns(thread) && behind)
        count_pooled(handed, cause);
    thread->partner = by ? partner : thread->partner;
    count(thread, by, called);
    if (sure || is_worker(handed, thread))
        return behind;
    bool again = often(called ? thread->called : thread->handed, thread->own);
    return (called || by) && (again || idle >= HANDED_SURELY * fabs(cause->way_ns));
}

/* ---- all of it ------------------------------------------------------------------------------- */

void xfw_handed_settle(struct xfw_handed *handed, struct xfw_op *op)
{
    struct thread *thread = thread_at(handed, op->thread);
    double idle = op->start_ns - thread->end;
    op->handed_by = XFW_NONE;
    op->called_back = 0;
    if (handed->last_thread == XFW_NONE || !thread->begun || idle < LONG_NS)
        return;
    count_turn(handed, thread, op);
    struct cause cause = cause_of(handed, thread, op);
    if (isnan(cause.way_ns)) /* nobody else did anything meanwhile */
        return;
    if (!believe(handed, thread, &cause, idle))
        return;
    op->handed_by = cause.by;
    op->called_back = cause.called ? cause.called->number : 0;
    op->handed_ns = cause.way_ns;
}

void xfw_handed_note(struct xfw_handed *handed, const struct xfw_op *op, double done)
{
    struct thread *thread = thread_at(handed, op->thread);
    if (!thread->begun && op->handed_by != XFW_NONE && !op->handed_within) {
        thread->partner = op->handed_by; /* its maker, or who came after it: handed to once */
        thread->handed = 1;
    }
    thread->begun = true;
    thread->start = op->start_ns;
    thread->end = fmax(thread->end, op->end_ns);
    thread->waited = op->awaits != XFW_AWAITS_NOTHING;
    if (handed->last_thread == XFW_NONE || thread->end >= handed->threads[handed->last_thread].end)
        handed->last_thread = op->thread;
    if (op->what == XFW_HOST_FUNCTION)
        handed->called[handed->called_next++ % CALLED] = (struct called){op->number + 1, done};
}
