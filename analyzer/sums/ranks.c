#include "analyzer/sums/ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyzer/base/alloc.h"

#define MOST_Z 3.5
#define LEAST_PART 0.1

/* ---- sums ----------------------------------------------------------------------------------- */

static struct xfa_rank_key key_of(const struct xfa_process *process)
{
    struct xfa_rank_key key;
    const char *world = process->rank.world;
    memset(&key, 0, sizeof key);
    key.is_rank = process->rank.known;
    key.rank = process->rank.known ? process->rank.number : process->number;
    key.world = key.is_rank && world ? XXH3_64bits(world, strlen(world)) : 0;
    return key;
}

static struct xfa_rank_sum *rank_at(const struct xfa_ranks *ranks, size_t i)
{
    return xfa_table_at(&ranks->all, i);
}

static uint64_t meet(void *self, struct xfa_process *process)
{
    struct xfa_ranks *ranks = self;
    struct xfa_rank_key key = key_of(process);
    if (ranks->all.item_bytes == 0)
        xfa_table_init(&ranks->all, sizeof key, sizeof(struct xfa_rank_sum));
    struct xfa_rank_sum *sum = xfa_table_put(&ranks->all, &key);
    sum->process = sum->process ? sum->process : process;
    sum->processes++;
    ranks->any = ranks->any || key.is_rank;
    ranks->of_process = xfa_room(ranks->of_process, &ranks->process_capacity,
                                 (size_t)process->number + 1, sizeof *ranks->of_process);
    for (; ranks->process_count <= process->number; ranks->process_count++)
        ranks->of_process[ranks->process_count] = 0;
    ranks->of_process[process->number] = (uint32_t)(sum - rank_at(ranks, 0)) + 1;
    return 0;
}

static void count_node(struct xfa_rank_sum *sum, const struct xfa_event *event)
{
    const struct xfa_class_key *key = &event->transfer.class->key;
    bool up = key->row.direction == XFT_DIR_H2D, down = key->row.direction == XFT_DIR_D2H;
    int node = up ? key->src_node : key->dst_node;
    const struct xfa_achievable_path *path = &event->transfer.class->achievable;
    int own = !up && !down ? -1 : up ? path->dst_node : path->src_node;
    uint64_t *bytes = own == node ? &sum->near_bytes : &sum->far_bytes;
    if (own >= 0 && node >= 0)
        *bytes = xfa_add(*bytes, event->bytes);
}

static void take(void *self, const struct xfa_event *event)
{
    struct xfa_ranks *ranks = self;
    const struct xfa_transfer *transfer = &event->transfer;
    struct xfa_rank_sum *sum = rank_at(ranks, ranks->of_process[event->process->number] - 1);
    struct xfa_sum *direction = &sum->by_direction[transfer->class->key.row.direction];
    uint64_t bytes = event->bytes;
    sum->transfers++;
    sum->bytes = xfa_add(sum->bytes, bytes);
    direction->transfers++;
    direction->bytes = xfa_add(direction->bytes, bytes);
    if (transfer->timed != XFA_TIMED_NOT) {
        xfa_exact_add(&sum->time_by_direction[transfer->class->key.row.direction],
                      transfer->achieved_ns);
        sum->timed_bytes = xfa_add(sum->timed_bytes, bytes);
        xfa_exact_add(&sum->time, transfer->achieved_ns);
    }
    count_node(sum, event);
}

struct xfa_observer xfa_ranks_observer(struct xfa_ranks *ranks)
{
    return (struct xfa_observer){.name = "ranks",
                                 .self = ranks,
                                 .divided = true,
                                 .meets = true,
                                 .process = meet,
                                 .transfer = take};
}

void xfa_ranks_free(struct xfa_ranks *ranks)
{
    xfa_table_free(&ranks->all);
    free(ranks->of_process);
    *ranks = (struct xfa_ranks){0};
}

/* ---- members of a team ----------------------------------------------------------------------- */

void xfa_ranks_give(const struct xfa_ranks *ranks, struct xfa_parcel *parcel)
{
    xfa_parcel_number(parcel, ranks->all.count);
    xfa_parcel_put(parcel, ranks->all.items, ranks->all.count * sizeof(struct xfa_rank_sum));
}

static void add(struct xfa_rank_sum *into, const struct xfa_rank_sum *from)
{
    for (size_t d = 0; d < XFT_DIRECTION_COUNT; d++) {
        struct xfa_sum *sum = &into->by_direction[d];
        sum->transfers += from->by_direction[d].transfers;
        sum->bytes = xfa_add(sum->bytes, from->by_direction[d].bytes);
        xfa_exact_merge(&into->time_by_direction[d], &from->time_by_direction[d]);
    }
    into->transfers += from->transfers;
    into->bytes = xfa_add(into->bytes, from->bytes);
    into->timed_bytes = xfa_add(into->timed_bytes, from->timed_bytes);
    xfa_exact_merge(&into->time, &from->time);
    into->near_bytes = xfa_add(into->near_bytes, from->near_bytes);
    into->far_bytes = xfa_add(into->far_bytes, from->far_bytes);
}

void xfa_ranks_take(struct xfa_ranks *ranks, struct xfa_unpacking *from)
{
    from->bad = xfa_unpack_number(from) != ranks->all.count || from->bad;
    for (size_t i = 0; i < ranks->all.count && !from->bad; i++) {
        struct xfa_rank_sum more;
        xfa_unpack_bytes(from, &more, sizeof more);
        from->bad = from->bad || memcmp(&more.key, &rank_at(ranks, i)->key, sizeof more.key) != 0;
        if (!from->bad)
            add(rank_at(ranks, i), &more);
    }
}

