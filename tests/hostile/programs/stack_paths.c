/* Copies from 16,384 different call stacks, each once: by 8,192 ways, to the device and back. */
#include "tests/hostile/hostile.h"

enum { DEPTH = 13 };

static __attribute__((noinline)) void go(unsigned way, int depth)
{
    if (depth == 0) {
        round_trip(0, 64);
    } else if (way & 1) {
        go(way >> 1, depth - 1);
        __asm__ volatile("nop"); /* two calls, and no jumps */
    } else {
        go(way >> 1, depth - 1);
    }
    __asm__ volatile("" ::: "memory");
}

int main(void)
{
    begin();
    for (unsigned way = 0; way < 1u << DEPTH; way++)
        go(way, DEPTH);
    moved();
    return 0;
}
