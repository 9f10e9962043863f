/* The report for people. */
#include "analyzer/report/report.h"

#include <inttypes.h>
#include <libsmartcols.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyzer/base/alloc.h"
#include "common/text.h"
#include "analyzer/report/report_text.h"
#include "analyzer/base/units.h"

#define FINDING_SITES 5 /* shown per finding */

static void field(FILE *out, const char *name, const char *text)
{
    if (text)
        xfc_print(out, "  %-12s %s\n", name, text);
}

void xfa_write_paragraph(FILE *out, const char *lead, const char *text, int width)
{
    int indent = (int)strlen(lead), column = indent;
    fputs(lead, out);
    while (*text) {
        size_t word = strcspn(text, " ");
        if (column > indent && column + (int)word + 1 > width) {
            xfc_print(out, "\n%*s", indent, "");
            column = indent;
        }
        column += xfc_print(out, "%s%.*s", column > indent ? " " : "", (int)word, text);
        text += word;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

void xfa_set_cell(struct libscols_line *line, size_t column, const char *text)
{
    scols_line_refer_data(line, column, xfa_clean(text, strlen(text)));
}

/* ---- the run -------------------------------------------------------------------------- */

static void write_command(const struct xfa_run *run, FILE *out)
{
    if (run->argument_count == 0)
        return;
    xfc_print(out, "  %-12s", "command");
    for (size_t i = 0; i < run->argument_count; i++)
        xfc_print(out, " %s", run->arguments[i]);
    fputc('\n', out);
}

static void write_start(const struct xfa_report *report, FILE *out)
{
    char wall[XFA_UNIT_CHARS], when[64] = "";
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < report->run.process_count; i++)
        if (report->run.processes[i].start_real_ns < first)
            first = report->run.processes[i].start_real_ns;
    time_t seconds = (time_t)(first / 1000000000u);
    struct tm utc;
    if (first && first != UINT64_MAX && gmtime_r(&seconds, &utc))
        strftime(when, sizeof when, ", started %Y-%m-%d %H:%M:%S UTC", &utc);
    double ns = xfa_report_wall_ns(report);
    xfc_print(out, "  %-12s %s%s, %zu process%s\n", "wall time",
              xfa_time_text(wall, ns > 0 ? ns : NAN), when, report->run.process_count,
              report->run.process_count == 1 ? "" : "es");
}

static void write_gpus(const struct xfa_report *report, FILE *out)
{
    const struct xfa_run *run = &report->run;
    for (size_t i = 0; i < run->gpu_count; i++)
        xfc_print(out, "  %-12s %zu: %s%s\n", i ? "" : "GPU", i,
                  run->gpus[i].name ? run->gpus[i].name : "unknown",
                  run->simulated ? " (simulated GPU)" : "");
    if (run->gpu_count == 0)
        field(out, "GPU", run->simulated ? "simulated GPU" : "not recorded");
}

static const char *timing_text(const char *timing)
{
    if (!timing)
        return "not recorded";
    if (strcmp(timing, "cupti") == 0)
        return "device timestamps (CUPTI)";
    if (strcmp(timing, "event") == 0)
        return "device timestamps (events)";
    if (strcmp(timing, "host") == 0)
        return "host time of blocking calls";
    return timing;
}

static void write_timing(const struct xfa_run *run, FILE *out)
{
    for (size_t i = 0; i < run->process_count; i++) {
        const struct xfa_process *process = &run->processes[i];
        const char *text = timing_text(process->timing);
        const char *before = i ? timing_text(run->processes[i - 1].timing) : NULL;
        if (before && strcmp(before, text) == 0)
            continue;
        xfc_print(out, "  %-12s %s%s%s%s\n", i ? "" : "timing", text,
                  process->timing_why ? " (" : "", process->timing_why ? process->timing_why : "",
                  process->timing_why ? ")" : "");
    }
}

/* A format of before today's: what is not in the report for that reason. */
static void write_format(const struct xfa_run *run, FILE *out)
{
    const char *const *lacks = xfa_run_lacks(run);
    for (size_t i = 0; lacks[i]; i++) {
        char version[16];
        snprintf(version, sizeof version, "%u.%d", XFT_VERSION_MAJOR, run->oldest_minor);
        xfc_print(out, "  %-12s %s%s%s\n", i ? "" : "format", i ? "" : version,
                  i ? "without " : ", without ", lacks[i]);
    }
}

/* Where the runtime was seen as well, what only the driver saw is somebody else's: a library with a
 * runtime of its own. */
static void write_driver_level(const struct xfa_report *report, FILE *out)
{
    struct xfa_sum driver = xfa_report_level(report, "driver");
    char bytes[XFA_UNIT_CHARS];
    if (driver.transfers == 0 || xfa_report_level(report, "runtime").transfers == 0)
        return;
    xfc_print(out, "  %-12s of these, %" PRIu64 " (%s) were seen at the driver's interface only\n",
              "", driver.transfers, xfa_bytes_text(bytes, driver.bytes));
}

static void write_traffic(const struct xfa_report *report, FILE *out)
{
    struct xfa_sum by[XFT_DIRECTION_COUNT] = {0};
    bool any = false;
    for (size_t i = 0; i < report->rows.count; i++) {
        const struct xfa_row *row = report->order[i];
        by[row->key.direction].transfers += row->figures.transfers;
        by[row->key.direction].bytes = xfa_add(by[row->key.direction].bytes, row->figures.bytes);
    }
    for (unsigned d = 0; d < XFT_DIRECTION_COUNT; d++) {
        char bytes[XFA_UNIT_CHARS];
        if (by[d].transfers == 0)
            continue;
        xfc_print(out, "  %-12s %s: %" PRIu64 ", %s\n", any ? "" : "transfers",
                  xft_direction_word(d), by[d].transfers, xfa_bytes_text(bytes, by[d].bytes));
        any = true;
    }
    if (!any)
        field(out, "transfers", "none");
    write_driver_level(report, out);
}

static void write_content(const struct xfa_report *report, FILE *out)
{
    const struct xfa_run_content *content = &report->run.content;
    char took[XFA_UNIT_CHARS];
    double wall = xfa_report_wall_ns(report);
    if (content->why)
        xfc_print(out, "  %-12s not hashed: %s\n", "contents", content->why);
    if (!content->whole && !content->sampled)
        return;
    xfc_print(out, "  %-12s %" PRIu64 " hashed (%" PRIu64 " by samples), ", "contents",
              content->hashes, content->by_sample);
    if (content->skipped_unknown && content->skipped == 0)
        fputs("not known how many were not", out);
    else
        xfc_print(out, "%s%" PRIu64 " not", content->skipped_unknown ? "at least " : "",
                  content->skipped);
    xfc_print(out, "; took %s", xfa_time_text(took, content->ns));
    if (wall > 0 && !report->run.simulated) /* that clock stands still meanwhile */
        xfc_print(out, ", %.2g %% of the run", content->ns / wall * 100);
    fputc('\n', out);
    if (content->not_compared)
        xfc_print(out, "  %-12s %" PRIu64 " of them over the limit, not compared\n", "",
                  content->not_compared);
}

static void write_uncounted(const struct xfa_run *run, FILE *out)
{
    char bytes[XFA_UNIT_CHARS];
    if (run->failed)
        xfc_print(out, "  %-12s transfers that returned an error: %" PRIu64 "\n", "not counted",
                  run->failed);
    if (run->captured)
        xfc_print(out, "  %-12s transfers captured into graphs: %" PRIu64 "\n", "not counted",
                  run->captured);
    if (run->empty)
        xfc_print(out, "  %-12s transfers of no bytes: %" PRIu64 "\n", "not counted", run->empty);
    if (run->device_only)
        xfc_print(out, "  %-12s device copies without a recorded call: %" PRIu64 ", %s\n",
                  "not counted", run->device_only, xfa_bytes_text(bytes, run->device_only_bytes));
}

static void write_losses(const struct xfa_run *run, FILE *out)
{
    for (size_t i = 0; i < run->unreadable_count; i++)
        xfc_print(out, "  %-12s %s\n", "UNREADABLE", run->unreadable[i]);
    for (size_t i = 0; i < run->process_count; i++)
        if (run->processes[i].losses)
            xfc_print(out, "  %-12s %s: %s\n", "LOST", run->processes[i].file,
                      run->processes[i].losses);
    for (size_t i = 0; i < run->process_count; i++)
        if (!run->processes[i].closed)
            xfc_print(out,
                      "  %-12s %s: recording did not end properly (the process was killed or "
                      "still runs); what it had done is in the report\n",
                      "unfinished", run->processes[i].file);
}

static void write_run(const struct xfa_report *report, FILE *out)
{
    const struct xfa_run *run = &report->run;
    xfc_print(out, "Run %s\n", run->path);
    field(out, "program", run->program ? run->program : "not recorded");
    write_command(run, out);
    field(out, "host", run->hostname);
    write_gpus(report, out);
    write_start(report, out);
    write_timing(run, out);
    write_format(run, out);
    write_traffic(report, out);
    write_content(report, out);
    write_uncounted(run, out);
    write_losses(run, out);
}

static void write_machine(const struct xfa_report *report, int width, FILE *out)
{
    const struct xfp_profile *profile = report->profile;
    fputs("\nMachine profile\n", out);
    if (report->profile_problem)
        field(out, "UNREADABLE", report->profile_problem);
    if (!profile) {
        field(out, "none",
              "what this machine could have given is not known: measure it with "
              "`xferscope probe`, then analyze with --profile");
        return;
    }
    const char *host = profile->machine.hostname, *created = profile->created;
    field(out, "profile", report->profile_path);
    xfc_print(out, "  %-12s %s%s%s%s\n", "measured on", host && *host ? host : "unknown host",
              created && *created ? ", " : "", created ? created : "",
              profile->machine.simulated ? " (simulated GPU)" : "");
    if (report->match == XFA_MATCH_UNKNOWN)
        field(out, "note", "whether it is the machine of the run cannot be told from the trace");
    if (report->mismatch)
        xfa_write_paragraph(out, "  WARNING      ", report->mismatch, width);
    for (size_t i = 0; i < profile->warning_count; i++)
        xfa_write_paragraph(out, "  note         ", profile->warnings[i], width);
}

/* ---- transfers ------------------------------------------------------------------------ */

enum column {
    COL_SITE,
    COL_CALL,
    COL_PATH,
    COL_COUNT,
    COL_BYTES,
    COL_SIZE,
    COL_HAD,
    COL_BEST,
    COL_LOST
};

static struct libscols_table *new_table(int width, bool other_machine, FILE *out)
{
    static const struct {
        const char *name;
        double hint;
        int flags;
    } columns[] = {
        {"CALL SITE", 0.4, SCOLS_FL_WRAP},
        {"FUNCTION", 0, 0},
        {"TRANSFER", 0, 0},
        {"COUNT", 0, SCOLS_FL_RIGHT},
        {"BYTES", 0, SCOLS_FL_RIGHT},
        {"SIZE", 0, SCOLS_FL_RIGHT},
        {"ACHIEVED", 0, SCOLS_FL_RIGHT},
        {"ACHIEVABLE", 0, SCOLS_FL_RIGHT},
        {"LOST", 0, SCOLS_FL_RIGHT},
    };
    struct libscols_table *table = scols_new_table();
    if (!table)
        return NULL;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        const char *name = i == COL_BEST && other_machine ? "ACHIEVABLE*" : columns[i].name;
        scols_table_new_column(table, name, columns[i].hint, columns[i].flags);
    }
    scols_table_set_termforce(table, SCOLS_TERMFORCE_ALWAYS);
    scols_table_set_termwidth(table, (size_t)width);
    scols_table_set_stream(table, out);
    return table;
}

