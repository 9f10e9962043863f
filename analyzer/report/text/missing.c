/* What is in no row of the report, and what was lost. */
#include <inttypes.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "analyzer/report/text/text.h"
#include "common/text.h"

#define SHOWN_FILES 10 /* of each kind at most, unless all rows are asked for */

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

/* The first of the processes that are so, and how many more. */
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

void xfa_write_missing(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    const struct xfa_run *run = report->analysis->run;
    write_uncounted(report->analysis, view->width, out);
    write_unreadable(run, view, out);
    write_those(run, view, out, has_losses, write_loss);
    write_those(run, view, out, has_failed_checks, write_failed_checks);
    write_those(run, view, out, is_unfinished, write_unfinished);
}
