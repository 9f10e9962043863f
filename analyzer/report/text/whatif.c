/* What the run would save: the head and the foot of the section "Findings", and a finding's line.
 */
#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "analyzer/report/text/text.h"

#define SHOWN_IDLE 6 /* at most, unless all rows are asked for */
#define SHOWN_PHASES 4

#define PERCENT_CHARS 16

/* "44 %", "8.2 %", of the whole. */
static const char *percent(char text[PERCENT_CHARS], double part, double whole)
{
    double value = whole > 0 ? part / whole * 100 : 0;
    snprintf(text, PERCENT_CHARS, "%.*f %%", fabs(value) >= 9.95 ? 0 : 1,
             fabs(value) < 0.05 ? 0 : value); /* no -0.0 */
    return text;
}

/* Times that may be negative: what costs more than it saves. */
static const char *signed_time(char text[XFA_UNIT_CHARS + 1], double ns)
{
    *text = '-';
    xfa_time_text(text + (ns < 0), fabs(ns));
    return text;
}

/* "between 150 ms and 190 ms" */
static char *between(double low, double high)
{
    char from[XFA_UNIT_CHARS + 1], to[XFA_UNIT_CHARS + 1];
    return xfa_print("between %s and %s", signed_time(from, low), signed_time(to, high));
}

bool xfa_savings_known(const struct xfa_findings *findings)
{
    return findings->whatif && findings->whatif->known;
}

/* ---- the head ------------------------------------------------------------------------------- */

/* Whether the replay can be believed. */
static void write_check(const struct xfw_whatif *whatif, int width, FILE *out)
{
    char off[PERCENT_CHARS], takes[XFA_UNIT_CHARS];
    xfa_write_words(
        out, width, "  ", "replayed unchanged: %s off%s; without what recording cost%s: %s",
        percent(off, whatif->error, 1), whatif->marked ? ", which makes all savings uncertain" : "",
        whatif->recording_known ? "" : " (as far as that is known)",
        xfa_time_text(takes, whatif->alone_ns));
}

/* The finding that is in the set at that place; NULL: none. */
static const struct xfa_finding *member(const struct xfa_findings *findings, unsigned place)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].order == place)
            return &findings->items[i];
    return NULL;
}

/* "1. pageable-host-memory saves 150 ms, then 3. small-transfers saves 20.1 ms more": with the
 * numbers that they have in the report. */
static char *order_text(const struct xfa_findings *findings)
{
    const struct xfa_finding *finding;
    char time[XFA_UNIT_CHARS + 1], number[32];
    char *text = xfa_text("");
    for (unsigned place = 1; (finding = member(findings, place)); place++) {
        snprintf(number, sizeof number, "%zu. ", (size_t)(finding - findings->items) + 1);
        char *longer = xfa_print("%s%s%s%s saves %s%s", text, place > 1 ? ", then " : "",
                                 finding->idle ? "" : number, xfa_finding_word(finding->id),
                                 signed_time(time, finding->added_ns), place > 1 ? " more" : "");
        free(text);
        text = longer;
    }
    return text;
}

/* Those that stand as findings, which idle ones do not. */
static size_t count_findings(const struct xfa_findings *findings)
{
    size_t count = 0;
    for (size_t i = 0; i < findings->count; i++)
        count += !findings->items[i].idle;
    return count;
}

/* Those of them that are in the best set. */
static size_t count_members(const struct xfa_findings *findings)
{
    size_t count = 0;
    for (size_t i = 0; i < findings->count; i++)
        count += findings->items[i].order > 0 && !findings->items[i].idle;
    return count;
}

/* What becomes of the time that the program works on GPUs, and of the phases that change. */
static void write_parts(const struct xfw_whatif *whatif, int width, FILE *out)
{
    char before[XFA_UNIT_CHARS], after[XFA_UNIT_CHARS];
    size_t left = SHOWN_PHASES;
    if (whatif->span.set_ns > 0)
        xfa_write_words(out, width, "    ",
                        "from the first work for a GPU to the last wait: %s -> %s",
                        xfa_time_text(before, whatif->span.alone_ns),
                        xfa_time_text(after, whatif->span.set_ns));
    for (size_t i = 0; i < whatif->range_count && left > 0; i++) {
        const struct xfw_times *times = &whatif->ranges[i].times;
        if (fabs(times->alone_ns - times->set_ns) < XFA_LEAST_SAVED * whatif->alone_ns)
            continue;
        xfa_write_words(out, width, "    ", "in phase %s: %s -> %s", whatif->ranges[i].name,
                        xfa_time_text(before, times->alone_ns),
                        xfa_time_text(after, times->set_ns));
        left--;
    }
}

