/* The section "The run". */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "analyzer/report/facts.h"
#include "analyzer/report/savings.h"
#include "analyzer/report/text/text.h"
#include "analyzer/timeline/timeline.h"
#include "common/text.h"

/* ---- what recording cost --------------------------------------------------------------------- */

#define SHOWN_KINDS 3
#define LEAST_PART 0.05 /* part of recording's time from which on a second kind is named */

/* The kind that took most of those not named yet; 0: none that counts. */
static unsigned next_kind(const struct xfa_recording *recording, const bool *named, bool first)
{
    unsigned best = 0;
    double least = first ? 0 : LEAST_PART * recording->took_ns;
    for (unsigned kind = 1; kind < XFA_EVENT_KINDS; kind++) {
        double took = recording->kinds[kind].took_ns;
        if (!named[kind] && took > least && (!best || took > recording->kinds[best].took_ns))
            best = kind;
    }
    return best;
}

/* "112 ns per transfer, 84 ns per launch" */
static char *kinds_text(const struct xfa_recording *recording)
{
    bool named[XFA_EVENT_KINDS] = {false};
    char *text = xfa_text("");
    for (unsigned shown = 0; shown < SHOWN_KINDS; shown++) {
        char ns[XFA_UNIT_CHARS];
        unsigned kind = next_kind(recording, named, shown == 0);
        if (kind == 0)
            break;
        named[kind] = true;
        text = xfa_append(text, "%s%s per %s", *text ? ", " : "",
                          xfa_time_text(ns, recording->kinds[kind].ns), xft_event_word(kind));
    }
    return text;
}

static bool any_cupti(const struct xfa_run *run)
{
    for (size_t i = 0; i < run->process_count; i++)
        if (run->processes[i]->timing && strcmp(run->processes[i]->timing, "cupti") == 0)
            return true;
    return false;
}

static void write_recording(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    const struct xfa_run *run = report->analysis->run;
    const struct xfa_recording *recording = &report->analysis->recording;
    char took[XFA_UNIT_CHARS], part[64] = "", once[64] = "", ns[XFA_UNIT_CHARS];
    if (recording->took_ns <= 0)
        return;
    if (recording->processes_ns > 0)
        snprintf(part, sizeof part, ", %.2g %% of %s",
                 recording->took_ns / recording->processes_ns * 100,
                 run->process_count == 1 ? "the run" : "the processes' time");
    if (recording->once_ns > 0)
        snprintf(once, sizeof once, ", and %s once", xfa_time_text(ns, recording->once_ns));
    char *kinds = kinds_text(recording);
    xfa_write_fact(out, view->width, "recording", "about %s; in all %s%s%s%s", kinds,
                   xfa_time_text(took, recording->took_ns), part, once,
                   any_cupti(run) ? " (CUPTI's own part is not in it)" : "");
    free(kinds);
}

/* ---- what is in no row, and what was lost ---------------------------------------------------- */

#define SHOWN_FILES 10 /* of each kind at most, unless --top 0 */

static void say_uncounted(FILE *out, int width, const char *what, uint64_t count)
{
    if (count)
        xfa_write_fact(out, width, "not counted", "%s: %" PRIu64, what, count);
}

static uint64_t calls_after_end(const struct xfa_run *run)
{
    uint64_t calls = 0;
    for (size_t i = 0; i < run->process_count; i++)
        if (calls <= UINT64_MAX - run->processes[i]->calls_after_end)
            calls += run->processes[i]->calls_after_end;
    return calls;
}

static void write_uncounted(const struct xfa_analysis *analysis, int width, FILE *out)
{
    const struct xfa_counts *counts = &analysis->counts;
    char bytes[XFA_UNIT_CHARS];
    say_uncounted(out, width, "transfers that returned an error", counts->failed);
    say_uncounted(out, width, "transfers captured into graphs", counts->captured);
    say_uncounted(out, width, "transfers of no bytes", counts->empty);
    say_uncounted(out, width, "device times that came too late for their call, or not at all",
                  counts->late);
    say_uncounted(out, width, "calls of threads that began while their process ended",
                  calls_after_end(analysis->run));
    if (counts->device_only)
        xfa_write_fact(out, width, "not counted",
                       "device copies without a recorded call: %" PRIu64 ", %s",
                       counts->device_only, xfa_bytes_text(bytes, counts->device_only_bytes));
}

static void write_unreadable(const struct xfa_run *run, const struct xfa_view *view, FILE *out)
{
    size_t shown = xfa_shown_facts(view, run->unreadable_count, SHOWN_FILES);
    for (size_t i = 0; i < shown; i++)
        xfa_write_warning(view, out, "UNREADABLE", run->unreadable[i]);
    xfa_write_hidden(out, run->unreadable_count - shown);
}

