/* The section "Findings": what the best set saves, then each finding. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/report/described.h"
#include "analyzer/report/text/text.h"
#include "common/text.h"

#define SHOWN_IDLE 6 /* at most, unless --top 0 */
#define SHOWN_PHASES 4

/* ---- the head -------------------------------------------------------------------------------- */

/* "1. pageable-host-memory saves 150 ms, then 3. small-transfers saves 20.1 ms more": with their
 * numbers in the report. */
static char *order_text(const struct xfa_findings *findings)
{
    const struct xfa_finding *finding;
    char time[XFA_UNIT_CHARS + 1], number[32], part[64];
    char *text = xfa_text("");
    for (unsigned place = 1; (finding = xfa_finding_in_set(findings, place)); place++) {
        snprintf(number, sizeof number, "%zu. ", (size_t)(finding - findings->items) + 1);
        snprintf(part, sizeof part, " (for %" PRIu64 " of %" PRIu64 " transfers)",
                 finding->transfers - finding->left, finding->transfers);
        text = xfa_append(text, "%s%s%s saves %s%s%s", place > 1 ? ", then " : "",
                          finding->idle ? "" : number, xfa_finding_word(finding->id),
                          xfa_signed_time_text(time, finding->added_ns), place > 1 ? " more" : "",
                          finding->left ? part : "");
    }
    return text;
}

/* How the best set changes the program's time on GPUs, and the phases that it changes. */
static void write_parts(const struct xfw_whatif *whatif, int width, FILE *out)
{
    char before[XFA_UNIT_CHARS], after[XFA_UNIT_CHARS];
    size_t left = SHOWN_PHASES;
    if (whatif->span.set_ns > 0)
        xfa_write_words(out, width, "  ",
                        "from the first work for a GPU to the last wait: %s -> %s",
                        xfa_time_text(before, whatif->span.alone_ns),
                        xfa_time_text(after, whatif->span.set_ns));
    for (size_t i = 0; i < whatif->range_count && left > 0; i++) {
        const struct xfw_times *times = &whatif->ranges[i].times;
        if (fabs(times->alone_ns - times->set_ns) < XFA_LEAST_SAVED * whatif->alone_ns)
            continue;
        xfa_write_words(out, width, "  ", "in phase %s: %s -> %s", whatif->ranges[i].name,
                        xfa_time_text(before, times->alone_ns),
                        xfa_time_text(after, times->set_ns));
        left--;
    }
}

/* Which of it only pays together, and where the search for it stopped. */
static void write_search(const struct xfa_findings *findings, int width, FILE *out)
{
    const struct xfw_search *search = &findings->whatif->search;
    if (search->together > 1)
        xfa_write_words(out, width, "  ", "the last %u of these save that only together",
                        search->together);
    if (search->left_out)
        xfa_write_words(out, width, "  ",
                        "not all combinations were tried: of those that may only pay together the "
                        "first, and %u changes at most",
                        XFW_MOST_MEMBERS);
}

/* Questions whose answers were not replayed with all that goes with them. */
static void write_not_asked(const struct xfw_search *search, int width, FILE *out)
{
    if (search->not_asked)
        xfa_write_words(out, width, "  ",
                        "of %u question%s only the change alone was replayed with the answer yes: "
                        "its bound is without what else the answer makes possible",
                        search->not_asked, search->not_asked == 1 ? "" : "s");
}

static void write_set(const struct xfa_findings *findings, int width, FILE *out)
{
    char *order = order_text(findings);
    if (xfa_findings_in_set(findings) > 0 &&
        xfw_saving_known(&findings->whatif->set) == XFW_KNOWN) {
        if (xfa_findings_count(findings) > 1 || xfa_finding_in_set(findings, 2))
            xfa_write_paragraph(out, "  best set: ", order, width);
        write_search(findings, width, out);
        write_parts(findings->whatif, width, out);
    }
    free(order);
    write_not_asked(&findings->whatif->search, width, out);
}

static void write_text(char *text, int width, FILE *out)
{
    xfa_write_paragraph(out, "  ", text, width);
    free(text);
}

