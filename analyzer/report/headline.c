#include "analyzer/report/headline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "analyzer/report/savings.h"
#include "analyzer/timeline/timeline.h"

#define LEAST_OF_SET 0.5  /* part of what the best set saves that the focus has */
#define MOST_OF_SPAN 1.05 /* so long is a phase at most */
#define LEAST_OF_SPAN 0.5 /* and at least, where no saving tells that it matters */

/* ---- the phase ------------------------------------------------------------------------------- */

/* Time of transfers in outermost ranges of this name; NULL: of all threads' ranges and outside. */
static double transfers_ns(const struct xfa_phases *phases, const char *name)
{
    double ns = 0;
    for (size_t i = 0; i < phases->all.count; i++) {
        const struct xfa_phase *phase = xfa_table_at(&phases->all, i), *path[XFA_MAX_NESTING];
        size_t depth = xfa_phase_path(phases, phase, path);
        bool named = depth && path[0]->name;
        if (name ? named && strcmp(path[0]->name, name) == 0 : !phase->process)
            ns += phase->figures.transfer_ns;
    }
    return ns;
}

static double worked_ns(const double shares[XFA_SHARES])
{
    return shares[XFA_SHARE_COMPUTE] + shares[XFA_SHARE_HIDDEN] + shares[XFA_SHARE_EXPOSED];
}

/* The GPUs did most of what they did while ranges of that name were open. */
static bool has_most_work(const struct xfa_timeline *timeline, const char *name)
{
    const double *of = timeline ? xfa_phase_shares_named(timeline->phases, name) : NULL;
    return of && worked_ns(of) > worked_ns(timeline->recorded.shares) / 2;
}

/* The outermost range that the GPUs work in; NULL: none. */
static const struct xfw_range_times *main_range(const struct xfa_analysis *analysis,
                                                const struct xfw_whatif *whatif,
                                                const struct xfa_timeline *timeline,
                                                double least_ns)
{
    const struct xfw_range_times *main = NULL;
    double most = transfers_ns(&analysis->phases, NULL) / 2, span = whatif->span.alone_ns;
    for (size_t i = 0; i < whatif->range_count; i++) {
        const struct xfw_range_times *range = &whatif->ranges[i];
        double ns = transfers_ns(&analysis->phases, range->name);
        double alone = range->times.alone_ns;
        if (ns <= most || alone > MOST_OF_SPAN * span ||
            (alone < least_ns && !has_most_work(timeline, range->name)))
            continue;
        most = ns;
        main = range;
    }
    return main;
}

/* ---- the focus ------------------------------------------------------------------------------- */

/* Of a set that saves nothing each part has most. */
static bool has_most(const struct xfw_saving *part, const struct xfw_saving *set)
{
    return xfw_saving_known(set) != XFW_KNOWN || part->likely >= LEAST_OF_SET * set->likely;
}

struct xfa_headline xfa_headline_of(const struct xfa_analysis *analysis,
                                    const struct xfa_findings *findings,
                                    const struct xfa_timeline *timeline, const char *phase)
{
    const struct xfw_whatif *whatif = findings->whatif;
    const struct xfw_saving none = {NAN, NAN, NAN};
    double wall = xfa_run_wall_ns(analysis->run);
    struct xfa_headline run = {.process_ns = wall > 0 ? wall : NAN, .ns = NAN, .saving = none};
    run.ns = run.process_ns;
    if (!whatif || !whatif->known)
        return run;
    bool one = analysis->run->process_count == 1;
    struct xfw_saving set = xfa_findings_in_set(findings) ? whatif->set : none;
    run.ns = whatif->alone_ns;
    run.saving = xfw_saving_checked(&set, whatif->alone_ns);
    const struct xfw_range_times *asked = xfa_range_named(whatif, phase);
    double least = xfw_saving_known(&set) != XFW_KNOWN ? LEAST_OF_SPAN * whatif->span.alone_ns : 0;
    const struct xfw_range_times *range =
        asked || !one || whatif->set_played ? asked : main_range(analysis, whatif, timeline, least);
    struct xfa_headline part = run;
    if (range) {
        part.phase = range->name;
        part.ns = range->times.alone_ns;
        part.saving = xfw_times_saving(&range->times, &set);
        if (asked || has_most(&part.saving, &set))
            return part;
    }
    part.phase = NULL;
    part.span = true;
    part.ns = whatif->span.alone_ns;
    /* What was played is of the run: a time that no change touches is not in it. */
    part.saving = whatif->set_played ? xfw_saving_within(set, part.ns)
                                     : xfw_times_saving(&whatif->span, &set);
    return one && part.ns > 0 && has_most(&part.saving, &set) ? part : run;
}

/* ---- words ----------------------------------------------------------------------------------- */

char *xfa_headline_text(const struct xfa_headline *headline, const struct xfa_findings *findings)
{
    char before[XFA_UNIT_CHARS], after[XFA_UNIT_CHARS], less[XFA_PERCENT_CHARS];
    const struct xfw_saving *saving = &headline->saving;
    if (!(saving->likely > 0))
        return NULL;
    char *changes = xfa_changes_text(findings);
    char *range = xfa_after_text(headline->ns, saving);
    char *text = xfa_print("%s -> %s with %s (%s less; %s)", xfa_time_text(before, headline->ns),
                           xfa_time_text(after, headline->ns - saving->likely), changes,
                           xfa_percent_text(less, saving->likely, headline->ns), range);
    free(changes);
    free(range);
    return text;
}

char *xfa_headline_title(const struct xfa_headline *headline, const struct xfa_findings *findings)
{
    char before[XFA_UNIT_CHARS], after[XFA_UNIT_CHARS], less[XFA_PERCENT_CHARS];
    const double saves = headline->saving.likely;
    size_t members = xfa_findings_in_set(findings);
    if (!(saves > 0))
        return NULL;
    return xfa_print("%s -> %s (%s less) with %zu change%s", xfa_time_text(before, headline->ns),
                     xfa_time_text(after, headline->ns - saves),
                     xfa_percent_text(less, saves, headline->ns), members, members == 1 ? "" : "s");
}

/* "of 4.73 s (phase train)"; "" for the run, and what is as long. */
static char *of_text(const struct xfa_headline *headline)
{
    char all[XFA_UNIT_CHARS], part[XFA_UNIT_CHARS];
    xfa_time_text(all, headline->process_ns);
    xfa_time_text(part, headline->ns);
    if (headline->phase)
        return xfa_print("of %s (phase %s)", all, headline->phase);
    if (headline->span && strcmp(part, all) != 0)
        return xfa_print("of %s (first work for a GPU to last wait)", all);
    return xfa_text("");
}

char *xfa_focus_text(const struct xfa_headline *headline)
{
    char time[XFA_UNIT_CHARS], *of = of_text(headline);
    xfa_time_text(time, headline->ns);
    char *text = xfa_print("%s%s%s", time, *of ? " " : "", of);
    free(of);
    return text;
}

char *xfa_headline_line(const struct xfa_analysis *analysis, const struct xfa_findings *findings,
                        const char *phase)
{
    struct xfa_headline headline = xfa_headline_of(analysis, findings, NULL, phase);
    char *text = xfa_headline_text(&headline, findings), *of = of_text(&headline);
    if (text && *of)
        text = xfa_append(text, ", %s", of);
    free(of);
    return text;
}
