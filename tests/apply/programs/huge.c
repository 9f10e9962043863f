/*
 * Page-locked memory that cannot be had, and what stays of memory that was given back: huge
 * allocate | register | freed | many.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/apply/programs/applied.h"

#define BYTES (40 * MIB)
enum { ROUNDS = 6, MANY = 24 };

xrt_error cudaHostAlloc(void **pointer, size_t bytes, unsigned flags);

static void *device;
static char *host;

/* More than there is: an error, not the end of whoever asks. */
static void allocate(void)
{
    static const size_t sizes[] = {(size_t)512 << 30, (size_t)1 << 46, SIZE_MAX / 2, SIZE_MAX - 5};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *memory = (void *)7;
        int error = cudaMallocHost(&memory, sizes[i]);
        printf("%d, last %d, ", error, cudaGetLastError());
        error = cudaHostAlloc(&memory, sizes[i], 0);
        printf("%d, last %d\n", error, cudaPeekAtLastError());
        MUST((cudaGetLastError(), cudaMemcpy(device, host, 8 * MIB, XRT_COPY_H2D)));
    }
}

/* As much as the address space bears, without a page of it. */
static void register_all(void)
{
    size_t bytes = (size_t)512 << 30;
    char *memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    printf("mapped %d\n", memory != MAP_FAILED);
    printf("in it: %d, ", cudaHostRegister(host, BYTES, 0));
    MUST(cudaMemcpy(device, host, 8 * MIB, XRT_COPY_H2D));
    printf("again: %d, ", cudaHostRegister(host + MIB, MIB, 0));
    printf("%d, last %d\n", cudaHostUnregister(host), cudaGetLastError());
}

/* Registered after it was given back; twice; a part. */
static void calls_about(char *memory)
{
    int gone = cudaHostUnregister(memory), freed = cudaFreeHost(memory);
    printf("  unregister %d, free %d, last %d\n", gone, freed, cudaGetLastError());
}

static void freed(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        char *memory;
        MUST(cudaMallocHost((void **)&memory, BYTES));
        memset(memory, i, BYTES);
        MUST(cudaMemcpy(device, memory, BYTES, XRT_COPY_H2D));
        printf("%d: free %d\n", i, cudaFreeHost(memory));
        calls_about(memory);
        calls_about(memory + 5 * MIB);
    }
}

/* Blocks that come and go in another order than they came, never of one size. */
static void many(void)
{
    char *memory[MANY];
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < MANY; j++) {
            MUST(cudaMallocHost((void **)&memory[j], BYTES - (size_t)(j % 5) * 3 * MIB));
            memory[j][BYTES - 12 * MIB - 1] = (char)j;
        }
        int wrong = 0;
        for (int j = 0; j < MANY; j++) {
            int at = j * 7 % MANY;
            wrong += memory[at][BYTES - 12 * MIB - 1] != (char)at;
            wrong += cudaFreeHost(memory[at]) != 0;
        }
        printf("%d: %d wrong, last %d\n", i, wrong, cudaGetLastError());
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "allocate";
    host = malloc(WARM_BYTES);
    memset(host, 1, WARM_BYTES);
    MUST(cudaMalloc(&device, WARM_BYTES));
    warm_up(device, host);
    if (strcmp(how, "allocate") == 0)
        allocate();
    else if (strcmp(how, "register") == 0)
        register_all();
    else if (strcmp(how, "freed") == 0)
        freed();
    else
        many();
    return 0;
}
