/*
 * Calls that are left by siglongjmp from a signal handler, on the stack or on an alternate one, and
 * copies after each. With the runtime of fake_cudart.c, which raises the signal in the midst of a
 * copy. Prints how many copies came to their end, and how many did not.
 *
 * usage: jump stack|alternate
 */
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/programs/runtime_api.h"
#include "tests/unbreakable/fake_cudart.h"

enum { JUMPS = 50, BYTES = 100, ALTERNATE_BYTES = 64 << 10 };

static sigjmp_buf back;
static void *device;
static char host[BYTES];
static volatile int ended, left;

static void on_signal(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

static void copy(int kind)
{
    if (cudaMemcpy(device, host, BYTES, kind) == 0)
        ended++;
}

static __attribute__((noinline)) void copy_from_below(int depth)
{
    volatile char room[256];
    room[0] = (char)depth;
    if (depth > 0)
        copy_from_below(depth - 1);
    else
        copy(XRT_COPY_H2D);
    room[1] = room[0];
}

static void jump_once(void)
{
    if (sigsetjmp(back, 1) == 0)
        copy(FAKE_COPY_RAISES);
    else
        left++;
}

int main(int argc, char **argv)
{
    bool alternate = argc > 1 && strcmp(argv[1], "alternate") == 0;
    stack_t stack = {.ss_sp = malloc(ALTERNATE_BYTES), .ss_size = ALTERNATE_BYTES};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = alternate ? SA_ONSTACK : 0};
    if (alternate && sigaltstack(&stack, NULL) != 0)
        return 1;
    sigaction(SIGUSR1, &action, NULL);
    if (cudaMalloc(&device, BYTES) != 0)
        return 1;
    copy(XRT_COPY_H2D);
    for (int i = 0; i < JUMPS; i++) {
        jump_once();
        copy(XRT_COPY_H2D);
        copy_from_below(i % 5);
    }
    printf("%d ended, %d left\n", ended, left);
    return 0;
}
