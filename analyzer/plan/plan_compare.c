/* Predicted, applied and measured: a plan beside the runs before it was carried out and after. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/compare/compare.h"
#include "analyzer/plan/plan.h"

/* What the run in the middle of the runs after did of a step. */
static void add_applied(struct xfa_compared_step *step, const struct xfa_snapshot *run)
{
    for (size_t i = 0; i < run->applied_count; i++) {
        const struct xfa_applied *applied = &run->applied[i];
        if (applied->step != step->number)
            continue;
        step->asked += applied->asked;
        step->done += applied->done;
        step->checked += applied->checked;
        step->different += applied->different;
        step->applied_ns += (double)applied->instead_ns - (double)applied->done_ns;
    }
}

static bool is_of(const struct xfa_snapshot_row *row, const struct xfa_apply_site *site)
{
    return strcmp(row->place.text, site->text) == 0 && site->direction &&
           strcmp(site->direction, xft_direction_word(row->key.direction)) == 0;
}

/* Do both have the row at one of the step's sites? */
static bool is_at(const struct xfa_compared_row *row, const struct xfa_apply_step *step)
{
    for (size_t i = 0; i < step->site_count && row->before && row->after; i++)
        if (is_of(row->before->row, &step->sites[i]))
            return true;
    return false;
}

static void add_measured(struct xfa_compared_step *step, const struct xfa_apply_step *of,
                         const struct xfa_comparison *comparison)
{
    double before = 0, after = 0;
    bool any = false;
    for (size_t i = 0; i < comparison->row_count; i++) {
        const struct xfa_compared_row *row = &comparison->rows[i];
        if (!is_at(row, of))
            continue;
        any = true;
        before += row->time.before;
        after += row->time.after;
    }
    step->before_ns = any ? before : NAN;
    step->after_ns = any ? after : NAN;
}

void xfa_apply_plan_compare(const struct xfa_apply_plan *plan, struct xfa_comparison *comparison)
{
    comparison->steps = xfa_alloc((plan->step_count + 1) * sizeof *comparison->steps);
    comparison->planned = true;
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct xfa_apply_step *of = &plan->steps[i];
        if (!of->carry_out)
            continue;
        struct xfa_compared_step *step = &comparison->steps[comparison->step_count++];
        *step = (struct xfa_compared_step){
            .number = (unsigned)i + 1,
            .finding = xfa_text(of->finding),
            .site = xfa_text(of->site_count ? of->sites[0].text : "-"),
            .sites = of->site_count,
            .predicted = *xfa_apply_predicted(of),
        };
        add_applied(step, xfa_side_middle(&comparison->after));
        add_measured(step, of, comparison);
    }
}
