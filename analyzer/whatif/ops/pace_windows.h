/*
 * What the threads of a program that make no calls work, between two samples (PROCESSOR events of
 * others): here called windows. A thread that calls cannot become faster than the busiest of them
 * lets it: how much that rests decides. Private to whatif/.
 *
 * Where a thread that keeps their pace (paces.h) sleeps in a window, they are late from its first
 * sleep to its last, and from there to the first one of the next window: what they rest meanwhile
 * is not to be had.
 *
 * Threads that came to be since the recorder last listed them are in no sample, and where nobody
 * else worked there is none: a hole between two windows. Readings of the threads that call show
 * what others worked in it (PROCESSOR events until a call or a return); of that the busiest one is
 * taken to have the part that it had in the window before. A hole that is filled so is a window.
 *
 * Times are ns.
 */
#ifndef XFW_PACE_WINDOWS_H
#define XFW_PACE_WINDOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/pass/event.h"

struct xfw_numbers;

#define XFW_PACE_SLEPT 0.05 /* of a reading, or a window, and more: else the thread was awake */
#define XFW_PACE_THREADS 64 /* of more threads that call nothing is known */

struct xfw_pace_sum {
    double ns, others_ns; /* where that of the others is known */
};

/* Of a thread, since the last window began; zeroed at first. */
struct xfw_pace_in_window {
    struct xfw_pace_slept {
        double ns;
        uint64_t from_ns, until_ns; /* readings with sleep */
    } slept, last; /* but for the last reading; of that: a window may yet begin with it */
    struct xfw_pace_sum busiest, /* of all windows with sleep */
        beyond;                  /* what is left of them, and of the busiest's */
};

static inline void xfw_pace_sleep_add(struct xfw_pace_slept *into,
                                      const struct xfw_pace_slept *slept)
{
    if (!(slept->ns > 0))
        return;
    into->from_ns = into->ns > 0 ? into->from_ns : slept->from_ns;
    into->until_ns = slept->until_ns;
    into->ns += slept->ns;
}

static inline void xfw_pace_window_sleep(struct xfw_pace_in_window *in, uint64_t from_ns,
                                         uint64_t until_ns, double ns)
{
    xfw_pace_sleep_add(&in->slept, &in->last);
    in->last = (struct xfw_pace_slept){ns, from_ns, until_ns};
}

#define XFW_MOST_WINDOWS 65536 /* even; five minutes of samples that are 5 ms long */

/* Of samples in order, or where there are too many, of two, four ... that follow each other. */
struct xfw_windows {
    struct xfw_window {
        uint64_t start_ns, end_ns;
        double busy_ns;
        double full_ns; /* of that, in samples that it worked all of */
        uint64_t slept; /* which threads, by their numbers: a bit for each of the first */
        uint64_t slept_from_ns, slept_until_ns; /* these, in it */
    } * all;
    size_t count, capacity;
    double last_ns, last_busy_ns; /* of the last sample */
    double last_part;  /* of all that others worked, the busiest one's, in the last event */
    uint64_t until_ns; /* the last window's end */
    struct xfw_hole {
        struct xfw_pace_sum sum; /* of readings since then, but for the last; of others that make no
                                    calls */
        struct xfw_pace_sum last;
        uint64_t last_from_ns, last_until_ns;
    } hole;
    unsigned doubled;       /* so often: a window has 1 << doubled samples, but for the last one */
    uint64_t samples, full; /* of which it worked all */
};

/* An event of others. Readings that lie in it come behind it, but for one that begins with it. */
void xfw_pace_windows_add(struct xfw_numbers *numbers, const struct xfa_event *event);

/* Of what begins then: there is a window, but none that has it, so far. */
static inline bool xfw_pace_is_behind(const struct xfw_windows *windows, uint64_t start_ns)
{
    return windows->count > 0 && start_ns >= windows->until_ns;
}

/* Such a reading of a thread that calls, before what it slept is added (xfw_pace_window_sleep):
 * others without calls worked so much meanwhile. */
void xfw_pace_windows_reading(struct xfw_numbers *numbers, const struct xfa_event *reading,
                              double others_ns);

/* All have come. */
void xfw_pace_windows_end(struct xfw_numbers *numbers);

/* Sums over them, for the process. paced: which threads keep others' pace, by their numbers: a bit
 * for each of the first XFW_PACE_THREADS. */
void xfw_pace_windows_sum(const struct xfw_numbers *numbers, struct xfa_process *process,
                          uint64_t paced);

#endif
