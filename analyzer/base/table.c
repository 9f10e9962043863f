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
static struct {
    uint64_t seed, factor; /* 0: not known yet */
} secret;

static uint64_t seed(void)
{
    while (secret.seed == 0 || secret.factor == 0) {
        if (getrandom(&secret, sizeof secret, GRND_NONBLOCK) < 0) {
            secret.seed = (uintptr_t)&secret ^ (uint64_t)getpid() << 32;
            secret.factor = XXH3_64bits_withSeed(&secret.seed, sizeof secret.seed, secret.seed);
        }
        secret.factor |= 1;
    }
    return secret.seed;
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

/* Both halves of the product: all bits of the number come into each of the result. */
static inline uint64_t mixed(uint64_t number)
{
    unsigned __int128 product = (unsigned __int128)number * secret.factor;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Of numbers, whose length the compiler knows, in fewer instructions than XXH3 has for them. */
static inline uint64_t hash(const void *key, size_t key_bytes, uint64_t seed)
{
    uint64_t number = 0;
    uint32_t half;
    if (key_bytes > 32 || key_bytes % 4 != 0)
        return XXH3_64bits_withSeed(key, key_bytes, seed);
    for (size_t at = 0; at + sizeof number <= key_bytes; at += sizeof number) {
        memcpy(&number, (const unsigned char *)key + at, sizeof number);
        seed = mixed(seed ^ number);
    }
    if (key_bytes % sizeof number) {
        memcpy(&half, (const unsigned char *)key + (key_bytes - sizeof half), sizeof half);
        seed = mixed(seed ^ half);
    }
    return seed;
}

/* Inlined for each length, so that hashing and comparing numbers takes a few instructions. An item
 * is looked at only where its hash is the key's: it is somewhere else in memory. */
static inline struct xfa_slot *slot_of_length(const struct xfa_table *table, const void *key,
                                              size_t key_bytes, uint32_t *hashed)
{
    size_t mask = table->slot_count - 1;
    uint64_t all = hash(key, key_bytes, table->seed);
    size_t at = all & mask;
    *hashed = (uint32_t)(all >> 32);
    for (; table->slots[at].item != 0; at = (at + 1) & mask)
        if (table->slots[at].hash == *hashed &&
            memcmp(xfa_table_at(table, table->slots[at].item - 1), key, key_bytes) == 0)
            break;
    return &table->slots[at];
}

/* The slot of the key, or the empty one where it belongs; what that is to have of its hash. */
static struct xfa_slot *slot_of(const struct xfa_table *table, const void *key, uint32_t *hashed)
{
    switch (table->key_bytes) {
    case 4:
        return slot_of_length(table, key, 4, hashed);
    case 8:
        return slot_of_length(table, key, 8, hashed);
    case 12:
        return slot_of_length(table, key, 12, hashed);
    case 16:
        return slot_of_length(table, key, 16, hashed);
    case 24:
        return slot_of_length(table, key, 24, hashed);
    case 32:
        return slot_of_length(table, key, 32, hashed);
    default:
        return slot_of_length(table, key, table->key_bytes, hashed);
    }
}

static void fill_slots(struct xfa_table *table, size_t slot_count)
{
    uint32_t hashed;
    free(table->slots);
    table->slot_count = slot_count;
    table->slots = xfa_alloc(table->slot_count * sizeof *table->slots);
    for (size_t i = 0; i < table->count; i++) {
        struct xfa_slot *slot = slot_of(table, xfa_table_at(table, i), &hashed);
        *slot = (struct xfa_slot){(uint32_t)i + 1, hashed};
    }
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
    uint32_t hashed, found = slot_of(table, key, &hashed)->item;
    return found ? xfa_table_at(table, found - 1) : NULL;
}

void *xfa_table_put(struct xfa_table *table, const void *key)
{
    if ((table->count + 1) * 4 > table->slot_count * 3)
        fill_slots(table, table->slot_count ? table->slot_count * 2 : 32);
    uint32_t hashed;
    struct xfa_slot *slot = slot_of(table, key, &hashed);
    if (slot->item)
        return xfa_table_at(table, slot->item - 1);
    table->items = xfa_room(table->items, &table->capacity, table->count + 1, table->item_bytes);
    unsigned char *item = xfa_table_at(table, table->count);
    memset(item, 0, table->item_bytes);
    memcpy(item, key, table->key_bytes);
    *slot = (struct xfa_slot){(uint32_t)++table->count, hashed};
    return item;
}
