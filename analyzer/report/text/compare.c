/* A comparison for people. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "analyzer/report/compared.h"
#include "analyzer/report/savings.h"
#include "analyzer/report/text/text.h"
#include "common/text.h"

#define WIDE 100          /* from this width on the function has a column */
#define SHOWN_WARNINGS 20 /* at most, unless --top 0; as phases */
#define SHOWN_PHASES 10

static void write_owned(FILE *out, int width, const char *name, char *text)
{
    if (text)
        xfa_write_fact(out, width, name, "%s", text);
    free(text);
}

/* ---- the head -------------------------------------------------------------------------------- */

static bool is_simulated(const struct xfa_comparison *c)
{
    return xfa_side_middle(&c->before)->simulated || xfa_side_middle(&c->after)->simulated;
}

static enum xfa_verdict of_run(const struct xfa_comparison *c)
{
    return c->measures[XFA_MEASURE_SPAN].verdict;
}

/* A slower run is written as a warning. */
static void write_verdict(const struct xfa_view *view, const char *name, char *text,
                          enum xfa_verdict verdict, FILE *out)
{
    if (verdict == XFA_MORE)
        xfa_write_warning(view, out, name, text);
    else
        xfa_write_field(out, view->width, name, text);
    free(text);
}

/* The one that tells most, where it is not the run. */
static void write_phase(const struct xfa_comparison *c, const struct xfa_view *view, FILE *out)
{
    static const char name[] = "phase";
    char *text = xfa_phase_verdict_text(c);
    if (text)
        write_verdict(view, name, xfa_text(text + sizeof name), xfa_main_payoff(c)->time.verdict,
                      out);
    free(text);
}

static void write_head(const struct xfa_comparison *c, const struct xfa_view *view, FILE *out)
{
    int width = view->width;
    size_t shown = xfa_shown_facts(view, c->warning_count, SHOWN_WARNINGS);
    if (is_simulated(c))
        fputs(XFA_SIMULATED_TEXT("SIMULATED GPU") "\n\n", out);
    fprintf(out, "%sComparison%s\n", xfa_style(view, XFA_STYLE_TITLE),
            xfa_style(view, XFA_STYLE_NONE));
    write_phase(c, view, out);
    write_verdict(view, "run", xfa_run_verdict_text(c), of_run(c), out);
    write_owned(out, width, "advice", xfa_advice_verdict_text(c));
    write_verdict(view, "--fail-on", xfa_limit_text(c), c->failed ? XFA_MORE : XFA_ALIKE, out);
    write_owned(out, width, "before", xfa_runs_text(&c->before));
    write_owned(out, width, "after", xfa_runs_text(&c->after));
    write_owned(out, width, "noise", xfa_noise_text(c));
    if (c->without_recording)
        xfa_write_field(out, width, "recording", "its cost is not in the times of run and phases");
    for (size_t i = 0; i < shown; i++)
        xfa_write_warning(view, out, "WARNING", c->warnings[i]);
    xfa_write_hidden(out, c->warning_count - shown);
}

/* ---- the run --------------------------------------------------------------------------------- */

enum run_column {
    RUN_WHAT,
    RUN_BEFORE,
    RUN_AFTER,
    RUN_CHANGE,
    RUN_BETWEEN,
    RUN_VERDICT,
    RUN_COLUMNS
};

static void add_measure(struct libscols_table *table, char *what, const struct xfa_change *change)
{
    char text[XFA_UNIT_CHARS];
    struct libscols_line *line = scols_table_new_line(table, NULL);
    if (line) {
        xfa_set_cell(line, RUN_WHAT, what);
        scols_line_set_data(line, RUN_BEFORE, xfa_time_text(text, change->before));
        scols_line_set_data(line, RUN_AFTER, xfa_time_text(text, change->after));
        scols_line_refer_data(line, RUN_CHANGE, xfa_part_text(change));
        scols_line_refer_data(line, RUN_BETWEEN, xfa_interval_text(change));
        scols_line_set_data(line, RUN_VERDICT, xfa_verdict_word(change->verdict));
    }
    free(what);
}

