/*
 * The first screen: the run in a few lines, and what to change in it, worst first, a line or two
 * each: what it saves, where, why, what to do. The sections behind it have the details.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "analyzer/report/facts.h"
#include "analyzer/report/savings.h"
#include "analyzer/report/text/text.h"
#include "analyzer/timeline/timeline.h"

#define SHOWN_FINDINGS 5
#define SHOWN_NARROW 4     /* where each takes two lines or three */
#define ONE_LINE_WIDTH 150 /* from here on a finding needs one line */
#define COMMAND_LINES 2
#define LEAST_SHARE 0.0005
#define LEAD_COLUMNS 15   /* columns before a fact */
#define FIGURE_COLUMNS 33 /* of the table, before its texts */
#define WHY_COLUMNS 64    /* columns after the call site, on one line */

/* ---- which part was recorded * --------------------------------------------------------------- */

#define SHOWN_PROCESSES 4 /* at most, unless --top 0 */

/* The limits that were given to `record`. */
static char *limits_text(const struct xfa_periods *periods)
{
    char delay[XFA_UNIT_CHARS], lasts[XFA_UNIT_CHARS], size[XFA_UNIT_CHARS];
    return xfa_print("%s%s%s%s%s%s%s%s%s", periods->phase ? ", in ranges " : "",
                     periods->phase ? periods->phase : "", periods->delay_ns ? ", after " : "",
                     periods->delay_ns ? xfa_time_text(delay, (double)periods->delay_ns) : "",
                     periods->duration_ns ? ", for " : "",
                     periods->duration_ns ? xfa_time_text(lasts, (double)periods->duration_ns) : "",
                     periods->max_bytes ? ", up to " : "",
                     periods->max_bytes ? xfa_bytes_text(size, periods->max_bytes) : "",
                     periods->max_bytes ? " of files" : "");
}

static void write_process(const struct xfa_process *process, bool named,
                          const struct xfa_view *view, FILE *out)
{
    const struct xfa_periods *periods = process->periods;
    char part[XFA_UNIT_CHARS], all[XFA_UNIT_CHARS], full[XFA_UNIT_CHARS];
    char *limits = limits_text(periods);
    const char *file = named ? process->file : "", *colon = named ? ": " : "";
    if (periods->none)
        xfa_write_fact(out, view->width, "recorded", "%s%snothing of %s%s", file, colon,
                       xfa_time_text(all, (double)periods->process_ns), limits);
    else
        xfa_write_fact(out, view->width, "recorded",
                       "%s%s%s of %s, %zu period%s%s; all times are of this part", file, colon,
                       xfa_time_text(part, (double)periods->recorded_ns),
                       xfa_time_text(all, (double)periods->process_ns), periods->count,
                       xfa_plural(periods->count), limits);
    if (periods->full_ns)
        xfa_write_fact(out, view->width, "",
                       "nothing was kept from %s on: the files had reached their limit",
                       xfa_time_text(full, (double)periods->full_ns));
    free(limits);
}

static void write_periods(const struct xfa_run *run, const struct xfa_view *view, FILE *out)
{
    size_t limited = 0, shown = 0;
    for (size_t i = 0; i < run->process_count; i++)
        limited += run->processes[i]->periods != NULL;
    size_t most = xfa_shown_facts(view, limited, SHOWN_PROCESSES);
    for (size_t i = 0; i < run->process_count && shown < most; i++) {
        if (!run->processes[i]->periods)
            continue;
        write_process(run->processes[i], run->process_count > 1, view, out);
        shown++;
    }
    xfa_write_hidden(out, limited - shown);
}

/* ---- the run --------------------------------------------------------------------------------- */

static void write_command(const struct xfa_run *run, const struct xfa_view *view, FILE *out)
{
    char *text =
        xfa_command_text(run, COMMAND_LINES * (size_t)(view->width - LEAD_COLUMNS) * 3 / 4);
    xfa_write_fact(out, view->width, "command", "%s", text);
    free(text);
}

static void write_took(const struct xfa_run *run, const struct xfa_view *view, FILE *out)
{
    char wall[XFA_UNIT_CHARS];
    double ns = xfa_run_wall_ns(run);
    char *gpus = xfa_gpus_text(run), *host = xfa_host_text(run);
    xfa_write_fact(out, view->width, "took", "%s, %zu process%s%s, %s",
                   xfa_time_text(wall, ns > 0 ? ns : NAN), run->process_count,
                   run->process_count == 1 ? "" : "es", host, gpus);
    free(gpus);
    free(host);
}

static void write_moved(const struct xfa_analysis *analysis, const struct xfa_view *view, FILE *out)
{
    char *text = xfa_moved_text(analysis);
    xfa_write_fact(out, view->width, "moved", "%s", text);
    free(text);
}

