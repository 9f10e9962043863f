/* The events of a merge (analyzer/read/merge.h), one by one. Zeroed but for `merge` at first. */
#ifndef ONE_BY_ONE_H
#define ONE_BY_ONE_H

#include <stdbool.h>

#include "analyzer/read/merge.h"

struct one_by_one {
    struct xfa_merge *merge;
    const struct xfa_merged *batch;
    size_t count, taken;
};

/* False at the end. */
static inline bool one_next(struct one_by_one *events, struct xfa_merged *event)
{
    if (events->taken == events->count) {
        events->count = xfa_merge_next_batch(events->merge, &events->batch);
        events->taken = 0;
    }
    if (events->count == 0)
        return false;
    *event = events->batch[events->taken++];
    return true;
}

#endif
