#define _GNU_SOURCE
#include "libraries.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "intercept/resolve.h"
#include "log.h"

/* "dir/" of the file this code was loaded from; empty when it is the program itself. */
static void own_directory(char *directory, size_t bytes)
{
    Dl_info info;
    directory[0] = '\0';
    if (!dladdr((void *)(uintptr_t)own_directory, &info) || info.dli_fname == NULL)
        return;
    const char *slash = strrchr(info.dli_fname, '/');
    size_t n = slash ? (size_t)(slash - info.dli_fname) + 1 : 0;
    if (n == 0 || n >= bytes)
        return;
    memcpy(directory, info.dli_fname, n);
    directory[n] = '\0';
}

static void *open_private(const char *name)
{
    static const char *const places[] = {"", "deps/"};
    char directory[PATH_MAX], path[PATH_MAX + 64];
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    own_directory(directory, sizeof directory);
    for (size_t i = 0; handle == NULL && directory[0] && i < 2; i++) {
        snprintf(path, sizeof path, "%s%s%s", directory, places[i], name);
        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    if (handle == NULL)
        dlerror(); /* not the program's message */
    return handle;
}

static const struct xft_zstd *load_zstd(void)
{
    static struct xft_zstd zstd;
    const struct {
        const char *name;
        void **at;
    } wanted[] = {
        {"ZSTD_compressBound", (void **)&zstd.bound},
        {"ZSTD_estimateCCtxSize", (void **)&zstd.workspace},
        {"ZSTD_initStaticCCtx", (void **)&zstd.init},
        {"ZSTD_compressCCtx", (void **)&zstd.compress},
        {"ZSTD_isError", (void **)&zstd.is_error},
    };
    void *handle = open_private("libzstd.so.1");
    for (size_t i = 0; handle && i < sizeof wanted / sizeof *wanted; i++) {
        *wanted[i].at = xfs_real_dlsym(handle, wanted[i].name);
        if (*wanted[i].at == NULL)
            handle = NULL;
    }
    if (handle)
        return &zstd;
    dlerror();
    xfs_log("libzstd.so.1 not found: the trace will be several times larger");
    return NULL;
}

typedef int backtrace_function(void **, int);

static backtrace_function *load_unwinder(void)
{
    void *first[1];
    void *handle = open_private("libunwind.so.8");
    void *found = handle ? xfs_real_dlsym(handle, "unw_backtrace") : NULL;
    if (found)
        return (backtrace_function *)found;
    dlerror();
    xfs_log("libunwind.so.8 not found: taking stacks with glibc's backtrace");
    backtrace(first, 1); /* its first call loads libgcc_s: here, not in a hook */
    return backtrace;
}

const struct xfs_libraries *xfs_libraries_load(void)
{
    static struct xfs_libraries libraries;
    static bool loaded;
    if (!loaded) {
        libraries.zstd = load_zstd();
        libraries.backtrace = load_unwinder();
        loaded = true;
    }
    return &libraries;
}

xfs_symbols_function *xfs_libraries_symbols(void)
{
    void *handle = open_private(XFS_SYMBOLS_MODULE);
    void *found = handle ? xfs_real_dlsym(handle, "xfs_symbols_resolve") : NULL;
    return (xfs_symbols_function *)found;
}
