/* Threads on stacks of the program's own: in its data, on the heap, one that grows downwards, one
 * that goes away. */
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tests/hostile/hostile.h"

enum { STACK = 128 << 10 };

static char in_data[STACK] __attribute__((aligned(4096)));

static void *work(void *slot)
{
    use_gpu();
    round_trips((unsigned)(uintptr_t)slot, 60);
    return NULL;
}

static void on(void *stack, unsigned slot)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    must(pthread_attr_setstack(&attributes, stack, STACK) == 0, "setstack");
    must(pthread_create(&thread, &attributes, work, (void *)(uintptr_t)slot) == 0,
         "pthread_create");
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

int main(void)
{
    begin();
    for (unsigned i = 0; i < 5; i++) {
        void *heap = aligned_alloc(4096, STACK);
        void *grows = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_STACK, -1, 0);
        must(heap && grows != MAP_FAILED, "memory");
        on(in_data, 1);
        on(heap, 2);
        on(grows, 3);
        free(heap);
        munmap(grows, STACK);
    }
    moved();
    return 0;
}
