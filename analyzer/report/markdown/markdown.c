/* The report: a title that is the answer, the run in a line, findings, transfers. */
#include "analyzer/report/markdown/markdown.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/report/described.h"
#include "analyzer/report/facts.h"
#include "analyzer/report/headline.h"
#include "analyzer/report/savings.h"

#define PATH_COLUMNS 200
#define SITE_COLUMNS 100

/* ---- the answer ------------------------------------------------------------------------------ */

static void write_title(struct xfa_markdown *md, const struct xfa_report *report, const char *phase)
{
    const struct xfa_findings *findings = report->findings;
    const struct xfa_headline headline =
        xfa_headline_of(report->analysis, findings, report->timeline, phase);
    size_t count = xfa_findings_count(findings), asked;
    free(xfa_questions(findings, &asked));
    char *title = xfa_headline_title(&headline, findings);
    FILE *out = xfa_markdown_begin(md);
    fputs("### xferscope: ", out);
    if (title)
        fprintf(out, "%s\n", title);
    else if (count > 0)
        fprintf(out, "%zu finding%s, what they would save is not known\n", count,
                count == 1 ? "" : "s");
    else
        fprintf(out, "nothing worth changing%s\n", asked ? " for certain" : "");
    xfa_markdown_end(md);
    free(title);
}

static void write_run(struct xfa_markdown *md, const struct xfa_analysis *analysis)
{
    const struct xfa_run *run = analysis->run;
    char wall[XFA_UNIT_CHARS];
    double ns = xfa_run_wall_ns(run);
    char *command = xfa_command_text(run, PATH_COLUMNS), *gpus = xfa_gpus_text(run);
    char *host = xfa_host_text(run), *moved = xfa_moved_text(analysis);
    FILE *out = xfa_markdown_begin(md);
    if (analysis->simulated)
        fputs("\n**" XFA_SIMULATED_TEXT("Simulated GPU") "**\n", out);
    if (analysis->contents.host.asked)
        fputs("\n**" XFA_WATCHED_TEXT "**\n", out);
    if (analysis->contents.verify.asked)
        fputs("\n**" XFA_VERIFIED_TEXT "**\n", out);
    fputc('\n', out);
    xfa_markdown_code(out, command, PATH_COLUMNS);
    fprintf(out, ": %s, %zu process%s", xfa_time_text(wall, ns > 0 ? ns : NAN), run->process_count,
            run->process_count == 1 ? "" : "es");
    if (*host) {
        fputs(" on ", out);
        xfa_markdown_code(out, host + strlen(" on "), PATH_COLUMNS);
    }
    fputs(", ", out);
    xfa_markdown_code(out, gpus, PATH_COLUMNS);
    fprintf(out, "; %s\n", moved);
    xfa_markdown_end(md);
    free(command);
    free(gpus);
    free(host);
    free(moved);
}

/* A paragraph; takes the text, NULL: nothing. */
static void write_text(struct xfa_markdown *md, const char *lead, char *text)
{
    if (!text)
        return;
    FILE *out = xfa_markdown_begin(md);
    fprintf(out, "\n%s", lead);
    xfa_markdown_text(out, text);
    fputc('\n', out);
    xfa_markdown_end(md);
    free(text);
}

static void write_filter(struct xfa_markdown *md, const struct xfa_report *report,
                         const struct xfa_view *view)
{
    const struct xfa_filter *filter = view->filter;
    if (!filter)
        return;
    char *what = xfa_filter_text(filter);
    FILE *out = xfa_markdown_begin(md);
    fputs("\nShown: ", out);
    xfa_markdown_code(out, what, PATH_COLUMNS);
    fprintf(out,
            ", %zu of %zu rows of transfers, %zu of %zu findings; all else, savings included, is "
            "of the whole run\n",
            filter->rows_shown, report->analysis->row_count, filter->findings_shown,
            xfa_findings_count(report->findings));
    xfa_markdown_end(md);
    free(what);
}