static bool has_losses(const struct xfa_process *process)
{
    return process->losses != NULL;
}

static void write_loss(const struct xfa_process *process, const struct xfa_view *view, FILE *out)
{
    char *text = xfa_print("%s: %s", process->file, process->losses);
    xfa_write_warning(view, out, "LOST", text);
    free(text);
}

static bool has_failed_checks(const struct xfa_process *process)
{
    return process->checks_failed != NULL;
}

static void write_failed_checks(const struct xfa_process *process, const struct xfa_view *view,
                                FILE *out)
{
    char *text = xfa_print("%s: checks of the recorder's own code failed (%s): figures may be "
                           "wrong, please report it",
                           process->file, process->checks_failed);
    xfa_write_warning(view, out, "WARNING", text);
    free(text);
}

static bool is_unfinished(const struct xfa_process *process)
{
    return !process->closed;
}

static void write_unfinished(const struct xfa_process *process, const struct xfa_view *view,
                             FILE *out)
{
    xfa_write_fact(out, view->width, "unfinished",
                   "%s: recording did not end properly (the process was killed or still runs); "
                   "what it had done is in the report",
                   process->file);
}

/* Writes a line for the first of the processes for which is_so(), and how many more there are. */
static void write_those(const struct xfa_run *run, const struct xfa_view *view, FILE *out,
                        bool (*is_so)(const struct xfa_process *process),
                        void (*write)(const struct xfa_process *process,
                                      const struct xfa_view *view, FILE *out))
{
    size_t count = 0, shown;
    for (size_t i = 0; i < run->process_count; i++)
        count += is_so(run->processes[i]);
    shown = xfa_shown_facts(view, count, SHOWN_FILES);
    for (size_t i = 0, left = shown; left > 0; i++) {
        if (!is_so(run->processes[i]))
            continue;
        write(run->processes[i], view, out);
        left--;
    }
    xfa_write_hidden(out, count - shown);
}

static void write_missing(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    const struct xfa_run *run = report->analysis->run;
    write_uncounted(report->analysis, view->width, out);
    xfa_write_folded(out, view->width,
                     &(struct xfa_folded){"transfers", "GPUs", "kinds",
                                          report->analysis->without_gpu,
                                          report->analysis->without_site});
    write_unreadable(run, view, out);
    write_those(run, view, out, has_losses, write_loss);
    write_those(run, view, out, has_failed_checks, write_failed_checks);
    write_those(run, view, out, is_unfinished, write_unfinished);
}

/* ---- the section ----------------------------------------------------------------------------- */

#define SHOWN_HOSTS 10 /* at most, unless --top 0; as the next two */
#define SHOWN_GPUS 64
#define SHOWN_TIMINGS 10

static void write_command(const struct xfa_run *run, int width, FILE *out)
{
    size_t count = run->argument_count;
    char **words = xfa_alloc((count + 1) * sizeof *words);
    for (size_t i = 0; i < count; i++)
        words[i] = xfa_argument_text(run->arguments[i]);
    if (count)
        xfa_write_list(out, "  command      ", words, count, width);
    for (size_t i = 0; i < count; i++)
        free(words[i]);
    free(words);
}

/* Number of hosts whose names are known. */
static size_t named_hosts(const struct xfa_run *run)
{
    size_t count = 0;
    for (size_t i = 0; i < run->host_count; i++)
        count += run->hosts[i].name != NULL;
    return count;
}

static void write_hosts(const struct xfa_run *run, const struct xfa_view *view, FILE *out)
{
    size_t named = named_hosts(run), shown = xfa_shown_facts(view, named, SHOWN_HOSTS), count = 0;
    if (named <= 1) {
        xfa_write_field(out, view->width, "host", run->hostname);
        return;
    }
    char **words = xfa_alloc((shown + 1) * sizeof *words);
    for (size_t i = 0; count < shown; i++) {
        if (!run->hosts[i].name)
            continue;
        words[count] = xfa_print("%s%s", run->hosts[i].name, count + 1 < named ? "," : "");
        count++;
    }
    if (shown < named)
        words[count++] = xfa_print("... and %zu more", named - shown);
    xfa_write_list(out, "  host         ", words, count, view->width);
    while (count > 0)
        free(words[--count]);
    free(words);
}

