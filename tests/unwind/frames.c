/* FRAMES and FRAMES_END: what the functions are called; see frames.h. */
#include "tests/unwind/frames.h"

#include <alloca.h>
#include <string.h>

#define SORTS 6

static __attribute__((noinline)) int small(int depth, frames_leaf *leaf, void *argument)
{
    return FRAMES(depth - 1, leaf, argument) + 1;
}

static __attribute__((noinline)) int with_room(int depth, frames_leaf *leaf, void *argument)
{
    volatile char room[5000];
    memset((char *)room, depth, sizeof room);
    return FRAMES(depth - 1, leaf, argument) + room[depth];
}

static __attribute__((noinline)) int with_alloca(int depth, frames_leaf *leaf, void *argument)
{
    volatile char *room = alloca((size_t)depth * 40 + 8);
    room[0] = (char)depth;
    return FRAMES(depth - 1, leaf, argument) + room[0];
}

static __attribute__((noinline)) int aligned(int depth, frames_leaf *leaf, void *argument)
{
    volatile char room[64] __attribute__((aligned(64)));
    volatile char *more = alloca((size_t)depth * 8 + 8);
    room[0] = more[0] = (char)depth;
    return FRAMES(depth - 1, leaf, argument) + room[0] + more[0];
}

static __attribute__((noinline)) int with_arguments(long a, long b, long c, long d, long e, long f,
                                                    int depth, frames_leaf *leaf, void *argument)
{
    return FRAMES(depth - 1, leaf, argument) + (int)(a + b + c + d + e + f);
}

static __attribute__((noinline)) int busy(int depth, frames_leaf *leaf, void *argument)
{
    volatile int a = depth, b = depth + 1, c = depth + 2;
    int x = a, y = b, z = c, sum = FRAMES(depth - 1, leaf, argument);
    return sum + x * y + z;
}

int FRAMES(int depth, frames_leaf *leaf, void *argument)
{
    static int (*const sorts[])(int, frames_leaf *, void *) = {small, with_room, with_alloca,
                                                               aligned, busy};
    if (depth <= 0) {
        leaf(argument);
        return 0;
    }
    int sort = depth % SORTS;
    if (sort == SORTS - 1)
        return with_arguments(1, 2, 3, depth, 5, 6, depth, leaf, argument) + 1;
    return sorts[sort](depth, leaf, argument) + 1;
}

void FRAMES_END(frames_leaf *leaf, void *argument)
{
    leaf(argument);
    __builtin_unreachable();
}
