/*
 * Numbers that look random and are the same in each run, for tests that draw their runs.
 */
#ifndef RANDOM_BELOW_H
#define RANDOM_BELOW_H

#include <stdint.h>

/* Below a limit of at most 2^31; *state: whatever one begins with. The multiplier and the increment
 * are Knuth's (The Art of Computer Programming, volume 2, 3.3.4: MMIX). */
static inline uint32_t random_below(uint64_t *state, uint32_t limit)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % limit;
}

#endif