static void write_gpus(const struct xfa_run *run, const struct xfa_view *view, FILE *out)
{
    bool hosts = named_hosts(run) > 1;
    size_t shown = xfa_shown_facts(view, run->gpu_count, SHOWN_GPUS);
    for (size_t i = 0; i < shown; i++) {
        const struct xfa_gpu *gpu = &run->gpus[i];
        const char *host = hosts ? run->hosts[gpu->host].name : NULL;
        xfa_write_fact(out, view->width, i ? "" : "GPU", "%zu: %s%s%s%s", i,
                       gpu->name ? gpu->name : "unknown", run->simulated ? " (simulated GPU)" : "",
                       host ? ", " : "", host ? host : "");
    }
    xfa_write_hidden(out, run->gpu_count - shown);
    if (run->gpu_count == 0)
        xfa_write_field(out, view->width, "GPU", run->simulated ? "simulated GPU" : "not recorded");
}

static void write_start(const struct xfa_run *run, int width, FILE *out)
{
    char wall[XFA_UNIT_CHARS], when[64] = "";
    uint64_t start = xfa_run_start_real_ns(run);
    double ns = xfa_run_wall_ns(run);
    time_t seconds = (time_t)(start / 1000000000u);
    struct tm utc;
    if (start && gmtime_r(&seconds, &utc))
        strftime(when, sizeof when, ", started %Y-%m-%d %H:%M:%S UTC", &utc);
    xfa_write_fact(out, width, "wall time", "%s%s, %zu process%s",
                   xfa_time_text(wall, ns > 0 ? ns : NAN), when, run->process_count,
                   run->process_count == 1 ? "" : "es");
}

/* ---- device times ---------------------------------------------------------------------------- */

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

struct timing {
    const char *text, *why;
    size_t processes;
};

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* The different ones, in the order of the first process of each. */
static struct timing *timings_of(const struct xfa_run *run, size_t *count)
{
    struct timing *timings = xfa_alloc((run->process_count + 1) * sizeof *timings);
    *count = 0;
    for (size_t i = 0; i < run->process_count; i++) {
        const struct xfa_process *process = run->processes[i];
        const char *text = timing_text(process->timing);
        size_t k = 0;
        while (k < *count && !(same_text(timings[k].text, text) &&
                               same_text(timings[k].why, process->timing_why)))
            k++;
        if (k == *count)
            timings[(*count)++] = (struct timing){text, process->timing_why, 0};
        timings[k].processes++;
    }
    return timings;
}

static void write_timing(const struct xfa_run *run, const struct xfa_view *view, FILE *out)
{
    size_t count;
    struct timing *timings = timings_of(run, &count);
    size_t shown = xfa_shown_facts(view, count, SHOWN_TIMINGS);
    for (size_t i = 0; i < shown; i++) {
        const struct timing *timing = &timings[i];
        char processes[64] = "";
        if (count > 1)
            snprintf(processes, sizeof processes, ", %zu process%s", timing->processes,
                     timing->processes == 1 ? "" : "es");
        xfa_write_fact(out, view->width, i ? "" : "timing", "%s%s%s%s%s", timing->text,
                       timing->why ? " (" : "", timing->why ? timing->why : "",
                       timing->why ? ")" : "", processes);
    }
    xfa_write_hidden(out, count - shown);
    free(timings);
}

/* What the report lacks because the trace has an older format. */
static void write_format(const struct xfa_run *run, int width, FILE *out)
{
    const char *const *lacks = xfa_run_lacks(run);
    for (size_t i = 0; lacks[i]; i++) {
        char version[16];
        snprintf(version, sizeof version, "%u.%d", XFT_VERSION_MAJOR, run->oldest_minor);
        xfa_write_fact(out, width, i ? "" : "format", "%s%s%s", i ? "" : version,
                       i ? "without " : ", without ", lacks[i]);
    }
}

static void write_traffic(const struct xfa_analysis *analysis, int width, FILE *out)
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
        xfa_write_field(out, width, "transfers", "none");
    /* Where runtime calls were recorded too, transfers of the driver's interface are of a library
     * with a runtime of its own. */
    if (analysis->driver.transfers && analysis->runtime.transfers)
        xfa_write_fact(out, width, "",
                       "of these, %" PRIu64 " (%s) %s seen at the driver's interface only",
                       analysis->driver.transfers, xfa_bytes_text(bytes, analysis->driver.bytes),
                       analysis->driver.transfers == 1 ? "was" : "were");
}

/* Time of hashing, where it is known. */
static void content_cost(char text[96], const struct xfa_analysis *analysis)
{
    char took[XFA_UNIT_CHARS];
    double ns = analysis->contents.hash_ns, wall = xfa_run_wall_ns(analysis->run);
    *text = 0;
    if (ns <= 0)
        return;
    int end = snprintf(text, 96, "; took %s", xfa_time_text(took, ns));
    if (wall > 0 && !analysis->run->simulated) /* the simulated clock stands still meanwhile */
        snprintf(text + end, 96 - (size_t)end, ", %.2g %% of the run", ns / wall * 100);
}

