/*
 * A hash table of fixed-size items. Each item begins with its key of key_bytes bytes, which are
 * compared as bytes: zero a key with padding before filling it in. Items are in one array in the
 * order of their insertion; pointers to them are valid until the next xfa_table_put(). The hash has
 * a random seed, so that a file cannot choose keys that collide.
 */
#ifndef XFA_TABLE_H
#define XFA_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct xfa_slot {
    uint32_t item; /* its index + 1, 0 = empty */
    uint32_t hash; /* of its key */
};

struct xfa_table {
    size_t key_bytes, item_bytes;
    size_t count, capacity;
    unsigned char *items;
    struct xfa_slot *slots;
    size_t slot_count;
    uint64_t seed; /* of the hash */
};

void xfa_table_init(struct xfa_table *table, size_t key_bytes, size_t item_bytes);
void xfa_table_free(struct xfa_table *table);

/* The item with this key, or NULL. */
void *xfa_table_get(const struct xfa_table *table, const void *key);

/* The item with this key; a new one is zero except for its key. */
void *xfa_table_put(struct xfa_table *table, const void *key);

/* Items in another order: as for qsort_r(). */
void xfa_table_sort(struct xfa_table *table, int (*order)(const void *, const void *, void *),
                    void *self);

static inline void *xfa_table_at(const struct xfa_table *table, size_t i)
{
    return table->items + i * table->item_bytes;
}

/* Where an item lies, as xfa_table_at() takes it. */
static inline uint32_t xfa_table_place(const struct xfa_table *table, const void *item)
{
    return (uint32_t)(((const unsigned char *)item - table->items) / table->item_bytes);
}

#endif
