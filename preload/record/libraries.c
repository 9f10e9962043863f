#include "preload/record/libraries.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/base/real_dlsym.h"
#include "preload/base/loading.h"
#include "preload/base/log.h"

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

typedef size_t decompress_function(void *, size_t, const void *, size_t);

enum { SAMPLE_BYTES = 4096 };

/* `room` holds the sample, its compressed form, and what that decompresses to. */
static bool compresses(const struct xft_zstd *zstd, void *context, decompress_function *decompress,
                       unsigned char *room)
{
    const size_t most = (size_t)2 * SAMPLE_BYTES;
    unsigned char *packed = room + SAMPLE_BYTES, *back = packed + most;
    for (size_t i = 0; i < SAMPLE_BYTES; i++)
        room[i] = (unsigned char)(i * i >> 5);
    size_t n = zstd->compress(context, packed, most, room, SAMPLE_BYTES, 3);
    return !zstd->is_error(n) && n <= most &&
           decompress(back, SAMPLE_BYTES, packed, n) == SAMPLE_BYTES &&
           memcmp(back, room, SAMPLE_BYTES) == 0;
}

/* dlopen returns a library of that name that the process already has, of any version and origin: it
 * is tested before use. */
static bool works(const struct xft_zstd *zstd, decompress_function *decompress)
{
    size_t bound = zstd->bound(SAMPLE_BYTES), workspace = zstd->workspace(3);
    if (bound < SAMPLE_BYTES || bound > (size_t)2 * SAMPLE_BYTES || workspace < SAMPLE_BYTES ||
        workspace > 1u << 26)
        return false;
    workspace = (workspace + 4095) / 4096 * 4096;
    size_t bytes = workspace + (size_t)4 * SAMPLE_BYTES;
    unsigned char *map =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return false;
    void *context = zstd->init(map, workspace);
    bool good = context && compresses(zstd, context, decompress, map + workspace);
    munmap(map, bytes);
    return good;
}

static const struct xft_zstd *load_zstd(void)
{
    static struct xft_zstd zstd;
    decompress_function *decompress = NULL;
    const struct {
        const char *name;
        void **at;
    } wanted[] = {
        {"ZSTD_compressBound", (void **)&zstd.bound},
        {"ZSTD_estimateCCtxSize", (void **)&zstd.workspace},
        {"ZSTD_initStaticCCtx", (void **)&zstd.init},
        {"ZSTD_compressCCtx", (void **)&zstd.compress},
        {"ZSTD_isError", (void **)&zstd.is_error},
        {"ZSTD_decompress", (void **)&decompress},
    };
    void *handle = open_private("libzstd.so.1");
    for (size_t i = 0; handle && i < sizeof wanted / sizeof *wanted; i++) {
        *wanted[i].at = xfs_real_dlsym(handle, wanted[i].name);
        if (*wanted[i].at == NULL)
            handle = NULL;
    }
    if (handle && works(&zstd, decompress))
        return &zstd;
    dlerror();
    xfs_log("libzstd.so.1 %s: the trace will be several times larger",
            handle ? "does not work" : "not found");
    return NULL;
}

const struct xfs_libraries *xfs_libraries_load(void)
{
    static struct xfs_libraries libraries;
    static bool loaded;
    if (loaded)
        return &libraries;
    xfs_loading_begin();
    libraries.zstd = load_zstd();
    loaded = true;
    xfs_loading_end();
    return &libraries;
}

xfs_symbols_function *xfs_libraries_symbols(void)
{
    xfs_loading_begin();
    void *handle = open_private(XFS_SYMBOLS_MODULE);
    xfs_loading_end();
    void *found = handle ? xfs_real_dlsym(handle, "xfs_symbols_resolve") : NULL;
    return (xfs_symbols_function *)found;
}