static void place_text(char *text, size_t bytes, unsigned memory, int device)
{
    if (device >= 0)
        snprintf(text, bytes, "GPU%d%s", device, memory == XFT_MEM_ARRAY ? " array" : "");
    else
        snprintf(text, bytes, "%s", xft_memory_word(memory));
}

/* "H2D pageable" says it all for one GPU's memory; ordinals appear with several. */
static char *path_text(const struct xfa_report *report, const struct xfa_row *row)
{
    char src[32], dst[32];
    bool one = report->run.gpu_count <= 1;
    place_text(src, sizeof src, row->key.src_mem, row->key.src_device);
    place_text(dst, sizeof dst, row->key.dst_mem, row->key.dst_device);
    const char *direction = xft_direction_word(row->key.direction);
    if (one && row->key.direction == XFT_DIR_H2D && row->key.dst_mem == XFT_MEM_DEVICE)
        return xfa_print("%s %s", direction, src);
    if (one && row->key.direction == XFT_DIR_D2H && row->key.src_mem == XFT_MEM_DEVICE)
        return xfa_print("%s %s", direction, dst);
    if (row->key.direction == XFT_DIR_D2D && strcmp(src, dst) == 0)
        return xfa_print("%s %s", direction, one ? "device" : src);
    return xfa_print("%s %s>%s", direction, src, dst);
}

