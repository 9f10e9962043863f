#include "analyzer/whatif/families.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"

/* ---- ways ------------------------------------------------------------------------------------ */

/* Wherever they stand in a set, some have each op before the others, and some behind them. */
enum { FIRST, BETWEEN, LAST, TURNS };

static int turn_of(const struct xfw_change *change)
{
    return change->first ? FIRST : change->last ? LAST : BETWEEN;
}

static bool changes_something(const struct xfw_change *change, enum xfw_certainty certainty)
{
    return certainty >= change->from || change->assured;
}

/* Do the changes leave the run as it is, taken so? */
static bool changes_nothing(const struct xfw_way *way)
{
    for (size_t i = 0; i < way->count; i++)
        if (changes_something(way->changes[i], way->certainty))
            return false;
    return true;
}

/* It changes nothing, taken so, and no other one asks whether it has taken a transfer. */
static bool is_needless(const struct xfw_change *change, enum xfw_certainty certainty,
                        struct xfw_change *const *members, size_t count)
{
    bool needless = !changes_something(change, certainty);
    for (size_t i = 0; i < count && needless; i++)
        needless = !(members[i]->excludes >> change->number & 1);
    return needless;
}

void xfw_way_of(struct xfw_way *way, struct xfw_change *const *changes, const unsigned *order,
                size_t count, size_t more, size_t without)
{
    struct xfw_change **in_order = xfa_alloc((count + 1) * sizeof *in_order);
    size_t members = 0;
    for (unsigned place = 1; order && place <= count; place++)
        for (size_t i = 0; i < count; i++)
            if (order[i] == place && i != without)
                in_order[members++] = changes[i];
    if (more < count)
        in_order[members++] = changes[more];
    bool resized = false;
    for (size_t i = 0; i < members; i++)
        resized = resized || in_order[i]->resizes;
    way->changes = xfa_alloc((members + 1) * sizeof *way->changes);
    for (int turn = 0; turn < TURNS; turn++)
        for (size_t i = 0; i < members; i++)
            if (turn_of(in_order[i]) == turn && (resized || !in_order[i]->idle) &&
                !is_needless(in_order[i], way->certainty, in_order, members))
                way->changes[way->count++] = in_order[i];
    way->unchanged = members > 0 && changes_nothing(way);
    way->count = way->unchanged ? 0 : way->count;
    way->asks_left = way->asks_left && !way->unchanged;
    free(in_order);
}

void xfw_ways_free(struct xfw_way *ways, size_t count)
{
    for (size_t i = 0; i < count; i++)
        xfw_way_free(&ways[i]);
    free(ways);
}

/* ---- families -------------------------------------------------------------------------------- */

bool xfw_same_family(const struct xfw_change *a, const struct xfw_change *b)
{
    return a->family && a->family == b->family && !a->for_comparison && !b->for_comparison;
}

/* What saves the most of its family, whatif->alone. */
static double most_of_family(const struct xfw_whatif *whatif, struct xfw_change *const *changes,
                             size_t i)
{
    double most = whatif->alone[i].likely;
    for (size_t k = 0; k < whatif->count; k++)
        if (xfw_same_family(changes[i], changes[k]))
            most = fmax(most, whatif->alone[k].likely);
    return most;
}

/* The first that saves nearly as much as the one that saves the most. */
bool xfw_whatif_best_of_family(const struct xfw_whatif *whatif, struct xfw_change *const *changes,
                               size_t i)
{
    double saved = whatif->alone[i].likely, most = most_of_family(whatif, changes, i);
    double nearly = most > 0 ? most / XFW_ALIKE : most;
    if (changes[i]->for_comparison)
        return false;
    for (size_t k = 0; k < whatif->count && changes[i]->family; k++) {
        double other = whatif->alone[k].likely;
        bool compared = changes[k]->for_comparison && changes[k]->family == changes[i]->family;
        if (compared && xfw_hardly_more(whatif, saved, other))
            return false;
        if (k < i && xfw_same_family(changes[i], changes[k]) && other > nearly)
            return false;
    }
    return !(saved < nearly);
}

bool xfw_family_may_join(const struct xfw_whatif *whatif, struct xfw_change *const *changes,
                         size_t i)
{
    bool may = changes[i]->family && !changes[i]->for_comparison;
    for (size_t k = 0; k < whatif->count && may; k++)
        may = !whatif->order[k] ||
              (!xfw_same_family(changes[i], changes[k]) && !(changes[i]->excludes >> k & 1));
    return may;
}

bool xfw_stands_for_family(const struct xfw_whatif *whatif, struct xfw_change *const *changes,
                           size_t i)
{
    double enough = most_of_family(whatif, changes, i) - XFW_RUN_ERROR * whatif->alone_ns;
    bool stands = whatif->alone[i].likely >= enough;
    for (size_t k = i + 1; k < whatif->count && stands; k++)
        stands = !xfw_same_family(changes[i], changes[k]) || whatif->alone[k].likely < enough;
    return stands;
}

bool xfw_has_family(const struct xfw_whatif *whatif, struct xfw_change *const *changes,
                    const unsigned *order, size_t i)
{
    for (size_t k = 0; k < whatif->count; k++)
        if (order[k] && xfw_same_family(changes[i], changes[k]))
            return true;
    return false;
}

/* ---- one in the place of others -------------------------------------------------------------- */

unsigned xfw_set_make_place(struct xfw_whatif *whatif, const struct xfw_change *one)
{
    unsigned left = 0, most = 0;
    for (size_t k = 0; k < whatif->count; k++) {
        most = whatif->order[k] > most ? whatif->order[k] : most;
        whatif->order[k] = one->excludes >> k & 1 ? 0 : whatif->order[k];
    }
    for (unsigned place = 1; place <= most; place++)
        for (size_t k = 0; k < whatif->count; k++)
            if (whatif->order[k] == place)
                whatif->order[k] = ++left;
    return left;
}
