/* The section "Ranks": which of them stand out. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "analyzer/report/text/text.h"
#include "common/text.h"

#define SHOWN_OUTLIERS 10 /* at most, unless --top 0 */

static const struct xfa_rank_sum *rank_at(const struct xfa_ranks *ranks, size_t i)
{
    return xfa_table_at(&ranks->all, i);
}

/* "rank 7 (node03, 41-2.trace): " */
static char *name_of(const struct xfa_run *run, const struct xfa_rank_sum *rank)
{
    const struct xfa_process *process = rank->process;
    const char *host = run->hosts[process->host].name;
    char who[48];
    if (rank->key.is_rank)
        snprintf(who, sizeof who, "rank %u", process->rank.number);
    else
        snprintf(who, sizeof who, "process %d", process->pid);
    return xfa_print("%s (%s%s%s): ", who, host ? host : "", host ? ", " : "", process->file);
}

static char *stands_out(const struct xfa_outlier *outlier)
{
    char text[XFA_UNIT_CHARS], times[48] = "the median is none";
    double ratio = outlier->figure / outlier->median;
    if (isfinite(ratio))
        snprintf(times, sizeof times, "%.2f times the median", ratio);
    switch (outlier->measure) {
    case XFA_RANK_BYTES:
        return xfa_print("moved %s, %s", xfa_bytes_text(text, xfa_count_of(outlier->figure)),
                         times);
    case XFA_RANK_GBPS:
        return xfa_print("achieved %s GB/s, %s", xfa_gbps_text(text, outlier->figure), times);
    default:
        return xfa_print("%.0f %% of its traffic is with host memory of another NUMA node than "
                         "its GPU's; the median is %.0f %%",
                         100 * outlier->figure, 100 * outlier->median);
    }
}

static void write_outlier(const struct xfa_analysis *analysis, const struct xfa_outlier *outlier,
                          int width, FILE *out)
{
    char *name = name_of(analysis->run, rank_at(&analysis->ranks, outlier->rank));
    char *how = stands_out(outlier);
    xfa_write_words(out, width, "  ", "%s%s", name, how);
    free(name);
    free(how);
}

static void write_title(const struct xfa_analysis *analysis, const struct xfa_view *view, FILE *out)
{
    const struct xfa_ranks *ranks = &analysis->ranks;
    char bytes[XFA_UNIT_CHARS], gbps[XFA_UNIT_CHARS];
    size_t hosts = analysis->run->host_count;
    double moved = xfa_ranks_median(ranks, XFA_RANK_BYTES);
    double speed = xfa_ranks_median(ranks, XFA_RANK_GBPS);
    bool known = !isnan(speed);
    xfa_write_title(view, out, "%s (%zu on %zu host%s; median of each: %s moved%s%s%s)",
                    ranks->any ? "Ranks" : "Processes", xfa_ranks_count(ranks), hosts,
                    xfa_plural(hosts), xfa_bytes_text(bytes, xfa_count_of(moved)),
                    known ? ", " : "", known ? xfa_gbps_text(gbps, speed) : "",
                    known ? " GB/s achieved" : "");
}

void xfa_write_ranks(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    const struct xfa_analysis *analysis = report->analysis;
    const struct xfa_ranks *ranks = &analysis->ranks;
    size_t count, shown;
    struct xfa_outlier *outliers = xfa_ranks_outliers(ranks, &count);
    bool shows = ranks->any ? xfa_ranks_count(ranks) > 1 : count > 0;
    shown = view->top && count > SHOWN_OUTLIERS ? SHOWN_OUTLIERS : count;
    if (shows) {
        write_title(analysis, view, out);
        for (size_t i = 0; i < shown; i++)
            write_outlier(analysis, &outliers[i], view->width, out);
        xfa_write_hidden(out, count - shown);
        if (xfa_ranks_count(ranks) < XFA_LEAST_RANKS)
            xfc_print(out, "  fewer than %d are not compared\n", XFA_LEAST_RANKS);
        else if (count == 0)
            fputs("  none stands out\n", out);
    }
    free(outliers);
}
