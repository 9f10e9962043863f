/*
 * For a program that wraps dlsym itself, as overlay libraries and sandboxes do: linked with
 * tests/programs/driver_copy.c, whose look-ups come here.
 */
#include <dlfcn.h>
#include <stdio.h>

static unsigned asked;

__attribute__((visibility("default"))) void *dlsym(void *handle, const char *name)
{
    static void *(*real)(void *, const char *);
    asked++;
    if (!real)
        real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    if (!real)
        real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    return real(handle, name);
}

__attribute__((destructor)) static void tell(void)
{
    printf("own dlsym was asked %s\n", asked > 0 ? "as ever" : "nothing");
}
