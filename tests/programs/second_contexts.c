/*
 * Contexts of the second GPU, made behind work on the first one in every way that the driver has:
 * its primary one, retained by two threads at once, then again; three of the program's own. What
 * makes none: retaining one that is there, releasing it, and calls that fail. Before the work the
 * first GPU's primary one is made. errno stays as it is. Prints how many are made behind the work.
 */
#include <pthread.h>

#define CALLS(X)                                                                                   \
    X(cuInit, (unsigned))                                                                          \
    X(cuDeviceGet, (xcu_device *, int))                                                            \
    X(cuDevicePrimaryCtxRetain, (xcu_context *, xcu_device))                                       \
    X(cuDevicePrimaryCtxRelease_v2, (xcu_device))                                                  \
    X(cuCtxSetCurrent, (xcu_context))                                                              \
    X(cuCtxCreate_v2, (xcu_context *, unsigned, xcu_device))                                       \
    X(cuCtxCreate_v3, (xcu_context *, void *, int, unsigned, xcu_device))                          \
    X(cuCtxCreate_v4, (xcu_context *, void *, unsigned, xcu_device))                               \
    X(cuMemAlloc_v2, (xcu_deviceptr *, size_t))                                                    \
    X(cuMemcpyHtoD_v2, (xcu_deviceptr, const void *, size_t))

#include "tests/programs/calls_by_name.h"

enum { BYTES = 1 << 16, THREADS = 2 };

static char host[BYTES];
static pthread_barrier_t start;

static void work(xcu_context context)
{
    xcu_deviceptr device;
    CALL(cuCtxSetCurrent, context);
    CALL(cuMemAlloc_v2, &device, BYTES);
    CALL(cuMemcpyHtoD_v2, device, host, BYTES);
}

static void *retain(void *device)
{
    xcu_context context;
    pthread_barrier_wait(&start);
    errno = EXDEV;
    CALL(cuDevicePrimaryCtxRetain, &context, *(xcu_device *)device);
    if (errno != EXDEV)
        fail("errno", errno);
    return NULL;
}

static void retain_at_once(xcu_device device)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, retain, &device) != 0)
            fail("pthread_create", i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

int main(void)
{
    xcu_context first, second;
    xcu_device device, other;
    find_calls();
    CALL(cuInit, 0);
    CALL(cuDeviceGet, &device, 0);
    CALL(cuDeviceGet, &other, 1);
    CALL(cuDevicePrimaryCtxRetain, &first, device);
    work(first);
    if (cu.cuDevicePrimaryCtxRetain(NULL, other) == 0 || cu.cuCtxCreate_v2(&second, 0, 1000) == 0 ||
        cu.cuCtxCreate_v4(NULL, NULL, 0, other) == 0)
        fail("a call that fails", 0);
    retain_at_once(other); /* 1 */
    CALL(cuDevicePrimaryCtxRetain, &second, other);
    work(second);
    for (int i = 0; i < THREADS + 1; i++)
        CALL(cuDevicePrimaryCtxRelease_v2, other);
    CALL(cuDevicePrimaryCtxRetain, &second, other); /* 2 */
    CALL(cuCtxCreate_v2, &second, 0, other);
    CALL(cuCtxCreate_v3, &second, NULL, 0, 0, other);
    CALL(cuCtxCreate_v4, &second, NULL, 0, other); /* 5 */
    work(second);
    puts("5");
    return 0;
}
