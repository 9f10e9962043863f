/*
 * The first screen: what the run would save in one figure, and the first things to change, a few
 * lines each. The sections behind it have the rest.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "analyzer/report/described.h"
#include "analyzer/report/headline.h"
#include "analyzer/report/text/text.h"
#include "analyzer/timeline/timeline.h"
#include "common/text.h"

#define SHOWN_QUESTIONS 2 /* at most, unless --top 0 */
#define COMMAND_LINES 2
#define LEAST_SHARE 0.005

/* ---- which part was recorded ----------------------------------------------------------------- */

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

/* ---- the headline ---------------------------------------------------------------------------- */

/* The program, on what, and which part of its time the figures are of. */
static void write_head(const struct xfa_report *report, const struct xfa_headline *headline,
                       const struct xfa_view *view, FILE *out)
{
    const struct xfa_run *run = report->analysis->run;
    char *command = xfa_command_text(run, COMMAND_LINES * (size_t)view->width * 3 / 4);
    char *gpus = xfa_gpus_text(run), *host = xfa_host_text(run);
    char *focus = xfa_focus_text(headline);
    xfa_write_styled(view, XFA_STYLE_TITLE, "", xfa_print("%s", *command ? command : run->path),
                     out);
    char processes[48] = "";
    if (run->process_count > 1)
        snprintf(processes, sizeof processes, ", %zu processes", run->process_count);
    xfa_write_words(out, view->width, "  ", "%s%s%s, %s", focus, processes, host, gpus);
    free(command);
    free(gpus);
    free(host);
    free(focus);
}

static char *result_text(const struct xfa_report *report, const struct xfa_headline *headline)
{
    const struct xfa_findings *findings = report->findings;
    const struct xfw_whatif *whatif = findings->whatif;
    char *text = xfa_headline_text(headline, findings);
    if (text)
        return text;
    if (!xfa_savings_known(findings))
        return xfa_print("What changes would save is not known: %s",
                         whatif && whatif->why ? whatif->why : "the run was not replayed");
    if (xfa_findings_count(findings) == 0)
        return xfa_nothing_text(report->analysis, findings);
    return xfa_text(report->analysis->profile
                        ? "What the changes below would save is not known."
                        : "What the changes below would save is not known without a machine "
                          "profile: measure it once (`xferscope probe -o machine.json`), then "
                          "analyze with --profile machine.json");
}

static void write_headline(const struct xfa_report *report, const struct xfa_headline *headline,
                           const struct xfa_view *view, FILE *out)
{
    bool gain = headline->saving.likely > 0;
    xfa_write_styled(view, gain ? XFA_STYLE_GAIN : XFA_STYLE_NONE, "",
                     result_text(report, headline), out);
    char *applied = xfa_applied_text(report->findings);
    if (applied)
        xfa_write_paragraph(out, "  ", applied, view->width);
    free(applied);
    if (!report->analysis->profile && xfa_findings_count(report->findings) == 0)
        xfa_write_paragraph(out, "  ",
                            "No machine profile: what this machine could give is not known. "
                            "Measure it once (`xferscope probe -o machine.json`), then analyze "
                            "with --profile machine.json",
                            view->width);
}

/* ---- what the GPU did ------------------------------------------------------------------------ */

static bool is_python(const struct xfa_site *site)
{
    const char *file = site->chosen >= 0 ? site->frames[site->chosen].file : NULL;
    size_t length = file ? strlen(file) : 0;
    return length > 3 && strcmp(file + length - 3, ".py") == 0;
}

static bool any_python(const struct xfa_analysis *analysis)
{
    for (size_t i = 0; i < analysis->row_count; i++)
        if (is_python(xfa_analysis_row(analysis, i)->site))
            return true;
    return false;
}

/* Of a run that the headline is not of, the time before the first work for a GPU and after the last
 * wait is left out: all of it is the host's. The time that the shares are of. */
static double shares_of(const struct xfa_report *report, bool of_run, double shares[XFA_SHARES])
{
    const struct xfa_version *recorded = &report->timeline->recorded;
    const struct xfw_whatif *whatif = report->findings->whatif;
    memcpy(shares, recorded->shares, XFA_SHARES * sizeof *shares);
    if (of_run || !whatif || !whatif->known || !(whatif->span.recorded_ns > 0))
        return recorded->wall_ns;
    double outside = recorded->wall_ns - whatif->span.recorded_ns;
    if (!(outside > 0) || outside > shares[XFA_SHARE_HOST])
        return recorded->wall_ns;
    shares[XFA_SHARE_HOST] -= outside;
    return whatif->span.recorded_ns;
}

/* While ranges of that name were open; 0: not known. */
static double shares_of_phase(const struct xfa_report *report, const char *name,
                              double shares[XFA_SHARES])
{
    const double *of = name ? xfa_phase_shares_named(report->timeline->phases, name) : NULL;
    double whole = 0;
    for (unsigned i = 0; of && i < XFA_SHARES; i++)
        whole += shares[i] = of[i];
    return whole;
}

/* "computes 21 %, waits for copies 46 %": one verb for one GPU and for several. times: of another
 * time than the headline's, which all percentages are of. */
