#include "analyzer/whatif/ways_shared.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

/* ---- who plays what -------------------------------------------------------------------------- */

/* About what playing it takes: each change looks at every op, as what plays them does. */
static uint64_t weight_of(const struct xfw_way *way)
{
    return 1 + way->count;
}

static uint32_t least_loaded(const struct xfw_replays *replays, uint32_t members)
{
    uint32_t least = members - 1;
    for (uint32_t rank = members; rank-- > 0;)
        if (replays->loads[rank] < replays->loads[least])
            least = rank;
    return least;
}

uint32_t *xfw_ways_deal(struct xfw_replays *replays, struct xfw_way *const *ways, size_t count)
{
    uint32_t members = xfa_team_count(replays->analysis->run->team);
    uint32_t *owners = xfa_alloc((count + 1) * sizeof *owners);
    if (!replays->loads)
        replays->loads = xfa_alloc(members * sizeof *replays->loads);
    for (size_t i = 0; i < count; i++) {
        if (ways[i]->recording)
            continue;
        owners[i] = least_loaded(replays, members);
        replays->loads[owners[i]] += weight_of(ways[i]);
    }
    return owners;
}

size_t xfw_ways_mine(const struct xfa_team *team, const uint32_t *owners,
                     struct xfw_variant *variants, size_t count)
{
    struct xfw_variant *others = xfa_alloc((count + 1) * sizeof *others);
    size_t mine = 0, other = 0;
    for (size_t i = 0; i < count; i++) {
        if (!team || variants[i].way->recording || owners[i] == team->rank)
            variants[mine++] = variants[i];
        else
            others[other++] = variants[i];
    }
    memcpy(variants + mine, others, other * sizeof *others);
    free(others);
    return mine;
}

/* ---- what came of a way ---------------------------------------------------------------------- */

static void put_way(struct xfa_parcel *parcel, const struct xfw_way *way)
{
    const struct xfa_table *counts = way->counts;
    xfa_parcel_real(parcel, way->run_ns);
    xfa_parcel_real(parcel, way->span_ns);
    xfa_parcel_real(parcel, way->error_ns);
    xfa_parcel_real(parcel, way->left_ns);
    xfa_parcel_real(parcel, way->least_ns);
    xfa_parcel_put(parcel, way->ranges, sizeof way->ranges);
    for (size_t i = 0; i < way->count; i++)
        if (way->changes[i]->staged_ns)
            xfa_parcel_real(parcel, *way->changes[i]->staged_ns);
    for (size_t i = 0; counts && i < counts->count; i++) {
        const struct xfw_taken *taken = xfa_table_at(counts, i);
        xfa_parcel_number(parcel, 1 + taken->transfers);
        xfa_parcel_put(parcel, &taken->key, sizeof taken->key);
    }
    if (counts)
        xfa_parcel_number(parcel, 0);
}

static void take_counts(struct xfa_unpacking *from, struct xfa_table *counts, bool its)
{
    uint64_t transfers;
    while ((transfers = xfa_unpack_number(from)) > 0 && !from->bad) {
        uint64_t packed = xfa_unpack_number(from);
        struct xfw_taken_key key;
        memcpy(&key, &packed, sizeof key);
        if (its)
            ((struct xfw_taken *)xfa_table_put(counts, &key))->transfers = transfers - 1;
    }
}
_Static_assert(sizeof(struct xfw_taken_key) == sizeof(uint64_t), "it is put and taken as a number");

/* its: the member's figures count. What changes know of their own is the most of all. */
static void take_way(struct xfa_unpacking *from, struct xfw_way *way, bool its)
{
    struct xfw_way given = *way;
    given.run_ns = xfa_unpack_real(from);
    given.span_ns = xfa_unpack_real(from);
    given.error_ns = xfa_unpack_real(from);
    given.left_ns = xfa_unpack_real(from);
    given.least_ns = xfa_unpack_real(from);
    for (size_t i = 0; i < XFW_RANGES; i++)
        given.ranges[i] = xfa_unpack_real(from);
    for (size_t i = 0; i < way->count; i++)
        if (way->changes[i]->staged_ns)
            *way->changes[i]->staged_ns = fmax(*way->changes[i]->staged_ns, xfa_unpack_real(from));
    if (way->counts)
        take_counts(from, way->counts, its);
    if (its)
        *way = given;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static struct xfa_parcel packed(const struct xfw_replays *replays, struct xfw_way *const *ways,
                                size_t count, bool done)
{
    struct xfa_parcel parcel = {0};
    xfa_parcel_number(&parcel, done ? UINT64_MAX : replays->failed);
    xfa_parcel_text(&parcel, done ? "" : replays->whatif->why);
    for (size_t i = 0; i < count; i++)
        put_way(&parcel, ways[i]);
    return parcel;
}

static void take_failure(struct xfw_replays *replays, struct xfa_unpacking *from, uint64_t *first)
{
    uint64_t failed = xfa_unpack_number(from);
    char *why = xfa_unpack_text(from);
    if (failed < *first) {
        *first = failed;
        xfw_replays_fail(replays, why);
    } else {
        free(why);
    }
}

bool xfw_ways_exchange(struct xfw_replays *replays, struct xfw_way *const *ways,
                       const uint32_t *owners, size_t count, bool done)
{
    struct xfa_team *team = replays->analysis->run->team;
    struct xfa_parcel mine = packed(replays, ways, count, done);
    char *step = xfa_print("sharing %zu ways", count);
    struct xfa_parcel *all = xfa_team_exchange(team, step, &mine);
    uint64_t first = UINT64_MAX;
    for (uint32_t rank = 0; rank < xfa_team_count(team); rank++) {
        struct xfa_unpacking from = xfa_unpack(&all[rank]);
        take_failure(replays, &from, &first);
        for (size_t i = 0; i < count; i++)
            take_way(&from, ways[i], rank == owners[i]);
    }
    xfa_team_free_parcels(team, all);
    xfa_parcel_free(&mine);
    free(step);
    return first == UINT64_MAX;
}
