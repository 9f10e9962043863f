#include "analyzer/whatif/tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

/* What stands in front of a phase, or behind the last one. */
enum { NO_MORE, PHASE };

struct xfw_tally {
    struct xfw_way *const *ways;
    size_t count;
    struct xfa_parcel parts;
    size_t part_count;
    struct xfa_table *counts; /* by way */
    char *why;                /* NULL: nothing failed */
    uint32_t failed;          /* the process */
};

struct xfw_tally *xfw_tally_new(struct xfw_way *const *ways, size_t count)
{
    struct xfw_tally *tally = xfa_alloc(sizeof *tally);
    tally->ways = ways;
    tally->count = count;
    tally->counts = xfa_alloc((count + 1) * sizeof *tally->counts);
    for (size_t i = 0; i < count; i++)
        xfa_table_init(&tally->counts[i], sizeof(struct xfw_taken_key), sizeof(struct xfw_taken));
    return tally;
}

void xfw_tally_free(struct xfw_tally *tally)
{
    for (size_t i = 0; i < tally->count; i++)
        xfa_table_free(&tally->counts[i]);
    free(tally->counts);
    xfa_parcel_free(&tally->parts);
    free(tally->why);
    free(tally);
}

/* ---- parts ----------------------------------------------------------------------------------- */

void xfw_tally_part(struct xfw_tally *tally, uint32_t process, double end_ns, double span_ns,
                    const struct xfw_contexts *contexts)
{
    tally->part_count++;
    xfa_parcel_number(&tally->parts, process);
    xfa_parcel_real(&tally->parts, end_ns);
    xfa_parcel_real(&tally->parts, span_ns);
    xfa_parcel_real(&tally->parts, contexts->ns);
    xfa_parcel_number(&tally->parts, contexts->gpus);
}

void xfw_tally_phase(struct xfw_tally *tally, const char *name, double recorded_ns)
{
    xfa_parcel_number(&tally->parts, PHASE);
    xfa_parcel_text(&tally->parts, name);
    xfa_parcel_real(&tally->parts, recorded_ns);
}

void xfw_tally_phase_in_way(struct xfw_tally *tally, double ns)
{
    xfa_parcel_real(&tally->parts, ns);
}

void xfw_tally_phases_over(struct xfw_tally *tally)
{
    xfa_parcel_number(&tally->parts, NO_MORE);
}

void xfw_tally_way(struct xfw_tally *tally, double end_ns, double span_ns, double error_ns,
                   double left_ns)
{
    xfa_parcel_real(&tally->parts, end_ns);
    xfa_parcel_real(&tally->parts, span_ns);
    xfa_parcel_real(&tally->parts, error_ns);
    xfa_parcel_real(&tally->parts, left_ns);
}

struct xfa_table *xfw_tally_counts(struct xfw_tally *tally, size_t way)
{
    return tally->ways[way]->counts ? &tally->counts[way] : NULL;
}

void xfw_tally_fail(struct xfw_tally *tally, uint32_t process, const char *why)
{
    tally->why = xfa_text(why);
    tally->failed = process;
}

/* ---- a parcel -------------------------------------------------------------------------------- */

static void put_counts(struct xfa_parcel *parcel, const struct xfa_table *counts)
{
    xfa_parcel_number(parcel, counts->count);
    for (size_t i = 0; i < counts->count; i++) {
        const struct xfw_taken *taken = xfa_table_at(counts, i);
        xfa_parcel_number(parcel, taken->key.change);
        xfa_parcel_number(parcel, taken->key.class);
        xfa_parcel_number(parcel, taken->transfers);
    }
}

static void put_changes(struct xfa_parcel *parcel, const struct xfw_way *way)
{
    for (size_t i = 0; i < way->count; i++)
        if (way->changes[i]->staged_ns)
            xfa_parcel_real(parcel, *way->changes[i]->staged_ns);
}

static struct xfa_parcel packed(const struct xfw_tally *tally)
{
    struct xfa_parcel parcel = {0};
    xfa_parcel_number(&parcel, tally->why != NULL);
    if (tally->why) {
        xfa_parcel_number(&parcel, tally->failed);
        xfa_parcel_text(&parcel, tally->why);
    }
    for (size_t i = 0; i < tally->count; i++) {
        put_counts(&parcel, &tally->counts[i]);
        put_changes(&parcel, tally->ways[i]);
    }
    xfa_parcel_number(&parcel, tally->part_count);
    xfa_parcel_put(&parcel, tally->parts.bytes, tally->parts.count);
    return parcel;
}

/* ---- the sum --------------------------------------------------------------------------------- */

/* One member's parts, as far as they are added up. */
struct heap {
    struct xfa_unpacking from;
    size_t left;      /* parts, with the next one */
    uint32_t process; /* of the next one */
};

struct sum {
    struct xfw_tally *tally;
    struct xfw_whatif *whatif;
    bool recording;
    struct heap *heaps; /* by rank */
    size_t count;
    char *why;
    uint32_t failed; /* the first process that could not be played */
};

static void next_part(struct heap *heap)
{
    if (heap->left > 0)
        heap->process = (uint32_t)xfa_unpack_number(&heap->from);
}

static void take_failure(struct sum *sum, struct xfa_unpacking *from)
{
    if (xfa_unpack_number(from) == 0)
        return;
    uint32_t failed = (uint32_t)xfa_unpack_number(from);
    char *why = xfa_unpack_text(from);
    if (!sum->why || failed < sum->failed) {
        free(sum->why);
        sum->why = why;
        sum->failed = failed;
    } else {
        free(why);
    }
}