static void set_size(struct libscols_line *line, const struct xfa_figures *figures)
{
    char least[XFA_UNIT_CHARS], most[XFA_UNIT_CHARS];
    xfa_bytes_text(least, figures->smallest);
    xfa_bytes_text(most, figures->largest);
    if (figures->smallest == figures->largest)
        scols_line_set_data(line, COL_SIZE, most);
    else
        scols_line_refer_data(line, COL_SIZE, xfa_print("%s-%s", least, most));
}

/* Host time is an upper bound: what was achieved is at least this. */
static char *achieved_text(const struct xfa_figures *figures)
{
    char gbps[XFA_UNIT_CHARS];
    const char *basis = xfa_achieved_basis(figures);
    xfa_gbps_text(gbps, xfa_achieved_gbps(figures));
    return xfa_print("%s%s", basis && strcmp(basis, "device") != 0 ? ">=" : "", gbps);
}

static char *achievable_text(const struct xfa_figures *figures)
{
    char gbps[XFA_UNIT_CHARS];
    double error = xfa_best_error(figures);
    xfa_gbps_text(gbps, xfa_achievable_gbps(figures));
    if (isnan(error) || error < 0.0005)
        return xfa_text(gbps);
    return xfa_print("%s +-%.*f%%", gbps, error < 0.0995 ? 1 : 0, error * 100);
}

