/*
 * Copies that are not between pageable memory and memory of the device are made as they were asked
 * for: page-locked, registered (whole, and in part), mapped and managed memory; memory that is
 * registered and unregistered again and again between copies of it, whose calls all succeed.
 */
#include <string.h>
#include <sys/mman.h>

#include "tests/apply/programs/applied.h"

xrt_error cudaMallocManaged(void **pointer, size_t bytes, unsigned flags);
xrt_error cudaHostAlloc(void **pointer, size_t bytes, unsigned flags);

#define BYTES (4 * MIB)

static void *device;

static void there_and_back(const char *what, char *up, char *down, uint64_t seed)
{
    fill(up, BYTES, seed);
    uint64_t sent = sum(up, BYTES);
    MUST(cudaMemcpy(device, up, BYTES, XRT_COPY_DEFAULT));
    MUST(cudaMemcpy(down, device, BYTES, XRT_COPY_DEFAULT));
    MUST(cudaMemcpyAsync(device, up, BYTES, XRT_COPY_DEFAULT, NULL));
    MUST(cudaMemcpyAsync(down, device, BYTES, XRT_COPY_DEFAULT, NULL));
    MUST(cudaDeviceSynchronize());
    printf("%s: %s\n", what, sum(down, BYTES) == sent ? "same" : "different");
}

/* A page-locked block that the allocator hands out again must not stay registered. */
static void registered_again(void)
{
    for (int i = 0; i < 20; i++) {
        char *block = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(block, i, BYTES);
        MUST(cudaMemcpy(device, block, BYTES, XRT_COPY_H2D));
        MUST(cudaHostRegister(block, BYTES, 0));
        MUST(cudaMemcpy(device, block, BYTES, XRT_COPY_H2D));
        MUST(cudaHostUnregister(block));
        MUST(cudaMemcpy(block, device, BYTES, XRT_COPY_D2H));
        MUST(cudaHostRegister(block + MIB, MIB, 0)); /* a part of it */
        MUST(cudaMemcpy(device, block, BYTES, XRT_COPY_H2D));
        MUST(cudaHostUnregister(block + MIB));
        munmap(block, BYTES);
    }
    printf("registered again: last error %d\n", cudaGetLastError());
}

int main(void)
{
    char *pageable = malloc(WARM_BYTES), *pinned, *mapped;
    void *managed;
    memset(pageable, 1, WARM_BYTES);
    MUST(cudaMalloc(&device, WARM_BYTES));
    MUST(cudaMallocHost((void **)&pinned, BYTES));
    MUST(cudaHostAlloc((void **)&mapped, BYTES, XCU_HOST_DEVICEMAP | XCU_HOST_WRITECOMBINED));
    MUST(cudaMallocManaged(&managed, BYTES, 1));
    warm_up(device, pageable);
    for (uint64_t i = 0; i < 3; i++) {
        there_and_back("pageable to pinned", pageable, pinned, i);
        there_and_back("pinned to pageable", pinned, pageable, i);
        there_and_back("mapped", mapped, pinned, i);
        there_and_back("managed to pageable", managed, pageable, i);
        there_and_back("pageable to managed", pageable, managed, i);
    }
    registered_again();
    return 0;
}
