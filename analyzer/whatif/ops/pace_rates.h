/*
 * What a thread's readings (PROCESSOR events) say of its sleep. Private to whatif/.
 *
 * By least squares, how much the others of the program work while it sleeps, while it works between
 * its calls, and while it is in them: three rates, in processors; most readings have several of
 * these times. Others that begin when the thread has taken what they made rest in its own time
 * before a call, and work in the call: what they do there says nothing of the one before it. Where
 * the parts of these times are the same in all readings, such others work about as long as it
 * sleeps and is in calls, together.
 *
 * What comes before its first sleep, and behind its last one, belongs to other parts of the
 * program: whether others go on in its calls shows where it waits for them.
 *
 * And whether it sleeps as much less as it was longer awake, in calls or at work: then it waits for
 * a tick of a clock, or for what comes without it. Who sleeps for a time wakes later, too.
 *
 * Times are ns.
 */
#ifndef XFW_PACE_RATES_H
#define XFW_PACE_RATES_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/whatif/ops/squares.h"

enum xfw_pace_time { XFW_PACE_ASLEEP, XFW_PACE_OWN, XFW_PACE_CALLED };

struct xfw_pace_rates {    /* of a thread; zeroed at first */
    struct xfw_pace_open { /* the last reading: calls that lie in it come behind it, but for one
                              that begins where it does */
        uint64_t from_ns, until_ns; /* until_ns 0: there is none */
        double slept_ns, called_ns; /* called_ns: so far */
        double others_ns;           /* below 0: not known */
    } open;
    uint64_t call_from_ns, call_until_ns; /* the last call */
    struct xfw_pace_seen {
        struct xfw_squares rates;
        double waits_ns, others_ns; /* of all: asleep and in calls; what the others worked */
    } seen,                         /* of readings from the first with sleep to the last */
        since;                      /* and behind that */
    uint64_t woke_ns;               /* the end of the last one with sleep; 0: none yet */
    double rest_ns;                 /* what else that one has */
    struct xfw_pace_turns {         /* from one such end to the next */
        uint64_t count;
        double awake_ns, slept_ns; /* means */
        /* Sums of squares, and products, of what is off these. */
        double awake_squares, slept_squares, products;
    } turns[2]; /* what else a reading has comes before its sleep; or behind, before the next one */
};

/* A reading, in which the thread slept between calls for so long, and the others worked so much. */
void xfw_pace_rates_reading(struct xfw_pace_rates *rates, uint64_t from_ns, uint64_t until_ns,
                            double slept_ns, double others_ns);

/* A call of the thread; in order, none within another one. */
static inline void xfw_pace_rates_call(struct xfw_pace_rates *rates, uint64_t from_ns,
                                       uint64_t until_ns)
{
    rates->call_from_ns = from_ns;
    rates->call_until_ns = until_ns;
    if (rates->open.until_ns > from_ns)
        rates->open.called_ns +=
            (double)((until_ns < rates->open.until_ns ? until_ns : rates->open.until_ns) - from_ns);
}

/* So much of the sleep in the last reading passed in a wait, between queries. */
static inline void xfw_pace_rates_polled(struct xfw_pace_rates *rates, double ns)
{
    rates->open.slept_ns = rates->open.slept_ns > ns ? rates->open.slept_ns - ns : 0;
    rates->open.called_ns += ns;
}

/* By enum xfw_pace_time; NAN: not known. */
struct xfw_pace_three {
    double of[XFW_SQUARES];
};
struct xfw_pace_three xfw_pace_rates_of(const struct xfw_pace_rates *rates);

/* The same while it is awake: its own time and its calls together. */
double xfw_pace_rates_awake(const struct xfw_pace_rates *rates);

/* The others work as long as it sleeps and is in calls. */
bool xfw_pace_rates_in_turn(const struct xfw_pace_rates *rates);

/* It wakes at times of its own, however long it was awake before. */
bool xfw_pace_wakes_by_clock(const struct xfw_pace_rates *rates);

#endif
