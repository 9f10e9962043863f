/* What the advice promised and what came of it, in one line. */
#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "analyzer/report/compared.h"
#include "analyzer/report/savings.h"

const struct xfa_payoff *xfa_main_payoff(const struct xfa_comparison *comparison)
{
    if (comparison->payoff_count == 0)
        return NULL;
    const struct xfa_payoff *run = &comparison->payoffs[0];
    for (size_t i = 1; i < comparison->payoff_count; i++)
        if (comparison->payoffs[i].predicted.likely >= run->predicted.likely / 2)
            return &comparison->payoffs[i];
    return run;
}

/* "phase train: 209 ms -> 81.0 ms", "209 ms -> 81.0 ms". */
static char *times_text(const char *phase, const struct xfa_change *time)
{
    char before[XFA_UNIT_CHARS], after[XFA_UNIT_CHARS];
    return xfa_print("%s%s%s%s -> %s", phase ? "phase " : "", phase ? phase : "", phase ? ": " : "",
                     xfa_time_text(before, time->before), xfa_time_text(after, time->after));
}

/* "68.0 to 155 ms". */
static char *bounds_text(const struct xfw_saving *saving)
{
    char low[XFA_UNIT_CHARS], high[XFA_UNIT_CHARS];
    if (saving->low < 0)
        return xfa_bounds_text(saving);
    return xfa_print("%s to %s", xfa_time_text(low, saving->low),
                     xfa_time_text(high, saving->high));
}

static const char *verdict_text(const struct xfa_change *time)
{
    static const char *const texts[] = {
        [XFA_UNSURE] = "whether that is a change is not known",
        [XFA_ALIKE] = "no more than two runs differ by themselves",
        [XFA_LESS] = "faster",
        [XFA_MORE] = "SLOWER, by more than two runs differ by themselves",
    };
    return texts[time->verdict];
}

/* Of what was followed and has a prediction. */
static char *kept_text(const struct xfa_payoff *payoff)
{
    static const char *const texts[] = {
        [XFA_PAID_UNKNOWN] = "what it gave is not known",
        [XFA_PAID_WITHIN] = "within",
        [XFA_PAID_LESS] = "LESS than",
        [XFA_PAID_MORE] = "more than",
        [XFA_PAID_UNSURE] = "outside, by no more than two runs differ by themselves:",
    };
    double achieved = -payoff->time.shift;
    char likely[XFA_UNIT_CHARS], got[XFA_UNIT_CHARS];
    char *bounds = bounds_text(&payoff->predicted);
    char *times = times_text(payoff->phase, &payoff->time);
    char *text =
        xfa_print("promised %s, got %s%s: %s %s (%s)",
                  xfa_time_text(likely, payoff->predicted.likely), achieved < 0 ? "slower by " : "",
                  xfa_time_text(got, fabs(achieved)), texts[payoff->paid], bounds, times);
    free(bounds);
    free(times);
    return text;
}

/* Of what nothing was promised for: how the run changed, after `why`. */
static char *plain_text(const struct xfa_comparison *comparison, const char *why)
{
    const struct xfa_change *span = &comparison->measures[XFA_MEASURE_SPAN];
    const struct xfa_change *time =
        isnan(span->shift) ? &comparison->measures[XFA_MEASURE_WALL] : span;
    char *times = times_text(NULL, time);
    char *text = xfa_print("%s; %s: %s", why, times, verdict_text(time));
    free(times);
    return text;
}

static size_t advised(const struct xfa_comparison *comparison)
{
    size_t count = 0;
    for (size_t i = 0; i < comparison->finding_count; i++)
        count += comparison->findings[i].before && !comparison->findings[i].before->idle;
    return count;
}

char *xfa_promise_text(const struct xfa_comparison *comparison)
{
    if (advised(comparison) == 0)
        return plain_text(comparison, "nothing was promised: there was no advice");
    if (comparison->predicted == XFA_PREDICTED_NOTHING)
        return plain_text(comparison, "nothing of the advice was followed");
    if (comparison->predicted == XFA_PREDICTED_UNKNOWN)
        return plain_text(comparison, "what the advice promised is not known");
    const struct xfa_payoff *payoff = xfa_main_payoff(comparison);
    return isnan(payoff->time.shift) ? plain_text(comparison, "the advice was followed")
                                     : kept_text(payoff);
}
