#include "analyzer/whatif/ways_known.h"

#include <string.h>

/* Somebody receives all of it, whatever is known. */
static bool is_received(const struct xfw_way *way)
{
    return way->tap || way->counts;
}

static bool are_played_alike(const struct xfw_way *of, const struct xfw_way *way)
{
    return of->certainty == way->certainty && of->recording == way->recording &&
           of->assumed == way->assumed && (of->asks_left || !way->asks_left) && !is_received(of) &&
           !is_received(way);
}

/* Nothing is more or less certain where nothing is changed. */
bool xfw_ways_alike(const struct xfw_way *of, const struct xfw_way *way)
{
    return of->count == way->count && of->recording == way->recording && !is_received(of) &&
           !is_received(way) && (of->asks_left || !way->asks_left) && of->assumed == way->assumed &&
           (of->count == 0 ||
            (of->certainty == way->certainty &&
             memcmp(of->changes, way->changes, of->count * sizeof *of->changes) == 0));
}

static bool does_nothing(const struct xfw_way *way)
{
    return way->count == 1 && way->changes[0]->does_nothing;
}

bool xfw_ways_are_idle(const struct xfw_way *of, const struct xfw_way *way)
{
    return does_nothing(of) && does_nothing(way) && are_played_alike(of, way);
}

uint64_t xfw_way_acted_alone(const struct xfw_way *of, const struct xfw_way *way)
{
    uint64_t acted = 0;
    size_t k = 0;
    if (way->count == 0 || way->count >= of->count || !are_played_alike(of, way))
        return 0;
    for (size_t i = 0; i < of->count; i++) {
        const uint64_t did = of->acted >> i % 64 & 1;
        if (k < way->count && of->changes[i] == way->changes[k])
            acted |= did << k++;
        else if (did)
            return 0;
    }
    return k == way->count ? acted : 0;
}