static void take_counts(struct xfa_unpacking *from, const struct xfw_way *way)
{
    for (uint64_t left = xfa_unpack_number(from); left > 0 && !from->bad; left--) {
        struct xfw_taken_key key = {0};
        key.change = (uint32_t)xfa_unpack_number(from);
        key.class = (uint32_t)xfa_unpack_number(from);
        struct xfw_taken *taken = xfa_table_put(way->counts, &key);
        taken->transfers += xfa_unpack_number(from);
    }
}

static void take_changes(struct xfa_unpacking *from, const struct xfw_way *way)
{
    for (size_t i = 0; i < way->count; i++)
        if (way->changes[i]->staged_ns)
            *way->changes[i]->staged_ns = fmax(*way->changes[i]->staged_ns, xfa_unpack_real(from));
}

static void open_heap(struct sum *sum, struct heap *heap, const struct xfa_parcel *parcel)
{
    heap->from = xfa_unpack(parcel);
    take_failure(sum, &heap->from);
    for (size_t i = 0; i < sum->tally->count; i++) {
        take_counts(&heap->from, sum->tally->ways[i]);
        take_changes(&heap->from, sum->tally->ways[i]);
    }
    heap->left = (size_t)xfa_unpack_number(&heap->from);
    next_part(heap);
}

/* The run's phase of this name. */
static size_t phase_of(struct xfw_whatif *whatif, const char *name)
{
    for (size_t i = 0; i < whatif->range_count; i++)
        if (strcmp(whatif->ranges[i].name, name) == 0)
            return i;
    if (whatif->range_count == XFW_RANGES)
        return XFW_RANGES;
    if (!whatif->ranges)
        whatif->ranges = xfa_alloc(XFW_RANGES * sizeof *whatif->ranges);
    whatif->ranges[whatif->range_count].name = xfa_text(name);
    return whatif->range_count++;
}

static void add_phases(struct sum *sum, struct xfa_unpacking *from)
{
    while (xfa_unpack_number(from) == PHASE && !from->bad) {
        char *name = xfa_unpack_text(from);
        size_t phase = phase_of(sum->whatif, name);
        double recorded_ns = xfa_unpack_real(from);
        free(name);
        if (phase < XFW_RANGES && sum->recording)
            sum->whatif->ranges[phase].times.recorded_ns += recorded_ns;
        for (size_t i = 0; i < sum->tally->count; i++) {
            double ns = xfa_unpack_real(from);
            if (phase < XFW_RANGES)
                sum->tally->ways[i]->ranges[phase] += ns;
        }
    }
}

static void add_part(struct sum *sum, struct xfa_unpacking *from)
{
    double end_ns = xfa_unpack_real(from), span_ns = xfa_unpack_real(from);
    double contexts_ns = xfa_unpack_real(from);
    uint64_t gpus = xfa_unpack_number(from);
    add_phases(sum, from);
    for (size_t i = 0; i < sum->tally->count; i++) {
        struct xfw_way *way = sum->tally->ways[i];
        double way_end_ns = xfa_unpack_real(from), way_span_ns = xfa_unpack_real(from);
        way->run_ns = xfw_max(way->run_ns, way_end_ns);
        way->span_ns += way_span_ns;
        way->error_ns = xfw_max(way->error_ns, xfa_unpack_real(from));
        double left_ns = xfa_unpack_real(from);
        way->left_ns += left_ns;
        way->least_ns = xfw_max(way->least_ns, way_end_ns - way_span_ns + left_ns);
    }
    sum->whatif->recorded_ns = xfw_max(sum->whatif->recorded_ns, end_ns);
    if (!sum->recording || isnan(span_ns))
        return;
    sum->whatif->span.recorded_ns += span_ns;
    sum->whatif->contexts_ns += contexts_ns;
    sum->whatif->contexts_gpus |= gpus;
}

/* Of the first process that is left, whoever played it; NULL: none is. */
static struct heap *first_of(const struct sum *sum)
{
    struct heap *first = NULL;
    for (size_t i = 0; i < sum->count; i++) {
        struct heap *heap = &sum->heaps[i];
        if (heap->left > 0 && !heap->from.bad && (!first || heap->process < first->process))
            first = heap;
    }
    return first && (!sum->why || first->process < sum->failed) ? first : NULL;
}

static void add_all(struct sum *sum)
{
    struct heap *heap;
    while ((heap = first_of(sum))) {
        add_part(sum, &heap->from);
        heap->left--;
        next_part(heap);
    }
}

char *xfw_tally_sum(struct xfw_tally *tally, struct xfa_team *team, struct xfw_whatif *whatif,
                    bool recording)
{
    struct sum sum = {
        .tally = tally, .whatif = whatif, .recording = recording, .count = xfa_team_count(team)};
    struct xfa_parcel mine = packed(tally);
    char *step = xfa_print("playing %zu ways", tally->count);
    struct xfa_parcel *all = xfa_team_exchange(team, step, &mine);
    sum.heaps = xfa_alloc(sum.count * sizeof *sum.heaps);
    for (size_t i = 0; i < sum.count; i++)
        open_heap(&sum, &sum.heaps[i], &all[i]);
    add_all(&sum);
    xfa_team_free_parcels(team, all);
    xfa_parcel_free(&mine);
    free(sum.heaps);
    free(step);
    return sum.why;
}
