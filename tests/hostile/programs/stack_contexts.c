/* Coroutines (makecontext) that copy, on stacks that are unmapped and used again. */
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "tests/hostile/hostile.h"

enum { COUNT = 24, STACK = 128 << 10, TURNS = 8, ROUNDS = 3 };

static ucontext_t home, contexts[COUNT];

static void run(int number)
{
    for (volatile int i = 0; i < TURNS; i++) {
        round_trip((unsigned)number, 300);
        swapcontext(&contexts[number], &contexts[(number + 1) % COUNT]);
    }
    setcontext(&home);
}

static void prepare(void **stacks)
{
    for (int i = 0; i < COUNT; i++) {
        stacks[i] = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        must(stacks[i] != MAP_FAILED && getcontext(&contexts[i]) == 0, "a context");
        contexts[i].uc_stack = (stack_t){.ss_sp = stacks[i], .ss_size = STACK};
        contexts[i].uc_link = &home;
        makecontext(&contexts[i], (void (*)(void))run, 1, i);
    }
}

int main(void)
{
    void *stacks[COUNT];
    begin();
    for (volatile int round = 0; round < ROUNDS; round++) {
        prepare(stacks);
        swapcontext(&home, &contexts[0]);
        for (int i = 0; i < COUNT; i++)
            munmap(stacks[i], STACK);
    }
    moved();
    return 0;
}
