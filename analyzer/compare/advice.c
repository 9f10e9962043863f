/* Which advice was followed, what it was predicted to save, and what the run saved. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/compare/compare.h"

#define LEAST_PHASE 0.005 /* part of the run that a phase was predicted to save, to be listed */
#define MOST_PLACES 256   /* call sites without transfers that are compared, for each finding */

/* ---- findings of both ------------------------------------------------------------------------ */

/* By number of a row in the middle run of each side: place of the row in the comparison + 1; 0:
 * none. */
struct places {
    size_t *before, *after;
    size_t before_count, after_count;
};

static struct places places_of(const struct xfa_comparison *comparison)
{
    struct places places = {.before_count = xfa_side_middle(&comparison->before)->row_count,
                            .after_count = xfa_side_middle(&comparison->after)->row_count};
    places.before = xfa_alloc((places.before_count + 1) * sizeof *places.before);
    places.after = xfa_alloc((places.after_count + 1) * sizeof *places.after);
    for (size_t i = 0; i < comparison->row_count; i++) {
        const struct xfa_compared_row *row = &comparison->rows[i];
        if (row->before && row->before->middle < places.before_count)
            places.before[row->before->middle] = i + 1;
        if (row->after && row->after->middle < places.after_count)
            places.after[row->after->middle] = i + 1;
    }
    return places;
}

static size_t at(const size_t *places, size_t count, int64_t row)
{
    return row >= 0 && (size_t)row < count ? places[row] : 0;
}

static bool same_place(const struct xfa_call_place *a, const struct xfa_call_place *b)
{
    if (a->function && b->function)
        return strcmp(a->function, b->function) == 0;
    return strcmp(a->text, b->text) == 0;
}

/* Do both have one call site without transfers? */
static bool share_place(const struct xfa_snapshot_finding *a, const struct xfa_snapshot_finding *b)
{
    for (size_t i = 0; i < a->site_count && i < MOST_PLACES; i++)
        for (size_t k = 0; k < b->site_count && k < MOST_PLACES; k++)
            if (a->rows[i] < 0 && b->rows[k] < 0 && same_place(&a->sites[i], &b->sites[k]))
                return true;
    return false;
}

static bool share_row(const struct places *places, size_t row_count,
                      const struct xfa_snapshot_finding *a, const struct xfa_snapshot_finding *b)
{
    bool *marked = xfa_alloc(row_count + 1), found = false;
    for (size_t i = 0; i < a->site_count; i++)
        marked[at(places->before, places->before_count, a->rows[i])] = true;
    marked[0] = false; /* rows that are not compared */
    for (size_t i = 0; i < b->site_count && !found; i++)
        found = marked[at(places->after, places->after_count, b->rows[i])];
    free(marked);
    return found;
}

static const struct xfa_snapshot_finding *found_again(const struct xfa_comparison *comparison,
                                                      const struct places *places,
                                                      const struct xfa_snapshot_finding *finding,
                                                      bool *taken)
{
    const struct xfa_snapshot *after = xfa_side_middle(&comparison->after);
    for (size_t i = 0; i < after->finding_count; i++) {
        const struct xfa_snapshot_finding *other = &after->findings[i];
        if (taken[i] || other->id != finding->id ||
            !(share_row(places, comparison->row_count, finding, other) ||
              share_place(finding, other)))
            continue;
        taken[i] = true;
        return other;
    }
    return NULL;
}

static enum xfa_stands standing(const struct xfa_snapshot_finding *before,
                                const struct xfa_snapshot_finding *after)
{
    if (!before)
        return XFA_NEW;
    if (!after)
        return XFA_GONE;
    return after->idle && !before->idle ? XFA_IDLE_NOW : XFA_STAYS;
}

