#include "analyzer/compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/compare/match.h"

/* ---- the run --------------------------------------------------------------------------------- */

/* The sample less ns (what recording cost), with the same relative bounds. */
static struct xfa_sample without(struct xfa_sample sample, double ns)
{
    double less = fmax(0, sample.value - ns);
    double part = sample.value > 0 ? less / sample.value : 0;
    return (struct xfa_sample){less, sample.low * part, sample.high * part};
}

static struct xfa_sample measure_of(const struct xfa_comparison *comparison,
                                    const struct xfa_snapshot *taken, enum xfa_measure measure)
{
    const struct xfa_sample *sample = &taken->measures[measure];
    bool lessened = measure == XFA_MEASURE_SPAN && comparison->without_recording;
    return lessened ? without(*sample, taken->recording_ns) : *sample;
}

static struct xfa_change measure_change(const struct xfa_comparison *comparison,
                                        enum xfa_measure measure)
{
    const struct xfa_side *before = &comparison->before, *after = &comparison->after;
    struct xfa_sample a[XFA_COMPARED_RUNS], b[XFA_COMPARED_RUNS];
    for (size_t i = 0; i < before->count; i++)
        a[i] = measure_of(comparison, before->runs[i], measure);
    for (size_t i = 0; i < after->count; i++)
        b[i] = measure_of(comparison, after->runs[i], measure);
    return xfa_change_of(a, before->count, b, after->count, false);
}

static bool all_know_recording(const struct xfa_side *side)
{
    for (size_t i = 0; i < side->count; i++)
        if (!side->runs[i]->recording_known)
            return false;
    return true;
}

/* ---- phases ---------------------------------------------------------------------------------- */

static const struct xfa_snapshot_phase *phase_named(const struct xfa_snapshot *taken,
                                                    const char *name)
{
    for (size_t i = 0; i < taken->phase_count; i++)
        if (strcmp(taken->phases[i].name, name) == 0)
            return &taken->phases[i];
    return NULL;
}

static struct xfa_sample phase_time(const struct xfa_comparison *comparison,
                                    const struct xfa_snapshot *taken, const char *name)
{
    const struct xfa_snapshot_phase *phase = phase_named(taken, name);
    if (!phase || !(phase->times.recorded_ns > 0))
        return (struct xfa_sample){NAN, NAN, NAN};
    struct xfa_sample sample = xfa_sample_of(phase->times.recorded_ns, XFA_ONE_RUN_HOST);
    double recording = fmax(0, phase->times.replayed_ns - phase->times.alone_ns);
    return comparison->without_recording ? without(sample, recording) : sample;
}