static void add_row(struct libscols_table *table, const struct xfa_report *report,
                    const struct xfa_row *row)
{
    const struct xfa_figures *figures = &row->figures;
    char text[XFA_UNIT_CHARS];
    struct libscols_line *line = scols_table_new_line(table, NULL);
    if (!line)
        return;
    xfa_set_cell(line, COL_SITE, row->site->text);
    xfa_set_cell(line, COL_CALL, xfa_row_function(row));
    scols_line_refer_data(line, COL_PATH, path_text(report, row));
    scols_line_refer_data(line, COL_COUNT, xfa_print("%" PRIu64, figures->transfers));
    scols_line_set_data(line, COL_BYTES, xfa_bytes_text(text, figures->bytes));
    set_size(line, figures);
    scols_line_refer_data(line, COL_HAD, achieved_text(figures));
    scols_line_refer_data(line, COL_BEST, achievable_text(figures));
    scols_line_set_data(line, COL_LOST, xfa_time_text(text, xfa_lost_ns(figures)));
}

static void write_transfers(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    size_t shown = view->top && view->top < report->rows.count ? view->top : report->rows.count;
    fputs("\nTransfers, by call site and kind (ACHIEVED and ACHIEVABLE in GB/s, 10^9 bytes/s)\n",
          out);
    if (shown == 0) {
        fputs("  none\n", out);
        return;
    }
    struct libscols_table *table = new_table(view->width, report->match == XFA_MATCH_NO, out);
    for (size_t i = 0; table && i < shown; i++)
        add_row(table, report, report->order[i]);
    if (!table || scols_print_table(table) != 0)
        fputs("  (the table could not be written)\n", out);
    scols_unref_table(table);
    if (shown < report->rows.count)
        xfc_print(out, "  ... and %zu more (--top 0 shows all)\n", report->rows.count - shown);
}