static void write_set(const struct xfa_findings *findings, int width, FILE *out)
{
    const struct xfw_whatif *whatif = findings->whatif;
    const struct xfw_saving *set = &whatif->set;
    char before[XFA_UNIT_CHARS], after[XFA_UNIT_CHARS], less[PERCENT_CHARS];
    size_t members = count_members(findings), count = count_findings(findings);
    if (members == 0 || isnan(set->likely))
        return;
    const double run = whatif->alone_ns;
    char *range = between(run - set->high, run - set->low), *order = order_text(findings);
    xfa_write_words(out, width, "  ", "with %s: %s -> %s (%s less), %s%s",
                    count == 1         ? "this"
                    : members == count ? "all of these"
                                       : "the best set of these",
                    xfa_time_text(before, run), xfa_time_text(after, run - set->likely),
                    percent(less, set->likely, run), range, whatif->set_played ? ", played" : "");
    if (count > 1 || member(findings, 2))
        xfa_write_words(out, width, "    ", "%s", order);
    write_parts(whatif, width, out);
    free(range);
    free(order);
}

/* When nothing stands as a finding, what it comes to. */
static void write_nothing(const struct xfa_findings *findings, int width, FILE *out)
{
    char saves[PERCENT_CHARS];
    double best = 0;
    if (findings->count == 0) {
        xfa_write_words(out, width, "  ", "Nothing worth changing was found.");
        return;
    }
    for (size_t i = 0; i < findings->count; i++)
        best = fmax(best, findings->items[i].saving.likely);
    xfa_write_words(out, width, "  ",
                    "Nothing worth changing: the best that was found would save %s of the run.",
                    percent(saves, best, findings->whatif->alone_ns));
}

/* What came of playing it. */
static void write_played(const struct xfw_played *played, int width, FILE *out)
{
    char time[XFA_UNIT_CHARS], off[PERCENT_CHARS], advised[XFA_UNIT_CHARS];
    char saved[XFA_UNIT_CHARS + 1], model[XFA_UNIT_CHARS + 1];
    if (!played)
        return;
    if (played->why) {
        xfa_write_words(out, width, "  ", "not played: %s", played->why);
        return;
    }
    char *part = played->whole
                     ? xfa_text("")
                     : xfa_print(", the first %s of it", xfa_time_text(time, played->part_ns));
    char *with = isnan(played->advised_ns)
                     ? xfa_text("")
                     : xfa_print("; with the best set %s, which saves %s (by the model %s)",
                                 xfa_time_text(advised, played->advised_ns),
                                 signed_time(saved, played->saving.likely),
                                 signed_time(model, played->alone_ns - played->set_ns));
    xfa_write_words(out, width, "  ", "played on this machine%s: %s (%s off)%s", part,
                    xfa_time_text(time, played->recorded_ns), percent(off, played->error, 1), with);
    free(part);
    free(with);
}

void xfa_write_savings_head(const struct xfa_findings *findings, int width, FILE *out)
{
    const struct xfw_whatif *whatif = findings->whatif;
    if (!xfa_savings_known(findings)) {
        if (whatif && whatif->why)
            xfa_write_words(out, width, "  ", "what the run would save is not known: %s",
                            whatif->why);
        if (whatif)
            write_played(whatif->played, width, out);
        return;
    }
    write_check(whatif, width, out);
    write_played(whatif->played, width, out);
    if (count_findings(findings) == 0)
        write_nothing(findings, width, out);
    else
        write_set(findings, width, out);
}

/* ---- a finding ------------------------------------------------------------------------------ */

