#include "analyzer/findings/divided.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/findings/findings_private.h"

bool xfa_divided_site(const struct xfa_analysis *analysis, uint32_t number)
{
    return number < xfa_run_site_count(analysis->run);
}

bool xfa_divided_function(const struct xfa_analysis *analysis, uint32_t number)
{
    return number < analysis->run->functions.count;
}

/* ---- sums of transfers ----------------------------------------------------------------------- */

void xfa_divided_add(struct xfa_divided_sum *sum, uint64_t bytes, double achieved_ns,
                     bool by_device)
{
    xfa_timed_add(&sum->moved, bytes, achieved_ns, by_device);
    sum->moved.sum.ns = 0;
    xfa_exact_add(&sum->ns, isnan(achieved_ns) ? 0 : achieved_ns);
}

void xfa_divided_merge(struct xfa_divided_sum *into, const struct xfa_divided_sum *from)
{
    into->moved.sum.transfers += from->moved.sum.transfers;
    into->moved.sum.bytes = xfa_add(into->moved.sum.bytes, from->moved.sum.bytes);
    into->moved.timed += from->moved.timed;
    into->moved.by_device += from->moved.by_device;
    xfa_exact_merge(&into->ns, &from->ns);
}

struct xfa_timed_sum xfa_divided_value(const struct xfa_divided_sum *sum)
{
    struct xfa_timed_sum value = sum->moved;
    value.sum.ns = xfa_exact_value(&sum->ns);
    return value;
}

/* ---- all of them ----------------------------------------------------------------------------- */

bool xfa_is_divided(const struct xfa_finding_kind *kind)
{
    return kind->met_of || kind->give;
}

static struct xfa_table *table_of(const struct xfa_finding_kind *kind, void *self)
{
    return (struct xfa_table *)((unsigned char *)self + kind->met_table);
}

void xfa_divided_give(const struct xfa_finding_kind *kind, void *self, struct xfa_parcel *parcel)
{
    if (kind->met_of)
        xfa_met_give(table_of(kind, self), parcel);
    if (kind->give)
        kind->give(self, parcel);
}

void xfa_divided_take(const struct xfa_finding_kind *kind, void *self,
                      const struct xfa_analysis *analysis, struct xfa_unpacking *from)
{
    if (kind->met_of)
        xfa_met_take(table_of(kind, self), kind->met_of, analysis, from);
    if (kind->take)
        kind->take(self, analysis, from);
}

/* As it was before the run was read. */
static void empty(const struct xfa_finding_kind *kind, void *self)
{
    if (kind->free)
        kind->free(self);
    memset(self, 0, kind->self_bytes);
    kind->observe(self);
}

/* Are its sums in parts in this analysis? */
static bool is_in_parts(const struct xfa_findings *findings, const struct xfa_analysis *analysis,
                        unsigned id)
{
    return xfa_is_divided(xfa_finding_kind_of(id)) &&
           (analysis->survey || !findings->by_survey[id]);
}

static void take_all(struct xfa_findings *findings, const struct xfa_analysis *analysis,
                     uint32_t rank, const struct xfa_parcel *parcel)
{
    struct xfa_team *team = analysis->run->team;
    struct xfa_unpacking from = xfa_unpack(parcel);
    unsigned id = 0;
    for (; id < XFA_FINDINGS && !from.bad; id++)
        if (is_in_parts(findings, analysis, id))
            xfa_divided_take(xfa_finding_kind_of(id), findings->selves[id], analysis, &from);
    if (from.bad || from.left > 0)
        team->fail(team->self, xfa_print("the sums of rank %u (%s) are none that rank %u can read: "
                                         "let one of them analyze",
                                         rank, xfa_finding_word(id - 1), team->rank));
}

static void taken(struct xfa_findings *findings, unsigned id)
{
    const struct xfa_finding_kind *kind = xfa_finding_kind_of(id);
    if (kind->met_of)
        xfa_met_sort(table_of(kind, findings->selves[id]), kind->met_of);
    if (kind->taken)
        kind->taken(findings->selves[id]);
}

void xfa_findings_merge(struct xfa_findings *findings, const struct xfa_analysis *analysis)
{
    struct xfa_team *team = analysis->run->team;
    struct xfa_parcel mine = {0};
    if (!team)
        return;
    for (unsigned id = 0; id < XFA_FINDINGS; id++)
        if (is_in_parts(findings, analysis, id))
            xfa_divided_give(xfa_finding_kind_of(id), findings->selves[id], &mine);
    struct xfa_parcel *all = xfa_team_exchange(team, "sums", &mine);
    for (unsigned id = 0; id < XFA_FINDINGS; id++)
        if (is_in_parts(findings, analysis, id))
            empty(xfa_finding_kind_of(id), findings->selves[id]);
    for (uint32_t rank = 0; rank < team->count; rank++)
        take_all(findings, analysis, rank, &all[rank]);
    for (unsigned id = 0; id < XFA_FINDINGS; id++)
        if (is_in_parts(findings, analysis, id))
            taken(findings, id);
    xfa_team_free_parcels(team, all);
    xfa_parcel_free(&mine);
}