static void write_run(const struct xfa_comparison *c, const struct xfa_view *view, FILE *out)
{
    const struct xfa_column columns[RUN_COLUMNS] = {
        [RUN_WHAT] = {"TIME OF", XFA_SITE_BREAKS, 0},
        [RUN_BEFORE] = {"BEFORE", NULL, SCOLS_FL_RIGHT},
        [RUN_AFTER] = {"AFTER", NULL, SCOLS_FL_RIGHT},
        [RUN_CHANGE] = {"CHANGE", NULL, SCOLS_FL_RIGHT},
        [RUN_BETWEEN] = {"BETWEEN", NULL, SCOLS_FL_RIGHT | (c->repeated ? 0 : SCOLS_FL_HIDDEN)},
        [RUN_VERDICT] = {"", NULL, 0},
    };
    struct libscols_table *table = xfa_text_table(columns, RUN_COLUMNS, out);
    size_t shown = xfa_shown_facts(view, c->phase_count, SHOWN_PHASES);
    xfa_write_title(view, out, "The run");
    for (unsigned i = 0; table && i < XFA_MEASURES; i++)
        if (c->measures[i].before > 0 || c->measures[i].after > 0)
            add_measure(table, xfa_text(xfa_measure_text(i)), &c->measures[i]);
    for (size_t i = 0; table && i < shown; i++)
        add_measure(table, xfa_print("phase %s", c->phases[i].name), &c->phases[i].time);
    xfa_text_table_print(table, columns, view->width, out);
    xfa_write_hidden(out, c->phase_count - shown);
}

/* ---- advice ---------------------------------------------------------------------------------- */

static void write_payoffs(const struct xfa_comparison *c, const struct xfa_view *view, FILE *out)
{
    int width = view->width;
    xfa_write_title(view, out, "Predicted (%s) and achieved", xfa_predicted_word(c->predicted));
    for (size_t i = 0; i < c->payoff_count; i++) {
        char *text = xfa_payoff_text(&c->payoffs[i]);
        if (c->payoffs[i].phase)
            xfa_write_fact(out, width, "", "phase %s: %s", c->payoffs[i].phase, text);
        else
            xfa_write_fact(out, width, "run", "%s", text);
        free(text);
    }
}

/* "97 of 100 calls (12.1 ms by its own trials)" */
static char *applied_text(const struct xfa_compared_step *step)
{
    char saved[XFA_UNIT_CHARS + 1];
    if (step->asked == 0)
        return xfa_text("not recorded, or no call came from its sites");
    char *text = xfa_print("%" PRIu64 " of %" PRIu64 " calls", step->done, step->asked);
    if (step->done)
        text = xfa_append(text, " (saved %s by the run's own trials)",
                          xfa_signed_time_text(saved, step->applied_ns));
    if (step->different)
        text = xfa_append(text, ", %" PRIu64 " different: it was given up", step->different);
    return text;
}

static char *measured_text(const struct xfa_compared_step *step)
{
    char before[XFA_UNIT_CHARS], after[XFA_UNIT_CHARS];
    if (isnan(step->before_ns) || isnan(step->after_ns))
        return xfa_text("of transfers at its sites nothing is known; see the run");
    return xfa_print("%s -> %s in transfers at its sites", xfa_time_text(before, step->before_ns),
                     xfa_time_text(after, step->after_ns));
}

static void write_step(const struct xfa_compared_step *step, int width, FILE *out)
{
    char likely[XFA_UNIT_CHARS + 1];
    bool known = xfw_saving_known(&step->predicted) == XFW_KNOWN;
    char *bounds = known ? xfa_bounds_text(&step->predicted) : NULL;
    char *applied = applied_text(step), *measured = measured_text(step);
    char *more = step->sites > 1 ? xfa_print(" and %zu more", step->sites - 1) : xfa_text("");
    xfa_write_fact(out, width, "step", "%u, %s: %s%s", step->number, step->finding, step->site,
                   more);
    xfa_write_fact(out, width, "predicted", "%s%s%s",
                   known ? xfa_signed_time_text(likely, step->predicted.likely) : "not known",
                   known ? ", " : "", known ? bounds : "");
    xfa_write_fact(out, width, "applied", "%s", applied);
    xfa_write_fact(out, width, "measured", "%s", measured);
    free(bounds);
    free(applied);
    free(measured);
    free(more);
}

static void write_plan(const struct xfa_comparison *c, const struct xfa_view *view, FILE *out)
{
    xfa_write_title(view, out, "The plan: predicted, applied, measured");
    if (c->step_count == 0)
        fputs("  no step of it was to be carried out\n", out);
    for (size_t i = 0; i < c->step_count; i++)
        write_step(&c->steps[i], view->width, out);
}

static void write_findings(const struct xfa_comparison *c, const struct xfa_view *view, FILE *out)
{
    int width = view->width;
    xfa_write_title(view, out, "Findings");
    if (c->finding_count == 0)
        fputs("  none before, none after\n", out);
    for (size_t i = 0; i < c->finding_count; i++) {
        const struct xfa_compared_finding *finding = &c->findings[i];
        char *text = xfa_compared_finding_text(finding);
        const char *word = xfa_stands_word(finding->stands);
        if (finding->stands == XFA_IDLE_NOW)
            xfa_write_fact(out, width, "settled", "%s (%s)", text, word);
        else
            xfa_write_fact(out, width, word, "%s", text);
        free(text);
    }
}