static const char *set_text(const struct xfa_finding *finding, const struct xfw_whatif *whatif)
{
    return finding->order || isnan(whatif->set.likely) ? "" : "; not in the best set";
}

void xfa_write_saving(const struct xfa_report *report, const struct xfa_finding *finding, int width,
                      FILE *out)
{
    const struct xfw_saving *saving = &finding->saving;
    const struct xfw_whatif *whatif = report->findings->whatif;
    char likely[XFA_UNIT_CHARS + 1], part[PERCENT_CHARS];
    if (!xfa_savings_known(report->findings))
        return;
    if (isnan(saving->likely)) {
        xfa_write_words(out, width, "     saves ", "not known: %s",
                        report->analysis->profile
                            ? "what this fix would change in the run cannot be told"
                            : "there is no machine profile to reckon with");
        return;
    }
    char *range = between(saving->low, saving->high);
    xfa_write_words(out, width, "     saves ", "%s of the run (%s), %s (modelled)%s",
                    signed_time(likely, saving->likely),
                    percent(part, saving->likely, whatif->alone_ns), range,
                    set_text(finding, whatif));
    free(range);
    if (finding->assumed)
        xfa_write_words(out, width, "     assuming ", "%s", finding->assumed);
}

/* ---- the foot ------------------------------------------------------------------------------- */

/* Why a finding is none. */
enum why { SAVES_NOTHING, NEEDLESS }; /* a simpler remedy does it, too */

static const char *const whys[][2] = {
    [SAVES_NOTHING] = {"looks like waste, but would save the run nothing",
                       "look like waste, but would save the run nothing"},
    [NEEDLESS] = {"would save hardly more than a simpler fix",
                  "would save hardly more than simpler "
                  "fixes"},
};

static bool is_so(const struct xfa_findings *findings, const struct xfa_finding *finding,
                  enum why why)
{
    bool little = finding->saving.likely < XFA_LEAST_SAVED * findings->whatif->alone_ns;
    return finding->idle && little == (why == SAVES_NOTHING);
}

/* "pageable-host-memory at load (a.c:3) and 2 others" */
static char *idle_text(const struct xfa_finding *finding)
{
    size_t others = finding->site_count - 1;
    const char *word = xfa_finding_word(finding->id), *site = finding->sites[0].site->text;
    return others ? xfa_print("%s at %s and %zu other%s", word, site, others, xfa_plural(others))
                  : xfa_print("%s at %s", word, site);
}

/* In one paragraph, for the caller to free. */
static char *idle_list(const struct xfa_findings *findings, enum why why, size_t shown)
{
    char *text = xfa_text("");
    for (size_t i = 0; i < findings->count && shown > 0; i++) {
        if (!is_so(findings, &findings->items[i], why))
            continue;
        char *one = idle_text(&findings->items[i]);
        char *longer = xfa_print("%s%s%s", text, *text ? "; " : "", one);
        free(text);
        free(one);
        text = longer;
        shown--;
    }
    return text;
}

static void write_those(const struct xfa_findings *findings, enum why why,
                        const struct xfa_view *view, FILE *out)
{
    size_t count = 0;
    for (size_t i = 0; i < findings->count; i++)
        count += is_so(findings, &findings->items[i], why);
    size_t shown = xfa_shown_facts(view, count, SHOWN_IDLE);
    if (count == 0)
        return;
    char *list = idle_list(findings, why, shown), reason[128] = "", most[PERCENT_CHARS];
    char *more = shown < count ? xfa_print("; and %zu more", count - shown) : xfa_text("");
    if (why == SAVES_NOTHING)
        snprintf(reason, sizeof reason,
                 " (less than %s each: hidden behind other work, or the fix costs as much)",
                 percent(most, XFA_LEAST_SAVED, 1));
    xfa_write_words(out, view->width, "  ", "%zu %s%s%s: %s%s", count,
                    count_findings(findings) ? "more " : "", whys[why][count > 1], reason, list,
                    more);
    free(list);
    free(more);
}

void xfa_write_idle(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    if (!xfa_savings_known(report->findings))
        return;
    write_those(report->findings, NEEDLESS, view, out);
    write_those(report->findings, SAVES_NOTHING, view, out);
}
