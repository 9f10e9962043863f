/*
 * What the programs share that do something beside threads that copy: BYTES, which the program
 * defines first, from `host` to `device` and back, until `stop`.
 */
#ifndef XFERSCOPE_COPYING_H
#define XFERSCOPE_COPYING_H

#include <unistd.h>

#include "tests/apply/programs/applied.h"

static void *device;
static char *host;
static volatile int copies, stop;

static void *copy_until_stopped(void *unused)
{
    char *found = malloc(BYTES);
    (void)unused;
    while (!stop) {
        if (cudaMemcpy(device, host, BYTES, XRT_COPY_H2D) != 0 ||
            cudaMemcpy(found, device, BYTES, XRT_COPY_D2H) != 0)
            break;
        if (memcmp(found, host, BYTES) != 0)
            printf("different\n");
        __atomic_fetch_add(&copies, 1, __ATOMIC_SEQ_CST);
    }
    free(found);
    return NULL;
}

static void await(int more)
{
    int from = copies;
    while (copies - from < more)
        usleep(50);
}

#endif
