#include "preload/lookup/runtime.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "preload/base/loading.h"
#include "preload/base/own_stack.h"
#include "preload/base/real_dlsym.h"
#include "preload/base/unloads.h"

/* Under a version node, which leaves no message for the program's dlerror() either. */
static void *look_under(void *handle, const struct xfs_wanted *wanted)
{
    const char *node = wanted->version == 12 ? "libcudart.so.12" : "libcudart.so.13";
    void *found = dlvsym(handle, wanted->symbol, node);
    if (found == NULL)
        dlerror();
    return found;
}

static void *look_in(void *handle, const struct xfs_wanted *wanted)
{
    void *found = wanted->version != 0 ? look_under(handle, wanted) : NULL;
    if (found == NULL) /* any, or a cudart without version nodes */
        found = xfs_try_dlsym(handle, wanted->symbol);
    return found == wanted->wrapper ? NULL : found;
}

static void *look_in_library(const char *path, const struct xfs_wanted *wanted)
{
    void *handle = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
    if (handle == NULL) {
        dlerror();
        return NULL;
    }
    void *found = look_in(handle, wanted);
    xfs_unload(handle, NULL);
    return found;
}

/* As the loader would have bound it for the library that contains `caller`. */
static void *find_for_library_of(const struct xfs_wanted *wanted)
{
    Dl_info info;
    struct link_map *map = NULL;
    if (!dladdr1(wanted->caller, &info, (void **)&map, RTLD_DL_LINKMAP) || map == NULL)
        return NULL;
    if (map->l_name == NULL || map->l_name[0] == '\0')
        return NULL; /* the program itself: its scope starts with this library */
    return look_in_library(map->l_name, wanted);
}

/* The path of the n-th module in the loader's order; no loader function may be called during the
 * iteration. */
struct nth {
    size_t left;
    bool found;
    char path[PATH_MAX];
};

static int visit_nth(struct dl_phdr_info *info, size_t size, void *out)
{
    struct nth *nth = out;
    if (nth->left-- > 0)
        return 0;
    size_t bytes = info->dlpi_name ? strlen(info->dlpi_name) : 0;
    nth->found = true;
    nth->path[0] = '\0';
    if (bytes < sizeof nth->path && bytes > 0)
        memcpy(nth->path, info->dlpi_name, bytes + 1);
    return 1;
}

static bool is_cudart(const char *path)
{
    const char *name = strrchr(path, '/');
    return name && strncmp(name + 1, "libcudart.so", 12) == 0;
}

/* The names of the program and of the vDSO are not file names. */
static void *find_in_any(const struct xfs_wanted *wanted, bool cudart)
{
    struct nth nth;
    void *found = NULL;
    for (size_t i = 0; found == NULL; i++) {
        nth.left = i;
        nth.found = false;
        xfs_walk_loaded(visit_nth, &nth);
        if (!nth.found)
            return NULL;
        if (strchr(nth.path, '/') && is_cudart(nth.path) == cudart)
            found = look_in_library(nth.path, wanted);
    }
    return found;
}

/* Any cudart of the process, under whatever file name: for callers that obtained the address
 * themselves, and for tail calls, where the return address is that of the caller's caller. Of
 * several runtimes the first. */
static void *find_anywhere(const struct xfs_wanted *wanted)
{
    void *found = find_in_any(wanted, true);
    return found ? found : find_in_any(wanted, false);
}

static void find_runtime(void *arguments)
{
    struct xfs_wanted *wanted = arguments;
    wanted->found = wanted->next ? look_in(RTLD_NEXT, wanted) : NULL;
    wanted->found_next = wanted->found != NULL;
    if (wanted->found == NULL)
        wanted->found = find_for_library_of(wanted);
    if (wanted->found == NULL)
        wanted->found = look_in(RTLD_NEXT, wanted);
    if (wanted->found == NULL)
        wanted->found = find_anywhere(wanted);
}

void xfs_find_wanted(struct xfs_wanted *wanted)
{
    int saved = errno;
    xfs_on_any_stack(find_runtime, wanted);
    errno = saved;
}

void *xfs_real_runtime_special(const char *symbol, const void *wrapper, const void *caller)
{
    struct xfs_wanted wanted = {.symbol = symbol, .wrapper = wrapper, .caller = caller};
    xfs_find_wanted(&wanted);
    return wanted.found;
}