/* ---- call sites ------------------------------------------------------------------------------ */

enum row_column {
    ROW_SITE,
    ROW_CALL,
    ROW_PATH,
    ROW_COUNT,
    ROW_BEFORE,
    ROW_AFTER,
    ROW_CHANGE,
    ROW_VERDICT,
    ROW_COLUMNS
};

static void set_site(struct libscols_line *line, const struct xfa_compared_row *row, bool folded)
{
    char *site = xfa_compared_site_text(row), *call = xfa_compared_call_text(row);
    if (folded) {
        char *above = xfa_clean(site, strlen(site)), *below = xfa_clean(call, strlen(call));
        scols_line_refer_data(line, ROW_SITE, xfa_print("%s\n%s", above, below));
        free(above);
        free(below);
    } else {
        xfa_set_cell(line, ROW_SITE, site);
        xfa_set_cell(line, ROW_CALL, call);
    }
    free(site);
    free(call);
}

static void add_row(struct libscols_table *table, const struct xfa_compared_row *row, bool one,
                    bool folded)
{
    char text[XFA_UNIT_CHARS];
    struct libscols_line *line = scols_table_new_line(table, NULL);
    if (!line)
        return;
    set_site(line, row, folded);
    scols_line_refer_data(line, ROW_PATH, xfa_compared_path_text(row, one));
    scols_line_refer_data(line, ROW_COUNT, xfa_compared_count_text(row));
    scols_line_set_data(line, ROW_BEFORE, row->before ? xfa_time_text(text, row->time.before) : "");
    scols_line_set_data(line, ROW_AFTER, row->after ? xfa_time_text(text, row->time.after) : "");
    scols_line_refer_data(line, ROW_CHANGE,
                          row->before && row->after ? xfa_part_text(&row->time) : xfa_text(""));
    scols_line_set_data(line, ROW_VERDICT, xfa_compared_row_word(row));
}

static void write_matched(const struct xfa_comparison *c, int width, FILE *out)
{
    struct xfa_compared_counts counts = xfa_compared_counts(c);
    if (counts.moved)
        xfa_write_words(out, width, "  ", "Lines moved: %zu matched by function and order.",
                        counts.moved);
    if (counts.other_file)
        xfa_write_words(out, width, "  ",
                        "Files differ: %zu matched by the function's name and order alone.",
                        counts.other_file);
}

static void write_rows(const struct xfa_comparison *c, const struct xfa_view *view, FILE *out)
{
    bool folded = view->width < WIDE, one = xfa_compared_one_gpu(c);
    const struct xfa_column columns[ROW_COLUMNS] = {
        [ROW_SITE] = {folded ? "SITE, FUNCTION" : "CALL SITE", XFA_SITE_BREAKS, 0},
        [ROW_CALL] = {"FUNCTION", " ", folded ? SCOLS_FL_HIDDEN : 0},
        [ROW_PATH] = {"TRANSFER", " >", 0},
        [ROW_COUNT] = {"COUNT", " ", SCOLS_FL_RIGHT},
        [ROW_BEFORE] = {"BEFORE", NULL, SCOLS_FL_RIGHT},
        [ROW_AFTER] = {"AFTER", NULL, SCOLS_FL_RIGHT},
        [ROW_CHANGE] = {"CHANGE", NULL, SCOLS_FL_RIGHT},
        [ROW_VERDICT] = {"", " ", 0},
    };
    struct xfa_compared_counts counts = xfa_compared_counts(c);
    size_t shown = xfa_view_shown(view, c->row_count);
    xfa_write_title(view, out,
                    "Transfers, by call site and kind: %zu in both, %zu gone, %zu new (sums of the "
                    "transfers' times; the largest change first)",
                    counts.both, counts.gone, counts.new);
    struct libscols_table *table = xfa_text_table(columns, ROW_COLUMNS, out);
    for (size_t i = 0; table && i < shown; i++)
        add_row(table, &c->rows[i], one, folded);
    xfa_text_table_print(table, columns, view->width, out);
    xfa_write_hidden(out, c->row_count - shown);
    write_matched(c, view->width, out);
}

void xfa_write_comparison(const struct xfa_comparison *comparison, const struct xfa_view *view,
                          FILE *out)
{
    if (view->brief) {
        char *promise = xfa_promise_text(comparison);
        xfc_print(out, "%s%s\n", promise, is_simulated(comparison) ? " (simulated GPU)" : "");
        free(promise);
        return;
    }
    write_head(comparison, view, out);
    write_run(comparison, view, out);
    if (comparison->payoff_count)
        write_payoffs(comparison, view, out);
    if (comparison->planned)
        write_plan(comparison, view, out);
    write_findings(comparison, view, out);
    write_rows(comparison, view, out);
}
