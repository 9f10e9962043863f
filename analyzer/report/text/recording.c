/* The run's line about what recording cost. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "analyzer/report/text/text.h"

#define SHOWN_KINDS 3
#define LEAST_PART 0.05 /* of all that recording took, for a kind to be named beside the first */

/* The next kind in the order of what it took; 0 = none that matters. */
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
        char *longer =
            xfa_print("%s%s%s per %s", text, *text ? ", " : "",
                      xfa_time_text(ns, recording->kinds[kind].ns), xft_event_word(kind));
        free(text);
        text = longer;
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

void xfa_write_recording(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
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