static void add_finding(struct xfa_comparison *comparison,
                        const struct xfa_snapshot_finding *before,
                        const struct xfa_snapshot_finding *after)
{
    enum xfa_stands stands = standing(before, after);
    bool advised = before && !before->idle;
    comparison->findings[comparison->finding_count++] = (struct xfa_compared_finding){
        .before = before,
        .after = after,
        .stands = stands,
        .followed = advised && (stands == XFA_GONE || stands == XFA_IDLE_NOW),
    };
}

static int rank_of(const struct xfa_compared_finding *finding)
{
    static const int ranks[] = {[XFA_GONE] = 0, [XFA_IDLE_NOW] = 1, [XFA_STAYS] = 2, [XFA_NEW] = 3};
    return ranks[finding->stands];
}

/* Stable: within a rank, findings stay in the order of the reports. */
static void order_findings(struct xfa_comparison *comparison)
{
    struct xfa_compared_finding *sorted =
        xfa_alloc((comparison->finding_count + 1) * sizeof *sorted);
    size_t count = 0;
    for (int rank = 0; rank < 4; rank++)
        for (size_t i = 0; i < comparison->finding_count; i++)
            if (rank_of(&comparison->findings[i]) == rank)
                sorted[count++] = comparison->findings[i];
    free(comparison->findings);
    comparison->findings = sorted;
}

/* Findings that were idle before and after are left out. */
static void compare_findings(struct xfa_comparison *comparison)
{
    const struct xfa_snapshot *before = xfa_side_middle(&comparison->before);
    const struct xfa_snapshot *after = xfa_side_middle(&comparison->after);
    struct places places = places_of(comparison);
    bool *taken = xfa_alloc(after->finding_count + 1);
    comparison->findings = xfa_alloc((before->finding_count + after->finding_count + 1) *
                                     sizeof *comparison->findings);
    for (size_t i = 0; i < before->finding_count; i++) {
        const struct xfa_snapshot_finding *finding = &before->findings[i];
        const struct xfa_snapshot_finding *again = found_again(comparison, &places, finding, taken);
        if (!finding->idle || (again && !again->idle))
            add_finding(comparison, finding, again);
    }
    for (size_t i = 0; i < after->finding_count; i++)
        if (!taken[i] && !after->findings[i].idle)
            add_finding(comparison, NULL, &after->findings[i]);
    order_findings(comparison);
    free(taken);
    free(places.before);
    free(places.after);
}

/* ---- what was predicted ---------------------------------------------------------------------- */

struct followed {
    size_t count, of_set,
        set; /* findings followed; of these, members of the best set; members of the best set */
    const struct xfa_snapshot_finding *one; /* the one that saves most */
};

static struct followed followed_of(const struct xfa_comparison *comparison)
{
    const struct xfa_snapshot *before = xfa_side_middle(&comparison->before);
    struct followed followed = {0};
    for (size_t i = 0; i < before->finding_count; i++)
        followed.set += before->findings[i].order > 0 && !before->findings[i].idle;
    for (size_t i = 0; i < comparison->finding_count; i++) {
        const struct xfa_snapshot_finding *finding = comparison->findings[i].before;
        if (!comparison->findings[i].followed)
            continue;
        followed.count++;
        followed.of_set += finding->order > 0;
        if (!followed.one || (finding->order > 0) > (followed.one->order > 0) ||
            ((finding->order > 0) == (followed.one->order > 0) &&
             finding->saving.likely > followed.one->saving.likely))
            followed.one = finding;
    }
    return followed;
}

/* What the followed members added to the best set, with the relative bounds that each has alone. */
static struct xfw_saving parts_of(const struct xfa_comparison *comparison)
{
    struct xfw_saving parts = {0, 0, 0};
    for (size_t i = 0; i < comparison->finding_count; i++) {
        const struct xfa_snapshot_finding *finding = comparison->findings[i].before;
        if (!comparison->findings[i].followed || finding->order == 0)
            continue;
        const struct xfw_saving *alone = &finding->saving;
        double share = alone->likely > 0 ? finding->added_ns / alone->likely : 1;
        parts.likely += finding->added_ns;
        parts.low += alone->low * share;
        parts.high += alone->high * share;
    }
    return xfw_saving_within(parts, xfa_side_middle(&comparison->before)->alone_ns);
}

