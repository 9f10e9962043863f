/*
 * Work on the first GPU, then on the second one, whose context the runtime makes behind that.
 *
 * usage: second_gpu within|before   before: both contexts come first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime_api.h"

enum { BYTES = 1 << 20, ROUNDS = 4 };

static char host[BYTES];

static void check(xrt_error error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "second_gpu: %s: %s\n", what, cudaGetErrorName(error));
        exit(1);
    }
}

static void begin(int gpu)
{
    check(cudaSetDevice(gpu), "cudaSetDevice");
    check(cudaFree(NULL), "cudaFree");
}

static void work(int gpu)
{
    void *device = NULL;
    check(cudaSetDevice(gpu), "cudaSetDevice");
    check(cudaMalloc(&device, BYTES), "cudaMalloc");
    for (int i = 0; i < ROUNDS; i++)
        check(cudaMemcpy(device, host, BYTES, XRT_COPY_H2D), "cudaMemcpy");
    check(cudaFree(device), "cudaFree");
}

int main(int argc, char **argv)
{
    if (argc != 2 || (strcmp(argv[1], "within") != 0 && strcmp(argv[1], "before") != 0)) {
        fputs("usage: second_gpu within|before\n", stderr);
        return 2;
    }
    for (int gpu = 0; gpu < 2 && strcmp(argv[1], "before") == 0; gpu++)
        begin(gpu);
    work(0);
    work(1);
    return 0;
}
