/*
 * The program's own malloc, which calls CUDA: hooked locked | copies. Each block of 1 MiB and more
 * is page-locked, or is copied to the GPU as it is freed; so are those that libraries ask for.
 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tests/apply/programs/applied.h"

#define BYTES (40 * MIB)
#define LARGE MIB
enum { ROUNDS = 8, BLOCKS = 64 };

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void __libc_free(void *memory);

static int hooks, copying;
static __thread int inside;
static void *device, *locked[BLOCKS];
static char *host;
static unsigned calls, blocks;

/* Every allocation asks CUDA something, as counting allocators do. */
static void count_call(void)
{
    if (!hooks || inside)
        return;
    inside = 1;
    int saved = errno;
    (void)cudaPeekAtLastError();
    if (copying && calls % 16 == 0)
        (void)cudaMemcpy(device, host, 8 * MIB, XRT_COPY_H2D);
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    errno = saved;
    inside = 0;
}

static void *lock_pages(size_t bytes)
{
    void *memory = NULL;
    inside = 1;
    if (cudaMallocHost(&memory, bytes) != 0)
        memory = NULL;
    for (int i = 0; i < BLOCKS && memory; i++)
        if (locked[i] == NULL) {
            locked[i] = memory;
            __atomic_fetch_add(&blocks, 1, __ATOMIC_RELAXED);
            break;
        }
    inside = 0;
    return memory;
}

void *malloc(size_t bytes)
{
    void *memory = NULL;
    count_call();
    if (hooks && !copying && !inside && bytes >= LARGE)
        memory = lock_pages(bytes);
    return memory ? memory : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    count_call();
    return __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    count_call();
    return __libc_realloc(memory, bytes);
}

void free(void *memory)
{
    for (int i = 0; i < BLOCKS && memory; i++)
        if (locked[i] == memory) {
            locked[i] = NULL;
            inside = 1;
            (void)cudaFreeHost(memory);
            inside = 0;
            return;
        }
    count_call();
    __libc_free(memory);
}

static void there_and_back(int round)
{
    char *block = malloc(BYTES), *back = malloc(BYTES);
    fill(block, BYTES, (uint64_t)round);
    uint64_t sent = sum(block, BYTES);
    MUST(cudaMemcpy(device, block, BYTES, XRT_COPY_H2D));
    MUST(cudaMemcpy(back, device, BYTES, XRT_COPY_D2H));
    printf("%d: %s\n", round, sum(back, BYTES) == sent ? "same" : "different");
    free(block);
    free(back);
}

int main(int argc, char **argv)
{
    copying = argc > 1 && strcmp(argv[1], "copies") == 0;
    host = __libc_malloc(WARM_BYTES);
    memset(host, 1, WARM_BYTES);
    MUST(cudaMalloc(&device, WARM_BYTES));
    hooks = 1; /* while apply starts, too */
    warm_up(device, host);
    for (int i = 0; i < ROUNDS; i++)
        there_and_back(i);
    hooks = 0;
    printf("calls %s, blocks %u, last error %d\n", calls > 0 ? "came" : "did not come", blocks,
           cudaGetLastError());
    return 0;
}
