/*
 * The driver's calls by dlsym, for a program that lists those it makes: it defines
 * CALLS(X), of X(name, parameters), before this is included, and calls find_calls() first.
 */
#ifndef CALLS_BY_NAME_H
#define CALLS_BY_NAME_H

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "xferscope/cuda_abi.h"

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
