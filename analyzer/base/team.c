#include "analyzer/base/team.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

/* ---- parcels --------------------------------------------------------------------------------- */

void xfa_parcel_free(struct xfa_parcel *parcel)
{
    free(parcel->bytes);
    *parcel = (struct xfa_parcel){0};
}

void xfa_parcel_put(struct xfa_parcel *parcel, const void *bytes, size_t count)
{
    if (count == 0)
        return;
    parcel->bytes = xfa_room(parcel->bytes, &parcel->capacity, parcel->count + count, 1);
    memcpy(parcel->bytes + parcel->count, bytes, count);
    parcel->count += count;
}

void xfa_parcel_number(struct xfa_parcel *parcel, uint64_t number)
{
    xfa_parcel_put(parcel, &number, sizeof number);
}

void xfa_parcel_real(struct xfa_parcel *parcel, double real)
{
    xfa_parcel_put(parcel, &real, sizeof real);
}

void xfa_parcel_text(struct xfa_parcel *parcel, const char *text)
{
    xfa_parcel_number(parcel, strlen(text));
    xfa_parcel_put(parcel, text, strlen(text));
}

struct xfa_unpacking xfa_unpack(const struct xfa_parcel *parcel)
{
    return (struct xfa_unpacking){parcel->bytes, parcel->count, false};
}

void xfa_unpack_bytes(struct xfa_unpacking *from, void *into, size_t count)
{
    memset(into, 0, count);
    from->bad = from->bad || from->left < count;
    if (from->bad || count == 0)
        return;
    memcpy(into, from->at, count);
    from->at += count;
    from->left -= count;
}

uint64_t xfa_unpack_number(struct xfa_unpacking *from)
{
    uint64_t number;
    xfa_unpack_bytes(from, &number, sizeof number);
    return number;
}

double xfa_unpack_real(struct xfa_unpacking *from)
{
    double real;
    xfa_unpack_bytes(from, &real, sizeof real);
    return real;
}

char *xfa_unpack_text(struct xfa_unpacking *from)
{
    uint64_t bytes = xfa_unpack_number(from);
    from->bad = from->bad || bytes > from->left;
    if (from->bad)
        return xfa_text("");
    char *text = xfa_alloc((size_t)bytes + 1);
    xfa_unpack_bytes(from, text, (size_t)bytes);
    return text;
}

size_t xfa_unpack_count(struct xfa_unpacking *from, size_t item_bytes)
{
    uint64_t count = xfa_unpack_number(from);
    from->bad = from->bad || count > from->left / item_bytes;
    return from->bad ? 0 : (size_t)count;
}

uint32_t xfa_unpack_below(struct xfa_unpacking *from, size_t limit)
{
    uint64_t number = xfa_unpack_number(from);
    from->bad = from->bad || number >= limit;
    return from->bad ? 0 : (uint32_t)number;
}

/* ---- members --------------------------------------------------------------------------------- */

static void free_parcels(struct xfa_parcel *all, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        xfa_parcel_free(&all[i]);
    free(all);
}

void xfa_team_free_parcels(const struct xfa_team *team, struct xfa_parcel *all)
{
    free_parcels(all, xfa_team_count(team));
}

/* One parcel without what says which step it is of. */
static struct xfa_parcel opened(struct xfa_team *team, uint32_t rank, const char *step,
                                const struct xfa_parcel *parcel)
{
    struct xfa_unpacking from = xfa_unpack(parcel);
    struct xfa_parcel inner = {0};
    uint64_t number = xfa_unpack_number(&from);
    char *its = xfa_unpack_text(&from);
    if (from.bad || number != team->steps || strcmp(its, step) != 0)
        team->fail(
            team->self,
            xfa_print("rank %u is at another step (%s) than rank %u (%s): the machines do not "
                      "compute alike, let one of them analyze",
                      rank, its, team->rank, step));
    free(its);
    xfa_parcel_put(&inner, from.at, from.left);
    return inner;
}

struct xfa_parcel *xfa_team_exchange(struct xfa_team *team, const char *step,
                                     const struct xfa_parcel *mine)
{
    struct xfa_parcel *all = xfa_alloc(xfa_team_count(team) * sizeof *all);
    if (!team) {
        xfa_parcel_put(&all[0], mine->bytes, mine->count);
        return all;
    }
    struct xfa_parcel outer = {0}, *outers = xfa_alloc(team->count * sizeof *outers);
    team->steps++;
    xfa_parcel_number(&outer, team->steps);
    xfa_parcel_text(&outer, step);
    xfa_parcel_put(&outer, mine->bytes, mine->count);
    team->exchange(team->self, &outer, outers);
    for (uint32_t i = 0; i < team->count; i++)
        all[i] = opened(team, i, step, &outers[i]);
    xfa_parcel_free(&outer);
    free_parcels(outers, team->count);
    return all;
}

uint64_t xfa_team_sum(struct xfa_team *team, uint64_t mine)
{
    struct xfa_parcel parcel = {0};
    uint64_t sum = 0;
    if (!team)
        return mine;
    xfa_parcel_number(&parcel, mine);
    struct xfa_parcel *all = xfa_team_exchange(team, "sum", &parcel);
    for (uint32_t i = 0; i < team->count; i++) {
        struct xfa_unpacking from = xfa_unpack(&all[i]);
        sum += xfa_unpack_number(&from);
    }
    xfa_team_free_parcels(team, all);
    xfa_parcel_free(&parcel);
    return sum;
}

bool xfa_team_any(struct xfa_team *team, bool mine)
{
    return xfa_team_sum(team, mine) > 0;
}

bool xfa_team_all(struct xfa_team *team, bool mine)
{
    return xfa_team_sum(team, mine) == xfa_team_count(team);
}

static bool is_same(const struct xfa_parcel *a, const struct xfa_parcel *b)
{
    if (a->count != b->count)
        return false;
    return !a->bytes || !b->bytes || memcmp(a->bytes, b->bytes, a->count) == 0;
}

bool xfa_team_agrees(struct xfa_team *team, const void *bytes, size_t count)
{
    struct xfa_parcel parcel = {0};
    bool same = true;
    if (!team)
        return true;
    xfa_parcel_put(&parcel, bytes, count);
    struct xfa_parcel *all = xfa_team_exchange(team, "compare", &parcel);
    for (uint32_t i = 0; i < team->count; i++)
        same = same && is_same(&all[i], &all[0]);
    xfa_team_free_parcels(team, all);
    xfa_parcel_free(&parcel);
    return same;
}