static void write_legend(const struct xfa_report *report, int width, FILE *out)
{
    bool host = false, unknown = false;
    for (size_t i = 0; i < report->rows.count; i++) {
        host = host || report->order[i]->figures.host.transfers;
        unknown = unknown || isnan(xfa_lost_ns(&report->order[i]->figures));
    }
    if (host)
        xfa_write_paragraph(
            out, "  >=  ",
            "from the host's time in a blocking call, which includes waiting for earlier "
            "work: at least this was achieved, at most this was lost",
            width);
    if (unknown)
        xfa_write_paragraph(out, "  -   ", "not known", width);
    if (report->match == XFA_MATCH_NO)
        xfa_write_paragraph(out, "  *   ",
                            "of another machine than the run's, see the warning above", width);
}

/* ---- findings ------------------------------------------------------------------------- */

static void write_sites(const struct xfa_finding *finding, FILE *out)
{
    for (size_t i = 0; i < finding->site_count && i < FINDING_SITES; i++) {
        const struct xfa_finding_site *site = &finding->sites[i];
        char bytes[XFA_UNIT_CHARS], lost[XFA_UNIT_CHARS];
        xfc_print(out, "     at  %s, %s %s: %" PRIu64 " transfer%s, %s", site->row->site->text,
                  xfa_row_function(site->row), xft_direction_word(site->row->key.direction),
                  site->transfers, site->transfers == 1 ? "" : "s",
                  xfa_bytes_text(bytes, site->bytes));
        if (!isnan(site->lost_ns))
            xfc_print(out, ", lost %s", xfa_time_text(lost, site->lost_ns));
        fputc('\n', out);
        if (site->earlier)
            xfc_print(out, "         after the copy at %s\n", site->earlier->text);
    }
    if (finding->site_count > FINDING_SITES)
        xfc_print(out, "     ... and %zu more call sites\n", finding->site_count - FINDING_SITES);
}

static void write_finding(const struct xfa_finding *finding, size_t number, int width, FILE *out)
{
    char lost[XFA_UNIT_CHARS], bytes[XFA_UNIT_CHARS], had[XFA_UNIT_CHARS], best[XFA_UNIT_CHARS];
    double achieved = finding->took_ns > 0 ? (double)finding->bytes / finding->took_ns : NAN;
    double achievable = finding->best_ns > 0 ? (double)finding->bytes / finding->best_ns : NAN;
    xfc_print(out, "%2zu. %s: %s\n", number, finding->kind, finding->title);
    xfc_print(out, "     lost %s in %" PRIu64 " transfer%s, %s",
              isnan(finding->lost_ns) ? "not known" : xfa_time_text(lost, finding->lost_ns),
              finding->transfers, finding->transfers == 1 ? "" : "s",
              xfa_bytes_text(bytes, finding->bytes));
    if (!isnan(achieved))
        xfc_print(out, "; achieved %s GB/s", xfa_gbps_text(had, achieved));
    if (!isnan(achievable))
        xfc_print(out, ", achievable %s GB/s", xfa_gbps_text(best, achievable));
    fputc('\n', out);
    write_sites(finding, out);
    xfa_write_paragraph(out, "     fix ", finding->fix, width);
    xfa_write_paragraph(out, "     lost = ", finding->note, width);
}

static void write_findings(const struct xfa_report *report, int width, FILE *out)
{
    fputs("\nFindings, worst first (each stands alone: one transfer may be in several)\n", out);
    if (report->finding_count == 0)
        fputs("  none\n", out);
    for (size_t i = 0; i < report->finding_count; i++)
        write_finding(&report->findings[i], i + 1, width, out);
}

static void write_text(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    if (xfa_report_simulated(report))
        fputs("SIMULATED GPU: the figures show how xferscope works, not what a GPU does.\n\n", out);
    write_run(report, out);
    write_machine(report, view->width, out);
    write_transfers(report, view, out);
    write_legend(report, view->width, out);
    xfa_write_phases(report, view, out);
    xfa_write_managed(report, view, out);
    write_findings(report, view->width, out);
}

const struct xfa_format xfa_format_text = {.name = "text", .write = write_text};
