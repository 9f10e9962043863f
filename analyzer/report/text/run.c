/* The run and the machine profile. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "analyzer/report/text/text.h"
#include "common/text.h"

static void write_command(const struct xfa_run *run, FILE *out)
{
    if (run->argument_count == 0)
        return;
    xfc_print(out, "  %-12s", "command");
    for (size_t i = 0; i < run->argument_count; i++)
        xfc_print(out, " %s", run->arguments[i]);
    fputc('\n', out);
}

/* Hosts that are known by name. */
static size_t named_hosts(const struct xfa_run *run)
{
    size_t count = 0;
    for (size_t i = 0; i < run->host_count; i++)
        count += run->hosts[i].name != NULL;
    return count;
}

static void write_hosts(const struct xfa_run *run, FILE *out)
{
    const char *before = "";
    if (named_hosts(run) <= 1) {
        xfa_write_field(out, "host", run->hostname);
        return;
    }
    xfc_print(out, "  %-12s ", "host");
    for (size_t i = 0; i < run->host_count; i++) {
        if (!run->hosts[i].name)
            continue;
        xfc_print(out, "%s%s", before, run->hosts[i].name);
        before = ", ";
    }
    fputc('\n', out);
}

static void write_gpus(const struct xfa_run *run, FILE *out)
{
    bool hosts = named_hosts(run) > 1;
    for (size_t i = 0; i < run->gpu_count; i++) {
        const struct xfa_gpu *gpu = &run->gpus[i];
        const char *host = hosts ? run->hosts[gpu->host].name : NULL;
        xfc_print(out, "  %-12s %zu: %s%s%s%s\n", i ? "" : "GPU", i,
                  gpu->name ? gpu->name : "unknown", run->simulated ? " (simulated GPU)" : "",
                  host ? ", " : "", host ? host : "");
    }
    if (run->gpu_count == 0)
        xfa_write_field(out, "GPU", run->simulated ? "simulated GPU" : "not recorded");
}

