/* Its malloc fails from its first copy on, for every thread but its own. */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "tests/hostile/hostile.h"

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);

static atomic_bool failing;
static _Thread_local bool own;

static bool refused(void)
{
    if (!failing || own)
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t bytes)
{
    return refused() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return refused() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *block, size_t bytes)
{
    return refused() ? NULL : __libc_realloc(block, bytes);
}

static void work(unsigned number)
{
    own = true;
    use_gpu();
    round_trips(number, 300);
}

int main(void)
{
    if (!simulated())
        skip("a real driver's threads allocate");
    own = true;
    begin();
    round_trips(0, 10);
    failing = true;
    in_threads(4, 0, work);
    round_trips(0, 300);
    failing = false;
    moved();
    return 0;
}
