#include "preload/base/apart.h"

#include <stdatomic.h>

#define MOST 1024

static atomic_int tids[MOST]; /* 0: none */
static atomic_uint used, added;
static atomic_bool full;

static void raise_used(unsigned to)
{
    unsigned seen = atomic_load(&used);
    while (seen < to && !atomic_compare_exchange_weak(&used, &seen, to))
        ;
}

void xfs_apart_add(int tid)
{
    for (unsigned i = 0; i < MOST; i++) {
        int none = 0;
        if (!atomic_compare_exchange_strong(&tids[i], &none, tid))
            continue;
        raise_used(i + 1);
        atomic_fetch_add(&added, 1);
        return;
    }
    atomic_store(&full, true);
}

static int place_of(int tid)
{
    unsigned count = atomic_load(&used);
    for (unsigned i = 0; i < count; i++)
        if (atomic_load_explicit(&tids[i], memory_order_relaxed) == tid)
            return (int)i;
    return -1;
}

void xfs_apart_remove(int tid)
{
    int place = place_of(tid);
    if (place >= 0)
        atomic_compare_exchange_strong(&tids[place], &tid, 0);
}

bool xfs_apart_has(int tid)
{
    return place_of(tid) >= 0;
}

bool xfs_apart_is_full(void)
{
    return atomic_load(&full);
}

unsigned xfs_apart_added(void)
{
    return atomic_load(&added);
}

void xfs_apart_after_fork(void)
{
    for (unsigned i = 0; i < MOST; i++)
        atomic_store(&tids[i], 0);
    atomic_store(&used, 0);
    atomic_store(&full, false);
}
