/* A comparison for a pull request: the verdicts, what was predicted, findings, call sites. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "analyzer/report/compared.h"
#include "analyzer/report/markdown/markdown.h"

#define SITE_COLUMNS 140
#define LINE_COLUMNS 400
#define SHOWN_WARNINGS 20

static void write_line(struct xfa_markdown *md, const char *lead, char *text)
{
    FILE *out = xfa_markdown_begin(md);
    if (text) {
        fputs(lead, out);
        xfa_markdown_text(out, text);
        fputc('\n', out);
    }
    xfa_markdown_end(md);
    free(text);
}

/* Writes a text with names of the program, as code. */
static void write_code(struct xfa_markdown *md, const char *lead, const char *text)
{
    FILE *out = xfa_markdown_begin(md);
    fputs(lead, out);
    xfa_markdown_code(out, text, LINE_COLUMNS);
    fputc('\n', out);
    xfa_markdown_end(md);
}

static void write_owned_code(struct xfa_markdown *md, const char *lead, char *text)
{
    write_code(md, lead, text);
    free(text);
}

static void write_head(struct xfa_markdown *md, const struct xfa_comparison *c)
{
    bool simulated =
        xfa_side_middle(&c->before)->simulated || xfa_side_middle(&c->after)->simulated;
    write_line(md, "### xferscope: ", xfa_compared_headline_text(c));
    if (simulated)
        write_line(md, "\n", xfa_text(XFA_SIMULATED_TEXT("Simulated GPU")));
    write_line(md, "\nAdvice: ", xfa_advice_verdict_text(c));
    write_line(md, c->failed ? "\n**--fail-on**: " : "\n--fail-on: ", xfa_limit_text(c));
    write_owned_code(md, "\nBefore: ", xfa_runs_text(&c->before));
    write_owned_code(md, "\nAfter: ", xfa_runs_text(&c->after));
    write_line(md, "\nNoise: ", xfa_noise_text(c));
    for (size_t i = 0; i < c->warning_count && i < SHOWN_WARNINGS; i++)
        write_code(md, "\n**Warning**: ", c->warnings[i]);
}

/* ---- the run --------------------------------------------------------------------------------- */

static void write_measure(struct xfa_markdown *md, const char *what, const char *phase,
                          const struct xfa_change *change, bool repeated)
{
    char before[XFA_UNIT_CHARS], after[XFA_UNIT_CHARS];
    char *part = xfa_part_text(change), *between = xfa_interval_text(change);
    FILE *out = xfa_markdown_begin(md);
    fprintf(out, "| %s", what);
    if (phase)
        xfa_markdown_code(out, phase, SITE_COLUMNS);
    fprintf(out, " | %s | %s | %s | %s%s%s |\n", xfa_time_text(before, change->before),
            xfa_time_text(after, change->after), part, repeated ? between : "",
            repeated ? " | " : "", xfa_verdict_word(change->verdict));
    xfa_markdown_end(md);
    free(part);
    free(between);
}

static void write_run(struct xfa_markdown *md, const struct xfa_comparison *c)
{
    FILE *out = xfa_markdown_begin(md);
    fprintf(out, "\n| time of | before | after | change | %s |\n|---|--:|--:|--:|%s---|\n",
            c->repeated ? "between | " : "", c->repeated ? "--:|" : "");
    xfa_markdown_end(md);
    for (unsigned i = 0; i < XFA_MEASURES; i++)
        if (c->measures[i].before > 0 || c->measures[i].after > 0)
            write_measure(md, xfa_measure_text(i), NULL, &c->measures[i], c->repeated);
    for (size_t i = 0; i < c->phase_count; i++)
        write_measure(md, "phase ", c->phases[i].name, &c->phases[i].time, c->repeated);
}

/* ---- findings and call sites ----------------------------------------------------------------- */

static void write_findings(struct xfa_markdown *md, const struct xfa_comparison *c)
{
    if (c->finding_count == 0)
        return;
    xfa_markdown_fold(md, "Findings, before and after");
    for (size_t i = 0; i < c->finding_count; i++) {
        char *lead = xfa_print("- %s: ", xfa_stands_word(c->findings[i].stands));
        write_owned_code(md, lead, xfa_compared_finding_text(&c->findings[i]));
        free(lead);
    }
    xfa_markdown_unfold(md);
}

static void write_cell(FILE *out, char *text)
{
    xfa_markdown_code(out, text, SITE_COLUMNS);
    fputs(" | ", out);
    free(text);
}

static void write_row(struct xfa_markdown *md, const struct xfa_compared_row *row, bool one)
{
    char before[XFA_UNIT_CHARS], after[XFA_UNIT_CHARS];
    char *path = xfa_compared_path_text(row, one), *count = xfa_compared_count_text(row);
    char *part = row->before && row->after ? xfa_part_text(&row->time) : xfa_text("");
    FILE *out = xfa_markdown_begin(md);
    fputs("| ", out);
    write_cell(out, xfa_compared_site_text(row));
    write_cell(out, xfa_compared_call_text(row));
    xfa_markdown_text(out, path);
    fprintf(out, " | %s | %s | %s | %s | %s |\n", count,
            row->before ? xfa_time_text(before, row->time.before) : "",
            row->after ? xfa_time_text(after, row->time.after) : "", part,
            xfa_compared_row_word(row));
    xfa_markdown_end(md);
    free(path);
    free(count);
    free(part);
}

static void write_rows(struct xfa_markdown *md, const struct xfa_comparison *c,
                       const struct xfa_view *view)
{
    size_t shown = xfa_view_shown(view, c->row_count);
    bool one = xfa_compared_one_gpu(c);
    xfa_markdown_fold(md, "Transfers, by call site and kind, the largest change first");
    fputs("| call site | function | transfer | count | before | after | change | |\n"
          "|---|---|---|--:|--:|--:|--:|---|\n",
          xfa_markdown_begin(md));
    xfa_markdown_end(md);
    for (size_t i = 0; i < shown && !md->cut; i++)
        write_row(md, &c->rows[i], one);
    if (shown < c->row_count) {
        fprintf(xfa_markdown_begin(md), "\nand %zu more (--top 0 shows all)\n",
                c->row_count - shown);
        xfa_markdown_end(md);
    }
    xfa_markdown_unfold(md);
}

void xfa_markdown_comparison(const struct xfa_comparison *comparison, const struct xfa_view *view,
                             FILE *out)
{
    struct xfa_markdown md = {.out = out};
    write_head(&md, comparison);
    write_run(&md, comparison);
    write_findings(&md, comparison);
    if (comparison->row_count)
        write_rows(&md, comparison, view);
    xfa_markdown_close(&md);
}