static void write_content(const struct xfa_analysis *analysis, int width, FILE *out)
{
    const struct xfa_contents *contents = &analysis->contents;
    char not [64] = "not known how many were not", cost[96];
    if (contents->why)
        xfa_write_fact(out, width, "contents", "not hashed: %s", contents->why);
    if (!contents->whole && !contents->on_samples)
        return;
    content_cost(cost, analysis);
    if (contents->skipped || !contents->skipped_unknown)
        snprintf(not, sizeof not, "%s%" PRIu64 " not", contents->skipped_unknown ? "at least " : "",
                 contents->skipped);
    xfa_write_fact(out, width, "contents", "%" PRIu64 " hashed (%" PRIu64 " by samples), %s%s",
                   contents->hashes, contents->sampled, not, cost);
    if (contents->not_compared)
        xfa_write_fact(out, width, "", "%" PRIu64 " of them over the limit, not compared",
                       contents->not_compared);
}

static void write_host_access(const struct xfa_host_sum *host, int width, FILE *out)
{
    char not [64] = "not known of how many not", took[XFA_UNIT_CHARS];
    if (host->why)
        xfa_write_fact(out, width, "host access", "not known: %s", host->why);
    else if (host->asked) {
        if (!host->skipped_unknown)
            snprintf(not, sizeof not, "%" PRIu64 " not", host->skipped);
        xfa_write_fact(out, width, "host access",
                       "known of %" PRIu64 " copies of 64 KiB and more, %s; took %s: the program "
                       "was slower, for this run and its times",
                       host->known, not, xfa_time_text(took, host->ns));
    }
}

static void write_verify(const struct xfa_verify_sum *verify, int width, FILE *out)
{
    char took[XFA_UNIT_CHARS];
    if (verify->why)
        xfa_write_fact(out, width, "verified", "no: %s", verify->why);
    else if (verify->asked)
        xfa_write_fact(out, width, "verified",
                       "%" PRIu64 " launches, of which %" PRIu64 " left what was copied as it was; "
                       "%" PRIu64 " copies and launches not; took %s: the program was much slower, "
                       "for this run and its times",
                       verify->launches, verify->kept, verify->skipped,
                       xfa_time_text(took, verify->ns));
}

void xfa_write_run(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    const struct xfa_run *run = report->analysis->run;
    int width = view->width;
    xfa_write_title(view, out, "The run");
    xfa_write_field(out, width, "trace", run->path);
    xfa_write_field(out, width, "program", run->program ? run->program : "not recorded");
    write_command(run, width, out);
    write_hosts(run, view, out);
    write_gpus(run, view, out);
    write_start(run, width, out);
    write_timing(run, view, out);
    write_format(run, width, out);
    write_traffic(report->analysis, width, out);
    xfa_write_times(report, view, out);
    write_content(report->analysis, width, out);
    write_host_access(&report->analysis->contents.host, width, out);
    write_verify(&report->analysis->contents.verify, width, out);
    write_recording(report, view, out);
    write_missing(report, view, out);
}

/* ---- what GPUs and transfers took ------------------------------------------------------------ */

/* What the GPUs and the transfers of the run took: facts of the section "The run". */

#define LEAST_SHARE 0.0005

/* Shares of time that add up to the run: what the GPUs did, and while they were idle, whether a
 * thread waited, or launched a kernel. */
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
        {XFA_SHARE_LAUNCHES, "idle (launches)", "launches"},
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
    double took = 0, lost = 0, waits = xfa_waits_ns(&analysis->waits);
    char text[3][XFA_UNIT_CHARS];
    for (size_t i = 0; i < analysis->row_count; i++) {
        const struct xfa_figures *figures = &analysis->rows[i];
        took += figures->device.ns + figures->host.ns;
        lost += figures->lost.ns;
    }
    if (took <= 0 && waits <= 0)
        return;
    xfa_write_fact(out, view->width, "transfers", "took %s, of which %s %s lost%s%s",
                   xfa_time_text(text[0], took > 0 ? took : NAN),
                   analysis->profile ? xfa_time_text(text[1], lost) : "it is not known how much",
                   analysis->profile ? "are" : "is", waits > 0 ? "; waits of the host " : "",
                   waits > 0 ? xfa_time_text(text[2], waits) : "");
}

void xfa_write_times(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    write_times(report->analysis, view, out);
    write_shares(report, view, out);
}