/* The result of --replay=run. */
static void write_played(const struct xfw_played *played, int width, FILE *out)
{
    char time[XFA_UNIT_CHARS], off[XFA_PERCENT_CHARS], advised[XFA_UNIT_CHARS];
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
                                 xfa_signed_time_text(saved, played->saving.likely),
                                 xfa_signed_time_text(model, played->alone_ns - played->set_ns));
    xfa_write_words(out, width, "  ", "played on this machine%s: %s (%s off)%s", part,
                    xfa_time_text(time, played->recorded_ns),
                    xfa_percent_text(off, played->error, 1), with);
    free(part);
    free(with);
}

static void write_savings_head(const struct xfa_report *report, int width, FILE *out)
{
    const struct xfa_findings *findings = report->findings;
    const struct xfw_whatif *whatif = findings->whatif;
    if (!xfa_savings_known(findings)) {
        if (whatif && whatif->why)
            xfa_write_words(out, width, "  ", "what the run would save is not known: %s",
                            whatif->why);
        if (whatif)
            write_played(whatif->played, width, out);
        return;
    }
    write_text(xfa_check_text(whatif), width, out);
    char *paced = xfa_paced_text(report->analysis, whatif, false);
    if (paced)
        write_text(paced, width, out);
    write_played(whatif->played, width, out);
    if (xfa_findings_count(findings) > 0)
        write_set(findings, width, out);
}

/* ---- a finding ------------------------------------------------------------------------------- */

static void write_saving(const struct xfa_described *described, const struct xfa_view *view,
                         FILE *out)
{
    bool known = described->known == XFW_KNOWN;
    if (!described->sentence)
        return;
    fputs(known ? xfa_style(view, XFA_STYLE_GAIN) : "", out);
    xfa_write_words(out, view->width, "     saves ", "%s", described->sentence);
    fputs(known ? xfa_style(view, XFA_STYLE_NONE) : "", out);
    if (described->assumed)
        xfa_write_words(out, view->width, "     assuming ", "%s", described->assumed);
}

/* ---- the foot -------------------------------------------------------------------------------- */

/* Why a finding is idle that is no member of the best set; questions are on the first screen
 * (answer.c). */
enum why {
    SAVES_NOTHING,
    NEEDLESS, /* a simpler remedy saves as much */
    DOUBTFUL, /* it may cost more than it likely saves */
    AT_BEST   /* likely nothing, but more than the replay's error at best */
};

static const char *const whys[][2] = {
    [SAVES_NOTHING] = {"looks like waste, but would save the run nothing",
                       "look like waste, but would save the run nothing"},
    [NEEDLESS] = {"would save hardly more than a simpler fix",
                  "would save hardly more than simpler "
                  "fixes"},
    [DOUBTFUL] = {"may cost more than the little that it likely saves",
                  "may cost more than the little that they likely save"},
    [AT_BEST] = {"would likely save the run nothing, but at best, assuming what cannot be seen",
                 "would likely save the run nothing, but at best, assuming what cannot be seen"},
};

static bool is_idle_for(const struct xfa_findings *findings, const struct xfa_finding *finding,
                        enum why why)
{
    const struct xfw_saving *saving = &finding->saving;
    double least = XFA_LEAST_SAVED * findings->whatif->alone_ns;
    bool little = saving->likely < least;
    bool at_best = xfa_finding_at_best_only(findings->whatif, finding);
    return finding->idle && !finding->asked && !xfa_finding_is_smaller(findings, finding) &&
           why == (at_best             ? AT_BEST
                   : finding->doubtful ? DOUBTFUL
                   : little            ? SAVES_NOTHING
                                       : NEEDLESS);
}

/* "pageable-host-memory at load (a.c:3) and 2 others"; for AT_BEST with the highest saving. */
static char *idle_text(const struct xfa_findings *findings, const struct xfa_finding *finding,
                       enum why why)
{
    size_t others = finding->site_count - 1;
    char saved[XFA_UNIT_CHARS + 1];
    char *text = xfa_print("%s at %s", xfa_finding_word(finding->id), finding->sites[0].site->text);
    if (others)
        text = xfa_append(text, " and %zu other%s", others, xfa_plural(others));
    if (why == AT_BEST) {
        const struct xfw_saving saving = xfa_saving_shown(findings, &finding->saving);
        text = xfa_append(text, ", %s", xfa_signed_time_text(saved, saving.high));
    }
    return text;
}