static void write_start(const struct xfa_run *run, FILE *out)
{
    char wall[XFA_UNIT_CHARS], when[64] = "";
    uint64_t start = xfa_run_start_real_ns(run);
    double ns = xfa_run_wall_ns(run);
    time_t seconds = (time_t)(start / 1000000000u);
    struct tm utc;
    if (start && gmtime_r(&seconds, &utc))
        strftime(when, sizeof when, ", started %Y-%m-%d %H:%M:%S UTC", &utc);
    xfc_print(out, "  %-12s %s%s, %zu process%s\n", "wall time",
              xfa_time_text(wall, ns > 0 ? ns : NAN), when, run->process_count,
              run->process_count == 1 ? "" : "es");
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
        const struct xfa_process *process = run->processes[i];
        const char *text = timing_text(process->timing);
        const char *before = i ? timing_text(run->processes[i - 1]->timing) : NULL;
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

static void write_traffic(const struct xfa_analysis *analysis, FILE *out)
{
    char bytes[XFA_UNIT_CHARS];
    bool any = false;
    for (unsigned d = 0; d < XFT_DIRECTION_COUNT; d++) {
        const struct xfa_sum *sum = &analysis->directions[d];
        if (sum->transfers == 0)
            continue;
        xfc_print(out, "  %-12s %s: %" PRIu64 ", %s\n", any ? "" : "transfers",
                  xft_direction_word(d), sum->transfers, xfa_bytes_text(bytes, sum->bytes));
        any = true;
    }
    if (!any)
        xfa_write_field(out, "transfers", "none");
    /* Where the runtime was seen as well, what only the driver saw is somebody else's: a library
     * with a runtime of its own. */
    if (analysis->driver.transfers && analysis->runtime.transfers)
        xfc_print(out,
                  "  %-12s of these, %" PRIu64 " (%s) were seen at the driver's interface only\n",
                  "", analysis->driver.transfers, xfa_bytes_text(bytes, analysis->driver.bytes));
}

static void write_content(const struct xfa_analysis *analysis, FILE *out)
{
    const struct xfa_contents *contents = &analysis->contents;
    char took[XFA_UNIT_CHARS];
    double wall = xfa_run_wall_ns(analysis->run);
    if (contents->why)
        xfc_print(out, "  %-12s not hashed: %s\n", "contents", contents->why);
    if (!contents->whole && !contents->on_samples)
        return;
    xfc_print(out, "  %-12s %" PRIu64 " hashed (%" PRIu64 " by samples), ", "contents",
              contents->hashes, contents->sampled);
    if (contents->skipped_unknown && contents->skipped == 0)
        fputs("not known how many were not", out);
    else
        xfc_print(out, "%s%" PRIu64 " not", contents->skipped_unknown ? "at least " : "",
                  contents->skipped);
    xfc_print(out, "; took %s", xfa_time_text(took, contents->hash_ns));
    if (wall > 0 && !analysis->run->simulated) /* that clock stands still meanwhile */
        xfc_print(out, ", %.2g %% of the run", contents->hash_ns / wall * 100);
    fputc('\n', out);
    if (contents->not_compared)
        xfc_print(out, "  %-12s %" PRIu64 " of them over the limit, not compared\n", "",
                  contents->not_compared);
}

static void say_uncounted(FILE *out, const char *what, uint64_t count)
{
    if (count)
        xfc_print(out, "  %-12s %s: %" PRIu64 "\n", "not counted", what, count);
}

static void write_uncounted(const struct xfa_counts *counts, FILE *out)
{
    char bytes[XFA_UNIT_CHARS];
    say_uncounted(out, "transfers that returned an error", counts->failed);
    say_uncounted(out, "transfers captured into graphs", counts->captured);
    say_uncounted(out, "transfers of no bytes", counts->empty);
    say_uncounted(out, "device times that came too late for their call, or not at all",
                  counts->late);
    if (counts->device_only)
        xfc_print(out, "  %-12s device copies without a recorded call: %" PRIu64 ", %s\n",
                  "not counted", counts->device_only,
                  xfa_bytes_text(bytes, counts->device_only_bytes));
}

static void write_losses(const struct xfa_run *run, FILE *out)
{
    for (size_t i = 0; i < run->unreadable_count; i++)
        xfc_print(out, "  %-12s %s\n", "UNREADABLE", run->unreadable[i]);
    for (size_t i = 0; i < run->process_count; i++)
        if (run->processes[i]->losses)
            xfc_print(out, "  %-12s %s: %s\n", "LOST", run->processes[i]->file,
                      run->processes[i]->losses);
    for (size_t i = 0; i < run->process_count; i++)
        if (!run->processes[i]->closed)
            xfc_print(out,
                      "  %-12s %s: recording did not end properly (the process was killed or "
                      "still runs); what it had done is in the report\n",
                      "unfinished", run->processes[i]->file);
}

void xfa_write_run(const struct xfa_report *report, FILE *out)
{
    const struct xfa_run *run = report->analysis->run;
    xfc_print(out, "Run %s\n", run->path);
    xfa_write_field(out, "program", run->program ? run->program : "not recorded");
    write_command(run, out);
    write_hosts(run, out);
    write_gpus(run, out);
    write_start(run, out);
    write_timing(run, out);
    write_format(run, out);
    write_traffic(report->analysis, out);
    write_content(report->analysis, out);
    write_uncounted(&report->analysis->counts, out);
    write_losses(run, out);
}

void xfa_write_machine(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    const struct xfa_analysis *analysis = report->analysis;
    const struct xfp_profile *profile = analysis->profile;
    fputs("\nMachine profile\n", out);
    xfa_write_field(out, "UNREADABLE", analysis->profile_problem);
    if (!profile) {
        xfa_write_field(out, "none",
                        "what this machine could have given is not known: measure it with "
                        "`xferscope probe`, then analyze with --profile");
        return;
    }
    const char *host = profile->machine.hostname, *created = profile->created;
    xfa_write_field(out, "profile", analysis->profile_path);
    xfc_print(out, "  %-12s %s%s%s%s\n", "measured on", host && *host ? host : "unknown host",
              created && *created ? ", " : "", created ? created : "",
              profile->machine.simulated ? " (simulated GPU)" : "");
    if (analysis->achievable.match == XFA_MATCH_UNKNOWN)
        xfa_write_field(out, "note",
                        "whether it is the machine of the run cannot be told from the trace");
    if (analysis->achievable.mismatch)
        xfa_write_paragraph(out, "  WARNING      ", analysis->achievable.mismatch, view->width);
    for (size_t i = 0; i < profile->warning_count; i++)
        xfa_write_paragraph(out, "  note         ", profile->warnings[i], view->width);
}
