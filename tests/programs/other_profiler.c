/*
 * A program with a profiler of its own, which subscribes to CUPTI after the first copies: by the
 * linker, or by dlsym. It prints the records that this profiler received.
 *
 * usage: other_profiler link|dlsym
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xferscope/cupti_abi.h"
#include "runtime_api.h"

enum { BYTES = 4096, BUFFER = 1 << 16 };

#define DECLARE(name, params) xcp_result cupti##name params;
XCP_FUNCTIONS(DECLARE)

static int copies;

static void check(int error, const char *what)
{
    if (error != 0) {
        printf("%s: %d\n", what, error);
        exit(1);
    }
}

static void on_call(void *user, int domain, uint32_t call, const void *data)
{
}

/* Not zeroed: whoever had promised that is to have taken it back. */
static void requested(uint8_t **buffer, size_t *size, size_t *most)
{
    *buffer = malloc(BUFFER);
    *size = *buffer ? BUFFER : 0;
    *most = 0;
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    struct xcp_activity *record = NULL;

    while (cuptiActivityGetNextRecord(buffer, valid, &record) == XCP_SUCCESS)
        copies += record->kind == XCP_ACTIVITY_MEMCPY;
    free(buffer);
}

static void copy(void *device, void *host, int times)
{
    for (int i = 0; i < times; i++)
        check(cudaMemcpy(device, host, BYTES, XRT_COPY_H2D), "cudaMemcpy");
}

int main(int argc, char **argv)
{
    xcp_result (*subscribe)(xcp_subscriber *, xcp_callback_function, void *) = cuptiSubscribe;
    xcp_subscriber subscriber;
    void *device = NULL, *host = malloc(BYTES);

    if (argc == 2 && strcmp(argv[1], "dlsym") == 0)
        subscribe =
            (__typeof__(subscribe))dlsym(dlopen("libcupti.so.13", RTLD_NOW), "cuptiSubscribe");
    check(cudaMalloc(&device, BYTES), "cudaMalloc");
    copy(device, host, 3);
    check(subscribe(&subscriber, on_call, NULL), "cuptiSubscribe");
    check(cuptiActivityRegisterCallbacks(requested, completed), "cuptiActivityRegisterCallbacks");
    check(cuptiActivityEnable(XCP_ACTIVITY_MEMCPY), "cuptiActivityEnable");
    copy(device, host, 5);
    check(cuptiActivityFlushAll(1), "cuptiActivityFlushAll");
    printf("the program's own profiler saw %d copies\n", copies);
    copy(device, host, 2);
    check(cudaFree(device), "cudaFree");
    free(host);
    return 0;
}
