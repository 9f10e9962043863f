#include "preload/lookup/driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "preload/base/own_stack.h"
#include "preload/base/real_dlsym.h"

xfs_function (*xfs_in_place)(const char *symbol, xfs_function real);

static void *_Atomic driver_handle;

static void find_driver(void *unused)
{
    void *handle = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
    if (handle == NULL)
        dlerror();
    atomic_store(&driver_handle, handle);
}

void *xfs_driver_handle(void)
{
    void *handle = atomic_load(&driver_handle);
    if (handle)
        return handle;
    int saved = errno;
    xfs_on_any_stack(find_driver, NULL);
    errno = saved;
    return atomic_load(&driver_handle);
}

void *xfs_driver_symbol(const char *name)
{
    void *handle = xfs_driver_handle();
    return handle ? xfs_try_dlsym(handle, name) : NULL;
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
typedef int find_object(void *, struct dl_find_object *);

static int find_none(void *address, struct dl_find_object *found)
{
    (void)address, (void)found;
    return -1;
}

/* The loader's own table; dladdr goes through all symbols of the module. */
static const char *file_by_table(const void *address)
{
    static _Atomic(find_object *) known;
    find_object *find = atomic_load_explicit(&known, memory_order_relaxed);
    struct dl_find_object found;
    if (find == NULL) {
        find = (find_object *)xfs_try_dlsym(RTLD_DEFAULT, "_dl_find_object");
        find = find ? find : find_none; /* before glibc 2.35 */
        atomic_store_explicit(&known, find, memory_order_relaxed);
    }
    return find((void *)(uintptr_t)address, &found) == 0 ? found.dlfo_link_map->l_name : NULL;
}
#else
static const char *file_by_table(const void *address)
{
    (void)address;
    return NULL;
}
#endif

/* NULL: it is in none. */
static const char *file_of(const void *address)
{
    Dl_info info;
    const char *file = file_by_table(address);
    if (file)
        return file;
    return dladdr(address, &info) ? info.dli_fname : NULL;
}

bool xfs_is_driver_code(const void *address)
{
    const char *file = file_of(address);
    if (file == NULL)
        return false;
    const char *slash = strrchr(file, '/');
    const char *name = slash ? slash + 1 : file;
    static const char *const prefixes[] = {"libcuda.so", "libcupti", "libnvidia-",
                                           "libcudadebugger"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}
