#include "analyzer/findings/overlappable.h"

#include <math.h>

#include "analyzer/base/alloc.h"

#define LEAST_SHARE 0.02 /* of all such copies' time, or a row is no site */

double xfa_overlappable_row_ns(const struct xfa_analysis *analysis, size_t row)
{
    const struct xfa_row_key *key = &xfa_analysis_row(analysis, row)->key;
    bool with_host = key->direction == XFT_DIR_H2D || key->direction == XFT_DIR_D2H;
    bool pageable = key->src_mem == XFT_MEM_PAGEABLE || key->dst_mem == XFT_MEM_PAGEABLE;
    return with_host && !pageable ? analysis->rows[row].device.ns : 0;
}

double xfa_overlappable_ns(const struct xfa_analysis *analysis, enum xft_direction direction)
{
    double ns = 0;
    for (size_t i = 0; i < analysis->row_count; i++)
        if (xfa_analysis_row(analysis, i)->key.direction == direction)
            ns += xfa_overlappable_row_ns(analysis, i);
    return ns;
}

/* In whose terms: those of the site that takes longest. */
static const struct xfa_row *longest(const struct xfa_analysis *analysis)
{
    size_t best = 0;
    for (size_t i = 1; i < analysis->row_count; i++)
        if (xfa_overlappable_row_ns(analysis, i) > xfa_overlappable_row_ns(analysis, best))
            best = i;
    return xfa_analysis_row(analysis, best);
}

struct xfa_finding *xfa_overlappable_add(struct xfa_findings *findings,
                                         const struct xfa_analysis *analysis,
                                         enum xfa_finding_id id, enum xfa_remedy_kind kind,
                                         unsigned streams)
{
    struct xfa_remedy remedy = xfa_remedy_for(longest(analysis), kind);
    double all =
        xfa_overlappable_ns(analysis, XFT_DIR_H2D) + xfa_overlappable_ns(analysis, XFT_DIR_D2H);
    remedy.streams = (int)streams;
    remedy.to_host = false;
    struct xfa_finding *finding = xfa_findings_add(findings, id, &remedy);
    finding->achieved_ns = all;
    finding->achieved_basis = XFA_BASIS_DEVICE;
    for (size_t i = 0; i < analysis->row_count; i++) {
        const struct xfa_row *row = xfa_analysis_row(analysis, i);
        const struct xfa_figures *figures = &analysis->rows[i];
        double ns = xfa_overlappable_row_ns(analysis, i);
        if (ns <= LEAST_SHARE * all)
            continue;
        const struct xfa_finding_site site = {
            .row = row,
            .site = row->site,
            .function = xfa_row_called(row),
            .transfers = figures->device.transfers,
            .bytes = figures->device.bytes,
            .lost_ns = NAN,
            .reckoning = XFA_RECKONED_SERIAL,
        };
        xfa_finding_site_add(finding, &site);
        finding->transfers += site.transfers;
        finding->bytes = xfa_add(finding->bytes, site.bytes);
    }
    return finding;
}
