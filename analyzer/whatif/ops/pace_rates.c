#include "analyzer/whatif/ops/pace_rates.h"

#include <math.h>

#define SURE 0.2 /* processors: the standard error of a rate that is known */
/* Of what it sleeps and is in calls others work so much where each waits for the other: waking up
 * takes time. */
#define IN_TURN 0.9
#define MORE 1.02
#define FAR 1.5 /* times the mean from sleep to sleep, and more: it was late meanwhile */
#define LEAST_TURNS 16
#define VARIES 0.01 /* of the mean from sleep to sleep: how long it is awake varies by that */
#define LESS 0.3    /* as much less as it was longer awake, but for that part: it sleeps so */

/* ---- readings -------------------------------------------------------------------------------- */

static void add_rates(struct xfw_pace_rates *rates, double slept, double own, double called)
{
    const double times[] = {slept, own, called};
    xfw_squares_add(&rates->since.rates, times, rates->open.others_ns);
    rates->since.waits_ns += slept + called;
    rates->since.others_ns += rates->open.others_ns;
}

/* There was sleep again: what came since the one before counts. */
static void take_since(struct xfw_pace_rates *rates)
{
    xfw_squares_merge(&rates->seen.rates, &rates->since.rates);
    rates->seen.waits_ns += rates->since.waits_ns;
    rates->seen.others_ns += rates->since.others_ns;
    rates->since = (struct xfw_pace_seen){.waits_ns = 0};
}

static void take_turn(struct xfw_pace_turns *turns, double awake, double slept)
{
    double off_awake = awake - turns->awake_ns, off_slept = slept - turns->slept_ns;
    turns->count++;
    turns->awake_ns += off_awake / (double)turns->count;
    turns->slept_ns += off_slept / (double)turns->count;
    turns->awake_squares += off_awake * (awake - turns->awake_ns);
    turns->slept_squares += off_slept * (slept - turns->slept_ns);
    turns->products += off_awake * (slept - turns->slept_ns);
}

/* A reading with sleep ends, which has so much else. */
static void add_turn(struct xfw_pace_rates *rates, uint64_t end_ns, double slept, double rest)
{
    double ns = (double)(end_ns - rates->woke_ns);
    double mean = rates->turns[0].awake_ns + rates->turns[0].slept_ns;
    if (rates->woke_ns && (rates->turns[0].count == 0 || ns <= FAR * mean)) {
        take_turn(&rates->turns[0], ns - slept, slept);
        take_turn(&rates->turns[1], ns - slept - rest + rates->rest_ns, slept);
    }
    rates->woke_ns = end_ns;
    rates->rest_ns = rest;
}

static void close_reading(struct xfw_pace_rates *rates)
{
    const struct xfw_pace_open *open = &rates->open;
    double ns = (double)(open->until_ns - open->from_ns);
    double called = open->called_ns < ns ? open->called_ns : ns;
    double slept = open->slept_ns < ns - called ? open->slept_ns : ns - called;
    if (open->others_ns >= 0 && (open->slept_ns > 0 || rates->woke_ns))
        add_rates(rates, slept, ns - called - slept, called);
    if (open->slept_ns > 0)
        take_since(rates);
    if (open->slept_ns > 0)
        add_turn(rates, open->until_ns, slept, ns - slept);
}

void xfw_pace_rates_reading(struct xfw_pace_rates *rates, uint64_t from_ns, uint64_t until_ns,
                            double slept_ns, double others_ns)
{
    if (rates->open.until_ns > rates->open.from_ns)
        close_reading(rates);
    rates->open = (struct xfw_pace_open){from_ns, until_ns, slept_ns, 0, others_ns};
    if (rates->call_from_ns >= from_ns)
        xfw_pace_rates_call(rates, rates->call_from_ns, rates->call_until_ns);
}

/* ---- what they say --------------------------------------------------------------------------- */

struct xfw_pace_three xfw_pace_rates_of(const struct xfw_pace_rates *rates)
{
    struct xfw_pace_three three = {{NAN, NAN, NAN}};
    struct xfw_solved solved = xfw_squares_solve(&rates->seen.rates);
    for (unsigned i = 0; i < XFW_SQUARES; i++)
        if (solved.error[i] <= SURE)
            three.of[i] = solved.value[i] > 0 ? solved.value[i] : 0;
    return three;
}

double xfw_pace_rates_awake(const struct xfw_pace_rates *rates)
{
    struct xfw_solved solved =
        xfw_squares_solve_with(&rates->seen.rates, XFW_PACE_OWN, XFW_PACE_CALLED);
    bool known = solved.error[XFW_PACE_OWN] <= SURE;
    return known ? (solved.value[XFW_PACE_OWN] > 0 ? solved.value[XFW_PACE_OWN] : 0) : NAN;
}

bool xfw_pace_rates_in_turn(const struct xfw_pace_rates *rates)
{
    const struct xfw_pace_seen *seen = &rates->seen;
    return seen->others_ns >= IN_TURN * seen->waits_ns && seen->others_ns <= MORE * seen->waits_ns;
}

/* By least squares, how much longer it sleeps for each ns that it was awake. */
static bool sleeps_less(const struct xfw_pace_turns *turns)
{
    double count = (double)turns->count, whole = turns->awake_ns + turns->slept_ns;
    if (turns->count < LEAST_TURNS || !(sqrt(turns->awake_squares / count) > VARIES * whole))
        return false;
    double longer = turns->products / turns->awake_squares;
    double left = turns->slept_squares - longer * turns->products;
    double error = sqrt((left > 0 ? left : 0) / (count - 2) / turns->awake_squares);
    return fabs(longer + 1) <= LESS && error <= LESS / 2;
}

bool xfw_pace_wakes_by_clock(const struct xfw_pace_rates *rates)
{
    return sleeps_less(&rates->turns[0]) || sleeps_less(&rates->turns[1]);
}
