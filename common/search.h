/*
 * Binary search for any order, which the caller defines. It is inlined together with the caller's
 * comparison, so that it costs no more than a loop written there.
 */
#ifndef XFC_SEARCH_H
#define XFC_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

/* In an array whose items before the key come first: the index of the first item that is not before
 * it, `count` when there is none. */
__attribute__((always_inline)) static inline size_t
xfc_partition(const void *items, size_t count, size_t item_bytes,
              bool (*is_before)(const void *item, const void *key), const void *key)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (is_before((const char *)items + middle * item_bytes, key))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