static void write_answer(struct xfa_markdown *md, const struct xfa_report *report,
                         const struct xfa_view *view)
{
    const struct xfa_analysis *analysis = report->analysis;
    const struct xfa_findings *findings = report->findings;
    const struct xfw_whatif *whatif = findings->whatif;
    const char *phase = view->filter ? view->filter->phase : NULL;
    bool known = xfa_savings_known(findings);
    write_title(md, report, phase);
    write_run(md, analysis);
    write_filter(md, report, view);
    if (analysis->lossy)
        write_text(md, "**Incomplete**: ",
                   xfa_text(analysis->profile_problem ? "the profile could not be read"
                                                      : "part of the record was lost, or could not "
                                                        "be read"));
    if (analysis->mixed)
        write_text(md, "**Warning**: ", xfa_text(analysis->mixed));
    if (analysis->achievable.mismatch)
        write_text(md, "**Warning**: ", xfa_text(analysis->achievable.mismatch));
    if (known)
        write_text(md, "",
                   xfa_findings_count(findings) ? xfa_headline_line(analysis, findings, phase)
                                                : xfa_nothing_text(analysis, findings));
    if (known)
        write_text(md, "", xfa_applied_text(findings));
    else if (whatif && whatif->why)
        write_text(md, "What the run would save is not known: ", xfa_text(whatif->why));
    write_text(md, "Assumed: ", xfa_answers_text(findings));
    if (!analysis->profile)
        write_text(
            md, "",
            xfa_text("No machine profile: what this machine could give is not known (xferscope "
                     "probe -o machine.json, then analyze --profile machine.json)"));
}

/* ---- transfers ------------------------------------------------------------------------------- */

static void write_row(struct xfa_markdown *md, const struct xfa_analysis *analysis,
                      const struct xfa_view *view, uint32_t number)
{
    const struct xfa_row *row = xfa_analysis_row(analysis, number);
    const struct xfa_figures *figures = xfa_view_figures(analysis, view, number);
    char bytes[XFA_UNIT_CHARS], had[XFA_UNIT_CHARS], best[XFA_UNIT_CHARS], lost[XFA_UNIT_CHARS];
    enum xfa_basis basis = xfa_achieved_basis(figures);
    FILE *out = xfa_markdown_begin(md);
    fputs("| ", out);
    xfa_markdown_code(out, row->site->text, SITE_COLUMNS);
    fputs(" | ", out);
    xfa_markdown_code(out, xfa_row_called(row)->name, SITE_COLUMNS);
    fprintf(out, " | %s %s to %s | %" PRIu64 " | %s | %s%s | %s | %s |\n",
            xft_direction_word(row->key.direction), xft_memory_word(row->key.src_mem),
            xft_memory_word(row->key.dst_mem), figures->transfers,
            xfa_bytes_text(bytes, figures->bytes),
            basis == XFA_BASIS_HOST || basis == XFA_BASIS_MIXED ? "at least " : "",
            xfa_gbps_text(had, xfa_achieved_gbps(figures)),
            xfa_gbps_text(best, xfa_achievable_gbps(figures)),
            xfa_time_text(lost, xfa_lost_ns(figures)));
    xfa_markdown_end(md);
}

static void write_transfers(struct xfa_markdown *md, const struct xfa_report *report,
                            const struct xfa_view *view)
{
    const struct xfa_analysis *analysis = report->analysis;
    size_t count;
    uint32_t *rows = xfa_view_rows(analysis, view, &count);
    size_t shown = xfa_view_shown(view, count);
    if (count > 0) {
        xfa_markdown_fold(md, "Transfers, by call site and kind (GB/s: 10^9 bytes/s)");
        fputs(
            "| call site | function | transfer | count | bytes | achieved GB/s | achievable GB/s | "
            "lost |\n|---|---|---|--:|--:|--:|--:|--:|\n",
            xfa_markdown_begin(md));
        xfa_markdown_end(md);
        for (size_t i = 0; i < shown && !md->cut; i++)
            write_row(md, analysis, view, rows[i]);
        if (shown < count) {
            fprintf(xfa_markdown_begin(md), "\nand %zu more (--top 0 shows all)\n", count - shown);
            xfa_markdown_end(md);
        }
        xfa_markdown_unfold(md);
    }
    free(rows);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void write_markdown(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    struct xfa_markdown md = {.out = out};
    if (view->filter && view->filter->nothing) {
        write_text(&md, "", xfa_text(view->filter->nothing));
        return;
    }
    write_answer(&md, report, view);
    xfa_markdown_findings(&md, report, view);
    write_transfers(&md, report, view);
    xfa_markdown_close(&md);
}

const struct xfa_format xfa_format_markdown = {
    .name = "markdown", .write = write_markdown, .compare = xfa_markdown_comparison, .rows = 20};
