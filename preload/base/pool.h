/*
 * A pool of objects that threads take and give back without a lock: no thread waits for another,
 * and a fork at any moment finds the pool consistent. The memory of an object is never freed; the
 * node at its start belongs to the pool while the object is in it. All zero: empty.
 */
#ifndef XFS_POOL_H
#define XFS_POOL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* At multiples of 16. */
struct xfs_pool_node {
    struct xfs_pool_node *_Atomic next;
};

/* The first node's address, and a count of its changes, so that a node that was taken and given
 * back differs from one that stayed. Addresses have 47 bits, of which 43 are stored. */
struct xfs_pool {
    _Atomic uint64_t first;
    atomic_int count; /* about */
};
#define XFS_POOL_COUNT_BITS 21

static inline struct xfs_pool_node *xfs_pool_first(uint64_t first)
{
    return (struct xfs_pool_node *)(uintptr_t)(first >> XFS_POOL_COUNT_BITS << 4);
}

static inline uint64_t xfs_pool_changed(uint64_t first, const struct xfs_pool_node *now)
{
    uint64_t mask = (UINT64_C(1) << XFS_POOL_COUNT_BITS) - 1;
    return (uint64_t)(uintptr_t)now >> 4 << XFS_POOL_COUNT_BITS | ((first + 1) & mask);
}

static inline void xfs_pool_put(struct xfs_pool *pool, struct xfs_pool_node *node)
{
    uint64_t first = atomic_load_explicit(&pool->first, memory_order_relaxed);
    do
        atomic_store_explicit(&node->next, xfs_pool_first(first), memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&pool->first, &first,
                                                  xfs_pool_changed(first, node),
                                                  memory_order_release, memory_order_relaxed));
    atomic_fetch_add_explicit(&pool->count, 1, memory_order_relaxed);
}

/* NULL when it is empty. */
static inline struct xfs_pool_node *xfs_pool_take(struct xfs_pool *pool)
{
    uint64_t first = atomic_load_explicit(&pool->first, memory_order_acquire);
    struct xfs_pool_node *node, *next;
    do {
        node = xfs_pool_first(first);
        if (node == NULL)
            return NULL;
        next = atomic_load_explicit(&node->next, memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(&pool->first, &first,
                                                    xfs_pool_changed(first, next),
                                                    memory_order_acquire, memory_order_acquire));
    atomic_fetch_sub_explicit(&pool->count, 1, memory_order_relaxed);
    return node;
}

#endif
