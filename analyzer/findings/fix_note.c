#include "analyzer/findings/fix_note.h"

#include "analyzer/findings/finding.h"
#include "analyzer/findings/pageable_uses.h"

/* Each buffer, before its first use. */
static bool locks_once(enum xfa_remedy_kind kind)
{
    return kind == XFA_REMEDY_PIN || kind == XFA_REMEDY_PIN_FOR_ASYNC ||
           kind == XFA_REMEDY_PIN_ASYNCHRONOUS || kind == XFA_REMEDY_PIN_OVERLAP;
}

static bool has_rounds(enum xfa_remedy_kind kind)
{
    return kind == XFA_REMEDY_OVERLAP || kind == XFA_REMEDY_PIN_OVERLAP;
}

static struct xfw_pinned pinned_of(const struct xfa_pageable_uses *uses,
                                   const struct xfa_analysis *analysis,
                                   const struct xfa_finding *finding)
{
    struct xfw_pinned all = {0};
    double most = 0, ns = 0;
    for (size_t i = 0; i < finding->site_count; i++) {
        const struct xfa_row *row = finding->sites[i].row;
        if (!row || !xfa_is_pageable_row(row))
            continue;
        struct xfa_pageable_costs costs = xfa_pageable_costs_of(uses, analysis, row);
        ns += costs.once_ns > 0 ? costs.once_ns : 0;
        if (costs.once.ns > most) {
            all = costs.once;
            most = costs.once.ns;
        }
    }
    all.ns = ns;
    return all;
}

/* Other findings say what page-locking takes: then each that advises it has to. */
static bool is_spoken_of(const struct xfa_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].id == XFA_FINDING_PAGE_LOCKING && !findings->items[i].idle)
            return true;
    return false;
}

void xfa_findings_note(struct xfa_findings *findings, const struct xfa_analysis *analysis)
{
    const struct xfa_pageable_uses *uses = findings->selves[XFA_FINDING_PAGEABLE];
    const struct xfw_whatif *whatif = findings->whatif;
    const double run_ns = whatif->known ? whatif->alone_ns : xfa_run_wall_ns(analysis->run);
    const double least = is_spoken_of(findings) ? 0 : XFA_LEAST_SAVED * run_ns;
    for (size_t i = 0; i < findings->count; i++) {
        struct xfa_finding *finding = &findings->items[i];
        finding->note.in_order = has_rounds(finding->remedy.kind) && uses->sent_fetched > 0;
        if (!analysis->profile || !locks_once(finding->remedy.kind))
            continue;
        const struct xfw_pinned pinned = pinned_of(uses, analysis, finding);
        if (pinned.ns > 0 && pinned.ns >= least)
            finding->note.pinned = pinned;
    }
}