static char *shares_text(const struct xfa_report *report, const double shares[XFA_SHARES],
                         double whole, bool times)
{
    const bool lacks = xfa_version_lacks_kernels(&report->timeline->recorded);
    const bool several = report->analysis->run->gpu_count > 1;
    const struct {
        const char *one, *all;
        double ns;
    } parts[] = {
        {"computes", "compute", lacks ? 0 : shares[XFA_SHARE_COMPUTE] + shares[XFA_SHARE_HIDDEN]},
        {lacks ? "copies" : "waits for copies", lacks ? "copy" : "wait for copies",
         shares[XFA_SHARE_EXPOSED]},
        {"idles in the host's waits", "idle in the host's waits", shares[XFA_SHARE_WAITS]},
        {"waits for launches", "wait for launches", shares[XFA_SHARE_LAUNCHES]},
        {any_python(report->analysis) ? "waits for Python" : "waits for the host",
         any_python(report->analysis) ? "wait for Python" : "wait for the host",
         shares[XFA_SHARE_HOST]},
    };
    char *text = xfa_text(""), part[XFA_UNIT_CHARS + XFA_PERCENT_CHARS];
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].ns >= LEAST_SHARE * whole)
            text = xfa_append(text, "%s%s %s", *text ? ", " : "",
                              several ? parts[i].all : parts[i].one,
                              times ? xfa_time_text(part, parts[i].ns)
                                    : xfa_percent_text(part, parts[i].ns, whole));
    return text;
}

static void write_gpu(const struct xfa_report *report, const struct xfa_headline *headline,
                      const struct xfa_view *view, FILE *out)
{
    if (!report->timeline || !(xfa_run_wall_ns(report->analysis->run) > 0))
        return;
    double shares[XFA_SHARES] = {0}, whole = shares_of_phase(report, headline->phase, shares);
    bool other = headline->phase && !(whole > 0);
    if (!(whole > 0))
        whole = shares_of(report, !headline->phase && !headline->span, shares);
    char *text = shares_text(report, shares, whole, other), time[XFA_UNIT_CHARS];
    bool inner = whole < report->timeline->recorded.wall_ns;
    if (*text)
        xfa_write_words(out, view->width, "  ", "of %s%s the GPU%s %s%s",
                        xfa_time_text(time, other ? whole : headline->ns),
                        other && inner ? " from first work to last wait" : "",
                        report->analysis->run->gpu_count > 1 ? "s" : "", text,
                        xfa_version_lacks_kernels(&report->timeline->recorded)
                            ? " (kernels were not recorded)"
                            : "");
    free(text);
}

/* Why shorter calls may save nothing. */
static void write_paced(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    char *text = xfa_savings_known(report->findings) && !view->filter
                     ? xfa_paced_text(report->analysis, report->findings->whatif, true)
                     : NULL;
    if (text)
        xfa_write_words(out, view->width, "  ", "%s", text);
    free(text);
}

/* ---- what is left out of the time ------------------------------------------------------------ */

static void write_contexts(const struct xfa_report *report, const struct xfa_headline *headline,
                           const struct xfa_view *view, FILE *out)
{
    const struct xfw_whatif *whatif = report->findings->whatif;
    if (!whatif || !whatif->known || !(whatif->contexts_ns > 0))
        return;
    char time[XFA_UNIT_CHARS], *gpus = xfa_text("");
    unsigned count = 0;
    for (unsigned i = 0; i < 64; i++)
        if (whatif->contexts_gpus >> i & 1)
            gpus = xfa_append(gpus, "%sGPU%u's", count++ > 0 ? ", " : "", i);
    xfa_write_words(out, view->width, "  ",
                    "%s context%s made behind the first work for a GPU: %s%s; make %s before, by "
                    "cudaSetDevice()",
                    gpus, count > 1 ? "s are" : " is", xfa_time_text(time, whatif->contexts_ns),
                    headline->span ? ", left out here" : "", count > 1 ? "them" : "it");
    free(gpus);
}

/* ---- messages -------------------------------------------------------------------------------- */

#define LEAST_MESSAGES                                                                             \
    0.05 /* of the time of the processes, which such a share is worth a line of */

static double processes_ns(const struct xfa_run *run)
{
    double ns = 0;
    for (size_t i = 0; i < run->process_count; i++) {
        uint64_t start = run->processes[i]->start_real_ns, end = run->processes[i]->end_real_ns;
        ns += start && end > start ? (double)(end - start) : 0;
    }
    return ns;
}

static void write_messages(const struct xfa_analysis *analysis, const struct xfa_view *view,
                           FILE *out)
{
    double whole = processes_ns(analysis->run), for_others = 0;
    char part[XFA_UNIT_CHARS], others[XFA_UNIT_CHARS], all[XFA_UNIT_CHARS];
    for (size_t i = 0; i < analysis->messages.rows.count; i++) {
        const struct xfa_message_row *row = xfa_message_row(&analysis->messages, i);
        for_others += xfa_message_has_kernels(row) ? 0 : row->before_ns;
    }
    if (!(analysis->messages.ns >= LEAST_MESSAGES * whole) || analysis->messages.calls == 0)
        return;
    bool large = for_others >= LEAST_SHARE * whole;
    xfa_write_words(
        out, view->width, "  ", "messages: %s of the processes' %s in calls of MPI and NCCL%s%s%s",
        xfa_time_text(part, analysis->messages.ns), xfa_time_text(all, whole), large ? " (" : "",
        large ? xfa_time_text(others, for_others) : "", large ? " until other ranks came)" : "");
}

