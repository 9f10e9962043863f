/*
 * Preloaded, it gets in the way of the process that measures what CUPTI's records cost, as MEDDLER
 * says. The probe itself is left alone.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int measures_records(void)
{
    char line[4096];
    FILE *file = fopen("/proc/self/cmdline", "r");
    size_t length = file ? fread(line, 1, sizeof(line) - 1, file) : 0;

    if (file)
        fclose(file);
    line[length] = '\0';
    for (size_t i = 0; i < length; i += strlen(line + i) + 1)
        if (!strncmp(line + i, "--measure-records=", 18))
            return 1;
    return 0;
}

static void subscribe_first(void)
{
    static void *subscriber;
    void *cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
    int (*subscribe)(void **, void (*)(void), void *) = NULL;

    if (cupti)
        *(void **)&subscribe = dlsym(cupti, "cuptiSubscribe");
    if (!subscribe || subscribe(&subscriber, NULL, NULL))
        abort();
}

/* In place of CUPTI's own: no record ever comes. */
static int enable_nothing(int kind)
{
    (void)kind;
    return 0;
}

__attribute__((constructor)) static void meddle(void)
{
    const char *how = getenv("MEDDLER");

    if (!how || !measures_records())
        return;
    if (!strcmp(how, "subscribes"))
        subscribe_first();
    else if (!strcmp(how, "dies"))
        raise(SIGSEGV);
    else if (!strcmp(how, "leaves"))
        _exit(0);
}

/* The probe asks dlsym for each function of CUPTI. */
__attribute__((visibility("default"))) void *dlsym(void *restrict handle, const char *restrict name)
{
    static void *(*real)(void *restrict, const char *restrict);
    const char *how = getenv("MEDDLER");

    if (how && !strcmp(how, "keeps") && !strcmp(name, "cuptiActivityEnable"))
        return (void *)(uintptr_t)&enable_nothing;
    if (!real)
        *(void **)&real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    if (!real)
        *(void **)&real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    return real(handle, name);
}
