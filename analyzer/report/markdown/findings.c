/* What to change: a table, and each finding folded. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/report/described.h"
#include "analyzer/report/markdown/markdown.h"

#define SITE_COLUMNS 100
#define SHOWN_SITES 5

/* ---- the table ------------------------------------------------------------------------------- */

static void write_saves(FILE *out, const struct xfa_described *described)
{
    const char *role = described->role;
    fprintf(out, " %s%s%s | %s |", described->adds ? described->adds : "not known",
            role ? ", " : "", role ? role : "", described->cell ? described->cell : "");
}

static void write_row(struct xfa_markdown *md, const struct xfa_report *report, size_t i)
{
    const struct xfa_findings *findings = report->findings;
    const struct xfa_finding *finding = &findings->items[i];
    struct xfa_described described = xfa_describe(report->analysis, findings, finding);
    char lost[XFA_UNIT_CHARS], brief[XFA_REMEDY_CHARS];
    size_t others = finding->site_count - 1;
    FILE *out = xfa_markdown_begin(md);
    fprintf(out, "| %zu |", i + 1);
    if (xfa_savings_known(findings))
        write_saves(out, &described);
    else
        fprintf(out, " %s |", xfa_time_text(lost, finding->lost_ns));
    fputc(' ', out);
    xfa_markdown_code(out, finding->sites[0].site->text, SITE_COLUMNS);
    if (others > 0)
        fprintf(out, " and %zu other%s", others, others > 1 ? "s" : "");
    fprintf(out, " | %s | ", described.word);
    xfa_markdown_text(out, xfa_remedy_brief(&finding->remedy, brief));
    fputs(" |\n", out);
    xfa_markdown_end(md);
    xfa_described_free(&described);
}

static void write_table(struct xfa_markdown *md, const struct xfa_report *report,
                        const struct xfa_view *view)
{
    const struct xfa_findings *findings = report->findings;
    bool known = xfa_savings_known(findings);
    FILE *out = xfa_markdown_begin(md);
    fprintf(out, "\n| # | %s | where | why | what to do |\n|--:|%s---|---|---|\n",
            known ? "saves | alone" : "lost", known ? "--:|--:|" : "--:|");
    xfa_markdown_end(md);
    for (size_t i = 0; i < findings->count && !findings->items[i].idle; i++)
        if (xfa_view_finding(view, i))
            write_row(md, report, i);
}

/* A paragraph of a sentence, which is freed; NULL: none. */
static void write_sentence(struct xfa_markdown *md, const char *begin, char *text)
{
    if (!text)
        return;
    FILE *out = xfa_markdown_begin(md);
    fprintf(out, "\n%s", begin);
    xfa_markdown_text(out, text);
    fputs(".\n", out);
    xfa_markdown_end(md);
    free(text);
}

/* ---- questions ------------------------------------------------------------------------------- */

static void write_questions(struct xfa_markdown *md, const struct xfa_report *report,
                            const struct xfa_view *view)
{
    size_t count, *places = xfa_questions(report->findings, &count);
    for (size_t i = 0; i < count; i++) {
        if (!xfa_view_finding(view, places[i]))
            continue;
        struct xfa_described described =
            xfa_describe(report->analysis, report->findings, &report->findings->items[places[i]]);
        FILE *out = xfa_markdown_begin(md);
        fputs("\n**?** ", out);
        xfa_markdown_text(out, described.question);
        fputs(" (say so: `--assume` ", out);
        xfa_markdown_code(out, described.key, SITE_COLUMNS);
        fputs("`=yes`, or `=no`)\n", out);
        xfa_markdown_end(md);
        xfa_described_free(&described);
    }
    free(places);
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
        if (!xfa_view_site(view, finding, &finding->sites[i]))
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
    const struct xfa_finding *finding = &report->findings->items[i];
    struct xfa_described described = xfa_describe(report->analysis, report->findings, finding);
    char fix[XFA_REMEDY_CHARS], title[256];
    snprintf(title, sizeof title, "%zu. %s: %s", i + 1, described.word, described.title);
    xfa_markdown_fold(md, title);
    FILE *out = xfa_markdown_begin(md);
    fputs("**Fix**: ", out);
    xfa_markdown_text(out, xfa_remedy_text(&finding->remedy, fix));
    if (described.note) {
        fputs(" (", out);
        xfa_markdown_text(out, described.note);
        fputc(')', out);
    }
    fputs("\n\n", out);
    if (described.sentence) {
        fprintf(out, "Saves %s", described.sentence);
        if (described.assumed)
            fprintf(out, ", assuming %s", described.assumed);
        fputs(".\n\n", out);
    }
    xfa_described_free(&described);
    write_sites(out, finding, report->analysis->run, view);
    fprintf(out, "\nLost is %s.\n", xfa_reckoning_text(finding->reckoning, finding->probably));
    xfa_markdown_end(md);
    xfa_markdown_unfold(md);
}

/* Why shorter calls may save nothing. */
static void write_paced(struct xfa_markdown *md, const struct xfa_report *report, bool likely)
{
    const struct xfa_findings *findings = report->findings;
    char *paced = xfa_savings_known(findings)
                      ? xfa_paced_text(report->analysis, findings->whatif, likely)
                      : NULL;
    write_sentence(md, "Mind: ", paced);
}

/* ---- all of them ----------------------------------------------------------------------------- */

void xfa_markdown_findings(struct xfa_markdown *md, const struct xfa_report *report,
                           const struct xfa_view *view)
{
    const struct xfa_findings *findings = report->findings;
    size_t count = view->filter ? view->filter->findings_shown : xfa_findings_count(findings);
    bool questions_first = xfa_questions_first(findings);
    if (questions_first)
        write_questions(md, report, view);
    if (count)
        write_table(md, report, view);
    write_sentence(md, "", xfa_smaller_text(findings, view)); /* what the headline counts */
    if (!questions_first)
        write_questions(md, report, view);
    write_paced(md, report, true);
    write_paced(md, report, false);
    if (count == 0)
        return;
    if (xfa_savings_known(findings)) {
        char *check = xfa_check_text(findings->whatif);
        FILE *out = xfa_markdown_begin(md);
        fputs("\nModelled: the run is replayed with the fixes (", out);
        xfa_markdown_text(out, check);
        fputs(").\n", out);
        xfa_markdown_end(md);
        free(check);
    }
    for (size_t i = 0; i < findings->count && !findings->items[i].idle; i++)
        if (xfa_view_finding(view, i))
            write_finding(md, report, i, view);
}
