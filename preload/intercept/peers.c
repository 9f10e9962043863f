#include "preload/intercept/peers.h"

#include <stdatomic.h>
#include <stddef.h>

#define DEVICES 64

static atomic_bool enabled_for[DEVICES][DEVICES];

static bool in_table(int one, int other)
{
    return one >= 0 && one < DEVICES && other >= 0 && other < DEVICES;
}

void xfs_peers_set(int device, int peer, bool enabled)
{
    if (in_table(device, peer))
        atomic_store_explicit(&enabled_for[device][peer], enabled, memory_order_relaxed);
}

bool xfs_peers_enabled(int one, int other)
{
    return in_table(one, other) &&
           (atomic_load_explicit(&enabled_for[one][other], memory_order_relaxed) ||
            atomic_load_explicit(&enabled_for[other][one], memory_order_relaxed));
}

void xfs_peers_clear(void)
{
    for (size_t i = 0; i < DEVICES; i++)
        for (size_t j = 0; j < DEVICES; j++)
            atomic_store_explicit(&enabled_for[i][j], false, memory_order_relaxed);
}
