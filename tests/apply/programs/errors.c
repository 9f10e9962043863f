/*
 * Errors of large copies: what the calls return, and what stays as the last error, is the same: of
 * ranges that are too long, of addresses that are none, of the wrong direction, of freed memory, of
 * streams that are gone.
 */
#include <string.h>

#include "tests/apply/programs/applied.h"

#define BYTES (4 * MIB)

static void report(const char *what, int error)
{
    int peeked = cudaPeekAtLastError(), last = cudaGetLastError();
    printf("%s: %d, then %d, %d, %d\n", what, error, peeked, last, cudaGetLastError());
}

int main(void)
{
    char *host = malloc(WARM_BYTES), *gone;
    void *device, *small;
    memset(host, 1, WARM_BYTES);
    MUST(cudaMalloc(&device, WARM_BYTES));
    MUST(cudaMalloc(&small, MIB));
    MUST(cudaMalloc((void **)&gone, BYTES));
    warm_up(device, host);
    for (int i = 0; i < 4; i++) {
        report("good", cudaMemcpy(device, host, BYTES, XRT_COPY_H2D));
        report("up too long", cudaMemcpy(small, host, BYTES, XRT_COPY_H2D));
        report("down too long", cudaMemcpy(host, small, BYTES, XRT_COPY_D2H));
        report("up too long, async", cudaMemcpyAsync(small, host, BYTES, XRT_COPY_H2D, NULL));
        report("down too long, async", cudaMemcpyAsync(host, small, BYTES, XRT_COPY_D2H, NULL));
        report("no address", cudaMemcpy((void *)(uintptr_t)64, host, BYTES, XRT_COPY_H2D));
        report("wrong direction", cudaMemcpy(device, host, BYTES, (enum xrt_copy_kind)7));
        report("pageable to pageable", cudaMemcpy(host, host + 2 * BYTES, BYTES, XRT_COPY_DEFAULT));
        report("good", cudaMemcpy(host, device, BYTES, XRT_COPY_D2H));
    }
    MUST(cudaFree(gone));
    report("freed", cudaMemcpy(gone, host, BYTES, XRT_COPY_H2D));
    report("good", cudaMemcpyAsync(host, device, BYTES, XRT_COPY_D2H, NULL));
    printf("device %d\n", cudaDeviceSynchronize());
    return 0;
}
