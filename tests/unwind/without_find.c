/* As on a C library that has no _dl_find_object. */
#include <stddef.h>
#include <string.h>

void *__real_xfs_real_dlsym(void *handle, const char *name);

void *__wrap_xfs_real_dlsym(void *handle, const char *name);
void *__wrap_xfs_real_dlsym(void *handle, const char *name)
{
    return strcmp(name, "_dl_find_object") == 0 ? NULL : __real_xfs_real_dlsym(handle, name);
}
