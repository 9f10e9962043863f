#include "analyzer/findings/overlappable.h"

#include <math.h>

#include "analyzer/base/alloc.h"

#define LEAST_SHARE 0.02 /* of all such copies' time, or a row is no site */

static bool is_locked_once(const struct xfa_analysis *analysis,
                           const struct xfa_pageable_uses *uses, const struct xfa_row *row)
{
    struct xfa_pageable_costs costs = xfa_pageable_costs_of(uses, analysis, row);
    return costs.copies > 0 && costs.copies >= 2 * costs.firsts && !isnan(costs.pinned_ns);
}

double xfa_overlappable_row_ns(const struct xfa_analysis *analysis,
                               const struct xfa_pageable_uses *uses, size_t row)
{
    const struct xfa_row *what = xfa_analysis_row(analysis, row);
    const struct xfa_row_key *key = &what->key;
    const struct xfa_figures *figures = &analysis->rows[row];
    if (key->direction != XFT_DIR_H2D && key->direction != XFT_DIR_D2H)
        return 0;
    if (!xfa_row_pageable(key))
        return figures->device.ns;
    return uses && is_locked_once(analysis, uses, what) ? figures->device.ns + figures->host.ns : 0;
}

double xfa_overlappable_ns(const struct xfa_analysis *analysis,
                           const struct xfa_pageable_uses *uses, enum xft_direction direction)
{
    double ns = 0;
    for (size_t i = 0; i < analysis->row_count; i++)
        if (xfa_analysis_row(analysis, i)->key.direction == direction)
            ns += xfa_overlappable_row_ns(analysis, uses, i);
    return ns;
}

/* In whose terms: those of the site that takes longest. */
static const struct xfa_row *longest(const struct xfa_analysis *analysis,
                                     const struct xfa_pageable_uses *uses)
{
    double most = -1;
    size_t best = 0;
    for (size_t i = 0; i < analysis->row_count; i++) {
        double ns = xfa_overlappable_row_ns(analysis, uses, i);
        best = ns > most ? i : best;
        most = fmax(most, ns);
    }
    return xfa_analysis_row(analysis, best);
}

struct xfa_finding *xfa_overlappable_add(struct xfa_findings *findings,
                                         const struct xfa_analysis *analysis,
                                         const struct xfa_pageable_uses *uses,
                                         enum xfa_finding_id id, enum xfa_remedy_kind kind,
                                         unsigned streams)
{
    const struct xfa_row *first = longest(analysis, uses);
    struct xfa_remedy remedy = xfa_remedy_for(first, kind);
    double all = xfa_overlappable_ns(analysis, uses, XFT_DIR_H2D) +
                 xfa_overlappable_ns(analysis, uses, XFT_DIR_D2H);
    remedy.streams = (int)streams;
    remedy.to_host = false;
    struct xfa_finding *finding = xfa_findings_add(findings, id, &remedy);
    finding->achieved_ns = all;
    finding->achieved_basis = uses ? XFA_BASIS_MIXED : XFA_BASIS_DEVICE;
    for (size_t i = 0; i < analysis->row_count; i++) {
        const struct xfa_row *row = xfa_analysis_row(analysis, i);
        const struct xfa_figures *figures = &analysis->rows[i];
        double ns = xfa_overlappable_row_ns(analysis, uses, i);
        if (ns <= LEAST_SHARE * all && row != first) /* of very many sites none has a share */
            continue;
        const struct xfa_finding_site site = {
            .row = row,
            .site = row->site,
            .function = xfa_row_called(row),
            .transfers = figures->transfers,
            .bytes = figures->bytes,
            .lost_ns = NAN,
            .reckoning = XFA_RECKONED_SERIAL,
        };
        xfa_finding_site_add(finding, &site);
        finding->transfers += site.transfers;
        finding->bytes = xfa_add(finding->bytes, site.bytes);
    }
    return finding;
}
