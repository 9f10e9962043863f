/*
 * Plugins that come and go: `plugins FILE FUNCTION [FILE FUNCTION ...]` loads each, calls its
 * function and unloads it before the next. One line for each: the function, and whether it lay
 * where the first one had been. The functions are called in the root directory, by which a FILE
 * that was named by its way from the first one is not found any more.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime_api.h"

static void fail(const char *what)
{
    fprintf(stderr, "plugins: %s\n", what);
    exit(1);
}

static int (*first)(void *, void *);

static void use(const char *file, const char *function, void *device, void *host)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        fail(dlerror());
    int (*call)(void *, void *) = (int (*)(void *, void *))dlsym(library, function);
    char here[PATH_MAX];
    if (getcwd(here, sizeof here) == NULL || chdir("/") != 0)
        fail("chdir");
    if (call == NULL || call(device, host) != 0)
        fail(function);
    if (chdir(here) != 0)
        fail(here);
    if (first == NULL)
        first = call;
    printf("%s %s\n", function, call == first ? "there" : "elsewhere");
    if (dlclose(library) != 0)
        fail(dlerror());
}

int main(int argc, char **argv)
{
    static char host[4096];
    void *device;
    if (cudaMalloc(&device, sizeof host) != 0)
        fail("cudaMalloc");
    for (int i = 1; i + 1 < argc; i += 2)
        use(argv[i], argv[i + 1], device, host);
    return 0;
}
