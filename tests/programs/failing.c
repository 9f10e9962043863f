/*
 * Calls that fail, each followed by what the program can see of it: the returned code, the last
 * error before and after it is fetched, and errno. A recorder must change none of them.
 * Exits with 3.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime_api.h"

enum { BYTES = 4096 };

static void report(const char *what, xrt_error error)
{
    int seen = errno;
    xrt_error peeked = cudaPeekAtLastError(), fetched = cudaGetLastError();

    printf("%-28s %3d %s, last error %d, then %d, then %d, errno %d\n", what, error,
           cudaGetErrorName(error), peeked, fetched, cudaGetLastError(), seen);
}

/* errno is set before each call, so that a change shows. */
#define TRY(what, call)                                                                            \
    do {                                                                                           \
        xrt_error result;                                                                          \
        errno = EXDEV;                                                                             \
        result = call;                                                                             \
        report(what, result);                                                                      \
    } while (0)

static void fail_copies(void *device, char *host)
{
    TRY("copy", cudaMemcpy(device, host, BYTES, XRT_COPY_H2D));
    TRY("copy of nothing", cudaMemcpy(device, host, 0, XRT_COPY_H2D));
    TRY("copy of an unknown kind", cudaMemcpy(device, host, BYTES, 99));
    TRY("copy to no address", cudaMemcpy(NULL, host, BYTES, XRT_COPY_H2D));
    TRY("async copy to no address", cudaMemcpyAsync(NULL, host, BYTES, XRT_COPY_H2D, NULL));
    TRY("row wider than its pitch", cudaMemcpy2D(device, 16, host, 16, 32, 2, XRT_COPY_H2D));
    TRY("good copy after bad ones", cudaMemcpy(host, device, BYTES, XRT_COPY_D2H));
}

static void fail_memory(char *host)
{
    void *nowhere = NULL;

    TRY("too much device memory", cudaMalloc(&nowhere, (size_t)1 << 60));
    TRY("too much pinned memory", cudaMallocHost(&nowhere, (size_t)1 << 60));
    TRY("free of a host address", cudaFree(host));
    TRY("free of nothing", cudaFree(NULL));
    TRY("register", cudaHostRegister(host, BYTES, 0));
    TRY("register again", cudaHostRegister(host, BYTES, 0));
    TRY("unregister", cudaHostUnregister(host));
    TRY("unregister again", cudaHostUnregister(host));
    TRY("unpin what is not pinned", cudaFreeHost(host));
    TRY("a device that is not there", cudaSetDevice(4711));
}

int main(void)
{
    char *host = aligned_alloc(BYTES, BYTES);
    void *device = NULL;

    if (!host)
        return 1;
    memset(host, 1, BYTES);
    TRY("device memory", cudaMalloc(&device, BYTES));
    fail_copies(device, host);
    fail_memory(host);
    TRY("release", cudaFree(device));
    free(host);
    return 3;
}
