/*
 * What the programs share that copy under a restriction, set before their copies or between them.
 */
#ifndef XFERSCOPE_RESTRICTED_H
#define XFERSCOPE_RESTRICTED_H

#include <unistd.h>

#include "tests/apply/programs/applied.h"

#define RESTRICTED_BYTES (20 * MIB)

static void *device;
static char *host, *found;

static inline void there_and_back(int round)
{
    fill(host, RESTRICTED_BYTES, (uint64_t)round);
    uint64_t sent = sum(host, RESTRICTED_BYTES);
    MUST(cudaMemcpyAsync(device, host, RESTRICTED_BYTES, XRT_COPY_H2D, NULL));
    memset(host, 0, RESTRICTED_BYTES);
    MUST(cudaMemcpy(found, device, RESTRICTED_BYTES, XRT_COPY_D2H));
    printf("round %d: %s\n", round, sum(found, RESTRICTED_BYTES) == sent ? "same" : "different");
    fflush(stdout);
}

/* restricts: before any copy, or, with a second argument, once there were some. first: how, if no
 * argument says it. */
static inline int copy_restricted(int argc, char **argv, const char *first,
                                  void (*restricts)(const char *how), int rounds)
{
    const char *how = argc > 1 ? argv[1] : first;
    int late = argc > 2;
    host = malloc(WARM_BYTES);
    found = malloc(RESTRICTED_BYTES);
    memset(host, 1, WARM_BYTES);
    memset(found, 1, RESTRICTED_BYTES);
    MUST(cudaMalloc(&device, WARM_BYTES));
    if (!late)
        restricts(how);
    warm_up(device, host);
    if (late)
        restricts(how);
    for (int i = 0; i < rounds; i++) {
        if (i == rounds / 2)
            usleep(1200000); /* threads that have nothing to do end */
        there_and_back(i);
    }
    printf("last error %d\n", cudaGetLastError());
    return 0;
}

#endif
