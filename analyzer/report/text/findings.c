/* The section "Findings". */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyzer/report/savings.h"
#include "analyzer/report/text/text.h"
#include "common/text.h"

#define FINDING_SITES 5 /* shown per finding */

static void write_site(const struct xfa_finding_site *site, const struct xfa_run *run, int width,
                       FILE *out)
{
    char bytes[XFA_UNIT_CHARS], lost[XFA_UNIT_CHARS], in_part[XFA_IN_PART_CHARS];
    bool known = !isnan(site->lost_ns);
    const char *called = site->function ? site->function->name : NULL;
    char *way = xfa_finding_site_path(site, run);
    xfa_write_words(out, width, "     at  ", "%s%s%s%s%s: %" PRIu64 " %s%s, %s%s%s%s",
                    site->site->text, called ? ", " : "", called ? called : "", way ? " " : "",
                    way ? way : "", site->transfers, way ? "transfer" : "call",
                    xfa_plural(site->transfers), xfa_bytes_text(bytes, site->bytes),
                    known ? ", lost " : "", known ? xfa_time_text(lost, site->lost_ns) : "",
                    xfa_in_part_text(in_part, site));
    free(way);
    if (site->earlier)
        xfa_write_words(out, width, "         ", "after the copy at %s", site->earlier->text);
}

static void write_sites(const struct xfa_finding *finding, const struct xfa_run *run,
                        const struct xfa_view *view, FILE *out)
{
    size_t shown = 0;
    for (size_t i = 0; i < finding->site_count && shown < FINDING_SITES; i++) {
        if (!xfa_view_site(view, &finding->sites[i]))
            continue;
        write_site(&finding->sites[i], run, view->width, out);
        shown++;
    }
    if (finding->site_count > shown) {
        size_t more = finding->site_count - shown;
        xfc_print(out, "     ... and %zu more call site%s\n", more, xfa_plural(more));
    }
}

static void write_lost(const struct xfa_finding *finding, int width, FILE *out)
{
    char lost[XFA_UNIT_CHARS], bytes[XFA_UNIT_CHARS], had[XFA_UNIT_CHARS], best[XFA_UNIT_CHARS];
    char achieved[64] = "", achievable[64] = "";
    double moved = (double)finding->bytes;
    if (finding->achieved_ns > 0)
        snprintf(achieved, sizeof achieved, "; achieved %s GB/s",
                 xfa_gbps_text(had, moved / finding->achieved_ns));
    if (finding->achievable_ns > 0)
        snprintf(achievable, sizeof achievable, ", achievable %s GB/s",
                 xfa_gbps_text(best, moved / finding->achievable_ns));
    xfa_write_words(out, width, "     lost ", "%s in %" PRIu64 " %s%s%s%s%s%s",
                    isnan(finding->lost_ns) ? "not known" : xfa_time_text(lost, finding->lost_ns),
                    finding->transfers, finding->sites[0].row ? "transfer" : "call",
                    xfa_plural(finding->transfers), finding->bytes ? ", " : "",
                    finding->bytes ? xfa_bytes_text(bytes, finding->bytes) : "", achieved,
                    achievable);
}

static void write_finding(const struct xfa_report *report, const struct xfa_finding *finding,
                          size_t number, const struct xfa_view *view, FILE *out)
{
    int width = view->width;
    char fix[XFA_REMEDY_CHARS];
    char lead[32];
    snprintf(lead, sizeof lead, "%2zu. ", number);
    fputs(xfa_style(view, XFA_STYLE_TITLE), out);
    xfa_write_words(out, width, lead, "%s: %s", xfa_finding_word(finding->id),
                    xfa_finding_title(finding->id));
    fputs(xfa_style(view, XFA_STYLE_NONE), out);
    xfa_write_saving(report, finding, view, out);
    write_lost(finding, width, out);
    write_sites(finding, report->analysis->run, view, out);
    xfa_write_paragraph(out, "     fix ", xfa_remedy_text(&finding->remedy, fix), width);
    xfa_write_paragraph(
        out, "     lost = ", xfa_reckoning_text(finding->reckoning, finding->probably), width);
}

void xfa_write_findings(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    const struct xfa_findings *findings = report->findings;
    bool known = xfa_savings_known(findings);
    xfa_write_title(view, out, "%s",
                    known ? "Findings, by what the run would save with each alone"
                          : "Findings, worst first (each stands alone: one transfer may be in "
                            "several)");
    xfa_write_savings_head(findings, view->width, out);
    if (findings->count == 0 && !known)
        fputs("  none\n", out);
    for (size_t i = 0; i < findings->count && !findings->items[i].idle; i++)
        if (xfa_view_finding(view, i))
            write_finding(report, &findings->items[i], i + 1, view, out);
    xfa_write_idle(report, view, out);
}
