/* Which part of the run was recorded, where recording was limited. */
#include <inttypes.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "analyzer/report/text/text.h"

#define SHOWN_PROCESSES 4 /* at most, unless all rows are asked for */

/* What had been asked for, behind a colon. */
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
                       "%s%s%s of %s, %zu period%s%s; all times are without the rest", file, colon,
                       xfa_time_text(part, (double)periods->recorded_ns),
                       xfa_time_text(all, (double)periods->process_ns), periods->count,
                       xfa_plural(periods->count), limits);
    if (periods->full_ns)
        xfa_write_fact(out, view->width, "",
                       "nothing was kept from %s on: the files had their size",
                       xfa_time_text(full, (double)periods->full_ns));
    free(limits);
}

void xfa_write_periods(const struct xfa_run *run, const struct xfa_view *view, FILE *out)
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
