/* What to change: a table, and each finding folded. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/report/markdown/markdown.h"
#include "analyzer/report/savings.h"

#define SITE_COLUMNS 100
#define SHOWN_SITES 5

/* ---- the table ------------------------------------------------------------------------------- */

static void write_saves(FILE *out, const struct xfa_findings *findings,
                        const struct xfa_finding *finding)
{
    const struct xfw_saving saving = xfa_saving_shown(findings, &finding->saving);
    char likely[XFA_UNIT_CHARS + 1], part[XFA_PERCENT_CHARS];
    if (isnan(saving.likely)) {
        fputs(" not known | | |", out);
        return;
    }
    char *range = xfa_bounds_cell(&saving, " ");
    fprintf(out, " %s | %s | %s |", xfa_signed_time_text(likely, saving.likely),
            xfa_percent_text(part, saving.likely, findings->whatif->alone_ns), range);
    free(range);
}

static void write_row(struct xfa_markdown *md, const struct xfa_findings *findings, size_t i)
{
    const struct xfa_finding *finding = &findings->items[i];
    char lost[XFA_UNIT_CHARS], brief[XFA_REMEDY_CHARS];
    size_t others = finding->site_count - 1;
    FILE *out = xfa_markdown_begin(md);
    fprintf(out, "| %zu |", i + 1);
    if (xfa_savings_known(findings))
        write_saves(out, findings, finding);
    else
        fprintf(out, " %s |", xfa_time_text(lost, finding->lost_ns));
    fputc(' ', out);
    xfa_markdown_code(out, finding->sites[0].site->text, SITE_COLUMNS);
    if (others > 0)
        fprintf(out, " and %zu other%s", others, others > 1 ? "s" : "");
    fprintf(out, " | %s | ", xfa_finding_word(finding->id));
    xfa_markdown_text(out, xfa_remedy_brief(&finding->remedy, brief));
    fputs(" |\n", out);
    xfa_markdown_end(md);
}

static void write_table(struct xfa_markdown *md, const struct xfa_findings *findings,
                        const struct xfa_view *view)
{
    bool known = xfa_savings_known(findings);
    fprintf(xfa_markdown_begin(md),
            "\n| # | %s | where | why | what to do |\n|--:|%s---|---|---|\n",
            known ? "saves | of the run | between" : "lost", known ? "--:|--:|--:|" : "--:|");
    xfa_markdown_end(md);
    for (size_t i = 0; i < findings->count && !findings->items[i].idle; i++)
        if (xfa_view_finding(view, i))
            write_row(md, findings, i);
}

/* ---- one of them ----------------------------------------------------------------------------- */

static void write_site(FILE *out, const struct xfa_finding_site *site, const struct xfa_run *run)
{
    char *path = xfa_finding_site_path(site, run);
    char bytes[XFA_UNIT_CHARS], lost[XFA_UNIT_CHARS], in_part[XFA_IN_PART_CHARS];
    fputs("- ", out);
    xfa_markdown_code(out, site->site->text, SITE_COLUMNS);
    fputs(": ", out);
    if (site->function)
        xfa_markdown_code(out, site->function->name, SITE_COLUMNS);
    if (path) {
        fputc(' ', out);
        xfa_markdown_text(out, path);
    }
    free(path);
    fprintf(out, "%s %" PRIu64 " %s%s, %s", site->function || site->row ? "," : "", site->transfers,
            site->row ? "transfer" : "call", site->transfers == 1 ? "" : "s",
            xfa_bytes_text(bytes, site->bytes));
    if (!isnan(site->lost_ns))
        fprintf(out, ", lost %s", xfa_time_text(lost, site->lost_ns));
    fputs(xfa_in_part_text(in_part, site), out);
    if (site->earlier) {
        fputs(", after the copy at ", out);
        xfa_markdown_code(out, site->earlier->text, SITE_COLUMNS);
    }
    fputc('\n', out);
}

static void write_sites(FILE *out, const struct xfa_finding *finding, const struct xfa_run *run,
                        const struct xfa_view *view)
{
    size_t shown = 0;
    for (size_t i = 0; i < finding->site_count && shown < SHOWN_SITES; i++) {
        if (!xfa_view_site(view, &finding->sites[i]))
            continue;
        write_site(out, &finding->sites[i], run);
        shown++;
    }
    if (finding->site_count > shown)
        fprintf(out, "- and %zu more\n", finding->site_count - shown);
}

static void write_finding(struct xfa_markdown *md, const struct xfa_report *report, size_t i,
                          const struct xfa_view *view)
{
    const struct xfa_findings *findings = report->findings;
    const struct xfa_finding *finding = &findings->items[i];
    const struct xfw_saving saving = xfa_saving_shown(findings, &finding->saving);
    char fix[XFA_REMEDY_CHARS], title[256], likely[XFA_UNIT_CHARS + 1];
    snprintf(title, sizeof title, "%zu. %s: %s", i + 1, xfa_finding_word(finding->id),
             xfa_finding_title(finding->id));
    xfa_markdown_fold(md, title);
    FILE *out = xfa_markdown_begin(md);
    fputs("**Fix**: ", out);
    xfa_markdown_text(out, xfa_remedy_text(&finding->remedy, fix));
    fputs("\n\n", out);
    if (xfa_savings_known(findings) && !isnan(saving.likely)) {
        char *range = xfa_bounds_text(&saving);
        fprintf(out, "Saves %s of the run, %s (modelled)%s",
                xfa_signed_time_text(likely, saving.likely), range,
                finding->order || isnan(findings->whatif->set.likely) ? ""
                                                                      : "; not in the best set");
        free(range);
        char *assumed = xfa_finding_assumed(finding);
        if (assumed)
            fprintf(out, ", assuming %s", assumed);
        free(assumed);
        fputs(".\n\n", out);
    }
    write_sites(out, finding, report->analysis->run, view);
    fprintf(out, "\nLost is %s.\n", xfa_reckoning_text(finding->reckoning, finding->probably));
    xfa_markdown_end(md);
    xfa_markdown_unfold(md);
}

/* ---- all of them ----------------------------------------------------------------------------- */

void xfa_markdown_findings(struct xfa_markdown *md, const struct xfa_report *report,
                           const struct xfa_view *view)
{
    const struct xfa_findings *findings = report->findings;
    size_t count = view->filter ? view->filter->findings_shown : xfa_findings_count(findings);
    if (count == 0)
        return;
    write_table(md, findings, view);
    if (xfa_savings_known(findings)) {
        char *check = xfa_check_text(findings->whatif);
        FILE *out = xfa_markdown_begin(md);
        fputs("\nEach alone, modelled: the run is replayed with the fix (", out);
        xfa_markdown_text(out, check);
        fputs(").\n", out);
        xfa_markdown_end(md);
        free(check);
    }
    for (size_t i = 0; i < findings->count && !findings->items[i].idle; i++)
        if (xfa_view_finding(view, i))
            write_finding(md, report, i, view);
}