/* Shares of time that add up to the run: what the GPUs did, and while they were idle, whether a
 * thread waited. */
static void write_shares(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    static const struct {
        enum xfa_share share;
        const char *what, *without; /* without: in a run without kernels' times */
    } parts[] = {
        {XFA_SHARE_COMPUTE, "kernels", NULL},
        {XFA_SHARE_HIDDEN, "kernels with transfers", NULL},
        {XFA_SHARE_EXPOSED, "transfers alone", "transfers"},
        {XFA_SHARE_WAITS, "idle (host waits)", "waits"},
        {XFA_SHARE_HOST, "idle (host works)", "the host"},
    };
    const struct xfa_timeline *timeline = report->timeline;
    if (!timeline || !(xfa_run_wall_ns(report->analysis->run) > 0))
        return;
    bool lacks = xfa_version_lacks_kernels(&timeline->recorded);
    char *text = xfa_text("");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char part[XFA_PERCENT_CHARS];
        double ns = timeline->recorded.shares[parts[i].share];
        const char *what = lacks ? parts[i].without : parts[i].what;
        if (!what || ns < LEAST_SHARE * timeline->recorded.wall_ns)
            continue;
        text = xfa_append(text, "%s%s %s", *text ? ", " : "", what,
                          xfa_percent_text(part, ns, timeline->recorded.wall_ns));
    }
    char untimed[64] = "";
    if (timeline->untimed)
        snprintf(untimed, sizeof untimed, " (without %" PRIu64 " transfer%s of unknown time)",
                 timeline->untimed, xfa_plural(timeline->untimed));
    xfa_write_fact(out, view->width, lacks ? "of its time" : "GPU time", "%s%s%s", text,
                   lacks ? " (kernels were not recorded)" : "", untimed);
    free(text);
}

/* Sums of known times; times that overlap all count. */
static void write_times(const struct xfa_analysis *analysis, const struct xfa_view *view, FILE *out)
{
    double took = 0, lost = 0, waits = 0;
    char text[3][XFA_UNIT_CHARS];
    for (size_t i = 0; i < analysis->row_count; i++) {
        const struct xfa_figures *figures = &analysis->rows[i];
        took += figures->device.ns + figures->host.ns;
        lost += figures->lost.ns;
    }
    for (size_t i = 0; i < analysis->waits.all.count; i++)
        waits += ((const struct xfa_wait *)xfa_table_at(&analysis->waits.all, i))->ns;
    if (took <= 0 && waits <= 0)
        return;
    xfa_write_fact(out, view->width, "transfers", "took %s, of which %s %s lost%s%s",
                   xfa_time_text(text[0], took > 0 ? took : NAN),
                   analysis->profile ? xfa_time_text(text[1], lost) : "it is not known how much",
                   analysis->profile ? "are" : "is", waits > 0 ? "; waits of the host " : "",
                   waits > 0 ? xfa_time_text(text[2], waits) : "");
}

/* What the filter shows. */
static void write_filter(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    const struct xfa_filter *filter = view->filter;
    if (!filter)
        return;
    size_t rows = report->analysis->row_count, all = xfa_findings_count(report->findings);
    char *text = xfa_filter_text(filter);
    xfa_write_fact(out, view->width, "shown",
                   "%s: %zu of %zu row%s of transfers, %zu of %zu finding%s; all else, savings "
                   "included, is of the whole run",
                   text, filter->rows_shown, rows, xfa_plural(rows), filter->findings_shown, all,
                   xfa_plural(all));
    free(text);
}

static void write_warnings(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    const struct xfa_analysis *analysis = report->analysis;
    if (analysis->lossy)
        xfa_write_warning(view, out, "INCOMPLETE",
                          analysis->profile_problem
                              ? "the profile could not be read, see \"Machine profile\""
                              : "something was lost or could not be read, see \"The run\"");
    if (analysis->mixed)
        xfa_write_warning(view, out, "WARNING", analysis->mixed);
    if (analysis->achievable.match == XFA_MATCH_NO)
        xfa_write_warning(view, out, "WARNING",
                          "the profile is of another machine, see \"Machine profile\"");
}

/* ---- what to change -------------------------------------------------------------------------- */

enum column { COL_NUMBER, COL_SAVES, COL_PART, COL_BETWEEN, COL_WHERE, COL_WHY, COLUMNS };