void xfa_ranks_empty(struct xfa_ranks *ranks)
{
    for (size_t i = 0; i < ranks->all.count; i++) {
        struct xfa_rank_sum *sum = rank_at(ranks, i);
        *sum = (struct xfa_rank_sum){
            .key = sum->key, .process = sum->process, .processes = sum->processes};
    }
}

void xfa_ranks_finish(struct xfa_ranks *ranks)
{
    for (size_t i = 0; i < ranks->all.count; i++) {
        struct xfa_rank_sum *sum = rank_at(ranks, i);
        sum->timed_ns = xfa_exact_value(&sum->time);
        for (size_t d = 0; d < XFT_DIRECTION_COUNT; d++)
            sum->by_direction[d].ns = xfa_exact_value(&sum->time_by_direction[d]);
    }
}

/* ---- who stands out -------------------------------------------------------------------------- */

double xfa_rank_figure(const struct xfa_rank_sum *sum, enum xfa_rank_measure measure)
{
    double near = (double)sum->near_bytes, far = (double)sum->far_bytes;
    switch (measure) {
    case XFA_RANK_BYTES:
        return (double)sum->bytes;
    case XFA_RANK_GBPS:
        return sum->timed_ns > 0 ? (double)sum->timed_bytes / sum->timed_ns : NAN;
    case XFA_RANK_FAR:
        return near + far > 0 ? far / (near + far) : NAN;
    case XFA_RANK_MEASURES:
        break;
    }
    return NAN;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double xfa_rank_median(double *figures, size_t count)
{
    if (count == 0)
        return NAN;
    qsort(figures, count, sizeof *figures, ascending);
    return count % 2 ? figures[count / 2] : (figures[count / 2 - 1] + figures[count / 2]) / 2;
}

static bool is_compared(const struct xfa_ranks *ranks, const struct xfa_rank_sum *sum)
{
    return ranks->any ? sum->key.is_rank : sum->transfers > 0;
}

size_t xfa_ranks_count(const struct xfa_ranks *ranks)
{
    size_t count = 0;
    for (size_t i = 0; i < ranks->all.count; i++)
        count += is_compared(ranks, rank_at(ranks, i));
    return count;
}

static size_t known_figures(const struct xfa_ranks *ranks, enum xfa_rank_measure measure,
                            double *figures)
{
    size_t count = 0;
    for (size_t i = 0; i < ranks->all.count; i++) {
        double figure = xfa_rank_figure(rank_at(ranks, i), measure);
        if (!isnan(figure) && is_compared(ranks, rank_at(ranks, i)))
            figures[count++] = figure;
    }
    return count;
}

double xfa_ranks_median(const struct xfa_ranks *ranks, enum xfa_rank_measure measure)
{
    double *figures = xfa_alloc((ranks->all.count + 1) * sizeof *figures);
    double median = xfa_rank_median(figures, known_figures(ranks, measure, figures));
    free(figures);
    return median;
}

static int further(const void *a, const void *b)
{
    const struct xfa_outlier *x = a, *y = b;
    double dx = fabs(x->figure - x->median), dy = fabs(y->figure - y->median);
    if (x->measure != y->measure)
        return x->measure < y->measure ? -1 : 1;
    if (dx != dy)
        return dx > dy ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

bool xfa_is_far(double figure, double median, double mad, double of)
{
    double apart = fabs(figure - median);
    return apart >= LEAST_PART * of && apart > 0 && 0.6745 * apart > MOST_Z * mad;
}

/* A part that is far is compared with the whole of 1, what else with the median. */
static bool stands_out(enum xfa_rank_measure measure, double figure, double median, double mad)
{
    return xfa_is_far(figure, median, mad, measure == XFA_RANK_FAR ? 1 : fabs(median));
}

static void find(const struct xfa_ranks *ranks, enum xfa_rank_measure measure,
                 struct xfa_outlier *outliers, size_t *count)
{
    double *figures = xfa_alloc((ranks->all.count + 1) * sizeof *figures);
    size_t known = known_figures(ranks, measure, figures);
    double median = xfa_rank_median(figures, known);
    for (size_t i = 0; i < known; i++)
        figures[i] = fabs(figures[i] - median);
    double mad = xfa_rank_median(figures, known);
    free(figures);
    for (size_t i = 0; known >= XFA_LEAST_RANKS && i < ranks->all.count; i++) {
        double figure = xfa_rank_figure(rank_at(ranks, i), measure);
        bool counts = is_compared(ranks, rank_at(ranks, i));
        if (counts && !isnan(figure) && stands_out(measure, figure, median, mad))
            outliers[(*count)++] = (struct xfa_outlier){(uint32_t)i, measure, figure, median};
    }
}

struct xfa_outlier *xfa_ranks_outliers(const struct xfa_ranks *ranks, size_t *count)
{
    struct xfa_outlier *outliers =
        xfa_alloc((XFA_RANK_MEASURES * ranks->all.count + 1) * sizeof *outliers);
    *count = 0;
    for (int measure = 0; measure < XFA_RANK_MEASURES; measure++)
        find(ranks, (enum xfa_rank_measure)measure, outliers, count);
    if (*count)
        qsort(outliers, *count, sizeof *outliers, further);
    return outliers;
}
