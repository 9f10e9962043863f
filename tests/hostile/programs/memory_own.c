/* Brings its own malloc, which counts: while it copies, its threads allocate nothing that they do
 * not allocate alone. */
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tests/hostile/hostile.h"

static _Alignas(64) char arena[400 << 20];
static atomic_size_t used;
static _Thread_local volatile int watched;
static atomic_int while_watched;

void *malloc(size_t bytes)
{
    size_t room = (bytes + 16 + 15) / 16 * 16, at = atomic_fetch_add(&used, room);
    while_watched += watched;
    if (at + room > sizeof arena) {
        errno = ENOMEM;
        return NULL;
    }
    memcpy(arena + at, &bytes, sizeof bytes);
    return arena + at + 16;
}

void free(void *block)
{
    (void)block;
}

void *calloc(size_t count, size_t bytes)
{
    return malloc(count * bytes); /* nothing is used twice */
}

void *realloc(void *block, size_t bytes)
{
    size_t before = 0;
    void *moved_to = malloc(bytes);
    if (block)
        memcpy(&before, (char *)block - 16, sizeof before);
    if (block && moved_to)
        memcpy(moved_to, block, before < bytes ? before : bytes);
    return moved_to;
}

void *memalign(size_t alignment, size_t bytes)
{
    char *block = malloc(bytes + alignment);
    if (!block)
        return NULL;
    char *aligned = (char *)(((uintptr_t)block + alignment - 1) / alignment * alignment);
    if (aligned != block)
        memcpy(aligned - 16, &bytes, sizeof bytes);
    return aligned;
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return memalign(alignment, bytes);
}

int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    *block = memalign(alignment, bytes);
    return *block ? 0 : ENOMEM;
}

static void work(unsigned number)
{
    use_gpu();
    round_trips(number, 50);
    watched = 1;
    round_trips(number, 300);
    watched = 0;
}

int main(void)
{
    begin();
    in_threads(4, 0, work);
    if (simulated())
        say("allocated while copying: %d", (int)while_watched);
    moved();
    return 0;
}