/* The findings that are idle for this reason, in one paragraph; the caller frees it. */
static char *idle_list(const struct xfa_findings *findings, enum why why,
                       const struct xfa_view *view, size_t shown)
{
    char *text = xfa_text("");
    for (size_t i = 0; i < findings->count && shown > 0; i++) {
        if (!is_idle_for(findings, &findings->items[i], why) || !xfa_view_finding(view, i))
            continue;
        char *one = idle_text(findings, &findings->items[i], why);
        text = xfa_append(text, "%s%s", *text ? "; " : "", one);
        free(one);
        shown--;
    }
    return text;
}

static void write_idle_of(const struct xfa_findings *findings, enum why why,
                          const struct xfa_view *view, FILE *out)
{
    size_t count = 0;
    for (size_t i = 0; i < findings->count; i++)
        count += is_idle_for(findings, &findings->items[i], why) && xfa_view_finding(view, i);
    size_t shown = xfa_shown_facts(view, count, SHOWN_IDLE);
    if (count == 0)
        return;
    char *list = idle_list(findings, why, view, shown), reason[128] = "", most[XFA_PERCENT_CHARS];
    char *more = shown < count ? xfa_print("; and %zu more", count - shown) : xfa_text("");
    if (why == SAVES_NOTHING)
        snprintf(reason, sizeof reason,
                 " (less than %s each: hidden behind other work, or the fix costs as much)",
                 xfa_percent_text(most, XFA_LEAST_SAVED, 1));
    xfa_write_words(out, view->width, "  ", "%zu %s%s%s: %s%s", count,
                    xfa_findings_count(findings) ? "more " : "", whys[why][count > 1], reason, list,
                    more);
    free(list);
    free(more);
}

static void write_idle(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    if (!xfa_savings_known(report->findings))
        return;
    char *smaller = xfa_smaller_text(report->findings, view);
    if (smaller)
        write_text(smaller, view->width, out);
    write_idle_of(report->findings, NEEDLESS, view, out);
    write_idle_of(report->findings, DOUBTFUL, view, out);
    write_idle_of(report->findings, AT_BEST, view, out);
    write_idle_of(report->findings, SAVES_NOTHING, view, out);
}

/* ---- the section ----------------------------------------------------------------------------- */

#define FINDING_SITES 5 /* shown per finding */

static void write_site(const struct xfa_finding_site *site, const struct xfa_run *run, int width,
                       FILE *out)
{
    char bytes[XFA_UNIT_CHARS], lost[XFA_UNIT_CHARS], in_part[XFA_IN_PART_CHARS];
    bool known = !isnan(site->lost_ns);
    const char *called = site->function ? site->function->name : NULL;
    char *way = xfa_finding_site_path(site, run);
    xfa_write_words(out, width, "     at  ", "%s%s%s%s%s: %" PRIu64 " %s%s, %s%s%s%s",
                    site->site->text, called ? ", " : "", called ? called : "", way ? " " : "",
                    way ? way : "", site->transfers, way ? "transfer" : "call",
                    xfa_plural(site->transfers), xfa_bytes_text(bytes, site->bytes),
                    known ? ", lost " : "", known ? xfa_time_text(lost, site->lost_ns) : "",
                    xfa_in_part_text(in_part, site));
    free(way);
    if (site->earlier)
        xfa_write_words(out, width, "         ", "after the copy at %s", site->earlier->text);
}

/* The lines around a call site, as the trace has them, numbered; tabs as four spaces. */
static void write_source(const struct xfa_site *site, FILE *out)
{
    uint32_t number = site->source_line;
    for (const char *at = site->source, *stop; at; at = stop ? stop + 1 : NULL, number++) {
        stop = strchr(at, '\n');
        char *line = xfa_text("");
        for (const char *end = stop ? stop : at + strlen(at); at < end;) {
            const char *tab = memchr(at, '\t', (size_t)(end - at));
            line = xfa_append(line, "%.*s%s", (int)((tab ? tab : end) - at), at, tab ? "    " : "");
            at = tab ? tab + 1 : end;
        }
        bool own = number == site->frames[site->chosen].line;
        xfc_print(out, "       %c %5" PRIu32 " | %s\n", own ? '>' : ' ', number, line);
        free(line);
    }
}

