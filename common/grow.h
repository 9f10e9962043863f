/*
 * Arrays that grow, where running out of memory is not the end of the process. `items` is the
 * address of the array's pointer. False when memory is short: the array is then as it was.
 */
#ifndef XFC_GROW_H
#define XFC_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* Room for `room` items. */
static inline bool xfc_resize(void *items, size_t room, size_t item_bytes)
{
    void **array = items, *larger = realloc(*array, room * item_bytes);
    if (larger)
        *array = larger;
    return larger != NULL;
}

/* Room for one more item than the `count` there are, of *room: twice as much where it does not do.
 */
static inline bool xfc_grow(void *items, size_t *room, size_t count, size_t item_bytes)
{
    size_t larger = *room ? 2 * *room : 16;
    if (count < *room)
        return true;
    if (!xfc_resize(items, larger, item_bytes))
        return false;
    *room = larger;
    return true;
}

#endif
