/*
 * The driver's calls by dlsym, for a program that lists those it makes: it defines
 * CALLS(X), of X(name, parameters), before this is included, and calls find_calls() first. FILLS(X)
 * in it: memsets in every form.
 */
#ifndef CALLS_BY_NAME_H
#define CALLS_BY_NAME_H

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "xferscope/cuda_abi.h"

#define FILLS(X)                                                                                   \
    FILLS_OF(X, D8, D2D8, unsigned char)                                                           \
    FILLS_OF(X, D16, D2D16, unsigned short)                                                        \
    FILLS_OF(X, D32, D2D32, unsigned)
#define FILLS_OF(X, row, rows, type)                                                               \
    X(cuMemset##row##_v2, (xcu_deviceptr, type, size_t))                                           \
    X(cuMemset##row##_v2_ptds, (xcu_deviceptr, type, size_t))                                      \
    X(cuMemset##row##Async, (xcu_deviceptr, type, size_t, xcu_stream))                             \
    X(cuMemset##row##Async_ptsz, (xcu_deviceptr, type, size_t, xcu_stream))                        \
    X(cuMemset##rows##_v2, (xcu_deviceptr, size_t, type, size_t, size_t))                          \
    X(cuMemset##rows##_v2_ptds, (xcu_deviceptr, size_t, type, size_t, size_t))                     \
    X(cuMemset##rows##Async, (xcu_deviceptr, size_t, type, size_t, size_t, xcu_stream))            \
    X(cuMemset##rows##Async_ptsz, (xcu_deviceptr, size_t, type, size_t, size_t, xcu_stream))

#define POINTER(name, parameters) xcu_result(*name) parameters;
static struct {
    CALLS(POINTER)
} cu;

static void fail(const char *what, int code)
{
    fprintf(stderr, "%s: %s: %d\n", program_invocation_short_name, what, code);
    exit(1);
}

/* Returns the driver's handle. */
static void *find_calls(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
#define RESOLVE(name, parameters)                                                                  \
    if (!driver || !(*(void **)&cu.name = dlsym(driver, #name)))                                   \
        fail(#name, -1);
    CALLS(RESOLVE)
    return driver;
}

#define CALL(name, ...)                                                                            \
    do {                                                                                           \
        xcu_result result_ = cu.name(__VA_ARGS__);                                                 \
        if (result_ != 0)                                                                          \
            fail(#name, result_);                                                                  \
    } while (0)

#endif
