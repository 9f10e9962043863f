/* What the GPUs and the transfers of the run took: facts of the section "The run". */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "analyzer/report/savings.h"
#include "analyzer/report/text/text.h"
#include "analyzer/timeline/timeline.h"

#define LEAST_SHARE 0.0005

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

void xfa_write_times(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    write_times(report->analysis, view, out);
    write_shares(report, view, out);
}