/* ---- warnings -------------------------------------------------------------------------------- */

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

/* ---- what the user knows --------------------------------------------------------------------- */

static void write_question(const struct xfa_report *report, size_t i, const struct xfa_view *view,
                           FILE *out)
{
    const struct xfa_finding *finding = &report->findings->items[i];
    struct xfa_described described = xfa_describe(report->analysis, report->findings, finding);
    xfa_write_styled(view, XFA_STYLE_TITLE, "?  ", xfa_text(described.question), out);
    xfa_write_words(out, view->width, XFA_BLOCK, "say so: --assume '%s=yes' (or no)",
                    described.key);
    xfa_described_free(&described);
}

/* Returns how many are not shown. */
static size_t write_questions(const struct xfa_report *report, const struct xfa_view *view,
                              FILE *out)
{
    size_t count, shown = 0, left = 0, *places = xfa_questions(report->findings, &count);
    size_t most = xfa_shown_facts(view, count, SHOWN_QUESTIONS);
    for (size_t i = 0; i < count; i++) {
        if (!xfa_view_finding(view, places[i]))
            continue;
        left += shown == most;
        if (shown == most)
            continue;
        fputc('\n', out);
        write_question(report, places[i], view, out);
        shown++;
    }
    free(places);
    return left;
}

static void write_answers(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    char *text = xfa_answers_text(report->findings);
    if (text)
        xfa_write_fact(out, view->width, "assumed", "%s", text);
    free(text);
}

/* ---- the foot -------------------------------------------------------------------------------- */

/* How the figures are known. */
static char *trust_text(const struct xfa_report *report)
{
    const struct xfw_whatif *whatif = report->findings->whatif;
    char off[XFA_UNIT_CHARS];
    if (!xfa_savings_known(report->findings))
        return xfa_text("not modelled: no saving is known");
    return xfa_print("%s, the replay is %s off the run%s",
                     whatif->set_played ? "the set was played, the rest modelled" : "modelled",
                     xfa_time_text(off, whatif->error * whatif->recorded_ns),
                     whatif->marked ? ": too far to trust, every saving is uncertain" : "");
}

static char *more_text(const struct xfa_headline *headline, const struct xfa_view *view,
                       const struct xfa_not_shown *left)
{
    const char *phase = headline->phase;
    char count[80] = "";
    if (view->filter && view->filter->phase)
        phase = NULL;
    if (left->changes)
        snprintf(count, sizeof count, " (%zu more change%s", left->changes,
                 xfa_plural(left->changes));
    if (left->findings)
        snprintf(count + strlen(count), sizeof count - strlen(count), "%s%zu more finding%s",
                 *count ? ", " : " (", left->findings, xfa_plural(left->findings));
    char *name = phase ? xfa_argument_text(phase) : xfa_text("");
    char *text = xfa_print("more: --full%s%s  -f html --open%s%s", count, *count ? ")" : "",
                           phase ? "  --phase " : "", name);
    free(name);
    return text;
}

/* In one line where both fit. */
static void write_foot(const struct xfa_report *report, const struct xfa_headline *headline,
                       const struct xfa_view *view, const struct xfa_not_shown *left, FILE *out)
{
    const size_t gap = 4;
    char *trust = trust_text(report), *more = more_text(headline, view, left);
    size_t columns = xfa_columns(trust) + gap + xfa_columns(more);
    fputc('\n', out);
    if (view->brief && columns <= (size_t)view->width) {
        xfc_print(out, "%s%*s%s\n", trust, (int)gap, "", more);
    } else {
        xfa_write_paragraph(out, "", trust, view->width);
        if (view->brief || left->changes || left->findings)
            xfa_write_paragraph(out, "", view->brief ? more : "more findings: below", view->width);
    }
    free(trust);
    free(more);
}

void xfa_write_answer(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    const char *phase = view->filter ? view->filter->phase : NULL;
    struct xfa_headline headline =
        xfa_headline_of(report->analysis, report->findings, report->timeline, phase);
    write_head(report, &headline, view, out);
    write_headline(report, &headline, view, out);
    write_gpu(report, &headline, view, out);
    write_paced(report, view, out);
    write_contexts(report, &headline, view, out);
    write_messages(report->analysis, view, out);
    write_periods(report->analysis->run, view, out);
    write_filter(report, view, out);
    write_warnings(report, view, out);
    write_answers(report, view, out);
    bool questions_first = xfa_questions_first(report->findings);
    size_t asked = questions_first ? write_questions(report, view, out) : 0;
    struct xfa_not_shown left = xfa_write_first_findings(report, view, out);
    left.findings += questions_first ? asked : write_questions(report, view, out);
    write_foot(report, &headline, view, &left, out);
}
