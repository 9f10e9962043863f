#include "preload/timing/cupti_load.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const sonames[] = {"libcupti.so.13", "libcupti.so.12"};
#define SONAMES (sizeof sonames / sizeof sonames[0])

/* Its directories in a toolkit, relative to the root. */
static const char *const toolkit_directories[] = {
    "extras/CUPTI/lib64",
    "lib64",
    "lib",
    "targets/x86_64-linux/lib",
};

/* Its directories relative to a libcudart: the same (toolkits, wheels since CUDA 13), another wheel
 * (CUDA 12), a toolkit's extras. */
static const char *const beside_cudart[] = {".", "../../cuda_cupti/lib", "../extras/CUPTI/lib64",
                                            "../../../extras/CUPTI/lib64"};

/* ---- one copy ------------------------------------------------------------------------------ */

static bool fill(struct xcp_library *library, void *handle, const struct xfs_cupti_search *search)
{
    memset(library, 0, sizeof *library);
#define FIND(name, params)                                                                         \
    library->name = (__typeof__(library->name))search->symbol(handle, "cupti" #name);
#define MISSING(name, params) || library->name == NULL
    XCP_FUNCTIONS(FIND)
    XCP_OPTIONAL_FUNCTIONS(FIND)
    XCP_NEWER_FUNCTIONS(FIND)
    return !(false XCP_FUNCTIONS(MISSING));
#undef FIND
#undef MISSING
}

static bool offer(void *handle, const char *path, const struct xfs_cupti_search *search)
{
    struct xcp_library library;
    return fill(&library, handle, search) && search->accept(&library, path, search->user);
}

/* Opening a FIFO would block the loader until it has a writer. */
static bool is_regular(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISREG(found.st_mode);
}

static bool try_path(const char *path, const struct xfs_cupti_search *search)
{
    if (!is_regular(path))
        return false;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return handle && offer(handle, path, search);
}

static bool try_directory(const char *directory, const struct xfs_cupti_search *search)
{
    for (size_t i = 0; i < SONAMES; i++) {
        char path[PATH_MAX];
        if (snprintf(path, sizeof path, "%s/%s", directory, sonames[i]) < (int)sizeof path &&
            try_path(path, search))
            return true;
    }
    return false;
}

static bool try_below(const char *root, const char *const *directories, size_t count,
                      const struct xfs_cupti_search *search)
{
    for (size_t i = 0; i < count; i++) {
        char directory[PATH_MAX];
        if (snprintf(directory, sizeof directory, "%s/%s", root, directories[i]) <
                (int)sizeof directory &&
            try_directory(directory, search))
            return true;
    }
    return false;
}

/* ---- the places ---------------------------------------------------------------------------- */

/* True when something other than a file has that name, which would block the loader, even when it
 * only looks for a loaded library. */
static bool is_blocked(const char *soname)
{
    const char *directory = getenv("LD_LIBRARY_PATH");
    while (directory && *directory) {
        char path[PATH_MAX];
        struct stat found;
        int length = (int)strcspn(directory, ":;");
        int n =
            snprintf(path, sizeof path, "%.*s%s%s", length, directory, length ? "/" : "", soname);
        if (n < (int)sizeof path && stat(path, &found) == 0 && !S_ISREG(found.st_mode))
            return true;
        directory += length + (directory[length] != '\0');
    }
    return false;
}

/* The copy that the process has loaded; NULL when there is none. */
static void *loaded_copy(const char **soname)
{
    for (size_t i = 0; i < SONAMES; i++) {
        void *handle =
            is_blocked(sonames[i]) ? NULL : dlopen(sonames[i], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
        if (handle) {
            *soname = sonames[i];
            return handle;
        }
    }
    return NULL;
}

#define CUDARTS 4
struct cudarts {
    unsigned count;
    char directory[CUDARTS][PATH_MAX];
};

/* Under the loader's lock: only notes the directory. */
static int note_cudart(struct dl_phdr_info *info, size_t size, void *user)
{
    struct cudarts *found = user;
    const char *slash = strrchr(info->dlpi_name, '/');
    if (slash == NULL || strncmp(slash + 1, "libcudart.so", 12) != 0)
        return 0;
    size_t length = (size_t)(slash - info->dlpi_name);
    if (length >= PATH_MAX)
        return 0;
    memcpy(found->directory[found->count], info->dlpi_name, length);
    found->directory[found->count][length] = '\0';
    return ++found->count == CUDARTS;
}

static bool try_beside_cudart(const struct xfs_cupti_search *search)
{
    static struct cudarts found; /* too large for the stack of a small thread */
    found.count = 0;
    dl_iterate_phdr(note_cudart, &found);
    for (unsigned i = 0; i < found.count; i++)
        if (try_below(found.directory[i], beside_cudart,
                      sizeof beside_cudart / sizeof beside_cudart[0], search))
            return true;
    return false;
}

static bool try_toolkits(const struct xfs_cupti_search *search)
{
    const char *roots[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++)
        if (roots[i] && *roots[i] &&
            try_below(roots[i], toolkit_directories,
                      sizeof toolkit_directories / sizeof toolkit_directories[0], search))
            return true;
    return false;
}

static bool try_name(const char *soname, const struct xfs_cupti_search *search)
{
    void *handle = is_blocked(soname) ? NULL : dlopen(soname, RTLD_NOW | RTLD_LOCAL);
    return handle && offer(handle, soname, search);
}

static bool find(const struct xfs_cupti_search *search)
{
    if (search->only_in)
        return try_directory(search->only_in, search);
    const char *soname;
    void *loaded = loaded_copy(&soname);
    if (loaded)
        return offer(loaded, soname, search);
    if (try_beside_cudart(search))
        return true;
    for (size_t i = 0; i < SONAMES; i++)
        if (try_name(sonames[i], search))
            return true;
    return try_toolkits(search);
}

bool xfs_cupti_find(const struct xfs_cupti_search *search)
{
    bool found = find(search);
    dlerror();
    return found;
}

/* ---- counters of managed memory ------------------------------------------------------------ */

/* The counter of bytes between devices came with CUDA 9, and some platforms lack it: then the
 * others are enabled without it. */
static const int counters[] = {
    XCP_COUNTER_HTOD,      XCP_COUNTER_DTOH, XCP_COUNTER_CPU_FAULT,
    XCP_COUNTER_GPU_FAULT, XCP_COUNTER_DTOD,
};
#define COUNTERS (sizeof counters / sizeof *counters)

static xcp_result configure(const struct xcp_library *cupti, uint32_t count)
{
    struct xcp_counter_config config[COUNTERS];
    for (uint32_t i = 0; i < count; i++)
        config[i] = (struct xcp_counter_config){XCP_COUNTER_SCOPE_ALL, counters[i], 0, 1};
    return cupti->ActivityConfigureUnifiedMemoryCounter(config, count);
}

xcp_result xfs_managed_enable(const struct xcp_library *cupti, const char **what)
{
    *what = "ActivityConfigureUnifiedMemoryCounter";
    if (cupti->ActivityConfigureUnifiedMemoryCounter == NULL)
        return XCP_ERROR_NOT_SUPPORTED;
    xcp_result result = configure(cupti, COUNTERS);
    if (result != XCP_SUCCESS)
        result = configure(cupti, COUNTERS - 1);
    if (result != XCP_SUCCESS)
        return result;
    *what = "ActivityEnable";
    return cupti->ActivityEnable(XCP_ACTIVITY_COUNTER);
}
