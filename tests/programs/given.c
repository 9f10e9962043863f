/*
 * Kernels that are given pointers, on the simulated GPU: directly, into the middle of an
 * allocation, in structures by value, twice, to memory that was freed, none. A line for each
 * launch: the kernel, and the pointers that lie in memory which is known; "?" where the driver does
 * not say where the parameters lie.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/programs/kernel_client.h"

enum { BYTES = 4096 };

struct tensors {
    char *first;
    long n;
    char *second;
};

struct many {
    double scale;
    int sizes[4];
    char *pointers[5];
};

/* What the parameters of each take; of "unsaid" nobody says it. */
#define EXPORTED __attribute__((visibility("default"))) extern const size_t
EXPORTED xferscope_simgpu_params_direct[], xferscope_simgpu_params_by_value[],
    xferscope_simgpu_params_number[], xferscope_simgpu_params_nothing[];
const size_t xferscope_simgpu_params_direct[] = {8, 4, 8, 0};
const size_t xferscope_simgpu_params_by_value[] = {4, sizeof(struct tensors), sizeof(struct many),
                                                   0};
const size_t xferscope_simgpu_params_number[] = {8, 0};
const size_t xferscope_simgpu_params_nothing[] = {0};

static const char direct, by_value, number, nothing, unsaid;

static void check(xrt_error error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "given: %s: %s\n", what, cudaGetErrorName(error));
        exit(1);
    }
}

static xrt_error launch(const char *kernel, unsigned blocks, void **values)
{
    return cudaLaunchKernel(kernel, 1ull << 32 | blocks, 1, 1ull << 32 | 32, 1, values, 0, NULL);
}

static void launch_direct(void *from, void *to)
{
    int n = 7;
    void *values[] = {&from, &n, &to};
    check(launch(&direct, 1, values), "direct");
}

static void launch_by_value(char *a, char *b, char *pinned)
{
    int n = 1;
    struct tensors two = {a + 8, BYTES, b + BYTES - 1};
    struct many several = {1.0 / 3, {1, 2, 3, 4}, {NULL, pinned, a + 8, (char *)8, pinned + 16}};
    void *values[] = {&n, &two, &several};
    check(launch(&by_value, 1, values), "by_value");
    printf("by_value %p %p %p %p\n", (void *)two.first, (void *)two.second, (void *)pinned,
           (void *)(pinned + 16));
}

int main(void)
{
    char *a = NULL, *b = NULL, *pinned = NULL;
    uint64_t odd = 12345;
    void *values[] = {&odd};
    register_kernel(&direct, "direct");
    register_kernel(&by_value, "by_value");
    register_kernel(&number, "number");
    register_kernel(&nothing, "nothing");
    register_kernel(&unsaid, "unsaid");
    check(cudaMalloc((void **)&a, BYTES), "cudaMalloc");
    check(cudaMalloc((void **)&b, BYTES), "cudaMalloc");
    check(cudaMallocHost((void **)&pinned, BYTES), "cudaMallocHost");
    check(cudaMemcpy(a, pinned, BYTES, XRT_COPY_H2D), "cudaMemcpy");
    for (int i = 0; i < 3; i++) {
        launch_direct(a, b + 100);
        printf("direct %p %p\n", (void *)a, (void *)(b + 100));
    }
    launch_direct(b, b);
    printf("direct %p\n", (void *)b);
    launch_by_value(a, b, pinned);
    check(launch(&number, 1, values), "number");
    printf("number\n");
    check(launch(&nothing, 1, NULL), "nothing");
    printf("nothing\n");
    check(launch(&unsaid, 1, values), "unsaid");
    printf("unsaid ?\n");
    fprintf(stderr, "no blocks: %s\n", cudaGetErrorName(launch(&direct, 0, NULL)));
    check(cudaFree(b), "cudaFree");
    launch_direct(a, b);
    printf("direct %p\n", (void *)a);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check(cudaFreeHost(pinned), "cudaFreeHost");
    check(cudaFree(a), "cudaFree");
    return 0;
}
