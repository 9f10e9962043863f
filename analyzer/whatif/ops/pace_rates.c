#include "analyzer/whatif/ops/pace_rates.h"

#include <math.h>

#define SURE 0.2 /* processors: the standard error of a rate that is known */
/* Of what it sleeps and is in calls others work so much where each waits for the other: waking up
 * takes time. */
#define IN_TURN 0.9
#define MORE 1.02
#define FAR 1.5 /* times the mean from sleep to sleep, and more: it was late meanwhile */
#define LEAST_TURNS 16
#define VARIES 0.01 /* of the mean from sleep to sleep: what its calls take varies by that */
#define EVEN 0.3    /* times that, and less: it wakes at even times */

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

static void spread(struct xfw_pace_spread *of, double ns, uint64_t count)
{
    double off = ns - of->mean_ns;
    of->mean_ns += off / (double)count;
    of->squares += off * (ns - of->mean_ns);
}

/* It woke at the reading's end. */
static void add_turn(struct xfw_pace_rates *rates, uint64_t woke_ns)
{
    double ns = (double)(woke_ns - rates->woke_ns);
    bool counts = rates->turn_count == 0 || ns <= FAR * rates->turns.mean_ns;
    if (rates->woke_ns && counts) {
        rates->turn_count++;
        spread(&rates->turns, ns, rates->turn_count);
        spread(&rates->calls, rates->called_ns, rates->turn_count);
    }
    rates->woke_ns = woke_ns;
    rates->called_ns = 0;
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
    rates->called_ns += called;
    if (open->slept_ns > 0)
        add_turn(rates, open->until_ns);
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

bool xfw_pace_wakes_evenly(const struct xfw_pace_rates *rates)
{
    double calls = sqrt(rates->calls.squares), turns = sqrt(rates->turns.squares);
    double whole = rates->turns.mean_ns * sqrt((double)rates->turn_count);
    return rates->turn_count >= LEAST_TURNS && calls > VARIES * whole && turns < EVEN * calls;
}
