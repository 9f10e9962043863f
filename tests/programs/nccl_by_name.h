/*
 * NCCL's calls by dlsym, for a program that lists those it makes: it defines NCCL_CALLS(X), of
 * X(name, parameters), before this is included, and calls find_nccl() first. So it builds without
 * NCCL.
 */
#ifndef NCCL_BY_NAME_H
#define NCCL_BY_NAME_H

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "xferscope/cuda_abi.h"

typedef struct ncclComm *communicator;
typedef struct { /* ncclUniqueId */
    char bytes[128];
} unique;

#define NCCL_POINTER(name, parameters) int(*name) parameters;
static struct {
    NCCL_CALLS(NCCL_POINTER)
} nccl;

/* Of any library that returns 0 when all is well. */
static void check(int error, const char *what)
{
    if (error == 0)
        return;
    fprintf(stderr, "%s: %s: %d\n", program_invocation_short_name, what, error);
    exit(1);
}

/* Returns the library's handle. The program exits with 77 where there is no such library. */
static void *find_nccl(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s: %s\n", program_invocation_short_name, dlerror());
        exit(77);
    }
#define NCCL_RESOLVE(name, parameters)                                                             \
    nccl.name = (__typeof__(nccl.name))dlsym(library, #name);                                      \
    check(nccl.name == NULL, #name);
    NCCL_CALLS(NCCL_RESOLVE)
    return library;
}

#define CALL(name, ...) check(nccl.name(__VA_ARGS__), #name)

#endif