static void compare_phases(struct xfa_comparison *comparison)
{
    const struct xfa_side *before = &comparison->before, *after = &comparison->after;
    const struct xfa_snapshot *middle = xfa_side_middle(before);
    struct xfa_sample a[XFA_COMPARED_RUNS], b[XFA_COMPARED_RUNS];
    comparison->phases = xfa_alloc((middle->phase_count + 1) * sizeof *comparison->phases);
    for (size_t p = 0; p < middle->phase_count; p++) {
        const char *name = middle->phases[p].name;
        for (size_t i = 0; i < before->count; i++)
            a[i] = phase_time(comparison, before->runs[i], name);
        for (size_t i = 0; i < after->count; i++)
            b[i] = phase_time(comparison, after->runs[i], name);
        struct xfa_change time = xfa_change_of(a, before->count, b, after->count, true);
        if (!isnan(time.before) && !isnan(time.after))
            comparison->phases[comparison->phase_count++] = (struct xfa_compared_phase){name, time};
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const struct xfa_snapshot_row **rows_of(const struct xfa_side *side)
{
    const struct xfa_snapshot_row **rows = xfa_alloc((side->row_count + 1) * sizeof *rows);
    for (size_t i = 0; i < side->row_count; i++)
        rows[i] = side->rows[i].row;
    return rows;
}

static double row_time(const struct xfa_side_row *row, size_t runs)
{
    double times[XFA_COMPARED_RUNS];
    size_t known = 0;
    for (size_t i = 0; i < runs; i++)
        if (!isnan(row->times[i].value))
            times[known++] = row->times[i].value;
    return xfa_median(times, known);
}

static void add_row(struct xfa_comparison *comparison, const struct xfa_side_row *before,
                    const struct xfa_side_row *after)
{
    size_t m = comparison->before.count, n = comparison->after.count;
    struct xfa_compared_row *row = &comparison->rows[comparison->row_count++];
    *row = (struct xfa_compared_row){.before = before, .after = after};
    if (before && after) {
        row->time = xfa_change_of(before->times, m, after->times, n, true);
        row->moved = xfa_moved_of(before->row, after->row);
        return;
    }
    row->time = (struct xfa_change){.before = before ? row_time(before, m) : 0,
                                    .after = after ? row_time(after, n) : 0,
                                    .low = NAN,
                                    .high = NAN,
                                    .confidence = NAN};
    row->time.shift = row->time.after - row->time.before;
}

static double weight(const struct xfa_compared_row *row)
{
    return isnan(row->time.shift) ? -1 : fabs(row->time.shift);
}

static int by_change(const void *a, const void *b)
{
    const struct xfa_compared_row *x = a, *y = b;
    double left = weight(x), right = weight(y);
    int order = (left < right) - (left > right);
    if (order == 0)
        order = strcmp(xfa_compared_of(x)->place.text, xfa_compared_of(y)->place.text);
    if (order == 0)
        order = memcmp(&xfa_compared_of(x)->key.direction, &xfa_compared_of(y)->key.direction,
                       sizeof(struct xfa_row_key) - offsetof(struct xfa_row_key, direction));
    return order;
}

static void compare_rows(struct xfa_comparison *comparison)
{
    const struct xfa_side *before = &comparison->before, *after = &comparison->after;
    const struct xfa_snapshot_row **a = rows_of(before), **b = rows_of(after);
    size_t *to = xfa_match_rows(a, before->row_count, b, after->row_count);
    bool *taken = xfa_alloc(after->row_count + 1);
    comparison->rows =
        xfa_alloc((before->row_count + after->row_count + 1) * sizeof *comparison->rows);
    for (size_t i = 0; i < before->row_count; i++) {
        bool both = to[i] != XFA_UNMATCHED;
        add_row(comparison, &before->rows[i], both ? &after->rows[to[i]] : NULL);
        if (both)
            taken[to[i]] = true;
    }
    for (size_t i = 0; i < after->row_count; i++)
        if (!taken[i])
            add_row(comparison, NULL, &after->rows[i]);
    if (comparison->row_count)
        qsort(comparison->rows, comparison->row_count, sizeof *comparison->rows, by_change);
    free(taken);
    free(to);
    free(a);
    free(b);
}

/* ---- the limit ------------------------------------------------------------------------------- */

static bool exceeds(const struct xfa_comparison *comparison, enum xfa_measure measure)
{
    const struct xfa_change *change = &comparison->measures[measure];
    return change->verdict == XFA_MORE && xfa_change_part(change) > comparison->limit;
}

/* In a run that got faster, transfers that take longer do not count: they are hidden, or share a
 * link. */
static void hold_limit(struct xfa_comparison *comparison)
{
    static const enum xfa_measure held[] = {XFA_MEASURE_SPAN, XFA_MEASURE_WALL,
                                            XFA_MEASURE_TRANSFERS};
    bool faster = comparison->measures[XFA_MEASURE_SPAN].verdict == XFA_LESS;
    double most = -1;
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) {
        double part = xfa_change_part(&comparison->measures[held[i]]);
        if (!exceeds(comparison, held[i]) || (held[i] == XFA_MEASURE_TRANSFERS && faster) ||
            part <= most)
            continue;
        most = part;
        comparison->failed = true;
        comparison->slowest = held[i];
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

struct xfa_comparison *xfa_compare(struct xfa_snapshot **before, size_t m,
                                   struct xfa_snapshot **after, size_t n, double limit)
{
    struct xfa_comparison *comparison = xfa_alloc(sizeof *comparison);
    double attained;
    *comparison = (struct xfa_comparison){
        .before = xfa_side_of(before, m), .after = xfa_side_of(after, n), .limit = limit};
    comparison->repeated = xfa_shift_rank(m, n, XFA_CONFIDENCE, &attained) > 0;
    comparison->without_recording =
        all_know_recording(&comparison->before) && all_know_recording(&comparison->after);
    for (unsigned i = 0; i < XFA_MEASURES; i++)
        comparison->measures[i] = measure_change(comparison, i);
    compare_phases(comparison);
    compare_rows(comparison);
    xfa_compare_advice(comparison);
    xfa_compare_warnings(comparison);
    if (!isnan(limit))
        hold_limit(comparison);
    return comparison;
}

void xfa_comparison_free(struct xfa_comparison *comparison)
{
    if (!comparison)
        return;
    for (size_t i = 0; i < comparison->warning_count; i++)
        free(comparison->warnings[i]);
    free(comparison->warnings);
    for (size_t i = 0; i < comparison->step_count; i++) {
        free(comparison->steps[i].finding);
        free(comparison->steps[i].site);
    }
    free(comparison->steps);
    free(comparison->findings);
    free(comparison->payoffs);
    free(comparison->phases);
    free(comparison->rows);
    xfa_side_free(&comparison->before);
    xfa_side_free(&comparison->after);
    free(comparison);
}
