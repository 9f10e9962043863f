#include "analyzer/read/time_order.h"

#include <string.h>

#include "common/search.h"

#define BLOCK 12 /* sorted by insertion */

static void insert(struct xfa_time_key *keys, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct xfa_time_key key = keys[i];
        size_t at = i;
        for (; at > 0 && key.ns < keys[at - 1].ns; at--)
            keys[at] = keys[at - 1];
        keys[at] = key;
    }
}

static bool is_by(const void *key, const void *ns)
{
    return ((const struct xfa_time_key *)key)->ns <= *(const uint64_t *)ns;
}

/* The first of the sorted keys that is later than `ns`. */
static size_t first_after(const struct xfa_time_key *keys, size_t count, uint64_t ns)
{
    return xfc_partition(keys, count, sizeof *keys, is_by, &ns);
}

/* keys[0, middle) and keys[middle, count) are sorted; the first is moved out of the way. */
static void merge(struct xfa_time_key *keys, size_t middle, size_t count,
                  struct xfa_time_key *spare)
{
    size_t from = first_after(keys, middle, keys[middle].ns), left = 0, right = middle;
    size_t moved = middle - from;
    memcpy(spare, keys + from, moved * sizeof *keys);
    while (left < moved && right < count) {
        if (keys[right].ns < spare[left].ns)
            keys[from++] = keys[right++];
        else
            keys[from++] = spare[left++];
    }
    memcpy(keys + from, spare + left, (moved - left) * sizeof *keys);
}

void xfa_time_order(struct xfa_time_key *keys, size_t count, struct xfa_time_key *spare)
{
    for (size_t at = 0; at < count; at += BLOCK)
        insert(keys + at, count - at < BLOCK ? count - at : BLOCK);
    for (size_t half = BLOCK; half < count; half *= 2) {
        for (size_t at = 0; at + half < count; at += 2 * half) {
            size_t both = count - at < 2 * half ? count - at : 2 * half;
            if (keys[at + half].ns < keys[at + half - 1].ns)
                merge(keys + at, half, both, spare);
        }
    }
}
