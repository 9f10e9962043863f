#include "analyzer/findings/finding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

static const struct xfa_finding_kind *const kinds[] = {
    &xfa_finding_pageable, &xfa_finding_small,    &xfa_finding_sync,
    &xfa_finding_repeated, &xfa_finding_returned, &xfa_finding_duplicate,
};

static bool worth_it(const struct xfa_gain *gain, double wall_ns)
{
    double at_stake = isnan(gain->lost_ns) ? gain->weight_ns : gain->lost_ns;
    double error_ns = isnan(gain->error) || isnan(gain->best_ns) || isnan(gain->lost_ns)
                          ? 0
                          : gain->error * gain->best_ns;
    return at_stake > XFA_LEAST_LOST_NS && at_stake > XFA_LEAST_PART * wall_ns &&
           at_stake > error_ns;
}

/* The finding with the same remedy, or a new one. */
static struct xfa_finding *finding_for(struct xfa_report *report,
                                       const struct xfa_finding_kind *kind, struct xfa_gain *gain)
{
    for (size_t i = 0; i < report->finding_count; i++) {
        struct xfa_finding *finding = &report->findings[i];
        bool knows = !isnan(finding->lost_ns);
        if (strcmp(finding->kind, kind->name) == 0 && strcmp(finding->fix, gain->fix) == 0 &&
            knows == !isnan(gain->lost_ns))
            return finding;
    }
    report->findings = xfa_room(report->findings, &report->finding_capacity,
                                report->finding_count + 1, sizeof *report->findings);
    struct xfa_finding *finding = &report->findings[report->finding_count++];
    *finding = (struct xfa_finding){
        .kind = kind->name,
        .title = kind->title,
        .lost_ns = isnan(gain->lost_ns) ? NAN : 0,
        .fix = gain->fix,
        .achieved_basis = gain->achieved_basis,
        .achievable_basis = gain->achievable_basis,
        .note = gain->note,
        .error = gain->error,
    };
    gain->fix = NULL;
    return finding;
}

static const char *basis_of_both(const char *a, const char *b)
{
    if (!a || !b)
        return NULL;
    return strcmp(a, b) == 0 ? a : "mixed";
}

/* The weakest of two, in this order. */
static const char *weaker(const char *a, const char *b)
{
    static const char *const order[] = {"modelled", "interpolated", "measured"};
    if (!a || !b)
        return NULL;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (strcmp(a, order[i]) == 0 || strcmp(b, order[i]) == 0)
            return order[i];
    return a;
}

static void add_site(struct xfa_finding *finding, const struct xfa_row *row,
                     const struct xfa_gain *gain)
{
    finding->sites = xfa_room(finding->sites, &finding->site_capacity, finding->site_count + 1,
                              sizeof *finding->sites);
    finding->sites[finding->site_count++] =
        (struct xfa_finding_site){row, gain->transfers, gain->bytes, gain->lost_ns, gain->earlier};
    finding->transfers += gain->transfers;
    finding->bytes = xfa_add(finding->bytes, gain->bytes);
    finding->took_ns += gain->took_ns;
    finding->best_ns += gain->best_ns;
    finding->lost_ns += gain->lost_ns;
    finding->error = fmax(finding->error, gain->error);
    finding->achieved_basis = basis_of_both(finding->achieved_basis, gain->achieved_basis);
    finding->achievable_basis = weaker(finding->achievable_basis, gain->achievable_basis);
}

static int compare_lost(double a, double b)
{
    a = isnan(a) ? -1 : a;
    b = isnan(b) ? -1 : b;
    return (a < b) - (a > b);
}

static int worst_site(const void *a, const void *b)
{
    const struct xfa_finding_site *x = a, *y = b;
    int order = compare_lost(x->lost_ns, y->lost_ns);
    order = order ? order : compare_lost((double)x->bytes, (double)y->bytes);
    return order ? order : strcmp(x->row->site->text, y->row->site->text);
}

static int worst_finding(const void *a, const void *b)
{
    const struct xfa_finding *x = a, *y = b;
    int order = compare_lost(x->lost_ns, y->lost_ns);
    order = order ? order : compare_lost((double)x->bytes, (double)y->bytes);
    order = order ? order : strcmp(x->kind, y->kind);
    return order ? order : strcmp(x->fix, y->fix);
}

void xfa_findings(struct xfa_report *report)
{
    double wall_ns = xfa_report_wall_ns(report);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (size_t i = 0; i < report->rows.count; i++) {
            const struct xfa_row *row = report->order[i];
            struct xfa_gain gain = {.took_ns = NAN, .best_ns = NAN, .lost_ns = NAN, .error = NAN};
            if (!kinds[k]->look(row, &gain))
                continue;
            if (worth_it(&gain, wall_ns))
                add_site(finding_for(report, kinds[k], &gain), row, &gain);
            free(gain.fix);
        }
    }
    for (size_t i = 0; i < report->finding_count; i++)
        qsort(report->findings[i].sites, report->findings[i].site_count,
              sizeof *report->findings[i].sites, worst_site);
    if (report->finding_count)
        qsort(report->findings, report->finding_count, sizeof *report->findings, worst_finding);
}

void xfa_finding_free(struct xfa_finding *finding)
{
    free(finding->sites);
    free(finding->fix);
}
