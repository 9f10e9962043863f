/*
 * Binary search. One function for every order: what comes before, the caller says. It is compiled
 * into its callers, with their question in it, so that it costs what a loop of their own would.
 */
#ifndef XFC_SEARCH_H
#define XFC_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

/* Of items in an array of which those that are before the key come first: the number of the first
 * one that is not, `count` when there is none. */
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
