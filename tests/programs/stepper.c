/*
 * Copies as often as standard input says, so that others can look at its trace in between: for each
 * number on standard input so many copies of 1 MiB to a GPU, then the number again on standard
 * output.
 *
 * usage: stepper
 */
#include <stdio.h>
#include <stdlib.h>

#include "runtime_api.h"

enum { BYTES = 1 << 20 };

static char out[BYTES];

static void step(void *device, int times)
{
    for (int i = 0; i < times; i++) {
        if (cudaMemcpy(device, out, BYTES, XRT_COPY_H2D) != 0)
            exit(1);
    }
    printf("%d\n", times);
    fflush(stdout);
}

int main(void)
{
    void *device;
    int times;

    if (cudaMalloc(&device, BYTES) != 0)
        return 1;
    while (scanf("%d", &times) == 1)
        step(device, times);
    return cudaFree(device) != 0;
}
