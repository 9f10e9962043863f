/*
 * What a plan carries out, timed for a machine with a GPU: plan_timed WHAT MIB ROUNDS, with WHAT
 * one of pageable and pinned (the same bytes sent in each round), changed (others each time) and
 * alloc (device memory for each round). Prints the median and the sum of the rounds' times, and
 * what the device has.
 */
#include <string.h>
#include <time.h>

#include "tests/apply/programs/applied.h"

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void round_of(const char *what, char **device, char *source, size_t bytes)
{
    if (strcmp(what, "changed") == 0)
        source[bytes / 2]++;
    if (strcmp(what, "alloc") == 0) {
        MUST(cudaMalloc((void **)device, bytes));
        MUST(cudaMemcpy(*device, source, 4096, XRT_COPY_H2D));
        MUST(cudaFree(*device));
    } else {
        MUST(cudaMemcpy(*device, source, bytes, XRT_COPY_H2D));
    }
    MUST(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    const char *what = argv[1];
    size_t bytes = (size_t)atoi(argv[2]) * MIB;
    int rounds = atoi(argv[3]);
    double *took = calloc((size_t)rounds, sizeof *took), all = 0;
    char *source, *device, *found = malloc(bytes);
    if (strcmp(what, "pinned") == 0)
        MUST(cudaMallocHost((void **)&source, bytes));
    else
        source = malloc(bytes);
    fill(source, bytes, 1);
    MUST(cudaMalloc((void **)&device, bytes));
    char *first = device;
    for (int i = 0; i < rounds; i++) {
        double begun = now_us();
        round_of(what, &device, source, bytes);
        took[i] = now_us() - begun;
        all += took[i];
    }
    device = first;
    if (strcmp(what, "alloc") == 0)
        MUST(cudaMemcpy(device, source, bytes, XRT_COPY_H2D));
    qsort(took, (size_t)rounds, sizeof *took, compare);
    MUST(cudaMemcpy(found, device, bytes, XRT_COPY_D2H));
    printf("%s %zu MiB: median %.0f us, all %.1f ms, %s\n", what, bytes / MIB, took[rounds / 2],
           all / 1e3, memcmp(found, source, bytes) == 0 ? "right" : "WRONG");
    return 0;
}
