#include "analyzer/read/seen.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "common/search.h"

struct stretch {
    uint64_t first, end;
};

struct lane {
    uint32_t id; /* key */
    uint32_t reserved;
    struct stretch *stretches; /* ascending, apart from each other */
    size_t count, capacity;
    uint64_t closed; /* numbers in holes that were given up */
};

void xfa_seen_init(struct xfa_seen *seen)
{
    xfa_table_init(&seen->lanes, sizeof(uint32_t), sizeof(struct lane));
}

void xfa_seen_free(struct xfa_seen *seen)
{
    for (size_t i = 0; i < seen->lanes.count; i++)
        free(((struct lane *)xfa_table_at(&seen->lanes, i))->stretches);
    xfa_table_free(&seen->lanes);
}

static bool ends_before(const void *stretch, const void *at)
{
    return ((const struct stretch *)stretch)->end < *(const uint64_t *)at;
}

/* The first stretch that ends at or after `at`. */
static size_t stretch_from(const struct lane *lane, uint64_t at)
{
    return xfc_partition(lane->stretches, lane->count, sizeof *lane->stretches, ends_before, &at);
}

/* The hole between the first two stretches. */
static void close_first(struct lane *lane)
{
    struct stretch *at = lane->stretches;
    lane->closed = xfa_add(lane->closed, at[1].first - at[0].end);
    at[1].first = at[0].first;
    lane->count--;
    memmove(at, at + 1, lane->count * sizeof *at);
}

void xfa_seen_add(struct xfa_seen *seen, uint32_t id, uint64_t first, uint64_t end)
{
    if (first >= end)
        return;
    struct lane *lane = xfa_table_put(&seen->lanes, &id);
    size_t from = stretch_from(lane, first), to = from;
    while (to < lane->count && lane->stretches[to].first <= end) {
        struct stretch *touched = &lane->stretches[to++];
        first = touched->first < first ? touched->first : first;
        end = touched->end > end ? touched->end : end;
    }
    lane->stretches =
        xfa_room(lane->stretches, &lane->capacity, lane->count + 1, sizeof *lane->stretches);
    memmove(lane->stretches + from + 1, lane->stretches + to,
            (lane->count - to) * sizeof *lane->stretches);
    lane->stretches[from] = (struct stretch){first, end};
    lane->count = lane->count - (to - from) + 1;
    if (lane->count > XFA_SEEN_HOLES)
        close_first(lane);
}

bool xfa_seen_get(const struct xfa_seen *seen, uint32_t id, uint64_t at, uint64_t end,
                  uint64_t *until)
{
    const struct lane *lane = xfa_table_get(&seen->lanes, &id);
    size_t i = lane ? stretch_from(lane, at) : 0;
    if (lane && i < lane->count && lane->stretches[i].end == at)
        i++;
    *until = end;
    if (!lane || i >= lane->count)
        return false;
    const struct stretch *next = &lane->stretches[i];
    bool inside = next->first <= at;
    uint64_t limit = inside ? next->end : next->first;
    *until = limit < end ? limit : end;
    return inside;
}

uint64_t xfa_seen_missing(const struct xfa_seen *seen)
{
    uint64_t missing = 0;
    for (size_t i = 0; i < seen->lanes.count; i++) {
        const struct lane *lane = xfa_table_at(&seen->lanes, i);
        uint64_t expected = 0;
        missing = xfa_add(missing, lane->closed);
        for (size_t k = 0; k < lane->count; k++) {
            missing = xfa_add(missing, lane->stretches[k].first - expected);
            expected = lane->stretches[k].end;
        }
    }
    return missing;
}
