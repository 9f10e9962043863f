#include "preload/timing/sample.h"

#include <stdatomic.h>
#include <stddef.h>

#define CLASSES 256 /* a power of two */

static struct {
    _Atomic uint64_t key;
    _Atomic uint32_t seen, next;
} __attribute__((aligned(64))) classes[CLASSES];

static uint64_t mix(uint64_t n)
{
    n *= UINT64_C(0x9e3779b97f4a7c15);
    return n ^ n >> 32;
}

static uint32_t gap(uint32_t seen)
{
    return seen < XFS_SAMPLE_FIRST ? 1 : 1 + seen / 12 + (uint32_t)(mix(seen) % (1 + seen / 12));
}

bool xfs_sample_takes(uint16_t call, uintptr_t returns_to)
{
    uint64_t key = mix(returns_to ^ (uint64_t)call << 48) | 1;
    size_t at = (size_t)(key >> 8) % CLASSES;
    uint64_t found = atomic_load_explicit(&classes[at].key, memory_order_relaxed);
    for (int i = 0; i < 4 && found != key && found != 0; i++) {
        at = (at + 1) % CLASSES;
        found = atomic_load_explicit(&classes[at].key, memory_order_relaxed);
    }
    if (found == 0)
        atomic_store_explicit(&classes[at].key, key, memory_order_relaxed);
    uint32_t seen = atomic_load_explicit(&classes[at].seen, memory_order_relaxed) + 1;
    atomic_store_explicit(&classes[at].seen, seen, memory_order_relaxed);
    if (seen < atomic_load_explicit(&classes[at].next, memory_order_relaxed))
        return false;
    atomic_store_explicit(&classes[at].next, seen + gap(seen), memory_order_relaxed);
    return true;
}
