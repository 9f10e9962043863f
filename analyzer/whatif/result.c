#include "analyzer/whatif/result.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/check.h"
#include "analyzer/whatif/player.h"

/* ---- savings --------------------------------------------------------------------------------- */

struct xfw_saving xfw_saving_within(struct xfw_saving saving, double most_ns)
{
    if (saving.likely > most_ns)
        saving.likely = most_ns;
    if (saving.high > most_ns)
        saving.high = most_ns;
    if (saving.high < saving.likely)
        saving.high = saving.likely;
    if (saving.low > saving.likely)
        saving.low = saving.likely;
    return saving;
}

/* NAN is above nothing. */
static bool is_above(double ns, double most_ns)
{
    const double rounding = 1e-9;
    return ns > most_ns + rounding * fabs(most_ns) + 1;
}

struct xfw_saving xfw_saving_checked(const struct xfw_saving *saving, double whole_ns)
{
    bool good = XFA_EXPECT(!is_above(saving->likely, whole_ns) && !is_above(saving->high, whole_ns),
                           "a saving is above the run that it is of");
    good = XFA_EXPECT(!is_above(saving->low, saving->likely) &&
                          !is_above(saving->likely, saving->high),
                      "the bounds of a saving are not around it") &&
           good;
    return good ? *saving : (struct xfw_saving){NAN, NAN, NAN};
}

struct xfw_saving xfw_times_saving(const struct xfw_times *times, const struct xfw_saving *set)
{
    double likely = times->alone_ns - times->set_ns;
    if (!(times->set_ns > 0) || !(set->likely > 0))
        return (struct xfw_saving){NAN, NAN, NAN};
    double share = likely / set->likely;
    struct xfw_saving saving = {set->low * share, likely, set->high * share};
    return xfw_saving_within(saving, times->alone_ns);
}

double xfw_can_go_ns(const struct xfw_whatif *whatif, double least_ns)
{
    double span = whatif->span.alone_ns;
    double outside = span > 0 ? fmax(0, whatif->alone_ns - span) : 0;
    return whatif->alone_ns - fmin(fmax(0, least_ns), outside);
}

/* ---- the result ------------------------------------------------------------------------------ */

uint64_t xfw_whatif_taken(const struct xfw_whatif *whatif, const struct xfw_change *change,
                          uint32_t class)
{
    const struct xfw_taken_key key = {change->number, class};
    const struct xfw_taken *taken = xfa_table_get(&whatif->taken, &key);
    return taken ? taken->transfers : 0;
}

void xfw_played_free(struct xfw_played *played)
{
    if (!played)
        return;
    free(played->why);
    free(played->note);
    free(played);
}

void xfw_whatif_take_played(struct xfw_whatif *whatif, struct xfw_played *played)
{
    xfw_played_free(whatif->played);
    whatif->played = played;
    if (!whatif->known || played->why || !played->whole ||
        xfw_saving_known(&played->saving) != XFW_KNOWN ||
        xfw_saving_known(&whatif->set) != XFW_KNOWN || !(played->error <= XFW_MARK_ERROR))
        return;
    /* What the remedies take for granted is as sure as before. */
    double low = whatif->set.likely - whatif->set.low, high = whatif->set.high - whatif->set.likely;
    const struct xfw_saving *saving = &played->saving;
    struct xfw_saving set = {
        .low = fmin(saving->low, saving->likely - low),
        .likely = saving->likely,
        .high = fmax(saving->high, saving->likely + high),
    };
    whatif->set = xfw_saving_within(set, xfw_can_go_ns(whatif, whatif->alone_ns - saving->high));
    whatif->set_played = true;
}

void xfw_whatif_free(struct xfw_whatif *whatif)
{
    if (!whatif)
        return;
    xfw_played_free(whatif->played);
    for (size_t i = 0; i < whatif->range_count; i++)
        free(whatif->ranges[i].name);
    free(whatif->ranges);
    free(whatif->in_ranges);
    free(whatif->why);
    free(whatif->alone);
    free(whatif->carried);
    free(whatif->added);
    free(whatif->last);
    free(whatif->answered);
    free(whatif->up_to);
    free(whatif->needless);
    free(whatif->order);
    free(whatif->steps);
    xfa_table_free(&whatif->taken);
    free(whatif);
}
