/*
 * A lock that is held for a few instructions. A thread that does not get it soon goes on without
 * it, since the program may have stopped the holder for ever.
 */
#ifndef XFS_BRIEF_LOCK_H
#define XFS_BRIEF_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

/* False: another thread still holds it after that many tries. */
static inline bool xfs_brief_take(atomic_flag *taken, unsigned tries)
{
    for (unsigned i = 0; i < tries; i++) {
        if (!atomic_flag_test_and_set_explicit(taken, memory_order_acquire))
            return true;
        __builtin_ia32_pause();
    }
    return false;
}

static inline void xfs_brief_give_back(atomic_flag *taken)
{
    atomic_flag_clear_explicit(taken, memory_order_release);
}

#endif
