/*
 * A lock that is held for a few instructions. Who does not get it soon goes on without, since the
 * thread that has it may have been stopped by the program, for ever.
 */
#ifndef XFS_BRIEF_LOCK_H
#define XFS_BRIEF_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

/* False: another one still has it after so many tries. */
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