static struct xfw_saving predict(struct xfa_comparison *comparison)
{
    const struct xfa_snapshot *before = xfa_side_middle(&comparison->before);
    struct followed followed = followed_of(comparison);
    struct xfw_saving saving = {NAN, NAN, NAN};
    if (followed.count == 0) {
        comparison->predicted = XFA_PREDICTED_NOTHING;
    } else if (followed.set > 0 && followed.of_set == followed.set) {
        comparison->predicted = XFA_PREDICTED_SET;
        saving = before->set;
    } else if (followed.of_set > 1) {
        comparison->predicted = XFA_PREDICTED_PARTS;
        saving = parts_of(comparison);
    } else {
        comparison->predicted = XFA_PREDICTED_ONE;
        saving = followed.one->saving;
    }
    if (followed.count && (!before->savings_known || xfw_saving_known(&saving) != XFW_KNOWN)) {
        comparison->predicted = XFA_PREDICTED_UNKNOWN;
        saving = (struct xfw_saving){NAN, NAN, NAN};
    }
    return saving;
}

/* ---- what was achieved ----------------------------------------------------------------------- */

static enum xfa_paid paid_of(const struct xfw_saving *predicted, const struct xfa_change *time)
{
    double achieved = -time->shift;
    if (xfw_saving_known(predicted) != XFW_KNOWN || isnan(achieved))
        return XFA_PAID_UNKNOWN;
    if (achieved >= predicted->low && achieved <= predicted->high)
        return XFA_PAID_WITHIN;
    if (isnan(time->low) || (-time->low >= predicted->low && -time->high <= predicted->high))
        return XFA_PAID_UNSURE;
    return achieved < predicted->low ? XFA_PAID_LESS : XFA_PAID_MORE;
}

static void add_payoff(struct xfa_comparison *comparison, const char *phase,
                       struct xfw_saving predicted, double whole_ns, struct xfa_change time)
{
    predicted = xfw_saving_checked(&predicted, whole_ns);
    comparison->payoffs[comparison->payoff_count++] =
        (struct xfa_payoff){phase, predicted, time, paid_of(&predicted, &time)};
}

/* A phase's part of what the best set saves, with the relative bounds of the set's saving. */
static void add_phase(struct xfa_comparison *comparison, const struct xfa_snapshot_phase *phase,
                      const struct xfa_compared_phase *compared)
{
    const struct xfa_snapshot *before = xfa_side_middle(&comparison->before);
    const struct xfw_times *times = &phase->times;
    struct xfw_saving predicted = xfw_times_saving(times, &before->set);
    if (!(predicted.likely > LEAST_PHASE * before->span.alone_ns))
        return;
    add_payoff(comparison, compared->name, predicted, times->alone_ns, compared->time);
}

void xfa_compare_advice(struct xfa_comparison *comparison)
{
    compare_findings(comparison);
    comparison->payoffs = xfa_alloc((comparison->phase_count + 1) * sizeof *comparison->payoffs);
    struct xfw_saving predicted = predict(comparison);
    if (comparison->predicted == XFA_PREDICTED_NOTHING)
        return;
    const struct xfa_snapshot *before = xfa_side_middle(&comparison->before);
    add_payoff(comparison, NULL, predicted, before->alone_ns,
               comparison->measures[XFA_MEASURE_SPAN]);
    if (comparison->predicted != XFA_PREDICTED_SET)
        return;
    for (size_t i = 0; i < comparison->phase_count; i++)
        for (size_t p = 0; p < before->phase_count; p++)
            if (before->phases[p].name == comparison->phases[i].name)
                add_phase(comparison, &before->phases[p], &comparison->phases[i]);
}