static const struct xfa_column wide[COLUMNS] = {
    [COL_NUMBER] = {"#", NULL, SCOLS_FL_RIGHT},
    [COL_SAVES] = {"SAVES", NULL, SCOLS_FL_RIGHT},
    [COL_PART] = {"OF RUN", NULL, SCOLS_FL_RIGHT},
    [COL_BETWEEN] = {"BETWEEN", NULL, SCOLS_FL_RIGHT},
    [COL_WHERE] = {"WHERE", XFA_SITE_BREAKS, 0},
    [COL_WHY] = {"WHY: WHAT TO DO", " -", 0},
};
static const struct xfa_column narrow[COLUMNS] = {
    [COL_NUMBER] = {"#", NULL, SCOLS_FL_RIGHT},
    [COL_SAVES] = {"SAVES", NULL, SCOLS_FL_RIGHT},
    [COL_PART] = {"OF RUN", NULL, SCOLS_FL_RIGHT},
    [COL_BETWEEN] = {"BETWEEN", "\n", SCOLS_FL_RIGHT},
    [COL_WHERE] = {"WHERE, WHY: WHAT TO DO", XFA_SITE_BREAKS, 0},
    [COL_WHY] = {"WHY: WHAT TO DO", " -", SCOLS_FL_HIDDEN},
};
/* Where savings are not known. */
static const struct xfa_column lost_only[COLUMNS] = {
    [COL_NUMBER] = {"#", NULL, SCOLS_FL_RIGHT},
    [COL_SAVES] = {"LOST", NULL, SCOLS_FL_RIGHT},
    [COL_PART] = {"OF RUN", NULL, SCOLS_FL_HIDDEN},
    [COL_BETWEEN] = {"BETWEEN", NULL, SCOLS_FL_HIDDEN},
    [COL_WHERE] = {"WHERE, WHY: WHAT TO DO", XFA_SITE_BREAKS, 0},
    [COL_WHY] = {"WHY: WHAT TO DO", " -", SCOLS_FL_HIDDEN},
};

/* "upload (a.cu:84) and 2 others", in at most `room` columns. */
static char *where_text(const struct xfa_finding *finding, size_t room)
{
    char others[48] = "";
    size_t more = finding->site_count - 1;
    if (more > 0)
        snprintf(others, sizeof others, " and %zu other%s", more, xfa_plural(more));
    size_t least = 20, left = room > strlen(others) + least ? room - strlen(others) : least;
    char *site = xfa_shortened(finding->sites[0].site->text, left);
    char *text = xfa_print("%s%s", site, others);
    free(site);
    return text;
}

static char *why_text(const struct xfa_finding *finding)
{
    char brief[XFA_REMEDY_CHARS];
    return xfa_print("%s: %s", xfa_finding_word(finding->id),
                     xfa_remedy_brief(&finding->remedy, brief));
}

static void set_texts(struct libscols_line *line, const struct xfa_finding *finding, int width,
                      bool known)
{
    bool one_line = width >= ONE_LINE_WIDTH && known;
    int taken = FIGURE_COLUMNS + (one_line ? WHY_COLUMNS : 0);
    char *where = where_text(finding, (size_t)(width - taken)), *why = why_text(finding);
    if (one_line) {
        scols_line_refer_data(line, COL_WHERE, where);
        scols_line_refer_data(line, COL_WHY, why);
        return;
    }
    scols_line_refer_data(line, COL_WHERE, xfa_print("%s\n%s", where, why));
    free(where);
    free(why);
}

static void add_finding(struct libscols_table *table, const struct xfa_findings *findings, size_t i,
                        const struct xfa_view *view)
{
    const struct xfa_finding *finding = &findings->items[i];
    const struct xfw_saving saving = xfa_saving_shown(findings, &finding->saving);
    bool known = xfa_savings_known(findings);
    char text[XFA_UNIT_CHARS + 1], part[XFA_PERCENT_CHARS];
    struct libscols_line *line = scols_table_new_line(table, NULL);
    if (!line)
        return;
    scols_line_refer_data(line, COL_NUMBER, xfa_print("%zu", i + 1));
    set_texts(line, finding, view->width, known);
    if (!known || !findings->whatif || isnan(saving.likely)) {
        scols_line_set_data(line, COL_SAVES, known ? "-" : xfa_time_text(text, finding->lost_ns));
        return;
    }
    scols_line_set_data(line, COL_SAVES, xfa_signed_time_text(text, saving.likely));
    scols_line_set_data(line, COL_PART,
                        xfa_percent_text(part, saving.likely, findings->whatif->alone_ns));
    bool one_line = view->width >= ONE_LINE_WIDTH;
    scols_line_refer_data(line, COL_BETWEEN, xfa_bounds_cell(&saving, one_line ? " " : "\n"));
    if (view->colour)
        scols_cell_set_color(scols_line_get_cell(line, COL_SAVES), "green");
}

