#include "analyzer/findings/moved_on_demand.h"

#include <math.h>

#include "analyzer/base/alloc.h"

static uint64_t moved_bytes(const struct xfa_managed_figures *figures)
{
    uint64_t bytes = 0;
    for (size_t d = 0; d < XFT_DIRECTION_COUNT; d++)
        bytes = xfa_add(bytes, figures->bytes[d]);
    uint64_t asked_for = figures->by_cause[XFT_CAUSE_USER];
    return bytes > asked_for ? bytes - asked_for : 0;
}

static void add(struct xfa_findings *findings, const struct xfa_analysis *analysis,
                const struct xfa_finding *like, xfa_is_moved_fn *is, enum xfa_dialect dialect)
{
    double least = fmax(XFA_LEAST_LOST_NS, XFA_LEAST_PART * xfa_run_wall_ns(analysis->run));
    struct xfa_remedy remedy = like->remedy;
    struct xfa_finding *finding = NULL;
    remedy.dialect = dialect;
    for (size_t i = 0; i < analysis->managed.sites.count; i++) {
        const struct xfa_managed_site *of = xfa_table_at(&analysis->managed.sites, i);
        const struct xfa_site *site = xfa_run_site(analysis->run, of->site);
        const struct xfa_finding_site found = {
            .site = site,
            .transfers = of->figures.allocations,
            .bytes = moved_bytes(&of->figures),
            .lost_ns = fmax(of->figures.fault_ns, of->figures.migration_ns),
            .reckoning = like->reckoning,
        };
        if (site->dialect != dialect || found.bytes == 0 || !(found.lost_ns > least) ||
            (is && !is(&of->figures)))
            continue;
        if (!finding) {
            finding = xfa_findings_add(findings, like->id, &remedy);
            finding->assumed = like->assumed;
            finding->lost_ns = 0;
        }
        xfa_finding_site_add(finding, &found);
        finding->transfers += found.transfers;
        finding->bytes = xfa_add(finding->bytes, found.bytes);
        finding->lost_ns += found.lost_ns;
    }
}

void xfa_moved_find(const struct xfa_analysis *analysis, struct xfa_findings *findings,
                    const struct xfa_finding *like, xfa_is_moved_fn *is)
{
    for (unsigned dialect = 0; dialect < XFA_DIALECTS; dialect++)
        add(findings, analysis, like, is, dialect);
}
