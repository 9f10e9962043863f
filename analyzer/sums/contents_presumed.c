/*
 * Copies without a hash, between copies of the same place that have one.
 */
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/sums/contents_judge.h"

/* Where copies come from and go to, and what was found of those that have no hash yet. */
struct place {
    struct place_key {
        uint64_t src, dst, bytes;
        uint32_t direction, shape;
    } key;
    uint64_t hash, width;  /* of the last */
    uint32_t same, others; /* hashed copies that were like the one before, and not */
    uint32_t first;        /* index + 1 of the last one that is unsure; 0: none */
};

struct xfa_unsure {
    struct xfa_content item;
    struct xfa_found found;
    uint32_t next; /* index + 1 */
};

void xfa_hash_places_begin(struct xfa_hash_places *places)
{
    xfa_table_init(&places->table, sizeof(struct place_key), sizeof(struct place));
}

void xfa_hash_places_free(struct xfa_hash_places *places)
{
    xfa_table_free(&places->table);
    free(places->unsure);
}

static struct place_key key_of(const struct xfa_content *item)
{
    struct place_key key;
    memset(&key, 0, sizeof key);
    key.src = item->src;
    key.dst = item->dst;
    key.bytes = item->bytes;
    key.direction = item->direction;
    key.shape = item->shape;
    return key;
}

bool xfa_hash_places_hash(const struct xfa_hash_places *places, const struct xfa_content *item,
                          struct xfa_content *hash)
{
    struct place_key key = key_of(item);
    const struct place *place = xfa_table_get(&places->table, &key);
    if (place)
        *hash = (struct xfa_content){.hash = place->hash, .width = place->width};
    return place != NULL;
}

void xfa_hash_places_unsure(struct xfa_hash_places *places, const struct xfa_content *item,
                            const struct xfa_found *found)
{
    struct place_key key = key_of(item);
    struct place *place = xfa_table_get(&places->table, &key);
    uint32_t at = places->unused;
    if (!place || (!at && places->count >= XFA_MAX_CONTENTS))
        return;
    if (at) {
        places->unused = places->unsure[at - 1].next;
    } else {
        places->unsure =
            xfa_room(places->unsure, &places->capacity, places->count + 1, sizeof *places->unsure);
        at = (uint32_t)++places->count;
    }
    places->unsure[at - 1] = (struct xfa_unsure){*item, *found, place->first};
    place->first = at;
}

/* Ends the waiting of all of a place; they count or not. */
static void decide(struct xfa_contents *contents, struct place *place, bool count)
{
    struct xfa_hash_places *places = &contents->now->places;
    while (place->first) {
        struct xfa_unsure *unsure = &places->unsure[place->first - 1];
        uint32_t next = unsure->next;
        if (count)
            xfa_contents_found(contents, &unsure->found, &unsure->item, true);
        unsure->next = places->unused;
        places->unused = place->first;
        place->first = next;
    }
}

void xfa_hash_places_hashed(struct xfa_contents *contents, const struct xfa_content *item,
                            const struct xfa_content *hash)
{
    struct xfa_table *table = &contents->now->places.table;
    struct place_key key = key_of(item);
    struct place *place = xfa_table_get(table, &key);
    bool first = !place, same = false;
    if (first)
        place = xfa_table_put(table, &key);
    else
        same = place->hash == hash->hash && place->width == hash->width;
    place->same += same;
    place->others += !first && !same;
    decide(contents, place,
           same && place->same >= XFA_PRESUMED_LEAST &&
               place->same / XFA_PRESUMED_TIMES >= place->others);
    place->hash = hash->hash;
    place->width = hash->width;
}
