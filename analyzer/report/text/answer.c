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

#define SHOWN_FINDINGS 3
#define SHOWN_QUESTIONS 2 /* at most, unless --top 0 */
#define COMMAND_LINES 2
#define LEAST_SHARE 0.005
#define BLOCK "   " /* before the lines of a finding but the first */

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

static void write_styled(const struct xfa_view *view, enum xfa_style style, const char *lead,
                         char *text, FILE *out)
{
    fputs(xfa_style(view, style), out);
    xfa_write_paragraph(out, lead, text, view->width);
    fputs(xfa_style(view, XFA_STYLE_NONE), out);
    free(text);
}

/* The program, on what, and which part of its time the figures are of. */
static void write_head(const struct xfa_report *report, const struct xfa_headline *headline,
                       const struct xfa_view *view, FILE *out)
{
    const struct xfa_run *run = report->analysis->run;
    char *command = xfa_command_text(run, COMMAND_LINES * (size_t)view->width * 3 / 4);
    char *gpus = xfa_gpus_text(run), *host = xfa_host_text(run);
    char *focus = xfa_focus_text(headline);
    write_styled(view, XFA_STYLE_TITLE, "", xfa_print("%s", *command ? command : run->path), out);
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
    write_styled(view, gain ? XFA_STYLE_GAIN : XFA_STYLE_NONE, "", result_text(report, headline),
                 out);
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

/* Of one process, the time before the first work for a GPU and after the last wait is left out: all
 * of it is the host's. The time that the shares are of. */
static double shares_of(const struct xfa_report *report, double shares[XFA_SHARES])
{
    const struct xfa_version *recorded = &report->timeline->recorded;
    const struct xfw_whatif *whatif = report->findings->whatif;
    memcpy(shares, recorded->shares, XFA_SHARES * sizeof *shares);
    bool one = report->analysis->run->process_count == 1;
    if (!one || !whatif || !whatif->known || !(whatif->span.recorded_ns > 0))
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

static void write_gpu(const struct xfa_report *report, const struct xfa_headline *headline,
                      const struct xfa_view *view, FILE *out)
{
    if (!report->timeline || !(xfa_run_wall_ns(report->analysis->run) > 0))
        return;
    double shares[XFA_SHARES] = {0}, whole = shares_of_phase(report, headline->phase, shares);
    bool of_phase = whole > 0;
    if (!of_phase)
        whole = shares_of(report, shares);
    bool lacks = xfa_version_lacks_kernels(&report->timeline->recorded);
    const struct {
        const char *what;
        double ns;
    } parts[] = {
        {"computes", lacks ? 0 : shares[XFA_SHARE_COMPUTE] + shares[XFA_SHARE_HIDDEN]},
        {lacks ? "copies" : "waits for copies", shares[XFA_SHARE_EXPOSED]},
        {"idle in the host's waits", shares[XFA_SHARE_WAITS]},
        {"waits for launches", shares[XFA_SHARE_LAUNCHES]},
        {any_python(report->analysis) ? "waits for Python" : "waits for the host",
         shares[XFA_SHARE_HOST]},
    };
    char *text = xfa_text("");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char part[XFA_PERCENT_CHARS];
        if (parts[i].ns >= LEAST_SHARE * whole)
            text = xfa_append(text, "%s%s %s", *text ? ", " : "", parts[i].what,
                              xfa_percent_text(part, parts[i].ns, whole));
    }
    char time[XFA_UNIT_CHARS], of[64] = "";
    if (headline->phase && !of_phase)
        snprintf(of, sizeof of, ", of %s%s", xfa_time_text(time, whole),
                 whole < report->timeline->recorded.wall_ns ? " from first work to last wait" : "");
    const char *gpu = report->analysis->run->gpu_count > 1 ? "GPUs" : "GPU";
    if (*text)
        xfa_write_words(out, view->width, "  ", "the %s%s: %s%s", gpu, of, text,
                        lacks ? " (kernels were not recorded)" : "");
    free(text);
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
    char part[XFA_PERCENT_CHARS], others[XFA_PERCENT_CHARS];
    for (size_t i = 0; i < analysis->messages.rows.count; i++) {
        const struct xfa_message_row *row = xfa_message_row(&analysis->messages, i);
        for_others += xfa_message_has_kernels(row) ? 0 : row->before_ns;
    }
    if (!(analysis->messages.ns >= LEAST_MESSAGES * whole) || analysis->messages.calls == 0)
        return;
    bool large = for_others >= LEAST_SHARE * whole;
    xfa_write_words(out, view->width, "  ",
                    "messages: %s of the processes' time in calls of MPI and NCCL%s%s%s",
                    xfa_percent_text(part, analysis->messages.ns, whole), large ? " (" : "",
                    large ? xfa_percent_text(others, for_others, whole) : "",
                    large ? " until other ranks came)" : "");
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

/* ---- what to change -------------------------------------------------------------------------- */

#define OTHERS_CHARS 48
#define LEAST_PLACE 20 /* columns */

static void others_text(char text[OTHERS_CHARS], const struct xfa_finding *finding)
{
    *text = 0;
    if (finding->site_count > 1)
        snprintf(text, OTHERS_CHARS, ", and %zu more", finding->site_count - 1);
}

/* "H2D", "H2D and D2H", with several GPUs the places of the only site; NULL: no transfers. */
static char *directions_text(const struct xfa_finding *finding, const struct xfa_run *run)
{
    if (finding->site_count == 1)
        return xfa_finding_site_path(&finding->sites[0], run);
    bool has[XFT_DIRECTION_COUNT] = {false}, any = false;
    for (size_t i = 0; i < finding->site_count; i++) {
        if (!finding->sites[i].row)
            continue;
        has[finding->sites[i].row->key.direction] = any = true;
    }
    char *text = any ? xfa_text("") : NULL;
    for (unsigned d = 0; any && d < XFT_DIRECTION_COUNT; d++)
        if (has[d])
            text = xfa_append(text, "%s%s", *text ? " and " : "", xft_direction_word(d));
    return text;
}

/* "H2D, 70 copies, 945 MiB": no two findings of one site read the same. */
static char *moved_text(const struct xfa_finding *finding, const struct xfa_run *run)
{
    char bytes[XFA_UNIT_CHARS];
    char *way = directions_text(finding, run);
    bool one = finding->transfers == 1;
    char *text = xfa_print("%s%s%" PRIu64 " %s%s%s", way ? way : "", way ? ", " : "",
                           finding->transfers, way ? (one ? "copy" : "copies") : "call",
                           way || one ? "" : "s", finding->bytes ? ", " : "");
    free(way);
    return finding->bytes ? xfa_append(text, "%s", xfa_bytes_text(bytes, finding->bytes)) : text;
}

/* "upload (a.cu:84), cudaMemcpy, and 2 more" on a line. */
static char *called_text(const struct xfa_finding *finding, size_t room)
{
    const struct xfa_finding_site *site = &finding->sites[0];
    char others[OTHERS_CHARS];
    const char *called = site->function ? site->function->name : NULL;
    others_text(others, finding);
    size_t taken = strlen(others) + (called ? strlen(called) + 2 : 0);
    char *place =
        xfa_shortened(site->site->text, room > taken + LEAST_PLACE ? room - taken : LEAST_PLACE);
    char *text = xfa_print("%s%s%s%s", place, called ? ", " : "", called ? called : "", others);
    free(place);
    return text;
}

/* "train.py:19, and 2 more": a place so short that its line of source has room beside it. */
static char *line_text(const struct xfa_finding *finding)
{
    const struct xfa_site *site = finding->sites[0].site;
    const struct xfa_frame *frame = &site->frames[site->chosen];
    const char *slash = strrchr(frame->file, '/');
    char others[OTHERS_CHARS];
    others_text(others, finding);
    const char *name = slash && slash[1] ? slash + 1 : frame->file;
    return xfa_print("%s:%" PRIu32 "%s", name, frame->line, others);
}

/* With the line of source, where the trace has it, on the same line. */
static char *where_text(const struct xfa_finding *finding, size_t room)
{
    static const char gap[] = "    ";
    char *place = called_text(finding, room), *code = xfa_source_text(finding->sites[0].site);
    size_t taken = strlen(gap) + (code ? xfa_columns(code) : 0);
    if (!code)
        return place;
    if (xfa_columns(place) + taken > room) {
        char *line = line_text(finding);
        char *name = xfa_shortened(line, room / 2);
        size_t left = room - xfa_columns(name) - strlen(gap);
        char *shown = xfa_shortened(code, left);
        free(line);
        free(code);
        free(place);
        place = name;
        code = shown;
    }
    place = xfa_append(place, "%s%s", gap, code);
    free(code);
    return place;
}

/* "8.72 GB/s now, 51.3 possible here: copies from or to pageable host memory" */
static char *why_text(const struct xfa_finding *finding)
{
    char had[XFA_UNIT_CHARS], best[XFA_UNIT_CHARS], rates[96] = "";
    double moved = (double)finding->bytes;
    if (moved > 0 && finding->achieved_ns > 0 && finding->achievable_ns > 0)
        snprintf(rates, sizeof rates, "%s GB/s now, %s possible here: ",
                 xfa_gbps_text(had, moved / finding->achieved_ns),
                 xfa_gbps_text(best, moved / finding->achievable_ns));
    else if (moved > 0 && finding->achieved_ns > 0)
        snprintf(rates, sizeof rates,
                 "%s GB/s now: ", xfa_gbps_text(had, moved / finding->achieved_ns));
    return xfa_print("%s%s", rates, xfa_finding_title(finding->id));
}

/* first: of the screen; what to do is said in full there, in the words of what the program is
 * written with. */
static void write_finding(const struct xfa_report *report, size_t i, bool first,
                          const struct xfa_view *view, FILE *out)
{
    const struct xfa_finding *finding = &report->findings->items[i];
    struct xfa_described described = xfa_describe(report->analysis, report->findings, finding);
    const char *saves = described.brief;
    char number[32], brief[XFA_REMEDY_CHARS];
    char *moved = moved_text(finding, report->analysis->run), *why = why_text(finding);
    size_t room = (size_t)view->width - strlen(BLOCK);
    char *where = where_text(finding, room);
    snprintf(number, sizeof number, "%zu  ", i + 1);
    write_styled(
        view, XFA_STYLE_TITLE, number,
        xfa_print("%s%s%s  %s", described.word, saves ? "  " : "", saves ? saves : "", moved), out);
    if (xfa_columns(where) <= room) /* a line of source keeps its spaces */
        xfc_print(out, BLOCK "%s\n", where);
    else
        xfa_write_paragraph(out, BLOCK, where, view->width);
    xfa_write_paragraph(out, BLOCK, why, view->width);
    xfa_write_words(out, view->width, BLOCK "do: ", "%s",
                    first ? xfa_remedy_text(&finding->remedy, brief)
                          : xfa_remedy_brief(&finding->remedy, brief));
    xfa_described_free(&described);
    free(moved);
    free(why);
    free(where);
}

/* Returns how many are not shown. */
static size_t write_findings(const struct xfa_report *report, const struct xfa_view *view,
                             FILE *out)
{
    const struct xfa_findings *findings = report->findings;
    size_t count = view->filter ? view->filter->findings_shown : xfa_findings_count(findings);
    size_t shown = xfa_shown_facts(view, count, SHOWN_FINDINGS), left = shown;
    if (count == 0 && xfa_findings_count(findings) > 0)
        fputs("  none of the findings matches\n", out);
    for (size_t i = 0; left > 0; i++) {
        if (!xfa_view_finding(view, i))
            continue;
        fputc('\n', out);
        write_finding(report, i, left == shown, view, out);
        left--;
    }
    return count - shown;
}

/* ---- what the user knows --------------------------------------------------------------------- */

static void write_question(const struct xfa_report *report, size_t i, const struct xfa_view *view,
                           FILE *out)
{
    const struct xfa_finding *finding = &report->findings->items[i];
    struct xfa_described described = xfa_describe(report->analysis, report->findings, finding);
    write_styled(view, XFA_STYLE_TITLE, "?  ", xfa_text(described.question), out);
    xfa_write_words(out, view->width, BLOCK, "say so: --assume '%s=yes' (or no)", described.key);
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
    char off[XFA_PERCENT_CHARS];
    if (!xfa_savings_known(report->findings))
        return xfa_text("not modelled: no saving is known");
    return xfa_print("%s, the replay is %s off the run%s",
                     whatif->set_played ? "the set was played, the rest modelled" : "modelled",
                     xfa_percent_text(off, whatif->error, 1),
                     whatif->marked ? ": too far to trust, every saving is uncertain" : "");
}

static char *more_text(const struct xfa_headline *headline, const struct xfa_view *view,
                       size_t left)
{
    const char *phase = headline->phase;
    char count[48] = "";
    if (view->filter && view->filter->phase)
        phase = NULL;
    if (left)
        snprintf(count, sizeof count, " (%zu more finding%s)", left, xfa_plural(left));
    char *name = phase ? xfa_argument_text(phase) : xfa_text("");
    char *text =
        xfa_print("more: --full%s  -f html --open%s%s", count, phase ? "  --phase " : "", name);
    free(name);
    return text;
}

/* In one line where both fit. */
static void write_foot(const struct xfa_report *report, const struct xfa_headline *headline,
                       const struct xfa_view *view, size_t left, FILE *out)
{
    const size_t gap = 4;
    char *trust = trust_text(report), *more = more_text(headline, view, left);
    size_t columns = xfa_columns(trust) + gap + xfa_columns(more);
    fputc('\n', out);
    if (view->brief && columns <= (size_t)view->width) {
        xfc_print(out, "%s%*s%s\n", trust, (int)gap, "", more);
    } else {
        xfa_write_paragraph(out, "", trust, view->width);
        if (view->brief || left)
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
    write_messages(report->analysis, view, out);
    write_periods(report->analysis->run, view, out);
    write_filter(report, view, out);
    write_warnings(report, view, out);
    write_answers(report, view, out);
    size_t left = write_findings(report, view, out);
    left += write_questions(report, view, out);
    write_foot(report, &headline, view, left, out);
}
