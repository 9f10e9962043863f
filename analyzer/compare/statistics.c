#include "analyzer/compare/statistics.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double middle(const double *sorted, size_t count)
{
    if (count == 0)
        return NAN;
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

double xfa_median(const double *values, size_t count)
{
    double *sorted = xfa_alloc((count + 1) * sizeof *sorted);
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, ascending);
    double median = middle(sorted, count);
    free(sorted);
    return median;
}

/* ---- the distribution ------------------------------------------------------------------------ */

/*
 * Probability of each value u of the Mann-Whitney statistic when all orders of the runs are equally
 * likely. The last run in order is one of the i, with all j of the others below it, or one of the
 * j.
 */
static double *distribution(size_t m, size_t n)
{
    size_t values = m * n + 1;
    double *all = xfa_alloc((n + 1) * values * sizeof *all); /* by j, of the i at hand */
    for (size_t j = 0; j <= n; j++)
        all[j * values] = 1;
    for (size_t i = 1; i <= m; i++) {
        for (size_t j = 1; j <= n; j++) {
            double *row = all + j * values, *fewer = row - values;
            double part = (double)i / (double)(i + j);
            for (size_t u = values; u-- > 0;)
                row[u] = part * (u >= j ? row[u - j] : 0) + (1 - part) * fewer[u];
        }
    }
    double *last = xfa_alloc(values * sizeof *last);
    memcpy(last, all + n * values, values * sizeof *last);
    free(all);
    return last;
}

size_t xfa_shift_rank(size_t m, size_t n, double confidence, double *attained)
{
    *attained = NAN;
    if (m == 0 || n == 0)
        return 0;
    double *probability = distribution(m, n), below = 0;
    size_t rank = 0;
    while (rank < m * n && below + probability[rank] <= (1 - confidence) / 2 + 1e-12)
        below += probability[rank++];
    free(probability);
    if (rank)
        *attained = 1 - 2 * below;
    return rank;
}

/* The rank of XFA_CONFIDENCE; for many figures the widest interval up to XFA_MANY_CONFIDENCE. */
static size_t find_rank(size_t m, size_t n, bool many, double *attained)
{
    size_t rank = many ? xfa_shift_rank(m, n, XFA_MANY_CONFIDENCE, attained) : 0;
    if (rank == 0)
        rank = xfa_shift_rank(m, n, XFA_CONFIDENCE, attained);
    while (many && rank > 1 &&
           *attained < XFA_MANY_CONFIDENCE) /* the widest interval of so few runs */
        rank = xfa_shift_rank(m, n, *attained + 1e-9, attained);
    return rank;
}

/* The same, cached: all calls of a comparison have a few numbers of runs. */
static size_t rank_of(size_t m, size_t n, bool many, double *attained)
{
    static struct {
        size_t m, n, rank;
        double attained;
    } known[2];
    if (known[many].m != m || known[many].n != n) {
        known[many].rank = find_rank(m, n, many, &known[many].attained);
        known[many].m = m;
        known[many].n = n;
    }
    *attained = known[many].attained;
    return known[many].rank;
}

/* ---- a change -------------------------------------------------------------------------------- */

struct group {
    double values[XFA_COMPARED_RUNS];
    size_t count;
    double low, high; /* of all runs' bounds; NAN: those of a run are not known */
};

static struct group group_of(const struct xfa_sample *samples, size_t count)
{
    struct group group = {.low = INFINITY, .high = -INFINITY};
    for (size_t i = 0; i < count && group.count < XFA_COMPARED_RUNS; i++) {
        const struct xfa_sample *sample = &samples[i];
        if (isnan(sample->value))
            continue;
        group.values[group.count++] = sample->value;
        group.low = isnan(sample->low) ? NAN : sample->low < group.low ? sample->low : group.low;
        group.high = isnan(sample->high)         ? NAN
                     : sample->high > group.high ? sample->high
                                                 : group.high;
        if (isnan(group.low) || isnan(group.high))
            group.low = group.high = NAN;
    }
    if (group.count == 0)
        group.low = group.high = NAN;
    return group;
}

static void by_runs(struct xfa_change *change, const struct group *before,
                    const struct group *after, size_t rank)
{
    size_t count = before->count * after->count, k = 0;
    double *differences = xfa_alloc(count * sizeof *differences);
    for (size_t i = 0; i < before->count; i++)
        for (size_t j = 0; j < after->count; j++)
            differences[k++] = after->values[j] - before->values[i];
    qsort(differences, count, sizeof *differences, ascending);
    change->shift = middle(differences, count);
    change->low = differences[rank - 1];
    change->high = differences[count - rank];
    free(differences);
}

static void by_bounds(struct xfa_change *change, const struct group *before,
                      const struct group *after)
{
    change->shift = change->after - change->before;
    change->low = after->low - before->high;
    change->high = after->high - before->low;
}

struct xfa_change xfa_change_of(const struct xfa_sample *before, size_t m,
                                const struct xfa_sample *after, size_t n, bool many)
{
    struct group a = group_of(before, m), b = group_of(after, n);
    struct xfa_change change = {.before = xfa_median(a.values, a.count),
                                .after = xfa_median(b.values, b.count),
                                .shift = NAN,
                                .low = NAN,
                                .high = NAN,
                                .confidence = NAN};
    if (a.count == 0 || b.count == 0)
        return change;
    size_t rank = rank_of(a.count, b.count, many, &change.confidence);
    if (rank)
        by_runs(&change, &a, &b, rank);
    else
        by_bounds(&change, &a, &b);
    if (isnan(change.low) || isnan(change.high))
        return change;
    double least = XFA_LEAST_CHANGE * fmin(change.before, change.after);
    change.verdict = XFA_ALIKE;
    if (change.high < 0 && change.shift < -least)
        change.verdict = XFA_LESS;
    else if (change.low > 0 && change.shift > least)
        change.verdict = XFA_MORE;
    return change;
}

double xfa_change_part(const struct xfa_change *change)
{
    return change->before > 0 ? change->shift / change->before : NAN;
}
