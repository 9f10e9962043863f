/* The section "Ranks": which of them stand out. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyzer/base/units.h"
#include "analyzer/report/text/text.h"
#include "common/text.h"

#define SHOWN_OUTLIERS 10 /* at most, unless all rows are asked for */

static const struct xfa_rank_sum *rank_at(const struct xfa_ranks *ranks, size_t i)
{
    return xfa_table_at(&ranks->all, i);
}

static bool any_rank(const struct xfa_ranks *ranks)
{
    for (size_t i = 0; i < ranks->all.count; i++)
        if (rank_at(ranks, i)->key.is_rank)
            return true;
    return false;
}

static void write_name(const struct xfa_run *run, const struct xfa_rank_sum *rank, FILE *out)
{
    const struct xfa_process *process = rank->process;
    const char *host = run->hosts[process->host].name;
    if (rank->key.is_rank)
        xfc_print(out, "  rank %u (", process->rank.number);
    else
        xfc_print(out, "  process %d (", process->pid);
    xfc_print(out, "%s%s%s): ", host ? host : "", host ? ", " : "", process->file);
}

static void write_outlier(const struct xfa_analysis *analysis, const struct xfa_outlier *outlier,
                          FILE *out)
{
    char text[XFA_UNIT_CHARS];
    write_name(analysis->run, rank_at(&analysis->ranks, outlier->rank), out);
    double times = outlier->figure / outlier->median;
    switch (outlier->measure) {
    case XFA_RANK_BYTES:
        xfc_print(out, "moved %s, ", xfa_bytes_text(text, (uint64_t)outlier->figure));
        break;
    case XFA_RANK_GBPS:
        xfc_print(out, "achieved %s GB/s, ", xfa_gbps_text(text, outlier->figure));
        break;
    default:
        xfc_print(out,
                  "%.0f %% of its traffic is with host memory of another NUMA node than its "
                  "GPU's; the median is %.0f %%\n",
                  100 * outlier->figure, 100 * outlier->median);
        return;
    }
    if (isfinite(times))
        xfc_print(out, "%.2f times the median\n", times);
    else
        fputs("the median is none\n", out);
}

static void write_title(const struct xfa_analysis *analysis, FILE *out)
{
    const struct xfa_ranks *ranks = &analysis->ranks;
    char bytes[XFA_UNIT_CHARS], gbps[XFA_UNIT_CHARS];
    size_t hosts = analysis->run->host_count;
    double moved = xfa_ranks_median(ranks, XFA_RANK_BYTES);
    double speed = xfa_ranks_median(ranks, XFA_RANK_GBPS);
    xfc_print(out, "\n%s (%zu on %zu host%s; median of each: %s moved",
              any_rank(ranks) ? "Ranks" : "Processes", ranks->all.count, hosts, xfa_plural(hosts),
              xfa_bytes_text(bytes, (uint64_t)moved));
    if (!isnan(speed))
        xfc_print(out, ", %s GB/s achieved", xfa_gbps_text(gbps, speed));
    fputs(")\n", out);
}

void xfa_write_ranks(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    const struct xfa_analysis *analysis = report->analysis;
    const struct xfa_ranks *ranks = &analysis->ranks;
    size_t count, shown;
    struct xfa_outlier *outliers = xfa_ranks_outliers(ranks, &count);
    bool told = any_rank(ranks) ? ranks->all.count > 1 : count > 0;
    shown = view->top && count > SHOWN_OUTLIERS ? SHOWN_OUTLIERS : count;
    if (told) {
        write_title(analysis, out);
        for (size_t i = 0; i < shown; i++)
            write_outlier(analysis, &outliers[i], out);
        xfa_write_hidden(out, count - shown);
        if (ranks->all.count < XFA_LEAST_RANKS)
            xfc_print(out, "  fewer than %d are not compared\n", XFA_LEAST_RANKS);
        else if (count == 0)
            fputs("  none stands out\n", out);
    }
    free(outliers);
}
