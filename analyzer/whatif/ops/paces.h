/*
 * Whose pace a thread keeps that sleeps between its calls (PROCESSOR events). Where others of the
 * program, which make no calls, work while it sleeps, and go on while it is awake, it waits for
 * what they have for it next: it gets that no sooner when its own calls take less, and sleeps
 * longer. Where nobody works (a timer, a disk, another machine), or others work only while it
 * sleeps (it asked for that, and waits), sleep is the thread's own time as all else. Private to
 * whatif/.
 *
 * As recorded: of each reading, how long the thread slept, and what the others of the process
 * worked meanwhile. That is given to the gaps between calls that lie in it: to one that is no
 * shorter than what follows of the reading. All readings of a thread together decide, once its
 * process is over. Of threads that make calls as often as this one sleeps it is not known but from
 * their own readings how much of that work was theirs; without any, they are taken to be at work.
 *
 * Who wakes at times of its own, however long it was awake before (pace_rates.h), waits for a
 * clock, where nobody works meanwhile: it likely keeps a pace, too.
 *
 * A thread that does not sleep, or seldom, may be the slowest one, and would wait for the others if
 * it had less to do: at least until the busiest of them has worked as long as it had by then, as
 * recorded (pace_windows.h). Who is at work in all of a window may as well wait awake, where half
 * of the windows are so.
 *
 * Then each op gets what was decided of its thread (xfw_paces_take()); schedule.h says how such
 * sleep is replayed. Times are ns.
 */
#ifndef XFW_PACES_H
#define XFW_PACES_H

#include "analyzer/pass/event.h"
#include "analyzer/whatif/op/op.h"
#include "analyzer/whatif/ops/pace_rates.h"
#include "analyzer/whatif/ops/pace_windows.h"

struct xfw_numbers;
struct xfw_thread;

/* Of a thread, zeroed at first: the last readings until a call. Events are by time, so the next one
 * comes before the call behind this one. */
struct xfw_pace_gaps {
    struct xfw_pace_gap {
        uint64_t from_ns, until_ns;
        double left_ns; /* of its sleep, that no time between calls was given */
    } before, last;
};

/* A PROCESSOR event that ends at a call. */
void xfw_pace_gaps_add(struct xfw_pace_gaps *gaps, const struct xfa_event *reading);

/* Of their sleep, what lies between a call that returned at before_ns and one that begins at
 * start_ns: it is given once. */
double xfw_pace_gaps_take(struct xfw_pace_gaps *gaps, uint64_t before_ns, uint64_t start_ns);

struct xfw_pace { /* of a thread; zeroed at first */
    struct xfw_pace_gaps gaps;
    double ns, own_ns;             /* of all readings */
    struct xfw_pace_last {         /* the last one, which counts once its calls have come */
        uint64_t start_ns, end_ns; /* end_ns 0: it has counted */
        double own_ns, others_ns, callers_ns; /* others_ns below 0: not known */
        double polled_ns;                     /* of its sleep: between queries */
        bool free;                            /* until a call */
    } last;
    struct xfw_pace_sum asleep; /* slept, and the others' of the same readings, in all */
    struct xfw_pace_among {     /* readings from the first with sleep to the last; and so far behind
                                   that */
        struct xfw_pace_sum all, in_calls, awake; /* until a return; until a call, without sleep */
    } among, behind;
    struct xfw_pace_in_window in_window;
    struct xfw_pace_rates rates; /* of the others, where these are known */
    struct xfw_pace_sum since;   /* both, since the sleep before */
    double beside_own_ns;        /* its own in the readings of `asleep` */
    double callers_ns;           /* of the others' there, that of threads that make calls */
    double unknown_ns, slept_ns; /* asleep: the others are not known; given to gaps */
    uint64_t woke_ns;            /* the end of the gap that was given some last */
    uint64_t marks_ns[2];        /* when it began to sleep, of late */
    unsigned sleeps;             /* since the last mark */
};

/* A PROCESSOR event of the thread. */
void xfw_pace_reading(struct xfw_numbers *numbers, struct xfw_thread *thread,
                      const struct xfa_event *event);

/* There is sleep that no gap was given. */
static inline bool xfw_pace_has_left(const struct xfw_pace *pace)
{
    return pace->gaps.before.left_ns > 0 || pace->gaps.last.left_ns > 0;
}

/* The op of this event, the next one of its thread, whose call before returned at before_ns: how
 * much of the time between them was sleep. Only where there is some left. */
void xfw_pace_before(struct xfw_pace *pace, const struct xfa_event *event, uint64_t before_ns,
                     struct xfw_op *op);

/* The same of any event, where nobody wants its op. */
void xfw_pace_only(struct xfw_numbers *numbers, const struct xfa_event *event);

/* All of the process has come. */
void xfw_paces_decide(struct xfw_numbers *numbers, struct xfa_process *process);

/* Members of a team get what was decided of the others' processes. */
void xfw_paces_exchange(struct xfa_run *run);

/* Before ops of the process are played. */
void xfw_paces_take(const struct xfa_process *process, struct xfw_op *ops, size_t count);

#endif
