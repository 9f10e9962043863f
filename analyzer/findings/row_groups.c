#include "analyzer/findings/row_groups.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"

void xfa_row_groups_free(struct xfa_row_groups *groups)
{
    free(groups->rows);
}

static struct xfa_grouped_row *row_of(struct xfa_row_groups *groups, uint32_t row)
{
    groups->rows =
        xfa_grown(groups->rows, &groups->capacity, &groups->count, row, sizeof *groups->rows);
    return &groups->rows[row];
}

/* ---- groups ---------------------------------------------------------------------------------- */

uint32_t xfa_row_groups_first(const struct xfa_row_groups *groups, uint32_t row)
{
    while (groups->rows[row].first)
        row = groups->rows[row].first - 1;
    return row;
}

static void add_runs(struct xfa_runs *to, const struct xfa_runs *more)
{
    to->transfers += more->transfers;
    to->bytes = xfa_add(to->bytes, more->bytes);
    to->modelled += more->modelled;
    to->strided += more->strided;
    to->short_rows += more->short_rows;
    to->lines = xfa_add(to->lines, more->lines);
    xfa_exact_merge(&to->count, &more->count);
    xfa_exact_merge(&to->took_ns, &more->took_ns);
    xfa_exact_merge(&to->scattered, &more->scattered);
    xfa_exact_merge(&to->batched_ns, &more->batched_ns);
    to->error = fmax(to->error, more->error);
}

/* The same, and makes the way there shorter. */
static uint32_t find_first(struct xfa_row_groups *groups, uint32_t row)
{
    uint32_t first = xfa_row_groups_first(groups, row);
    while (row != first) {
        uint32_t next = groups->rows[row].first - 1;
        groups->rows[row].first = first + 1;
        row = next;
    }
    return first;
}

/* The row with the lower number is the first, whatever the order of runs. */
static void join(struct xfa_row_groups *groups, uint32_t a, uint32_t b)
{
    a = find_first(groups, a);
    b = find_first(groups, b);
    if (a == b)
        return;
    struct xfa_grouped_row *first = &groups->rows[a < b ? a : b],
                           *other = &groups->rows[a < b ? b : a];
    other->first = (a < b ? a : b) + 1;
    first->members += 1 + other->members;
    add_runs(&first->group, &other->group);
}

void xfa_row_groups_add(struct xfa_row_groups *groups, uint32_t row, uint32_t with,
                        const struct xfa_runs *runs)
{
    add_runs(&row_of(groups, row)->own, runs);
    row_of(groups, with);
    join(groups, with, row);
    add_runs(&groups->rows[find_first(groups, row)].group, runs);
}

/* ---- what was found -------------------------------------------------------------------------- */

const struct xfa_runs *xfa_row_groups_own(const struct xfa_row_groups *groups, size_t row)
{
    const struct xfa_runs *runs = row < groups->count ? &groups->rows[row].own : NULL;
    return runs && runs->transfers > 0 ? runs : NULL;
}

double xfa_runs_lost_ns(const struct xfa_runs *runs)
{
    return fmax(0, xfa_exact_value(&runs->took_ns) - xfa_exact_value(&runs->batched_ns));
}

bool xfa_row_groups_gain(const struct xfa_row_groups *groups, const struct xfa_analysis *analysis,
                         size_t row, struct xfa_gain *gain)
{
    const struct xfa_runs *runs = xfa_row_groups_own(groups, row);
    if (!runs)
        return false;
    uint32_t first = xfa_row_groups_first(groups, (uint32_t)row);
    const struct xfa_runs *group = &groups->rows[first].group;
    if (!(xfa_runs_lost_ns(group) > group->error * xfa_exact_value(&group->batched_ns)))
        return false;
    gain->transfers = runs->transfers;
    gain->bytes = runs->bytes;
    gain->achieved_ns = xfa_exact_value(&runs->took_ns);
    gain->achievable_ns = xfa_exact_value(&runs->batched_ns);
    gain->lost_ns = xfa_runs_lost_ns(runs);
    gain->whole_ns = xfa_runs_lost_ns(group);
    gain->error = group->error;
    gain->achieved_basis = runs->modelled == 0 ? xfa_achieved_basis(&analysis->rows[row])
                           : runs->modelled == runs->transfers ? XFA_BASIS_MODELLED
                                                               : XFA_BASIS_MIXED;
    gain->achievable_basis = XFA_BASIS_MODELLED;
    return true;
}

struct xfw_set xfa_row_groups_whole(const struct xfa_row_groups *groups,
                                    const struct xfa_finding *finding)
{
    struct xfw_set rows = {0};
    uint32_t *members = xfa_alloc((groups->count + 1) * sizeof *members);
    for (size_t i = 0; i < finding->site_count; i++)
        members[xfa_row_groups_first(groups, finding->sites[i].row->number)]++;
    for (size_t i = 0; i < finding->site_count; i++) {
        uint32_t row = finding->sites[i].row->number, first = xfa_row_groups_first(groups, row);
        if (members[first] == 1 + groups->rows[first].members)
            xfw_set_add(&rows, row);
    }
    free(members);
    return rows;
}

/* ---- divided --------------------------------------------------------------------------------- */

/* A row as other members have it. */
struct given_row {
    uint32_t row, first; /* first: of its group */
    struct xfa_runs own, group;
};

void xfa_row_groups_give(const struct xfa_row_groups *groups, struct xfa_parcel *parcel)
{
    xfa_parcel_number(parcel, groups->count);
    for (uint32_t i = 0; i < groups->count; i++) {
        const struct xfa_grouped_row *row = &groups->rows[i];
        const struct given_row given = {i, xfa_row_groups_first(groups, i), row->own, row->group};
        xfa_parcel_put(parcel, &given, sizeof given);
    }
}

/* Groups that have a row in common are one; what a row that is not the first has of its group was
 * added to the first's. */
static void take_row(struct xfa_row_groups *groups, const struct given_row *given)
{
    add_runs(&row_of(groups, given->row)->own, &given->own);
    row_of(groups, given->first);
    join(groups, given->first, given->row);
    if (given->first == given->row)
        add_runs(&groups->rows[find_first(groups, given->row)].group, &given->group);
}

void xfa_row_groups_take(struct xfa_row_groups *groups, const struct xfa_analysis *analysis,
                         struct xfa_unpacking *from)
{
    struct given_row given;
    size_t count = xfa_unpack_count(from, sizeof given), rows = analysis->classes.rows.count;
    for (size_t i = 0; i < count && !from->bad; i++) {
        xfa_unpack_bytes(from, &given, sizeof given);
        from->bad = from->bad || given.row >= rows || given.first >= rows;
        if (!from->bad)
            take_row(groups, &given);
    }
}