static void write_table(const struct xfa_findings *findings, const struct xfa_view *view, FILE *out)
{
    size_t count = view->filter ? view->filter->findings_shown : xfa_findings_count(findings);
    size_t some = view->width >= ONE_LINE_WIDTH ? SHOWN_FINDINGS : SHOWN_NARROW;
    size_t shown = xfa_shown_facts(view, count, some), left = shown;
    if (count == 0) {
        fputs("  none of the findings matches\n", out);
        return;
    }
    const struct xfa_column *columns = !xfa_savings_known(findings)    ? lost_only
                                       : view->width >= ONE_LINE_WIDTH ? wide
                                                                       : narrow;
    struct libscols_table *table = xfa_text_table(columns, COLUMNS, out);
    if (table && view->colour)
        scols_table_enable_colors(table, 1);
    for (size_t i = 0; table && left > 0; i++) {
        if (!xfa_view_finding(view, i))
            continue;
        add_finding(table, findings, i, view);
        left--;
    }
    xfa_text_table_print(table, columns, view->width, out);
    if (shown < count)
        xfa_write_words(out, view->width, "  ", "... and %zu more, in \"Findings\"", count - shown);
}

/* The time of the run without what recording cost, which savings are of; "" when it is shown as the
 * same as the recorded one. */
static const char *without_recording(const struct xfa_report *report, char text[XFA_UNIT_CHARS])
{
    char took[XFA_UNIT_CHARS];
    double wall = xfa_run_wall_ns(report->analysis->run), ns = report->findings->whatif->alone_ns;
    xfa_time_text(took, wall > 0 ? wall : NAN);
    xfa_time_text(text, ns);
    if (!(ns > 0) || strcmp(text, took) == 0)
        *text = '\0';
    return text;
}

/* How savings were computed, and why some are not known. */
static void write_legend(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    const struct xfa_findings *findings = report->findings;
    const struct xfw_whatif *whatif = findings->whatif;
    size_t unknown = 0, count = xfa_findings_count(findings);
    char off[XFA_PERCENT_CHARS], alone[XFA_UNIT_CHARS];
    for (size_t i = 0; i < count; i++)
        unknown += isnan(findings->items[i].saving.likely);
    const char *without = unknown < count ? without_recording(report, alone) : "";
    if (unknown < count)
        xfa_write_words(
            out, view->width, "  ",
            "%s, each alone: the run is replayed with the fix (unchanged it is %s off%s)%s%s%s",
            whatif->set_played ? "the set played, each modelled" : "modelled",
            xfa_percent_text(off, whatif->error, 1),
            whatif->marked ? ", so all this is uncertain" : "", *without ? "; " : "", without,
            *without ? " is the run without what recording cost" : "");
    if (unknown > 0)
        xfa_write_words(out, view->width, "  -  ", "%s",
                        report->analysis->profile
                            ? "not known: what the fix changes in the run is not known"
                            : "not known: that takes a machine profile");
}

static void write_text(char *text, const struct xfa_view *view, enum xfa_style style, FILE *out)
{
    if (!text)
        return;
    fputs(xfa_style(view, style), out);
    xfa_write_paragraph(out, "  ", text, view->width);
    fputs(xfa_style(view, XFA_STYLE_NONE), out);
    free(text);
}

static void write_change(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    const struct xfa_findings *findings = report->findings;
    const struct xfw_whatif *whatif = findings->whatif;
    bool known = xfa_savings_known(findings);
    xfa_write_title(view, out, "What to change");
    if (!known && whatif && whatif->why)
        xfa_write_words(out, view->width, "  ", "what the run would save is not known: %s",
                        whatif->why);
    if (xfa_findings_count(findings) == 0) {
        write_text(known ? xfa_nothing_text(findings) : xfa_text("Nothing was found."), view,
                   XFA_STYLE_NONE, out);
    } else {
        if (known)
            write_text(xfa_set_text(findings, true), view, XFA_STYLE_GAIN, out);
        write_table(findings, view, out);
        if (known)
            write_legend(report, view, out);
    }
    if (!report->analysis->profile)
        xfa_write_paragraph(out, "  ",
                            "No machine profile: what this machine could give is not known. "
                            "Measure it once (`xferscope probe -o machine.json`), then analyze "
                            "with --profile machine.json",
                            view->width);
}

void xfa_write_answer(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    const struct xfa_run *run = report->analysis->run;
    fputs(xfa_style(view, XFA_STYLE_TITLE), out);
    xfa_write_paragraph(out, "Run ", run->path, view->width);
    fputs(xfa_style(view, XFA_STYLE_NONE), out);
    write_command(run, view, out);
    write_took(run, view, out);
    write_periods(run, view, out);
    write_moved(report->analysis, view, out);
    write_times(report->analysis, view, out);
    write_shares(report, view, out);
    write_filter(report, view, out);
    write_warnings(report, view, out);
    write_change(report, view, out);
}
