/*
 * The calling thread's stack as xfs_unwind_next gives it, and as libunwind does.
 */
#ifndef BOTH_H
#define BOTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BOTH_MOST 400

struct both {
    uintptr_t ours[BOTH_MOST], reference[BOTH_MOST];
    size_t our_count, reference_count;
};

/* From the caller's caller on: the caller's own frame is known by its return address. */
void both_take(struct both *both);

/* Ours alone. */
size_t both_take_ours(uintptr_t *frames, size_t most);

/* Every frame the same, and as many. Says what differs. */
bool both_agree(const struct both *both);

#endif