static void write_sites(const struct xfa_finding *finding, const struct xfa_run *run,
                        const struct xfa_view *view, FILE *out)
{
    size_t shown = 0;
    for (size_t i = 0; i < finding->site_count && shown < FINDING_SITES; i++) {
        if (!xfa_view_site(view, finding, &finding->sites[i]))
            continue;
        write_site(&finding->sites[i], run, view->width, out);
        const struct xfa_site *site = finding->sites[i].site;
        if (i + 1 == finding->site_count || finding->sites[i + 1].site->source != site->source)
            write_source(site, out); /* once for calls of the same line */
        shown++;
    }
    if (finding->site_count > shown) {
        size_t more = finding->site_count - shown;
        xfc_print(out, "     ... and %zu more call site%s\n", more, xfa_plural(more));
    }
}

static void write_lost(const struct xfa_finding *finding, int width, FILE *out)
{
    char lost[XFA_UNIT_CHARS], bytes[XFA_UNIT_CHARS], had[XFA_UNIT_CHARS], best[XFA_UNIT_CHARS];
    char achieved[64] = "", achievable[64] = "";
    double moved = (double)finding->bytes;
    if (finding->achieved_ns > 0)
        snprintf(achieved, sizeof achieved, "; achieved %s GB/s",
                 xfa_gbps_text(had, moved / finding->achieved_ns));
    if (finding->achievable_ns > 0)
        snprintf(achievable, sizeof achievable, ", achievable %s GB/s",
                 xfa_gbps_text(best, moved / finding->achievable_ns));
    xfa_write_words(out, width, "     lost ", "%s in %" PRIu64 " %s%s%s%s%s%s",
                    isnan(finding->lost_ns) ? "not known" : xfa_time_text(lost, finding->lost_ns),
                    finding->transfers, finding->sites[0].row ? "transfer" : "call",
                    xfa_plural(finding->transfers), finding->bytes ? ", " : "",
                    finding->bytes ? xfa_bytes_text(bytes, finding->bytes) : "", achieved,
                    achievable);
}

static void write_finding(const struct xfa_report *report, const struct xfa_finding *finding,
                          size_t number, const struct xfa_view *view, FILE *out)
{
    int width = view->width;
    char fix[XFA_REMEDY_CHARS];
    char lead[32];
    struct xfa_described described = xfa_describe(report->analysis, report->findings, finding);
    snprintf(lead, sizeof lead, "%2zu. ", number);
    fputs(xfa_style(view, XFA_STYLE_TITLE), out);
    xfa_write_words(out, width, lead, "%s: %s", described.word, described.title);
    fputs(xfa_style(view, XFA_STYLE_NONE), out);
    write_saving(&described, view, out);
    write_lost(finding, width, out);
    write_sites(finding, report->analysis->run, view, out);
    xfa_write_paragraph(out, "     fix ", xfa_remedy_text(&finding->remedy, fix), width);
    if (described.note)
        xfa_write_paragraph(out, "         ", described.note, width);
    xfa_described_free(&described);
    xfa_write_paragraph(
        out, "     lost = ", xfa_reckoning_text(finding->reckoning, finding->probably), width);
}

void xfa_write_findings(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    const struct xfa_findings *findings = report->findings;
    bool known = xfa_savings_known(findings);
    xfa_write_title(view, out, "%s",
                    xfa_findings_in_set(findings)
                        ? "Findings, the best set first; what the run would save with each alone"
                    : known ? "Findings, by what the run would save with each alone"
                            : "Findings, worst first (each stands alone: one transfer may be in "
                              "several)");
    write_savings_head(report, view->width, out);
    if (findings->count == 0 && !known)
        fputs("  none\n", out);
    for (size_t i = 0; i < findings->count && !findings->items[i].idle; i++)
        if (xfa_view_finding(view, i))
            write_finding(report, &findings->items[i], i + 1, view, out);
    write_idle(report, view, out);
}
