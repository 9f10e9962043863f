#include "analyzer/base/table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyzer/base/alloc.h"

/* Different in every process: keys come from files, whose author must not know which ones
 * collide. */
static uint64_t seed(void)
{
    static uint64_t number;
    while (number == 0)
        if (getrandom(&number, sizeof number, GRND_NONBLOCK) < 0)
            number = (uintptr_t)&number ^ (uint64_t)getpid() << 32;
    return number;
}

void xfa_table_init(struct xfa_table *table, size_t key_bytes, size_t item_bytes)
{
    *table = (struct xfa_table){.key_bytes = key_bytes, .item_bytes = item_bytes, .seed = seed()};
}

void xfa_table_free(struct xfa_table *table)
{
    free(table->items);
    free(table->slots);
    xfa_table_init(table, table->key_bytes, table->item_bytes);
}

/* Inlined for each length, so that hashing and comparing numbers takes a few instructions. */
static inline uint32_t *slot_of_length(const struct xfa_table *table, const void *key,
                                       size_t key_bytes)
{
    size_t mask = table->slot_count - 1;
    size_t at = XXH3_64bits_withSeed(key, key_bytes, table->seed) & mask;
    while (table->slots[at] != 0) {
        const void *item = xfa_table_at(table, table->slots[at] - 1);
        if (memcmp(item, key, key_bytes) == 0)
            break;
        at = (at + 1) & mask;
    }
    return &table->slots[at];
}

/* The slot of the key, or the empty one where it belongs. */
static uint32_t *slot_of(const struct xfa_table *table, const void *key)
{
    switch (table->key_bytes) {
    case 4:
        return slot_of_length(table, key, 4);
    case 8:
        return slot_of_length(table, key, 8);
    case 12:
        return slot_of_length(table, key, 12);
    case 16:
        return slot_of_length(table, key, 16);
    case 24:
        return slot_of_length(table, key, 24);
    default:
        return slot_of_length(table, key, table->key_bytes);
    }
}

static void fill_slots(struct xfa_table *table, size_t slot_count)
{
    free(table->slots);
    table->slot_count = slot_count;
    table->slots = xfa_alloc(table->slot_count * sizeof *table->slots);
    for (size_t i = 0; i < table->count; i++)
        *slot_of(table, xfa_table_at(table, i)) = (uint32_t)i + 1;
}

void xfa_table_sort(struct xfa_table *table, int (*order)(const void *, const void *, void *),
                    void *self)
{
    if (table->count == 0)
        return;
    qsort_r(table->items, table->count, table->item_bytes, order, self);
    fill_slots(table, table->slot_count);
}

void *xfa_table_get(const struct xfa_table *table, const void *key)
{
    if (table->count == 0)
        return NULL;
    uint32_t found = *slot_of(table, key);
    return found ? xfa_table_at(table, found - 1) : NULL;
}

void *xfa_table_put(struct xfa_table *table, const void *key)
{
    if ((table->count + 1) * 4 > table->slot_count * 3)
        fill_slots(table, table->slot_count ? table->slot_count * 2 : 32);
    uint32_t *slot = slot_of(table, key);
    if (*slot)
        return xfa_table_at(table, *slot - 1);
    table->items = xfa_room(table->items, &table->capacity, table->count + 1, table->item_bytes);
    unsigned char *item = xfa_table_at(table, table->count);
    memset(item, 0, table->item_bytes);
    memcpy(item, key, table->key_bytes);
    *slot = (uint32_t)++table->count;
    return item;
}
