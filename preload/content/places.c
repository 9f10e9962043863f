#include "preload/content/parts.h"

#include <string.h>

#define PLACES 1024 /* the last ones; two that share an entry take it from each other */
#define MOST_CHANGES 6

static struct place {
    uint64_t dst, bytes; /* bytes 0: none */
    uint64_t hash;
    uint8_t known;   /* the hash is */
    uint8_t changes; /* hashes in a row that were others, MOST_CHANGES at most */
    uint8_t passes;  /* so many uploads are still passed over */
} places[PLACES];
static atomic_flag taken = ATOMIC_FLAG_INIT;

static bool take(void)
{
    return !atomic_flag_test_and_set_explicit(&taken, memory_order_acquire);
}

static void give(void)
{
    atomic_flag_clear_explicit(&taken, memory_order_release);
}

/* Of the place; one that was not known yet is empty but for its name. */
static struct place *place_of(uint64_t dst, uint64_t bytes)
{
    uint64_t mixed = (dst ^ bytes << 20) * UINT64_C(0x9e3779b97f4a7c15);
    struct place *place = &places[mixed >> 54]; /* 10 bits */
    if (place->dst != dst || place->bytes != bytes)
        *place = (struct place){.dst = dst, .bytes = bytes};
    return place;
}

bool xfs_places_ask(uint64_t dst, uint64_t bytes)
{
    if (!take())
        return false;
    struct place *place = place_of(dst, bytes);
    bool now = place->passes == 0;
    place->passes -= !now;
    give();
    return now;
}

void xfs_places_hashed(uint64_t dst, uint64_t bytes, uint64_t hash)
{
    if (!take())
        return;
    struct place *place = place_of(dst, bytes);
    if (place->known && place->hash != hash)
        place->changes += place->changes < MOST_CHANGES;
    else
        place->changes = 0;
    place->passes = (uint8_t)((1u << place->changes) - 1);
    place->hash = hash;
    place->known = true;
    give();
}

void xfs_places_forget(void)
{
    memset(places, 0, sizeof places);
    give();
}
