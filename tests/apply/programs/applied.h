/*
 * What the programs here share: memory with a pattern, and calls that must succeed. Each prints
 * what it found; alone and under `xferscope apply` it must print the same.
 */
#ifndef XFERSCOPE_APPLIED_H
#define XFERSCOPE_APPLIED_H

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/programs/runtime_api.h"

#define MIB ((size_t)1 << 20)

static inline void must(int error, const char *what)
{
    if (error == 0)
        return;
    printf("%s: %s\n", what, cudaGetErrorName(error));
    exit(1);
}
#define MUST(call) must((call), #call)

/* Different for each seed and place. */
static inline void fill(char *memory, size_t bytes, uint64_t seed)
{
    uint64_t value = seed * 0x9e3779b97f4a7c15u + 1;
    for (size_t i = 0; i < bytes; i += 8) {
        value = value * 6364136223846793005u + 1442695040888963407u;
        memcpy(memory + i, &value, bytes - i < 8 ? bytes - i : 8);
    }
}

static inline uint64_t sum(const char *memory, size_t bytes)
{
    uint64_t total = 14695981039346656037u, value = 0;
    for (size_t i = 0; i < bytes; i += 8) {
        memcpy(&value, memory + i, bytes - i < 8 ? bytes - i : 8);
        total = (total ^ value) * 1099511628211u;
    }
    return total;
}

/* Threads that the process has. */
static inline int threads(void)
{
    DIR *folder = opendir("/proc/self/task");
    int count = -2; /* . and .. */
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

/* Copies until apply has started and has tried what it does, up and down: 70 MiB each. */
#define WARM_BYTES (70 * MIB)
static inline void warm_up(void *device, char *host)
{
    for (int i = 0; i < 6; i++) {
        MUST(cudaMemcpy(device, host, WARM_BYTES, XRT_COPY_H2D));
        MUST(cudaMemcpy(host, device, WARM_BYTES, XRT_COPY_D2H));
    }
}

#endif
